// celld and other queues under the same loads.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "tests/bench/daemon.hpp"
#include "tests/bench/peers/peer.hpp"
#include "tests/bench/report.hpp"

namespace {

using namespace celld::bench;

struct Plan {
  PeerSetup setup;
  std::vector<std::string> peers;
  int rounds = 3;
  double seconds = 3;
};

enum Column : std::size_t {
  lives_16,
  lives_64,
  kept_16,
  kept_64,
  alone_us,
  idle_us,
  queued,
  many_submitted,
  many_ended,
  columns
};

struct ColumnText {
  const char* name;
  bool is_rate;
};
constexpr std::array<ColumnText, columns> column_texts{{
    {"jobs submitted and ended, 16 connections", true},
    {"jobs submitted and ended, 64 connections", true},
    {"jobs submitted alone, 16 connections", true},
    {"jobs submitted alone, 64 connections", true},
    {"submission, 1 connection", false},
    {"submission until an idle worker has the job", false},
    {"queued jobs ended one by one by 16 clients", true},
    {"many jobs submitted over 1 connection", true},
    {"queued jobs ended by the hundred by 16 clients", true},
}};

struct Row {
  PeerKind kind;
  std::array<std::vector<double>, columns> values;

  bool has(std::size_t column) const { return !values[column].empty(); }
  double figure(std::size_t column) const { return percentile(values[column], 0.5); }
};

std::vector<PeerKind> all_peers() {
  return {
      beanstalkd_kind(),
#ifdef CELLD_BENCH_RABBITMQ
      rabbitmq_kind(),
#endif
      redis_kind(),      bullmq_kind(),
#ifdef CELLD_BENCH_POSTGRESQL
      postgresql_kind(),
#endif
      nats_kind(),
  };
}

/// Loads that leave jobs behind come last.
void measure(const Plan& plan, Row& row) {
  const auto peer = row.kind.start(plan.setup);
  row.values[idle_us].push_back(peer->measure_idle(plan.seconds));
  row.values[lives_16].push_back(peer->measure_lives(16, plan.seconds));
  row.values[lives_64].push_back(peer->measure_lives(64, plan.seconds));
  if (const auto rate = peer->measure_queued(plan.seconds)) row.values[queued].push_back(*rate);
  if (const auto many = peer->measure_many(plan.seconds)) {
    row.values[many_submitted].push_back(many->submitted);
    row.values[many_ended].push_back(many->ended);
  }
  row.values[alone_us].push_back(peer->measure_kept(1, plan.seconds).p50_us);
  row.values[kept_16].push_back(peer->measure_kept(16, plan.seconds).rate);
  row.values[kept_64].push_back(peer->measure_kept(64, plan.seconds).rate);
}

/// The number with commas between the thousands.
std::string grouped(double value) {
  auto text = std::to_string(std::lround(value));
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), ",");
  }
  return text;
}

void print_head(const Row& row) {
  std::printf("%-28s%-14s", row.kind.title.c_str(), row.kind.synced ? "yes" : "no");
}

void print_rate(const Row& row, Column column, int width) {
  const auto text = row.has(column) ? grouped(row.figure(column)) : "-";
  std::printf("%*s", width, text.c_str());
}

void print_time(const Row& row, Column column, int width) {
  std::printf("%*s us", width - 3, grouped(row.figure(column)).c_str());
}

void print_table(const std::vector<Row>& rows) {
  std::printf(
      "\n%-28s%-14s%22s%22s%15s%20s\n%-28s%-14s%22s%22s%15s%20s\n"
      "%-28s%-14s%11s%11s%11s%11s%15s%20s\n",
      "", "acknowledged", "jobs submitted and", "jobs submitted", "submission,",
      "submission until an", "", "jobs on disk?", "ended, /s, over", "alone, /s, over",
      "1 connection,", "idle worker has the", "", "", "16 conn.", "64 conn.", "16 conn.",
      "64 conn.", "p50", "job, p50");
  for (const auto& row : rows) {
    print_head(row);
    for (const auto column : {lives_16, lives_64, kept_16, kept_64}) print_rate(row, column, 11);
    print_time(row, alone_us, 15);
    print_time(row, idle_us, 20);
    std::printf("\n");
  }
}

