// Event-stream resumption. The first line of an input is a Last-Event-ID; each byte after it
// changes a job, or makes the log forget its events. A client whose connection breaks anywhere must
// be able to go on without a gap, or learn that it has missed something.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "src/cli/event_stream.hpp"
#include "src/http/api/event_log.hpp"
#include "tests/torture/fuzz/fuzzing.hpp"

using namespace celld;
using api::EventLog;
using fuzz::must;

namespace {

constexpr std::size_t changes_max = 50;
constexpr EventLog::Limits limits{.events_max = 5, .bytes_max = 4000};

cells::JobPtr job_of(std::size_t bytes) {
  auto spec = std::make_shared<cells::JobSpec>();
  spec->parameters.assign(bytes, ' ');
  auto job = std::make_shared<cells::Job>();
  job->spec = std::move(spec);
  return job;
}

/// A log, and the whole stream that it has sent to a client from the beginning.
struct Run {
  EventLog log{"run", limits};
  std::vector<std::uint64_t> numbers{};
  std::string stream{};

  void change(char how) {
    if (how == '!') return log.forget();
    const auto number = log.add(job_of(static_cast<unsigned char>(how))).number;
    numbers.push_back(number);
    stream += "id: " + log.id_of(number) + "\ndata: " + std::to_string(number) + "\n\n";
  }
};

void check_log(const Run& run) {
  const auto& events = run.log.events();
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    must(events[i].number == events.front().number + i, "events have consecutive numbers");
    bytes += approximate_bytes(*events[i].job);
  }
  must(events.size() <= limits.events_max, "a log keeps at most its limit of events");
  must(bytes <= limits.bytes_max || events.size() == 1, "a log keeps at most its limit of bytes");
  must(events.empty() || events.back().number == run.log.last(), "a log keeps the latest event");
}

/// Whether each number after this one, up to the last, is an event in the log.
bool has_all_after(const EventLog& log, std::uint64_t number) {
  const std::uint64_t missed = log.last() - number;
  const auto& events = log.events();
  return missed <= events.size() &&
         std::all_of(events.end() - static_cast<std::ptrdiff_t>(missed), events.end(),
                     [&](const auto& event) { return event.number > number; });
}

bool is_id_of(std::string_view id, const EventLog& log, std::uint64_t number) {
  if (id.ends_with('e')) id.remove_suffix(1);
  if (!id.starts_with("run-")) return false;
  id.remove_prefix(4);
  while (id.size() > 1 && id.starts_with('0')) id.remove_prefix(1);
  return id == std::to_string(number) && number <= log.last();
}

void check_id(const EventLog& log, std::string_view id) {
  const auto position = log.position(id);
  for (std::uint64_t number = 0; number <= log.last(); ++number) {
    const bool valid = is_id_of(id, log, number) && has_all_after(log, number);
    must(valid == (position == number), "an id is valid while all later events are in the log");
  }
  must(!position || *position <= log.last(), "an id is of the past");
}

/// Breaks a client's connection after `bytes` bytes. With the id that it then sends, it has seen
/// each event up to that position once, and will be sent the others.
void check_reconnect(const Run& run, std::size_t bytes) {
  cli::EventStreamParser parser;
  std::vector<std::uint64_t> seen;
  parser.feed(std::string_view(run.stream).substr(0, bytes), [&](const cli::Event& event) {
    seen.push_back(std::stoull(event.data));
    return true;
  });
  must(parser.last_id().empty() == seen.empty(), "a client that has seen an event has an id");
  const auto position = run.log.position(parser.last_id());
  if (!position) {
    must(seen.empty() || !has_all_after(run.log, seen.back()), "a client goes on where it can");
    return;
  }
  for (const auto& event : run.log.events())
    if (event.number > *position) seen.push_back(event.number);
  must(seen == run.numbers, "a client that reconnects sees each event once");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const std::string_view id = text.substr(0, text.find('\n'));
  const std::string_view changes =
      text.substr(std::min(id.size() + 1, text.size())).substr(0, changes_max);
  fuzz::Dice dice(text);
  Run run;
  for (const char how : changes) {
    run.change(how);
    check_log(run);
    check_id(run.log, id);
    check_reconnect(run, dice.roll(run.stream.size() + 1));
  }
  check_id(run.log, id);
  return 0;
}
