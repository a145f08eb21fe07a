// Server-Sent Events, as the HTML standard takes them apart.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace celld::cli {

struct Event {
  std::string id;    ///< Of the latest event that had one.
  std::string name;  ///< "message" when the event had none.
  std::string data;
};

/// Returns false: enough was read.
using OnEvent = std::function<bool(const Event& event)>;

class EventStreamParser {
 public:
  explicit EventStreamParser(std::size_t event_bytes_max = 64 << 20)
      : event_bytes_max_(event_bytes_max) {}

  /// Takes the next bytes, in pieces of any size. False when `on_event` has enough. Throws a
  /// Failure when an event is longer than the limit.
  bool feed(std::string_view bytes, const OnEvent& on_event);

  /// Where to go on after the connection is lost: an id may come without an event. Empty: none yet.
  const std::string& last_id() const { return last_id_; }

 private:
  bool take_line(std::string_view line, const OnEvent& on_event);

  const std::size_t event_bytes_max_;
  std::string line_;  ///< As far as it has come.
  bool after_return_ = false;
  Event event_;
  bool has_data_ = false;
  std::string last_id_;
};

}  // namespace celld::cli
