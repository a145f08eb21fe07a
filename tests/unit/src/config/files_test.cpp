// The configuration files in the tree: each is valid, and the schema agrees with the parser.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "src/config/config.hpp"
#include "src/providers/kinds.hpp"
#include "tests/unit/catch.hpp"

using namespace celld;
using json::Value;

namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

Value read_json(const std::filesystem::path& path) {
  return std::get<json::Document>(json::parse(read_file(path))).value;
}

std::filesystem::path config_dir() {
  return CELLD_CONFIG_DIR;
}

std::vector<std::filesystem::path> example_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(config_dir() / "examples"))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  return files;
}

/// The part of JSON Schema 2020-12 that the schema uses; an unknown keyword fails the test.
class Schema {
 public:
  explicit Schema(Value root) : root_(std::move(root)) {}
  bool accepts(const Value& value) const { return accepts(root_, value); }

 private:
  bool accepts(const Value& schema, const Value& value) const {
    for (const auto& [keyword, argument] : schema.items())
      if (!holds(schema, keyword, argument, value)) return false;
    return true;
  }

  bool holds(const Value& schema, const std::string& keyword, const Value& argument,
             const Value& value) const {
    static const std::set<std::string> known = {"minimum",
                                                "maximum",
                                                "minLength",
                                                "maxLength",
                                                "pattern",
                                                "minItems",
                                                "maxItems",
                                                "uniqueItems",
                                                "items",
                                                "prefixItems",
                                                "required",
                                                "minProperties",
                                                "maxProperties",
                                                "properties",
                                                "propertyNames",
                                                "additionalProperties",
                                                "dependentRequired"};
    for (const auto* note :
         {"$schema", "$defs", "title", "description", "default", "examples", "format"})
      if (keyword == note) return true;
    if (keyword == "$ref")
      return accepts(root_.at(Value::json_pointer(argument.get<std::string>().substr(1))), value);
    if (keyword == "oneOf") {
      int matches = 0;
      for (const Value& option : argument) matches += accepts(option, value) ? 1 : 0;
      return matches == 1;
    }
    if (keyword == "allOf" || keyword == "anyOf") {
      const auto holds = [&](const Value& option) { return accepts(option, value); };
      return keyword == "allOf" ? std::all_of(argument.begin(), argument.end(), holds)
                                : std::any_of(argument.begin(), argument.end(), holds);
    }
    if (keyword == "not") return !accepts(argument, value);
    if (keyword == "type" && argument.is_array()) {
      return std::any_of(argument.begin(), argument.end(),
                         [&](const Value& type) { return has_type(type, value); });
    }
    if (keyword == "type") return has_type(argument, value);
    if (keyword == "const") return value == argument;
    if (keyword == "enum")
      return std::find(argument.begin(), argument.end(), value) != argument.end();
    if (known.count(keyword) == 0) FAIL("keyword " << keyword);
    if (value.is_number()) return number_holds(keyword, argument, value);
    if (value.is_string()) return string_holds(keyword, argument, value);
    if (value.is_array()) return array_holds(schema, keyword, argument, value);
    if (value.is_object()) return object_holds(schema, keyword, argument, value);
    return true;
  }

  static bool has_type(const std::string& type, const Value& value) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    if (type == "boolean") return value.is_boolean();
    FAIL("type " << type);
    return false;
  }

  static bool number_holds(const std::string& keyword, const Value& argument, const Value& value) {
    if (keyword == "minimum") return value >= argument;
    if (keyword == "maximum") return value <= argument;
    return true;
  }

  static const std::regex& compiled(const std::string& pattern) {
    static std::map<std::string, std::regex> all;
    const auto known = all.find(pattern);
    return known != all.end() ? known->second : all.emplace(pattern, pattern).first->second;
  }

  static bool string_holds(const std::string& keyword, const Value& argument,
                           const std::string& text) {
    if (keyword == "minLength") return text.size() >= argument.get<std::size_t>();
    if (keyword == "maxLength") return text.size() <= argument.get<std::size_t>();
    if (keyword == "pattern") return std::regex_search(text, compiled(argument));
    return true;
  }

  bool array_holds(const Value& schema, const std::string& keyword, const Value& argument,
                   const Value& value) const {
    if (keyword == "minItems") return value.size() >= argument.get<std::size_t>();
    if (keyword == "maxItems") return value.size() <= argument.get<std::size_t>();
    if (keyword == "uniqueItems")
      return std::set<Value>(value.begin(), value.end()).size() == value.size();
    if (keyword == "prefixItems")
      return std::equal(value.begin(), value.begin() + front_of(schema, value), argument.begin(),
                        [&](const Value& item, const Value& its) { return accepts(its, item); });
    if (keyword == "items")
      return std::all_of(value.begin() + front_of(schema, value), value.end(),
                         [&](const Value& item) { return accepts(argument, item); });
    return true;
  }

  /// The number of items that `prefixItems` covers.
  static std::ptrdiff_t front_of(const Value& schema, const Value& value) {
    const std::size_t named = schema.contains("prefixItems") ? schema["prefixItems"].size() : 0;
    return static_cast<std::ptrdiff_t>(std::min(named, value.size()));
  }

  bool object_holds(const Value& schema, const std::string& keyword, const Value& argument,
                    const Value& value) const {
    if (keyword == "required")
      return std::all_of(argument.begin(), argument.end(), [&](const Value& name) {
        return value.contains(name.get<std::string>());
      });
    if (keyword == "minProperties") return value.size() >= argument.get<std::size_t>();
    if (keyword == "maxProperties") return value.size() <= argument.get<std::size_t>();
    if (keyword == "dependentRequired")
      return std::all_of(argument.items().begin(), argument.items().end(), [&](const auto& item) {
        return !value.contains(item.key()) ||
               std::all_of(item.value().begin(), item.value().end(), [&](const Value& name) {
                 return value.contains(name.get<std::string>());
               });
      });
    for (const auto& [name, member] : value.items()) {
      const bool named = schema.contains("properties") && schema["properties"].contains(name);
      if (keyword == "properties" && named && !accepts(argument[name], member)) return false;
      if (keyword == "propertyNames" && !accepts(argument, name)) return false;
      if (keyword == "additionalProperties" && !named)
        if (argument == false || !accepts(argument, member)) return false;
    }
    return true;
  }

  Value root_;
};

