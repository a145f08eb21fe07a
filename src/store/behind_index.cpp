#include "src/store/behind_index.hpp"

namespace celld::store {
namespace {

/// "`before`a`between`b`between`c`" of the first `count` columns.
std::string list(const BehindIndex::Table& table, std::size_t count, const char* between) {
  std::string text;
  for (std::size_t column = 0; column < count; ++column) {
    if (column != 0) text += between;
    text += table.columns[column];
  }
  return text;
}

/// "a = ?1 AND b = ?2" for the first `count` columns.
std::string equal(const BehindIndex::Table& table, std::size_t count) {
  std::string text;
  for (std::size_t column = 0; column < count; ++column) {
    if (column != 0) text += " AND ";
    text += table.columns[column];
    text += " = ?" + std::to_string(column + 1);
  }
  return text;
}

std::string insert_sql(const BehindIndex::Table& table) {
  std::string sql = std::string{"INSERT OR IGNORE INTO "} + table.name + " VALUES (";
  for (std::size_t column = 0; column < table.width; ++column) {
    sql += (column != 0 ? ", ?" : "?") + std::to_string(column + 1);
  }
  return sql + ")";
}

std::string delete_sql(const BehindIndex::Table& table) {
  return std::string{"DELETE FROM "} + table.name + " WHERE " + equal(table, table.width);
}

std::string scan_sql(const BehindIndex::Table& table) {
  const std::string next = table.columns[table.prefix];
  auto parameter = [at = table.prefix]() mutable { return "?" + std::to_string(++at); };
  std::string sql = "SELECT " + list(table, table.width, ", ") + " FROM " + table.name + " WHERE ";
  if (table.prefix != 0) sql += equal(table, table.prefix) + " AND ";
  sql += next + " >= " + parameter();
  sql += " AND " + next + " < " + parameter();
  sql += std::string{" AND "} + table.columns[table.width - 1] + " <= " + parameter();
  return sql + " ORDER BY " + list(table, table.width, ", ");
}

}  // namespace

BehindIndex::BehindIndex(Connection& connection, const Table& table, const Generations& generations)
    : generations_(generations),
      width_(table.width),
      prefix_(table.prefix),
      insert_(connection, insert_sql(table)),
      delete_(connection, delete_sql(table)),
      scan_(connection, scan_sql(table)),
      exists_(connection, std::string{"SELECT EXISTS (SELECT 1 FROM "} + table.name + ")"),
      table_has_rows_(true) {}

void BehindIndex::add(const IndexKey& key) {
  const auto id = id_of(key);
  if (id > generations_.written) memory_of(id).insert(key);
  if (id <= generations_.moving) run(insert_, key);
}

void BehindIndex::remove(const IndexKey& key) {
  const auto id = id_of(key);
  if (id > generations_.written) memory_of(id).erase(key);
  if (id <= generations_.moving) run(delete_, key);
}

void BehindIndex::start_move() {
  moving_.swap(recent_);
  has_moved_ = false;
}

std::size_t BehindIndex::move(std::size_t limit) {
  auto next = has_moved_ ? moving_.upper_bound(reached_) : moving_.begin();
  std::size_t moved = 0;
  for (; moved < limit && next != moving_.end(); ++next, ++moved) {
    run(insert_, *next);
    reached_ = *next;
    has_moved_ = true;
  }
  return moved;
}

void BehindIndex::end_move() {
  moving_.clear();
  const ResetAtEnd reset{exists_};
  table_has_rows_ = exists_.step() && exists_.integer(0) != 0;
}

bool BehindIndex::in_scan(const IndexKey& key, const IndexKey& from, std::int64_t end) const {
  for (std::size_t column = 0; column < prefix_; ++column) {
    if (key[column] != from[column]) return false;
  }
  return key[prefix_] < end;
}

void BehindIndex::run(Statement& statement, const IndexKey& key) {
  for (std::size_t column = 0; column < width_; ++column) {
    statement.bind(static_cast<int>(column) + 1, key[column]);
  }
  statement.run();
  table_has_rows_ = true;
}

IndexKey BehindIndex::read_key() const {
  IndexKey key{};
  for (std::size_t column = 0; column < width_; ++column) {
    key[column] = scan_.integer(static_cast<int>(column));
  }
  return key;
}

}  // namespace celld::store
