// The table of the settings of a cell.
#include "src/config/cell_setting.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "tests/unit/catch.hpp"

using namespace celld;
using config::cell_settings;
using config::CellSetting;

namespace {

/// The settings after reading {member: value}; nothing after a fault.
std::optional<cells::CellSettings> read(const CellSetting& setting, const json::Value& value) {
  const std::string member{config::member_of(setting.name)};
  const json::Value document{{member, value}};
  std::vector<json::Fault> faults;
  json::ObjectReader reader(document, "", faults);
  cells::CellSettings settings;
  const bool good = setting.read(reader, member, settings);
  CHECK(good == faults.empty());
  if (!good) return std::nullopt;
  return settings;
}

/// A value that a setting may have, other than its default.
json::Value other_value(const CellSetting& setting) {
  const auto& schema = setting.schema;
  if (schema.at("type") == "object") return {{"gold", 4}, {"*", 2}};
  return schema.contains("enum") ? schema.at("enum").back() : schema.at("maximum");
}

bool schema_allows_null(const CellSetting& setting) {
  const auto& type = setting.schema.at("type");
  return type.is_array() && type.back() == "null";
}

}  // namespace

TEST_CASE("every setting of a cell reads what it shows, and changes nothing else") {
  for (const auto& setting : cell_settings()) {
    INFO(setting.name);
    const auto value = other_value(setting);
    const auto changed = read(setting, value);
    REQUIRE(changed);
    for (const auto& other : cell_settings()) {
      const bool same = other.name == setting.name;
      CHECK(other.show(*changed) == (same ? value : other.show(cells::CellSettings{})));
    }
  }
}

TEST_CASE("every setting of a cell keeps the bounds of its schema") {
  for (const auto& setting : cell_settings()) {
    INFO(setting.name);
    CHECK_FALSE(read(setting, "text"));
    CHECK(read(setting, nullptr).has_value() == schema_allows_null(setting));
    if (setting.schema.at("type") == "object") {
      CHECK(read(setting, {{"gold", 1}}));
      CHECK_FALSE(read(setting, {{"gold", 0}}));
      CHECK_FALSE(read(setting, {{"gold", 101}}));
      CHECK_FALSE(read(setting, {{"gold", 1.5}}));
      CHECK_FALSE(read(setting, {{"go ld", 1}}));
      continue;
    }
    if (setting.schema.contains("enum")) {
      for (const auto& word : setting.schema.at("enum")) CHECK(read(setting, word));
      CHECK_FALSE(read(setting, 1));
      continue;
    }
    const auto& minimum = setting.schema.at("minimum");
    const auto& maximum = setting.schema.at("maximum");
    CHECK(read(setting, minimum));
    CHECK_FALSE(read(setting, minimum.get<double>() < 1
                                  ? json::Value(-1)
                                  : json::Value(minimum.get<std::int64_t>() - 1)));
    CHECK_FALSE(read(setting, maximum.get<std::int64_t>() + 1));
  }
}

TEST_CASE("the table of a cell's settings is consistent") {
  std::set<std::string_view> names;
  std::set<std::string_view> objects;
  std::string_view object;
  for (const auto& setting : cell_settings()) {
    INFO(setting.name);
    CHECK(names.insert(setting.name).second);
    if (const auto own = config::object_of(setting.name); own != object) {
      object = own;
      CHECK((own.empty() || objects.insert(own).second));  // Its rows are neighbours.
    }
  }
  for (const auto& setting : cell_settings()) {
    if (setting.at_most.empty()) continue;
    INFO(setting.name);
    CHECK(names.contains(setting.at_most));
    CHECK(config::object_of(setting.at_most) == config::object_of(setting.name));
  }
}

TEST_CASE("the settings of a cell are shown as in the configuration file") {
  CHECK(config::show_cell_settings({}) ==
        R"({"pool":{"size":4,"weight":1},"timeout_ms":30000,"timeout_max_ms":3600000,)"
        R"("queue":{"max_jobs":100000,"max_bytes":null,"submissions_per_s":null,)"
        R"("submissions_burst":null},"durability":"disk","on_stop":"forget",)"
        R"("on_predecessor_failed":"continue",)"
        R"("priority_step_ms":0,"customers":{"weights":{"*":1},"quota":{"max_jobs":null,)"
        R"("max_bytes":null,"max_running":null,"submissions_per_s":null,)"
        R"("submissions_burst":null}},)"
        R"("retry":{"max_attempts":5,"backoff_ms":1000,"backoff_max_ms":60000}})");
}
