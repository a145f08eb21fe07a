// The path of a request: it matches the endpoints that it names segment by segment, and no other.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cells/model/ids.hpp"
#include "src/http/endpoints.hpp"
#include "src/http/target.hpp"
#include "tests/torture/fuzz/fuzzing.hpp"

using namespace celld;
using fuzz::must;

namespace {

constexpr std::array<std::string_view, 7> patterns = {
    "/v1/jobs", "/v1/jobs/{}", "/v1/jobs/{}/events",        "/v1/cells/{}/{}",
    "/livez",   "/a.b+c",      "/v1/admin/cells/{}/{}/pool"};

std::vector<std::string> segments_of(std::string_view path) {
  std::vector<std::string> segments(1);
  for (const char c : path) {
    if (c == '/') {
      segments.emplace_back();
    } else {
      segments.back() += c;
    }
  }
  return segments;
}

/// What each `{}` of the pattern stands for; nothing if the path does not match it.
std::optional<std::vector<std::string>> captures(std::string_view pattern, std::string_view path) {
  const auto expected = segments_of(pattern);
  const auto found = segments_of(path);
  if (expected.size() != found.size()) return std::nullopt;
  std::vector<std::string> captured;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (expected[i] == "{}" && !found[i].empty()) {
      captured.push_back(found[i]);
    } else if (expected[i] != found[i]) {
      return std::nullopt;
    }
  }
  return captured;
}

void check_captures(const std::vector<std::string_view>& found,
                    const std::vector<std::string>& expected) {
  must(std::equal(found.begin(), found.end(), expected.begin(), expected.end()),
       "each capture is one segment");
  for (const auto segment : found) {
    const auto name = http::percent_decode(segment);
    must(name && fuzz::is_clean_text(*name), "a captured name is text");
    if (const auto id = cells::parse_job_id(*name))
      must(cells::format_job_id(*id) == *name, "a job has one id");
  }
}

void check_match(const http::Target& target) {
  for (const auto pattern : patterns) {
    const auto expected = captures(pattern, target.match_path);
    const auto match = http::match_path(pattern, target.match_path);
    must(match.has_value() == expected.has_value(), "a path matches the pattern that it names");
    if (match) check_captures(*match, *expected);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parsed = http::parse_target(fuzz::text_of(data, size));
  const auto* target = std::get_if<http::Target>(&parsed);
  if (target == nullptr) {
    must(!std::get<std::string>(parsed).empty(), "a refusal says why");
  } else {
    check_match(*target);
  }
  return 0;
}
