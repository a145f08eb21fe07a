// Strict parsing: a SAX handler over nlohmann's parser builds the document itself, so that every
// limit is checked before memory is spent and duplicate keys are found at no extra cost.
#include "src/json/json.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "src/json/number_faults.hpp"

namespace celld::json {
namespace {

// Bounds on the faults of one document and on their pointers, which repeat the document's keys.
constexpr std::size_t number_faults_max = 100;
constexpr std::size_t number_fault_pointers_bytes_max = 64 << 10;

/// Iterates over the text and publishes its position for the SAX handler, because nlohmann reports
/// positions only for errors that it finds itself.
class Cursor {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, const char** shared) : at_(at), shared_(shared) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    *shared_ = ++at_;
    return *this;
  }
  Cursor operator++(int) {
    Cursor before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Cursor& other) const { return at_ == other.at_; }
  bool operator!=(const Cursor& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** shared_;
};

/// Builds the document. Stops with `reason` set at a NUL, a duplicate key or an exceeded limit.
class Builder {
 public:
  Builder(const ParseLimits& limits, const std::vector<std::size_t>& overflows)
      : limits_(limits), overflows_(overflows) {}

  bool null() { return scalar(nullptr); }
  bool boolean(bool value) { return scalar(value); }
  bool number_integer(Value::number_integer_t value) { return number(value); }
  bool number_unsigned(Value::number_unsigned_t value) { return number(value); }
  bool number_float(Value::number_float_t value, const std::string& text) {
    // nlohmann also passes integers that do not fit in 64 bits.
    if (text.find_first_of(".eE") == std::string::npos) return unreadable_number();
    return number(value);
  }
  bool string(std::string& value) {
    if (value.find('\0') != std::string::npos) return stop("a string contains a NUL character");
    return scalar(std::move(value));
  }
  bool binary(Value::binary_t&) { return stop("binary values are not JSON"); }

  bool start_object(std::size_t) { return open(Value::value_t::object); }
  bool key(std::string& name) {
    if (name.find('\0') != std::string::npos) return stop("a key contains a NUL character");
    auto [member, inserted] =
        open_.back().value->get_ref<Value::object_t&>().emplace(std::move(name), nullptr);
    if (!inserted) return stop("duplicate key " + quote(member->first));
    open_.back().key = &member->first;
    open_.back().member = &member->second;
    return true;
  }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(Value::value_t::array); }
  bool end_array() { return close(); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) {
    error_position = position;
    number_overflow = e.id == 406;
    const std::string_view what = e.what();  // Ends with the text that was read last.
    lone_surrogate = what.substr(0, what.find("; last read")).find("surrogate") != what.npos;
    return false;
  }

  bool complete() const { return nodes_ > 0 && open_.empty(); }

  Document document;
  std::string reason;              ///< Why this handler stopped; empty: the parser stopped.
  std::size_t error_position = 0;  ///< Characters read when the parser stopped.
  bool number_overflow = false;    ///< The parser stopped at a number beyond double.
  bool too_many_values = false;
  bool lone_surrogate = false;  ///< The parser stopped at half of a pair.

 private:
  struct Open {
    Value* value;
    const std::string* key = nullptr;  ///< In an object: the key of the member being read.
    Value* member = nullptr;
  };

  bool stop(std::string why) {
    reason = std::move(why);
    return false;
  }

  bool count() {
    if (++nodes_ <= limits_.nodes_max) return true;
    too_many_values = true;
    return stop("the document has more than " + std::to_string(limits_.nodes_max) + " values");
  }

  Value* place(Value&& value) {
    if (open_.empty()) return &(document.value = std::move(value));
    Open& parent = open_.back();
    if (parent.member != nullptr) return &(*parent.member = std::move(value));
    auto& array = parent.value->get_ref<Value::array_t&>();
    return &array.emplace_back(std::move(value));
  }

  template <class T>
  bool scalar(T&& value) {
    if (!count()) return false;
    place(Value(std::forward<T>(value)));
    return true;
  }

  template <class T>
  bool number(T value) {
    if (next_overflow_ < overflows_.size() && overflows_[next_overflow_] == numbers_) {
      ++next_overflow_;
      return unreadable_number();
    }
    ++numbers_;
    return scalar(value);
  }

  bool unreadable_number() {
    ++numbers_;
    if (!scalar(nullptr)) return false;
    auto& faults = document.number_faults;
    if (faults.size() < number_faults_max && pointer_bytes_ < number_fault_pointers_bytes_max) {
      faults.push_back({pointer(), "is a number out of range"});
      pointer_bytes_ += faults.back().pointer.size();
    } else if (faults.empty() || faults.back().detail != more_number_faults) {
      faults.push_back({"", more_number_faults});
    }
    return true;
  }

