// The members `defaults` and `cells`: the cells and their settings.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "src/config/cell_setting.hpp"
#include "src/config/checks.hpp"
#include "src/config/sections.hpp"

namespace celld::config {
namespace {

constexpr std::size_t cells_max = 100'000;

/// The settings of an entry while they are read. A conflict between two settings is reported at the
/// one that the entry sets itself. A bad value takes part in no comparison, so that one fault does
/// not cause another.
struct ReadSettings {
  cells::CellSettings values;
  std::set<std::string_view> bad;  ///< Names of settings with bad values, inherited ones included.
};

/// Reports a fault when `lesser` exceeds the setting that bounds it, at the one of the two that
/// this entry sets.
void check_order(json::ObjectReader& reader, const CellSetting& lesser, const ReadSettings& read) {
  const auto greater =
      std::find_if(cell_settings().begin(), cell_settings().end(),
                   [&](const CellSetting& other) { return other.name == lesser.at_most; });
  if (greater == cell_settings().end()) return;
  if (read.bad.contains(lesser.name) || read.bad.contains(greater->name)) return;
  const auto lesser_member = std::string(member_of(lesser.name));
  const auto greater_member = std::string(member_of(greater->name));
  const auto bound = greater->show(read.values);
  if (bound.is_null()) return;
  const auto less = lesser.show(read.values).get<std::int64_t>();
  const auto most = bound.get<std::int64_t>();
  if (less <= most) return;
  if (reader.has(lesser_member)) {
    reader.fault(lesser_member, "must not be more than `" + greater_member + "`, which is " +
                                    std::to_string(most));
  } else if (reader.has(greater_member)) {
    reader.fault(greater_member,
                 "must not be less than `" + lesser_member + "`, which is " + std::to_string(less));
  }
}

/// Reads the settings of one object, such as "pool", from `reader`; an empty name stands for those
/// outside any object.
void read_object(json::ObjectReader& reader, std::string_view object, ReadSettings& read) {
  for (const auto& setting : cell_settings()) {
    const auto member = member_of(setting.name);
    if (object_of(setting.name) != object || !reader.has(member)) continue;
    read.bad.erase(setting.name);
    if (!setting.read(reader, member, read.values)) read.bad.insert(setting.name);
  }
  for (const auto& setting : cell_settings())
    if (object_of(setting.name) == object) check_order(reader, setting, read);
  for (const std::string_view name : reserved_cell_settings())
    if (object_of(name) == object) reader.refuse_reserved({member_of(name)});
}

/// As read_object, including the objects inside it.
void read_all(json::ObjectReader& reader, std::string_view object, ReadSettings& read,
              Faults& faults) {
  read_object(reader, object, read);
  for (const auto inner : objects_in(object)) {
    const auto member = member_of(inner);
    const json::Value* value = reader.any(member);
    if (value == nullptr) continue;
    json::ObjectReader inner_reader(*value, reader.pointer_of(member), faults);
    read_all(inner_reader, inner, read, faults);
    inner_reader.finish();
  }
}

/// Reads the members that a cell shares with `defaults`. `inherited` supplies those that are not
/// set.
ReadSettings read_settings(json::ObjectReader& reader, const ReadSettings& inherited,
                           Faults& faults) {
  ReadSettings read = inherited;
  read_all(reader, "", read, faults);
  return read;
}

std::string read_key(json::ObjectReader& reader, std::string_view name) {
  auto key = reader.string(name);
  if (!key) return "*";
  if (*key != "*" && !is_name(*key))
    reader.fault(name, "must be \"*\" or match [A-Za-z0-9][A-Za-z0-9._-]{0,62}");
  return std::move(*key);
}

void read_per(json::ObjectReader& reader, cells::CellRule& rule, Faults& faults) {
  const json::Value* per = reader.array("per");
  if (per == nullptr) return;
  if (per->empty()) reader.fault("per", "must not be empty");
  for (std::size_t i = 0; i < per->size(); ++i) {
    const auto fault = [&](std::string detail) {
      faults.push_back({json::pointer_to(reader.pointer_of("per"), i), std::move(detail)});
    };
    const json::Value& part = (*per)[i];
    if (part != "customer" && part != "product") {
      fault("must be \"customer\" or \"product\"");
      continue;
    }
    const bool customer = part == "customer";
    bool& chosen = customer ? rule.per_customer : rule.per_product;
    if (chosen) fault("is repeated");
    if ((customer ? rule.customer : rule.product) != "*")
      fault("must be a key that the cell leaves at \"*\"");
    chosen = true;
  }
}

struct ReadCell {
  cells::CellRule rule;
  bool keys_good = true;
};

ReadCell read_cell(const json::Value& value, std::string pointer, const ReadSettings& defaults,
                   Faults& faults) {
  ReadCell cell;
  json::ObjectReader reader(value, std::move(pointer), faults);
  const std::size_t before = faults.size();
  cell.rule.customer = read_key(reader, "customer");
  cell.rule.product = read_key(reader, "product");
  cell.keys_good = reader.is_object() && faults.size() == before;
  read_per(reader, cell.rule, faults);
  cell.rule.settings = read_settings(reader, defaults, faults).values;
  reader.finish();
  return cell;
}

}  // namespace

std::vector<cells::CellRule> read_cells(const json::Value* defaults, const json::Value* cells,
                                        Faults& faults) {
  ReadSettings settings;
  if (defaults != nullptr) {
    json::ObjectReader reader(*defaults, "/defaults", faults);
    settings = read_settings(reader, settings, faults);
    reader.finish();
  }
  std::vector<cells::CellRule> rules;
  if (cells == nullptr) return rules;
  if (cells->size() > cells_max)
    faults.push_back({"/cells", "must have at most " + std::to_string(cells_max) + " elements"});
  std::map<std::pair<std::string, std::string>, std::string> pointers;
  for (std::size_t i = 0; i < cells->size(); ++i) {
    std::string pointer = json::pointer_to("/cells", i);
    ReadCell cell = read_cell((*cells)[i], pointer, settings, faults);
    if (cell.keys_good) {
      const auto [first, fresh] =
          pointers.emplace(std::pair(cell.rule.customer, cell.rule.product), pointer);
      if (!fresh)
        faults.push_back({pointer, "has the same customer and product as " + first->second});
    }
    rules.push_back(std::move(cell.rule));
  }
  return rules;
}

}  // namespace celld::config
