// /v1/batches from the socket to the engine and back.
#include <algorithm>
#include <future>
#include <string>
#include <vector>

#include "src/http/api/digest.hpp"
#include "src/http/api/query.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/src/http/api/batches.hpp"

using namespace celld;
using namespace celld::api;
using namespace celld::api::testing;
using cells::JobState;
using std::chrono::milliseconds;

TEST_CASE("each line of a batch becomes a job, and broken lines are listed with their faults") {
  Daemon daemon;
  const auto answer = post_lines(
      daemon, good_job + "\n\n" + good_job + "\n{\"customer\":\"acme\"}\nnonsense\n" + good_job);
  CHECK(answer.status == 202);
  CHECK(answer.header("Location") == path_of(answer));
  CHECK(answer.body["accepted"] == 3);
  CHECK(answer.body["replayed"] == 0);
  CHECK(answer.body["rejected"] == 2);
  CHECK(answer.body["stopped_at_line"].is_null());
  const auto& errors = answer.body["errors"];
  REQUIRE(errors.size() == 2);
  CHECK(errors[0]["line"] == 4);
  CHECK(errors[0]["status"] == 422);
  CHECK(errors[0]["type"] == "/problems/invalid-job");
  CHECK(errors[0]["detail"] == "The job has 4 faults: see `errors`.");
  CHECK(errors[0]["errors"][0]["pointer"] == "/product");
  CHECK(errors[1]["line"] == 5);
  CHECK(errors[1]["status"] == 400);
  CHECK(errors[1]["type"] == "/problems/malformed-json");
  const auto detail = errors[1]["detail"].get<std::string>();
  CHECK(detail.starts_with("The job cannot be read: column "));
  CHECK(daemon.last_request.batch == daemon.batch.id);
  CHECK(answer.body["id"] == cells::format_job_id(daemon.batch.id));
}

TEST_CASE("a rejected line is listed with its first 100 faults") {
  Daemon daemon;
  std::string unknown;
  for (int n = 0; n < 90; ++n) unknown += "\"x" + std::to_string(n) + "\":0,";
  const auto answer =
      post_lines(daemon, "{" + unknown + R"("entity":{)" + unknown + R"("id":"example.com"}})");
  CHECK(answer.status == 202);
  CHECK(answer.body["rejected"] == 1);
  REQUIRE(answer.body["errors"].size() == 1);
  CHECK(answer.body["errors"][0]["errors"].size() == 100);
}

TEST_CASE("the jobs of a batch have the trace context of its request") {
  Daemon daemon;
  const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  CHECK(post_lines(daemon, good_job, {{"traceparent", trace}}).body["accepted"] == 1);
  CHECK(daemon.last_request.spec.traceparent == trace);
  CHECK(post_lines(daemon, good_job, {{"traceparent", "nonsense"}}).body["accepted"] == 1);
  CHECK(daemon.last_request.spec.traceparent.empty());
}

TEST_CASE("an array is a batch of its elements, up to the first that is not JSON") {
  BatchLimits limits;
  limits.discard_max = std::chrono::hours{1};  // The end of the body is noticed, not awaited.
  Daemon daemon{true, limits};
  const auto whole =
      post_lines(daemon, "[" + good_job + ", " + good_job + "]", {}, "application/json");
  REQUIRE(whole.status == 202);
  CHECK(whole.body["accepted"] == 2);
  const auto broken =
      post_lines(daemon, "[" + good_job + ",{\"a\" 1}," + good_job + "]", {}, "application/json");
  REQUIRE(broken.status == 202);
  CHECK(broken.body["accepted"] == 1);
  CHECK(broken.body["rejected"] == 0);
  CHECK(broken.body["stopped_at_line"] == 2);
  REQUIRE(broken.body["errors"].size() == 1);
  CHECK(broken.body["errors"][0]["line"] == 2);
  CHECK(broken.body["errors"][0]["status"] == 400);
  const auto detail = broken.body["errors"][0]["detail"].get<std::string>();
  CHECK(detail.starts_with("The job cannot be read: "));
  const auto open = post_lines(daemon, "[" + good_job, {}, "application/json");
  REQUIRE(open.status == 202);
  CHECK(open.body["accepted"] == 0);
  CHECK(open.body["stopped_at_line"] == 1);
  CHECK(open.body["errors"][0]["detail"] == "The array is not closed.");
}