  bool open(Value::value_t type) {
    if (open_.size() >= limits_.depth_max)
      return stop("the document is nested deeper than " + std::to_string(limits_.depth_max) +
                  " levels");
    if (!count()) return false;
    open_.push_back({place(Value(type))});
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  /// The pointer of the value placed last.
  std::string pointer() const {
    std::string at;
    for (const Open& open : open_)
      at = open.key != nullptr ? pointer_to(at, *open.key) : pointer_to(at, open.value->size() - 1);
    return at;
  }

  const ParseLimits& limits_;
  const std::vector<std::size_t>& overflows_;
  std::vector<Open> open_;
  std::size_t nodes_ = 0;
  std::size_t numbers_ = 0;
  std::size_t next_overflow_ = 0;
  std::size_t pointer_bytes_ = 0;
};

/// The offset of the first byte that is not valid UTF-8; npos if there is none.
std::size_t find_invalid_utf8(std::string_view text) {
  std::size_t at = 0;
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto follows = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return byte(i) >= low && byte(i) <= high;
  };
  while (at < text.size()) {
    const unsigned lead = byte(at);
    std::size_t length = 0;
    if (lead < 0x80) {
      length = 1;
    } else if (lead >= 0xC2 && lead <= 0xDF) {
      length = follows(at + 1) ? 2 : 0;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
      // Excludes overlong forms and surrogates.
      const bool second = follows(at + 1, lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF);
      length = second && follows(at + 2) ? 3 : 0;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
      const bool second = follows(at + 1, lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF);
      length = second && follows(at + 2) && follows(at + 3) ? 4 : 0;
    }
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

/// "line 3, column 14: detail"; both count from 1, columns in characters.
SyntaxError error_at(std::string_view text, std::size_t offset, const std::string& detail) {
  offset = std::min(offset, text.size());
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::string_view row =
      newline == std::string_view::npos ? before : before.substr(newline + 1);
  const auto column =
      1 + std::count_if(row.begin(), row.end(), [](char c) { return (c & 0xC0) != 0x80; });
  return {"line " + std::to_string(line) + ", column " + std::to_string(column) + ": " + detail,
          offset};
}

/// The whole UTF-8 character that begins at `offset`.
std::string_view character_at(std::string_view text, std::size_t offset) {
  const auto continues = [&](std::size_t i) { return (text[i] & 0xC0) == 0x80; };
  std::size_t end = offset + 1;
  while (end < text.size() && continues(end)) ++end;
  return text.substr(offset, end - offset);
}

/// An error of nlohmann's parser, in celld's own words.
SyntaxError explain(std::string_view text, const Builder& builder) {
  const std::size_t offset = builder.error_position > 0 ? builder.error_position - 1 : 0;
  const std::size_t invalid = find_invalid_utf8(text);
  if (invalid <= offset) return error_at(text, invalid, "invalid UTF-8");
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return error_at(text, text.size(), "the document is empty");
  if (offset >= text.size()) return error_at(text, offset, "unexpected end of the document");
  if (builder.complete()) return error_at(text, offset, "unexpected text after the document");
  if (static_cast<unsigned char>(text[offset]) < 0x20)
    return error_at(text, offset, "control characters must be escaped");
  if (builder.lone_surrogate)
    return error_at(text, offset,
                    "half of a surrogate pair; a pair is \\ud800 to \\udbff, then \\udc00 to "
                    "\\udfff");
  return error_at(text, offset, "unexpected " + quote(character_at(text, offset)));
}

SyntaxError stopped_at(std::string_view text, std::size_t offset, const Builder& builder) {
  SyntaxError error = error_at(text, offset, builder.reason);
  error.too_many_values = builder.too_many_values;
  return error;
}

/// Of a number that strtod takes: no zero before another digit, and a digit on each side of the
/// point.
bool has_form_of_json(std::string_view number) {
  const auto is_digit = [&](std::size_t at) {
    return at < number.size() && number[at] >= '0' && number[at] <= '9';
  };
  const std::size_t begin = number.starts_with('-') ? 1 : 0;
  const std::size_t point = number.find('.');
  return is_digit(begin) && (number[begin] != '0' || !is_digit(begin + 1)) &&
         (point == std::string_view::npos || is_digit(point + 1));
}

/// Replaces each number beyond double by 0, because nlohmann's parser stops at such a number.
/// Returns their indexes among all numbers of the text.
std::vector<std::size_t> blank_overflows(std::string& text) {
  std::vector<std::size_t> overflows;
  std::size_t numbers = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at)
        if (text[at] == '\\') ++at;
      ++at;
    } else if (text[at] == '-' || (text[at] >= '0' && text[at] <= '9')) {
      std::size_t end = text.find_first_not_of("0123456789+-.eE", at);
      if (end == std::string::npos) end = text.size();
      const std::string number = text.substr(at, end - at);
      char* rest = nullptr;
      // strtod also takes numbers that JSON does not; the parser refuses them where they stand.
      if (!std::isfinite(std::strtod(number.c_str(), &rest)) && *rest == '\0' &&
          has_form_of_json(number)) {
        overflows.push_back(numbers);
        text.replace(at, end - at, "0" + std::string(end - at - 1, ' '));
      }
      ++numbers;
      at = end;
    } else {
      ++at;
    }
  }
  return overflows;
}

bool run(std::string_view text, Builder& builder, std::size_t& position) {
  const char* at = text.data();
  const bool good =
      Value::sax_parse(Cursor(text.data(), &at), Cursor(text.data() + text.size(), &at), &builder);
  position = static_cast<std::size_t>(at - text.data());
  return good;
}

}  // namespace

std::variant<Document, SyntaxError> parse(std::string_view text, const ParseLimits& limits) {
  // nlohmann takes a NUL for the end of the text and ignores what follows.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos)
    return error_at(text, nul, "NUL characters are not allowed");

  std::vector<std::size_t> overflows;
  std::size_t position = 0;
  Builder builder(limits, overflows);
  if (run(text, builder, position)) return std::move(builder.document);
  if (!builder.reason.empty()) return stopped_at(text, position - 1, builder);
  if (!builder.number_overflow) return explain(text, builder);

  std::string readable(text);
  overflows = blank_overflows(readable);
  Builder second(limits, overflows);
  if (run(readable, second, position)) return std::move(second.document);
  if (!second.reason.empty()) return stopped_at(text, position - 1, second);
  if (second.number_overflow) return error_at(text, position, "a number is out of range");
  return explain(text, second);
}

bool follows_grammar(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return false;
  if (Value::accept(text)) return true;
  std::string readable(text);
  return !blank_overflows(readable).empty() && Value::accept(readable);
}

}  // namespace celld::json
