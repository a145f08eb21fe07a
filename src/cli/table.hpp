// Aligned columns for people.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace celld::cli {

/// What a cell's colour tells; a table without colours shows only the text.
enum class Tone { plain, good, bad, busy, waiting, faint };

/// `text` with the escape sequences of its tone around it.
std::string toned(std::string_view text, Tone tone);

struct TableCell {
  std::string text;  ///< Anything: the table cleans it.
  Tone tone = Tone::plain;
};

struct Column {
  std::string title;
  bool right = false;    ///< Numbers.
  bool shrinks = false;  ///< Gives way when the line is too long for the terminal.
};

struct TableLook {
  std::size_t width = 0;  ///< Columns of the terminal; 0: nothing is cut.
  bool colour = false;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// One cell for each column.
  void add(std::vector<TableCell> row);
  bool empty() const { return rows_.empty(); }

  /// The titles and the rows, a line each. Columns keep apart by two blanks; the widest of those
  /// that may shrink gives way first; a line that is still too long is cut.
  std::string text(const TableLook& look) const;

 private:
  std::vector<std::size_t> widths(const TableLook& look) const;
  std::string line(const std::vector<TableCell>& row, const std::vector<std::size_t>& widths,
                   const TableLook& look) const;

  std::vector<Column> columns_;
  std::vector<std::vector<TableCell>> rows_;
};

}  // namespace celld::cli
