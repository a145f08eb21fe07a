// The services of a configuration, checked against the machine.
#include <string>

#include "src/config/config.hpp"
#include "src/providers/command/kind.hpp"
#include "tests/unit/catch.hpp"

using namespace celld;

TEST_CASE("a program that is missing or not executable is a fault with its pointer") {
  const auto service = [](const std::string& name, const std::string& program) {
    return config::Service{name, {}, providers::command_kind().hold({{program}, {}})};
  };
  config::Config config;
  config.services = {service("good", "/bin/sh"), service("a/b", "/no/such"), service("dir", "/"),
                     service("text", "/etc/passwd")};
  providers::CommandService command{{"/bin/sh"}, {}};
  command.undo_arguments = {"/no/such"};
  config.services.push_back({"vm", {}, providers::command_kind().hold(command)});
  const auto faults = config::check_services(config);
  REQUIRE(faults.size() == 4);
  CHECK(faults[0].pointer == "/services/a~1b/argv/0");
  CHECK(faults[1].pointer == "/services/dir/argv/0");
  CHECK(faults[2].pointer == "/services/text/argv/0");
  CHECK(faults[3].pointer == "/services/vm/undo/argv/0");
}
