// Tables with aligned columns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace celld::cli {

/// The meaning of a table cell's colour. Without colours, only the text is shown.
enum class Tone { plain, good, bad, busy, waiting, faint };

/// `text` between the escape sequences of its tone.
std::string toned(std::string_view text, Tone tone);

struct TableCell {
  std::string text;  ///< May be untrusted: the table cleans it.
  Tone tone = Tone::plain;
};

struct Column {
  std::string title;
  bool right = false;    ///< Aligned to the right, for numbers.
  bool shrinks = false;  ///< May be cut to fit the table to the terminal.
};

struct TableLook {
  std::size_t width = 0;  ///< Columns of the terminal; 0: unlimited.
  bool colour = false;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// `row` has one table cell per column.
  void add(std::vector<TableCell> row);
  bool empty() const { return rows_.empty(); }

  /// The titles and the rows, one line each, with two blanks between columns. When the table is too
  /// wide, the widest column that may shrink shrinks first; lines that are still too long are cut.
  std::string text(const TableLook& look) const;

 private:
  std::vector<std::size_t> widths(const TableLook& look) const;
  std::string line(const std::vector<TableCell>& row, const std::vector<std::size_t>& widths,
                   const TableLook& look) const;

  std::vector<Column> columns_;
  std::vector<std::vector<TableCell>> rows_;
};

/// One line per name and value; omits empty values. A name has fewer than twelve characters.
std::string list_text(const std::vector<std::pair<std::string, TableCell>>& lines,
                      const TableLook& look);

}  // namespace celld::cli
