// Schedules in the configuration.
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "src/config/config.hpp"
#include "src/config/schedule_document.hpp"
#include "src/providers/kinds.hpp"
#include "tests/unit/catch.hpp"

using namespace celld;
using config::Config;
using Faults = std::vector<json::Fault>;

namespace {

/// A configuration with these schedules, or its faults.
config::Outcome with(const std::string& schedules, const config::MachineCheck& check = {}) {
  std::vector<config::MachineCheck> checks;
  if (check.faults_of) checks.push_back(check);
  return config::parse_config(
      R"({"services": {"dns": {"type": "simulated"}}, "cells": [{"customer": "acme"}],
          "schedules": )" +
          schedules + "}",
      providers::service_kinds(), {}, {}, checks);
}

Faults faults(const std::string& schedules) {
  auto outcome = with(schedules);
  return std::holds_alternative<Faults>(outcome) ? std::get<Faults>(outcome) : Faults{};
}

const std::string job = R"("job": {"customer": "acme", "product": "dns", "action": "renew",
    "entity": {"type": "zone", "id": "example.com"}, "services": ["dns"]})";

}  // namespace

TEST_CASE("a schedule is read as written, with its defaults") {
  const auto outcome = with(R"({"a": {"every_ms": 1000, )" + job + R"(}, "b": {"cron":
      "0 3 * * *", "overlap": "allow", "catch_up": "all", "paused": true, )" +
                            job + "}}");
  REQUIRE(std::holds_alternative<Config>(outcome));
  const auto& schedules = std::get<Config>(outcome).schedules;
  REQUIRE(schedules.size() == 2);
  const auto& a = schedules.at("a");
  CHECK(a.timing == cells::ScheduleTiming{std::chrono::seconds{1}, "", ""});
  CHECK(a.overlap == cells::Overlap::skip);
  CHECK(a.catch_up == cells::CatchUp::one);
  CHECK_FALSE(a.paused);
  CHECK(a.job.customer == "acme");
  CHECK(a.job.priority == 5);
  CHECK(a.job.max_attempts == 0);
  const auto& b = schedules.at("b");
  CHECK(b.timing == cells::ScheduleTiming{cells::milliseconds{0}, "0 3 * * *", "UTC"});
  CHECK(b.overlap == cells::Overlap::allow);
  CHECK(b.catch_up == cells::CatchUp::all);
  CHECK(b.paused);
}

TEST_CASE("every fault of a schedule has its pointer, those of its job too") {
  CHECK(faults("7") == Faults{{"/schedules", "must be an object"}});
  CHECK(faults(R"({"a/b": 7})") ==
        Faults{{"/schedules/a~1b", "must have a name that matches [A-Za-z0-9][A-Za-z0-9._-]{0,62}"},
               {"/schedules/a~1b", "must be an object"}});
  CHECK(faults(R"({"a": {}})") ==
        Faults{{"/schedules/a/job", "is required"},
               {"/schedules/a", "must have either `every_ms` or `cron`"}});
  CHECK(faults(R"({"a": {"every_ms": 999, "time_zone": "/x", "job": {"customer": "bolt",
      "product": "dns", "action": "x", "entity": {"type": "t", "id": "i"},
      "services": ["dns", "none"], "run_at": 1, "delay_ms": 1, "idempotency_key": "k"},
      "overlap": "x", "catch_up": "x", "last_job": null, "more": 1}})") ==
        Faults{{"/schedules/a/every_ms", "must be an integer from 1000 to 315360000000"},
               {"/schedules/a/time_zone", "must be a name such as Europe/Berlin"},
               {"/schedules/a/time_zone", "needs a `cron`"},
               {"/schedules/a/job/services/1", "is not a configured service"},
               {"/schedules/a/job/run_at", "does not belong to a job of a schedule"},
               {"/schedules/a/job/delay_ms", "does not belong to a job of a schedule"},
               {"/schedules/a/job/idempotency_key", "does not belong to a job of a schedule"},
               {"/schedules/a/job", "names a customer and product that no cell serves"},
               {"/schedules/a/overlap", "must be \"skip\" or \"allow\""},
               {"/schedules/a/catch_up", "must be \"none\", \"one\" or \"all\""},
               {"/schedules/a/last_job", "is read-only"},
               {"/schedules/a/more", "is unknown"}});
  CHECK(faults(R"({"a": {"every_ms": 1000, "cron": "* * *", )" + job + "}}") ==
        Faults{{"/schedules/a/cron",
                "must have five fields: minute, hour, day of the month, month, day of the week"},
               {"/schedules/a", "must have either `every_ms` or `cron`"}});
}

TEST_CASE("the name of a time zone may have every letter and digit, and no other sign than _+-/") {
  const auto faults_of_zone = [](const std::string& zone) {
    return faults(R"({"a": {"cron": "0 3 * * *", "time_zone": ")" + zone + "\", " + job + "}}");
  };
  CHECK(faults_of_zone("AZ/az_09+-").empty());
  for (const char other : std::string(".:@[`{ ")) {
    INFO(other);
    CHECK(faults_of_zone(std::string("a") + other) ==
          Faults{{"/schedules/a/time_zone", "must be a name such as Europe/Berlin"}});
  }
  CHECK(faults_of_zone(std::string(64, 'a')).empty());
  CHECK(faults_of_zone(std::string(65, 'a')) ==
        Faults{{"/schedules/a/time_zone", "must have at most 64 bytes"}});
}

