#include "src/cli/worker/runs.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string_view>
#include <utility>

#include "src/cli/text.hpp"
#include "src/providers/steady_now.hpp"

namespace celld::cli {
namespace {

using providers::steady_now;
using State = LeasedRun::State;
using Cause = LeasedRun::Cause;

/// A request may have 1 MiB.
constexpr std::size_t report_bytes_max = 512 << 10;
/// The worker ends commands itself.
constexpr milliseconds no_timeout = std::chrono::days(3650);

std::string name_of_job(const LeasedRun& run) {
  return "job " + cleaned(run.lease().job) + ": ";
}

std::string time_of_run(const LeasedRun& run) {
  return duration_text(std::chrono::duration_cast<milliseconds>(steady_now() - run.started_at()));
}

/// The worker's own environment, without its credentials.
std::vector<std::string> environment_for(const GrantedLease& lease, const std::string& worker) {
  constexpr std::string_view replaced[] = {
      "CELLD_TOKEN=", "CELLD_IDEMPOTENCY_KEY=", "CELLD_WORKER=", "TRACEPARENT="};
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (std::none_of(std::begin(replaced), std::end(replaced),
                     [&](std::string_view name) { return text.starts_with(name); }))
      environment.emplace_back(text);
  }
  environment.push_back("CELLD_IDEMPOTENCY_KEY=" + lease.idempotency_key);
  environment.push_back("CELLD_WORKER=" + worker);
  if (!lease.traceparent.empty()) environment.push_back("TRACEPARENT=" + lease.traceparent);
  return environment;
}

}  // namespace

Runs::Runs(RunSettings settings, providers::Descriptor lock, const WorkerLog& log,
           std::function<void()> wake)
    : settings_(std::move(settings)),
      log_(log),
      wake_(std::move(wake)),
      transport_(std::move(lock)) {}

// --- For the thread that leases ------------------------------------------------------------------

std::size_t Runs::wait_for_room(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  // Finished runs stay until here: celld may list a lease before it receives the report on that
  // lease, and begin() must still recognise it.
  std::erase_if(entries_, [](const auto& entry) {
    return entry.second.run.state() == State::done && !entry.second.on_its_way;
  });
  changed_.wait(lock, stop, [this] { return room() > 0; });
  return stop.stop_requested() ? 0 : std::min(room(), settings_.leases_max);
}

/// Reports may be on their way while the next commands run, but not without limit.
std::size_t Runs::room() const {
  const std::size_t running = count(State::running);
  const std::size_t unfinished = running + count(State::reporting);
  const std::size_t max = settings_.concurrency;
  return std::min(max - std::min(max, running), 2 * max - std::min(2 * max, unfinished));
}

std::size_t Runs::count(State state) const {
  return static_cast<std::size_t>(
      std::count_if(entries_.begin(), entries_.end(),
                    [&](const auto& entry) { return entry.second.run.state() == state; }));
}

void Runs::begin(std::vector<GrantedLease> leases) {
  {
    const std::lock_guard lock(mutex_);
    const SteadyTime now = steady_now();
    for (auto& lease : leases) {
      if (entries_.contains(lease.name)) continue;
      const std::string name = lease.name;
      LeasedRun run(std::move(lease), settings_.grace, now);
      if (given_up_) run.give_up(now);
      entries_.emplace(name, Entry{std::move(run), {1, ++last_command_}});
    }
    start_waiting(now);
  }
  changed_.notify_all();
  wake_();
}

bool Runs::start_waiting() {
  bool any = false;
  {
    const std::lock_guard lock(mutex_);
    any = start_waiting(steady_now());
  }
  if (any) {
    changed_.notify_all();
    wake_();
  }
  return any;
}

bool Runs::start_waiting(SteadyTime now) {
  bool any = false;
  for (auto& [name, entry] : entries_) {
    if (entry.run.state() != State::waiting) continue;
    any = true;
    if (room() == 0) break;
    if (entry.run.try_start(now)) {
      start(name, entry);
    } else {
      log_.problem(name_of_job(entry.run) +
                   "no heartbeat was answered in time: not starting the command");
    }
  }
  return any;
}

void Runs::start(const std::string& name, const Entry& entry) {
  log_.note(name_of_job(entry.run) + "attempt " + std::to_string(entry.run.lease().attempt) +
            " starts");
  transport_.calls()->start(
      entry.command, request_for(entry.run.lease()),
      [this, name](const providers::CommandResult& result) { on_end(name, result); });
}

