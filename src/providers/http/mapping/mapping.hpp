// A mapping: the requests of each action, as templates, and the meaning of their answers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cells/model/job.hpp"
#include "src/config/secrets.hpp"
#include "src/json/json.hpp"
#include "src/providers/http/mapping/path.hpp"
#include "src/providers/http/mapping/template.hpp"

namespace celld::providers::mappings {

/// A JSON value in which texts are templates.
struct Body {
  struct Object;
  struct Array;
  std::variant<json::Value, Template, std::shared_ptr<const Object>, std::shared_ptr<const Array>>
      content;
};
struct Body::Object {
  std::vector<std::pair<std::string, Body>> members;
};
struct Body::Array {
  std::vector<Body> elements;
};

using NamedTemplates = std::vector<std::pair<std::string, Template>>;

/// What a status means.
enum class Verdict : std::uint8_t {
  done,
  already_done,  ///< An earlier attempt, or another client, has done it. A success, too.
  retry,
  reject,
  pending,  ///< Only of a poll: the operation has not ended.
};

/// Where the answer to a failed request says what is wrong.
struct ErrorPaths {
  std::optional<Path> code;
  std::optional<Path> message;
};

/// The meaning of an answer.
struct AnswerRules {
  /// By status, or by the class of a status: 4 for "4xx". A status takes precedence over its class.
  std::map<int, Verdict> verdicts;
  std::vector<std::pair<std::string, Path>> properties;
  std::vector<std::pair<Path, cells::Severity>> messages;
  /// Without it, failures are read like those of a service without a mapping.
  std::optional<ErrorPaths> error;
};

struct Poll;

struct Request {
  std::string method;
  std::vector<Template> path;  ///< Segments; the literal text in them is percent-encoded.
  NamedTemplates query;        ///< The literal text in the values is percent-encoded.
  NamedTemplates headers;
  NamedTemplates form;  ///< As `query`. Empty: there is no form.
  std::optional<Body> body;
  AnswerRules answer;
  /// How to poll the operation that the request begins; null: the answer ends the operation.
  std::shared_ptr<const Poll> poll;
};

/// Which values in the answer to a poll end the operation. With any other value it goes on.
struct Until {
  Path value;
  std::vector<json::Value> done;
  std::vector<json::Value> failed;
};

/// Where the answer to a request says at which URL its operation is polled.
struct UrlSource {
  Path pointer;
  std::string header;  ///< Unless empty, used instead of `pointer`.
};

/// A GET that is repeated until the operation has ended.
struct Poll {
  Request request;
  std::optional<UrlSource> url;  ///< Instead of the path and the query of `request`.
  cells::milliseconds interval{};
  std::optional<Until> until;  ///< Without it, the status alone decides.
};

struct Mapping {
  /// The requests of each action, in order. An action without requests succeeds at once.
  std::map<std::string, std::vector<Request>> actions;
  /// The requests that undo each action.
  std::map<std::string, std::vector<Request>> undo{};
  config::NamedSecrets secrets;
  /// What filters and escapes make of the secrets, to be blanked in texts like the secrets.
  std::vector<std::string> derived_secrets;
  /// As in the file, with `secrets` and literal headers and queries masked.
  json::Value shown;
  json::Value source;

  bool operator==(const Mapping& other) const {
    return source == other.source && secrets == other.secrets;
  }
};

/// The values of the secrets by name.
std::map<std::string, std::string> values_of(const config::NamedSecrets& secrets);

}  // namespace celld::providers::mappings