TEST_CASE("an element of an array that JSON allows and celld does not is rejected alone") {
  Daemon daemon;
  std::string deep = R"({"a":)";
  for (int level = 0; level < 70; ++level) deep += '[';
  deep += std::string(70, ']') + "}";
  const std::string twice = R"({"customer":"acme","customer":"other"})";
  const auto answer = post_lines(
      daemon, "[" + good_job + "," + twice + "," + good_job + "," + deep + "," + good_job + "]", {},
      "application/json");
  CHECK(answer.body["accepted"] == 3);
  CHECK(answer.body["rejected"] == 2);
  CHECK(answer.body["stopped_at_line"] == nullptr);
  REQUIRE(answer.body["errors"].size() == 2);
  CHECK(answer.body["errors"][0]["line"] == 2);
  CHECK(answer.body["errors"][1]["line"] == 4);
  const auto hidden = R"({"customer":"acme","customer" 1})";
  const auto broken = post_lines(daemon, "[" + good_job + "," + hidden + "," + good_job + "]", {},
                                 "application/json");
  CHECK(broken.body["accepted"] == 1);
  CHECK(broken.body["stopped_at_line"] == 2);
}

TEST_CASE("the elements before the one that is not JSON are accepted, however late the answers") {
  BatchLimits limits;
  limits.discard_max = std::chrono::hours{1};
  limits.unanswered_max = 8;
  Daemon daemon{true, limits};
  auto submit = daemon.script->submit;
  // The first elements come too fast: they are submitted again after the whole body has been read.
  daemon.script->submit = [=, asked = 0](const cells::SubmitJob& message) mutable {
    const auto& gate = *message.request.gate;
    if (gate.is_closed()) return cells::JobSubmitted{};
    if (++asked <= 3 || gate.is_paused()) return too_fast(message.request, milliseconds{1});
    return submit(message);
  };
  std::string array = "[";
  for (int i = 0; i < 3; ++i) array += good_job + ",";
  SECTION("when its element is not JSON") {
    array += R"({"a" 1},)" + good_job + "]";
  }
  SECTION("when an element is missing") {
    array += ",]";
  }
  SECTION("when the array is not closed") {
    array += good_job;
  }
  const auto answer = post_lines(daemon, array, {}, "application/json");
  CHECK(answer.status == 202);
  CHECK(answer.body["accepted"] == 3);
  CHECK(answer.body["rejected"] == 0);
  CHECK(answer.body["stopped_at_line"] == 4);
  REQUIRE(answer.body["errors"].size() == 1);
  CHECK(answer.body["errors"][0]["line"] == 4);
  CHECK(answer.body["errors"][0]["status"] == 400);
}

TEST_CASE("a full queue before a broken element ends a batch at the line that found no room") {
  Daemon daemon;
  refuse_after(daemon, 2, cells::Refusal::Kind::queue_full);
  const auto answer =
      post_lines(daemon, "[" + good_job + "," + good_job + "," + good_job + ",{\"a\" 1}]", {},
                 "application/json");
  CHECK(answer.body["accepted"] == 2);
  CHECK(answer.body["stopped_at_line"] == 3);
  CHECK(answer.body["errors"][0]["status"] == 429);
}

TEST_CASE("a line of more than 1 MiB is rejected alone with 413") {
  Daemon daemon;
  const auto answer =
      post_lines(daemon, good_job + "\n" + std::string((1 << 20) + 1, 'x') + "\n" + good_job);
  CHECK(answer.body["accepted"] == 2);
  CHECK(answer.body["rejected"] == 1);
  CHECK(answer.body["errors"][0]["line"] == 2);
  CHECK(answer.body["errors"][0]["status"] == 413);
}

TEST_CASE("a full queue ends a batch at the first line that was not accepted") {
  BatchLimits limits;
  limits.discard_max = std::chrono::hours{1};
  Daemon daemon{true, limits};
  refuse_after(daemon, 3, cells::Refusal::Kind::queue_full);
  const auto answer = post_lines(daemon, repeated(good_job + "\n", 5000));
  CHECK(answer.status == 202);
  CHECK(answer.header("Retry-After") == "4");
  CHECK(answer.body["accepted"] == 3);
  CHECK(answer.body["rejected"] == 0);
  CHECK(answer.body["stopped_at_line"] == 4);
  const auto& error = answer.body["errors"][0];
  CHECK(error["line"] == 4);
  CHECK(error["status"] == 429);
  CHECK(error["type"] == "/problems/queue-full");
  CHECK(error["limit"] == 10);
  CHECK(error["detail"].get<std::string>().find("queue.max_jobs") != std::string::npos);
}

TEST_CASE("a batch whose first line is refused is answered with 202 as well") {
  Daemon daemon;
  refuse_after(daemon, 0, cells::Refusal::Kind::draining);
  const auto answer = post_lines(daemon, good_job);
  CHECK(answer.status == 202);
  CHECK(answer.body["accepted"] == 0);
  CHECK(answer.body["stopped_at_line"] == 1);
  CHECK(answer.body["errors"][0]["status"] == 503);
}