providers::CommandRequest Runs::request_for(const GrantedLease& lease) {
  auto program = std::make_shared<providers::CommandProgram>();
  program->arguments = {"/bin/sh", "-c", settings_.command};
  program->environment = environment_for(lease, settings_.worker);
  program->directory = settings_.directory;
  providers::CommandRequest request;
  request.program = std::move(program);
  request.document = lease.document;
  request.timeout = no_timeout;
  request.take_error_line = [this, name = lease.name](const std::string& line) {
    const std::lock_guard lock(mutex_);
    const bool taken = entries_.at(name).run.on_line(line, steady_now());
    if (taken) changed_.notify_all();
    return taken;
  };
  return request;
}

void Runs::on_end(const std::string& name, const providers::CommandResult& result) {
  {
    const std::lock_guard lock(mutex_);
    LeasedRun& run = entries_.at(name).run;
    const auto& outcome = run.on_end(result, wall_now(), steady_now());
    const bool final = outcome.kind == cells::CallOutcome::Kind::rejected;
    fails_to_start_ = !final && outcome.code == "communications_error";
    if (fails_to_start_) failed_start_ = true;
    if (outcome.kind == cells::CallOutcome::Kind::succeeded) {
      log_.note(name_of_job(run) + "succeeded in " + time_of_run(run));
    } else {
      log_.problem(name_of_job(run) + "failed after " + time_of_run(run) + " with " + outcome.code +
                   (final ? ": " : ", may be retried: ") + cleaned(outcome.message));
    }
  }
  changed_.notify_all();
  wake_();
}

bool Runs::fails_to_start() const {
  const std::lock_guard lock(mutex_);
  return fails_to_start_;
}

bool Runs::take_failed_start() {
  const std::lock_guard lock(mutex_);
  return std::exchange(failed_start_, false);
}

void Runs::end_leasing() {
  {
    const std::lock_guard lock(mutex_);
    leasing_ = false;
    for (auto& [name, entry] : entries_) {
      if (entry.run.state() != State::waiting) continue;
      log_.note(name_of_job(entry.run) +
                "not started; its lease ends at its deadline, unless a "
                "worker of this name takes it up");
      entry.run.on_lost(steady_now());
    }
  }
  changed_.notify_all();
}

// --- For the threads that deliver ----------------------------------------------------------------

Runs::Delivery Runs::next_delivery() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const SteadyTime now = steady_now();
    abandon_expired(now);
    if (is_over()) return Over{};
    Reports reports = due_reports(now);
    Entry* const beat = due_heartbeat(now);
    const bool reports_turn = reports_first_ || beat == nullptr;
    if (!reports.leases.empty() && reports_turn) {
      reports_first_ = false;
      for (const auto& lease : reports.leases) entries_.at(lease).on_its_way = true;
      return reports;
    }
    reports_first_ = true;
    if (beat != nullptr) {
      beat->on_its_way = true;
      return Heartbeat{beat->run.lease().name, beat->run.take_heartbeat(), now};
    }
    const SteadyTime next = next_delivery_at();
    if (next == SteadyTime::max()) {
      changed_.wait(lock);
    } else {
      changed_.wait_until(lock, std::chrono::steady_clock::time_point(next.time_since_epoch()));
    }
  }
}

Runs::Reports Runs::due_reports(SteadyTime now) const {
  Reports due;
  std::size_t bytes = 0;
  for (const auto& [name, entry] : entries_) {
    if (entry.on_its_way || !entry.run.report_is_due(now)) continue;
    due.leases.push_back(name);
    due.reports.push_back(entry.run.report());
    bytes += due.reports.back().size();
    if (bytes >= report_bytes_max || due.leases.size() >= settings_.reports_max) break;
  }
  // One report always fits into a request, but not always the last one beside the others.
  if (bytes > report_bytes_max && due.leases.size() > 1) {
    due.leases.pop_back();
    due.reports.pop_back();
  }
  return due;
}

/// The heartbeat of the lease that ends first.
Runs::Entry* Runs::due_heartbeat(SteadyTime now) {
  Entry* first = nullptr;
  for (auto& [name, entry] : entries_) {
    const bool due = !entry.on_its_way && entry.run.heartbeat_is_due(now);
    if (due && (first == nullptr || entry.run.expires_at() < first->run.expires_at()))
      first = &entry;
  }
  return first;
}

