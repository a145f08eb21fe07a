#include "tests/torture/stores/messages.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

namespace stores {
namespace {

template <class T, class... Of>
concept OneOf = (std::same_as<std::remove_const_t<T>, Of> || ...);

/// References to all fields. A message that gets another field does not compile here.
template <class T>
auto fields(T& message) {
  if constexpr (OneOf<T, std::monostate, IdInUse, CellOverrideSet, ScheduleSaved, StoreFlushed,
                      LoadCells, InMemoryNoted>) {
    return std::tuple<>{};
  } else if constexpr (OneOf<T, JobFound, OldestQueued, FlushStore, ClaimJob, HoldJob, FindJob,
                             FindOldestQueued, FindBatch, BatchFound, BatchOpened, BatchClosed,
                             CancelledMarked, SchedulesLoaded, ScheduleRemoved, ScheduleAdvanced,
                             SaveSchedule, RemoveSchedule, AdvanceSchedule>) {
    auto& [a] = message;
    return std::tie(a);
  } else if constexpr (OneOf<T, EpochStarted, CellsLoaded, BacklogsListed, LoadCell, JobsMoved,
                             NeedsCounted, CountNeeds, KeyHolder, RunnableFetched, RecordJob,
                             HoldsReleased, FindKeyHolder, Idempotency, SetCellOverride, ChangeLane,
                             CloseBatch, MarkCancelled, NoteInMemory, StartEpoch, BatchesListed,
                             BatchOwner, CustomerRoom, ActionSet>) {
    auto& [a, b] = message;
    return std::tie(a, b);
  } else if constexpr (OneOf<T, MemoryFull, EndedPruned, JobsListed, RunnableOfCustomer,
                             CancelWaiting, PruneEnded, StoredBacklog, OpenBatch, LoadSchedules,
                             BatchInMemory>) {
    auto& [a, b, c] = message;
    return std::tie(a, b, c);
  } else if constexpr (OneOf<T, JobInserted>) {  // Only a store of both kinds is ever full.
    auto& [a, b, c, full, d, e] = message;
    return std::tie(a, b, c, d, e);
  } else if constexpr (OneOf<T, ScheduleAdvance, JobRecorded, WaitingCancelled, EndedReopened,
                             CustomerFull, ListJobs, ListBatches, ReleaseHolds>) {
    auto& [a, b, c, d] = message;
    return std::tie(a, b, c, d);
  } else if constexpr (OneOf<T, CellOverride, InsertJob, DueAdvanced, ListBacklogs, MoveJobs,
                             AdvanceDue, ReopenEnded>) {
    auto& [a, b, c, d, e] = message;
    return std::tie(a, b, c, d, e);
  } else if constexpr (OneOf<T, CellLoaded>) {
    auto& [a, b, c, d, e, f] = message;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (OneOf<T, FetchRunnable>) {
    auto& [a, b, c, d, e, f, g, h, i, j] = message;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (OneOf<T, Batch>) {
    auto& [a, b, c, d, e, f, g, h, i, j] = message;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else {
    static_assert(OneOf<T, JobFilter>);
    auto& [a, b, c, d, e, f, g, h, i, j, k] = message;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  }
}

template <class T>
constexpr bool is_vector = false;
template <class T>
constexpr bool is_vector<std::vector<T>> = true;

template <class T>
bool are_same(const T& a, const T& b) {
  if constexpr (OneOf<T, JobPtr>) {
    return a == b || (a && b && *a == *b);
  } else if constexpr (is_vector<T>) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const auto& x, const auto& y) { return are_same(x, y); });
  } else if constexpr (requires { a == b; }) {
    return a == b;
  } else {
    return std::apply(
        [&b](const auto&... of_a) {
          return std::apply([&](const auto&... of_b) { return (are_same(of_a, of_b) && ...); },
                            fields(b));
        },
        fields(a));
  }
}

// --- Text ------------------------------------------------------------------------------------

template <class T>
std::string text_of(const T& value);

template <class Range>
std::string text_of_list(const Range& range) {
  std::string text = "[";
  for (const auto& each : range) text += (text.size() > 1 ? ", " : "") + text_of(each);
  return text + "]";
}

template <class T>
std::string text_of(const T& value) {
  if constexpr (OneOf<T, bool>) {
    return value ? "yes" : "no";
  } else if constexpr (OneOf<T, JobPtr>) {
    return to_text(value);
  } else if constexpr (OneOf<T, std::string>) {
    return '"' + value.substr(0, 20) + '"';
  } else if constexpr (OneOf<T, Schedule>) {
    return value.name + " at " + text_of(value.progress);
  } else if constexpr (OneOf<T, ScheduleProgress>) {
    return text_of(value.next) + ", job " + text_of(value.last_job);
  } else if constexpr (OneOf<T, CellKey>) {
    return value.customer + "/" + value.product;
  } else if constexpr (OneOf<T, WallTime>) {
    return "@" + std::to_string(value.time_since_epoch().count());
  } else if constexpr (OneOf<T, JobCounts>) {
    return text_of_list(value.by_state) + " of " + std::to_string(value.bytes) + " bytes";
  } else if constexpr (OneOf<T, JobState, CellState, Lease, Durability, QuotaLimit>) {
    return std::string{cells::to_string(value)};
  } else if constexpr (std::integral<T> || std::floating_point<T>) {
    return std::to_string(value);
  } else if constexpr (requires { value.count(); }) {
    return std::to_string(value.count());
  } else if constexpr (requires { value.has_value(); }) {
    return value ? text_of(*value) : "-";
  } else if constexpr (requires { value.begin(); }) {
    return text_of_list(value);
  } else if constexpr (requires { value.second; }) {
    return text_of(value.first) + "=" + text_of(value.second);
  } else {
    const auto list = [](const auto&... each) {
      std::string text;
      ((text += (text.empty() ? "" : ", ") + text_of(each)), ...);
      return "(" + text + ")";
    };
    return std::apply(list, fields(value));
  }
}

constexpr std::array request_names = {
    "StartEpoch",      "LoadCells",     "ListBacklogs",  "MoveJobs",       "ReleaseHolds",
    "LoadCell",        "InsertJob",     "FindKeyHolder", "ClaimJob",       "RecordJob",
    "CancelWaiting",   "ReopenEnded",   "HoldJob",       "ChangeLane",     "FetchRunnable",
    "AdvanceDue",      "PruneEnded",    "OpenBatch",     "CloseBatch",     "MarkCancelled",
    "NoteInMemory",    "LoadSchedules", "SaveSchedule",  "RemoveSchedule", "AdvanceSchedule",
    "SetCellOverride", "FlushStore"};
static_assert(request_names.size() == std::variant_size_v<Request>);

constexpr std::array look_names = {"FindJob",    "ListJobs",  "FindOldestQueued",
                                   "CountNeeds", "FindBatch", "ListBatches"};
static_assert(look_names.size() == std::variant_size_v<Look>);

constexpr std::array answer_names = {
    "no answer",       "IdInUse",         "EpochStarted",     "CellsLoaded",     "BacklogsListed",
    "JobsMoved",       "NeedsCounted",    "HoldsReleased",    "CellLoaded",      "JobInserted",
    "KeyHolder",       "JobRecorded",     "WaitingCancelled", "EndedReopened",   "RunnableFetched",
    "DueAdvanced",     "EndedPruned",     "BatchOpened",      "BatchClosed",     "CancelledMarked",
    "InMemoryNoted",   "SchedulesLoaded", "ScheduleSaved",    "ScheduleRemoved", "ScheduleAdvanced",
    "CellOverrideSet", "StoreFlushed",    "JobFound",         "JobsListed",      "OldestQueued",
    "BatchFound",      "BatchesListed"};
static_assert(answer_names.size() == std::variant_size_v<Answer>);

template <class Names, class Variant>
std::string named_text(const Names& names, const Variant& message) {
  return names[message.index()] +
         std::visit([](const auto& each) { return text_of(each); }, message);
}

// --- Altering --------------------------------------------------------------------------------

template <class T>
bool alter_value(T& value) {
  if constexpr (OneOf<T, bool>) {
    value = !value;
  } else if constexpr (std::integral<T>) {
    ++value;
  } else if constexpr (OneOf<T, WallTime>) {
    value += milliseconds{1};
  } else if constexpr (OneOf<T, std::optional<WallTime>>) {
    value = value ? std::nullopt : std::optional{WallTime{}};
  } else if constexpr (OneOf<T, JobCounts>) {
    ++value[JobState::queued];
  } else if constexpr (OneOf<T, KeyHolder>) {
    value.same_request = !value.same_request;
  } else if constexpr (OneOf<T, RunnableOfCustomer>) {
    value.complete = !value.complete;
  } else if constexpr (OneOf<T, JobPtr>) {
    if (!value) return false;
    auto other = std::make_shared<Job>(*value);
    ++other->interruptions;
    value = other;
  } else if constexpr (OneOf<T, std::optional<Batch>>) {
    if (!value) return false;
    ++value->stored;
  } else if constexpr (OneOf<T, std::optional<MemoryFull>, std::optional<CustomerFull>>) {
    if (!value) return false;
    ++value->depth;
  } else if constexpr (OneOf<T, std::vector<JobPtr>, std::vector<RunnableOfCustomer>>) {
    return !value.empty() && alter_value(value.back());
  } else {
    if (value.empty()) return false;
    value.erase(value.begin());
  }
  return true;
}

template <class T>
bool alter_field(T& answer, std::size_t field) {
  bool altered = false;
  std::size_t at = 0;
  const auto visit = [&](auto& value) {
    if (at++ == field) altered = alter_value(value);
  };
  std::apply([&](auto&... each) { (visit(each), ...); }, fields(answer));
  return altered;
}

// --- Blurring --------------------------------------------------------------------------------

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;

template <class T>
void blur_value(T& value) {
  if constexpr (OneOf<T, JobPtr>) {
    if (!value || value->failed_ahead == 0) return;
    auto blurred = std::make_shared<Job>(*value);
    blurred->failed_ahead = 1;
    value = std::move(blurred);
  } else if constexpr (OneOf<T, Batch>) {
    value.in_memory = {};
  } else if constexpr (OneOf<T, KeyHolder, RunnableOfCustomer>) {
    std::apply([](auto&... each) { (blur_value(each), ...); }, fields(value));
  } else if constexpr (is_optional<T>) {
    if (value) blur_value(*value);
  } else if constexpr (OneOf<T, std::vector<JobPtr>, std::vector<RunnableOfCustomer>,
                             std::vector<Batch>>) {
    for (auto& each : value) blur_value(each);
  }
}

/// The number of fields of each alternative of Answer.
template <std::size_t... I>
constexpr auto count_fields(std::index_sequence<I...>) {
  return std::array{std::tuple_size_v<decltype(fields(
      std::declval<std::variant_alternative_t<I, Answer>&>()))>...};
}
constexpr auto field_counts = count_fields(std::make_index_sequence<std::variant_size_v<Answer>>());

}  // namespace

Answer apply(celld::store::MemoryJobs& jobs, const Request& request) {
  return std::visit(
      [&jobs](const auto& each) -> Answer {
        using Result = decltype(jobs.apply(each));
        if constexpr (std::is_void_v<Result>) {
          jobs.apply(each);
          return std::monostate{};
        } else if constexpr (OneOf<Result, std::optional<JobInserted>>) {
          auto inserted = jobs.apply(each);
          return inserted ? Answer{std::move(*inserted)} : Answer{IdInUse{}};
        } else {
          return jobs.apply(each);
        }
      },
      request);
}

bool is_same(const Answer& a, const Answer& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&b](const auto& each) {
        return are_same(each, std::get<std::remove_cvref_t<decltype(each)>>(b));
      },
      a);
}