TEST_CASE("a refusal that is final for a line rejects the line alone") {
  Daemon daemon;
  refuse_after(daemon, 1, cells::Refusal::Kind::key_reused);
  const auto answer = post_lines(daemon, repeated(good_job + "\n", 3));
  CHECK(answer.body["accepted"] == 1);
  CHECK(answer.body["rejected"] == 2);
  CHECK(answer.body["errors"][1]["line"] == 3);
  CHECK(answer.body["errors"][1]["type"] == "/problems/idempotency-key-reused");
  CHECK(answer.body["stopped_at_line"].is_null());
}

TEST_CASE("a line that was submitted before is replayed") {
  Daemon daemon;
  auto submit = daemon.script->submit;
  daemon.script->submit = [=](const cells::SubmitJob& message) {
    auto reply = submit(message);
    reply.replayed = message.request.idempotency.has_value();
    return reply;
  };
  const auto keyed = good_job.substr(0, good_job.size() - 1) + R"(,"idempotency_key":"k"})";
  const auto answer = post_lines(daemon, good_job + "\n" + keyed);
  CHECK(answer.body["accepted"] == 1);
  CHECK(answer.body["replayed"] == 1);
}

TEST_CASE("if the store fails, a batch ends at the line whose fate is unknown") {
  Daemon daemon;
  daemon.script->submit = nullptr;
  const auto answer = post_lines(daemon, repeated(good_job + "\n", 3));
  CHECK(answer.status == 202);
  CHECK(answer.body["stopped_at_line"] == 1);
  CHECK(answer.body["errors"][0]["type"] == "/problems/store-unavailable");
  daemon.script->open_batch = nullptr;
  CHECK(post_lines(daemon, good_job).status == 503);
}

TEST_CASE("a batch that cannot be read at all is refused before its body") {
  Daemon daemon;
  CHECK(post_lines(daemon, good_job, {}, "text/plain").status == 415);
  CHECK(post_lines(daemon, good_job, {{"Idempotency-Key", "k"}}).status == 422);
  CHECK(post(daemon, good_job, {}, "application/x-ndjson", "/v1/batches?dry=1").status == 422);
  CHECK(post_lines(daemon, good_job, {{"Origin", "http://evil.example"}}).status == 403);
  Daemon starting(false);
  CHECK(post_lines(starting, good_job).body["type"] == "/problems/starting");
  CHECK(get(starting, "/v1/batches").status == 503);
  CHECK(get(starting, "/v1/batches/" + cells::format_job_id(77)).body["type"] ==
        "/problems/starting");
}

TEST_CASE("no more submissions are unanswered than the limit, and every line is answered") {
  BatchLimits limits;
  limits.unanswered_max = 8;
  Daemon daemon(true, limits);
  const auto answer = post_lines(daemon, repeated(good_job + "\nbad\n", 3000));
  CHECK(answer.body["accepted"] == 3000);
  CHECK(answer.body["rejected"] == 3000);
  CHECK(answer.body["errors"].size() == 100);
  CHECK(daemon.figures->accepted == 3000);
  CHECK(daemon.figures->rejected == 3000);
  CHECK(daemon.figures->reading == 0);
}

TEST_CASE("a batch that comes too fast for a rate keeps its order and loses no line") {
  BatchLimits limits;
  limits.unanswered_max = 8;
  Daemon daemon{true, limits};
  std::vector<std::string> accepted;
  auto submit = daemon.script->submit;
  daemon.script->submit = [&, asked = 0](const cells::SubmitJob& message) mutable {
    const auto& request = message.request;
    if (request.gate->is_paused() || ++asked % 5 == 0) return too_fast(request, milliseconds{1});
    accepted.push_back(request.spec.entity.id);
    return submit(message);
  };
  const auto answer = post_lines(daemon, numbered_lines(100));
  CHECK(answer.body["accepted"] == 100);
  CHECK(answer.body["stopped_at_line"].is_null());
  REQUIRE(accepted.size() == 100);
  for (std::size_t i = 0; i < accepted.size(); ++i) CHECK(accepted[i] == std::to_string(i + 1));
}

TEST_CASE("a line that fits no configured service is no job either if it was delayed") {
  Daemon daemon;
  std::vector<bool> only_replay;
  daemon.script->submit = [&](const cells::SubmitJob& message) {
    only_replay.push_back(message.only_replay);
    if (only_replay.size() == 1) return too_fast(message.request, milliseconds{1});
    return cells::JobSubmitted{};
  };
  auto line = good_job;
  line.replace(line.find(R"(["dns"])"), 7, R"(["gone"],"idempotency_key":"k")");
  const auto answer = post_lines(daemon, line);
  CHECK(only_replay == std::vector<bool>{true, true});
  REQUIRE(answer.body["rejected"] == 1);
  CHECK(answer.body["stopped_at_line"].is_null());
  CHECK(answer.body["errors"][0]["type"] == "/problems/invalid-job");
}

