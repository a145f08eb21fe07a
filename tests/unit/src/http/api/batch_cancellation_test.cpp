// POST /v1/batches/{id}/cancel from the socket to the engine and back.
#include <algorithm>
#include <future>
#include <set>
#include <vector>

#include "src/http/api/batch_canceller.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/src/http/api/batches.hpp"

using namespace celld;
using namespace celld::api;
using namespace celld::api::testing;
using cells::JobState;
using std::chrono::milliseconds;

TEST_CASE("a cancelled batch has each of its jobs cancelled that has not ended") {
  BatchLimits limits;
  limits.cancelled_jobs = 3;
  limits.cancelled_bytes = 5;
  Daemon daemon{true, limits};
  const auto posted = post_lines(daemon, repeated(good_job + "\n", 3));
  std::vector<cells::JobId> cancelled;
  std::vector<cells::ListJobs> lists;
  std::promise<void> done;
  daemon.script->list_jobs = [&](const cells::ListJobs& list) {
    lists.push_back(list);
    cells::JobsListed page;
    for (cells::JobId id = list.before == 0 ? 4 : 2; page.jobs.size() < 2; --id) {
      auto job = std::make_shared<cells::Job>();
      job->id = id;
      job->spec = std::make_shared<cells::JobSpec>();
      page.jobs.push_back(job);
    }
    page.next = list.before == 0 ? 3 : 0;
    return page;
  };
  daemon.script->cancel = [&](const cells::CancelJob& order) {
    cancelled.push_back(order.job->id);
    return cells::CancelAnswered{order.job, true};
  };
  daemon.script->mark_cancelled = [&](const cells::MarkCancelled& mark) {
    if (!mark.is_cancelled) done.set_value();
    return cells::CancelledMarked{true};
  };
  const auto answer = post(daemon, "", {}, "application/json", path_of(posted) + "/cancel");
  CHECK(answer.status == 202);
  CHECK(answer.body["id"] == posted.body["id"]);
  done.get_future().wait();
  sync_with_script();
  for (const auto& list : lists) {
    CHECK(list.filter.batch == daemon.batch.id);
    CHECK(list.filter.unfinished);
    CHECK(list.limit == 3);
    CHECK(list.bytes_max == 5);
  }
  CHECK(cancelled == std::vector<cells::JobId>{4, 3, 2, 1});
  CHECK(post(daemon, "", {}, "application/json", "/v1/batches/x/cancel").status == 404);
}

TEST_CASE("a batch that is cancelled while its client sends is answered at once") {
  http::test::RunningServer server;
  auto sender = server.connect();
  auto canceller = server.connect();
  Desk desk;
  desk.script->find_batch = [&](const cells::FindBatch&) { return cells::BatchFound{desk.batch}; };
  desk.script->mark_cancelled = [](const cells::MarkCancelled&) {
    return cells::CancelledMarked{true};
  };
  desk.script->list_jobs = [](const cells::ListJobs&) { return cells::JobsListed{}; };
  desk.begin(server, sender);
  desk.send(PostBatchCancel{desk.batch.id, {}, server.park(canceller)});
  desk.take_messages();
  REQUIRE_FALSE(desk.batch.is_open);
  CHECK(sender.receive().value().status == 202);
}

TEST_CASE("a cancellation that the store cannot note is answered with a 503") {
  http::test::RunningServer server;
  auto client = server.connect();
  Desk desk;
  desk.script->find_batch = [&](const cells::FindBatch&) { return cells::BatchFound{desk.batch}; };
  desk.send(PostBatchCancel{5, {}, server.park(client)});
  desk.take_messages();
  CHECK(client.receive().value().status == 503);
}

