#include "src/providers/secrets.hpp"

#include <cstddef>
#include <sstream>

namespace celld::providers {

std::vector<std::string> secrets_of(
    const std::vector<std::pair<std::string, config::Secret>>& named) {
  constexpr std::size_t word_bytes_min = 8;
  std::vector<std::string> secrets;
  for (const auto& [name, secret] : named) {
    secrets.push_back(secret.value);
    std::istringstream words(secret.value);
    for (std::string word; words >> word;) {
      if (word.size() >= word_bytes_min) secrets.push_back(word);
    }
  }
  return secrets;
}

}  // namespace celld::providers
