// The meaning of answers to the requests of a mapping.
#include "src/providers/http/mapping/answer.hpp"

#include <string>

#include "tests/unit/src/providers/http/mapping/fixture.hpp"

namespace celld::providers::mappings {
namespace {

using cells::CallOutcome;
using Kind = CallOutcome::Kind;
using test::a_mapping;
using test::creating;

constexpr cells::WallTime now{cells::milliseconds(1'795'000'000'000)};

AnswerRules rules_of(const json::Value& answer) {
  return a_mapping(creating({{"method", "GET"}, {"path", ""}, {"answer", answer}}))
      .actions.at("create")[0]
      .answer;
}

std::variant<Done, CallOutcome> reading(const json::Value& answer, int status,
                                        const std::string& body = "",
                                        std::optional<std::string> retry_after = std::nullopt) {
  const HttpResult result{HttpResult::End::answered, status, body, std::move(retry_after), ""};
  return read_answer(rules_of(answer), "dns", result, now, {"s3cret-word"});
}

Done done(const json::Value& answer, int status, const std::string& body = "") {
  auto result = reading(answer, status, body);
  if (const auto* failure = std::get_if<CallOutcome>(&result)) FAIL(failure->message);
  return std::get<Done>(std::move(result));
}

CallOutcome failure(const json::Value& answer, int status, const std::string& body = "",
                    std::optional<std::string> retry_after = std::nullopt) {
  auto result = reading(answer, status, body, std::move(retry_after));
  REQUIRE(std::holds_alternative<CallOutcome>(result));
  return std::get<CallOutcome>(std::move(result));
}

const json::Value nothing = json::Value::object();

}  // namespace

TEST_CASE("without rules, a status means what it means without a mapping") {
  CHECK(done(nothing, 204).properties.empty());
  CHECK(done(nothing, 200, "not JSON, and not read").messages.empty());
  CHECK(failure(nothing, 404).kind == Kind::rejected);
  CHECK(failure(nothing, 503, "", "7").retry_after == cells::milliseconds(7000));
  CHECK(failure(nothing, 429).kind == Kind::throttled);
  CHECK(failure(nothing, 401).kind == Kind::unauthorized);
  CHECK(failure(nothing, 302).code == "invalid_response");
  CHECK(failure(nothing, 400, R"({"code": "too-bad", "detail": "no"})").code == "too-bad");
}

TEST_CASE("rules say what a status means") {
  const json::Value rules = {{"done", {201, 303}},
                             {"already_done", {409, 404}},
                             {"retry", {412, 429}},
                             {"reject", {500, "5xx"}}};
  done(rules, 201);
  done(rules, 303);
  done(rules, 409, "<html>");
  done(rules, 404);
  const auto retried = failure(rules, 412, "", "3");
  CHECK(retried.kind == Kind::retryable);
  CHECK(retried.code == "provider_error");
  CHECK(retried.message == "dns answered with HTTP status 412.");
  CHECK(retried.retry_after == cells::milliseconds(3000));
  CHECK(failure(rules, 429).kind == Kind::throttled);
  CHECK(failure({{"retry", {403}}}, 403).kind == Kind::retryable);
  CHECK(failure({{"retry", {403}}}, 403, R"({"message": "no"})").message ==
        "dns answered with HTTP status 403.");
  CHECK(failure({{"reject", {401}}}, 401).kind == Kind::rejected);
  CHECK(failure(rules, 503).kind == Kind::rejected);
  CHECK(failure(rules, 503).message == "dns refused the request with HTTP status 503.");
  CHECK(failure(rules, 418).kind == Kind::rejected);
}

TEST_CASE("a status comes before its class") {
  const json::Value rules = {{"already_done", {409}}, {"retry", {"4xx"}}, {"reject", {422}}};
  done(rules, 409);
  CHECK(failure(rules, 422).kind == Kind::rejected);
  CHECK(failure(rules, 400).kind == Kind::retryable);
  done(rules, 200);
}

TEST_CASE("a status below 100 is of no class") {
  CHECK(failure({{"done", {"2xx"}}, {"already_done", {"4xx"}}}, 2).code == "invalid_response");
  CHECK(failure({{"done", {"2xx"}}, {"already_done", {"4xx"}}}, 4).code == "invalid_response");
}

TEST_CASE("where rules name what is done, no other status is a success") {
  const auto outcome = failure({{"done", {201}}}, 202);
  CHECK(outcome.kind == Kind::retryable);
  CHECK(outcome.code == "invalid_response");
  CHECK(outcome.message == "dns answered with HTTP status 202, which its mapping does not expect.");
  done({{"done", {"2xx"}}}, 202);
}

TEST_CASE("properties are parts of the answer") {
  const json::Value rules = {
      {"already_done", {409}},
      {"properties", {{"id", "/zone/id"}, {"first", "/list/0"}, {"all", ""}}}};
  const std::string body = R"({"zone": {"id": 7}, "list": [{"a": null}]})";
  CHECK(done(rules, 200, body).properties ==
        cells::Properties{{"id", "7"},
                          {"first", R"({"a":null})"},
                          {"all", R"({"list":[{"a":null}],"zone":{"id":7}})"}});
}

TEST_CASE("a property that is done must be there, and one that was done need not") {
  const json::Value rules = {{"already_done", {409}}, {"properties", {{"id", "/id"}}}};
  CHECK(failure(rules, 200, "{}").message == "dns answered without `/id`, the property `id`.");
  CHECK(failure(rules, 200, "").message == "dns answered with a body that is not JSON.");
  CHECK(failure(rules, 200, R"({"id": 1e999})").code == "invalid_response");
  CHECK(done(rules, 409, "").properties.empty());
  CHECK(done(rules, 409, "{}").properties.empty());
  CHECK(done(rules, 409, R"({"id": 1})").properties == cells::Properties{{"id", "1"}});
  CHECK(done({{"properties", {{"id", "/id"}}}}, 200, R"({"id": 1, "n": 1e999})")
            .properties.at("id") == "1");
  std::string many = R"({"n": [)";  // More than are listed.
  for (int i = 0; i < 150; ++i) many += "1e999,";
  CHECK(done(rules, 200, many + R"(1], "id": 1})").properties.at("id") == "1");
  CHECK(failure(rules, 200, many + R"(1], "id": [1e999]})").code == "invalid_response");
}

TEST_CASE("properties have at most 256 KiB") {
  const json::Value rules = {{"properties", {{"id", "/id"}}}};
  const auto body = [](std::size_t bytes) {
    return R"({"id": ")" + std::string(bytes, 'x') + "\"}";
  };
  done(rules, 200, body((256 << 10) - 4));
  CHECK(failure(rules, 200, body((256 << 10) - 3)).message ==
        "dns answered with more than 256 KiB of properties.");
}

