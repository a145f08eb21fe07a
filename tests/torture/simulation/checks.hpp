// The checks of the world, each with a name, so that one can run without the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace simulation {

/// What a run must never show. docs/simulation.md lists them in the same order.
enum class Check : std::uint8_t {
  accepted_stored,
  cancel_stored,
  retry_stored,
  override_stored,
  job_lost,
  ended_twice,
  end_announced,
  needless_call,
  false_success,
  lost_success,
  operation_kept,
  cancel_kept,
  cancel_unasked,
  uncounted_attempt,
  attempts_max,
  final_rejection,
  early_failure,
  wrong_service,
  checkpoint,
  undo_early,
  undo_order,
  undo_needless,
  undo_once,
  undo_missing,
  undo_end,
  fresh_lease,
  stale_write,
  lease_stored,
  report_stored,
  lease_kept,
  stale_accepted,
  repeat_refused,
  revived,
  lease_listed,
  pool_size,
  lease_returned,
  burst,
  capacity,
  two_calls,
  call_outlives_attempt,
  cut_short,
  provider_stopped,
  daemon_ends,
  entity_calls,
  entity_leases,
  line_head,
  line_order,
  entity_kept,
  entity_doubt,
  follower_cause,
  follower_start,
  idle_worker,
  idle_lease,
  guarantee,
  turns,
  service_limit,
  late_call,
  late_slot,
  refusal,
  retry_after,
  failed_request,
  share_accepted,
  queue_bound,
  window_bound,
  early_start,
  early_retry,
  early_timeout,
  expiry,
  lease_deadline,
  late_admission,
  late_start,
  shutdown_time,
  shutdown_leftovers,
  grace,
  needed_service,
  reload_refusal,
  reload_ends,
  pause,
  admission,
  routing,
  line_stored,
  batch_end,
  batch_counts,
  line_once,
  one_job_per_key,
  time_once,
  time_kept,
  overlap,
  early_removal,
  late_removal,
  counts,
  unfinished_job,
  final_state,
  unanswered,
};
inline constexpr std::size_t check_count = static_cast<std::size_t>(Check::unanswered) + 1;

/// The promise that the check belongs to, for example "P2".
std::string_view promise_of(Check check);
/// For example "ended-twice".
std::string_view to_string(Check check);
/// The inverse of to_string; none for an unknown name.
std::optional<Check> parse_check(std::string_view name);

}  // namespace simulation
