// The body of POST /v1/batches: the same jobs however it is split, as a reader of the whole body
// would find them.
#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "src/http/api/batch_splitter.hpp"
#include "src/json/json.hpp"
#include "tests/torture/fuzz/fuzzing.hpp"

using namespace celld;
using fuzz::must;
using json::Value;

namespace {

using Item = std::tuple<std::uint64_t, std::string, bool>;  // Line, text, too long.
using Make = std::unique_ptr<api::BatchSplitter> (*)(std::size_t);

constexpr std::string_view blank = " \t\r\n";

struct Whole {
  std::vector<Item> items;
  std::string fault;
  std::uint64_t line = 0;

  bool operator==(const Whole&) const = default;
};

/// `dice`: null for one piece.
Whole split(Make make, std::string_view body, std::size_t bytes_max, fuzz::Dice* dice) {
  const auto splitter = make(bytes_max);
  Whole whole;
  const auto take = [&](const api::BatchItem& item) {
    must(item.too_long ? item.text.empty() : item.text.size() <= bytes_max,
         "a text is within the limit, or not kept");
    whole.items.emplace_back(item.line, item.text, item.too_long);
  };
  while (!body.empty() && whole.fault.empty()) {
    const std::size_t bytes =
        dice ? 1 + dice->roll(std::min<std::size_t>(body.size(), 9)) : body.size();
    // A copy, so that a view of an earlier piece is seen to dangle.
    const std::string piece{body.substr(0, bytes)};
    whole.fault = splitter->split(piece, take);
    body.remove_prefix(bytes);
  }
  if (whole.fault.empty()) whole.fault = splitter->end(take);
  whole.line = splitter->line();
  return whole;
}

Whole check_split(Make make, std::string_view body, std::size_t bytes_max) {
  fuzz::Dice dice{body};
  auto whole = split(make, body, bytes_max, nullptr);
  must(split(make, body, bytes_max, &dice) == whole,
       "the jobs are the same however a body is split");
  for (std::size_t i = 0; i < whole.items.size(); ++i) {
    const auto line = std::get<0>(whole.items[i]);
    must(line < whole.line && (i == 0 || line > std::get<0>(whole.items[i - 1])),
         "the lines ascend, and the next one follows");
  }
  return whole;
}

void check_lines(std::string_view body, std::size_t bytes_max) {
  const Whole found = check_split(api::make_line_splitter, body, bytes_max);
  std::vector<Item> expected;
  std::uint64_t line = 1;
  for (std::size_t at = 0; at <= body.size(); ++line) {
    const std::size_t end = std::min(body.find('\n', at), body.size());
    const auto text = body.substr(at, end - at);
    at = end + 1;
    const bool too_long = text.size() > bytes_max;
    const bool is_blank = text.find_first_not_of(blank) == std::string_view::npos;
    if (too_long || !is_blank) expected.emplace_back(line, too_long ? "" : text, too_long);
  }
  const bool ends_with_job = !expected.empty() && std::get<0>(expected.back()) == line - 1;
  must(found.fault.empty(), "any body has lines");
  must(found.items == expected, "each line that is not blank is a job");
  must(found.line == (ends_with_job ? line : line - 1),
       "every line is counted, except a blank one after the last line break");
}

void check_array(std::string_view body, std::size_t bytes_max) {
  const Whole found = check_split(api::make_array_splitter, body, bytes_max);
  if (body.find('\0') != std::string_view::npos) return;  // It would end the text for nlohmann.
  const Value array = Value::parse(body, nullptr, false);
  if (!array.is_array()) return;
  must(found.fault.empty(), "any JSON array is an array of jobs");
  must(found.items.size() == array.size(), "each element is a job");
  for (std::size_t i = 0; i < array.size(); ++i) {
    const auto& [line, text, too_long] = found.items[i];
    must(line == i + 1, "the elements are numbered from 1");
    must(too_long || Value::parse(text, nullptr, false) == array[i], "an element is what it was");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body = fuzz::text_of(data, size);
  for (const std::size_t bytes_max : {std::size_t{8}, std::size_t{1} << 20}) {
    check_lines(body, bytes_max);
    check_array(body, bytes_max);
  }
  return 0;
}
