// Parses Server-Sent Events as the HTML standard specifies.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace celld::cli {

struct Event {
  std::string id;    ///< The most recent id of the stream.
  std::string name;  ///< "message" when the event has no name.
  std::string data;
};

/// Returns false to stop.
using OnEvent = std::function<bool(const Event& event)>;

class EventStreamParser {
 public:
  explicit EventStreamParser(std::size_t event_bytes_max = 64 << 20)
      : event_bytes_max_(event_bytes_max) {}

  /// Parses the next bytes, which may be split anywhere. Returns false when `on_event` does. Throws
  /// a Failure when an event is longer than the limit.
  bool feed(std::string_view bytes, const OnEvent& on_event);

  /// The value for `Last-Event-ID` on a reconnect. An id may come without data. Empty: none yet.
  const std::string& last_id() const { return last_id_; }

 private:
  bool take_line(std::string_view line, const OnEvent& on_event);

  const std::size_t event_bytes_max_;
  std::string line_;  ///< The incomplete last line.
  bool after_return_ = false;
  Event event_;
  bool has_data_ = false;
  std::string last_id_;
};

}  // namespace celld::cli
