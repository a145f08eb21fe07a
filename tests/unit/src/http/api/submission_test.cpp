#include "src/http/api/submission.hpp"

#include <set>
#include <string>

#include "src/json/time_text.hpp"
#include "tests/unit/catch.hpp"

using namespace celld;
using namespace celld::api;
using Faults = std::vector<json::Fault>;
using std::chrono::milliseconds;

namespace {

SubmissionRules rules() {
  cells::CellRule acme;
  acme.customer = "acme";
  acme.settings.timeout = milliseconds(1000);
  acme.settings.timeout_max = milliseconds(5000);
  return {{"dns", "billing", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13",
           "s14", "s15", "s16", "s17"},
          std::make_shared<cells::Routing>(std::vector<cells::CellRule>{acme})};
}

cells::JobRequest accepted(std::string_view body) {
  auto result = parse_submission(body, rules());
  if (const auto* problem = std::get_if<Problem>(&result)) {
    for (const auto& fault : problem->errors) UNSCOPED_INFO(fault.pointer << ": " << fault.detail);
    FAIL(problem->detail);
  }
  auto& submission = std::get<Submission>(result);
  CHECK_FALSE(submission.refusal_if_new);
  return std::move(submission.request);
}

Problem refused(std::string_view body, Faults before = {}) {
  auto result = parse_submission(body, rules(), {.faults = std::move(before)});
  if (std::holds_alternative<Submission>(result)) FAIL("accepted: " << body);
  return std::get<Problem>(std::move(result));
}

/// A valid job with the members in `more`, each of which begins with a comma.
std::string job_with(const std::string& more) {
  return R"({"customer":"acme","product":"dns","action":"create",)"
         R"("entity":{"type":"zone","id":"example.com"},"services":["dns"])" +
         more + "}";
}

Faults faults_with(const std::string& more) {
  return refused(job_with(more)).errors;
}

std::string quoted(std::size_t length) {
  return "\"" + std::string(length, 'x') + "\"";
}

}  // namespace

TEST_CASE("every field of a submission is read") {
  const cells::JobRequest request = accepted(R"({
    "customer": "acme", "product": "dns", "action": "create",
    "entity": {"type": "zone", "subtype": "primary", "id": "example.com"},
    "services": ["dns", "billing"], "parameters": {"ttl": 300, "a": [1, "é"]},
    "priority": 9, "run_at": "2026-11-20T22:42:56.123Z", "expires_at": "2026-11-21T00:00:00Z",
    "timeout_ms": 5000, "retry": {"max_attempts": 7}, "labels": {"ticket": "T-1", "empty": ""},
    "on_failure": "stop"})");
  const cells::JobSpec& spec = request.spec;
  CHECK(spec.customer == "acme");
  CHECK(spec.product == "dns");
  CHECK(spec.action == "create");
  CHECK(spec.entity == cells::Entity{"zone", "primary", "example.com"});
  CHECK(spec.services == std::vector<std::string>{"dns", "billing"});
  CHECK(spec.parameters == R"({"a":[1,"é"],"ttl":300})");
  CHECK(spec.priority == 9);
  CHECK(request.run_at == celld::json::parse_time("2026-11-20T22:42:56.123Z"));
  CHECK_FALSE(request.delay);
  CHECK(request.expires_at == celld::json::parse_time("2026-11-21T00:00:00Z"));
  CHECK(spec.timeout == milliseconds(5000));
  CHECK(spec.max_attempts == 7);
  CHECK(spec.labels == std::map<std::string, std::string>{{"empty", ""}, {"ticket", "T-1"}});
}

TEST_CASE("an omitted field has its default, or the cell's") {
  const cells::JobRequest request = accepted(job_with(""));
  CHECK(request.spec.parameters == "{}");
  CHECK(request.spec.priority == 5);
  CHECK(request.spec.timeout == milliseconds(0));
  CHECK(request.spec.max_attempts == 0);
  CHECK(request.spec.entity.subtype.empty());
  CHECK_FALSE(request.delay);
  CHECK_FALSE(request.run_at);
  CHECK_FALSE(request.expires_at);
  CHECK(accepted(job_with(R"(,"delay_ms":0)")).delay == milliseconds(0));
}

