// celld's JSON layer: strict parsing, checked reading, safe writing. No code outside this directory
// parses JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

namespace celld::json {

using Value = nlohmann::json;

/// A fault of one member of a document.
struct Fault {
  std::string pointer;  ///< RFC 6901; empty: the document as a whole.
  std::string detail;   ///< For people, such as "is required"; never a parser's own text.

  bool operator==(const Fault&) const = default;
};

struct ParseLimits {
  std::size_t depth_max = 64;
  std::size_t nodes_max = 50'000;  ///< Values in the document; bounds its memory.
};

/// Why a text was refused: not JSON, a duplicate key, invalid UTF-8, nested too deep, too many
/// values, a NUL, or text after the end.
struct SyntaxError {
  std::string detail;            ///< "line L, column C: ..."; never a parser library's own text.
  std::size_t offset = 0;        ///< Byte offset.
  bool too_many_values = false;  ///< The limit nodes_max was exceeded.
};

struct Document {
  Value value;
  /// Numbers that fit neither a 64-bit integer nor a double; each is null in `value`. At most 101:
  /// see number_faults.hpp.
  std::vector<Fault> number_faults;
};

std::variant<Document, SyntaxError> parse(std::string_view text, const ParseLimits& limits = {});

/// Whether `text` is one value by the grammar of JSON, whatever `parse` says of its duplicate keys,
/// its depth, its number of values and its numbers.
bool follows_grammar(std::string_view text);

/// Compact text. Never throws: invalid UTF-8 is replaced.
std::string dump(const Value& value);

/// `text` as a JSON string with quotes; invalid UTF-8 is replaced.
std::string quote(std::string_view text);
/// Appends `quote(text)` to `out`.
void append_quoted(std::string& out, std::string_view text);

/// `base` + "/" + `name`, escaped by RFC 6901.
std::string pointer_to(std::string_view base, std::string_view name);
std::string pointer_to(std::string_view base, std::size_t index);

/// Reads the members of one object and records every fault. An accessor returns nothing if the
/// member is absent, or if it is wrong and a fault was recorded. After the last read, `finish`
/// records each member that was not read as unknown. Put a document's `number_faults` into `faults`
/// before its first reader, so that such a number is not reported as a wrong type as well.
class ObjectReader {
 public:
  /// If `value` is not an object, records a fault; every member then reads as absent.
  ObjectReader(const Value& value, std::string pointer, std::vector<Fault>& faults);

  bool is_object() const { return object_ != nullptr; }
  bool has(std::string_view name) const;  ///< Present with any type, null included.
  const std::string& pointer() const { return pointer_; }
  std::string pointer_of(std::string_view name) const { return pointer_to(pointer_, name); }

  std::optional<std::string> string(std::string_view name, std::size_t bytes_min = 0,
                                    std::size_t bytes_max = 4096);
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t min, std::int64_t max);
  std::optional<double> number(std::string_view name, double min, double max);
  std::optional<bool> boolean(std::string_view name);
  /// The member itself, or a null pointer if it is absent or has another type, which is a fault.
  const Value* object(std::string_view name);
  const Value* array(std::string_view name);
  const Value* any(std::string_view name);

  /// Records "is required" for each of `names` that is absent.
  void require(std::initializer_list<std::string_view> names);
  /// Records each of `names` that is present: these members are reserved for later versions.
  void refuse_reserved(std::initializer_list<std::string_view> names);
  /// Records a fault of the member.
  void fault(std::string_view name, std::string detail);
  /// Records a fault of something inside a member.
  void fault_at(std::string pointer, std::string detail) {
    faults_.push_back({std::move(pointer), std::move(detail)});
  }
  void finish();

 private:
  const Value* find(std::string_view name) const;
  const Value* take(std::string_view name);
  void note_type(const Value& value, std::string pointer, std::string detail);

  const Value* object_ = nullptr;
  std::string pointer_;
  std::vector<Fault>& faults_;
  std::vector<const Value*> read_;  ///< The members that were asked for.
};

}  // namespace celld::json