TEST_CASE("a delayed line takes up no room once it has been answered") {
  http::test::RunningServer server;
  auto delayed = server.connect();
  auto next = server.connect();
  BatchLimits limits;
  limits.unanswered_bytes_max = 1000;
  int submitted = 0;
  Desk desk{limits};
  desk.script->submit = [&](const cells::SubmitJob& message) {
    if (++submitted == 1) return too_fast(message.request, milliseconds{1});
    return accepted(message.request);
  };
  desk.send_lines(desk.begin(server, delayed), 1, limits.unanswered_bytes_max);
  desk.take_messages();
  desk.pass(std::chrono::seconds{1});
  REQUIRE(submitted == 2);
  CHECK(delayed.receive().value().status == 202);
  // celld shuts down before the engine answers, so the desk submits only the lines that have room
  // at once.
  desk.send_lines(desk.begin(server, next), 5, 1);
  desk.send(EndReading{});
  desk.take_messages();
  CHECK(submitted == 2 + 5);
  CHECK(next.receive().value().status == 202);
}

TEST_CASE("no more lines are unanswered than have room for their bytes") {
  http::test::RunningServer server;
  auto client = server.connect();
  BatchLimits limits;
  limits.unanswered_bytes_max = 1000;
  int submitted = 0;
  Desk desk{limits};
  desk.script->submit = [&](const cells::SubmitJob& message) {
    // Reaches the desk before this answer: later lines have been submitted by now, or never are.
    if (++submitted == 1) desk.send(EndReading{});
    return accepted(message.request);
  };
  desk.send_lines(desk.begin(server, client), 3, limits.unanswered_bytes_max);
  desk.take_messages();
  CHECK(submitted == 1);
  CHECK(client.receive().value().body.find("\"stopped_at_line\":2") != std::string::npos);
}

TEST_CASE("a batch whose oldest line has no answer yet rejects a limited number of others") {
  http::test::RunningServer server;
  auto client = server.connect();
  BatchLimits limits;
  limits.tally_lines = 3;
  std::optional<int> resumed_before;
  Desk desk{limits};
  desk.script->submit = [&](const cells::SubmitJob& message) {
    resumed_before = desk.resumed;
    return accepted(message.request);
  };
  auto lines = Desk::good_lines(desk.begin(server, client), 1, 0);
  for (int i = 0; i < 100; ++i) lines.bad.push_back({lines.next++, nullptr});
  lines.is_last = false;
  desk.send(std::move(lines));
  desk.take_messages();
  CHECK(resumed_before == 1);  // When the batch was opened.
  CHECK(desk.resumed == 2);
}

TEST_CASE("a batch that a rate holds back leaves its room to another at once") {
  http::test::RunningServer server;
  auto held = server.connect();
  auto next = server.connect();
  BatchLimits limits;
  limits.unanswered_max = 4;
  int submitted = 0;
  Desk desk{limits};
  desk.script->submit = [&](const cells::SubmitJob& message) {
    if (++submitted <= 4) return too_fast(message.request, std::chrono::hours{1});
    return accepted(message.request);
  };
  const auto first = desk.begin(server, held);
  const auto second = desk.begin(server, next);
  desk.send_lines(first, 4, 0);
  desk.send_lines(second, 1, 0);
  desk.take_messages();  // No time passes.
  REQUIRE(submitted == 5);
  CHECK(next.receive().value().body.find("\"accepted\":1") != std::string::npos);
}

TEST_CASE("delayed lines, too, are submitted only while there is room") {
  http::test::RunningServer server;
  auto delayed = server.connect();
  auto large = server.connect();
  BatchLimits limits;
  limits.unanswered_bytes_max = 1000;
  int submitted = 0;
  Desk desk{limits};
  const auto first = desk.begin(server, delayed);
  const auto second = desk.begin(server, large);
  desk.script->submit = [&](const cells::SubmitJob& message) {
    if (++submitted <= 4) return too_fast(message.request, milliseconds{1});
    // Both reach the desk before these answers. The large line leaves room for one more byte.
    if (submitted == 5) desk.send_lines(second, 1, 999);
    if (message.request.spec.parameters.size() == 999) desk.send(EndReading{});
    return accepted(message.request);
  };
  desk.send_lines(first, 4, 1);
  desk.take_messages();
  desk.pass(std::chrono::seconds{1});
  CHECK(delayed.receive().value().body.find("\"accepted\":2") != std::string::npos);
}

