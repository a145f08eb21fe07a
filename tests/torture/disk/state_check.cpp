#include "tests/torture/disk/state_check.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <utility>
#include <variant>

#include "cells/model/job.hpp"
#include "cells/model/status.hpp"
#include "src/http/api/job_json.hpp"
#include "src/store/sqlite_store.hpp"

namespace celld::disk {
namespace {

namespace fs = std::filesystem;

constexpr const char* select_rows =
    "SELECT jobs.id, state, finished_at, cancel_requested, step, key, origins.customer, product,"
    " action, entity_type, entity_subtype, entity_id, services, labels, traceparent, priority,"
    " timeout_ms, max_attempts, on_failure, created_at, expires_at, parameters"
    " FROM jobs JOIN origins ON origins.id = jobs.origin"
    " LEFT JOIN idempotency_keys ON job = jobs.id";
constexpr int spec_from = 6;
constexpr int spec_until = 22;

/// The place of each kind in StateCheck::losses.
enum Missing : std::size_t { job, end, reopening, cancellation, step, key, pool_size, cell_state };

/// Overwrites an existing file, so that a file system in memory reuses its pages.
void write_file(const std::string& path, const std::string& bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 ||
      ::pwrite(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()) ||
      ::ftruncate(file, static_cast<off_t>(bytes.size())) != 0) {
    throw std::runtime_error("cannot write " + path);
  }
  ::close(file);
}

std::string describe(const CellSetting& setting) {
  return (setting.pool_size ? std::to_string(*setting.pool_size) : "configured") + ", " +
         setting.state;
}

}  // namespace

StateCheck::StateCheck(std::string scratch, const std::string& data, std::int64_t retention_ms)
    : scratch_(std::move(scratch)),
      data_(scratch_ + "/" + data),
      database_(data_ + "/celld.db"),
      retention_ms_(retention_ms) {
  fs::create_directories(scratch_);
}

void StateCheck::write(const DiskState& state) {
  std::set<std::string> wanted;
  for (const auto& path : state.directories) wanted.insert(scratch_ + "/" + path);
  for (const auto& [path, bytes] : state.files) wanted.insert(scratch_ + "/" + path);
  std::vector<fs::path> others;
  for (const auto& entry : fs::recursive_directory_iterator{scratch_}) {
    if (!wanted.contains(entry.path().string())) others.push_back(entry.path());
  }
  for (const auto& path : others) fs::remove_all(path);
  for (const auto& path : state.directories) fs::create_directories(scratch_ + "/" + path);
  for (const auto& [path, bytes] : state.files) write_file(scratch_ + "/" + path, bytes);
}

std::vector<std::string> StateCheck::check(const DiskState& state, Promises& promises,
                                           bool complete, std::int64_t wall_ms) {
  faults_.clear();
  write(state);
  try {
    store::SqliteOptions options;
    options.data_directory = data_;
    const auto opened = store::SqliteStore::open(options);
    if (const auto* error = std::get_if<std::string>(&opened)) {
      return {"the store does not open: " + *error};
    }
    check_jobs(read_rows(), promises, complete, wall_ms);
    check_cells(promises);
    reads_.reset();
  } catch (const std::exception& failure) {  // A damaged database can cause any exception.
    reads_.reset();
    faults_.push_back(std::string{"the store cannot be read: "} + failure.what());
  }
  check_integrity();
  return std::exchange(faults_, {});
}

StateCheck::Rows StateCheck::read_rows() const {
  store::Connection connection{database_, store::Connection::Access::read_only};
  store::Statement select{connection, select_rows};
  Rows rows;
  while (select.step()) {
    auto& row = rows[static_cast<cells::JobId>(select.integer(0))];
    row.state = to_string(static_cast<cells::JobState>(select.integer(1)));
    row.finished_ms = select.optional_integer(2).value_or(0);
    row.cancel_requested = select.integer(3) != 0;
    row.steps_done = static_cast<std::size_t>(select.integer(4));
    row.key = select.text(5);
    for (int column = spec_from; column < spec_until; ++column) {
      row.spec += select.is_null(column) ? '0' : '1';
      row.spec += select.text(column);
      row.spec += '\0';
    }
  }
  return rows;
}

