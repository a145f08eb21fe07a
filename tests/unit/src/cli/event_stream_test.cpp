#include "src/cli/event_stream.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "src/cli/failure.hpp"
#include "tests/unit/catch.hpp"

using namespace celld::cli;

namespace {

std::vector<std::string> events_of(std::string_view stream, std::size_t piece) {
  EventStreamParser parser;
  std::vector<std::string> events;
  for (std::size_t at = 0; at < stream.size(); at += piece)
    parser.feed(stream.substr(at, piece), [&](const Event& event) {
      events.push_back(event.id + "|" + event.name + "|" + event.data);
      return true;
    });
  return events;
}

}  // namespace

TEST_CASE("events do not depend on how the stream is split") {
  const std::string stream =
      ":\n\nid: 1\nevent: job.state\ndata: {\"a\":1}\n\n"
      ": heartbeat\n\n"
      "id:2\r\ndata:x\r\ndata: y\r\n\r\n"
      "data: z\r\rfield: unknown\nevent: no data\n\ndata\n\nid: 3\ndata: unfinished\n";
  const std::vector<std::string> expected = {"1|job.state|{\"a\":1}", "2|message|x\ny",
                                             "2|message|z", "2|message|"};
  for (std::size_t piece = 1; piece <= stream.size(); ++piece)
    CHECK(events_of(stream, piece) == expected);
}

TEST_CASE("an id takes effect when its block is complete, with or without data") {
  EventStreamParser parser;
  const auto feed = [&](std::string_view text) {
    parser.feed(text, [](const Event&) { return true; });
    return parser.last_id();
  };
  CHECK(feed(":\n\nid: 1\n").empty());
  CHECK(feed("\n") == "1");
  CHECK(feed("id: 2\ndata: x\n") == "1");
  CHECK(feed("\n:\n\n") == "2");
}

TEST_CASE("an id with a NUL is ignored, as the standard demands") {
  const std::string_view stream("id: 1\nid: 2\0\ndata: x\n\n", 22);
  CHECK(events_of(stream, stream.size()) == std::vector<std::string>{"1|message|x"});
}

TEST_CASE("the parser stops when the callback returns false") {
  EventStreamParser parser;
  int events = 0;
  CHECK(!parser.feed("data: 1\n\ndata: 2\n\n", [&](const Event&) { return ++events < 1; }));
  CHECK(events == 1);
}

TEST_CASE("an endless event does not exhaust memory") {
  for (const std::string endless : {"x", "data: x\n"}) {
    INFO(endless);
    EventStreamParser parser(100);
    const auto feed = [&] { parser.feed(endless, [](const Event&) { return true; }); };
    CHECK_THROWS_AS(
        [&] {
          for (int i = 0; i < 200; ++i) feed();
        }(),
        Failure);
  }
}