TEST_CASE("a batch does not wait for another one that its rate holds back for longer") {
  http::test::RunningServer server;
  auto longer = server.connect();
  auto shorter = server.connect();
  int submitted = 0;
  Desk desk;
  desk.script->submit = [&](const cells::SubmitJob& message) {
    if (++submitted == 1) return too_fast(message.request, std::chrono::hours{1});
    if (submitted == 2) return too_fast(message.request, milliseconds{10});
    return accepted(message.request);
  };
  for (auto* client : {&longer, &shorter}) {
    desk.send_lines(desk.begin(server, *client), 1, 0);
    desk.take_messages();
  }
  REQUIRE(submitted == 2);
  desk.pass(milliseconds{100});
  CHECK(submitted == 3);
}

TEST_CASE("two batches take turns, although there is room for one line at a time") {
  http::test::RunningServer server;
  auto first = server.connect();
  auto second = server.connect();
  BatchLimits limits;
  limits.unanswered_max = limits.lines_per_turn = 1;
  std::vector<cells::BatchId> order;
  Desk desk{limits};
  desk.script->submit = [&](const cells::SubmitJob& message) {
    order.push_back(message.request.batch);
    return accepted(message.request);
  };
  const auto one = desk.begin(server, first);
  const auto other = desk.begin(server, second);
  desk.send_lines(one, 4, 0);
  desk.send_lines(other, 4, 0);
  desk.take_messages();
  REQUIRE(order.size() == 8);
  CHECK(std::count(order.begin(), order.begin() + 4, order.front()) < 4);
}

TEST_CASE("delayed lines go out several at once after one was not refused") {
  http::test::RunningServer server;
  auto client = server.connect();
  int submitted = 0;
  Desk desk;
  desk.script->submit = [&](const cells::SubmitJob& message) {
    if (++submitted <= 8) return too_fast(message.request, milliseconds{1});
    // Reaches the desk before this answer: only what is in flight by now is accepted.
    if (submitted == 10) desk.send(EndReading{});
    return accepted(message.request);
  };
  desk.send_lines(desk.begin(server, client), 8, 0);
  desk.take_messages();
  desk.pass(std::chrono::seconds{1});
  // One alone, then two.
  CHECK(client.receive().value().body.find("\"accepted\":3") != std::string::npos);
}

TEST_CASE("a batch that is held back by a rate ends at its first delayed line") {
  Daemon daemon;
  auto answers = post_held_back(daemon, 20);
  std::string why;
  SECTION("when celld shuts down") {
    daemon.send(EndReading{});
    why = "/problems/draining";
  }
  SECTION("when it is cancelled") {
    const auto id = cells::format_job_id(daemon.batch.id);
    post(daemon, "", {}, "application/json", "/v1/batches/" + id + "/cancel");
    why = "/problems/batch-cancelled";
  }
  SECTION("when its client may no longer submit") {
    daemon.change_tokens({{.name = "new", .scopes = {}, .customer = {}}});
    why = "/problems/unauthorized";
  }
  const auto answer = answers.get();
  CHECK(answer.body["accepted"] == 3);
  CHECK(answer.body["stopped_at_line"] == 4);
  REQUIRE(answer.body["errors"].size() == 1);
  CHECK(answer.body["errors"][0]["type"] == why);
}

TEST_CASE("a change of tokens ends a batch whose lines are all held back") {
  http::test::RunningServer server;
  auto client = server.connect();
  Desk desk;
  desk.script->submit = [](const cells::SubmitJob& message) {
    return too_fast(message.request, std::chrono::hours{1});
  };
  const auto post = desk.begin(server, client);
  bool is_refused = false;
  post->refusal = [&] {
    return is_refused ? std::optional{Problem{.kind = ProblemKind::unauthorized}} : std::nullopt;
  };
  desk.send_lines(post, 3, 1);
  desk.take_messages();
  is_refused = true;
  desk.send(CheckRefusals{});
  desk.take_messages();
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->body.find("/problems/unauthorized") != std::string::npos);
  CHECK(answer->body.find("\"stopped_at_line\":1") != std::string::npos);
}

TEST_CASE("a batch ends when its token is bound to another customer") {
  const auto bound_to = [](const std::string& customer) {
    return config::Token{"t", sha256("t"), {Scope::submit}, customer};
  };
  Daemon daemon{true, {}, {bound_to("acme")}};
  std::promise<void> asked;
  daemon.script->submit = [&, count = 0](const cells::SubmitJob& message) mutable {
    if (++count == 2) asked.set_value();  // The first line has come back.
    return too_fast(message.request, std::chrono::hours{1});
  };
  auto answers = std::async(std::launch::async, [&daemon] {
    return post_lines(daemon, numbered_lines(2), {{"Authorization", "Bearer t"}});
  });
  asked.get_future().wait();
  daemon.change_tokens({bound_to("bolt")});
  const auto answer = answers.get();
  CHECK(answer.body["accepted"] == 0);
  CHECK(answer.body["stopped_at_line"] == 1);
  CHECK(answer.body["errors"][0]["type"] == "/problems/missing-scope");
}

