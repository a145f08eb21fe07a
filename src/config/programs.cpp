#include "src/config/programs.hpp"

#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace celld::config {

std::vector<json::Fault> check_programs(const Config& config) {
  std::vector<json::Fault> faults;
  for (const auto& service : config.services) {
    const auto* command = std::get_if<CommandService>(&service.kind);
    if (command == nullptr) continue;
    const auto& program = command->arguments.front();
    const auto pointer = json::pointer_to("/services", service.name) + "/argv/0";
    std::error_code error;
    if (!std::filesystem::is_regular_file(program, error)) {
      faults.push_back(
          {pointer, "must name a program, but " + json::quote(program) + " is not a file"});
    } else if (::access(program.c_str(), X_OK) != 0) {
      faults.push_back(
          {pointer, "must name a program, but celld may not execute " + json::quote(program)});
    }
  }
  return faults;
}

}  // namespace celld::config
