// The request that an `http` provider receives.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "cells/ports/provider.hpp"
#include "src/providers/http/exchange.hpp"
#include "src/providers/http/mapping/request.hpp"
#include "src/providers/http/settings.hpp"

namespace celld::providers {

/// A header line for libcurl. Control characters, line ends included, become spaces, so that no
/// value can add a header.
std::string header_line(std::string_view name, std::string_view value);

/// The whole request of a service without a mapping. Configured headers replace celld's Accept and
/// User-Agent, but not the headers that the call itself decides.
HttpRequest call_request(const HttpService& service, const cells::StartCall& call);

/// A request of a mapping, with its position among those of the action, from 0; nothing for a poll.
/// Its headers replace the configured ones of the same name. The idempotency keys of an action's
/// requests differ, and a poll has none.
HttpRequest mapped_request(const HttpService& service, const cells::Job& job,
                           mappings::Rendered rendered, std::optional<std::size_t> index,
                           milliseconds timeout);

}  // namespace celld::providers