TEST_CASE("messages are texts of the answer, without secrets") {
  const json::Value rules = {{"messages", {{"/note", "info"}, {"/warnings", "warning"}}}};
  const auto messages =
      done(rules, 200, R"({"note": "s3cret-word", "warnings": ["a", 1, "", "b"]})").messages;
  REQUIRE(messages.size() == 3);
  CHECK(messages[0].text == "***");
  CHECK(messages[0].severity == cells::Severity::info);
  CHECK(messages[0].service == "dns");
  CHECK(messages[0].time == now);
  CHECK(messages[1].text == "a");
  CHECK(messages[2].text == "b");
  CHECK(messages[2].severity == cells::Severity::warning);
  CHECK(done(rules, 200, "not JSON").messages.empty());
  CHECK(done(rules, 200, R"({"note": {"text": 1}})").messages.empty());
}

TEST_CASE("the last hundred messages are kept") {
  json::Value texts = json::Value::array();
  for (int i = 0; i < 101; ++i) texts.push_back(std::to_string(i));
  const auto messages = done({{"messages", {{"", "info"}}}}, 200, json::dump(texts)).messages;
  REQUIRE(messages.size() == 100);
  CHECK(messages.front().text == "1");
  CHECK(messages.back().text == "100");
}

TEST_CASE("a failure says what the answer says") {
  const json::Value rules = {{"error", {{"code", "/errors/0/code"}, {"message", "/errors/0/text"}}},
                             {"retry", {409}}};
  const std::string body = R"({"errors": [{"code": 1013, "text": "s3cret-word is locked"}]})";
  const auto rejected = failure(rules, 400, body);
  CHECK(rejected.code == "1013");
  CHECK(rejected.message == "*** is locked");
  const auto retried = failure(rules, 409, body);
  CHECK(retried.code == "provider_error");
  CHECK(retried.message == "dns answered with HTTP status 409: *** is locked");
  const auto busy = failure(rules, 503, body, "7");
  CHECK(busy.retry_after == cells::milliseconds(7000));
  CHECK(busy.pauses_service);
  CHECK(failure(rules, 400, R"({"errors": [{"code": "a b", "text": " "}]})").code ==
        "provider_rejected");
  CHECK(failure(rules, 400, "<html>").message == "dns refused the request with HTTP status 400.");
  const auto elsewhere = failure(rules, 400, R"({"code": "no", "message": "not here"})");
  CHECK(elsewhere.code == "provider_rejected");
  CHECK(elsewhere.message == "dns refused the request with HTTP status 400.");
}