bool is_same(const JobPtr& a, const JobPtr& b) {
  return are_same(a, b);
}

void blur(Answer& answer) {
  auto* pruned = std::get_if<EndedPruned>(&answer);
  if (pruned && !pruned->more) pruned->reached = {};  // Without a meaning.
  std::visit(
      [](auto& each) {
        std::apply([](auto&... field) { (blur_value(field), ...); }, fields(each));
      },
      answer);
}

void blur(celld::store::StoreContent& content) {
  for (auto& [id, stored] : content.jobs) blur_value(stored.job);
  for (auto& [id, batch] : content.batches) blur_value(batch);
}

std::optional<AnswerField> answer_field(std::size_t number) {
  for (std::size_t alternative = 0; alternative < field_counts.size(); ++alternative) {
    if (number < field_counts[alternative]) return AnswerField{alternative, number};
    number -= field_counts[alternative];
  }
  return std::nullopt;
}

std::string to_text(const AnswerField& field) {
  return std::string{answer_names[field.alternative]} + ", field " + std::to_string(field.field);
}

bool alter(Answer& answer, const AnswerField& field) {
  if (answer.index() != field.alternative) return false;
  return std::visit([&](auto& each) { return alter_field(each, field.field); }, answer);
}

std::string to_text(const JobPtr& job) {
  if (!job) return "-";
  return "job " + std::to_string(job->id) + " (" + std::string{to_string(job->state)} + " in " +
         text_of(job->cell) + ", place " + std::to_string(job->place) + ", lease " +
         to_string(job->lease) + ", " + text_of(job->spec->customer) + " " +
         text_of(job->spec->product) + " " + text_of(job->spec->entity.type) + " " +
         text_of(job->spec->entity.id) + ", priority " + std::to_string(job->spec->priority) + ")";
}

std::string to_text(const Request& request) {
  return named_text(request_names, request);
}

std::string to_text(const Look& look) {
  return named_text(look_names, look);
}

std::string to_text(const Answer& answer) {
  return named_text(answer_names, answer);
}

}  // namespace stores
