// An event stream as cellctl reads it, compared with a simple reading of the HTML standard: all at
// once, line by line.
#include <algorithm>
#include <string>
#include <vector>

#include "src/cli/event_stream.hpp"
#include "src/cli/failure.hpp"
#include "tests/torture/fuzz/fuzzing.hpp"

using namespace celld;
using cli::Event;
using fuzz::must;

namespace {

struct Reading {
  std::vector<Event> events{};
  std::string last_id{};
  bool too_long = false;
};

bool same(const Event& a, const Event& b) {
  return a.id == b.id && a.name == b.name && a.data == b.data;
}

bool begins_with(const Reading& whole, const Reading& part) {
  return part.events.size() <= whole.events.size() &&
         std::equal(part.events.begin(), part.events.end(), whole.events.begin(), same);
}

/// The complete lines, without their ends.
std::vector<std::string> lines_of(std::string_view bytes) {
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != '\r' && bytes[i] != '\n') {
      line += bytes[i];
      continue;
    }
    if (bytes[i] == '\r' && i + 1 < bytes.size() && bytes[i + 1] == '\n') ++i;
    lines.push_back(std::move(line));
    line.clear();
  }
  return lines;
}

/// Section 9.2.6 of the standard; celld sends no byte order mark and no `retry`.
Reading read_simply(std::string_view bytes) {
  Reading reading;
  std::string id;
  std::string name;
  std::string data;
  for (const std::string& line : lines_of(bytes)) {
    if (line.empty()) {
      reading.last_id = id;
      if (!data.empty()) {
        data.pop_back();
        reading.events.push_back({id, name.empty() ? "message" : name, data});
      }
      name.clear();
      data.clear();
      continue;
    }
    const std::size_t colon = line.find(':');
    const std::string field = line.substr(0, colon);
    std::string value = colon == std::string::npos ? "" : line.substr(colon + 1);
    if (value.starts_with(' ')) value.erase(0, 1);
    if (field == "event") name = value;
    if (field == "data") data += value + '\n';
    if (field == "id" && value.find('\0') == std::string::npos) id = value;
  }
  return reading;
}

Reading read(std::string_view bytes, std::size_t piece_max, std::size_t event_bytes_max = 1 << 20) {
  Reading reading;
  cli::EventStreamParser parser(event_bytes_max);
  fuzz::Dice dice(bytes);
  try {
    while (!bytes.empty()) {
      const std::size_t size = std::min(bytes.size(), 1 + dice.roll(piece_max));
      must(parser.feed(bytes.substr(0, size),
                       [&](const Event& event) {
                         reading.events.push_back(event);
                         return true;
                       }),
           "a parser reads on");
      bytes.remove_prefix(size);
    }
  } catch (const cli::Failure&) {
    reading.too_long = true;
  }
  reading.last_id = parser.last_id();
  return reading;
}

/// A reader that has had enough of the stream gets no other event.
void check_stop(std::string_view bytes, std::size_t events) {
  cli::EventStreamParser parser;
  std::size_t seen = 0;
  const bool more = parser.feed(bytes, [&](const Event&) { return ++seen < 2; });
  must(more == (events < 2) && seen == std::min<std::size_t>(events, 2),
       "a reader receives no event after it has stopped");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  const Reading expected = read_simply(bytes);
  for (const std::size_t piece_max : {1, 7, 1000}) {
    const Reading found = read(bytes, piece_max);
    must(!found.too_long, "a short event is not too long");
    must(begins_with(expected, found) && begins_with(found, expected),
         "the events are the same however the bytes are split");
    must(found.last_id == expected.last_id, "the last id is the same");
  }
  const Reading limited = read(bytes, 7, 30);
  must(begins_with(expected, limited) &&
           (limited.too_long || limited.events.size() == expected.events.size()),
       "a limit only ends the stream early");
  must(std::all_of(limited.events.begin(), limited.events.end(),
                   [](const Event& event) { return event.data.size() <= 30; }),
       "data is within its limit");
  check_stop(bytes, expected.events.size());
  return 0;
}
