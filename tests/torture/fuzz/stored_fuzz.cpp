// The JSON texts in the columns of a stored job: each is refused, or read as what it says.
#include <optional>
#include <variant>

#include "src/json/json.hpp"
#include "src/store/job_texts.hpp"
#include "src/store/sqlite.hpp"
#include "tests/torture/fuzz/fuzzing.hpp"

using namespace celld;
using fuzz::must;
using json::Value;

namespace {

/// What `read` makes of the text; nothing if it refuses it.
template <class Read>
auto attempt(Read read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const store::SqliteFailure& failure) {
    must(std::string_view(failure.what()).ends_with("of a stored job cannot be read"),
         "a refusal says what cannot be read");
    return std::nullopt;
  }
}

std::optional<Value> parsed(std::string_view text) {
  auto outcome = json::parse(text);
  auto* document = std::get_if<json::Document>(&outcome);
  if (document == nullptr || !document->number_faults.empty()) return std::nullopt;
  return std::move(document->value);
}

/// Whether `original` says the same as `written`, which has every member that celld knows.
bool agrees(const Value& original, const Value& written) {
  if (written.is_object()) {
    for (const auto& [name, value] : written.items())
      if (original.contains(name) && !agrees(original.at(name), value)) return false;
    return original.is_object();
  }
  if (!written.is_array()) return original == written;
  if (!original.is_array() || original.size() != written.size()) return false;
  for (std::size_t i = 0; i < written.size(); ++i)
    if (!agrees(original[i], written[i])) return false;
  return true;
}

/// Checks a column that `read` reads and `write` writes. `write` returns an empty text for what a
/// new job has.
template <class Read, class Write>
void check(std::string_view text, Read read, Write write) {
  const auto value = attempt([&] { return read(text); });
  if (!value) return;
  const std::string written = write(*value);
  const auto again = attempt([&] { return read(written); });
  must(again == value, "what was read is read again as it is written");
  const auto original = parsed(text);
  must(text.empty() || original, "only JSON is read");
  if (!written.empty()) must(agrees(*original, *parsed(written)), "a text is read as what it says");
}

/// The values of properties are copied, not read: they are what they were when they were stored.
void check_properties(std::string_view text) {
  const auto properties = attempt([&] { return store::read_properties(text); });
  if (!properties) return;
  const std::string written = store::properties_text(*properties);
  must(written == text || properties->empty(), "properties are read byte for byte");
}

std::size_t steps_in(std::string_view text) {
  const auto value = parsed(text);
  return value && value->is_array() ? value->size() : 1;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  check(text, store::read_services, store::services_text);
  check(text, store::read_labels, store::labels_text);
  check(text, store::read_messages, store::messages_text);
  check(text, store::read_error, store::error_text);
  check(
      text, [&](std::string_view steps) { return store::read_steps(steps, steps_in(text)); },
      store::steps_text);
  check_properties(text);
  return 0;
}
