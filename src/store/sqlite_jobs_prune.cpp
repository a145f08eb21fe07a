// PruneEnded in SqliteJobs: removes jobs that ended long ago.
#include <chrono>
#include <utility>

#include "src/store/job_texts.hpp"
#include "src/store/pruning.hpp"
#include "src/store/sqlite_jobs.hpp"

namespace celld::store {

using namespace cells;  // NOLINT: the whole file is about the port's messages.

/// A job to be removed. The labels are part of the keys of its rows in job_labels.
struct SqliteJobs::EndedRow {
  JobId id = 0;
  std::map<std::string, std::string> labels;
  std::int64_t finished_at = 0;
  std::int64_t cell = 0;
  std::int64_t routing_key = 0;
  std::string entity_id;
  BatchId batch = 0;
};

EndedPruned SqliteJobs::apply(const PruneEnded& request) {
  enter();
  std::vector<EndedRow> ended;
  const ResetAtEnd reset{select_ended_};
  select_ended_.bind(1, std::int64_t{request.before.time_since_epoch().count()});
  select_ended_.bind(2, static_cast<std::int64_t>(request.limit));
  while (select_ended_.step()) {
    EndedRow row{to_id(select_ended_.integer(0)), {},
                 select_ended_.integer(2),        select_ended_.integer(3),
                 select_ended_.integer(4),        std::string{select_ended_.text(5)},
                 to_id(select_ended_.integer(6))};
    if (!select_ended_.is_null(1)) row.labels = read_labels(select_ended_.text(1));
    ended.push_back(std::move(row));
  }
  select_ended_.reset();
  const auto started = std::chrono::steady_clock::now();
  EndedPruned done;
  for (const auto& row : ended) {
    if (done.pruned > 0 && std::chrono::steady_clock::now() - started >= request.time_max) break;
    remove(row);
    done.reached = WallTime{milliseconds{row.finished_at}};
    ++done.pruned;
  }
  done.more = done.pruned < ended.size() || (done.pruned > 0 && done.pruned == request.limit);
  const auto deserted = batches_.remove_deserted(request.before, request.limit);
  if (deserted.batches > 0) touch();
  add_step(done, {0, deserted.batches == request.limit, deserted.last_end});
  return done;
}

/// The id is never reused: a provider may know it.
void SqliteJobs::remove(const EndedRow& row) {
  touch();
  note_place(row.id);
  for (const auto& [name, value] : row.labels) {
    delete_label_.bind(1, std::string_view{name}).bind(2, std::string_view{value});
    delete_label_.bind(3, to_integer(row.id)).run();
  }
  delete_key_.bind(1, to_integer(row.id)).run();
  delete_job_.bind(1, to_integer(row.id)).run();
  backlogs_.remove_stored(row.cell, row.routing_key);
  indexes_.remove(row.id, row.routing_key, row.entity_id, row.batch);
  batches_.remove(row.batch);
}

}  // namespace celld::store
