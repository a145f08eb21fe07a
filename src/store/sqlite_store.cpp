#include "src/store/sqlite_store.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/store/backup_copy.hpp"
#include "src/store/opened_database.hpp"
#include "src/store/sqlite_reads.hpp"

namespace celld::store {

using namespace cells;  // NOLINT: the whole file is about the port's messages.

// --- Opening ---------------------------------------------------------------------------------

namespace {

/// Makes the entries of a directory durable. Returns an error, or empty text.
std::string sync_directory(const std::filesystem::path& directory) {
  const auto failed = [&] {
    return "cannot sync " + directory.string() + ": " + std::system_category().message(errno);
  };
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return failed();
  const bool synced = ::fsync(descriptor) == 0;
  std::string error = synced ? "" : failed();
  ::close(descriptor);
  return error;
}

/// Creates the directory and its missing parents, and makes each durable. Returns an error, or
/// empty text.
std::string make_directory(const std::filesystem::path& directory) {
  std::error_code failed;
  if (std::filesystem::is_directory(directory, failed)) return "";
  const auto parent = directory.parent_path();
  if (parent != directory) {
    if (auto error = make_directory(parent); !error.empty()) return error;
  }
  std::filesystem::create_directory(directory, failed);
  if (failed) return "cannot create " + directory.string() + ": " + failed.message();
  return sync_directory(parent);
}

}  // namespace

std::variant<SqliteStore, std::string> SqliteStore::open(const SqliteOptions& options) {
  const std::filesystem::path directory{options.data_directory};
  const auto whole = std::filesystem::absolute(directory).lexically_normal();
  if (auto error = make_directory(whole.has_filename() ? whole : whole.parent_path());
      !error.empty()) {
    return error;
  }
  std::string error;
  auto directory_lock = FileLock::acquire((directory / "celld.lock").string(), error);
  if (!directory_lock) return error;
  SqliteStore store;
  store.path_ = (directory / options.path).string();
  std::error_code failed;
  store.real_path_ = std::filesystem::weakly_canonical(store.path_, failed).string();
  if (failed) return "cannot resolve " + store.path_ + ": " + failed.message();
  auto database_lock = FileLock::acquire(store.lock_path(".lock"), error);
  if (!database_lock) return error;
  store.backup_path_ = (directory / backup_file).string();
  if (std::filesystem::weakly_canonical(store.backup_path_, failed) == store.real_path_) {
    return "the database cannot be " + store.path_ + ": celld removes unfinished backups there";
  }
  store.options_ = options;
  ::unlink(store.backup_path_.c_str());  // A crash may have left one behind.
  try {
    store.opened_ = std::make_shared<OpenedDatabase>(
        options, store.path_, DatabaseLocks{std::move(*directory_lock), std::move(*database_lock)},
        store.stats_);
    store.secret_ = store.opened_->secret();
  } catch (const SqliteFailure& failure) {
    return "cannot use the database " + store.path_ + ": " + failure.what();
  }
  // The database files exist by now. SQLite syncs their directory as well, but does not report an
  // error of that sync.
  error = sync_directory(std::filesystem::path{store.path_}.parent_path());
  if (!error.empty()) return error;
  return store;
}

// --- The reader ------------------------------------------------------------------------------

namespace {

struct ReaderState {
  std::string path;
  ReadLimits limits;
  std::optional<SqliteReads> reads;  ///< Opened by the first request, on the reader's thread.
};

template <class Answer, class Request>
caf::result<Answer> read(ReaderState& state, const Request& request) {
  try {
    if (!state.reads) state.reads.emplace(state.path, state.limits);
    return state.reads->read(request);
  } catch (const SqliteFailure& failure) {
    state.reads.reset();
    return caf::make_error(caf::sec::runtime_error, std::string{failure.what()});
  }
}

JobReader::behavior_type sqlite_reader(JobReader::stateful_pointer<ReaderState> self,
                                       const std::string& path, const ReadLimits& limits) {
  self->state.path = path;
  self->state.limits = limits;
  return {
      [self](const FindJob& request) { return read<JobFound>(self->state, request); },
      [self](const ListJobs& request) { return read<JobsListed>(self->state, request); },
      [self](const FindBatch& request) { return read<BatchFound>(self->state, request); },
      [self](const ListBatches& request) { return read<BatchesListed>(self->state, request); },
      [self](const FindOldestQueued& request) { return read<OldestQueued>(self->state, request); },
  };
}

}  // namespace

JobReader SqliteStore::spawn_reader(caf::actor_system& system) const {
  if (!options_.own_threads) return system.spawn(sqlite_reader, path_, options_.reads);
  return system.spawn<caf::detached>(sqlite_reader, path_, options_.reads);
}

// --- Statistics ------------------------------------------------------------------------------

std::function<StoreStatistics()> SqliteStore::statistics() const {
  return [stats = stats_, path = real_path_] {  // SQLite keeps the log beside the real file.
    const auto bytes = [](const std::string& file) -> std::uint64_t {
      std::error_code failed;
      const auto size = std::filesystem::file_size(file, failed);
      return failed ? 0 : size;  // There is no write-ahead log, for example.
    };
    std::error_code failed;
    const auto space = std::filesystem::space(path, failed);
    return StoreStatistics{stats->checkpoints.load(),
                           {{"database", bytes(path)}, {"log", bytes(path + "-wal")}},
                           0,
                           failed ? std::nullopt : std::optional{std::uint64_t{space.available}}};
  };
}

}  // namespace celld::store
