#include "src/store/store.hpp"

#include <filesystem>
#include <system_error>

#include "src/store/mixed_store.hpp"
#include "src/store/sqlite_store.hpp"

namespace celld::store {

namespace {

// The configuration admits no other type yet.
SqliteOptions sqlite_options(const config::Store& configured, const std::string& data_directory) {
  SqliteOptions options;
  options.data_directory = data_directory;
  options.path = configured.path;
  options.writes.generation_jobs = configured.recent_jobs / 2;
  return options;
}

}  // namespace

std::variant<std::unique_ptr<Store>, std::string> open_store(const config::Store& configured,
                                                             const std::string& data_directory,
                                                             StoreEvents events,
                                                             std::shared_ptr<SharedMemory> memory) {
  SqliteOptions options = sqlite_options(configured, data_directory);
  options.events = std::move(events);
  auto opened = SqliteStore::open(options);
  if (auto* error = std::get_if<std::string>(&opened)) return std::move(*error);
  auto on_disk = std::make_unique<SqliteStore>(std::get<SqliteStore>(std::move(opened)));
  return std::make_unique<MixedStore>(std::move(on_disk), std::move(memory));
}

std::string compact_store(const config::Store& configured, const std::string& data_directory) {
  const auto path = std::filesystem::path{data_directory} / configured.path;
  std::error_code failed;
  if (!std::filesystem::exists(path, failed) && !failed)
    return "there is no database " + path.string();
  SqliteOptions options = sqlite_options(configured, data_directory);
  options.compact = true;
  const auto opened = SqliteStore::open(options);
  const auto* error = std::get_if<std::string>(&opened);
  return error == nullptr ? "" : *error;
}

}  // namespace celld::store