TEST_CASE("all faults of a submission are reported at once") {
  const Problem problem = refused(R"({
    "customer": "ac me", "product": 7, "action": "",
    "entity": {"type": "", "id": 1, "more": 2},
    "services": ["dns", "dns", "nosuch", 4],
    "parameters": [], "priority": 10, "delay_ms": -1, "run_at": "tomorrow", "timeout_ms": 1.5,
    "expires_at": null, "retry": {"max_attempts": 0, "x": 1}, "labels": {"a": 1},
    "on_failure": "explode", "colour": "red"})");
  CHECK(problem.kind == ProblemKind::invalid_request);
  CHECK(problem.errors ==
        Faults{{"/customer", "must match [A-Za-z0-9][A-Za-z0-9._-]{0,62}"},
               {"/product", "must be a string"},
               {"/action", "must not be empty"},
               {"/entity/type", "must not be empty"},
               {"/entity/id", "must be a string"},
               {"/entity/more", "is unknown"},
               {"/services/1", "is repeated"},
               {"/services/2", "is not a configured service"},
               {"/services/3", "must be a string"},
               {"/parameters", "must be an object"},
               {"/priority", "must be an integer from 1 to 9"},
               {"/expires_at", "must be a string"},
               {"/timeout_ms", "must be an integer from 1 to 604800000"},
               {"/retry/max_attempts", "must be an integer from 1 to 1000"},
               {"/retry/x", "is unknown"},
               {"/labels/a", "must be a string"},
               {"/on_failure", "must be \"stop\" or \"compensate\""},
               {"/run_at", "must be a time in UTC such as 2026-11-20T22:42:56.123Z"},
               {"/delay_ms", "must be an integer from 0 to 315360000000"},
               {"/run_at", "must not be combined with `delay_ms`"},
               {"/colour", "is unknown"}});
}

TEST_CASE("a job that compensates names only services with an undo of its action") {
  auto undoing = rules();
  undoing.can_undo = [](const std::string& service, const std::string& action) {
    return service == "billing" || (service == "dns" && action == "create");
  };
  const auto parse = [&](std::string_view action, std::string_view services,
                         std::optional<std::string> key = std::nullopt) {
    const std::string body = R"({"customer":"acme","product":"dns","on_failure":"compensate",)" +
                             std::string(R"("entity":{"type":"zone","id":"a"},"action":")") +
                             std::string(action) + R"(","services":)" + std::string(services) + "}";
    return parse_submission(body, undoing, {.faults = {}, .idempotency_key = std::move(key)});
  };
  auto good = parse("create", R"(["dns","billing"])");
  REQUIRE(std::holds_alternative<Submission>(good));
  CHECK(std::get<Submission>(good).request.spec.on_failure == cells::OnFailure::compensate);
  auto bad = parse("delete", R"(["dns","billing","s3"])");
  REQUIRE(std::holds_alternative<Problem>(bad));
  const std::string why = " has no `undo` of this action, which \"compensate\" requires";
  CHECK(std::get<Problem>(bad).errors ==
        Faults{{"/services/0", "dns" + why}, {"/services/2", "s3" + why}});
  // An earlier configuration may have accepted the job.
  auto keyed = parse("delete", R"(["dns"])", "k");
  REQUIRE(std::holds_alternative<Submission>(keyed));
  CHECK(std::get<Submission>(keyed).request.idempotency);
  CHECK(std::get<Submission>(keyed).refusal_if_new);
}

TEST_CASE("missing required fields are named") {
  CHECK(refused("{}").errors == Faults{{"/customer", "is required"},
                                       {"/product", "is required"},
                                       {"/action", "is required"},
                                       {"/entity", "is required"},
                                       {"/services", "is required"}});
  CHECK(refused("[]").errors == Faults{{"", "must be an object"}});
}

TEST_CASE("a body that is not JSON is malformed, whatever other faults there are") {
  for (const auto* body : {"", "{", "{\"a\":1,\"a\":1}", "\xff", "{} x"}) {
    const Problem problem = refused(body, {{"", "another fault"}});
    CHECK(problem.kind == ProblemKind::malformed_json);
    CHECK(problem.errors.empty());
    CHECK(problem.detail.find("The body cannot be read: line 1, column ") == 0);
    CHECK(problem.detail.back() == '.');
  }
}

TEST_CASE("numbers out of range are faults with pointers, also in parameters") {
  CHECK(faults_with(R"(,"priority":18446744073709551616,"parameters":{"a":[1e999]})") ==
        Faults{{"/priority", "is a number out of range"},
               {"/parameters/a/0", "is a number out of range"}});
}

