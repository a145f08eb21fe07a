#include "src/store/key_table.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace celld::store {
namespace {

/// The cursor passes this many keys for each new one. A round begins with about `round_keys` keys
/// in the buffer, and must end before as many new ones have come.
constexpr std::size_t passed_per_key = 3;
/// The keys that the cursor still has to pass are spread over commits: each commit passes one in
/// this many of them, but at least `passed_min`, so that they are worth the pages that they touch.
constexpr std::size_t commits_per_batch = 4;
constexpr std::size_t passed_min = 256;

IndexKey all(std::int64_t value) {
  return {value, value, value, value, value};
}

/// "`a`between`b`between`c`" of the first `count` columns.
std::string list(const KeyColumns& columns, std::size_t count, const char* between) {
  std::string text;
  for (std::size_t column = 0; column < count; ++column) {
    if (column != 0) text += between;
    text += columns.names[column];
  }
  return text;
}

/// "?`first`, ?`first + 1`", `count` of them.
std::string parameters(std::size_t first, std::size_t count) {
  std::string text;
  for (std::size_t at = first; at < first + count; ++at) {
    text += (at != first ? ", ?" : "?") + std::to_string(at);
  }
  return text;
}

/// "a = ?1 AND b = ?2" for the first `count` columns.
std::string equal(const KeyColumns& columns, std::size_t count) {
  std::string text;
  for (std::size_t column = 0; column < count; ++column) {
    if (column != 0) text += " AND ";
    text += columns.names[column];
    text += " = ?" + std::to_string(column + 1);
  }
  return text;
}

std::string scan_sql(const std::string& table, const KeyColumns& columns) {
  const std::string next = columns.names[columns.prefix];
  auto parameter = [at = columns.prefix]() mutable { return "?" + std::to_string(++at); };
  std::string sql = "SELECT " + list(columns, columns.width, ", ") + " FROM " + table + " WHERE ";
  if (columns.prefix != 0) sql += equal(columns, columns.prefix) + " AND ";
  sql += next + " >= " + parameter();
  sql += " AND " + next + " < " + parameter();
  sql += std::string{" AND "} + columns.names[columns.width - 1] + " <= " + parameter();
  return sql + " ORDER BY " + list(columns, columns.width, ", ");
}

/// "(a, b) > (?1, ?2)"
std::string after(const KeyColumns& columns) {
  return "(" + list(columns, columns.width, ", ") + ") > (" + parameters(1, columns.width) + ")";
}

/// " FROM t WHERE (a, b) > (?1, ?2) AND (a, b) <= (?3, ?4) AND b <= ?5"
std::string range(const std::string& table, const KeyColumns& columns) {
  return " FROM " + table + " WHERE " + after(columns) + " AND (" +
         list(columns, columns.width, ", ") + ") <= (" +
         parameters(columns.width + 1, columns.width) + ") AND " +
         columns.names[columns.width - 1] + " <= ?" + std::to_string(2 * columns.width + 1);
}

void bind_key(Statement& statement, std::size_t first, const IndexKey& key, std::size_t width) {
  for (std::size_t column = 0; column < width; ++column) {
    statement.bind(static_cast<int>(first + column), key[column]);
  }
}

IndexKey read_key(const Statement& row, std::size_t width) {
  IndexKey key{};
  for (std::size_t column = 0; column < width; ++column) {
    key[column] = row.integer(static_cast<int>(column));
  }
  return key;
}

}  // namespace

KeyTable::KeyTable(Connection& connection, const std::string& name, const KeyColumns& columns)
    : connection_(connection),
      columns_(columns),
      insert_(connection,
              "INSERT OR IGNORE INTO " + name + " VALUES (" + parameters(1, columns.width) + ")"),
      remove_(connection, "DELETE FROM " + name + " WHERE " + equal(columns, columns.width)),
      scan_(connection, scan_sql(name, columns)),
      exists_(connection, "SELECT EXISTS (SELECT 1 FROM " + name + ")") {
  note_emptiness();
}

void KeyTable::insert(const IndexKey& key) {
  bind_key(insert_, 1, key, columns_.width);
  insert_.run();
  may_have_keys_ = true;
}

bool KeyTable::remove(const IndexKey& key) {
  if (!may_have_keys_) return false;
  bind_key(remove_, 1, key, columns_.width);
  remove_.run();
  return connection_.changes() != 0;
}

