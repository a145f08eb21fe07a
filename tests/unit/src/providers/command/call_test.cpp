// How the end of a command counts, with what celld had decided before.
#include "src/providers/command/call.hpp"

#include <utility>

#include "tests/unit/src/providers/command/fixture.hpp"

namespace celld::providers {
namespace {

using End = CommandResult::End;

/// The result of a call that celld has aborted before its supervisor reports this end.
End aborted_before(CommandEnd end) {
  uv_loop_t loop;
  REQUIRE(uv_loop_init(&loop) == 0);
  CommandResult result;
  {
    CommandCalls::Start start{};
    start.request = test::command({"true"});
    start.ended = [&](CommandResult ended) { result = std::move(ended); };
    CommandCall call(loop, std::move(start), {}, [] {});
    call.abort({});
    call.end(end);
  }
  uv_run(&loop, UV_RUN_DEFAULT);
  CHECK(uv_loop_close(&loop) == 0);
  return result.end;
}

TEST_CASE("a command that succeeded before celld could kill it has succeeded") {
  CHECK(aborted_before({CommandEnd::Kind::exited, 0}) == End::exited);
}

TEST_CASE("a command that failed while celld aborted it was aborted") {
  CHECK(aborted_before({CommandEnd::Kind::exited, 1}) == End::aborted);
  CHECK(aborted_before({CommandEnd::Kind::killed, SIGKILL}) == End::aborted);
  CHECK(aborted_before({CommandEnd::Kind::not_started, ENOENT}) == End::aborted);
}

}  // namespace
}  // namespace celld::providers
