// The room of customers, the bytes of cells, and the limits that administrators set.
#include "tests/unit/src/store/contract.hpp"

using namespace cells;  // NOLINT: tests of the port.
using namespace celld::store::test;

namespace {

const CellKey shared{"*", "*"};

InsertJob insert_of(JobId id, const std::string& customer, CustomerRoom room,
                    const CellKey& cell = shared) {
  InsertJob insert{sketch_job(
      {.id = id, .entity = "e" + std::to_string(id), .customer = customer, .cell = cell})};
  insert.room = room;
  return insert;
}

std::uint64_t bytes_of(const InsertJob& insert) {
  return queued_bytes(*insert.job->spec);
}

}  // namespace

TEST_CASE("a customer has no more unfinished jobs in a cell than its room allows") {
  with_each_store([](Client& client, StoreUnderTest& under_test) {
    const CustomerRoom room{2, 0};
    CHECK_FALSE(client.ask(insert_of(1, "acme", room)).customer_full);
    auto other_product = insert_of(2, "acme", room);
    other_product.job = sketch_job({.id = 2, .entity = "x", .product = "mail", .cell = shared});
    CHECK_FALSE(client.ask(other_product).customer_full);
    const auto refused = client.ask(insert_of(3, "acme", room));
    CHECK(refused.customer_full == CustomerFull{true, 2, 2, 2});
    CHECK_FALSE((refused.runnable || refused.is_stale || refused.full || refused.holder.job));
    CHECK(client.ask(FindJob{3}).job == nullptr);
    CHECK_FALSE(client.ask(insert_of(4, "bolt", room)).customer_full);
    CHECK_FALSE(client.ask(insert_of(5, "acme", room, {"acme", "*"})).customer_full);
    under_test.reopen();
    CHECK(client.ask(insert_of(6, "acme", room)).customer_full == CustomerFull{true, 2, 2, 2});
    CHECK_FALSE(client.ask(insert_of(7, "acme", {})).customer_full);
    CHECK(client.ask(insert_of(8, "acme", room)).customer_full == CustomerFull{true, 2, 3, 3});
    for (const JobId id : {1, 2}) {
      CHECK(client.ask(RecordJob{{}, ended(client.ask(FindJob{id}).job)}).applied);
    }
    CHECK_FALSE(client.ask(insert_of(9, "acme", room)).customer_full);
  });
}

TEST_CASE("a customer's unfinished jobs in a cell take no more bytes than its room allows") {
  with_each_store([](Client& client, StoreUnderTest& under_test) {
    const auto bytes = bytes_of(insert_of(1, "acme", {}));
    const CustomerRoom room{0, 2 * bytes};
    CHECK_FALSE(client.ask(insert_of(1, "acme", room)).customer_full);
    CHECK_FALSE(client.ask(insert_of(2, "acme", room)).customer_full);
    client.ask(FlushStore{});
    under_test.reopen();
    CHECK(client.ask(insert_of(3, "acme", room)).customer_full ==
          CustomerFull{false, 2 * bytes, 2 * bytes, 2});
    CHECK(client.ask(RecordJob{{}, ended(client.ask(FindJob{1}).job)}).applied);
    CHECK_FALSE(client.ask(insert_of(4, "acme", room)).customer_full);
  });
}

TEST_CASE("the holder of a key is found before the room of its customer is looked at") {
  with_each_store([](Client& client, StoreUnderTest&) {
    auto insert = insert_of(1, "acme", {1, 0});
    insert.idempotency = Idempotency{"k", "digest"};
    CHECK_FALSE(client.ask(insert).customer_full);
    insert.job = insert_of(2, "acme", {}).job;
    const auto again = client.ask(insert);
    CHECK_FALSE(again.customer_full);
    CHECK(again.holder.job->id == 1);
  });
}

TEST_CASE("a job is not reopened without room for it") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto first = insert_of(1, "acme", {});
    client.ask(first);
    CHECK(client.ask(RecordJob{{}, ended(first.job, JobState::failed)}).applied);
    client.ask(insert_of(2, "acme", {}));
    auto refused = client.ask(ReopenEnded{1, shared, 10, at_ms(5000), {1, 0}});
    CHECK(refused.customer_full == CustomerFull{true, 1, 1, 1});
    CHECK_FALSE(refused.after);
    CHECK(client.ask(FindJob{1}).job->state == JobState::failed);
    CHECK(client.ask(ReopenEnded{1, shared, 10, at_ms(5000), {2, 0}}).after);
    CHECK(client.ask(insert_of(3, "acme", {2, 0})).customer_full);
  });
}

TEST_CASE("a cell knows the bytes of its unfinished jobs after a restart and a move") {
  with_each_store([](Client& client, StoreUnderTest& under_test) {
    const CellKey other{"acme", "*"};
    const auto bytes = bytes_of(insert_of(1, "acme", {}));
    for (const JobId id : {1, 2, 3}) client.ask(insert_of(id, "acme", {}));
    CHECK(client.ask(LoadCell{shared}).counts.bytes == 3 * bytes);
    CHECK(client.ask(RecordJob{{}, ended(client.ask(FindJob{3}).job)}).applied);
    client.ask(FlushStore{});
    under_test.reopen();
    CHECK(client.ask(LoadCell{shared}).counts.bytes == 2 * bytes);
    MoveJobs move{{shared, "acme", "dns"}, other, 1};
    CHECK(client.ask(move).counts.bytes == bytes);
    CHECK(client.ask(LoadCell{shared}).counts.bytes == bytes);
    CHECK(client.ask(LoadCell{other}).counts.bytes == bytes);
    CHECK(client.ask(insert_of(5, "acme", {2, 0}, other)).customer_full == std::nullopt);
    CHECK(client.ask(insert_of(6, "acme", {2, 0}, other)).customer_full);
  });
}

TEST_CASE("limits that an administrator set survive a restart") {
  with_each_store([](Client& client, StoreUnderTest& under_test) {
    CellOverride change;
    change.quota = {{QuotaLimit::queue_rate, 0.5}, {QuotaLimit::customer_running, 0}};
    client.ask(SetCellOverride{shared, change});
    client.ask(FlushStore{});
    under_test.reopen();
    CHECK(client.ask(LoadCells{}).overrides.at(shared) == change);
    change.quota = {{QuotaLimit::customer_jobs, 7}};
    change.pool_size = 3;
    client.ask(SetCellOverride{shared, change});
    client.ask(FlushStore{});
    under_test.reopen();
    CHECK(client.ask(LoadCells{}).overrides.at(shared) == change);
    client.ask(SetCellOverride{shared, {}});
    client.ask(FlushStore{});
    under_test.reopen();
    CHECK(client.ask(LoadCells{}).overrides.empty());
  });
}
