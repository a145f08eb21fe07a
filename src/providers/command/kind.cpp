#include "src/providers/command/kind.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "src/providers/command/provider.hpp"
#include "src/providers/command/transport.hpp"

namespace celld::providers {
namespace {

using Faults = std::vector<json::Fault>;

constexpr std::size_t arguments_max = 64;
constexpr std::size_t argument_bytes_max = 4096;
constexpr std::size_t variables_max = 64;
constexpr std::size_t variable_name_bytes_max = 128;
constexpr std::size_t variable_bytes_max = 64 << 10;  // Linux allows twice as much.

std::string variable_name_fault(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool good =
      !name.empty() && name.size() <= variable_name_bytes_max && is_letter(name.front()) &&
      std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || is_digit(c); });
  return good ? "" : "must have a name that matches [A-Za-z_][A-Za-z0-9_]{0,127}";
}

std::string variable_fault(std::string_view value) {
  if (value.size() > variable_bytes_max)
    return "must have at most " + std::to_string(variable_bytes_max) + " bytes";
  if (value.find('\0') != std::string_view::npos) return "must not contain a NUL";
  return "";
}

std::vector<std::string> read_arguments(const json::Value& value, const std::string& pointer,
                                        Faults& faults) {
  std::vector<std::string> arguments;
  if (value.empty() || value.size() > arguments_max)
    faults.push_back({pointer, "must have 1 to " + std::to_string(arguments_max) + " elements"});
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto note = [&](std::string detail) {
      faults.push_back({json::pointer_to(pointer, i), std::move(detail)});
    };
    if (!value[i].is_string()) {
      note("must be a string");
      continue;
    }
    auto argument = value[i].get<std::string>();
    if (argument.size() > argument_bytes_max) {
      note("must have at most " + std::to_string(argument_bytes_max) + " bytes");
    } else if (i == 0 && !argument.starts_with('/')) {
      note("must be the absolute path of a program: PATH is not searched");
    }
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

config::NamedSecrets read_variables(const json::Value& value, std::string pointer,
                                    const config::Environment& environment, Faults& faults) {
  config::NamedSecrets variables;
  if (value.size() > variables_max)
    faults.push_back({pointer, "must have at most " + std::to_string(variables_max) + " members"});
  json::ObjectReader reader(value, std::move(pointer), faults);
  for (const auto& [name, ignored] : value.items()) {
    if (std::string fault = variable_name_fault(name); !fault.empty())
      reader.fault(name, std::move(fault));
    if (auto secret = config::read_secret(reader, name, environment, variable_fault))
      variables.emplace_back(name, std::move(*secret));
  }
  return variables;
}

/// Without an `argv` of its own, an undo runs the program of the service.
std::vector<std::string> read_undo(const json::Value& value, std::string pointer,
                                   const std::vector<std::string>& arguments, Faults& faults) {
  json::ObjectReader reader(value, std::move(pointer), faults);
  auto own = arguments;
  if (const json::Value* argv = reader.array("argv"))
    own = read_arguments(*argv, reader.pointer_of("argv"), faults);
  reader.finish();
  return own;
}

/// What is wrong with the program on this machine.
Faults check_program(const std::string& program, const std::string& pointer) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(program, error)) {
    return {{pointer, "must name a program, but " + json::quote(program) + " is not a file"}};
  }
  if (::access(program.c_str(), X_OK) != 0) {
    return {{pointer, "must name a program, but celld may not execute " + json::quote(program)}};
  }
  return {};
}

Descriptor copy_of(int descriptor) {
  return Descriptor{descriptor < 0 ? -1 : ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0)};
}

class CommandRuns final : public Transport {
 public:
  explicit CommandRuns(const TransportContext& context)
      : wall_clock_(context.wall_clock), transport_(copy_of(context.lock)) {}

