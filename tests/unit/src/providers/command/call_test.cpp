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

/// The result of a call that has written `answer`, and that celld kills by `kill` before its
/// supervisor reports this end.
template <class Kill>
End killed_before(CommandEnd end, const CommandLimits& limits, Kill kill) {
  uv_loop_t loop;
  REQUIRE(uv_loop_init(&loop) == 0);
  CommandResult result;
  {
    CommandCalls::Start start{};
    start.request = test::command({"true"});
    start.ended = [&](CommandResult ended) { result = std::move(ended); };
    bool is_killed = false;
    CommandCall call(loop, std::move(start), limits, [&] { is_killed = true; });
    CommandDescriptors descriptors;
    REQUIRE(call.open(descriptors) == 0);
    const auto written = ::write(descriptors[2].get(), answer.data(), answer.size());
    REQUIRE(written == static_cast<ssize_t>(answer.size()));
    kill(call, loop);
    REQUIRE(is_killed);
    call.end(end);
  }
  uv_run(&loop, UV_RUN_DEFAULT);
  CHECK(uv_loop_close(&loop) == 0);
  return result.end;
}

End aborted_before(CommandEnd end, const CommandLimits& limits = {}) {
  return killed_before(end, limits, [](CommandCall& call, uv_loop_t&) { call.abort({}); });
}

/// The deadline has passed when the call begins.
End timed_out_before(CommandEnd end) {
  return killed_before(end, {},
                       [](CommandCall&, uv_loop_t& loop) { uv_run(&loop, UV_RUN_NOWAIT); });
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

TEST_CASE("a command that did not start in time has not started") {
  CHECK(timed_out_before({CommandEnd::Kind::not_started, ENOENT}) == End::not_started);
  CHECK(timed_out_before({CommandEnd::Kind::killed, SIGKILL}) == End::timed_out);
}

}  // namespace
}  // namespace celld::providers
