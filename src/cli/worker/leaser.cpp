#include "src/cli/worker/leaser.hpp"

#include <algorithm>
#include <utility>

#include "src/providers/steady_now.hpp"

namespace celld::cli {
namespace {

using providers::steady_now;

constexpr milliseconds wait_for_jobs{20'000};
/// celld answers at once, without leases, while it shuts down.
constexpr milliseconds early{1'000};
/// Even if celld, or a proxy, asks for more.
constexpr milliseconds pause_max{300'000};

}  // namespace

void Leaser::run(const std::stop_token& stop) {
  while (const auto room = runs_.wait_for_room(stop)) {
    if (!runs_.fails_to_start()) start_pauses_.reset();
    if (runs_.take_failed_start()) {
      pause(start_pauses_.next(random()), stop);
      if (stop.stop_requested()) break;
    }
    if (runs_.start_waiting()) continue;
    const SteadyTime asked_at = steady_now();
    auto answer = ask(room, stop);
    if (auto* setback = std::get_if<Setback>(&answer)) {
      on_setback(std::move(*setback), stop);
      if (refusal_) return;
    } else {
      take(std::get<std::vector<GrantedLease>>(std::move(answer)), asked_at, stop);
    }
  }
  if (looks_up_) begin_rest();
}

LeaseClient::Leases Leaser::ask(std::size_t room, const std::stop_token& stop) {
  if (looks_up_) return client_.held(stop);
  return client_.lease(room, wait_for_jobs, stop);
}

void Leaser::take(std::vector<GrantedLease> leases, SteadyTime asked_at,
                  const std::stop_token& stop) {
  if (std::exchange(away_, false)) log_.note("celld answers again");
  away_pauses_.reset();
  const bool nothing = leases.empty();
  runs_.begin(std::move(leases));
  if (!std::exchange(looks_up_, false) && nothing && steady_now() - asked_at < early) {
    pause(milliseconds(static_cast<milliseconds::rep>(500 + 1000 * random())), stop);
  }
}

void Leaser::on_setback(Setback setback, const std::stop_token& stop) {
  // celld may have granted leases in an answer that did not arrive.
  looks_up_ = true;
  if (stop.stop_requested()) return;
  if (setback.kind != Setback::Kind::away) {
    log_.problem(setback.text);
    refusal_ = setback.code;
    return;
  }
  const milliseconds asked = setback.retry_after.value_or(milliseconds(0));
  const auto duration = std::max(away_pauses_.next(random()), std::min(asked, pause_max));
  away_ = true;
  log_.problem(setback.text + "; trying again in " + duration_text(duration));
  pause(duration, stop);
}

/// A stop interrupts the request for leases, but celld may have granted them just then.
void Leaser::begin_rest() {
  auto answer = client_.held();
  if (auto* leases = std::get_if<std::vector<GrantedLease>>(&answer))
    runs_.begin(std::move(*leases));
}

void Leaser::pause(milliseconds duration, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  never_.wait_for(lock, stop, duration, [] { return false; });
}

}  // namespace celld::cli