TEST_CASE("a configuration may have a thousand schedules, and no more") {
  const auto schedules = [](int count) {
    std::string all;
    for (int i = 0; i < count; ++i) {
      const auto name = "s" + std::to_string(i);
      all += (i == 0 ? "{\"" : ", \"") + name + R"(": {"every_ms": 1000, )" + job + "}";
    }
    return all + "}";
  };
  CHECK(faults(schedules(1000)).empty());
  CHECK(faults(schedules(1001)) == Faults{{"/schedules", "must have at most 1000 members"}});
}

TEST_CASE("the job of a schedule, which is kept in memory, has at most 64 KiB of parameters") {
  const auto faults_with = [](std::size_t bytes) {
    const std::string empty = R"({"text":""})";
    return faults(R"({"a": {"every_ms": 1000, "job": {"customer": "acme", "product": "dns",
        "action": "renew", "entity": {"type": "zone", "id": "x"}, "services": ["dns"],
        "parameters": {"text":")" +
                  std::string(bytes - empty.size(), 'x') + "\"}}}}");
  };
  CHECK(faults_with(65'536).empty());
  CHECK(faults_with(65'537) ==
        Faults{{"/schedules/a/job/parameters", "must have at most 65536 bytes"}});
}

TEST_CASE("the job of a schedule has no longer timeout than its cell allows") {
  const auto faults_with = [](const std::string& timeout_ms) {
    return faults(R"({"a": {"every_ms": 1000, "job": {"customer": "acme", "product": "dns",
        "action": "renew", "entity": {"type": "zone", "id": "x"}, "services": ["dns"],
        "timeout_ms": )" +
                  timeout_ms + "}}}");
  };
  CHECK(faults_with("3600000").empty());
  CHECK(faults_with("3600001") ==
        Faults{{"/schedules/a/job/timeout_ms",
                "must be at most 3600000, the `timeout_max_ms` of the cell acme/*"}});
}

TEST_CASE("the job of a schedule may compensate if each of its services has an undo") {
  const auto faults_with = [](const std::string& service) {
    const auto outcome = config::parse_config(
        R"({"services": {"dns": )" + service + R"(}, "cells": [{"customer": "acme"}],
            "schedules": {"a": {"every_ms": 1000, "job": {"customer": "acme", "product": "dns",
                "action": "renew", "entity": {"type": "zone", "id": "x"}, "services": ["dns"],
                "on_failure": "compensate"}}}})",
        providers::service_kinds(), {});
    return std::holds_alternative<Faults>(outcome) ? std::get<Faults>(outcome) : Faults{};
  };
  CHECK(faults_with(R"({"type": "simulated", "undo": {}})").empty());
  CHECK(faults_with(R"({"type": "simulated"})") ==
        Faults{{"/schedules/a/job/services/0",
                "dns has no `undo` of this action, which \"compensate\" requires"}});
}

TEST_CASE("a paused schedule need not fit the configuration, but must be well formed") {
  const std::string gone = R"("every_ms": 1000, "job": {"customer": "bolt", "product": "dns",
      "action": "x", "entity": {"type": "t", "id": "i"}, "services": ["gone"],
      "on_failure": "compensate"})";
  CHECK(faults(R"({"a": {"paused": true, )" + gone + "}}").empty());
  CHECK(faults(R"({"a": {"paused": false, )" + gone + "}}").size() >= 2);
  CHECK(faults(R"({"a": {"paused": true, "every_ms": 1000, "job": {"customer": "bolt",
      "product": "dns", "action": "x", "entity": {"type": "t", "id": "i"}, "services": ["/"]}}})")
            .size() == 1);
  CHECK(faults(R"({"a": {"paused": true, "every_ms": 1000, "job": {"customer": "bolt",
      "product": "dns", "action": "x", "entity": {"type": "t", "id": "i"}, "services": 7}}})") ==
        Faults{{"/schedules/a/job/services", "must be an array"}});
}

TEST_CASE("the machine says which time zones there are") {
  const config::MachineCheck check{
      "/schedules", [](const Config& config) {
        return config::check_time_zones(
            config, [](const std::string& zone) { return zone == "UTC" ? "" : "is " + zone; });
      }};
  const auto outcome =
      with(R"({"a": {"every_ms": 1000, )" + job + R"(}, "b": {"cron": "* * * * *", )" + job +
               R"(}, "c": {"cron": "* * * * *", "time_zone": "Mars/Base", )" + job + "}}",
           check);
  REQUIRE(std::holds_alternative<Faults>(outcome));
  CHECK(std::get<Faults>(outcome) == Faults{{"/schedules/c/time_zone", "is Mars/Base"}});
}
