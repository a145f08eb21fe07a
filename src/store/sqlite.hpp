// A thin, owning wrapper around SQLite's C interface.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <sqlite3.h>

namespace celld::store {

/// SQLite reported an error, or the database has invalid content. The actors catch it around each
/// operation and answer with an error; the code in between must not catch it and continue.
class SqliteFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Describes an SQLite error in words, and says so if the file is damaged. `text` is SQLite's own
/// description.
std::string describe_error(int code, const std::string& text);

class Connection {
 public:
  enum class Access : std::uint8_t { read_write, read_only };
  /// Verifies the checksums of pages (page_checksums.hpp). Throws if the file cannot be opened.
  Connection(const std::string& path, Access access);

  /// Runs statements that return no rows.
  void execute(const char* sql);
  /// Returns the first column of the first row. Runs the statement to its end, because SQLite
  /// commits what the statement wrote only at the end.
  std::int64_t query_integer(const char* sql);
  std::string query_text(const char* sql);
  /// From when `stop` is true, statements that take long fail.
  void stop_when(std::shared_ptr<const std::atomic<bool>> stop);
  int changes() const { return sqlite3_changes(handle_.get()); }
  bool in_transaction() const { return sqlite3_get_autocommit(handle_.get()) == 0; }

  sqlite3* handle() const { return handle_.get(); }
  [[noreturn]] void fail(std::string_view doing) const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  std::shared_ptr<const std::atomic<bool>> stop_;
  std::unique_ptr<sqlite3, Close> handle_;
};

/// A prepared statement. Parameters count from 1, columns from 0. Bound text must live until the
/// statement is reset.
class Statement {
 public:
  Statement(Connection& connection, const std::string& sql);

  Statement& bind(int at, std::int64_t value);
  Statement& bind(int at, std::string_view text);
  Statement& bind_null(int at);
  Statement& bind_real(int at, double value);
  /// Binds a copy of the text.
  Statement& bind_copy(int at, std::string_view text);
  Statement& bind(int at, std::optional<std::int64_t> value) {
    return value ? bind(at, *value) : bind_null(at);
  }

  /// True: there is a row.
  bool step();
  /// Runs a statement that returns no rows, and resets it.
  void run();
  /// Steps past all remaining rows.
  void finish();
  void reset();

  bool is_null(int column) const { return type(column) == SQLITE_NULL; }
  std::int64_t integer(int column) const { return sqlite3_column_int64(handle_.get(), column); }
  double real(int column) const { return sqlite3_column_double(handle_.get(), column); }
  std::optional<std::int64_t> optional_integer(int column) const {
    return is_null(column) ? std::nullopt : std::optional{integer(column)};
  }
  /// Valid until the next step or reset; empty for NULL.
  std::string_view text(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const { sqlite3_finalize(handle); }
  };
  int type(int column) const { return sqlite3_column_type(handle_.get(), column); }
  void check(int code) const;

  Connection* connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
};

/// Resets a statement at the end of a scope, so that an early return cannot leave it open.
class ResetAtEnd {
 public:
  explicit ResetAtEnd(Statement& statement) : statement_(statement) {}
  ~ResetAtEnd() { statement_.reset(); }
  ResetAtEnd(const ResetAtEnd&) = delete;
  ResetAtEnd& operator=(const ResetAtEnd&) = delete;

 private:
  Statement& statement_;
};

}  // namespace celld::store
