// When a batch that comes too fast for a rate quota submits its lines again, and which.
#include "src/http/api/batch_pacer.hpp"

#include <vector>

#include "tests/unit/catch.hpp"

using namespace celld::api;
using cells::BatchGate;
using cells::Refusal;
using std::chrono::milliseconds;

namespace {

constexpr BatchPacer::Time start{std::chrono::hours{1}};

Refusal too_fast(milliseconds retry_after) {
  Refusal refusal;
  refusal.kind = Refusal::Kind::queue_rate;
  refusal.retry_after = retry_after;
  return refusal;
}

DelayedLine line(std::uint64_t number) {
  auto job = std::make_shared<cells::JobRequest>();
  job->spec.entity.id = std::to_string(number);
  return {number, std::move(job), nullptr};
}

void submit(BatchPacer& pacer, int lines) {
  for (int i = 0; i < lines; ++i) pacer.submitted();
}

/// A pacer whose lines from `first` to `last` have been returned at `start`, the first of them for
/// `retry_after`, the others because of it.
BatchPacer pacer_with(std::uint64_t first, std::uint64_t last, BatchGate& gate,
                      milliseconds retry_after = milliseconds{100}) {
  BatchPacer pacer;
  gate.pause();
  submit(pacer, static_cast<int>(last - first + 1));
  pacer.delay(line(first), too_fast(retry_after), start);
  for (auto number = first + 1; number <= last; ++number) pacer.delay(line(number), {}, start);
  return pacer;
}

/// Submits as many lines as may be now.
std::vector<std::uint64_t> submit_delayed(BatchPacer& pacer) {
  std::vector<std::uint64_t> numbers;
  while (const auto next = pacer.take_next()) {
    pacer.submitted();
    CHECK(next->job->spec.entity.id == std::to_string(next->number));
    numbers.push_back(next->number);
  }
  return numbers;
}

using Numbers = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("a batch that was never too fast has nothing to resume") {
  BatchPacer pacer;
  BatchGate gate;
  submit(pacer, 2);
  pacer.answered(false);
  CHECK_FALSE(pacer.is_delaying());
  CHECK_FALSE(pacer.resume(gate, start));
  CHECK_FALSE(pacer.take_next());
  CHECK_FALSE(pacer.resumes_at());
  CHECK_FALSE(pacer.last_refusal());
  CHECK(pacer.take_all().empty());
}

TEST_CASE("delayed lines keep the order of the batch, whatever the order of their answers") {
  BatchPacer pacer;
  BatchGate gate;
  submit(pacer, 5);
  for (const std::uint64_t number : {3, 0, 4, 1, 2}) pacer.delay(line(number), {}, start);
  CHECK(pacer.is_delaying());
  Numbers order;
  while (pacer.resume(gate, start)) {
    const auto some = submit_delayed(pacer);
    REQUIRE(!some.empty());
    order.insert(order.end(), some.begin(), some.end());
    for (std::size_t i = 0; i < some.size(); ++i) pacer.answered(false);
  }
  CHECK(order == Numbers{0, 1, 2, 3, 4});
  CHECK_FALSE(pacer.is_delaying());
}

TEST_CASE("a paused batch goes on once the quota has room, and not earlier") {
  BatchGate gate;
  auto pacer = pacer_with(0, 1, gate);
  REQUIRE(pacer.resumes_at());
  CHECK(*pacer.resumes_at() == start + milliseconds{100});
  CHECK_FALSE(pacer.resume(gate, start + milliseconds{99}));
  CHECK(gate.is_paused());
  CHECK(pacer.resume(gate, start + milliseconds{100}));
  CHECK_FALSE(gate.is_paused());
}

TEST_CASE("a paused batch goes on only after all its lines in flight have come back") {
  BatchPacer pacer;
  BatchGate gate;
  gate.pause();
  submit(pacer, 3);
  pacer.delay(line(0), too_fast(milliseconds{100}), start);
  const auto later = start + milliseconds{1000};
  CHECK_FALSE(pacer.resumes_at());
  CHECK_FALSE(pacer.resume(gate, later));
  pacer.delay(line(1), {}, start);
  CHECK_FALSE(pacer.resumes_at());
  CHECK_FALSE(pacer.resume(gate, later));
  CHECK(gate.is_paused());
  pacer.answered(false);
  CHECK(pacer.resumes_at());
  CHECK(pacer.resume(gate, later));
}

TEST_CASE("lines that are returned because of another do not change when the batch goes on") {
  BatchGate gate;
  auto pacer = pacer_with(0, 0, gate);
  submit(pacer, 1);
  pacer.delay(line(1), {}, start + milliseconds{50});
  CHECK(pacer.resumes_at() == start + milliseconds{100});
  REQUIRE(pacer.last_refusal());
  CHECK(pacer.last_refusal()->retry_after == milliseconds{100});
  submit(pacer, 1);
  pacer.delay(line(2), too_fast(milliseconds{70}), start + milliseconds{60});
  CHECK(pacer.resumes_at() == start + milliseconds{130});
  CHECK(pacer.last_refusal()->retry_after == milliseconds{70});
}

TEST_CASE("a batch is tried again after two seconds at the latest") {
  BatchGate gate;
  CHECK(pacer_with(0, 0, gate, milliseconds{1999}).resumes_at() == start + milliseconds{1999});
  auto pacer = pacer_with(0, 0, gate, std::chrono::hours{1});
  CHECK(pacer.resumes_at() == start + milliseconds{2000});
  // The client receives the refusal of the quota.
  CHECK(pacer.last_refusal()->retry_after == std::chrono::hours{1});
}

TEST_CASE("one line is tried alone, and each that is not refused doubles those in flight") {
  BatchGate gate;
  auto pacer = pacer_with(0, 299, gate);
  REQUIRE(pacer.resume(gate, start + milliseconds{100}));
  CHECK(submit_delayed(pacer) == Numbers{0});
  CHECK(submit_delayed(pacer).empty());
  pacer.answered(false);
  CHECK(submit_delayed(pacer) == Numbers{1, 2});
  pacer.answered(false);
  CHECK(submit_delayed(pacer) == Numbers{3, 4, 5});
  pacer.answered(true);
  CHECK(submit_delayed(pacer) == Numbers{6});
  for (int i = 0; i < 4; ++i) pacer.answered(false);
  CHECK(submit_delayed(pacer).size() == 64);
  pacer.answered(false);
  CHECK(submit_delayed(pacer) == Numbers{71});
}

TEST_CASE("delayed lines go on behind those in flight while the gate is open") {
  BatchGate gate;
  auto pacer = pacer_with(0, 9, gate);
  REQUIRE(pacer.resume(gate, start + milliseconds{100}));
  submit_delayed(pacer);
  pacer.answered(false);
  CHECK(submit_delayed(pacer) == Numbers{1, 2});
  pacer.answered(false);
  CHECK(pacer.resume(gate, start + milliseconds{100}));
  CHECK(submit_delayed(pacer) == Numbers{3, 4, 5});
}

TEST_CASE("a line that comes too fast again goes first, and is tried alone") {
  BatchGate gate;
  auto pacer = pacer_with(0, 9, gate);
  REQUIRE(pacer.resume(gate, start + milliseconds{100}));
  submit_delayed(pacer);
  pacer.answered(false);
  REQUIRE(submit_delayed(pacer) == Numbers{1, 2});
  gate.pause();
  pacer.delay(line(1), too_fast(milliseconds{100}), start + milliseconds{200});
  CHECK_FALSE(pacer.resume(gate, start + milliseconds{300}));
  pacer.delay(line(2), {}, start + milliseconds{200});
  CHECK_FALSE(pacer.resume(gate, start + milliseconds{299}));
  REQUIRE(pacer.resume(gate, start + milliseconds{300}));
  CHECK(submit_delayed(pacer) == Numbers{1});
  pacer.answered(false);
  CHECK(submit_delayed(pacer) == Numbers{2, 3});
}

TEST_CASE("a line keeps why it is rejected if it is new") {
  BatchPacer pacer;
  BatchGate gate;
  submit(pacer, 1);
  auto delayed = line(7);
  const auto job = delayed.job;
  const auto refused = std::make_shared<const Problem>(not_found("No such service."));
  delayed.refused = refused;
  pacer.delay(delayed, {}, start);
  REQUIRE(pacer.resume(gate, start));
  const auto next = pacer.take_next();
  REQUIRE(next);
  CHECK(next->number == 7);
  CHECK(next->job == job);
  CHECK(next->refused == refused);
}

TEST_CASE("a batch that ends hands over each delayed line once, in order") {
  BatchGate gate;
  auto pacer = pacer_with(3, 6, gate);
  REQUIRE(pacer.resume(gate, start + milliseconds{100}));
  CHECK(submit_delayed(pacer) == Numbers{3});
  Numbers refused;
  for (const auto& each : pacer.take_all()) refused.push_back(each.number);
  CHECK(refused == Numbers{4, 5, 6});
  CHECK_FALSE(pacer.is_delaying());
  CHECK(pacer.take_all().empty());
  pacer.answered(true);
  CHECK_FALSE(pacer.take_next());
  CHECK_FALSE(pacer.resumes_at());
  CHECK_FALSE(pacer.resume(gate, start + milliseconds{1000}));
}
