// Asks celld for leases, as many as the worker has room for.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <string>

#include "src/cli/worker/backoff.hpp"
#include "src/cli/worker/lease_client.hpp"
#include "src/cli/worker/runs.hpp"

namespace celld::cli {

class Leaser {
 public:
  Leaser(LeaseClient& client, Runs& runs, const WorkerLog& log)
      : client_(client), runs_(runs), log_(log) {}

  /// Returns once a stop is requested, or celld refuses. After a stop, `runs` has every lease that
  /// celld granted, unless celld no longer answers.
  void run(const std::stop_token& stop);

  /// Set when celld refused.
  std::optional<ExitCode> refusal() const { return refusal_; }

 private:
  LeaseClient::Leases ask(std::size_t room, const std::stop_token& stop);
  void take(std::vector<GrantedLease> leases, SteadyTime asked_at, const std::stop_token& stop);
  void on_setback(Setback setback, const std::stop_token& stop);
  void begin_rest();
  void pause(milliseconds duration, const std::stop_token& stop);
  double random() { return std::uniform_real_distribution<double>()(random_); }

  LeaseClient& client_;
  Runs& runs_;
  const WorkerLog& log_;
  std::minstd_rand random_{std::random_device{}()};
  /// celld may have granted leases that this process does not know: before the process started, or
  /// in an answer that was lost.
  bool looks_up_ = true;
  bool away_ = false;
  Backoff away_pauses_{milliseconds(500), milliseconds(30'000)};
  Backoff start_pauses_{milliseconds(1000), milliseconds(60'000)};
  std::optional<ExitCode> refusal_;
  std::mutex mutex_;
  std::condition_variable_any never_;
};

}  // namespace celld::cli
