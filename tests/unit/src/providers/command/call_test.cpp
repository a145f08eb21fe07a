// How the end of a command counts, with what celld had decided before.
#include "src/providers/command/call.hpp"

#include <string_view>
#include <utility>

#include <unistd.h>

#include "tests/unit/src/providers/command/fixture.hpp"

namespace celld::providers {
namespace {

using End = CommandResult::End;

constexpr std::string_view answer = "{\"properties\":{}}";

/// The result of a call that has written `answer`, and that celld has aborted before its supervisor
/// reports this end.
End aborted_before(CommandEnd end, const CommandLimits& limits = {}) {
  uv_loop_t loop;
  REQUIRE(uv_loop_init(&loop) == 0);
  CommandResult result;
  {
    CommandCalls::Start start{};
    start.request = test::command({"true"});
    start.ended = [&](CommandResult ended) { result = std::move(ended); };
    CommandCall call(loop, std::move(start), limits, [] {});
    CommandDescriptors descriptors;
    REQUIRE(call.open(descriptors) == 0);
    const auto written = ::write(descriptors[2].get(), answer.data(), answer.size());
    REQUIRE(written == static_cast<ssize_t>(answer.size()));
    call.abort({});
    call.end(end);
  }
  uv_run(&loop, UV_RUN_DEFAULT);
  CHECK(uv_loop_close(&loop) == 0);
  return result.end;
}

TEST_CASE("a command that succeeded before celld could kill it has succeeded") {
  CHECK(aborted_before({CommandEnd::Kind::exited, 0}) == End::exited);
  CommandLimits limits;
  limits.output_bytes_max = answer.size();
  CHECK(aborted_before({CommandEnd::Kind::exited, 0}, limits) == End::exited);
}

TEST_CASE("a command that was aborted and wrote too much was aborted, whatever its exit status") {
  CommandLimits limits;
  limits.output_bytes_max = answer.size() - 1;
  CHECK(aborted_before({CommandEnd::Kind::exited, 0}, limits) == End::aborted);
}

TEST_CASE("a command that failed while celld aborted it was aborted") {
  CHECK(aborted_before({CommandEnd::Kind::exited, 1}) == End::aborted);
  CHECK(aborted_before({CommandEnd::Kind::killed, SIGKILL}) == End::aborted);
  CHECK(aborted_before({CommandEnd::Kind::not_started, ENOENT}) == End::aborted);
}

}  // namespace
}  // namespace celld::providers
