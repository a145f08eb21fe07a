#include "src/cli/reload_view.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "src/cli/members.hpp"
#include "src/cli/text.hpp"

namespace celld::cli {
namespace {

struct Change {
  std::string_view member;
  std::string_view words;
};
constexpr std::array<Change, 3> changes = {
    {{"added", " added"}, {"changed", " changed"}, {"removed", " removed"}}};

std::string cell_name(const json::Value& cell) {
  return text_at(cell, {"customer"}) + "/" + text_at(cell, {"product"});
}

/// An element of a list of names; empty when it is not a string.
std::string text_of(const json::Value& value) {
  return value.is_string() ? value.get<std::string>() : "";
}

std::string line(const std::string& text) {
  return "  " + cleaned(text) + "\n";
}

std::string changed_lines(const json::Value& report) {
  std::string lines;
  for (const auto& [member, words] : changes) {
    for (const json::Value& cell : elements_at(report, {"changed", "cells", member}))
      lines += line("cell " + cell_name(cell) + std::string(words));
  }
  for (const auto& [member, words] : changes) {
    for (const json::Value& name : elements_at(report, {"changed", "services", member}))
      lines += line("service " + text_of(name) + std::string(words));
  }
  for (const json::Value& pointer : elements_at(report, {"changed", "settings"}))
    lines += line(text_of(pointer) + " changed");
  return lines;
}

/// An override may be in force only as far as the capacity has room, and may equal the file.
std::string masked_line(const json::Value& masked) {
  const auto& in_force = member_at(masked, {"in_force"});
  const auto& configured = member_at(masked, {"configured"});
  const std::string subject =
      text_at(masked, {"setting"}) + " of cell " + cell_name(member_at(masked, {"cell"}));
  if (in_force == configured) {
    return line(subject + " is " + limit_text(configured) +
                ", as configured; an override of it is set");
  }
  return line(subject + " stays " + limit_text(in_force) +
              " because of an override; configured: " + limit_text(configured));
}

}  // namespace

std::string reload_text(const json::Value& report) {
  std::string lines = changed_lines(report);
  std::string text = "celld has reloaded its configuration";
  text += lines.empty() ? "; nothing changed\n" : "\n";
  for (const json::Value& masked : elements_at(report, {"masked"})) lines += masked_line(masked);
  for (const json::Value& pointer : elements_at(report, {"restart_required"}))
    lines +=
        line(text_of(pointer) + " differs in the file; the change takes effect at the next start");
  return text + lines;
}

}  // namespace celld::cli