SteadyTime Runs::next_delivery_at() const {
  auto at = SteadyTime::max();
  for (const auto& [name, entry] : entries_) {
    if (!entry.on_its_way) at = std::min(at, entry.run.next_delivery_at());
  }
  return at;
}

/// While the worker runs, it keeps a report until celld answers: after a restart of celld the lease
/// may be live again.
void Runs::abandon_expired(SteadyTime now) {
  if (leasing_) return;
  for (auto& [name, entry] : entries_) {
    if (entry.on_its_way || entry.run.state() != State::reporting) continue;
    if (now < entry.run.expires_at()) continue;
    log_.problem(name_of_job(entry.run) + "its report could not be delivered in time");
    entry.run.on_reported();
    abandoned_ = true;
  }
}

/// Only the last results of a worker show in how it ends.
void Runs::note_lost_result() {
  if (!leasing_) abandoned_ = true;
}

bool Runs::is_over() const {
  return !leasing_ && count(State::done) == entries_.size();
}

LeasedRun& Runs::delivered(const std::string& lease) {
  Entry& entry = entries_.at(lease);
  entry.on_its_way = false;
  return entry.run;
}

void Runs::on_term(const Heartbeat& heartbeat, const LeaseTerm& term) {
  {
    const std::lock_guard lock(mutex_);
    delivered(heartbeat.lease).on_term(term, heartbeat.sent_at, steady_now());
  }
  changed_.notify_all();
  wake_();
}

void Runs::on_news_refused(const std::string& lease, const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    LeasedRun& run = delivered(lease);
    log_.problem(name_of_job(run) + "celld refused a message or the progress: " + cleaned(reason));
    run.on_news_refused(steady_now());
  }
  changed_.notify_all();
}

void Runs::on_no_answer(const std::string& lease) {
  {
    const std::lock_guard lock(mutex_);
    delivered(lease).on_no_answer(random(), steady_now());
  }
  changed_.notify_all();
}

void Runs::on_lost(const std::string& lease) {
  {
    const std::lock_guard lock(mutex_);
    LeasedRun& run = delivered(lease);
    log_.problem(name_of_job(run) + "celld no longer knows the lease");
    if (run.state() == State::reporting) note_lost_result();
    run.on_lost(steady_now());
  }
  changed_.notify_all();
  wake_();
}

void Runs::on_reported(const std::string& lease) {
  {
    const std::lock_guard lock(mutex_);
    delivered(lease).on_reported();
  }
  changed_.notify_all();
}

void Runs::on_report_refused(const std::string& lease, const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    LeasedRun& run = delivered(lease);
    log_.problem(name_of_job(run) + "celld refused its report: " + cleaned(reason));
    if (!run.on_report_refused(reason, steady_now())) note_lost_result();
  }
  changed_.notify_all();
}

// --- For the thread that waits for signals -------------------------------------------------------

SteadyTime Runs::send_signals() {
  const std::lock_guard lock(mutex_);
  auto next = SteadyTime::max();
  for (auto& [name, entry] : entries_) {
    while (const auto signal = entry.run.take_signal(steady_now())) {
      if (*signal == SIGTERM) log_signal(entry.run);
      transport_.calls()->signal(entry.command, *signal);
    }
    next = std::min(next, entry.run.next_signal_at());
  }
  return next;
}

void Runs::log_signal(const LeasedRun& run) const {
  const std::string job = name_of_job(run);
  switch (run.cause()) {
    case Cause::none:
      return;
    case Cause::cancelled:
      return log_.note(job + "cancelled: ending the command");
    case Cause::lost:
      return log_.note(job + "the lease is lost: ending the command");
    case Cause::deadline:
      return log_.problem(job + "no heartbeat was answered in time: ending the command");
    case Cause::given_up:
      return log_.problem(job + "stopping: ending the command");
  }
}

void Runs::give_up() {
  {
    const std::lock_guard lock(mutex_);
    given_up_ = true;
    for (auto& [name, entry] : entries_) entry.run.give_up(steady_now());
  }
  changed_.notify_all();
}

bool Runs::over() const {
  const std::lock_guard lock(mutex_);
  return is_over();
}

std::size_t Runs::running() const {
  const std::lock_guard lock(mutex_);
  return count(State::running);
}

bool Runs::has_abandoned_reports() const {
  const std::lock_guard lock(mutex_);
  return abandoned_;
}

}  // namespace celld::cli