namespace {

using Polled = std::variant<Done, Pending, PollFailed>;

Polled polling(const json::Value& poll, int status, const std::string& body = "",
               std::optional<std::string> retry_after = std::nullopt) {
  json::Value request{{"method", "POST"}, {"path", ""}, {"poll", poll}};
  request["poll"]["path"] = "/x";
  const auto mapping = a_mapping(creating(request));
  const HttpResult result{HttpResult::End::answered, status, body, std::move(retry_after), ""};
  return read_poll(*mapping.actions.at("create")[0].poll, "dns", result, now, {"s3cret-word"});
}

CallOutcome failure_of(const Polled& polled) {
  return std::get<PollFailed>(polled).outcome;
}

const json::Value by_value = {
    {"until", {{"value", "/status"}, {"done", {"ready", 3}}, {"failed", {"broken", nullptr}}}},
    {"answer", {{"properties", {{"ip", "/ip"}}}, {"error", {{"message", "/why"}}}}}};

}  // namespace

TEST_CASE("a value in the answer to a poll says whether the operation has ended") {
  const auto done = polling(by_value, 200, R"({"status": "ready", "ip": "192.0.2.1"})");
  REQUIRE(std::holds_alternative<Done>(done));
  CHECK(std::get<Done>(done).properties == cells::Properties{{"ip", R"("192.0.2.1")"}});
  CHECK(std::holds_alternative<Done>(polling(by_value, 200, R"({"status": 3, "ip": 1})")));
  for (const char* body : {R"({"status": "busy"})", R"({"status": "3"})", R"({"status": true})"})
    CHECK(std::holds_alternative<Pending>(polling(by_value, 200, body)));
}

TEST_CASE("an operation that goes on has a state for people, without secrets and not too long") {
  const auto state_of = [](const std::string& status) {
    return std::get<Pending>(polling(by_value, 200, R"({"status": ")" + status + R"("})")).state;
  };
  CHECK(state_of("READY") == R"(`/status` was "READY")");
  CHECK(state_of("an s3cret-word") == R"(`/status` was "an ***")");
  CHECK(state_of(std::string(1000, 'x')).size() == 200);
  CHECK(state_of(std::string(176, 'x') + "s3cret-word").ends_with("xxx***\""));
}

TEST_CASE("an operation that failed is rejected, with the words of the answer") {
  const auto [outcome, has_ended] = std::get<PollFailed>(
      polling(by_value, 200, R"({"status": "broken", "why": "no s3cret-word left"})"));
  CHECK(has_ended);
  CHECK(outcome.kind == Kind::rejected);
  CHECK(outcome.code == "provider_rejected");
  CHECK(outcome.message == "no *** left");
  CHECK(failure_of(polling(by_value, 200, R"({"status": null})")).message ==
        "The operation at dns has failed: `/status` is null.");
}

TEST_CASE("a poll without its value, or with another status, fails as any request") {
  const auto missing = failure_of(polling(by_value, 200, "{}"));
  CHECK(missing.kind == Kind::retryable);
  CHECK(missing.message ==
        "dns answered without `/status`, which says whether the operation has ended.");
  CHECK(failure_of(polling(by_value, 200, "<html>")).message ==
        "dns answered with a body that is not JSON.");
  CHECK(failure_of(polling(by_value, 200, R"({"status": "ready"})")).message ==
        "dns answered without `/ip`, the property `ip`.");
  CHECK(failure_of(polling(by_value, 503)).kind == Kind::retryable);
  CHECK(failure_of(polling(by_value, 404)).kind == Kind::rejected);
}

TEST_CASE("a poll that is rejected ends its operation only if the mapping says so") {
  CHECK_FALSE(std::get<PollFailed>(polling(by_value, 404)).has_ended);
  CHECK(std::get<PollFailed>(polling({{"answer", {{"pending", {202}}, {"reject", {404}}}}}, 404))
            .has_ended);
}

TEST_CASE("a status can say that the operation goes on") {
  const json::Value by_status = {{"answer", {{"pending", {202, 404}}}}};
  const auto pending = polling(by_status, 202, "", "7");
  REQUIRE(std::holds_alternative<Pending>(pending));
  CHECK(std::get<Pending>(pending).retry_after == cells::milliseconds{7000});
  CHECK(std::holds_alternative<Pending>(polling(by_status, 404)));
  CHECK(std::holds_alternative<Done>(polling(by_status, 200)));
}

TEST_CASE("an end without an answer is not for the mapping to read") {
  const HttpResult result{HttpResult::End::timed_out, 0, "", std::nullopt, ""};
  const auto read = read_answer(rules_of({{"already_done", {"4xx"}}}), "dns", result, now, {});
  CHECK(std::get<CallOutcome>(read).kind == Kind::unknown);
  CHECK(std::get<CallOutcome>(read).code == "timeout");
}

}  // namespace celld::providers::mappings
