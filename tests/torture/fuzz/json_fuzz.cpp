// The JSON parser, compared with nlohmann's own.
#include <algorithm>
#include <variant>
#include <vector>

#include "src/json/json.hpp"
#include "tests/torture/fuzz/fuzzing.hpp"

using namespace celld;
using fuzz::must;
using json::Document;
using json::Value;

namespace {

struct Extent {
  std::size_t nodes = 0;
  std::size_t depth = 0;
};

/// Counts the values, and checks every string on the way.
void measure(const Value& value, std::size_t depth, Extent& extent) {
  ++extent.nodes;
  if (value.is_structured()) extent.depth = std::max(extent.depth, ++depth);
  if (value.is_string())
    must(fuzz::is_clean_text(value.get_ref<const std::string&>()), "a string is UTF-8, no NUL");
  if (value.is_object()) {
    for (const auto& [name, member] : value.get_ref<const Value::object_t&>()) {
      must(fuzz::is_clean_text(name), "a key is UTF-8, no NUL");
      measure(member, depth, extent);
    }
  } else if (value.is_array()) {
    for (const Value& element : value) measure(element, depth, extent);
  }
}

Extent extent_of(const Value& value) {
  Extent extent;
  measure(value, 0, extent);
  return extent;
}

bool within(const Extent& extent, const json::ParseLimits& limits) {
  return extent.nodes <= limits.nodes_max && extent.depth <= limits.depth_max;
}

/// Whether the detail names one of the rules that valid JSON can break.
bool is_own_rule(const std::string& detail) {
  const std::vector<std::string_view> rules = {"NUL", "duplicate key", "nested deeper", "values"};
  return std::any_of(rules.begin(), rules.end(),
                     [&](std::string_view rule) { return detail.find(rule) != std::string::npos; });
}

void check_refused(std::string_view text, const json::SyntaxError& error) {
  must(!error.detail.empty() && fuzz::is_clean_text(error.detail), "a syntax error has a detail");
  must(error.detail.size() <= text.size() * 6 + 200, "a syntax error is bounded");
  must(error.offset <= text.size(), "a syntax error is within the text");
  must(!Value::accept(text) || is_own_rule(error.detail), "valid JSON is accepted");
}

/// Counts the values that nlohmann's parser reports, and keeps none.
struct Counter {
  bool null() { return count(); }
  bool boolean(bool) { return count(); }
  bool number_integer(Value::number_integer_t) { return count(); }
  bool number_unsigned(Value::number_unsigned_t) { return count(); }
  bool number_float(Value::number_float_t, const std::string&) { return count(); }
  bool string(std::string&) { return count(); }
  bool binary(Value::binary_t&) { return false; }
  bool start_object(std::size_t) { return count(); }
  bool key(std::string&) { return true; }
  bool end_object() { return true; }
  bool start_array(std::size_t) { return count(); }
  bool end_array() { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) {
    return false;
  }

  bool count() {
    ++nodes;
    return true;
  }

