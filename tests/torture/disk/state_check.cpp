#include "tests/torture/disk/state_check.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <utility>
#include <variant>

#include "cells/model/job.hpp"
#include "src/http/api/job_json.hpp"
#include "src/store/sqlite_store.hpp"

namespace celld::disk {
namespace {

namespace fs = std::filesystem;

constexpr const char* select_rows =
    "SELECT jobs.id, state, customer, product, action, entity_type, entity_subtype, entity_id,"
    " services, labels, traceparent, priority, timeout_ms, max_attempts, on_failure, created_at,"
    " expires_at, parameters FROM jobs JOIN origins ON origins.id = jobs.origin";
constexpr int spec_from = 2;
constexpr int spec_until = 18;

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

std::string name_of_state(int state) {
  constexpr std::array names{"scheduled",    "queued",    "running", "retrying",
                             "compensating", "succeeded", "failed",  "cancelled"};
  return names.at(static_cast<std::size_t>(state));
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
    check_sizes(promises);
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
    row.state = static_cast<int>(select.integer(1));
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
      const bool ended = promised.ended || promised.seen_ended;
      if (complete && ended && age >= retention_ms_) {
        pruned.push_back(id);
      } else {
        faults_.push_back(std::string{lost_job} + cells::format_job_id(id) +
                          ", which was answered with 202");
      }
      continue;
    }
    check_spec(id, row->second, promised);
    const auto state = name_of_state(row->second.state);
    if (promised.ended && *promised.ended != state) {
      faults_.push_back("job " + cells::format_job_id(id) + " is " + state +
                        " but was reported as " + *promised.ended);
    }
  }
  for (const auto id : pruned) promises.forget(id);
  if (!complete) return;
  for (const auto& [id, row] : rows) {
    if (promises.jobs().contains(id))
      promises.see(id, cells::is_ended(static_cast<cells::JobState>(row.state)));
  }
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

void StateCheck::check_sizes(const Promises& promises) {
  store::Connection connection{database_, store::Connection::Access::read_only};
  for (const auto& [cell, sizes] : promises.sizes()) {
    store::Statement select{connection,
                            "SELECT pool_size FROM cell_overrides JOIN cells ON cells.id = cell"
                            " WHERE customer = ?1 AND product = ?2"};
    select.bind(1, cell.first).bind(2, cell.second);
    const bool there = select.step();
    if (there && sizes.contains(select.integer(0))) continue;
    faults_.push_back("lost: the pool size of " + cell.first + "/" + cell.second);
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
