// The outcome of each kind of answer.
#include "src/providers/http/outcome.hpp"

#include <string>

#include "tests/unit/catch.hpp"

namespace celld::providers {
namespace {

using namespace std::chrono_literals;
using cells::CallOutcome;
using cells::Severity;
using End = HttpResult::End;
using Kind = CallOutcome::Kind;

// 2026-11-20T22:42:56Z
const cells::WallTime now{milliseconds{1'795'214'576'000}};

CallOutcome outcome_of(int status, std::string body = {},
                       std::optional<std::string> retry_after = {}) {
  HttpResult result;
  result.end = End::answered;
  result.status = status;
  result.body = std::move(body);
  result.retry_after = std::move(retry_after);
  return interpret("dns", result, now);
}

CallOutcome outcome_of(End end, std::string reason = {}) {
  HttpResult result;
  result.end = end;
  result.reason = std::move(reason);
  return interpret("dns", result, now);
}

void check_invalid(const CallOutcome& outcome) {
  CHECK(outcome.kind == Kind::retryable);
  CHECK(outcome.code == "invalid_response");
  CHECK(outcome.message.starts_with("dns answered with "));
  CHECK(outcome.message.ends_with("."));
}

}  // namespace

TEST_CASE("every 2xx with an empty body or an empty object is a success") {
  const int status = GENERATE(200, 201, 202, 204, 299);
  const auto* body = GENERATE("", "{}", " \r\n", R"({"other": [1, {"x": null}]})");
  const auto outcome = outcome_of(status, body);
  CHECK(outcome.kind == Kind::succeeded);
  CHECK(outcome.code.empty());
  CHECK(outcome.message.empty());
  CHECK(outcome.properties.empty());
  CHECK(outcome.messages.empty());
}

TEST_CASE("properties are kept as JSON text, by name") {
  const auto outcome = outcome_of(
      200,
      R"({"properties": {"id": "z-1", "n": 18446744073709551615, "list": [1, 2], "o": {"a": null}}})");
  CHECK(outcome.kind == Kind::succeeded);
  CHECK(outcome.properties == cells::Properties{{"id", R"("z-1")"},
                                                {"list", "[1,2]"},
                                                {"n", "18446744073709551615"},
                                                {"o", R"({"a":null})"}});
}

TEST_CASE("messages are kept with severity, service and time") {
  const auto outcome = outcome_of(200, R"({"messages": [{"severity": "warning", "text": "slow"},
      {"text": "fine", "extra": 1}, {"severity": "debug", "text": "odd"}]})");
  CHECK(outcome.kind == Kind::succeeded);
  REQUIRE(outcome.messages.size() == 3);
  CHECK(outcome.messages[0] == cells::Message{now, Severity::warning, "dns", "slow"});
  CHECK(outcome.messages[1] == cells::Message{now, Severity::info, "dns", "fine"});
  CHECK(outcome.messages[2] == cells::Message{now, Severity::info, "dns", "odd"});
}

TEST_CASE("a success of the wrong shape is invalid") {
  check_invalid(outcome_of(
      200,
      GENERATE("[]", "null", "1", R"("ok")", "{", "ok", "{}{}", R"({"a":1,"a":2})",
               R"({"properties": []})", R"({"properties": null})", R"({"properties": "x"})",
               R"({"properties": {"n": 99999999999999999999999}})", R"({"messages": {}})",
               R"({"messages": ["x"]})", R"({"messages": [{}]})", R"({"messages": [{"text": 1}]})",
               R"({"messages": [{"text": "x", "severity": 1}]})", "\xff\xfe", "<html/>")));
}

TEST_CASE("the message of a failure has the words of the provider") {
  CHECK(outcome_of(503, R"({"message": "try later"})").message ==
        "dns answered with HTTP status 503: try later");
  CHECK(outcome_of(429, R"({"detail": "slow down"})").message ==
        "dns answered with HTTP status 429: slow down");
  CHECK(outcome_of(500, "<html/>").message == "dns answered with HTTP status 500.");
  CHECK(outcome_of(500, R"({"message": " "})").message == "dns answered with HTTP status 500.");
}

TEST_CASE("an answer that cannot be read is described") {
  CHECK(outcome_of(200, R"({"a":1,"a":2})").message ==
        "dns answered with a body that cannot be read: line 1, column 10: duplicate key \"a\".");
  CHECK(outcome_of(200, "[]").message == "dns answered with a body that is not a JSON object.");
  CHECK(outcome_of(200, "\x1f\x8b\x08").message == "dns answered with a compressed body (gzip).");
}

TEST_CASE("a number out of range matters only in the properties") {
  CHECK(outcome_of(200, R"({"other": 99999999999999999999999})").kind == Kind::succeeded);
  // More than are listed: any of the properties may have one.
  std::string many = R"({"other": [)";
  for (int i = 0; i < 200; ++i) many += "1e999,";
  CHECK(outcome_of(200, many + "1]}").kind == Kind::succeeded);
  check_invalid(outcome_of(200, many + R"(1], "properties": {"n": 1e999}})"));
  check_invalid(outcome_of(200, many + R"(1], "properties": {"n": {"in": [1, 1e999]}}})"));
  CHECK(outcome_of(200, many + R"(1], "properties": {"n": {"in": [1, "x"]}}})").kind ==
        Kind::succeeded);
}

