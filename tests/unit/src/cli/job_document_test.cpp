#include "src/cli/job_document.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/commands.hpp"
#include "src/cli/failure.hpp"
#include "src/cli/time_words.hpp"
#include "src/json/json.hpp"
#include "src/json/time_text.hpp"
#include "tests/unit/catch.hpp"

using namespace celld;
using namespace celld::cli;

namespace {

/// A temporary file, removed on destruction.
class JobFile {
 public:
  explicit JobFile(const std::string& text) {
    std::string name = (std::filesystem::temp_directory_path() / "celld-job-XXXXXX").string();
    const int descriptor = ::mkstemp(name.data());
    REQUIRE(descriptor >= 0);
    path_ = name;
    std::ofstream(path_) << text;
  }
  ~JobFile() { std::filesystem::remove(path_); }
  JobFile(const JobFile&) = delete;
  JobFile& operator=(const JobFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

JobDocument submitted(std::vector<std::string> words) {
  words.insert(words.begin(), "submit");
  Commands commands;
  return job_document(commands.parse(words).arguments);
}

json::Value body_of(const std::vector<std::string>& words) {
  return json::Value::parse(submitted(words).body);
}

}  // namespace

TEST_CASE("every flag sets its member of the job") {
  const auto job = body_of(
      {"--customer",   "acme",        "--product",   "dns",       "--action",       "create",
       "--entity",     "zone/a/b",    "--subtype",   "primary",   "--service",      "dns,billing",
       "--parameter",  "ttl=300",     "--parameter", "name=a b",  "--parameter",    "on=true",
       "--parameter",  "l=[1,\"x\"]", "--priority",  "9",         "--delay",        "5s",
       "--expires",    "2030-01-01",  "--timeout",   "1.5s",      "--max-attempts", "7",
       "--on-failure", "stop",        "--label",     "ticket=T-1"});
  CHECK(job == json::Value::parse(R"({"customer":"acme","product":"dns","action":"create",
      "entity":{"type":"zone","id":"a/b","subtype":"primary"},"services":["dns","billing"],
      "parameters":{"ttl":300,"name":"a b","on":true,"l":[1,"x"]},"priority":9,"delay_ms":5000,
      "expires_at":"2030-01-01T00:00:00Z","timeout_ms":1500,"retry":{"max_attempts":7},
      "on_failure":"stop","labels":{"ticket":"T-1"}})"));
}

TEST_CASE("flags override the file, member by member") {
  const JobFile file(R"({"customer":"a","entity":{"type":"t","id":"i","subtype":"s"},
      "parameters":{"x":1,"y":2},"delay_ms":5,"idempotency_key":"k1","labels":{"a":"1"}})");
  const auto job = body_of({"-f", file.path(), "--customer", "b", "--entity", "u/v", "--parameter",
                            "y=3", "--at", "2030-01-01", "--label", "b=2"});
  CHECK(job == json::Value::parse(R"({"customer":"b","entity":{"type":"u","id":"v","subtype":"s"},
      "parameters":{"x":1,"y":3},"run_at":"2030-01-01T00:00:00Z","idempotency_key":"k1",
      "labels":{"a":"1","b":"2"}})"));
  const JobFile later(R"({"run_at":"2030-01-01T00:00:00Z"})");
  CHECK(body_of({"-f", later.path(), "--delay", "5s"}) == json::Value{{"delay_ms", 5000}});
}

TEST_CASE("a duration that is given as a time counts from now") {
  for (const auto& [flag, member] :
       {std::pair{"--at", "run_at"}, std::pair{"--expires", "expires_at"}}) {
    const auto earliest = json::format_time(wall_now() + std::chrono::hours(2));
    const auto time = body_of({flag, "2h"}).at(member).get<std::string>();
    CHECK(time >= earliest);
    CHECK(time <= json::format_time(wall_now() + std::chrono::hours(2)));
  }
}

TEST_CASE("an unchanged file is sent byte for byte") {
  const std::string text = " {\"b\": 1.0, \"a\": 99999999999999999999}\n";
  const JobFile file(text);
  CHECK(submitted({"-f", file.path()}).body == text);
  CHECK(submitted({"-f", file.path()}).idempotency_key.empty());
  CHECK_THROWS_AS(submitted({"-f", file.path(), "--customer", "x"}), Failure);
}

TEST_CASE("the key of the flag overrides the key of the file") {
  const JobFile file(R"({"idempotency_key":"k1"})");
  CHECK(submitted({"-f", file.path()}).idempotency_key == "k1");
  const auto job = submitted({"-f", file.path(), "--key", "k2"});
  CHECK(job.idempotency_key == "k2");
  CHECK(job.body == "{}");
}

TEST_CASE("malformed input is reported before anything is sent") {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"-f", "/nowhere/at/all"},
                                             {"-f", "/"},
                                             {"--entity", "zone"},
                                             {"--parameter", "x={\"a\":"},
                                             {"--parameter", "x=\"a"},
                                             {"--parameter", "x=99999999999999999999"},
                                             {"--parameter", "x"},
                                             {"--priority", "high"},
                                             {"--delay", "soon"}})
    CHECK_THROWS_AS(submitted(words), Failure);
  for (const char* text : {"", "{", "[]", "7", "{} {}", R"({"a":1,"a":2})"}) {
    const JobFile file(text);
    CHECK_THROWS_AS(submitted({"-f", file.path()}), Failure);
  }
}
