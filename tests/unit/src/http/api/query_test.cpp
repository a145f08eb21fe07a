#include "src/http/api/query.hpp"

#include <string>

#include "src/json/time_text.hpp"
#include "tests/unit/catch.hpp"

using namespace celld::api;

namespace {

cells::ListJobs jobs(const Query& query) {
  return std::get<cells::ListJobs>(parse_job_query(query));
}

std::size_t job_faults(const Query& query) {
  const auto parsed = parse_job_query(query);
  const auto* faults = std::get_if<Faults>(&parsed);
  return faults == nullptr ? 0 : faults->size();
}

}  // namespace

TEST_CASE("without parameters a list has the newest fifty") {
  const cells::ListJobs list = jobs({});
  CHECK(list.limit == 50);
  CHECK(list.before == 0);
  CHECK_FALSE(list.filter.customer);
  CHECK(std::get<cells::ListCells>(parse_cell_query({})).limit == 50);
  CHECK(std::get<cells::ListBatches>(parse_batch_query({})).limit == 50);
  CHECK(std::get<cells::ListSchedules>(parse_schedule_query({})).limit == 50);
  CHECK(std::get<ListServicesByName>(parse_service_query({})).limit == 50);
  CHECK(std::get<cells::ListLeases>(parse_lease_query({})).limit == 50);
}

TEST_CASE("every filter is read") {
  const cells::ListJobs list = jobs({{"customer", "acme"},
                                     {"product", "dns"},
                                     {"state", "retrying"},
                                     {"service", "billing"},
                                     {"entity_type", "zone"},
                                     {"entity_id", "a b/é"},
                                     {"label.ticket", "T-1"},
                                     {"label.x.y", ""},
                                     {"created_after", "2026-11-20T22:42:56.123Z"},
                                     {"created_before", "2026-11-21T00:00:00Z"},
                                     {"limit", "1000"},
                                     {"cursor", job_cursor(1234567890123456789)}});
  CHECK(list.filter.customer == "acme");
  CHECK(list.filter.product == "dns");
  CHECK(list.filter.state == cells::JobState::retrying);
  CHECK(list.filter.service == "billing");
  CHECK(list.filter.entity_type == "zone");
  CHECK(list.filter.entity_id == "a b/é");
  CHECK(list.filter.labels == std::map<std::string, std::string>{{"ticket", "T-1"}, {"x.y", ""}});
  CHECK(list.filter.created_after == celld::json::parse_time("2026-11-20T22:42:56.123Z"));
  CHECK(list.filter.created_before == celld::json::parse_time("2026-11-21T00:00:00Z"));
  CHECK(list.limit == 1000);
  CHECK(list.before == 1234567890123456789);
}

TEST_CASE("all faults of a query are reported at once") {
  const auto parsed = parse_job_query({{"customr", "a"},
                                       {"state", "done"},
                                       {"limit", "0"},
                                       {"product", "a"},
                                       {"product", "b"},
                                       {"lease", "x"}});
  CHECK(std::get<Faults>(parsed) ==
        Faults{{"", "query parameter \"customr\" is unknown"},
               {"",
                "query parameter \"state\" must be `scheduled`, `queued`, `running`, `retrying`, "
                "`compensating`, `succeeded`, `failed` or `cancelled`"},
               {"", "query parameter \"limit\" must be an integer from 1 to 1000"},
               {"", "query parameter \"product\" is repeated"},
               {"", "query parameter \"lease\" is unknown"}});
}

TEST_CASE("each parameter is checked") {
  for (const auto* limit : {"", "0", "1001", "-1", "+1", "1.0", "x", " 1", "99999999999999999999"})
    CHECK(job_faults({{"limit", limit}}) == 1);
  for (const auto* cursor : {"", "x", "0000000000000", "0000000000001x", "zzzzzzzzzzzzz", "1"})
    CHECK(job_faults({{"cursor", cursor}}) == 1);
  for (const auto* time : {"", "yesterday", "2026-11-20"}) {
    CHECK(job_faults({{"created_after", time}}) == 1);
    CHECK(job_faults({{"created_before", time}}) == 1);
  }
  CHECK(job_faults({{"customer", ""}}) == 1);
  CHECK(job_faults({{"customer", "*"}}) == 1);
  CHECK(job_faults({{"entity_id", ""}}) == 1);
  CHECK(job_faults({{"label.", "x"}}) == 1);
  CHECK(job_faults({{"label", "x"}}) == 1);
  CHECK(job_faults({{"label.a", "x"}, {"label.a", "y"}}) == 1);
  CHECK(job_faults({{"\xff", "\xff"}}) == 1);
  Query many;
  for (int i = 0; i < 17; ++i) many.emplace_back("label.l" + std::to_string(i), "x");
  CHECK(job_faults(many) == 1);
}

TEST_CASE("a time whose plus has become a space is refused with the reason") {
  const auto says_why = [](const std::string& time) {
    const auto parsed = parse_job_query({{"created_after", time}});
    return std::get<Faults>(parsed).at(0).detail.find("means a space") != std::string::npos;
  };
  CHECK(says_why("2026-11-20T22:42:56 00:00"));
  CHECK_FALSE(says_why("2026-11-20T22:42:56+01:00"));
}

TEST_CASE("a cursor continues a list of cells") {
  for (const cells::CellKey& key :
       {cells::CellKey{"acme", "*"}, cells::CellKey{"*", "*"}, cells::CellKey{"a.b-c_d", "x"}}) {
    const auto parsed = parse_cell_query({{"cursor", cell_cursor(key)}, {"limit", "3"}});
    CHECK(std::get<cells::ListCells>(parsed).after == key);
    CHECK(std::get<cells::ListCells>(parsed).limit == 3);
  }
  for (const auto* cursor : {"", "0", "00", "2f", "zz", "612f", "2f61", "61"})
    CHECK(std::holds_alternative<Faults>(parse_cell_query({{"cursor", cursor}})));
  CHECK(std::holds_alternative<Faults>(parse_cell_query({{"customer", "acme"}})));
}

TEST_CASE("an endpoint without parameters refuses every one") {
  CHECK(refuse_query({}).empty());
  CHECK(refuse_query({{"a", ""}, {"label.x", "1"}}).size() == 2);
}

TEST_CASE(
    "a list of jobs can be restricted to a batch, and a text that is no id matches no batch") {
  const auto of = [](const std::string& value) {
    return std::get<cells::ListJobs>(parse_job_query({{"batch", value}})).filter.batch;
  };
  CHECK(of(cells::format_job_id(77)) == 77);
  CHECK(of("nonsense") == std::numeric_limits<std::int64_t>::max());
  CHECK(of("") == of("nonsense"));
}

TEST_CASE("a list of batches has a limit and a cursor") {
  const auto list =
      std::get<cells::ListBatches>(parse_batch_query({{"limit", "7"}, {"cursor", job_cursor(99)}}));
  CHECK(list.limit == 7);
  CHECK(list.before == 99);
  CHECK_FALSE(list.owner);
  CHECK(std::get<Faults>(parse_batch_query({{"cursor", "x"}, {"customer", "acme"}})).size() == 2);
}