TEST_CASE("a batch whose jobs escape holds up the cancellation of no other") {
  http::test::RunningServer server;
  auto first = server.connect();
  auto second = server.connect();
  std::vector<cells::BatchId> done;
  Desk desk;
  desk.script->find_batch = [](const cells::FindBatch& message) {
    cells::BatchFound found{cells::Batch{}};
    found.batch->id = message.id;
    return found;
  };
  desk.script->list_jobs = [](const cells::ListJobs& list) {
    cells::JobsListed page;
    if (list.filter.batch != 5) return page;
    auto job = std::make_shared<cells::Job>();
    job->spec = std::make_shared<cells::JobSpec>();
    page.jobs.push_back(job);
    return page;
  };
  desk.script->cancel = [](const cells::CancelJob& order) {
    return cells::CancelAnswered{order.job, false};
  };
  desk.script->mark_cancelled = [&](const cells::MarkCancelled& mark) {
    if (!mark.is_cancelled) done.push_back(mark.id);
    return cells::CancelledMarked{true};
  };
  desk.send(PostBatchCancel{5, {}, server.park(first)});
  desk.send(PostBatchCancel{6, {}, server.park(second)});
  desk.take_messages();
  for (int n = 0; n < 3; ++n) desk.pass(std::chrono::seconds{1});
  CHECK(done == std::vector<cells::BatchId>{6});
}

TEST_CASE("a batch counts as cancelled only once no job has escaped its cancellation") {
  Daemon daemon;
  const auto posted = post_lines(daemon, good_job + "\n");
  std::vector<cells::JobId> asked;
  std::set<cells::JobId> open{1, 2, 3};
  std::promise<void> done;
  daemon.script->list_jobs = [&](const cells::ListJobs&) {
    cells::JobsListed page;
    for (const auto id : open) {
      auto job = std::make_shared<cells::Job>();
      job->id = id;
      job->spec = std::make_shared<cells::JobSpec>();
      page.jobs.push_back(job);
    }
    return page;
  };
  // The first time, the second job has just moved to another cell.
  daemon.script->cancel = [&](const cells::CancelJob& order) {
    const auto id = order.job->id;
    const bool escapes = id == 2 && std::count(asked.begin(), asked.end(), id) == 0;
    asked.push_back(id);
    if (!escapes) open.erase(id);
    return cells::CancelAnswered{order.job, !escapes};
  };
  daemon.script->mark_cancelled = [&](const cells::MarkCancelled& mark) {
    if (!mark.is_cancelled) done.set_value();
    return cells::CancelledMarked{true};
  };
  CHECK(post(daemon, "", {}, "application/json", path_of(posted) + "/cancel").status == 202);
  done.get_future().wait();
  sync_with_script();
  CHECK(asked == std::vector<cells::JobId>{1, 2, 3, 2});
  CHECK(open.empty());
}

TEST_CASE("a batch counts as cancelled only once a cancellation that failed has succeeded") {
  http::test::RunningServer server;
  auto client = server.connect();
  std::vector<bool> marks;
  int cancelled = 0;
  Desk desk;  // Its dispatcher fails at first.
  desk.batch.id = 5;
  desk.script->find_batch = [&](const cells::FindBatch&) { return cells::BatchFound{desk.batch}; };
  desk.script->list_jobs = [](const cells::ListJobs&) {
    auto job = std::make_shared<cells::Job>();
    job->id = 1;
    job->spec = std::make_shared<cells::JobSpec>();
    return cells::JobsListed{{job}};
  };
  desk.script->mark_cancelled = [&](const cells::MarkCancelled& mark) {
    marks.push_back(mark.is_cancelled);
    return cells::CancelledMarked{true};
  };
  desk.send(PostBatchCancel{5, {}, server.park(client)});
  desk.take_messages();
  CHECK(marks == std::vector<bool>{true});
  desk.script->cancel = [&](const cells::CancelJob& order) {
    ++cancelled;
    return cells::CancelAnswered{order.job, true};
  };
  desk.pass(std::chrono::seconds{1});
  CHECK(cancelled == 1);
  CHECK(marks == std::vector<bool>{true, false});
}