TEST_CASE("a batch whose last line was in flight when it had to end does not try that line again") {
  http::test::RunningServer server;
  auto client = server.connect();
  bool is_refused = false;
  bool ends = false;
  std::string why;
  SECTION("because its client may no longer submit") {
    is_refused = true;
    why = "/problems/unauthorized";
  }
  SECTION("because celld shuts down") {
    ends = true;
    why = "/problems/draining";
  }
  bool has_changed = false;
  Desk desk;
  desk.script->submit = [&](const cells::SubmitJob& message) {
    has_changed = true;
    // Reaches the desk before this answer.
    ends ? desk.send(EndReading{}) : desk.send(CheckRefusals{});
    return too_fast(message.request, std::chrono::hours{1});
  };
  const auto post = desk.begin(server, client);
  post->refusal = [&] {
    return is_refused && has_changed ? std::optional{Problem{.kind = ProblemKind::unauthorized}}
                                     : std::nullopt;
  };
  desk.send_lines(post, 1, 0);
  desk.take_messages();
  REQUIRE_FALSE(desk.batch.is_open);
  const auto answer = client.receive().value();
  CHECK(answer.body.find("\"stopped_at_line\":1") != std::string::npos);
  CHECK(answer.body.find(why) != std::string::npos);
}

TEST_CASE("lines of a client that may no longer submit are not submitted") {
  http::test::RunningServer server;
  auto client = server.connect();
  int submitted = 0;
  Desk desk;
  desk.script->submit = [&](const cells::SubmitJob& message) {
    ++submitted;
    return accepted(message.request);
  };
  // The tokens have changed since the lines were read. CheckRefusals is still to come.
  const auto post = desk.begin(server, client);
  post->refusal = [] { return std::optional{Problem{.kind = ProblemKind::unauthorized}}; };
  desk.send_lines(post, 3, 0);
  desk.take_messages();
  CHECK(submitted == 0);
  CHECK(client.receive().value().body.find("\"stopped_at_line\":1") != std::string::npos);
}

TEST_CASE("lines that arrive after the end of their batch do not hold up the rest of its body") {
  http::test::RunningServer server;
  auto client = server.connect();
  Desk desk;
  const auto post = desk.begin(server, client);
  post->refusal = [] { return std::optional{Problem{.kind = ProblemKind::unauthorized}}; };
  desk.send(CheckRefusals{});
  desk.take_messages();
  REQUIRE(desk.resumed == 1);  // When the batch was opened.
  auto lines = Desk::good_lines(post, 1, 0);
  lines.is_last = false;
  desk.send(std::move(lines));
  desk.take_messages();
  CHECK(desk.resumed == 2);
}

TEST_CASE("a client that goes on sending after a broken element is answered in time") {
  http::test::RunningServer server;
  auto client = server.connect();
  BatchLimits limits;
  limits.discard_max = milliseconds{100};
  Desk desk{limits};
  auto lines = Desk::good_lines(desk.begin(server, client), 0, 0);
  lines.fault = std::make_shared<const Problem>(Problem{.kind = ProblemKind::malformed_json});
  lines.is_last = false;
  desk.send(std::move(lines));
  desk.take_messages();
  REQUIRE(desk.batch.is_open);
  desk.pass(std::chrono::seconds{1});
  CHECK_FALSE(desk.batch.is_open);
}

TEST_CASE("a batch whose client has gone ends at once, without its delayed lines") {
  http::test::RunningServer server;
  auto client = server.connect();
  Desk desk;
  desk.script->submit = [](const cells::SubmitJob& message) {
    return too_fast(message.request, std::chrono::hours{1});
  };
  const auto post = desk.begin(server, client);
  desk.send_lines(post, 2, 0);
  desk.take_messages();
  REQUIRE(desk.batch.is_open);
  desk.send(AbandonBatch{post});
  desk.take_messages();
  CHECK_FALSE(desk.batch.is_open);
}

TEST_CASE("a line that comes too fast is not delayed if its client has gone meanwhile") {
  http::test::RunningServer server;
  auto client = server.connect();
  Desk desk;
  const auto post = desk.begin(server, client);
  desk.script->submit = [&](const cells::SubmitJob& message) {
    desk.send(AbandonBatch{post});  // Reaches the desk before this answer.
    return too_fast(message.request, std::chrono::hours{1});
  };
  desk.send_lines(post, 1, 0);
  desk.take_messages();
  CHECK_FALSE(desk.batch.is_open);
}

