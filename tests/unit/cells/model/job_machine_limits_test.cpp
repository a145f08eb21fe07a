// What a job may accumulate: properties and messages.
#include "cells/model/job_machine.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/cells/model/builders.hpp"

using namespace model_test;
using Kind = AttemptEnd::Kind;

namespace {

const RetryInputs inputs{RetryPolicy{3, 1000ms, 60000ms}, 0ms, 0.5};

Job running_job() {
  return start_attempt(queued_job(spec_with_services({"dns", "billing"})), {1, 1}, noon);
}

Job after_success(const Job& running, Properties properties) {
  AttemptEnd end;
  end.kind = Kind::succeeded;
  end.properties = std::move(properties);
  return end_attempt(running, std::move(end), inputs, noon);
}

Job after_messages(const Job& running, std::vector<std::string> texts) {
  AttemptEnd end;
  end.kind = Kind::succeeded;
  for (auto& text : texts) end.messages.push_back({noon, Severity::info, "dns", std::move(text)});
  return end_attempt(running, std::move(end), inputs, noon);
}

std::string text_of(const std::string& text) {
  return after_messages(running_job(), {text}).messages.at(0).text;
}

}  // namespace

TEST_CASE("the properties of a later step win over those of an earlier one") {
  Job job = after_success(running_job(), {{"a", "1"}, {"b", "1"}});
  CHECK(job.properties == Properties{{"a", "1"}, {"b", "1"}});
  job = after_success(start_attempt(job, {1, 2}, noon), {{"b", "2"}, {"c", "2"}});
  CHECK(job.state == JobState::succeeded);
  CHECK(job.properties == Properties{{"a", "1"}, {"b", "2"}, {"c", "2"}});
}

TEST_CASE("an attempt that does not succeed adds no properties") {
  AttemptEnd end;
  end.kind = GENERATE(Kind::rejected, Kind::retryable, Kind::throttled, Kind::unknown,
                      Kind::expired, Kind::interrupted, Kind::handed_back);
  end.properties = {{"a", "1"}};
  CHECK(end_attempt(running_job(), end, inputs, noon).properties.empty());
}

TEST_CASE("a job's properties may take 256 KiB, names included") {
  const Job job =
      after_success(running_job(), {{"name", std::string(properties_bytes_max - 4, 'x')}});
  CHECK(job.state == JobState::queued);
  CHECK(job.properties.at("name").size() == properties_bytes_max - 4);
}

TEST_CASE("a step whose properties are too large is retried, and nothing is merged") {
  const Properties too_large = {{"name", std::string(properties_bytes_max - 3, 'x')},
                                {"other", ""}};
  Job job = running_job();
  job.properties = {{"kept", "1"}};
  for (int attempt = 1; attempt <= 3; ++attempt) {
    CAPTURE(attempt);
    if (job.state != JobState::running) job = start_attempt(job, {1, 2}, noon);
    job = after_success(job, too_large);
    CHECK(job.properties == Properties{{"kept", "1"}});
    CHECK(job.step == 0);
    CHECK(job.steps[0].attempts == static_cast<std::uint32_t>(attempt));
    CHECK(job.state == (attempt < 3 ? JobState::retrying : JobState::failed));
  }
  CHECK(job.error->code == "invalid_response");
  CHECK(job.error->service == "dns");
}

TEST_CASE("properties that replace others are measured after the replacement") {
  Job job = running_job();
  job.properties = {{"a", std::string(properties_bytes_max - 1, 'x')}};
  job = after_success(job, {{"a", "small"}, {"b", std::string(1000, 'x')}});
  CHECK(job.state == JobState::queued);
  CHECK(job.properties.at("a") == "small");
}

TEST_CASE("a job keeps the messages of an attempt, however it ends") {
  AttemptEnd end;
  end.kind = GENERATE(Kind::succeeded, Kind::rejected, Kind::retryable, Kind::handed_back);
  const Message kept{noon, Severity::info, "dns", "half way"};
  end.messages = {kept};
  const Job job = end_attempt(running_job(), end, inputs, noon);
  REQUIRE_FALSE(job.messages.empty());
  CHECK(job.messages[0] == kept);
}

TEST_CASE("a job keeps its last hundred messages") {
  std::vector<std::string> texts;
  for (int i = 0; i < 100; ++i) texts.push_back(std::to_string(i));
  Job job = after_messages(running_job(), texts);
  CHECK(job.messages.size() == 100);
  CHECK(job.messages.front().text == "0");
  job = after_messages(start_attempt(job, {1, 2}, noon), {"new", "newer"});
  CHECK(job.messages.size() == 100);
  CHECK(job.messages.front().text == "2");
  CHECK(job.messages.back().text == "newer");
}

TEST_CASE("the error of a failed job is always among its messages") {
  Job running = running_job();
  running.messages.resize(100);
  AttemptEnd end;
  end.kind = Kind::rejected;
  end.message = "no such zone";
  const Job job = end_attempt(running, end, inputs, noon);
  CHECK(job.messages.size() == 100);
  CHECK(job.messages.back().text == "no such zone");
}

TEST_CASE("a message is cut at 4 KiB") {
  CHECK(text_of(std::string(4096, 'x')).size() == 4096);
  CHECK(text_of(std::string(4097, 'x')).size() == 4096);
  CHECK(text_of(std::string(1 << 20, 'x')) == std::string(4096, 'x'));
  CHECK(text_of("").empty());
}

TEST_CASE("a message is cut between two characters") {
  const std::string two = "\xc3\xa4";           // ä
  const std::string three = "\xe2\x82\xac";     // €
  const std::string four = "\xf0\x9f\x98\x80";  // An emoji.
  for (const std::string& character : {two, three, four}) {
    for (std::size_t room = 0; room <= character.size(); ++room) {
      CAPTURE(character.size(), room);
      const std::string before(4096 - room, 'x');
      const std::string kept = room == character.size() ? before + character : before;
      CHECK(text_of(before + character + "yyyyy") == kept);
    }
  }
}

TEST_CASE("a message of continuation bytes only is cut safely") {
  CHECK(text_of(std::string(5000, '\x80')).size() <= 4096);
}
