#include "src/providers/secrets.hpp"

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string_view>

namespace celld::providers {
namespace {

constexpr std::size_t secret_bytes_min = 4;

/// How many bytes at the end of `text` are a beginning of `secret`.
std::size_t prefix_at_end(std::string_view text, std::string_view secret) {
  auto bytes = std::min(text.size(), secret.size() - 1);
  while (!text.ends_with(secret.substr(0, bytes))) --bytes;
  return bytes;
}

}  // namespace

std::vector<std::string> secrets_of(const config::NamedSecrets& named) {
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

std::string blank_secrets(const std::string& text, const std::vector<std::string>& secrets,
                          bool cut) {
  std::vector<bool> hidden(text.size());
  for (const auto& secret : secrets) {
    if (secret.size() < secret_bytes_min) continue;
    std::size_t done = 0;  // Marks overlaps once: a text may repeat a secret without end.
    const auto hide = [&](std::size_t begin, std::size_t end) {
      for (done = std::max(begin, done); done < end; ++done) hidden[done] = true;
    };
    for (auto at = text.find(secret); at != std::string::npos; at = text.find(secret, at + 1)) {
      hide(at, at + secret.size());
    }
    if (cut) hide(text.size() - prefix_at_end(text, secret), text.size());
  }
  std::string shown;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!hidden[i]) shown += text[i];
    if (hidden[i] && (i == 0 || !hidden[i - 1])) shown += "***";
  }
  return shown;
}

}  // namespace celld::providers