TEST_CASE("a batch that is held back by a rate makes room for another, and names the rate") {
  BatchLimits limits;
  limits.reading_max = 1;
  limits.idle_max = milliseconds{0};
  limits.unanswered_max = 8;  // The last lines wait.
  Daemon daemon{true, limits};
  auto answers = post_held_back(daemon, 4);
  while (post_lines(daemon, "\n").status != 202) {  // The desk may not know of the delay yet.
  }
  const auto answer = answers.get();
  REQUIRE(answer.status == 202);
  CHECK(answer.body["accepted"] == 3);
  CHECK(answer.body["stopped_at_line"] == 4);
  REQUIRE(answer.body["errors"].size() == 1);
  CHECK(answer.body["errors"][0]["type"] == "/problems/quota-exceeded");
}

TEST_CASE("a batch that has paused only briefly makes no room for another") {
  http::test::RunningServer server;
  auto paused = server.connect();
  auto refused = server.connect();
  BatchLimits limits;
  limits.reading_max = 1;
  Desk desk{limits};
  desk.pass(std::chrono::hours{1});
  desk.begin(server, paused);
  desk.send_lines(desk.begin(server, refused), 0, 0);
  desk.take_messages();
  const auto answer = refused.receive().value();
  CHECK(answer.status == 503);
  CHECK(answer.headers.at("retry-after") == "5");
}

TEST_CASE("a batch that a rate no longer holds back makes room because its sender pauses") {
  http::test::RunningServer server;
  auto paused = server.connect();
  auto next = server.connect();
  BatchLimits limits;
  limits.reading_max = 1;
  int submitted = 0;
  Desk desk{limits};
  desk.script->submit = [&](const cells::SubmitJob& message) {
    if (++submitted == 1) return too_fast(message.request, milliseconds{1});
    return accepted(message.request);
  };
  auto lines = Desk::good_lines(desk.begin(server, paused), 1, 0);
  lines.is_last = false;
  desk.send(std::move(lines));
  desk.take_messages();
  desk.pass(limits.idle_max);
  REQUIRE(submitted == 2);
  desk.begin(server, next);
  desk.send(EndReading{});
  desk.take_messages();
  CHECK(paused.receive().value().body.find("/problems/request-timeout") != std::string::npos);
}

TEST_CASE("a batch whose id the store has already is not read") {
  http::test::RunningServer server;
  auto client = server.connect();
  Desk desk;
  desk.script->open_batch = [](const cells::OpenBatch&) { return cells::BatchOpened{false}; };
  desk.send_lines(desk.begin(server, client), 0, 0);
  desk.take_messages();
  CHECK(client.receive().value().status == 503);
}

TEST_CASE("the report of a batch arrives even if the store cannot close the batch") {
  http::test::RunningServer server;
  auto client = server.connect();
  Desk desk;
  desk.script->close_batch = nullptr;
  desk.script->submit = [](const cells::SubmitJob& message) { return accepted(message.request); };
  desk.send_lines(desk.begin(server, client), 1, 0);
  desk.take_messages();
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->status == 202);
  CHECK(answer->body.find("\"accepted\":1") != std::string::npos);
}

TEST_CASE("the batches that are being read are counted") {
  http::test::RunningServer server;
  auto first = server.connect();
  auto second = server.connect();
  Desk desk;
  const auto post = desk.begin(server, first);
  desk.begin(server, second);
  CHECK(desk.figures->reading == 2);
  desk.send_lines(post, 0, 0);
  desk.take_messages();
  CHECK(desk.figures->reading == 1);
}

TEST_CASE("a refused batch whose client goes away leaves the others alone") {
  http::test::RunningServer server;
  auto read = server.connect();
  auto refused = server.connect();
  BatchLimits limits;
  limits.reading_max = 1;
  Desk desk{limits};
  const auto post = desk.begin(server, read);
  desk.send(AbandonBatch{desk.begin(server, refused)});
  desk.take_messages();
  CHECK(refused.receive().value().status == 503);
  desk.send_lines(post, 0, 0);
  desk.take_messages();
  CHECK(read.receive().value().status == 202);
}

TEST_CASE("a batch whose body has ended leaves its place to another") {
  http::test::RunningServer server;
  auto ended = server.connect();
  auto next = server.connect();
  BatchLimits limits;
  limits.reading_max = 1;
  Desk desk{limits};
  desk.script->submit = [](const cells::SubmitJob& message) {
    return too_fast(message.request, std::chrono::hours{1});
  };
  desk.send_lines(desk.begin(server, ended), 1, 0);
  desk.take_messages();
  desk.send_lines(desk.begin(server, next), 0, 0);
  desk.take_messages();
  CHECK(next.receive().value().status == 202);
}