TEST_CASE("sizes are limited") {
  const auto entity = [](const std::string& type, const std::string& id) {
    return R"({"customer":"acme","product":"dns","action":"create","services":["dns"],)"
           R"("entity":{"type":)" +
           type + ",\"id\":" + id + "}}";
  };
  CHECK(accepted(entity(quoted(255), quoted(255))).spec.entity.id.size() == 255);
  CHECK(refused(entity(quoted(256), quoted(256))).errors.size() == 2);

  const std::string sixteen =
      R"("dns","billing","s3","s4","s5","s6","s7","s8","s9","s10","s11","s12","s13","s14","s15","s16")";
  const auto services = [](const std::string& names) {
    return R"({"customer":"acme","product":"dns","action":"create",)"
           R"("entity":{"type":"t","id":"i"},"services":[)" +
           names + "]}";
  };
  CHECK(accepted(services(sixteen)).spec.services.size() == 16);
  CHECK(refused(services(sixteen + ",\"s17\"")).errors ==
        Faults{{"/services", "must have 1 to 16 elements"}});
  CHECK(refused(services("")).errors == Faults{{"/services", "must have 1 to 16 elements"}});

  std::string labels;
  for (int i = 0; i < 16; ++i)
    labels += (i == 0 ? "\"l" : ",\"l") + std::to_string(i) + "\":" + quoted(256);
  CHECK(accepted(job_with(",\"labels\":{" + labels + "}")).spec.labels.size() == 16);
  CHECK(faults_with(",\"labels\":{" + labels + ",\"x\":\"\"}") ==
        Faults{{"/labels", "must have at most 16 members"}});
  CHECK(faults_with(",\"labels\":{\"x\":" + quoted(257) + "}").size() == 1);
  CHECK(faults_with(",\"labels\":{\"\":\"x\"}").size() == 1);
  CHECK(faults_with(",\"labels\":{" + quoted(257) + ":\"x\"}").size() == 1);
}

TEST_CASE("fields of later versions are refused, never ignored") {
  CHECK(faults_with(R"(,"batch":"b")") == Faults{{"/batch", "is not available in this version"}});
  CHECK(faults_with(R"(,"on_failure":"panic")") ==
        Faults{{"/on_failure", "must be \"stop\" or \"compensate\""}});
}

TEST_CASE("an idempotency key is read from the body or from the header") {
  CHECK_FALSE(accepted(job_with("")).idempotency);
  const auto in_body = accepted(job_with(R"(,"idempotency_key":"a.B_9:-")")).idempotency;
  REQUIRE(in_body);
  CHECK(in_body->key == "a.B_9:-");
  const auto with_header = [](const std::string& body, const std::string& key) {
    return parse_submission(body, rules(), {.idempotency_key = key});
  };
  // The same request in a different spelling.
  const std::string reordered =
      R"({"services": ["dns"], "entity":{"id":"example.com","type":"zone"},)"
      R"( "action":"create","product":"dns","customer":"acme"})";
  CHECK(std::get<Submission>(with_header(reordered, "a.B_9:-")).request.idempotency == in_body);
  const auto other = accepted(job_with(R"(,"priority":6,"idempotency_key":"a.B_9:-")")).idempotency;
  CHECK(other->digest != in_body->digest);
  const auto both = with_header(job_with(R"(,"idempotency_key":"k")"), "k");
  CHECK(std::holds_alternative<Submission>(both));
  const auto differing = with_header(job_with(R"(,"idempotency_key":"k")"), "other");
  CHECK(std::get<Problem>(differing).errors ==
        Faults{{"/idempotency_key", "must equal the header Idempotency-Key"}});
}

TEST_CASE("every member of a request is part of its digest") {
  const auto digest = [](const std::string& member) {
    return accepted(job_with(R"(,"idempotency_key":"k")" + member)).idempotency->digest;
  };
  std::set<std::string> digests = {digest("")};
  for (const char* member :
       {R"("parameters":{"ttl":60})", R"("parameters":{"ttl":61})", R"("priority":6)",
        R"("delay_ms":1000)", R"("run_at":"2030-01-01T00:00:00Z")",
        R"("expires_at":"2030-01-01T00:00:00Z")", R"("timeout_ms":1000)",
        R"("retry":{"max_attempts":2})", R"("labels":{"team":"a"})", R"("on_failure":"stop")"}) {
    INFO(member);
    CHECK(digests.insert(digest("," + std::string(member))).second);
  }
}

TEST_CASE("only a job in memory without an idempotency key spares the disk") {
  const auto spares_disk = [](cells::Durability durability, const std::string& more) {
    cells::CellRule all;
    all.settings.durability = durability;
    auto changed = rules();
    changed.routing = std::make_shared<cells::Routing>(std::vector<cells::CellRule>{all});
    return std::get<Submission>(parse_submission(job_with(more), changed)).spares_disk;
  };
  CHECK(spares_disk(cells::Durability::memory, ""));
  CHECK_FALSE(spares_disk(cells::Durability::memory, R"(,"idempotency_key":"k")"));
  CHECK_FALSE(spares_disk(cells::Durability::disk, ""));
}

TEST_CASE("an idempotency key is limited in alphabet and length") {
  CHECK(accepted(job_with(R"(,"idempotency_key":)" + quoted(255))).idempotency->key.size() == 255);
  for (const std::string& wrong : {quoted(256), quoted(0), std::string(R"("a b")"),
                                   std::string(R"("a/b")"), std::string("7")}) {
    INFO(wrong);
    const auto faults = faults_with(R"(,"idempotency_key":)" + wrong);
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].pointer == "/idempotency_key");
  }
  const auto header = parse_submission(job_with(""), rules(), {.idempotency_key = ""});
  CHECK(std::get<Problem>(header).errors[0].detail.find("header Idempotency-Key") == 0);
}