void print_clients_table(const std::vector<Row>& rows) {
  std::printf("\n%-28s%-14s%24s%24s%24s\n%-28s%-14s%24s%24s%24s\n", "", "acknowledged",
              "queued jobs ended by", "many jobs submitted,", "queued jobs ended by", "",
              "jobs on disk?", "16 clients, 1 by 1, /s", "/s, over 1 connection",
              "16 clients, by 100, /s");
  for (const auto& row : rows) {
    print_head(row);
    for (const auto column : {queued, many_submitted, many_ended}) print_rate(row, column, 24);
    std::printf("\n");
  }
}

/// Of celld, the first row, and in each column the fastest peer whose acknowledged jobs are on
/// disk.
void print_ratios(const std::vector<Row>& rows) {
  std::printf("\ncelld beside the fastest peer that has acknowledged jobs on disk:\n");
  for (std::size_t column = 0; column < columns; ++column) {
    const bool is_rate = column_texts[column].is_rate;
    const Row* best = nullptr;
    for (const auto& row : rows) {
      if (!row.kind.synced || &row == &rows.front() || !row.has(column)) continue;
      const bool is_better =
          best == nullptr || (is_rate ? row.figure(column) > best->figure(column)
                                      : row.figure(column) < best->figure(column));
      if (is_better) best = &row;
    }
    if (best == nullptr) continue;
    std::printf("  %-46s %6.2f times the %s of %s\n", column_texts[column].name,
                rows.front().figure(column) / best->figure(column), is_rate ? "rate" : "time",
                best->kind.title.c_str());
  }
}

void run(const Plan& plan, std::vector<Row> rows) {
  std::vector<double> syncs_us;
  const double load_before = load_average();
  for (int round = 1; round <= plan.rounds; ++round) {
    syncs_us.push_back(measure_sync(plan.setup.directory).p50_us);
    for (auto& row : rows) {
      std::fprintf(stderr, "round %d of %d: %s\n", round, plan.rounds, row.kind.title.c_str());
      measure(plan, row);
    }
  }
  std::printf(
      "celld and its peers: median of rounds: %d, seconds per load: %g (load average %.1f before, "
      "%.1f after)\ndisk: write 16 KiB and fdatasync, p50 %.0f us\n",
      plan.rounds, plan.seconds, load_before, load_average(), percentile(syncs_us, 0.5));
  print_table(rows);
  print_clients_table(rows);
  print_ratios(rows);
}

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  CLI::App app{"Measures celld and other queues under the same loads."};
  app.add_option("celld", plan.setup.celld, "the daemon")->required();
  app.add_option("--data", plan.setup.directory, "parent of the data directories")->required();
  app.add_option("--unpacked", plan.setup.unpacked, "parent of the unpacked packages")->required();
  app.add_option("--against", plan.peers, "the peers, in this order")->delimiter(',')->required();
  app.add_option("--rounds", plan.rounds, "rounds; figures are their medians")
      ->check(CLI::Range(1, 1000));
  app.add_option("--seconds", plan.seconds, "length of each load")->check(CLI::Range(0.05, 600.0));
  CLI11_PARSE(app, argc, argv);
  std::vector<Row> rows{{celld_kind(), {}}};
  const auto known = all_peers();
  for (const auto& name : plan.peers) {
    const auto kind = std::find_if(known.begin(), known.end(),
                                   [&](const PeerKind& peer) { return peer.name == name; });
    if (kind == known.end()) {
      std::fprintf(stderr, "%s: no peer %s\n", argv[0], name.c_str());
      return 2;
    }
    rows.push_back({*kind, {}});
  }
  try {
    run(plan, std::move(rows));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
}
