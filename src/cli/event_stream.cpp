#include "src/cli/event_stream.hpp"

#include <algorithm>

#include "src/cli/failure.hpp"

namespace celld::cli {

bool EventStreamParser::feed(std::string_view bytes, const OnEvent& on_event) {
  while (!bytes.empty()) {
    if (after_return_ && bytes.front() == '\n') bytes.remove_prefix(1);  // The LF of CR LF.
    after_return_ = false;
    const std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    if (line_.size() + event_.data.size() + end > event_bytes_max_)
      throw Failure(ExitCode::unavailable, "celld sent an event that is too long");
    line_ += bytes.substr(0, end);
    if (end == bytes.size()) return true;
    after_return_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    const bool wants_more = take_line(line_, on_event);
    line_.clear();
    if (!wants_more) return false;
  }
  return true;
}

bool EventStreamParser::take_line(std::string_view line, const OnEvent& on_event) {
  if (line.empty()) {
    const bool complete = has_data_;
    Event event{event_.id, event_.name.empty() ? "message" : event_.name, event_.data};
    event_.name.clear();
    event_.data.clear();
    has_data_ = false;
    last_id_ = event_.id;
    return !complete || on_event(event);
  }
  const std::size_t colon = std::min(line.find(':'), line.size());
  const std::string_view name = line.substr(0, colon);
  std::string_view value = line.substr(std::min(colon + 1, line.size()));
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "id") {
    if (value.find('\0') == std::string_view::npos) event_.id = value;
  } else if (name == "event") {
    event_.name = value;
  } else if (name == "data") {
    if (has_data_) event_.data += '\n';
    event_.data += value;
    has_data_ = true;
  }
  return true;
}

}  // namespace celld::cli