TEST_CASE("a cancellation that cannot read on begins again with the newest job of its batch") {
  http::test::RunningServer server;
  auto client = server.connect();
  Desk desk;
  desk.batch.id = 5;
  desk.script->find_batch = [&](const cells::FindBatch&) { return cells::BatchFound{desk.batch}; };
  desk.script->mark_cancelled = [](const cells::MarkCancelled&) {
    return cells::CancelledMarked{true};
  };
  desk.script->list_jobs = [](const cells::ListJobs&) {
    auto job = std::make_shared<cells::Job>();
    job->id = 9;
    job->spec = std::make_shared<cells::JobSpec>();
    return cells::JobsListed{{job}, job->id};
  };
  desk.script->cancel = [&](const cells::CancelJob& order) {
    desk.script->list_jobs = nullptr;  // The second page.
    return cells::CancelAnswered{order.job, false};
  };
  desk.send(PostBatchCancel{5, {}, server.park(client)});
  desk.take_messages();
  std::vector<cells::JobId> before;
  desk.script->list_jobs = [&](const cells::ListJobs& list) {
    before.push_back(list.before);
    return cells::JobsListed{};
  };
  desk.pass(std::chrono::seconds{1});
  CHECK(before == std::vector<cells::JobId>{0});
}

TEST_CASE("a batch that is cancelled again during its cancellation is gone over again") {
  const bool is_late = GENERATE(false, true);
  caf::actor_system_config config;
  caf::actor_system system{config};
  const auto script = std::make_shared<Script>();
  const ServeBatches engine{spawn_dispatcher(system, script), spawn_reader(system, script),
                            spawn_batch_store(system, script)};
  const auto canceller = spawn_batch_canceller(system, engine, {});
  int passes = 0;
  std::vector<cells::BatchId> marked;
  std::vector<bool> marks;
  std::promise<void> done;
  script->list_jobs = [&](const cells::ListJobs&) {
    if (++passes == 1 && !is_late) caf::anon_send(canceller, CancelJobsOf{5});
    return cells::JobsListed{};
  };
  script->mark_cancelled = [&](const cells::MarkCancelled& mark) {
    marked.push_back(mark.id);
    marks.push_back(mark.is_cancelled);
    if (passes == 1 && !mark.is_cancelled) caf::anon_send(canceller, CancelJobsOf{5});
    if (passes == 2) done.set_value();
    return cells::CancelledMarked{true};
  };
  caf::anon_send(canceller, CancelJobsOf{5});
  done.get_future().wait();
  sync_with_script();
  CHECK(passes == 2);
  CHECK(std::count(marked.begin(), marked.end(), 5) == std::ssize(marked));
  CHECK(marks == (is_late ? std::vector<bool>{false, true, false} : std::vector<bool>{false}));
  for (const auto& actor :
       {caf::actor_cast<caf::actor>(canceller), caf::actor_cast<caf::actor>(engine.dispatcher),
        caf::actor_cast<caf::actor>(engine.reader), caf::actor_cast<caf::actor>(engine.store)}) {
    caf::anon_send_exit(actor, caf::exit_reason::kill);
  }
}

TEST_CASE("a start continues every cancellation that the last life has not completed") {
  BatchLimits limits;
  limits.cancelled_batches = 3;
  Daemon daemon{false, limits};
  std::set<cells::BatchId> completed;
  std::promise<void> done;
  std::set<std::size_t> limits_asked;
  daemon.script->list_batches = [&](const cells::ListBatches& list) {
    cells::BatchesListed page;
    if (!list.only_cancelled) return page;  // The search for the latest batch.
    limits_asked.insert(list.limit);
    for (const cells::BatchId id : {9, 8, 7, 5}) {
      if ((list.before != 0 && id >= list.before) || page.batches.size() == list.limit) continue;
      page.batches.emplace_back().id = id;
    }
    page.next = list.before == 0 ? 7 : 0;
    return page;
  };
  daemon.script->mark_cancelled = [&](const cells::MarkCancelled& mark) {
    completed.insert(mark.id);
    if (completed.size() == 4) done.set_value();
    return cells::CancelledMarked{true};
  };
  daemon.attach();
  done.get_future().wait();
  sync_with_script();
  CHECK(completed == std::set<cells::BatchId>{5, 7, 8, 9});
  CHECK(limits_asked == std::set<std::size_t>{3});
}
