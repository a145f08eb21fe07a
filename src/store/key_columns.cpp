#include "src/store/key_columns.hpp"

namespace celld::store {

std::string join_names(const KeyColumns& columns, std::size_t first, std::size_t end,
                       const char* between) {
  std::string text;
  for (auto column = first; column < end; ++column) {
    if (column != first) text += between;
    text += columns.names[column];
  }
  return text;
}

std::string parameters(std::size_t first, std::size_t count) {
  std::string text;
  for (std::size_t at = first; at < first + count; ++at) {
    text += (at != first ? ", ?" : "?") + std::to_string(at);
  }
  return text;
}

std::string equal(const KeyColumns& columns, std::size_t count, std::size_t first) {
  std::string text;
  for (std::size_t column = 0; column < count; ++column) {
    if (column != 0) text += " AND ";
    text += columns.names[column];
    text += " = ?" + std::to_string(first + column);
  }
  return text;
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

}  // namespace celld::store
