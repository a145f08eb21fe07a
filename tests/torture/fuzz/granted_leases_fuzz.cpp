// The answers that a worker of cellctl receives: leases, and the term after a heartbeat. Whatever a
// server sends, the worker keeps times that it can wait for, and its command receives JSON.
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/cli/members.hpp"
#include "src/cli/worker/granted_lease.hpp"
#include "src/cli/worker/leased_run.hpp"
#include "src/json/json.hpp"
#include "tests/torture/fuzz/fuzzing.hpp"

using namespace celld;
using cli::GrantedLease;
using cli::LeasedRun;
using cli::milliseconds;
using fuzz::must;
using json::Value;

namespace {

constexpr cells::SteadyTime start{milliseconds(1'000'000'000)};
constexpr milliseconds grace{5000};
constexpr milliseconds beat_interval_max{10'000};
/// The worker's clock counts nanoseconds in 64 bits.
constexpr cells::SteadyTime latest{std::chrono::hours(24 * 365 * 200)};

// The reference reads members by itself.

const Value& member(const Value& value, const char* name) {
  static const Value none;
  return value.is_object() && value.contains(name) ? value.at(name) : none;
}

std::string text(const Value& value, const char* name) {
  const Value& found = member(value, name);
  return found.is_string() ? found.get<std::string>() : "";
}

bool is_lease(const Value& element) {
  return !text(element, "lease").empty() && !text(member(element, "job"), "id").empty();
}

/// A number that no 64-bit integer holds reads as 0, like every other value of a wrong type.
bool is_integer(const Value& said, std::int64_t read) {
  const bool fits =
      said.is_number_integer() && (!said.is_number_unsigned() || said <= std::uint64_t{INT64_MAX});
  return fits ? said == read : read == 0;
}

void check_document(const GrantedLease& lease, const Value& element) {
  const auto parsed = cli::parse_answer(lease.document);
  must(parsed && parsed->is_object(), "a command receives a JSON object");
  const Value& job = member(element, "job");
  for (const char* name : {"customer", "product", "action", "entity", "parameters", "properties"})
    must(member(*parsed, name) == member(job, name), "a command receives the members of its job");
  must(member(*parsed, "job") == lease.job, "a command receives the id of its job");
  must(member(*parsed, "attempt") == lease.attempt, "a command receives its attempt");
  must(parsed->contains("undo") == (member(element, "undo") == true),
       "a command learns that it is to undo");
}

void check_times(const LeasedRun& run, cells::SteadyTime now) {
  must(run.expires_at() >= now && run.expires_at() <= latest, "a lease ends at some time");
  must(run.next_delivery_at() > now && run.next_delivery_at() <= now + beat_interval_max,
       "a heartbeat is due within ten seconds");
  must(run.next_signal_at() >= now - grace && run.next_signal_at() <= run.expires_at(),
       "a command is ended before its lease");
}

void check_lease(const GrantedLease& lease, const Value& element, const Value& answer) {
  must(lease.name == text(element, "lease") && lease.job == text(member(element, "job"), "id"),
       "a lease has its name and its job");
  must(lease.service == text(element, "service"), "a lease has its service");
  must(lease.idempotency_key == text(element, "idempotency_key"), "a lease has its key");
  must(lease.traceparent == text(element, "traceparent"), "a lease has its trace context");
  must(is_integer(member(element, "attempt"), lease.attempt), "an attempt is the number it says");
  for (const std::string& variable : {lease.idempotency_key, lease.traceparent})
    must(fuzz::is_clean_text(variable), "a text fits into an environment");
  check_document(lease, element);

  LeasedRun run(lease, grace, start);
  must(run.state() == LeasedRun::State::waiting, "a command is started only when there is room");
  if (!run.try_start(start)) {
    must(run.cause() == LeasedRun::Cause::deadline && run.report_is_due(start),
         "a command is not started if its lease is about to end");
    return;
  }
  check_times(run, start);
  const auto sent_at = start + milliseconds(100);
  run.on_term(cli::read_term(answer), sent_at, sent_at + milliseconds(50));
  if (run.cause() == LeasedRun::Cause::none) check_times(run, sent_at);
  must((run.cause() == LeasedRun::Cause::cancelled) == (member(answer, "cancel") == true),
       "a worker learns of a cancellation");
}

void check_leases(const Value& elements, const Value& answer) {
  const std::vector<GrantedLease> leases = cli::read_leases(elements);
  auto lease = leases.begin();
  for (const Value& element : elements) {
    if (!is_lease(element)) continue;
    must(lease != leases.end(), "each lease is read");
    check_lease(*lease++, element, answer);
  }
  must(lease == leases.end(), "what is no lease is skipped");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto answer = cli::parse_answer(fuzz::text_of(data, size));
  if (!answer) return 0;
  check_leases(cli::elements_at(*answer, {"leases"}), *answer);
  check_leases(Value::array({*answer}), *answer);
  return 0;
}
