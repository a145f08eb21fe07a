// The request headers that the API looks into.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "src/http/server.hpp"

namespace celld::api {

inline constexpr std::chrono::seconds wait_max{60};

/// True for application/json, in UTF-8 when it names a charset.
bool is_json(const http::Request& request);

/// True for a page of another site: its `Origin` is not the host that was asked.
bool is_foreign(const http::Request& request);

/// True when a browser says that a page of another site makes this request. Without an `Origin`
/// such a page can make requests whose answers it cannot read: those for images, for example.
bool is_from_another_site(const http::Request& request);

/// True when the host that was asked is a domain of more than one label, which somebody else may
/// let point here to have a page of theirs taken for one of this machine (DNS rebinding).
/// Addresses, `localhost` and single labels are not.
bool names_a_domain(const http::Request& request);

/// The `wait` of a Prefer header (RFC 7240), at most wait_max. The first one counts; a malformed
/// one is as good as none.
std::optional<std::chrono::seconds> preferred_wait(const http::Request& request);

}  // namespace celld::api
