// The member `listen`: the address to serve on, and TLS.
#include <charconv>
#include <utility>

#include "src/config/checks.hpp"
#include "src/config/sections.hpp"

namespace celld::config {
namespace {

constexpr std::size_t path_bytes_max = 4095;
constexpr std::string_view loopback_rule =
    "must be a loopback address (127.0.0.0/8, ::1 or localhost), because without `auth` every "
    "client that can connect may do everything";

Tls read_tls(const json::Value& value, std::string pointer, Faults& faults) {
  Tls tls;
  json::ObjectReader reader(value, std::move(pointer), faults);
  reader.require({"certificate", "key"});
  const auto path = [&](std::string_view name) {
    return reader.string(name, 1, path_bytes_max).value_or("");
  };
  tls.certificate_path = path("certificate");
  tls.key_path = path("key");
  tls.client_ca_path = path("client_ca");
  reader.finish();
  return tls;
}

/// `checks_host`: require a loopback host, because no override replaces it and `auth` is absent.
Listen read_object(const json::Value& value, bool checks_host, Faults& faults) {
  Listen listen;
  json::ObjectReader reader(value, "/listen", faults);
  if (auto host = reader.string("host", 1, 255)) {
    if (host->front() == '[') {
      reader.fault("host", "must be without brackets");
    } else if (checks_host && !is_loopback(*host)) {
      reader.fault("host", std::string(loopback_rule));
    }
    listen.host = std::move(*host);
  }
  if (const auto port = reader.integer("port", 0, 65535))
    listen.port = static_cast<std::uint16_t>(*port);
  if (const json::Value* tls = reader.any("tls"))
    listen.tls = read_tls(*tls, reader.pointer_of("tls"), faults);
  reader.finish();
  return listen;
}

void override_place(const Overrides& overrides, bool has_auth, Listen& listen, Faults& faults) {
  const std::string& text = *overrides.listen;
  const std::string name = overrides.listen_source + ": " + json::quote(text) + " ";
  std::optional<Listen> place = parse_listen(text);
  if (!place) {
    faults.push_back({"", name + "must be HOST:PORT, with a port from 0 to 65535"});
    return;
  }
  if (!has_auth && !is_loopback(place->host))
    faults.push_back({"/listen/host", name + std::string(loopback_rule)});
  listen.host = std::move(place->host);
  listen.port = place->port;
}

}  // namespace

Listen read_listen(const json::Value* value, const Overrides& overrides, bool has_auth,
                   Faults& faults) {
  Listen listen;
  if (value != nullptr)
    listen = read_object(*value, !has_auth && !overrides.listen.has_value(), faults);
  if (overrides.listen) override_place(overrides, has_auth, listen, faults);
  return listen;
}

std::optional<Listen> parse_listen(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty() || host.find_first_of("[]") != std::string_view::npos) return std::nullopt;
  if (bracketed != (host.find(':') != std::string_view::npos)) return std::nullopt;

  const std::string_view digits = text.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return Listen{std::string(host), port};
}

}  // namespace celld::config