const Schema& schema() {
  static const Schema read(read_json(config_dir() / "celld.schema.json"));
  return read;
}

config::Environment generous_environment() {
  return {[](const std::string&) { return std::optional<std::string>("secret"); },
          [](const std::string&) { return config::FileText{.content = "secret"}; }};
}

bool parser_accepts(const Value& value) {
  return std::holds_alternative<config::Config>(
      config::parse_config(json::dump(value), providers::service_kinds(), generous_environment()));
}

/// Calls `visit` with copies of `root`, each with one value changed, added or removed.
void for_each_change(const Value& root, const Value::json_pointer& at,
                     const std::function<void(const Value&)>& visit) {
  const Value& here = root.at(at);
  for (const Value& other : {Value(nullptr), Value(true), Value(-1), Value(0), Value(1), Value(1.5),
                             Value("x"), Value(""), Value("*"), Value::array(), Value::object(),
                             Value("simulated"), Value(200'000'000'000)}) {
    Value changed = root;
    changed[at] = other;
    visit(changed);
  }
  if (here.is_object()) {
    Value more = root;
    more[at]["no-such-member"] = 1;
    visit(more);
  }
  if (here.is_structured())
    for (const auto& [name, member] : here.items()) {
      if (here.is_object()) {
        Value less = root;
        less[at].erase(name);
        visit(less);
      }
      for_each_change(root, here.is_array() ? at / std::stoul(name) : at / name, visit);
    }
}

/// The bounds of all members with one name, wherever they are in the schema.
struct Bounds {
  std::set<Value> inside;  ///< The bounds themselves.
  std::set<Value> beyond;  ///< The values next to them.
};
using BoundsByName = std::map<std::string, Bounds>;

Value next_above(const Value& number) {
  if (number.is_number_integer()) return number.get<std::uint64_t>() + 1;
  return std::nextafter(number.get<double>(), std::numeric_limits<double>::infinity());
}

Value next_below(const Value& number) {
  if (number.is_number_integer()) return number.get<std::int64_t>() - 1;
  return std::nextafter(number.get<double>(), -std::numeric_limits<double>::infinity());
}

void collect_bounds(const Value& root, const Value& at, BoundsByName& all) {
  if (at.is_object() && at.contains("properties"))
    for (const auto& [name, member] : at["properties"].items()) {
      const bool refers = member.is_object() && member.contains("$ref");
      const Value& its =
          refers ? root.at(Value::json_pointer(member["$ref"].get<std::string>().substr(1)))
                 : member;
      if (!its.is_object()) continue;
      if (its.contains("minimum")) {
        all[name].inside.insert(its["minimum"]);
        all[name].beyond.insert(next_below(its["minimum"]));
      }
      if (its.contains("maximum")) {
        all[name].inside.insert(its["maximum"]);
        all[name].beyond.insert(next_above(its["maximum"]));
      }
    }
  if (at.is_structured())
    for (const auto& [name, part] : at.items()) collect_bounds(root, part, all);
}

/// Calls `visit` with copies of `root`. In each copy, an object has a member that the schema bounds
/// and allows there, with one of its bounds or the value next to it.
void for_each_bound(const Value& root, const Value::json_pointer& at, const BoundsByName& all,
                    const std::function<void(const Value&)>& visit) {
  const Value& here = root.at(at);
  if (here.is_object())
    for (const auto& [name, bounds] : all) {
      Value changed = root;
      Value& member = changed[at][name];
      bool is_allowed = false;
      for (const Value& value : bounds.inside) {
        member = value;
        is_allowed = is_allowed || schema().accepts(changed);
      }
      if (!is_allowed) continue;
      for (const auto* values : {&bounds.inside, &bounds.beyond})
        for (const Value& value : *values) {
          member = value;
          visit(changed);
        }
    }
  if (here.is_structured())
    for (const auto& [name, member] : here.items())
      for_each_bound(root, here.is_array() ? at / std::stoul(name) : at / name, all, visit);
}

std::vector<std::filesystem::path> examples_and_sample() {
  std::vector<std::filesystem::path> files = example_files();
  files.push_back(config_dir() / "celld.json");
  return files;
}

/// Checks that the schema and the parser both accept this configuration, or both refuse it.
void check_agreement(const std::filesystem::path& path, const Value& changed) {
  // Rules that a schema cannot express.
  static const std::vector<std::string> beyond = {"loopback",
                                                  "must not be more than",
                                                  "must not be less than",
                                                  "the `timeout_max_ms` of the cell",
                                                  "the sum of the pool sizes",
                                                  "same customer and product",
                                                  "that the cell leaves at",
                                                  "is also the name of",
                                                  "is also the digest of",
                                                  "has the unknown secret",
                                                  "that no cell serves"};
  const auto refers_to_no_service = [](const json::Fault& fault) {
    return fault.detail == "is not a configured service";
  };
  const auto outcome =
      config::parse_config(json::dump(changed), providers::service_kinds(), generous_environment());
  const auto* faults = std::get_if<std::vector<json::Fault>>(&outcome);
  // The schema refuses only what could not be the name of a service.
  if (faults && std::all_of(faults->begin(), faults->end(), refers_to_no_service)) return;
  const bool expressible =
      faults != nullptr &&
      std::any_of(faults->begin(), faults->end(), [&](const json::Fault& fault) {
        return std::none_of(beyond.begin(), beyond.end(), [&](const std::string& text) {
          return fault.detail.find(text) != std::string::npos;
        });
      });
  if (schema().accepts(changed) == expressible) {
    INFO(
        path.string() << (expressible ? ": only the parser refuses " : ": only the schema refuses ")
                      << json::dump(changed));
    CHECK(false);
  }
}

}  // namespace

TEST_CASE("the sample configuration needs nothing from its environment") {
  const config::Environment empty{
      [](const std::string&) { return std::nullopt; },
      [](const std::string&) { return config::FileText{.fault = "cannot be read"}; }};
  const auto outcome = config::parse_config(read_file(config_dir() / "celld.json"),
                                            providers::service_kinds(), empty);
  CHECK(std::holds_alternative<config::Config>(outcome));
}

TEST_CASE("every example is a valid configuration") {
  CHECK(example_files().size() >= 2);
  for (const auto& path : example_files()) {
    INFO(path.string());
    CHECK(parser_accepts(read_json(path)));
    CHECK(schema().accepts(read_json(path)));
  }
}

TEST_CASE("the schema and the parser agree on every change to every example") {
  for (const auto& path : examples_and_sample()) {
    for_each_change(read_json(path), Value::json_pointer(),
                    [&](const Value& changed) { check_agreement(path, changed); });
  }
}

TEST_CASE("the schema and the parser agree on the bounds of every number") {
  const Value read = read_json(config_dir() / "celld.schema.json");
  BoundsByName bounds;
  collect_bounds(read, read, bounds);
  CHECK(bounds.size() > 40);
  for (const auto& path : examples_and_sample()) {
    Value root = read_json(path);
    for (const auto* section : {"/capacity", "/limits", "/defaults/customers/quota"}) {
      Value& members = root[Value::json_pointer(section)];
      if (members.is_null()) members = Value::object();
    }
    CHECK(parser_accepts(root));
    for_each_bound(root, Value::json_pointer(), bounds,
                   [&](const Value& changed) { check_agreement(path, changed); });
  }
}

TEST_CASE("the process environment resolves variables and small regular files") {
  const config::Environment environment = config::process_environment();
  CHECK(environment.variable("PATH"));
  CHECK_FALSE(environment.variable("CELLD_TEST_NO_SUCH_VARIABLE"));
  const auto sample = environment.file((config_dir() / "celld.json").string());
  CHECK(sample.fault.empty());
  CHECK(sample.content == read_file(config_dir() / "celld.json"));
  CHECK(environment.file("/no/such/file").fault == "cannot be read: No such file or directory");
  CHECK(environment.file("/dev/zero").fault == "is not a regular file");
  CHECK(environment.file("/").fault == "is not a regular file");
  CHECK(environment.file((config_dir() / "celld.schema.json").string()).fault ==
        "is longer than 64 KiB");
  CHECK(environment.file("/proc/self/mem").fault == "cannot be read: Input/output error");
}
