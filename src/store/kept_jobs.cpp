#include "src/store/kept_jobs.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "src/store/schema.hpp"
#include "src/store/sqlite_jobs.hpp"

namespace celld::store {

using namespace cells;  // NOLINT: the whole file is about the port's jobs.

namespace {

std::string text_of_errno() {
  return std::system_category().message(errno);
}

/// Makes the entries of the file's directory durable. Returns an error, or empty text.
std::string sync_directory_of(const std::string& path) {
  const auto directory = std::filesystem::absolute(path).parent_path().string();
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = descriptor >= 0 && ::fsync(descriptor) == 0;
  std::string error = synced ? "" : "cannot sync " + directory + ": " + text_of_errno();
  if (descriptor >= 0) ::close(descriptor);
  return error;
}

/// The jobs to keep. The heads of lines come first, since their calls may be under way: the first
/// job of a line that is inserted becomes its head.
std::vector<JobPtr> jobs_to_keep(const StoreContent& content,
                                 const std::function<bool(const Job&)>& keeps) {
  std::vector<JobPtr> kept;
  for (const auto& [id, stored] : content.jobs) {
    if (is_open(*stored.job) && keeps(*stored.job)) kept.push_back(stored.job);
  }
  std::stable_sort(kept.begin(), kept.end(), [&](const JobPtr& a, const JobPtr& b) {
    const bool a_heads = content.jobs.at(a->id).marks.head;
    const bool b_heads = content.jobs.at(b->id).marks.head;
    return a_heads != b_heads ? a_heads : a->place < b->place;
  });
  return kept;
}

void insert_jobs(const std::string& path, const StoreContent& content,
                 const std::vector<JobPtr>& kept) {
  std::map<JobId, Idempotency> keys;
  for (const auto& [name, holder] : content.key_holders) {
    keys[holder.first] = {name.second, holder.second};
  }
  Connection connection{path, Connection::Access::read_write};
  connection.execute("PRAGMA synchronous = FULL");
  migrate(connection);
  SqliteJobs jobs{connection, WriteLimits{}};
  for (const auto& job : kept) {
    InsertJob insert{job};
    if (const auto key = keys.find(job->id); key != keys.end()) insert.idempotency = key->second;
    jobs.apply(insert);
  }
  jobs.commit();
}

/// A crash may have left such files behind.
void remove_unfinished(const std::string& path) {
  for (const char* suffix : {".new", ".new-journal"}) ::unlink((path + suffix).c_str());
}

}  // namespace

std::string write_kept_jobs(const std::string& path, const StoreContent& content,
                            const std::function<bool(const Job&)>& keeps) {
  const auto kept = jobs_to_keep(content, keeps);
  if (kept.empty()) return "";
  const std::string fresh = path + ".new";
  remove_unfinished(path);
  try {
    insert_jobs(fresh, content, kept);
  } catch (const SqliteFailure& failure) {
    remove_unfinished(path);  // It may have filled the disk.
    return "cannot write " + fresh + ": " + failure.what();
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0) {
    return "cannot rename " + fresh + ": " + text_of_errno();
  }
  return sync_directory_of(path);
}

std::variant<StoreContent, std::string> read_kept_jobs(const std::string& path) {
  remove_unfinished(path);
  StoreContent content;
  std::error_code failed;
  if (!std::filesystem::exists(path, failed)) return content;
  try {
    Connection connection{path, Connection::Access::read_write};
    migrate(connection);
    Backlogs names{connection, 1};
    Statement rows{connection, select_jobs("WHERE true")};
    while (rows.step()) {
      const auto row = read_job(rows, names);
      auto job = std::make_shared<Job>(*row.job);
      job->durability = Durability::memory;
      content.last_id = std::max({content.last_id, job->id, job->place});
      const JobId id = job->id;
      content.jobs[id] = {std::move(job), row.marks};
    }
    Statement keys{connection, "SELECT customer, key, job, digest FROM idempotency_keys"};
    while (keys.step()) {
      content.key_holders[{std::string{keys.text(0)}, std::string{keys.text(1)}}] = {
          to_id(keys.integer(2)), std::string{keys.text(3)}};
    }
  } catch (const SqliteFailure& failure) {
    return "cannot read " + path + ": " + failure.what();
  }
  return content;
}

std::string remove_kept_jobs(const std::string& path) {
  if (::unlink(path.c_str()) != 0) {
    return errno == ENOENT ? "" : "cannot remove " + path + ": " + text_of_errno();
  }
  return sync_directory_of(path);
}

}  // namespace celld::store
