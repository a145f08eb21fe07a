// One lease from its grant to its report: when to send a heartbeat, when to end the command, and
// what to report. Decides only: `Runs` carries the decisions out.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "cells/model/time.hpp"
#include "cells/ports/provider.hpp"
#include "src/cli/worker/backoff.hpp"
#include "src/cli/worker/granted_lease.hpp"
#include "src/cli/worker/work_line.hpp"
#include "src/providers/command/exchange.hpp"

namespace celld::cli {

using cells::SteadyTime;

/// Not thread-safe. A lease is `waiting` until its command is started, `running` until the command
/// has ended and nothing of its process group is left, `reporting` until celld has the report, and
/// then `done`. A lost lease is `done` as soon as no command of it runs.
class LeasedRun {
 public:
  enum class State : std::uint8_t { waiting, running, reporting, done };

  /// Why the worker ends the command.
  enum class Cause : std::uint8_t {
    none,
    cancelled,  ///< The answer to a heartbeat said so.
    lost,       ///< The lease is no longer live: another worker may have the job.
    deadline,   ///< No heartbeat was answered for so long that the lease is about to end.
    given_up,   ///< The worker has to end now.
  };

  /// `grace` is the time between SIGTERM and SIGKILL.
  LeasedRun(GrantedLease lease, milliseconds grace, SteadyTime now);

  const GrantedLease& lease() const { return lease_; }
  State state() const { return state_; }
  Cause cause() const { return cause_; }
  SteadyTime started_at() const { return started_at_; }
  /// When the lease ends, as far as the worker knows.
  SteadyTime expires_at() const { return expires_at_; }

  // --- What happened ------------------------------------------------------------------------

  /// The command of the waiting lease is about to be started. False: it must not be, because the
  /// lease is about to end; a failure is reported instead.
  bool try_start(SteadyTime now);
  /// A line of standard error. Returns false when the line is to become a message at the end.
  bool on_line(const std::string& line, SteadyTime now);
  /// celld answered the heartbeat that was sent at `sent_at`.
  void on_term(const LeaseTerm& term, SteadyTime sent_at, SteadyTime now);
  /// A heartbeat or a report failed in a way that may pass.
  void on_no_answer(double random, SteadyTime now);
  void on_lost(SteadyTime now);
  /// Ends the command soon.
  void give_up(SteadyTime now);
  /// Returns what the command did.
  const cells::CallOutcome& on_end(const providers::CommandResult& result, cells::WallTime wall,
                                   SteadyTime now);
  /// celld refused the progress and the message of a heartbeat: drops them.
  void on_news_refused(SteadyTime now);
  void on_reported() { state_ = State::done; }
  /// celld refused the report. Reports a success again without its messages, then a failure
  /// instead, once; then the lease is left to expire: false.
  bool on_report_refused(const std::string& reason, SteadyTime now);

  // --- What to do ---------------------------------------------------------------------------

  /// SIGTERM and then SIGKILL, each once.
  std::optional<int> take_signal(SteadyTime now);
  /// When the next signal is due, if nothing happens.
  SteadyTime next_signal_at() const;
  bool heartbeat_is_due(SteadyTime now) const;
  /// The body of the next heartbeat. What it carries is sent again if the heartbeat fails.
  std::string take_heartbeat();
  bool report_is_due(SteadyTime now) const;
  /// An element of `POST /v1/leases/report`. Ask for it only while no heartbeat is on its way.
  std::string report() const;
  /// When the next heartbeat or report is due, if nothing happens.
  SteadyTime next_delivery_at() const;

 private:
  void drop_news_on_way();
  void end_command(Cause cause, SteadyTime kill_at, SteadyTime now);
  bool sends_heartbeats() const;
  milliseconds beat_interval() const;
  SteadyTime terminate_at() const;
  void override_outcome(bool was_started);

  GrantedLease lease_;
  milliseconds grace_;
  SteadyTime started_at_;
  State state_ = State::waiting;
  Cause cause_ = Cause::none;

  milliseconds term_;  ///< The whole time that a heartbeat grants.
  SteadyTime expires_at_;
  SteadyTime beat_at_;
  SteadyTime beaten_at_;
  SteadyTime not_before_{};  ///< Pauses after a failure.
  Backoff pauses_;

  std::optional<double> progress_;    ///< Not sent yet.
  std::deque<std::string> messages_;  ///< Not sent yet, oldest first.
  /// What the heartbeat on its way carries; dropped when that is answered.
  std::optional<double> progress_on_way_;
  bool message_on_way_ = false;

  bool terminated_ = false;
  bool killed_ = false;
  SteadyTime kill_at_{};

  cells::CallOutcome outcome_;
  bool refused_ = false;
  SteadyTime report_at_{};
};

}  // namespace celld::cli
