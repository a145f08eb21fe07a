#include "src/http/api/job_page.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/http/api/job_json.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/src/http/fixture.hpp"

namespace celld::api {
namespace {

using Jobs = std::vector<cells::JobPtr>;

/// Newest first, and all of the same size.
Jobs jobs_with_ids(cells::JobId last) {
  Jobs jobs;
  for (cells::JobId id = last; id > 0; --id) {
    auto job = std::make_shared<cells::Job>();
    job->id = id;
    job->spec = std::make_shared<cells::JobSpec>();
    jobs.push_back(std::move(job));
  }
  return jobs;
}

/// What a reader of these jobs answers.
cells::JobsListed list(const Jobs& jobs, const cells::ListJobs& wanted) {
  cells::JobsListed page;
  std::size_t bytes = 0;
  for (const auto& job : jobs) {
    if (wanted.before != 0 && job->id >= wanted.before) continue;
    if (page.jobs.size() >= wanted.limit || bytes > wanted.bytes_max) {
      page.next = job->id + 1;
      page.full = true;
      break;
    }
    bytes += cells::approximate_bytes(*job);
    page.jobs.push_back(job);
  }
  return page;
}

struct Sent {
  int pieces = 0;
  std::string text;
};

/// Sends a page to a client.
Sent send_page(const Jobs& jobs, const cells::ListJobs& wanted, std::size_t piece_bytes_max) {
  http::test::Events<bool> taken;
  http::test::RunningServer server;
  auto client = server.connect();
  Sent sent;
  {
    JobPage page(wanted, server.park(client), piece_bytes_max);
    do {
      if (sent.pieces > 0) REQUIRE(taken.take());
      ++sent.pieces;
    } while (page.send(list(jobs, page.ask_piece()), [&] { taken.put(true); }));
  }
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->status == 200);
  if (answer->headers.count("content-length") == 1) return {sent.pieces, answer->body};
  for (auto chunk = client.receive_chunk(); chunk != ""; chunk = client.receive_chunk()) {
    REQUIRE(chunk);
    sent.text += *chunk;
  }
  return sent;
}

}  // namespace

TEST_CASE("a page of jobs in pieces is the same as in one") {
  const auto jobs = jobs_with_ids(7);
  const auto job_bytes = cells::approximate_bytes(*jobs.front());
  for (const std::size_t limit : {1, 2, 5, 6, 7, 8}) {
    cells::ListJobs wanted;
    wanted.limit = limit;
    const auto whole = list(jobs, wanted);
    for (const std::size_t jobs_per_piece : {1, 2, 3, 7, 8}) {
      INFO(limit << " jobs, " << jobs_per_piece << " per piece");
      const auto sent = send_page(jobs, wanted, jobs_per_piece * job_bytes - 1);
      CHECK(sent.text == job_list_json(whole.jobs, whole.next));
      const auto count = whole.jobs.size();
      CHECK(sent.pieces == static_cast<int>((count + jobs_per_piece - 1) / jobs_per_piece));
    }
  }
}

TEST_CASE("a page of jobs in pieces ends with the job that takes it beyond its bytes") {
  const auto jobs = jobs_with_ids(7);
  std::string three;
  append_job_items(three, {jobs[0]}, false);
  append_job_items(three, {jobs[1], jobs[2]}, true);
  cells::ListJobs wanted;
  wanted.bytes_max = three.size();
  CHECK(send_page(jobs, wanted, 0).text == job_list_json({jobs.begin(), jobs.begin() + 4}, 4));
  --wanted.bytes_max;
  CHECK(send_page(jobs, wanted, 0).text == job_list_json({jobs.begin(), jobs.begin() + 3}, 5));
}

}  // namespace celld::api
