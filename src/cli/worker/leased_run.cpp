#include "src/cli/worker/leased_run.hpp"

#include <algorithm>
#include <csignal>
#include <utility>
#include <variant>

#include "src/cli/text.hpp"
#include "src/cli/worker/work_report.hpp"
#include "src/json/json.hpp"
#include "src/providers/command/outcome.hpp"
#include "src/providers/http/outcome.hpp"

namespace celld::cli {
namespace {

using cells::CallOutcome;
using Kind = CallOutcome::Kind;
using providers::messages_max;

/// Also bounds how late a worker learns of a cancellation.
constexpr milliseconds beat_interval_max{10'000};
/// A term gets shorter and shorter before its job expires.
constexpr milliseconds beat_interval_min{50};
constexpr int beats_per_term = 3;
/// Progress and messages of a busy command do not send heartbeats more often than this.
constexpr milliseconds news_interval{250};
constexpr milliseconds pause_first{100};
constexpr milliseconds pause_max{2'000};
/// The command gets at least three quarters of a term before it is ended for missing heartbeats.
constexpr int grace_share = 4;
/// Of a message that celld's answer makes up.
constexpr std::size_t reason_width_max = 1000;
/// How the shell reports a program that it cannot execute, or cannot find.
constexpr int not_executable = 126;
constexpr int not_found = 127;
/// A shell whose command was killed by signal n exits with this plus n.
constexpr int killed_by_signal = 128;

CallOutcome outcome_of(const std::string& service, const providers::CommandResult& result,
                       cells::WallTime now) {
  CallOutcome outcome = providers::interpret(service, result, now, {});
  const bool exited = result.end == providers::CommandResult::End::exited;
  if (exited && (result.value == not_executable || result.value == not_found)) {
    outcome.kind = Kind::retryable;
    outcome.code = "communications_error";
    outcome.message =
        "The command could not be started: exit status " + std::to_string(result.value) + ".";
  } else if (exited && result.value > killed_by_signal && result.value < killed_by_signal + NSIG) {
    outcome.kind = Kind::unknown;
    outcome.code = "provider_error";
    outcome.message =
        "The command was killed by signal " + std::to_string(result.value - killed_by_signal) + ".";
  }
  return outcome;
}

}  // namespace

LeasedRun::LeasedRun(GrantedLease lease, milliseconds grace, SteadyTime now)
    : lease_(std::move(lease)),
      grace_(grace),
      started_at_(now),
      term_(lease_.expires_in),
      expires_at_(now + term_),
      beat_at_(now + beat_interval()),
      beaten_at_(now),
      pauses_(pause_first, pause_max) {}

// --- What happened -------------------------------------------------------------------------------

bool LeasedRun::try_start(SteadyTime now) {
  if (now >= terminate_at()) {
    end_command(Cause::deadline, expires_at_, now);
    return false;
  }
  state_ = State::running;
  started_at_ = now;
  return true;
}

bool LeasedRun::on_line(const std::string& line, SteadyTime now) {
  const WorkLine parsed = parse_work_line(line);
  if (std::holds_alternative<OtherLine>(parsed)) return false;
  if (const auto* progress = std::get_if<ProgressLine>(&parsed)) progress_ = progress->share;
  if (const auto* message = std::get_if<MessageLine>(&parsed)) {
    messages_.push_back(providers::message_text({message->text, false}, {}));
    if (messages_.back().empty()) messages_.pop_back();
    // The message on its way stays in front until it is answered.
    if (messages_.size() > messages_max)
      messages_.erase(messages_.begin() + (message_on_way_ ? 1 : 0));
  }
  beat_at_ = std::min(beat_at_, std::max({now, beaten_at_ + news_interval, not_before_}));
  return true;
}

void LeasedRun::on_term(const LeaseTerm& term, SteadyTime sent_at, SteadyTime now) {
  pauses_.reset();
  // The answer may have taken long: the term began when celld received the heartbeat.
  expires_at_ = sent_at + term.expires_in;
  term_ = std::max(term.expires_in, milliseconds(1));
  beaten_at_ = sent_at;
  beat_at_ = sent_at + beat_interval();
  drop_news_on_way();
  if (progress_ || !messages_.empty()) beat_at_ = std::min(beat_at_, sent_at + news_interval);
  if (term.cancel) end_command(Cause::cancelled, std::min(now + grace_, expires_at_), now);
}

void LeasedRun::on_news_refused(SteadyTime now) {
  drop_news_on_way();
  beat_at_ = now;
}

void LeasedRun::drop_news_on_way() {
  if (progress_ == progress_on_way_) progress_.reset();
  if (message_on_way_) messages_.pop_front();
  progress_on_way_.reset();
  message_on_way_ = false;
}

void LeasedRun::on_no_answer(double random, SteadyTime now) {
  const auto longest = std::max(term_ / (2 * beats_per_term), beat_interval_min);
  not_before_ = now + std::min(pauses_.next(random), longest);
  beat_at_ = not_before_;
  report_at_ = not_before_;
}

void LeasedRun::on_lost(SteadyTime now) {
  if (state_ != State::running) {
    state_ = State::done;
    return;
  }
  end_command(Cause::lost, now + grace_, now);
  cause_ = Cause::lost;  // Also when the command is being ended for another cause.
}

void LeasedRun::give_up(SteadyTime now) {
  end_command(Cause::given_up, std::min(now + grace_, expires_at_), now);
}

/// A lease without a command is reported at once.
void LeasedRun::end_command(Cause cause, SteadyTime kill_at, SteadyTime now) {
  const bool is_live = state_ == State::waiting || state_ == State::running;
  if (!is_live || cause_ != Cause::none) return;
  cause_ = cause;
  kill_at_ = kill_at;
  if (state_ == State::running) return;
  override_outcome(false);
  state_ = State::reporting;
  report_at_ = now;
}

const CallOutcome& LeasedRun::on_end(const providers::CommandResult& result, cells::WallTime wall,
                                     SteadyTime now) {
  outcome_ = outcome_of(lease_.service, result, wall);
  if (cause_ != Cause::none && outcome_.kind != Kind::succeeded) override_outcome(true);
  report_at_ = now;
  state_ = cause_ == Cause::lost ? State::done : State::reporting;
  return outcome_;
}

/// A command that the worker ended has not failed by itself.
void LeasedRun::override_outcome(bool was_started) {
  const std::string end = was_started ? "the worker ended the command." : "no command was started.";
  switch (cause_) {
    case Cause::none:
    case Cause::lost:
      return;
    case Cause::cancelled:
      outcome_.kind = Kind::rejected;
      outcome_.code = "cancelled";
      outcome_.message = "The job was cancelled, and " + end;
      return;
    case Cause::deadline:
      outcome_.kind = Kind::retryable;
      outcome_.code = "timeout";
      outcome_.message = "No heartbeat was answered in time, and " + end;
      return;
    case Cause::given_up:
      outcome_.kind = Kind::retryable;
      outcome_.code = "interrupted";
      outcome_.message = was_started ? "The worker was stopped, and ended the command."
                                     : "The worker was stopped before it started a command.";
  }
}

bool LeasedRun::on_report_refused(const std::string& reason, SteadyTime now) {
  report_at_ = now;
  const bool has_messages = !messages_.empty() || !outcome_.messages.empty();
  if (outcome_.kind == Kind::succeeded && has_messages) {
    messages_.clear();
    outcome_.messages.clear();
    return true;
  }
  if (std::exchange(refused_, true)) {
    state_ = State::done;
    return false;
  }
  outcome_ = CallOutcome{};
  outcome_.kind = Kind::retryable;
  outcome_.code = "invalid_response";
  outcome_.message = "celld refused the worker's report: " + fitted(reason, reason_width_max);
  messages_.clear();
  return true;
}

// --- What to do ----------------------------------------------------------------------------------

std::optional<int> LeasedRun::take_signal(SteadyTime now) {
  if (state_ != State::running) return std::nullopt;
  if (cause_ == Cause::none && now >= terminate_at())
    end_command(Cause::deadline, expires_at_, now);
  if (cause_ == Cause::none) return std::nullopt;
  if (!std::exchange(terminated_, true)) return SIGTERM;
  if (now < kill_at_ || std::exchange(killed_, true)) return std::nullopt;
  return SIGKILL;
}

SteadyTime LeasedRun::next_signal_at() const {
  if (state_ != State::running || killed_) return SteadyTime::max();
  if (cause_ == Cause::none) return terminate_at();
  return terminated_ ? kill_at_ : SteadyTime::min();
}

bool LeasedRun::heartbeat_is_due(SteadyTime now) const {
  return sends_heartbeats() && now >= beat_at_;
}

std::string LeasedRun::take_heartbeat() {
  std::string body = "{";
  progress_on_way_ = progress_;
  message_on_way_ = !messages_.empty();
  if (progress_) body += R"("progress":)" + json::dump(*progress_);
  if (message_on_way_)
    body += (progress_ ? R"(,"message":)" : R"("message":)") + json::quote(messages_.front());
  return body + "}";
}

bool LeasedRun::report_is_due(SteadyTime now) const {
  return state_ == State::reporting && now >= report_at_;
}

std::string LeasedRun::report() const {
  CallOutcome all = outcome_;
  all.messages.clear();
  for (const auto& text : messages_)
    all.messages.push_back({{}, cells::Severity::info, lease_.service, text});
  all.messages.insert(all.messages.end(), outcome_.messages.begin(), outcome_.messages.end());
  const auto too_many = all.messages.size() - std::min(all.messages.size(), messages_max);
  all.messages.erase(all.messages.begin(),
                     all.messages.begin() + static_cast<std::ptrdiff_t>(too_many));
  return report_text(lease_.name, all);
}

SteadyTime LeasedRun::next_delivery_at() const {
  if (state_ == State::reporting) return report_at_;
  return sends_heartbeats() ? beat_at_ : SteadyTime::max();
}

/// After a cancellation the deadline no longer moves.
bool LeasedRun::sends_heartbeats() const {
  const bool is_live = state_ == State::waiting || state_ == State::running;
  return is_live && cause_ != Cause::cancelled && cause_ != Cause::lost;
}

milliseconds LeasedRun::beat_interval() const {
  return std::clamp(term_ / beats_per_term, beat_interval_min, beat_interval_max);
}

SteadyTime LeasedRun::terminate_at() const {
  return expires_at_ - std::min(grace_, term_ / grace_share);
}

}  // namespace celld::cli
