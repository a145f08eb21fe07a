// The request headers that the API reads.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "src/http/server.hpp"

namespace celld::api {

inline constexpr std::chrono::seconds wait_max{60};

/// True for application/json without a charset, or with the charset UTF-8.
bool is_json(const http::Request& request);

/// The same for application/x-ndjson: one JSON document a line.
bool is_ndjson(const http::Request& request);

/// True if the request has an `Origin` that differs from its `Host`: a page of another origin.
bool is_foreign(const http::Request& request);

/// True if the browser's `Sec-Fetch-Site` names another site. Without an `Origin`, a page of that
/// site can still make requests whose answers it cannot read, for example for images.
bool is_from_another_site(const http::Request& request);

/// True if the `Host` is a domain name of several labels. An attacker can point such a name at this
/// machine so that the attacker's page passes for a local one (DNS rebinding). False for addresses,
/// single labels, and names under `localhost`.
bool names_a_domain(const http::Request& request);

/// The first `wait` of a Prefer header (RFC 7240), at most wait_max. A malformed one is ignored.
std::optional<std::chrono::seconds> preferred_wait(const http::Request& request);

}  // namespace celld::api
