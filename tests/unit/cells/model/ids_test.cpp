#include "cells/model/ids.hpp"

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include "tests/unit/catch.hpp"
#include "tests/unit/cells/model/builders.hpp"

using namespace model_test;

namespace {

constexpr JobId id_max = (JobId{1} << 63) - 1;
constexpr JobId ids_per_ms = JobId{1} << 20;

}  // namespace

TEST_CASE("a job id survives conversion to text and back") {
  for (const JobId id : {JobId{1}, JobId{31}, JobId{32}, first_job_id_at(noon), id_max}) {
    CAPTURE(id);
    const std::string text = format_job_id(id);
    CHECK(text.size() == 13);
    CHECK(parse_job_id(text) == id);
  }
  CHECK(format_job_id(1) == "0000000000001");
  CHECK(format_job_id(id_max) == "7zzzzzzzzzzzz");
}

TEST_CASE("job ids sort the same as text and as numbers") {
  std::vector<JobId> ids;
  for (JobId id = 1; id < id_max / 3; id = id * 3 + 1) {
    ids.push_back(id);
    ids.push_back(id + 1);
  }
  std::sort(ids.begin(), ids.end());
  for (std::size_t i = 1; i < ids.size(); ++i) {
    CAPTURE(ids[i]);
    CHECK((format_job_id(ids[i - 1]) < format_job_id(ids[i])) == (ids[i - 1] < ids[i]));
  }
}

TEST_CASE("a text that is not exactly a job id is rejected") {
  const std::string zero_inside = std::string(6, '0') + std::string(1, '\0') + "000001";
  for (const std::string& text :
       {std::string(), std::string("1"), std::string("000000000001"), std::string("00000000000001"),
        std::string("0000000000000"), std::string("8000000000000"), std::string("z000000000001"),
        std::string("000000000000A"), std::string("000000000000i"), std::string("000000000000l"),
        std::string("000000000000o"), std::string("000000000000u"), std::string(" 000000000001"),
        std::string("000000000001 "), std::string("00000000000-1"),
        std::string("00000000000\xc3\xa4"), zero_inside}) {
    CAPTURE(text);
    CHECK_FALSE(parse_job_id(text));
  }
}

TEST_CASE("ids of a later millisecond are greater than all those of an earlier one") {
  CHECK(first_job_id_at(noon + 1ms) == first_job_id_at(noon) + ids_per_ms);
  CHECK(first_job_id_at(WallTime{1ms}) == ids_per_ms);
}

TEST_CASE("an id contains the time at which it was handed out") {
  CHECK(time_of(first_job_id_at(noon)) == noon);
  CHECK(time_of(first_job_id_at(noon + 1ms) - 1) == noon);
}

TEST_CASE("a time outside the range of ids gives the nearest id") {
  CHECK(first_job_id_at(WallTime{-1ms}) == 0);
  CHECK(first_job_id_at(WallTime::min()) == 0);
  CHECK(first_job_id_at(WallTime::max()) == id_max - ids_per_ms + 1);
}

TEST_CASE("ids follow the wall clock") {
  JobIdSource source;
  CHECK(source.next(noon) == first_job_id_at(noon));
  CHECK(source.next(noon) == first_job_id_at(noon) + 1);
  CHECK(source.next(noon + 1s) == first_job_id_at(noon + 1s));
  CHECK(JobIdSource{7}.next(noon) == first_job_id_at(noon) + 7);
}

TEST_CASE("ids keep growing when the wall clock goes back") {
  JobIdSource source;
  const JobId before = source.next(noon);
  const JobId after = source.next(noon - 1h);
  CHECK(after == before + 1);
  CHECK(source.next(noon - 2h) == after + 1);
  CHECK(source.next(noon + 1ms) > after + 1);
}

TEST_CASE("an id is never 0") {
  JobIdSource source;
  CHECK(source.next(WallTime{0ms}) == 1);
  CHECK(JobIdSource{}.next(WallTime{-5ms}) == 1);
}

TEST_CASE("a block of ids is handed out only once") {
  JobIdSource source;
  const JobId block = source.next(noon, 256);
  CHECK(block == first_job_id_at(noon));
  CHECK(source.next(noon) == block + 256);
  const JobId large = source.next(noon, 2 * ids_per_ms);
  CHECK(source.next(noon + 1ms) == large + 2 * ids_per_ms);
}

TEST_CASE("every id is greater than the last one before the start") {
  JobIdSource source;
  const JobId last = first_job_id_at(noon + 1h);
  source.start_after(last);
  CHECK(source.next(noon) == last + 1);
  source.start_after(last);  // Below the last id handed out: changes nothing.
  CHECK(source.next(noon) == last + 2);
}

TEST_CASE("ids requested by several threads at once are all different") {
  constexpr int threads = 4;
  constexpr int asks = 5000;
  JobIdSource source;
  std::vector<std::vector<JobId>> firsts(threads);
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&source, &mine = firsts[t]] {
      for (int i = 0; i < asks; ++i) mine.push_back(source.next(noon + i % 3 * 1ms, 3));
    });
  }
  for (auto& thread : running) thread.join();
  std::set<JobId> all;
  for (const auto& mine : firsts) {
    CHECK(std::is_sorted(mine.begin(), mine.end()));
    for (const JobId first : mine) all.insert({first, first + 1, first + 2});
  }
  CHECK(all.size() == threads * asks * 3);
}

TEST_CASE("leases never repeat, and those of a later epoch are greater") {
  LeaseSource source(7);
  const Lease first = source.next();
  const Lease second = source.next();
  CHECK(source.epoch() == 7);
  CHECK(first == Lease{7, 1});
  CHECK(first < second);
  CHECK(second < LeaseSource(8).next());
}

TEST_CASE("a default lease is empty") {
  CHECK_FALSE(Lease{});
  CHECK(Lease{1, 1});
}

TEST_CASE("a lease prints as its epoch and its counter") {
  CHECK(to_string(Lease{3, 14}) == "3-14");
}
