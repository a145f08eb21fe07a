// What an `http` provider receives: the document and the headers.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cells/ports/provider.hpp"
#include "src/config/config.hpp"
#include "src/providers/http_exchange.hpp"

namespace celld::providers {

/// "{job}.{service}": the same for every attempt at the job's current step, so that a provider can
/// recognise repeats.
std::string idempotency_key(const cells::Job& job);

/// The JSON document that describes the job's current step, its attempt, and the results of earlier
/// steps.
std::string call_document(const cells::Job& job);

/// A header line for libcurl. Control characters, line ends included, become spaces, so that no
/// value can add a header.
std::string header_line(std::string_view name, std::string_view value);

/// The whole request. Configured headers replace celld's Accept and User-Agent, but not the headers
/// that the call itself decides.
HttpRequest call_request(const config::HttpService& service, const cells::StartCall& call);

}  // namespace celld::providers
