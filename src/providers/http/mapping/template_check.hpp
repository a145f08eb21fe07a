// Reads the templates of a mapping, and finds expressions and texts that their contexts cannot
// hold.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/json/json.hpp"
#include "src/providers/http/mapping/escaping.hpp"
#include "src/providers/http/mapping/mapping.hpp"

namespace celld::providers::mappings {

/// The names and values that templates may use, and the faults found so far.
class TemplateReader {
 public:
  using Faults = std::vector<json::Fault>;

  TemplateReader(const config::NamedSecrets& secrets, Faults& faults);

  /// The template at `pointer`; nothing after a fault.
  std::optional<Template> read(const std::string& text, const std::string& pointer,
                               EscapeContext context);
  /// As read(), for a path: one template for each of its segments.
  std::vector<Template> read_path(const std::string& text, const std::string& pointer);
  Body read_body(const json::Value& value, const std::string& pointer);

  /// What the templates make of secrets, to be blanked in texts.
  const std::set<std::string>& derived_secrets() const { return derived_; }

 private:
  bool check(const Expression& expression, bool is_whole, const std::string& pointer,
             EscapeContext context);
  bool check_without_job(const Expression& expression, bool keeps_json, const std::string& pointer,
                         EscapeContext context);
  std::string defaults_fault(const std::vector<Template>& segments) const;
  void derive(const std::string& escaped, EscapeContext context);
  bool refuse(const std::string& pointer, std::string detail);

  std::set<std::string> names_;
  Scope scope_;  ///< Of the secrets, without a job.
  Faults& faults_;
  std::set<std::string> derived_;
};

}  // namespace celld::providers::mappings