TEST_CASE("a timeout is limited by its cell") {
  CHECK(accepted(job_with(R"(,"timeout_ms":5000)")).spec.timeout == milliseconds(5000));
  CHECK(faults_with(R"(,"timeout_ms":5001)") ==
        Faults{{"/timeout_ms", "must be at most 5000, the `timeout_max_ms` of the cell acme/*"}});
}

TEST_CASE("a job that no cell matches is left to the engine, unless it has other faults") {
  const std::string body =
      R"({"customer":"other","product":"dns","action":"a","entity":{"type":"t","id":"i"},)"
      R"("services":["dns"])";
  CHECK(accepted(body + "}").spec.customer == "other");
  const Problem both = refused(body + R"(,"priority":0})");
  CHECK(both.kind == ProblemKind::invalid_request);
  CHECK(both.errors.size() == 2);
}

TEST_CASE("with a key, faults that depend on the configuration wait for the lookup of the key") {
  const std::string key = R"(,"idempotency_key":"k")";
  const auto compare = [&key](std::string body) {
    INFO(body);
    const Problem without_key = refused(body);
    body.insert(body.size() - 1, key);
    const auto parsed = parse_submission(body, rules());
    const auto* submission = std::get_if<Submission>(&parsed);
    REQUIRE(submission);
    REQUIRE(submission->refusal_if_new);
    CHECK(submission->refusal_if_new->kind == without_key.kind);
    CHECK(submission->refusal_if_new->errors == without_key.errors);
    REQUIRE(submission->request.idempotency);
    // The digest equals that of the same request under a configuration that accepts it.
    SubmissionRules lax = rules();
    cells::CellRule all;
    all.settings.timeout_max = milliseconds(60000);
    lax.services.insert("gone");
    lax.routing = std::make_shared<cells::Routing>(std::vector<cells::CellRule>{all});
    const auto taken = parse_submission(body, lax);
    CHECK_FALSE(std::get<Submission>(taken).refusal_if_new);
    CHECK(std::get<Submission>(taken).request.idempotency == submission->request.idempotency);
  };
  const auto job = [](const std::string& customer, const std::string& services,
                      const std::string& more = "") {
    return R"({"customer":")" + customer + R"(","product":"dns","action":"a",)" +
           R"("entity":{"type":"t","id":"i"},"services":[)" + services + "]" + more + "}";
  };
  compare(job("acme", R"("dns")", R"(,"timeout_ms":5001)"));
  compare(job("acme", R"("gone","dns")"));
  compare(job("acme", R"("gone")", R"(,"timeout_ms":5001)"));
  compare(job("other", R"("gone")"));
  // A fault that does not depend on the configuration refuses at once, with all faults.
  const Faults both = faults_with(R"(,"timeout_ms":5001,"priority":0)" + key);
  CHECK(both.size() == 2);
  CHECK(refused(job("acme", R"("gone")", R"(,"priority":0)" + key)).errors.size() == 2);
  CHECK(refused(job("other", R"("dns")", R"(,"priority":0)" + key)).errors.size() == 2);
}

TEST_CASE("faults outside the body come first") {
  const Problem problem = refused(job_with(",\"x\":1"), {{"", "header"}});
  CHECK(problem.errors == Faults{{"", "header"}, {"/x", "is unknown"}});
}

TEST_CASE("only a well-formed traceparent is accepted") {
  const std::string good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  CHECK(is_traceparent(good));
  CHECK(is_traceparent("01" + good.substr(2) + "-more"));
  CHECK_FALSE(is_traceparent(""));
  CHECK_FALSE(is_traceparent(good + "-more"));
  CHECK_FALSE(is_traceparent("01" + good.substr(2) + "more"));
  CHECK_FALSE(is_traceparent("ff" + good.substr(2)));
  CHECK_FALSE(is_traceparent("00-00000000000000000000000000000000-b7ad6b7169203331-01"));
  CHECK_FALSE(is_traceparent("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"));
  CHECK_FALSE(is_traceparent("00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01"));
  CHECK_FALSE(is_traceparent("00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
  CHECK_FALSE(is_traceparent("00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01"));
  CHECK_FALSE(is_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331_01"));
}

TEST_CASE("a traceparent of a later version has flags and at most 255 characters") {
  const std::string begin = "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-";
  CHECK(is_traceparent(begin + "01-" + std::string(255 - 56, 'x')));
  CHECK_FALSE(is_traceparent(begin + "01-" + std::string(256 - 56, 'x')));
  CHECK_FALSE(is_traceparent(begin + "0x-more"));
}
