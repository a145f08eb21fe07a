// The request that an `http` provider receives.
#pragma once

#include <string>
#include <string_view>

#include "cells/ports/provider.hpp"
#include "src/providers/http/exchange.hpp"
#include "src/providers/http/settings.hpp"

namespace celld::providers {

/// A header line for libcurl. Control characters, line ends included, become spaces, so that no
/// value can add a header.
std::string header_line(std::string_view name, std::string_view value);

/// The whole request. Configured headers replace celld's Accept and User-Agent, but not the headers
/// that the call itself decides.
HttpRequest call_request(const HttpService& service, const cells::StartCall& call);

}  // namespace celld::providers