void StateCheck::check_jobs(const Rows& rows, Promises& promises, bool complete,
                            std::int64_t wall_ms) {
  std::vector<cells::JobId> pruned;
  for (const auto& [id, promised] : promises.jobs()) {
    const auto row = rows.find(id);
    if (row == rows.end()) {
      const auto age = wall_ms - cells::time_of(id).time_since_epoch().count();
      const bool ended = promised.end || promised.seen_ended;
      const bool removed = complete && ended && age >= retention_ms_;
      if (removed) pruned.push_back(id);
      expect(removed, Missing::job, cells::format_job_id(id) + ", which was answered with 202");
      continue;
    }
    check_spec(id, row->second, promised);
    check_progress(id, row->second, promised);
  }
  for (const auto id : pruned) promises.forget(id);
  if (!complete) return;
  for (const auto& [id, row] : rows) {
    if (promises.jobs().contains(id)) promises.see(id, row.finished_ms != 0);
  }
}

/// While a reopening is under way, the disk has the job as it was before, or as it became later.
void StateCheck::check_progress(cells::JobId id, const Row& row, const PromisedJob& promised) {
  const auto name = cells::format_job_id(id) + ", which is " + row.state;
  const auto ended_ms = promised.end ? promised.end->finished_ms : promised.reopened_ms;
  const bool later =
      promised.retries_left > 0 && (row.finished_ms == 0 || row.finished_ms > ended_ms);
  if (promised.end) {
    expect(later || (row.state == promised.end->state && row.finished_ms == ended_ms), Missing::end,
           name + " but was reported as " + promised.end->state);
  }
  expect(row.finished_ms == 0 || row.finished_ms > promised.reopened_ms, Missing::reopening, name);
  expect(later || row.cancel_requested || !promised.cancel_requested, Missing::cancellation, name);
  expect(row.steps_done >= promised.steps_done, Missing::step, name);
  expect(row.key == promised.key, Missing::key, name);
}

void StateCheck::expect(bool condition, std::size_t loss, const std::string& what) {
  if (!condition) faults_.push_back(std::string{losses.at(loss)} + what);
}

void StateCheck::check_spec(cells::JobId id, const Row& row, const PromisedJob& promised) {
  const auto known = known_specs_.find(id);
  if (known != known_specs_.end() && known->second == row.spec) return;
  if (!reads_) reads_.emplace(database_);
  const auto job = reads_->read(cells::FindJob{id}).job;
  const auto parsed = json::parse(job ? api::job_json(*job) : std::string{});
  const auto* document = std::get_if<json::Document>(&parsed);
  if (document == nullptr) {
    faults_.push_back("job " + cells::format_job_id(id) + " cannot be read");
    return;
  }
  const auto spec = spec_of(document->value);
  if (spec == promised.spec) {
    known_specs_[id] = row.spec;
  } else {
    faults_.push_back("job " + cells::format_job_id(id) + " differs from its answer: " +
                      json::dump(spec) + " instead of " + json::dump(promised.spec));
  }
}

void StateCheck::check_cells(const Promises& promises) {
  store::Connection connection{database_, store::Connection::Access::read_only};
  for (const auto& [cell, settings] : promises.cells()) {
    store::Statement select{connection,
                            "SELECT pool_size, state FROM cell_overrides JOIN cells"
                            " ON cells.id = cell WHERE customer = ?1 AND product = ?2"};
    select.bind(1, cell.first).bind(2, cell.second);
    CellSetting found{std::nullopt, std::string{to_string(cells::CellState::active)}};
    if (select.step()) {
      const auto state = static_cast<cells::CellState>(select.integer(1));
      found = {select.optional_integer(0), std::string{to_string(state)}};
    }
    const auto what = cell.first + "/" + cell.second + ": " + describe(found) + " instead of " +
                      describe(*settings.begin());
    const auto is_possible = [&settings = settings, &found](auto member) {
      return std::any_of(settings.begin(), settings.end(), [&](const CellSetting& setting) {
        return setting.*member == found.*member;
      });
    };
    expect(is_possible(&CellSetting::pool_size), Missing::pool_size, what);
    expect(is_possible(&CellSetting::state), Missing::cell_state, what);
  }
}

void StateCheck::check_integrity() {
  try {
    store::Connection connection{database_, store::Connection::Access::read_only};
    connection.execute("PRAGMA mmap_size = 268435456");
    const auto text = connection.query_text("PRAGMA integrity_check");
    if (text != "ok") faults_.push_back("integrity_check: " + text);
  } catch (const store::SqliteFailure& failure) {
    faults_.push_back(std::string{"the closed store cannot be read: "} + failure.what());
  }
}

}  // namespace celld::disk
