#include "src/cli/table.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "src/cli/text.hpp"

namespace celld::cli {
namespace {

constexpr std::size_t gap = 2;
constexpr std::size_t shrunk_width_min = 6;

std::string_view escape_of(Tone tone) {
  switch (tone) {
    case Tone::good:
      return "\x1b[32m";
    case Tone::bad:
      return "\x1b[31m";
    case Tone::busy:
      return "\x1b[36m";
    case Tone::waiting:
      return "\x1b[33m";
    case Tone::faint:
      return "\x1b[2m";
    case Tone::plain:
      break;
  }
  return "";
}

}  // namespace

std::string toned(std::string_view text, Tone tone) {
  const std::string_view escape = escape_of(tone);
  if (escape.empty() || text.empty()) return std::string(text);
  return std::string(escape) + std::string(text) + "\x1b[0m";
}

void Table::add(std::vector<TableCell> row) {
  row.resize(columns_.size());
  for (TableCell& cell : row) cell.text = cleaned(cell.text);
  rows_.push_back(std::move(row));
}

std::string Table::text(const TableLook& look) const {
  const auto wide = widths(look);
  std::vector<TableCell> titles;
  titles.reserve(columns_.size());
  for (const Column& column : columns_) titles.push_back({column.title, Tone::faint});
  std::string out = line(titles, wide, look);
  for (const auto& row : rows_) out += line(row, wide, look);
  return out;
}

std::vector<std::size_t> Table::widths(const TableLook& look) const {
  std::vector<std::size_t> wide;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = width_of(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, width_of(row[i].text));
    wide.push_back(width);
  }
  if (look.width == 0) return wide;
  const auto total = [&] {
    return std::accumulate(wide.begin(), wide.end(), gap * (columns_.size() - 1));
  };
  for (std::size_t sum = total(); sum > look.width; --sum) {
    std::size_t* widest = nullptr;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].shrinks && (widest == nullptr || wide[i] > *widest)) widest = &wide[i];
    }
    if (widest == nullptr || *widest <= shrunk_width_min) break;
    --*widest;
  }
  return wide;
}

std::string Table::line(const std::vector<TableCell>& row, const std::vector<std::size_t>& widths,
                        const TableLook& look) const {
  std::string out;
  std::size_t used = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::size_t start = i == 0 ? 0 : gap;
    const std::size_t left =
        look.width == 0 ? widths[i] : look.width - std::min(look.width, used + start);
    if (left == 0) break;
    const std::string text = fitted(row[i].text, std::min(widths[i], left));
    const std::size_t blanks =
        std::min(widths[i], left) - std::min(width_of(text), std::min(widths[i], left));
    out.append(start, ' ');
    if (columns_[i].right) out.append(blanks, ' ');
    out += look.colour ? toned(text, row[i].tone) : text;
    if (!columns_[i].right && i + 1 < row.size()) out.append(blanks, ' ');
    used += start + std::min(widths[i], left);
  }
  while (out.ends_with(' ')) out.pop_back();
  return out + '\n';
}

std::string list_text(const std::vector<std::pair<std::string, TableCell>>& lines,
                      const TableLook& look) {
  constexpr std::size_t name_width = 12;
  std::string text;
  for (const auto& [name, value] : lines) {
    std::string shown = cleaned(value.text);
    if (shown.empty()) continue;
    if (look.width > name_width) shown = fitted(shown, look.width - name_width);
    text += name + std::string(name_width - name.size(), ' ');
    text += (look.colour ? toned(shown, value.tone) : shown) + '\n';
  }
  return text;
}

}  // namespace celld::cli
