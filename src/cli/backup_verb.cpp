// `cellctl backup`: downloads a copy of celld's database and verifies its digest.
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>

#include "src/cli/commands.hpp"
#include "src/cli/problem.hpp"
#include "src/cli/session.hpp"
#include "src/cli/text.hpp"
#include "src/cli/whole_file.hpp"
#include "src/repr_digest.hpp"

namespace celld::cli {
namespace {

/// celld copies the whole database before it sends the first byte.
constexpr milliseconds copying_time = std::chrono::hours(4);

struct Received {
  std::uint64_t bytes = 0;
  std::string digest;
};

template <class Take>
Received receive(Session& session, Take take) {
  Received received;
  ReprDigest digest;
  const Request request{.path = "/v1/admin/backup", .extra_time = copying_time};
  const Answer answer = session.client().stream(request, std::nullopt, [&](std::string_view data) {
    take(data);
    digest.add(data);
    received.bytes += data.size();
    return true;
  });
  if (!answer.succeeded()) throw failure_of(answer);
  received.digest = digest.text();
  if (answer.repr_digest != received.digest)
    throw Failure(ExitCode::unavailable,
                  "the backup failed verification: its digest is " + received.digest +
                      ", but celld announced " +
                      (answer.repr_digest.empty() ? "none" : cleaned(answer.repr_digest)));
  return received;
}

ExitCode backup(Session& session, const Arguments& arguments) {
  const std::string path = arguments.words().front();
  if (path == "-") {
    if (session.out().is_terminal())
      throw usage_failure(
          "refusing to write a backup to a terminal: name a file or redirect the output");
    receive(session, [&](std::string_view data) { session.out().print(data); });
    return ExitCode::ok;
  }
  WholeFile file(path, arguments.has("--force"));
  const Received received = receive(session, [&](std::string_view data) { file.write(data); });
  file.complete();
  if (session.json()) {
    session.out().print_json(
        json::dump({{"file", path}, {"bytes", received.bytes}, {"repr_digest", received.digest}}));
  } else {
    session.out().print(cleaned(path) + ": " + std::to_string(received.bytes) + " bytes\n");
  }
  return ExitCode::ok;
}

}  // namespace

void add_backup(Commands& commands) {
  CLI::App& verb = commands.add(
      "", "backup",
      {"copy celld's database to a file",
       "The copy has all customers' jobs as of the moment when it begins. FILE appears once it is\n"
       "complete and verified; until then the data is in FILE.partial. - is standard output.\n"
       "Requires the scope `admin`.",
       "cellctl backup celld-$(date +%F).db"},
      backup);
  add_word(verb, "FILE", "the new file")->required();
  add_switch(verb, "--force", "replace FILE if it exists");
}

}  // namespace celld::cli
