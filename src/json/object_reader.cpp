// Checked reading of one object: records every fault once.
#include <algorithm>
#include <charconv>
#include <utility>

#include "src/json/json.hpp"

namespace celld::json {
namespace {

// Reserved at most: enough for a usual object, and little for a hostile one.
constexpr std::size_t members_read_usual = 32;
// Bounds the response to a hostile document.
constexpr std::size_t unknown_members_noted_max = 100;

std::string number_text(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed).ptr;
  return {text, end};
}

}  // namespace

ObjectReader::ObjectReader(const Value& value, std::string pointer, std::vector<Fault>& faults)
    : pointer_(std::move(pointer)), faults_(faults) {
  if (value.is_object()) {
    object_ = &value;
    read_.reserve(std::min(value.size(), members_read_usual));
  } else {
    note_type(value, pointer_, "must be an object");
  }
}

bool ObjectReader::has(std::string_view name) const {
  return object_ != nullptr && find(name) != nullptr;
}

std::optional<std::string> ObjectReader::string(std::string_view name, std::size_t bytes_min,
                                                std::size_t bytes_max) {
  const Value* value = take(name);
  if (value == nullptr) return std::nullopt;
  const auto* text = value->get_ptr<const std::string*>();
  if (text == nullptr) {
    note_type(*value, pointer_of(name), "must be a string");
    return std::nullopt;
  }
  if (text->size() < bytes_min) {
    fault(name, text->empty() ? "must not be empty"
                              : "must have at least " + std::to_string(bytes_min) + " bytes");
    return std::nullopt;
  }
  if (text->size() > bytes_max) {
    fault(name, "must have at most " + std::to_string(bytes_max) + " bytes");
    return std::nullopt;
  }
  return *text;
}

std::optional<std::int64_t> ObjectReader::integer(std::string_view name, std::int64_t min,
                                                  std::int64_t max) {
  const Value* value = take(name);
  if (value == nullptr) return std::nullopt;
  const bool beyond = value->is_number_unsigned() &&
                      value->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX);
  if (value->is_number_integer() && !beyond) {
    const auto number = value->get<std::int64_t>();
    if (number >= min && number <= max) return number;
  }
  note_type(*value, pointer_of(name),
            "must be an integer from " + std::to_string(min) + " to " + std::to_string(max));
  return std::nullopt;
}

std::optional<double> ObjectReader::number(std::string_view name, double min, double max) {
  const Value* value = take(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) {
    const auto number = value->get<double>();
    if (number >= min && number <= max) return number;
  }
  note_type(*value, pointer_of(name),
            "must be a number from " + number_text(min) + " to " + number_text(max));
  return std::nullopt;
}

std::optional<bool> ObjectReader::boolean(std::string_view name) {
  const Value* value = take(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  note_type(*value, pointer_of(name), "must be true or false");
  return std::nullopt;
}

const Value* ObjectReader::object(std::string_view name) {
  const Value* value = take(name);
  if (value == nullptr || value->is_object()) return value;
  note_type(*value, pointer_of(name), "must be an object");
  return nullptr;
}

const Value* ObjectReader::array(std::string_view name) {
  const Value* value = take(name);
  if (value == nullptr || value->is_array()) return value;
  note_type(*value, pointer_of(name), "must be an array");
  return nullptr;
}

const Value* ObjectReader::any(std::string_view name) {
  return take(name);
}

void ObjectReader::require(std::initializer_list<std::string_view> names) {
  if (object_ == nullptr) return;
  for (const std::string_view name : names)
    if (find(name) == nullptr) fault(name, "is required");
}

void ObjectReader::refuse_reserved(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (any(name) != nullptr) fault(name, "is not available in this version");
}

void ObjectReader::fault(std::string_view name, std::string detail) {
  faults_.push_back({pointer_of(name), std::move(detail)});
}

void ObjectReader::finish() {
  if (object_ == nullptr) return;
  std::size_t unknown = 0;
  for (const auto& [name, value] : object_->get_ref<const Value::object_t&>()) {
    if (std::find(read_.begin(), read_.end(), &value) != read_.end()) continue;
    if (++unknown > unknown_members_noted_max) return;
    fault(name, "is unknown");
  }
}

const Value* ObjectReader::find(std::string_view name) const {
  const auto& members = object_->get_ref<const Value::object_t&>();
  const auto member = members.find(name);
  return member == members.end() ? nullptr : &member->second;
}

const Value* ObjectReader::take(std::string_view name) {
  if (object_ == nullptr) return nullptr;
  const Value* value = find(name);
  if (value != nullptr) read_.push_back(value);
  return value;
}

void ObjectReader::note_type(const Value& value, std::string pointer, std::string detail) {
  // A number out of range is null, and its fault was recorded by the parser.
  const auto noted = [&](const Fault& fault) { return fault.pointer == pointer; };
  if (value.is_null() && std::any_of(faults_.begin(), faults_.end(), noted)) return;
  faults_.push_back({std::move(pointer), std::move(detail)});
}

}  // namespace celld::json
