#include "src/store/sqlite.hpp"

#include <utility>

#include "src/store/page_checksums.hpp"

namespace celld::store {

std::string describe_error(int code, const std::string& text) {
  if (code == SQLITE_IOERR_DATA) return "the database is damaged: the checksum of a page is wrong";
  const int primary = code & 0xff;
  const bool damaged = primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB;
  return (damaged ? "the database is damaged: " : "") + text;
}

Connection::Connection(const std::string& path, Access access) {
  const int flags = access == Access::read_write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                                                 : SQLITE_OPEN_READONLY;
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, checksum_vfs());
  handle_.reset(handle);
  if (handle == nullptr) throw SqliteFailure("out of memory");
  sqlite3_extended_result_codes(handle, 1);
  if (code != SQLITE_OK) fail("opening " + path + " failed");
  if (access == Access::read_write) reserve_checksums(handle);
}

void Connection::execute(const char* sql) {
  if (sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail(sql);
}

void Connection::stop_when(std::shared_ptr<const std::atomic<bool>> stop) {
  constexpr int steps_between_looks = 1'000;  // Of SQLite's virtual machine: well below 1 ms.
  stop_ = std::move(stop);
  const auto is_stopped = [](void* flag) {
    return static_cast<const std::atomic<bool>*>(flag)->load() ? 1 : 0;
  };
  sqlite3_progress_handler(handle_.get(), steps_between_looks, is_stopped,
                           const_cast<std::atomic<bool>*>(stop_.get()));
}

std::int64_t Connection::query_integer(const char* sql) {
  Statement statement{*this, sql};
  if (!statement.step()) return 0;
  const auto value = statement.integer(0);
  statement.finish();
  return value;
}

std::string Connection::query_text(const char* sql) {
  Statement statement{*this, sql};
  if (!statement.step()) return "";
  std::string value{statement.text(0)};
  statement.finish();
  return value;
}

void Connection::fail(std::string_view doing) const {
  const int code = sqlite3_extended_errcode(handle_.get());
  throw SqliteFailure(std::string{doing} + ": " +
                      describe_error(code, sqlite3_errmsg(handle_.get())) + " (" +
                      std::to_string(code) + ")");
}

Statement::Statement(Connection& connection, const std::string& sql) : connection_(&connection) {
  sqlite3_stmt* handle = nullptr;
  const int code =
      sqlite3_prepare_v3(connection.handle(), sql.c_str(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &handle, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) connection.fail(sql);
}

Statement& Statement::bind(int at, std::int64_t value) {
  check(sqlite3_bind_int64(handle_.get(), at, value));
  return *this;
}

Statement& Statement::bind(int at, std::string_view text) {
  // A null pointer would bind NULL.
  const char* data = text.data() == nullptr ? "" : text.data();
  check(sqlite3_bind_text64(handle_.get(), at, data, text.size(), SQLITE_STATIC, SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind_copy(int at, std::string_view text) {
  const char* data = text.data() == nullptr ? "" : text.data();
  check(sqlite3_bind_text64(handle_.get(), at, data, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind_null(int at) {
  check(sqlite3_bind_null(handle_.get(), at));
  return *this;
}

Statement& Statement::bind_real(int at, double value) {
  check(sqlite3_bind_double(handle_.get(), at, value));
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  std::string failed = sqlite3_sql(handle_.get());
  failed += ": ";
  failed += describe_error(code, sqlite3_errmsg(connection_->handle()));
  reset();
  throw SqliteFailure(failed);
}

void Statement::run() {
  step();
  reset();
}

void Statement::finish() {
  while (step()) {
  }
}

// The result code is ignored: it repeats the error of the last step, which has been reported.
void Statement::reset() {
  sqlite3_reset(handle_.get());
}

std::string_view Statement::text(int column) const {
  const auto* data = sqlite3_column_text(handle_.get(), column);
  if (data == nullptr) return {};
  return {reinterpret_cast<const char*>(data),
          static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column))};
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) connection_->fail(sqlite3_sql(handle_.get()));
}

}  // namespace celld::store
