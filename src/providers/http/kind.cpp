#include "src/providers/http/kind.hpp"

#include <memory>
#include <set>
#include <utility>

#include "src/config/checks.hpp"
#include "src/providers/http/mapping/read.hpp"
#include "src/providers/http/provider.hpp"
#include "src/providers/http/transport.hpp"

namespace celld::providers {
namespace {

using Faults = std::vector<json::Fault>;

constexpr std::size_t headers_max = 32;

config::NamedSecrets read_headers(const json::Value& value, std::string pointer,
                                  const config::Environment& environment, Faults& faults) {
  config::NamedSecrets headers;
  if (value.size() > headers_max)
    faults.push_back({pointer, "must have at most " + std::to_string(headers_max) + " members"});
  std::set<std::string> names;
  json::ObjectReader reader(value, std::move(pointer), faults);
  for (const auto& [name, ignored] : value.items()) {
    if (std::string fault = config::header_name_fault(name); !fault.empty())
      reader.fault(name, std::move(fault));
    if (!names.insert(config::lower_case(name)).second)
      reader.fault(name, "is the same header as another one, spelled differently");
    if (auto secret = config::read_secret(reader, name, environment, config::header_value_fault))
      headers.emplace_back(name, std::move(*secret));
  }
  return headers;
}

/// Refuses `{{` in the headers of a service with a mapping: operators may expect it to work there.
void refuse_templates(const config::NamedSecrets& headers, const std::string& pointer,
                      Faults& faults) {
  for (const auto& [name, secret] : headers) {
    if (secret.source.find("{{") == std::string::npos) continue;
    faults.push_back({json::pointer_to(pointer, name),
                      "must not contain a template: put it into `headers` of the requests"});
  }
}

std::string service_url_fault(const std::string& url) {
  if (url.find("{{") == std::string::npos) return config::url_fault(url);
  return "must not contain a template: put it into `path` of a request of `mapping`";
}

std::string with_mapping(std::string schema) {
  constexpr std::string_view place = "MAPPING";
  return schema.replace(schema.find(place), place.size(), mappings::mapping_schema());
}

std::string show_url(const std::string& url) {
  const auto query = url.find('?');
  return query == std::string::npos ? url : url.substr(0, query + 1) + config::masked;
}

/// Without a `url` of its own, an undo goes to that of the service.
std::string read_undo(const json::Value& value, std::string pointer, const std::string& url,
                      Faults& faults) {
  json::ObjectReader reader(value, std::move(pointer), faults);
  auto own = reader.string("url");
  if (own) {
    if (std::string fault = service_url_fault(*own); !fault.empty())
      reader.fault("url", std::move(fault));
  }
  reader.finish();
  return own.value_or(url);
}

class HttpCalls final : public Transport {
 public:
  explicit HttpCalls(const TransportContext& context)
      : wall_clock_(context.wall_clock), transport_({}, context.help_actors) {}

  cells::Provider spawn(caf::actor_system& system, const std::string& name,
                        const config::ServiceSettings& settings,
                        AbortByLease abort_by_lease) const override {
    return spawn_http_provider(system, name, KindOf<HttpService>::get(settings), transport_.calls(),
                               std::move(abort_by_lease), wall_clock_);
  }

  AbortByLease aborts() const override { return aborts_of(transport_.calls()); }

 private:
  const WallClock wall_clock_;
  HttpTransport transport_;
};

class HttpKind final : public KindOf<HttpService> {
 public:
  std::string_view type() const override { return "http"; }
  bool settles() const override { return true; }

  std::string_view schema() const override {
    static const std::string text = with_mapping(R"({
  "description": "Posts each step to a URL, or makes the requests of a mapping.",
  "type": "object",
  "required": ["type", "url"],
  "additionalProperties": false,
  "properties": {
    "type": {"const": "http"},
    "url": {"type": "string", "pattern": "^[Hh][Tt][Tt][Pp][Ss]?://[^#@]+$", "maxLength": 2048},
    "headers": {
      "description": "Additional request headers. Values may be env:NAME or file:PATH.",
      "type": "object",
      "maxProperties": 32,
      "propertyNames": {"pattern": "^[-!#$%&'*+.^_`|~0-9A-Za-z]{1,128}$"},
      "additionalProperties": {"type": "string", "minLength": 1, "maxLength": 16384}
    },
    "mapping": MAPPING,
    "undo": {
      "description": "Undoes a step by a request with `\"undo\": true`, posted to this URL or to that of the service. Beside `mapping`, use its member `undo`.",
      "type": "object",
      "additionalProperties": false,
      "properties": {
        "url": {"type": "string", "pattern": "^[Hh][Tt][Tt][Pp][Ss]?://[^#@]+$", "maxLength": 2048}
      }
    },
    "limits": {"$ref": "#/$defs/service_limits"},
    "circuit": {"$ref": "#/$defs/circuit"},
    "settle_ms": {"$ref": "#/$defs/settle_ms"}
  }
})");
    return text;
  }

  std::unique_ptr<Transport> make_transport(const TransportContext& context) const override {
    return std::make_unique<HttpCalls>(context);
  }

 private:
  HttpService read_settings(json::ObjectReader& reader, const config::Environment& environment,
                            Faults& faults) const override {
    HttpService http;
    reader.require({"url"});
    if (auto url = reader.string("url")) {
      if (std::string fault = service_url_fault(*url); !fault.empty())
        reader.fault("url", std::move(fault));
      http.url = std::move(*url);
    }
    if (const json::Value* headers = reader.object("headers"))
      http.headers = read_headers(*headers, reader.pointer_of("headers"), environment, faults);
    if (const json::Value* mapping = reader.any("mapping")) {
      http.mapping =
          mappings::read_mapping(*mapping, reader.pointer_of("mapping"), environment, faults);
      refuse_templates(http.headers, reader.pointer_of("headers"), faults);
      if (http.url.find('?') != std::string::npos)
        reader.fault(
            "url",
            "must not have a query if there is a `mapping`: put it into `query` of a request");
    }
    if (const json::Value* undo = reader.any("undo")) {
      http.undo_url = read_undo(*undo, reader.pointer_of("undo"), http.url, faults);
      if (http.mapping) reader.fault("undo", "must be a member of `mapping`");
    }
    reader.refuse_reserved({"mappings"});
    return http;
  }

  json::Value show(const HttpService& http) const override {
    json::Value shown{{"url", show_url(http.url)}, {"headers", config::show_secrets(http.headers)}};
    if (http.mapping) shown["mapping"] = http.mapping->shown;
    if (http.undo_url) shown["undo"] = {{"url", show_url(*http.undo_url)}};
    return shown;
  }

  cells::ActionSet undoes(const HttpService& http) const override {
    if (!http.mapping) return cells::ActionSet::all_if(http.undo_url.has_value());
    cells::ActionSet actions;
    for (const auto& [action, requests] : http.mapping->undo) actions.named.insert(action);
    return actions;
  }

  Faults check_machine(const HttpService&) const override { return {}; }
};

}  // namespace

const KindOf<HttpService>& http_kind() {
  static const HttpKind kind;
  return kind;
}

}  // namespace celld::providers