  cells::Provider spawn(caf::actor_system& system, const std::string& name,
                        const config::ServiceSettings& settings,
                        AbortByLease abort_by_lease) const override {
    return spawn_command_provider(system, name, KindOf<CommandService>::get(settings),
                                  transport_.calls(), std::move(abort_by_lease), wall_clock_);
  }

  AbortByLease aborts() const override { return aborts_of(transport_.calls()); }

 private:
  const WallClock wall_clock_;
  CommandTransport transport_;
};

class CommandKind final : public KindOf<CommandService> {
 public:
  std::string_view type() const override { return "command"; }
  bool settles() const override { return true; }

  std::string_view schema() const override {
    return R"({
  "description": "Runs a program for each attempt at a step, with the document on its standard input.",
  "type": "object",
  "required": ["type", "argv"],
  "additionalProperties": false,
  "properties": {
    "type": {"const": "command"},
    "argv": {
      "description": "The program's absolute path and its arguments. There is no shell.",
      "type": "array",
      "minItems": 1,
      "maxItems": 64,
      "prefixItems": [{"type": "string", "pattern": "^/", "maxLength": 4096}],
      "items": {"type": "string", "maxLength": 4096}
    },
    "env": {
      "description": "The program's whole environment. Values may be env:NAME or file:PATH.",
      "type": "object",
      "maxProperties": 64,
      "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]{0,127}$"},
      "additionalProperties": {"type": "string", "maxLength": 16384}
    },
    "undo": {
      "description": "Undoes a step by running this program, or the same one, with `\"undo\": true` in the document.",
      "type": "object",
      "additionalProperties": false,
      "properties": {
        "argv": {
          "type": "array",
          "minItems": 1,
          "maxItems": 64,
          "prefixItems": [{"type": "string", "pattern": "^/", "maxLength": 4096}],
          "items": {"type": "string", "maxLength": 4096}
        }
      }
    },
    "limits": {"$ref": "#/$defs/service_limits"},
    "circuit": {"$ref": "#/$defs/circuit"},
    "settle_ms": {"$ref": "#/$defs/settle_ms"}
  }
})";
  }

  std::unique_ptr<Transport> make_transport(const TransportContext& context) const override {
    return std::make_unique<CommandRuns>(context);
  }

 private:
  CommandService read_settings(json::ObjectReader& reader, const config::Environment& environment,
                               Faults& faults) const override {
    CommandService command;
    reader.require({"argv"});
    if (const json::Value* argv = reader.array("argv"))
      command.arguments = read_arguments(*argv, reader.pointer_of("argv"), faults);
    if (const json::Value* env = reader.object("env"))
      command.environment = read_variables(*env, reader.pointer_of("env"), environment, faults);
    if (const json::Value* undo = reader.any("undo"))
      command.undo_arguments =
          read_undo(*undo, reader.pointer_of("undo"), command.arguments, faults);
    if (reader.any("mapping") != nullptr)
      reader.fault("mapping", "belongs to a service of type http: a command has no requests");
    reader.refuse_reserved({"mappings"});
    return command;
  }

  json::Value show(const CommandService& command) const override {
    json::Value shown{{"argv", command.arguments},
                      {"env", config::show_secrets(command.environment)}};
    if (command.undo_arguments) shown["undo"] = {{"argv", *command.undo_arguments}};
    return shown;
  }

  cells::ActionSet undoes(const CommandService& command) const override {
    return cells::ActionSet::all_if(command.undo_arguments.has_value());
  }

  Faults check_machine(const CommandService& command) const override {
    const auto& program = command.arguments.front();
    auto faults = check_program(program, "/argv/0");
    if (command.undo_arguments && command.undo_arguments->front() != program) {
      for (auto& fault : check_program(command.undo_arguments->front(), "/undo/argv/0"))
        faults.push_back(std::move(fault));
    }
    return faults;
  }
};

}  // namespace

const KindOf<CommandService>& command_kind() {
  static const CommandKind kind;
  return kind;
}

}  // namespace celld::providers
