// The JSON Schema of mappings.
#include <string>

#include "src/providers/http/mapping/read.hpp"

namespace celld::providers::mappings {
namespace {

constexpr const char* whole_schema = R"json({
  "description": "The requests of each action.",
  "type": "object",
  "required": ["actions"],
  "additionalProperties": false,
  "properties": {
    "secrets": {
      "description": "Values for templates. They may be env:NAME or file:PATH.",
      "type": "object",
      "maxProperties": 32,
      "propertyNames": {"pattern": "^[A-Za-z0-9_-]{1,128}$"},
      "additionalProperties": {"type": "string", "minLength": 1, "maxLength": 16384}
    },
    "error": ERROR,
    "actions": ACTIONS,
    "undo": UNDOS
  }
})json";

constexpr const char* actions_schema = R"json({
  "description": "DESCRIPTION",
  "type": "object",
  "minProperties": 1,
  "maxProperties": 100,
  "propertyNames": {"minLength": 1, "maxLength": 63},
  "additionalProperties": {
    "oneOf": [REQUEST, {"type": "array", "maxItems": 16, "items": REQUEST}]
  }
})json";

constexpr const char* request_schema = R"json({
  "type": "object",
  "required": ["method", "path"],
  "additionalProperties": false,
  "properties": {
    "method": {"type": "string", "enum": ["GET", "POST", "PUT", "PATCH", "DELETE"]},
    "path": TARGET,
    "query": QUERY,
    "headers": HEADERS,
    "body": {"description": "A JSON value, in which each string is a template."},
    "form": {
      "description": "Templates by name, sent as application/x-www-form-urlencoded.",
      "type": "object",
      "minProperties": 1,
      "maxProperties": 64,
      "propertyNames": {"minLength": 1, "maxLength": 128},
      "additionalProperties": SCALAR
    },
    "answer": ANSWER,
    "poll": POLL
  }
})json";

constexpr const char* path_schema = R"json({
  "description": "A template, appended to the service's URL.",
  "type": "string",
  "pattern": "^($|/)",
  "maxLength": 2048
})json";

constexpr const char* query_schema = R"json({
  "description": "Templates by name.",
  "type": "object",
  "maxProperties": 64,
  "propertyNames": {"minLength": 1, "maxLength": 128},
  "additionalProperties": SCALAR
})json";

constexpr const char* headers_schema = R"json({
  "description": "Templates by name.",
  "type": "object",
  "maxProperties": 32,
  "propertyNames": {"pattern": "^[-!#$%&'*+.^_`|~0-9A-Za-z]{1,128}$"},
  "additionalProperties": {"type": "string", "minLength": 1, "maxLength": 8192}
})json";

constexpr const char* answer_schema = R"json({
  "description": "What the answer means.",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "done": STATUSES,
    "already_done": STATUSES,
    "retry": STATUSES,
    "reject": STATUSES,PENDING
    "properties": {
      "description": "JSON Pointers into the answer, by property.",
      "type": "object",
      "maxProperties": 64,
      "propertyNames": {"pattern": "^[A-Za-z0-9_-]{1,128}$"},
      "additionalProperties": POINTER
    },
    "messages": {
      "description": "Severities, by JSON Pointer into the answer.",
      "type": "object",
      "maxProperties": 64,
      "propertyNames": POINTER,
      "additionalProperties": {"type": "string", "enum": ["info", "warning", "error"]}
    },
    "error": ERROR
  }
})json";

constexpr const char* poll_schema = R"json({
  "description": "A GET that is repeated until the operation that the request begins has ended.",
  "type": "object",
  "oneOf": [{"required": ["path"]}, {"required": ["url"], "not": {"required": ["query"]}}],
  "additionalProperties": false,
  "properties": {
    "path": TARGET,
    "query": QUERY,
    "url": {
      "description": "Where the answer to the request has the URL of the poll.",
      "oneOf": [
        POINTER,
        {
          "type": "object",
          "required": ["header"],
          "additionalProperties": false,
          "properties": {
            "header": {"type": "string", "pattern": "^[-!#$%&'*+.^_`|~0-9A-Za-z]{1,128}$"}
          }
        }
      ]
    },
    "headers": HEADERS,
    "interval_ms": {"type": "integer", "minimum": 100, "maximum": 3600000, "default": 1000},
    "until": {
      "description": "Which values in the answer end the operation.",
      "type": "object",
      "required": ["value", "done"],
      "additionalProperties": false,
      "properties": {"value": POINTER, "done": VALUES, "failed": VALUES}
    },
    "answer": OUTCOME
  }
})json";

constexpr const char* values_schema = R"json({
  "type": "array",
  "minItems": 1,
  "maxItems": 64,
  "items": {
    "oneOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}, {"const": null}]
  }
})json";

constexpr const char* error_schema = R"json({
  "description": "Where a failure has its code and its message.",
  "type": "object",
  "additionalProperties": false,
  "properties": {"code": POINTER, "message": POINTER}
})json";

constexpr const char* statuses_schema = R"json({
  "type": "array",
  "items": {
    "oneOf": [
      {"type": "integer", "minimum": 200, "maximum": 599},
      {"type": "string", "pattern": "^[2-5]xx$"}
    ]
  }
})json";

constexpr const char* pointer_schema =
    R"json({"type": "string", "pattern": "^(/([^/~]|~[01])*)*$", "maxLength": 8192})json";

constexpr const char* scalar_schema =
    R"json({"oneOf": [{"type": "string", "maxLength": 8192}, {"type": "number"}, {"type": "boolean"}]})json";

void replace_all(std::string& text, std::string_view name, std::string_view by) {
  for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at + by.size()))
    text.replace(at, name.size(), by);
}

std::string answer_rules(std::string_view pending) {
  std::string text = answer_schema;
  replace_all(text, "PENDING", pending);
  return text;
}

std::string actions(std::string_view description) {
  std::string text = actions_schema;
  replace_all(text, "DESCRIPTION", description);
  return text;
}

std::string make_schema() {
  std::string text = whole_schema;
  replace_all(text, "ACTIONS", actions("One request, or several in order."));
  replace_all(text, "UNDOS", actions("The requests that undo an action, when a job compensates."));
  replace_all(text, "REQUEST", request_schema);
  replace_all(text, "POLL", poll_schema);
  replace_all(text, "OUTCOME", answer_rules(" \"pending\": STATUSES,"));
  replace_all(text, "TARGET", path_schema);
  replace_all(text, "QUERY", query_schema);
  replace_all(text, "HEADERS", headers_schema);
  replace_all(text, "ANSWER", answer_rules(""));
  replace_all(text, "VALUES", values_schema);
  replace_all(text, "ERROR", error_schema);
  replace_all(text, "STATUSES", statuses_schema);
  replace_all(text, "POINTER", pointer_schema);
  replace_all(text, "SCALAR", scalar_schema);
  return text;
}

}  // namespace

std::string_view mapping_schema() {
  static const std::string text = make_schema();
  return text;
}

}  // namespace celld::providers::mappings
