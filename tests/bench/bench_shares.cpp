// How the time of a cell is divided between its customers, and how soon a cell that has lent its
// slots has them back. docs/reliability.md, P7, says what holds.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/bench/daemon.hpp"
#include "tests/bench/http_wire.hpp"
#include "tests/bench/load.hpp"
#include "tests/bench/report.hpp"

namespace {

using namespace celld::bench;
using nlohmann::json;

struct Plan {
  double seconds = 10;
  std::size_t rounds = 20;
};

constexpr std::uint32_t workers = 4;
constexpr std::int64_t loan_attempt_ms = 50;

json simulated(std::int64_t min_ms, std::int64_t max_ms) {
  return {{"type", "simulated"}, {"latency_ms", {{"min", min_ms}, {"max", max_ms}}}};
}

/// Jobs that differ in their entities alone.
json jobs_of(const std::string& customer, const std::string& service, std::size_t count) {
  static std::size_t last_entity = 0;
  json jobs = json::array();
  for (std::size_t n = 0; n < count; ++n) {
    jobs.push_back({{"customer", customer},
                    {"product", "dns"},
                    {"action", "create"},
                    {"entity", {{"type", "zone"}, {"id", "e" + std::to_string(++last_entity)}}},
                    {"services", {service}}});
  }
  return jobs;
}

/// Milliseconds of the day of a time in an answer: the benchmark does not run at midnight UTC.
std::int64_t ms_of(const json& time) {
  const auto text = time.get<std::string>();  // 2026-11-24T12:30:50.633Z
  const auto number = [&](std::size_t at, std::size_t length) {
    return std::stoll(text.substr(at, length));
  };
  return ((number(11, 2) * 60 + number(14, 2)) * 60 + number(17, 2)) * 1000 + number(20, 3);
}

struct Attempt {
  std::string customer;
  std::int64_t created_ms = 0;
  std::int64_t began_ms = 0;
  std::int64_t ended_ms = 0;
};

/// The attempts of the jobs that match `query` and succeeded.
std::vector<Attempt> attempts(ApiClient& client, const std::string& query) {
  std::vector<Attempt> found;
  for (json next; !next.is_null() || found.empty();) {
    auto path = "/v1/jobs?state=succeeded&limit=50&" + query;
    if (!next.is_null()) path.append("&cursor=").append(next.get<std::string>());
    const auto page = client.ask(200, "GET", path);
    for (const auto& job : page.at("items")) {
      const auto& step = job.at("steps").at(0);
      found.push_back({job.at("customer"), ms_of(job.at("created_at")),
                       ms_of(step.at("started_at")), ms_of(step.at("finished_at"))});
    }
    next = page.at("next_cursor");
    if (next.is_null()) break;
  }
  return found;
}

// --- Customers of one cell -----------------------------------------------------------------------

struct Customer {
  std::string name;
  std::string service;
  std::int64_t weight = 1;
  std::int64_t longest_ms = 0;
};

const std::vector<Customer>& customers() {
  static const std::vector<Customer> all = {
      {"gold", "short", 4, 10}, {"flood", "short", 1, 10}, {"slow", "long", 1, 60}};
  return all;
}

json shares_config() {
  auto config = one_cell_config(simulated(5, 10), workers);
  config["services"] = {{"short", simulated(5, 10)}, {"long", simulated(30, 60)}};
  for (const auto& each : customers()) {
    config["cells"][0]["customers"]["weights"][each.name] = each.weight;
  }
  return config;
}

void measure_customers(const Plan& plan, const Arguments& arguments, Report& report) {
  const Daemon daemon{arguments.celld, arguments.directory, shares_config()};
  ApiClient client{daemon.port()};
  client.ask(200, "POST", pause_path, "{}");
  for (const auto& each : customers()) {
    // More than can run, so that each customer always has waiting jobs.
    const auto jobs = static_cast<std::size_t>(plan.seconds * 1000 * workers / 5);
    client.ask(202, "POST", "/v1/batches", jobs_of(each.name, each.service, jobs).dump());
  }
  client.ask(200, "POST", "/v1/admin/cells/*/*/resume", "{}");
  Ticker{static_cast<std::int64_t>(plan.seconds * 1000)}.await_tick();
  client.ask(200, "POST", pause_path, "{}");
  daemon.await_cell([](const json& cell) { return cell.at("queue").at("running") == 0; });

  auto served = attempts(client, "product=dns");
  std::sort(served.begin(), served.end(),
            [](const Attempt& a, const Attempt& b) { return a.ended_ms < b.ended_ms; });
  std::map<std::string, std::int64_t> time_ms;
  std::map<std::string, double> behind_ms;
  double all_ms = 0;
  double weights = 0;
  double bound_ms = 0;
  std::int64_t longest_ms = 0;
  for (const auto& each : customers()) {
    weights += static_cast<double>(each.weight);
    bound_ms += static_cast<double>(each.longest_ms);
    longest_ms = std::max(longest_ms, each.longest_ms);
  }
  bound_ms += static_cast<double>(workers * longest_ms);
  for (const auto& attempt : served) {
    const auto took = attempt.ended_ms - attempt.began_ms;
    time_ms[attempt.customer] += took;
    all_ms += static_cast<double>(took);
    for (const auto& each : customers()) {
      const double share = all_ms * static_cast<double>(each.weight) / weights;
      auto& most = behind_ms[each.name];
      most = std::max(most, share - static_cast<double>(time_ms[each.name]));
    }
  }
  for (const auto& each : customers()) {
    const auto name = each.name + ", weight " + std::to_string(each.weight);
    report.add(name + ": share of the time", "%",
               100 * static_cast<double>(time_ms[each.name]) / std::max(all_ms, 1.0));
    report.add(name + ": furthest behind its share", "ms", behind_ms[each.name]);
  }
  report.add("furthest behind its share: bound", "ms", bound_ms);
}

// --- Cells that borrow ---------------------------------------------------------------------------

json loans_config() {
  auto config = one_cell_config(simulated(loan_attempt_ms, loan_attempt_ms), 1);
  config["cells"] = {{{"customer", "lender"}, {"pool", {{"size", 4}}}},
                     {{"customer", "borrower"}, {"pool", {{"size", 1}, {"burst", 8}}}}};
  return config;
}

void await_busy(ApiClient& client, const std::string& cell, std::uint32_t busy) {
  const auto path = "/v1/cells/" + cell + "/*";
  Ticker ticker{2};
  while (client.ask(200, "GET", path).at("pool").at("busy") != busy) ticker.await_tick();
}

void measure_cells(const Plan& plan, const Arguments& arguments, Report& report) {
  const Daemon daemon{arguments.celld, arguments.directory, loans_config()};
  ApiClient client{daemon.port()};
  // Two attempts of five slots for each round, and as many to spare.
  client.ask(202, "POST", "/v1/batches",
             jobs_of("borrower", service_name, 40 * plan.rounds + 20).dump());
  for (std::size_t round = 0; round < plan.rounds; ++round) {
    await_busy(client, "borrower", 5);
    client.ask(202, "POST", "/v1/batches", jobs_of("lender", service_name, 4).dump());
    await_busy(client, "lender", 4);
  }
  await_busy(client, "lender", 0);
  const auto lent = attempts(client, "customer=lender");
  std::vector<double> waits;
  for (const auto& attempt : lent) {
    waits.push_back(static_cast<double>(attempt.began_ms - attempt.created_ms));
  }
  report.add("a lent slot is back after, p50", "ms", percentile(waits, 0.5));
  report.add("a lent slot is back after, at most", "ms", percentile(waits, 1));
  report.add("an attempt of the borrower takes", "ms", static_cast<double>(loan_attempt_ms));
}

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  return run_benchmark(
      argc, argv, "shares of customers, and slots that cells lend",
      [&](CLI::App& app) {
        app.add_option("--seconds", plan.seconds, "how long the customers compete")
            ->check(CLI::Range(0.1, 3600.0));
        app.add_option("--rounds", plan.rounds, "how often the lender asks for its slots")
            ->check(CLI::Range(std::size_t{1}, std::size_t{10'000}));
      },
      [&](const Arguments& arguments, Report& report) {
        measure_customers(plan, arguments, report);
        measure_cells(plan, arguments, report);
      });
}
