// Splitting a body into its jobs, however it arrives.
#include <string>
#include <vector>

#include "src/http/api/batch_splitter.hpp"
#include "tests/unit/catch.hpp"

using namespace celld::api;

namespace {

struct Found {
  std::vector<std::string> items;  ///< "LINE:TEXT", or "LINE!" for one that is too long.
  std::string fault;
  std::uint64_t line = 0;

  bool operator==(const Found&) const = default;
};

/// Passes the body in pieces of this size.
Found split(std::unique_ptr<BatchSplitter> splitter, const std::string& body, std::size_t piece) {
  Found found;
  const auto take = [&](const BatchItem& item) {
    const auto line = std::to_string(item.line);
    found.items.push_back(item.too_long ? line + "!" : line + ":" + std::string{item.text});
  };
  for (std::size_t at = 0; at < body.size() && found.fault.empty(); at += piece) {
    found.fault = splitter->split(std::string_view{body}.substr(at, piece), take);
  }
  if (found.fault.empty()) found.fault = splitter->end(take);
  found.line = splitter->line();
  return found;
}

using Make = std::unique_ptr<BatchSplitter> (*)(std::size_t);

/// The result, which must not depend on the pieces.
Found split_every_way(Make make, const std::string& body, std::size_t bytes_max = 20) {
  const auto whole = split(make(bytes_max), body, body.size() + 1);
  for (std::size_t piece = 1; piece <= body.size(); ++piece) {
    INFO("pieces of " << piece);
    CHECK(split(make(bytes_max), body, piece) == whole);
  }
  return whole;
}

using Items = std::vector<std::string>;

}  // namespace

TEST_CASE("lines are numbered from 1, blank ones are counted and skipped") {
  const auto found = split_every_way(make_line_splitter, "{\"a\":1}\n\n  \t\r\n{}\r\n{\"b\"}");
  CHECK(found.items == Items{"1:{\"a\":1}", "4:{}\r", "5:{\"b\"}"});
  CHECK(found.fault.empty());
  CHECK(split_every_way(make_line_splitter, "").items.empty());
  CHECK(split_every_way(make_line_splitter, "1\n").items == Items{"1:1"});
}

TEST_CASE("the line that follows the last one does not depend on the end of the body") {
  for (const auto* body : {"1\n2", "1\n2\n", "1\n2\n  "}) {
    CHECK(split_every_way(make_line_splitter, body).line == 3);
  }
  CHECK(split_every_way(make_line_splitter, "1\n2\n\n").line == 4);
  CHECK(split_every_way(make_line_splitter, "").line == 1);
}

TEST_CASE("a line that is too long is reported alone, and the next one is read") {
  const std::string most(20, 'x');
  const auto found =
      split_every_way(make_line_splitter, "a\n" + most + "\n" + most + "y\n" + most + most + "\nb");
  CHECK(found.items == Items{"1:a", "2:" + most, "3!", "4!", "5:b"});
  CHECK(split_every_way(make_line_splitter, "a\n" + most + "y").items == Items{"1:a", "2!"});
}

TEST_CASE("the elements of an array are found wherever brackets, commas and quotes stand") {
  const auto found = split_every_way(make_array_splitter,
                                     " [ {\"a\":[1,2]}, {\"b\":\"],\\\"}\"} ,7 ,\"\\\\\"\n]\n");
  CHECK(found.items == Items{"1:{\"a\":[1,2]}", "2:{\"b\":\"],\\\"}\"} ", "3:7 ", "4:\"\\\\\"\n"});
  CHECK(found.fault.empty());
  CHECK(split_every_way(make_array_splitter, "[1},2]").items == Items{"1:1}", "2:2"});
  CHECK(split_every_way(make_array_splitter, "[]").items.empty());
  CHECK(split_every_way(make_array_splitter, "[]").fault.empty());
}

TEST_CASE("an element that is too long is reported alone") {
  const auto found =
      split_every_way(make_array_splitter, "[{\"a\":\"" + std::string(30, ']') + "\"},{\"b\":1}]");
  CHECK(found.items == Items{"1!", "2:{\"b\":1}"});
}

TEST_CASE("an array whose syntax is broken has a fault, at the element that it concerns") {
  const auto fault_of = [](const std::string& body) {
    return split_every_way(make_array_splitter, body);
  };
  CHECK(fault_of("").fault == "The body is not a JSON array.");
  CHECK(fault_of("{}").fault == "The body is not a JSON array.");
  CHECK(fault_of("[1,2").fault == "The array is not closed.");
  CHECK(fault_of("[1,]").fault == "A comma in the array has no element before or after it.");
  CHECK(fault_of("[1,]").line == 2);
  CHECK(fault_of("[,1]").fault == "A comma in the array has no element before or after it.");
  CHECK(fault_of("[1] 2").fault == "The body goes on after its array.");
  CHECK(fault_of("[1,2").line == 2);
}