TEST_CASE("a batch that has ended early leaves its place to another while its body goes on") {
  http::test::RunningServer server;
  auto ended = server.connect();
  auto next = server.connect();
  BatchLimits limits;
  limits.reading_max = 1;
  Desk desk{limits};
  desk.script->submit = [](const cells::SubmitJob&) {
    return refusal(cells::Refusal::Kind::queue_full);
  };
  auto lines = Desk::good_lines(desk.begin(server, ended), 1, 0);
  lines.is_last = false;
  desk.send(std::move(lines));
  desk.take_messages();
  desk.send_lines(desk.begin(server, next), 0, 0);
  desk.take_messages();
  CHECK(next.receive().value().status == 202);
}

TEST_CASE("batches that a quota delays take a limited room") {
  http::test::RunningServer server;
  auto first = server.connect();
  auto second = server.connect();
  BatchLimits limits;
  SECTION("in number") {
    limits.delayed_max = 1;
  }
  SECTION("in bytes") {
    limits.delayed_bytes_max = 2;
  }
  Desk desk{limits};
  desk.script->submit = [](const cells::SubmitJob& message) {
    return too_fast(message.request, std::chrono::hours{1});
  };
  for (auto* client : {&first, &second}) {
    desk.send_lines(desk.begin(server, *client), 1, 2);
    desk.take_messages();
  }
  const auto answer = second.receive().value();
  CHECK(answer.status == 202);
  CHECK(answer.body.find("\"stopped_at_line\":1") != std::string::npos);
  CHECK(desk.figures->reading == 1);  // The first one still has room.
}

TEST_CASE("a batch is shown by state, with its progress") {
  Daemon daemon;
  const auto posted = post_lines(daemon, good_job);
  daemon.batch.counts[JobState::queued] = 1;
  daemon.batch.counts[JobState::succeeded] = 2;
  const auto answer = get(daemon, path_of(posted));
  CHECK(answer.status == 200);
  CHECK(answer.body["total"] == 3);
  CHECK(answer.body["states"]["succeeded"] == 2);
  CHECK(answer.body["states"]["failed"] == 0);
  CHECK(answer.body["progress"] == 0.6666);
  CHECK(answer.body["customer"].is_null());
  CHECK(answer.body["finished_at"].is_null());
  daemon.batch.counts[JobState::queued] = 0;
  CHECK(get(daemon, path_of(posted)).body["progress"] == 1.0);
  CHECK(get(daemon, path_of(posted)).body["finished_at"] == "2026-11-20T22:42:56.123Z");
  CHECK(get(daemon, "/v1/batches/nonsense").status == 404);
  CHECK(get(daemon, "/v1/batches?limit=0").status == 422);
  CHECK(get(daemon, "/v1/batches").body["items"].empty());
}

TEST_CASE("a list of batches continues at its cursor") {
  Daemon daemon{false};
  cells::BatchId before = 0;
  daemon.script->list_batches = [&](const cells::ListBatches& list) {
    cells::BatchesListed page;
    if (list.only_cancelled) return page;  // The search for cancellations to continue.
    before = list.before;
    page.batches.emplace_back().id = 77;
    page.next = 77;
    return page;
  };
  daemon.attach();
  const auto first = get(daemon, "/v1/batches");
  REQUIRE(first.body["next_cursor"] == job_cursor(77));
  CHECK(before == 0);
  get(daemon, "/v1/batches?cursor=" + job_cursor(77));
  CHECK(before == 77);
}

TEST_CASE("a batch is the same however little the desk does at a time") {
  BatchLimits limits;
  limits.unanswered_max = limits.lines_per_turn = limits.paced_lines = limits.tally_lines = 3;
  Daemon daemon{true, limits};
  const auto answer =
      post_lines(daemon, repeated(good_job + "\n", 7) + repeated("{}\n", 9) + good_job + "\n{}\n");
  CHECK(answer.status == 202);
  CHECK(answer.body["accepted"] == 8);
  CHECK(answer.body["rejected"] == 10);
  CHECK(answer.body["errors"].front()["line"] == 8);
  CHECK(answer.body["errors"].back()["line"] == 18);
}

TEST_CASE("a batch has a greater id than those of the last life, even if the clock was set back") {
  Daemon daemon{false};
  const auto last = cells::first_job_id_at(wall_now + std::chrono::hours{1});
  daemon.script->list_batches = [&](const cells::ListBatches& list) {
    cells::BatchesListed page;
    if (!list.only_cancelled) page.batches.emplace_back().id = last;
    return page;
  };
  daemon.attach();
  const auto answer = post_lines(daemon, good_job + "\n");
  REQUIRE(answer.status == 202);
  CHECK(answer.body["id"].get<std::string>() > cells::format_job_id(last));
}
