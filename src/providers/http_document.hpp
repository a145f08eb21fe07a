// What an `http` provider is sent: the document, and the headers beside it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cells/ports/provider.hpp"
#include "src/config/config.hpp"
#include "src/providers/http_exchange.hpp"

namespace celld::providers {

/// The key under which a provider can recognise every attempt at the job's current step:
/// "{job}.{service}".
std::string idempotency_key(const cells::Job& job);

/// The JSON document that describes the job's current step, its attempt, and the results of the
/// steps before it.
std::string call_document(const cells::Job& job);

/// A header for libcurl. Line ends and other control characters become blanks, so that no value can
/// add a header.
std::string header_line(std::string_view name, std::string_view value);

/// The whole request. Configured headers win over celld's Accept and User-Agent, but not over those
/// that the call itself decides.
HttpRequest call_request(const config::HttpService& service, const cells::StartCall& call);

}  // namespace celld::providers