  std::size_t nodes = 0;
};

void check_number_faults(const Document& document) {
  must(document.number_faults.size() <= 101, "faults are bounded");
  for (const json::Fault& fault : document.number_faults) {
    if (fault.detail != "is a number out of range") {
      must(&fault == &document.number_faults.back(), "the last fault stands for more");
      continue;
    }
    const Value::json_pointer pointer(fault.pointer);
    must(document.value.contains(pointer) || fault.pointer.empty(), "a fault points to a value");
    must(document.value.at(pointer).is_null(),
         "a number that cannot be represented is read as null");
  }
}

void check_read(std::string_view text, const Document& document) {
  must(fuzz::is_clean_text(text), "a document is UTF-8 without a NUL");
  const Extent extent = extent_of(document.value);
  must(within(extent, {}), "a document is within its limits");
  Counter counter;
  if (Value::sax_parse(text, &counter)) {
    must(counter.nodes == extent.nodes, "no value of the text is lost");
  } else {
    must(!document.number_faults.empty(), "an accepted text is JSON");
  }
  check_number_faults(document);

  const std::string written = json::dump(document.value);
  const auto again = json::parse(written);
  const auto* second = std::get_if<Document>(&again);
  must(second != nullptr && second->number_faults.empty(), "written text is a document");
  must(second->value == document.value, "written text is read as the same document");
  must(json::dump(second->value) == written, "a document is always written the same way");
}

/// Checks that lower limits refuse exactly the documents that exceed them.
void check_limits(std::string_view text, const Document& document, fuzz::Dice& dice) {
  const json::ParseLimits limits{.depth_max = dice.roll(5), .nodes_max = dice.roll(20)};
  const auto parsed = json::parse(text, limits);
  const auto* limited = std::get_if<Document>(&parsed);
  must((limited != nullptr) == within(extent_of(document.value), limits),
       "a limit refuses exactly what exceeds it");
  if (limited != nullptr) must(limited->value == document.value, "a limit changes nothing else");
}

/// Reads one member in some way. It must be within the requested bounds, or have a fault.
void check_member(json::ObjectReader& reader, const std::string& name, std::size_t way,
                  const std::vector<json::Fault>& faults) {
  const bool present = reader.has(name);
  bool good = false;
  if (way == 0) {
    const auto text = reader.string(name, 1, 8);
    good = text.has_value();
    must(!text || (!text->empty() && text->size() <= 8), "a string has a length within its bounds");
  } else if (way == 1) {
    const auto number = reader.integer(name, -3, 1000);
    good = number.has_value();
    must(!number || (*number >= -3 && *number <= 1000), "an integer is in its range");
  } else if (way == 2) {
    const auto number = reader.number(name, 0, 1);
    good = number.has_value();
    must(!number || (*number >= 0 && *number <= 1), "a number is in its range");
  } else if (way == 3) {
    good = reader.boolean(name).has_value();
  } else if (way == 4) {
    const Value* member = reader.object(name);
    good = member != nullptr && member->is_object();
  } else if (way == 5) {
    const Value* member = reader.array(name);
    good = member != nullptr && member->is_array();
  } else {
    good = reader.any(name) != nullptr;
    must(good == present, "any member can be read");
  }
  const std::string pointer = reader.pointer_of(name);
  const bool faulty = std::any_of(faults.begin(), faults.end(), [&](const json::Fault& fault) {
    return fault.pointer == pointer;
  });
  must(good ? present : present == faulty, "a member is read, absent, or at fault");
}

void check_reader(const Document& document, fuzz::Dice& dice) {
  std::vector<json::Fault> faults = document.number_faults;
  json::ObjectReader reader(document.value, "", faults);
  must(reader.is_object() == document.value.is_object(), "a reader recognises an object");
  must(reader.is_object() || !faults.empty(), "anything but an object is a fault");

  std::size_t unread = 0;
  if (reader.is_object()) {
    for (const auto& [name, value] : document.value.items()) {
      const std::size_t way = dice.roll(8);
      if (way == 7) {
        ++unread;
      } else {
        check_member(reader, name, way, faults);
      }
    }
    if (!reader.has("absent")) check_member(reader, "absent", dice.roll(7), faults);
  }
  const std::size_t before = faults.size();
  reader.finish();
  must(faults.size() - before == std::min<std::size_t>(unread, 100),
       "unread members are faults, up to 100");
  for (const json::Fault& fault : faults) {
    must(!fault.detail.empty() && fuzz::is_clean_text(fault.detail), "a fault has a detail");
    must(fault.pointer.empty() || fault.pointer.front() == '/', "a fault has a pointer");
  }
}

/// Checks that quoting any bytes gives a JSON string.
void check_quoting(std::string_view text) {
  const auto parsed = json::parse(json::quote(text));
  const auto* document = std::get_if<Document>(&parsed);
  if (text.find('\0') != std::string_view::npos) return;
  must(document != nullptr && document->value.is_string(), "quoted text is a string");
  if (fuzz::is_clean_text(text)) must(document->value == text, "quoted text stays the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::Dice dice(text);
  const auto parsed = json::parse(text);
  if (const auto* document = std::get_if<Document>(&parsed)) {
    check_read(text, *document);
    check_limits(text, *document, dice);
    check_reader(*document, dice);
  } else {
    check_refused(text, std::get<json::SyntaxError>(parsed));
  }
  check_quoting(text);
  return 0;
}
