// Reads celld's responses without trusting them: missing or mistyped members read as empty.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "src/json/json.hpp"

namespace celld::cli {

using Path = std::initializer_list<std::string_view>;

/// Nothing when `body` is not JSON.
std::optional<json::Value> parse_answer(std::string_view body);

/// The member at the end of `path`; null when it is missing.
const json::Value& member_at(const json::Value& value, Path path);

std::string text_at(const json::Value& value, Path path);
std::int64_t integer_at(const json::Value& value, Path path);
double number_at(const json::Value& value, Path path);
bool truth_at(const json::Value& value, Path path);

/// A limit for people; "none" for null.
std::string limit_text(const json::Value& limit);

/// The array at the end of `path`; empty when it is missing.
const json::Value& elements_at(const json::Value& value, Path path);

}  // namespace celld::cli
