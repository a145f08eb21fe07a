// What a function logs, as JSON.
#pragma once

#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "src/json/json.hpp"
#include "src/logs/log.hpp"
#include "tests/unit/catch.hpp"

namespace celld::test {

/// The lines that `write` logs at `level`, without their times.
template <class Write>
std::vector<json::Value> logged_lines(logs::Level level, Write write) {
  constexpr std::chrono::milliseconds patience{10'000};
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::tmpfile(), std::fclose};
  REQUIRE(file);
  {
    logs::Log log{{.level = level, .format = logs::Format::json}, file.get()};
    write(log);
    REQUIRE(log.finish(patience));
  }
  REQUIRE(std::fseek(file.get(), 0, SEEK_SET) == 0);
  std::vector<json::Value> lines;
  std::array<char, 4096> line{};
  while (std::fgets(line.data(), line.size(), file.get()) != nullptr) {
    auto parsed = json::parse(line.data());
    REQUIRE(std::holds_alternative<json::Document>(parsed));
    lines.push_back(std::get<json::Document>(std::move(parsed)).value);
    lines.back().erase("time");
  }
  return lines;
}

}  // namespace celld::test
