// celld and other queues under the same loads. All clients are of one kind: a thread for each
// connection, which waits for each answer before it sends the next request.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <exception>
#include <latch>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "tests/bench/daemon.hpp"
#include "tests/bench/load.hpp"
#include "tests/bench/peers/peer.hpp"
#include "tests/bench/report.hpp"

namespace {

using namespace celld::bench;

constexpr std::int64_t idle_interval_ms = 20;

struct Plan {
  PeerSetup setup;
  std::vector<std::string> peers;
  int rounds = 3;
  double seconds = 3;
};

enum Column : std::size_t { lives_16, lives_64, kept_16, kept_64, alone_us, idle_us, columns };

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
}};

struct Row {
  PeerKind kind;
  std::array<std::vector<double>, columns> values;

  double figure(std::size_t column) const { return percentile(values[column], 0.5); }
};

std::vector<PeerKind> all_peers() {
  return {
      beanstalkd_kind(),
#ifdef CELLD_BENCH_RABBITMQ
      rabbitmq_kind(),
#endif
      redis_kind(),
#ifdef CELLD_BENCH_POSTGRESQL
      postgresql_kind(),
#endif
      nats_kind(),
  };
}

std::uint64_t next_seed() {
  static std::uint64_t seed = 0;
  return ++seed;
}

/// Submits over each connection for as long as said.
class ThreadedLoad {
 public:
  ThreadedLoad(Peer& peer, Purpose purpose, std::size_t connections, double seconds)
      : ready_(static_cast<std::ptrdiff_t>(connections) + 1),
        duration_(
            std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {
    for (std::size_t i = 0; i < connections; ++i) {
      producers_.push_back(peer.producer(purpose, next_seed()));
    }
  }

  LoadResult run() {
    std::vector<std::thread> threads;
    for (const auto& producer : producers_) {
      threads.emplace_back([this, &producer] { submit_all(*producer); });
    }
    begin_ = Clock::now();
    ready_.arrive_and_wait();
    for (auto& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
    result_.requests = result_.latencies_us.size();
    result_.seconds = std::chrono::duration<double>(end_ - begin_).count();
    return std::move(result_);
  }

  Clock::time_point begin() const { return begin_; }

 private:
  void submit_all(Producer& producer) {
    std::vector<double> latencies_us;
    std::exception_ptr failure;
    ready_.arrive_and_wait();
    const auto deadline = begin_ + duration_;
    auto now = Clock::now();
    try {
      while (now < deadline) {
        producer.submit();
        const auto answered = Clock::now();
        latencies_us.push_back(std::chrono::duration<double, std::micro>(answered - now).count());
        now = answered;
      }
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock{mutex_};
    if (failure) failure_ = failure;
    end_ = std::max(end_, now);
    auto& all = result_.latencies_us;
    all.insert(all.end(), latencies_us.begin(), latencies_us.end());
  }

  std::vector<std::unique_ptr<Producer>> producers_;
  std::latch ready_;
  const Clock::duration duration_;
  Clock::time_point begin_;
  std::mutex mutex_;
  Clock::time_point end_;
  LoadResult result_;
  std::exception_ptr failure_;
};

/// The lesser of two rates: that of acknowledged submissions, and that of acknowledged ends until
/// the last job has ended.
double measure_lives(Peer& peer, std::size_t connections, double seconds) {
  ThreadedLoad load{peer, Purpose::run, connections, seconds};
  const auto workers = peer.workers(Purpose::run, workers_in_load);
  const auto result = load.run();
  const auto ended = workers->await_ended(result.requests);
  const std::chrono::duration<double> until_ended = ended - load.begin();
  return std::min(result.rate(), static_cast<double>(result.requests) / until_ended.count());
}

double measure_idle(Peer& peer, double seconds) {
  const auto workers = peer.workers(Purpose::notice, 1);
  const auto producer = peer.producer(Purpose::notice, next_seed());
  Ticker ticker{idle_interval_ms};
  const auto jobs = std::max(1.0, seconds * 1000 / idle_interval_ms);
  std::vector<double> times_us;
  for (std::size_t i = 1; i <= static_cast<std::size_t>(jobs); ++i) {
    ticker.await_tick();
    const auto begin = Clock::now();
    producer->submit();
    const auto taken = workers->await_taken(i);
    times_us.push_back(std::chrono::duration<double, std::micro>(taken - begin).count());
  }
  workers->await_ended(times_us.size());
  return percentile(times_us, 0.5);
}

/// Loads that leave jobs behind come last.
void measure(const Plan& plan, Row& row) {
  const auto peer = row.kind.start(plan.setup);
  row.values[idle_us].push_back(measure_idle(*peer, plan.seconds));
  row.values[lives_16].push_back(measure_lives(*peer, 16, plan.seconds));
  row.values[lives_64].push_back(measure_lives(*peer, 64, plan.seconds));
  const auto keep = [&](std::size_t connections) {
    return ThreadedLoad{*peer, Purpose::keep, connections, plan.seconds}.run();
  };
  row.values[alone_us].push_back(percentile(keep(1).latencies_us, 0.5));
  row.values[kept_16].push_back(keep(16).rate());
  row.values[kept_64].push_back(keep(64).rate());
}

/// With commas between the thousands.
std::string grouped(double value) {
  auto text = std::to_string(std::lround(value));
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), ",");
  }
  return text;
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
    std::printf("%-28s%-14s", row.kind.title.c_str(), row.kind.synced ? "yes" : "no");
    for (std::size_t column = 0; column < columns; ++column) {
      const auto text = grouped(row.figure(column));
      if (column_texts[column].is_rate) {
        std::printf("%11s", text.c_str());
      } else {
        std::printf("%*s us", column == idle_us ? 17 : 12, text.c_str());
      }
    }
    std::printf("\n");
  }
}

/// Of celld, the first row, and in each column the fastest peer whose acknowledged jobs are on
/// disk.
void print_ratios(const std::vector<Row>& rows) {
  std::vector<const Row*> synced;
  for (const auto& row : rows) {
    if (row.kind.synced && &row != &rows.front()) synced.push_back(&row);
  }
  if (synced.empty()) return;
  std::printf("\ncelld beside the fastest peer that has acknowledged jobs on disk:\n");
  for (std::size_t column = 0; column < columns; ++column) {
    const bool is_rate = column_texts[column].is_rate;
    const auto* best =
        *std::max_element(synced.begin(), synced.end(), [&](const Row* one, const Row* other) {
          return is_rate ? one->figure(column) < other->figure(column)
                         : one->figure(column) > other->figure(column);
        });
    std::printf("  %-44s %6.2f times the %s of %s\n", column_texts[column].name,
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
