#include "src/audit_log.hpp"

namespace celld {

using logs::Level;
using logs::Line;

api::Audit audit_to(logs::Log& log) {
  return [&log](const api::AdminCall& call) {
    Line line{call.admitted ? Level::info : Level::warning,
              call.admitted ? "administrative request" : "administrative request refused"};
    line.flag("audit");
    if (!call.token.empty()) line.text("token", call.token);
    line.text("remote", call.remote).text("method", call.method).text("path", call.path);
    if (call.size) line.number("size", *call.size);
    if (call.burst) line.number("burst", *call.burst);
    if (call.weight) line.number("weight", *call.weight);
    line.number("status", static_cast<std::uint64_t>(call.status));
    if (call.admitted) {
      log.write(line);
    } else {
      log.write_limited(line, "");
    }
  };
}

}  // namespace celld
