#include "src/providers/command/errors.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace celld::providers {

void CommandErrors::add(std::string_view bytes) {
  for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    add_to_line(bytes.substr(0, end));
    end_line();
    bytes.remove_prefix(end + 1);
  }
  add_to_line(bytes);
}

std::vector<ErrorLine> CommandErrors::take() {
  end_line();
  return {std::move_iterator(lines_.begin()), std::move_iterator(lines_.end())};
}

void CommandErrors::add_to_line(std::string_view bytes) {
  const auto room = line_bytes_max_ - line_.text.size();
  line_.text += bytes.substr(0, room);
  line_.cut = line_.cut || bytes.size() > room;
}

void CommandErrors::end_line() {
  auto line = std::exchange(line_, {});
  if (line.text.find_first_not_of(" \t\r") == std::string::npos) return;
  if (take_line_ && take_line_(line.text)) return;
  lines_.push_back(std::move(line));
  if (lines_.size() > lines_max_) lines_.pop_front();
}

}  // namespace celld::providers
