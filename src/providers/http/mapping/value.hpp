// The values of expressions, for one job.
#pragma once

#include <map>
#include <string>
#include <variant>

#include "src/json/json.hpp"
#include "src/providers/http/mapping/template.hpp"

namespace celld::providers::mappings {

/// What expressions refer to.
struct Scope {
  /// The document of the job, as call_document() describes it.
  json::Value document;
  /// The values of `secrets` by name.
  std::map<std::string, std::string> secrets{};
  /// Texts that stand for the properties that answers to earlier requests of the action will set.
  std::map<std::string, std::string> stand_ins{};
  /// Any other property may be set by an answer that is not known yet.
  bool expects_properties = false;
  /// Shows `***` for each secret.
  bool mask_secrets = false;
};

struct Found {
  json::Value value;
};
/// There is no such value, and the expression has no default.
struct Missing {};
/// A text that is shown as it is, without filters and without escapes.
struct Shown {
  std::string text;
};
/// Why the job cannot be expressed: a clause whose subject is the value, without a full stop.
/// Contains no secret.
struct Refusal {
  std::string text;
};
using Evaluated = std::variant<Found, Missing, Shown, Refusal>;

Evaluated evaluate(const Expression& expression, const Scope& scope);

/// The text of a string, a number or a boolean.
std::variant<std::string, Refusal> text_of(const json::Value& value, const std::string& name);

/// "`parameters.ttl` is missing".
Refusal missing(const Expression& expression);

}  // namespace celld::providers::mappings
