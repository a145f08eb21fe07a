// The leases that a worker has, and their commands.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "src/cli/worker/leased_run.hpp"
#include "src/cli/worker/worker_log.hpp"
#include "src/providers/command/transport.hpp"

namespace celld::cli {

struct RunSettings {
  std::string command;    ///< For `/bin/sh -c`.
  std::string directory;  ///< Where commands run.
  std::string worker;
  std::size_t concurrency = 1;
  milliseconds grace{};
  std::size_t leases_max = 100;   ///< In one answer; bounds it to some 25 MiB of jobs.
  std::size_t reports_max = 500;  ///< In one request. The API allows 1,000.
};

/// Thread-safe. One thread leases, some deliver heartbeats and reports, one calls `send_signals`;
/// the commands' transport has a thread of its own.
class Runs {
 public:
  /// The commands hold `lock` until nothing of them is left, even after the end of this process.
  /// `wake` is called, from any thread, when `send_signals` may have something to do, and when
  /// everything is over.
  Runs(RunSettings settings, providers::Descriptor lock, const WorkerLog& log,
       std::function<void()> wake);

  // --- For the thread that leases -----------------------------------------------------------

  /// Waits until another command may start. Returns how many may, at most `leases_max`; 0 once a
  /// stop is requested.
  std::size_t wait_for_room(const std::stop_token& stop);
  /// Starts the commands of the leases that are new. Leases of a previous run of the worker may be
  /// more than there is room for: the rest wait, with heartbeats, for start_waiting().
  void begin(std::vector<GrantedLease> leases);
  /// Starts the commands of waiting leases, as far as there is room. False: no lease waits.
  bool start_waiting();
  /// Whether the last command that ended could not be started.
  bool fails_to_start() const;
  /// Whether a command could not be started since the last call.
  bool take_failed_start();
  /// No begin() will follow. Leases that still wait are left for the next run of the worker. From
  /// now on, reports of leases that have expired are abandoned.
  void end_leasing();

  // --- For the threads that deliver ---------------------------------------------------------

  struct Heartbeat {
    std::string lease;
    std::string body;
    SteadyTime sent_at;
  };
  /// The reports are in the order of their leases.
  struct Reports {
    std::vector<std::string> leases;
    std::vector<std::string> reports;
  };
  struct Over {};
  using Delivery = std::variant<Heartbeat, Reports, Over>;
  /// Waits until something is due. Over: leasing has ended, and no lease is left. No lease is in
  /// two deliveries at a time: each delivery ends with one of the calls below for each of its
  /// leases.
  Delivery next_delivery();

  void on_term(const Heartbeat& heartbeat, const LeaseTerm& term);
  /// celld refused what a heartbeat said, and may take one that says nothing.
  void on_news_refused(const std::string& lease, const std::string& reason);
  void on_no_answer(const std::string& lease);
  void on_lost(const std::string& lease);
  void on_reported(const std::string& lease);
  void on_report_refused(const std::string& lease, const std::string& reason);

  // --- For the thread that waits for signals ------------------------------------------------

  /// Sends the signals that are due. Returns when to call again.
  SteadyTime send_signals();
  /// Ends every command, and each that begin() would start.
  void give_up();
  bool over() const;
  std::size_t running() const;
  bool has_abandoned_reports() const;

 private:
  struct Entry {
    LeasedRun run;
    cells::Lease command;     ///< Identifies the command to its transport.
    bool on_its_way = false;  ///< A heartbeat or a report.
  };
  using Entries = std::map<std::string, Entry>;

  std::size_t room() const;
  std::size_t count(LeasedRun::State state) const;
  bool start_waiting(SteadyTime now);
  void start(const std::string& name, const Entry& entry);
  providers::CommandRequest request_for(const GrantedLease& lease);
  void on_end(const std::string& name, const providers::CommandResult& result);
  LeasedRun& delivered(const std::string& lease);
  Reports due_reports(SteadyTime now) const;
  Entry* due_heartbeat(SteadyTime now);
  SteadyTime next_delivery_at() const;
  void abandon_expired(SteadyTime now);
  void note_lost_result();
  bool is_over() const;
  void log_signal(const LeasedRun& run) const;
  double random() { return std::uniform_real_distribution<double>()(random_); }

  const RunSettings settings_;
  const WorkerLog& log_;
  const std::function<void()> wake_;

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  Entries entries_;
  std::minstd_rand random_{std::random_device{}()};
  std::uint64_t last_command_ = 0;
  bool fails_to_start_ = false;
  bool failed_start_ = false;
  bool given_up_ = false;
  bool leasing_ = true;
  bool abandoned_ = false;
  bool reports_first_ = true;  ///< Heartbeats and reports take turns.

  /// Destroyed first: its callbacks use the other members.
  providers::CommandTransport transport_;
};

}  // namespace celld::cli