TEST_CASE("an answer may have as many values as fit into it") {
  std::string values = "[0";
  for (int i = 0; i < 100'000; ++i) values += ",0";
  const auto outcome =
      outcome_of(200, R"({"other":)" + values + R"(],"properties":{"p":)" + values + "]}}");
  REQUIRE(outcome.kind == Kind::succeeded);
  CHECK(outcome.properties.at("p") == values + "]");
}

TEST_CASE("256 KiB of properties are accepted, and no more") {
  const auto body_of = [](std::size_t bytes) {  // The name and two quotes take three bytes.
    return R"({"properties": {"p": ")" + std::string(bytes - 3, 'x') + R"("}})";
  };
  CHECK(outcome_of(200, body_of(properties_bytes_max)).kind == Kind::succeeded);
  check_invalid(outcome_of(200, body_of(properties_bytes_max + 1)));
}

TEST_CASE("the last hundred messages are kept, each truncated between characters") {
  std::string body = R"({"messages": [)";
  for (int i = 0; i < 150; ++i) body += R"({"text": "m)" + std::to_string(i) + R"("},)";
  body += R"({"text": ")" + std::string(text_bytes_max - 1, 'a') + "\xc3\xa4" + R"("}]})";
  const auto outcome = outcome_of(200, body);
  REQUIRE(outcome.messages.size() == messages_max);
  CHECK(outcome.messages.front().text == "m51");
  CHECK(outcome.messages.back().text == std::string(text_bytes_max - 1, 'a'));
}

TEST_CASE("a temporary failure is retried after the requested time") {
  const int status = GENERATE(408, 423, 425, 500, 502, 503, 504, 599);
  const auto outcome = outcome_of(status, "whatever", "12");
  CHECK(outcome.kind == Kind::retryable);
  CHECK(outcome.code == "provider_error");
  CHECK(outcome.message == "dns answered with HTTP status " + std::to_string(status) + ".");
  CHECK(outcome.retry_after == 12s);
}

TEST_CASE("429 is throttled") {
  CHECK(outcome_of(429, "", "3").kind == Kind::throttled);
  CHECK(outcome_of(429, "", "3").retry_after == 3s);
  CHECK(outcome_of(429, "", "soon").retry_after == std::nullopt);
  CHECK(outcome_of(429).retry_after == std::nullopt);
}

TEST_CASE("a gateway's failure leaves in doubt whether the provider has acted") {
  for (const int status : {502, 504}) CHECK(outcome_of(status).in_doubt);
  for (const int status : {200, 400, 401, 408, 423, 425, 429, 500, 501, 503, 505}) {
    CHECK_FALSE(outcome_of(status).in_doubt);
  }
}

TEST_CASE("a pause of the whole service is asked for by 429 and 503 with Retry-After alone") {
  for (const int status : {429, 503}) {
    CHECK(outcome_of(status, "", "3").pauses_service);
    CHECK_FALSE(outcome_of(status).pauses_service);
    CHECK_FALSE(outcome_of(status, "", "soon").pauses_service);
    CHECK_FALSE(outcome_of(status, "", "0").pauses_service);  // The circuit counts it instead.
    CHECK_FALSE(outcome_of(status, "", "Thu, 01 Jan 1970 00:00:00 GMT").pauses_service);
  }
  for (const int status : {200, 400, 401, 408, 423, 425, 500, 502, 504}) {
    CHECK_FALSE(outcome_of(status, "", "3").pauses_service);
  }
}

TEST_CASE("401 and 403 say that celld is not accepted, and the message names the credentials") {
  const auto outcome = outcome_of(GENERATE(401, 403), R"({"message": "bad key s3cret"})");
  CHECK(outcome.kind == Kind::unauthorized);
  CHECK(outcome.code == "provider_error");
  CHECK(outcome.message.find("credentials") != std::string::npos);
  CHECK(outcome.message.find("s3cret") == std::string::npos);
}

TEST_CASE("any other 4xx is a rejection in the provider's own words") {
  const auto plain = outcome_of(GENERATE(400, 404, 409, 410, 422, 451), "no");
  CHECK(plain.kind == Kind::rejected);
  CHECK(plain.code == "provider_rejected");
  CHECK(plain.message.starts_with("dns refused the request with HTTP status 4"));

  const auto own = outcome_of(409, R"({"code": "zone_exists", "message": "The zone exists."})");
  CHECK(own.kind == Kind::rejected);
  CHECK(own.code == "zone_exists");
  CHECK(own.message == "The zone exists.");

  CHECK(outcome_of(422, R"({"title": "Bad", "detail": "ttl is too low"})").message ==
        "ttl is too low");
  CHECK(outcome_of(422, R"({"title": "Bad", "status": 422})").message == "Bad");
  CHECK(outcome_of(422, R"({"detail": "why", "message": "what"})").message == "what");
  CHECK(outcome_of(422, R"({"code": "has blanks", "message": ""})").code == "provider_rejected");
  CHECK(outcome_of(422, R"({"code": 7, "message": ["x"]})").message.starts_with("dns refused"));
  CHECK(outcome_of(400, R"({"message": ")" + std::string(10'000, 'x') + R"("})").message.size() ==
        text_bytes_max);
}

TEST_CASE("a status that is neither success nor error is invalid") {
  check_invalid(outcome_of(GENERATE(0, 100, 101, 199, 301, 302, 304, 307, 399, 600, 999)));
}

TEST_CASE("calls without an answer have their own codes") {
  const auto refused = outcome_of(End::not_sent, "Couldn't connect to server");
  CHECK(refused.kind == Kind::retryable);
  CHECK(refused.code == "communications_error");
  CHECK(refused.message == "dns could not be reached: Couldn't connect to server.");

  const auto unable = outcome_of(End::unable, "Too many open files");
  CHECK(unable.kind == Kind::unable);
  CHECK(unable.code == "communications_error");
  CHECK(unable.message == "celld could not call dns: Too many open files.");

  CHECK(outcome_of(End::not_reached).kind == Kind::retryable);
  CHECK(outcome_of(End::not_reached).code == "timeout");
  CHECK(outcome_of(End::broken).kind == Kind::unknown);
  CHECK(outcome_of(End::broken).code == "communications_error");
  CHECK(outcome_of(End::timed_out).kind == Kind::unknown);
  CHECK(outcome_of(End::timed_out).code == "timeout");
  CHECK(outcome_of(End::aborted).kind == Kind::aborted);
  check_invalid(outcome_of(End::garbled));
  check_invalid(outcome_of(End::too_large));
}

TEST_CASE("secrets are blanked in a provider's messages") {
  HttpResult result;
  result.end = End::answered;
  result.status = 400;
  result.body = R"({"message": "key s3cret, again s3cret, is wrong"})";
  CHECK(interpret("dns", result, now, {"s3cret", ""}).message == "key ***, again ***, is wrong");
  result.status = 200;
  result.body = R"({"messages": [{"text": "used s3cret"}]})";
  CHECK(interpret("dns", result, now, {"s3cret"}).messages.at(0).text == "used ***");
}

TEST_CASE("nested and overlapping secrets are blanked completely") {
  HttpResult result;
  result.end = End::answered;
  result.status = 400;
  result.body = R"({"message": "cannot reach postgres://prod:s3cret@db/prod, 1234567 of prod"})";
  for (const auto& secrets :
       {std::vector<std::string>{"prod", "postgres://prod:s3cret@db/prod", "12345", "34567"},
        std::vector<std::string>{"34567", "postgres://prod:s3cret@db/prod", "12345", "prod"}}) {
    CHECK(interpret("dns", result, now, secrets).message == "cannot reach ***, *** of ***");
  }
}

TEST_CASE("a secret is blanked completely where the text is truncated") {
  HttpResult result;
  result.end = End::answered;
  result.status = 400;
  const std::string filler(text_bytes_max - 3, 'x');
  result.body = R"({"code": "s3cret", "message": ")" + filler + R"(s3cret"})";
  const auto outcome = interpret("dns", result, now, {"s3cret"});
  CHECK(outcome.message == filler + "***");
  CHECK(outcome.code == "***");
}

TEST_CASE("Retry-After is seconds or an HTTP date") {
  CHECK(parse_retry_after("0", now) == 0ms);
  CHECK(parse_retry_after("120", now) == 120s);
  CHECK(parse_retry_after("99999999999999999999999", now) == 366 * 24h);
  CHECK(parse_retry_after("Fri, 20 Nov 2026 22:43:56 GMT", now) == 60s);
  CHECK(parse_retry_after("Fri, 20 Nov 2026 22:43:56 GMT", now + 500ms) == 60s);  // Not too early.
  CHECK(parse_retry_after("Friday, 20-Nov-26 22:43:56 GMT", now) == 60s);
  CHECK(parse_retry_after("Fri Nov 20 22:43:56 2026", now) == 60s);
  CHECK(parse_retry_after("Fri, 20 Nov 2020 22:43:56 GMT", now) == 0ms);
  for (const auto* text : {"", "-1", "1.5", "soon", "tomorrow", "0x10", "12 s", "1:2:3:4"}) {
    INFO(text);
    CHECK(parse_retry_after(text, now) == std::nullopt);
  }
}

TEST_CASE("text is truncated between characters") {
  CHECK(truncate_text("abc", 3) == "abc");
  CHECK(truncate_text("abcd", 3) == "abc");
  CHECK(truncate_text("a\xf0\x9f\x98\x80", 5) == "a\xf0\x9f\x98\x80");
  for (const std::size_t cut : {1U, 2U, 3U, 4U})
    CHECK(truncate_text("a\xf0\x9f\x98\x80z", cut) == "a");
}

}  // namespace celld::providers
