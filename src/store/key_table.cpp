#include "src/store/key_table.hpp"

namespace celld::store {
namespace {

std::string scan_sql(const std::string& table, const KeyColumns& columns) {
  const std::string next = columns.names[columns.prefix];
  auto parameter = [at = columns.prefix]() mutable { return "?" + std::to_string(++at); };
  std::string sql =
      "SELECT " + join_names(columns, 0, columns.width) + " FROM " + table + " WHERE ";
  if (columns.prefix != 0) sql += equal(columns, columns.prefix) + " AND ";
  sql += next + " >= " + parameter();
  sql += " AND " + next + " < " + parameter();
  return sql + " ORDER BY " + join_names(columns, 0, columns.width);
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

KeyTable::Scan::Scan(KeyTable& table, const IndexKey& from, std::int64_t end) : table_(table) {
  if (!table.may_have_keys_) return;
  const auto fixed = table.columns_.prefix + 1;
  bind_key(table.scan_, 1, from, fixed);
  table.scan_.bind(static_cast<int>(fixed) + 1, end);
  advance();
}

KeyTable::Scan::~Scan() {
  if (table_.may_have_keys_) table_.scan_.reset();
}

void KeyTable::Scan::advance() {
  has_key_ = table_.scan_.step();
  if (has_key_) key_ = read_key(table_.scan_, table_.columns_.width);
}

}  // namespace celld::store