void KeyTable::note_emptiness() {
  const ResetAtEnd reset{exists_};
  may_have_keys_ = exists_.step() && exists_.integer(0) != 0;
}

KeyTable::Scan::Scan(KeyTable* table, const IndexKey& from, std::int64_t end, std::int64_t last_id)
    : table_(table) {
  if (table == nullptr || !table->may_have_keys_) return;
  const auto fixed = table->columns_.prefix + 1;
  bind_key(table->scan_, 1, from, fixed);
  const auto next = static_cast<int>(fixed) + 1;
  table->scan_.bind(next, end).bind(next + 1, last_id);
  advance();
}

KeyTable::Scan::~Scan() {
  if (table_ != nullptr) table_->scan_.reset();
}

void KeyTable::Scan::advance() {
  has_key_ = table_->scan_.step();
  if (has_key_) key_ = read_key(table_->scan_, table_->columns_.width);
}

// --- The merge -------------------------------------------------------------------------------

// The first round begins at once, because the number of keys in the buffer is unknown.
RollingMerge::RollingMerge(Connection& connection, const std::string& table,
                           const std::string& buffer, const KeyColumns& columns,
                           std::size_t round_keys)
    : width_(columns.width),
      round_keys_(round_keys),
      select_key_(connection, "SELECT " + list(columns, columns.width, ", ") + " FROM " + buffer +
                                  " WHERE " + after(columns) + " ORDER BY " +
                                  list(columns, columns.width, ", ") + " LIMIT 1 OFFSET ?" +
                                  std::to_string(columns.width + 1)),
      copy_(connection, "INSERT OR IGNORE INTO " + table + " SELECT " +
                            list(columns, columns.width, ", ") + range(buffer, columns) +
                            " ORDER BY " + list(columns, columns.width, ", ")),
      remove_(connection, "DELETE" + range(buffer, columns)),
      keys_(round_keys) {}

bool RollingMerge::advance(std::size_t keys, std::int64_t last_id) {
  keys_ += keys;
  if (!last_id_) {
    if (keys_ < round_keys_) return false;
    keys_ = 0;
    owed_ = 0;
    last_id_ = last_id;
    passed_ = all(std::numeric_limits<std::int64_t>::min());
  }
  owed_ += keys * passed_per_key;
  const auto least = std::min(passed_min, round_keys_);
  if (owed_ < least) return false;
  const auto now = std::max(owed_ / commits_per_batch, least);
  owed_ -= now;
  pass(now);
  return true;
}

void RollingMerge::pass(std::size_t keys) {
  const auto key = key_after(keys);
  const auto end = key.value_or(all(std::numeric_limits<std::int64_t>::max()));
  bind_range(copy_, end).run();
  bind_range(remove_, end).run();
  passed_ = end;
  if (!key) last_id_.reset();
}

/// The last of the next `keys` keys of the buffer; none if there are fewer.
std::optional<IndexKey> RollingMerge::key_after(std::size_t keys) {
  const ResetAtEnd reset{select_key_};
  bind_key(select_key_, 1, passed_, width_);
  select_key_.bind(static_cast<int>(width_) + 1, static_cast<std::int64_t>(keys) - 1);
  if (!select_key_.step()) return std::nullopt;
  return read_key(select_key_, width_);
}

Statement& RollingMerge::bind_range(Statement& statement, const IndexKey& end) {
  bind_key(statement, 1, passed_, width_);
  bind_key(statement, 1 + width_, end, width_);
  return statement.bind(static_cast<int>(2 * width_) + 1, *last_id_);
}

// --- Both tables -----------------------------------------------------------------------------

IndexTables::IndexTables(Connection& connection, const Form& form, std::size_t round_keys)
    : table_(connection, form.table, form.columns) {
  if (form.buffer == nullptr) return;
  buffer_.emplace(connection, form.buffer, form.columns);
  merge_.emplace(connection, form.table, form.buffer, form.columns, round_keys);
}

void IndexTables::note_emptiness() {
  table_.note_emptiness();
  if (buffer_) buffer_->note_emptiness();
}

void IndexTables::merge(std::int64_t last_id) {
  if (!merge_) return;
  if (merge_->advance(std::exchange(inserted_, 0), last_id)) note_emptiness();
}

}  // namespace celld::store
