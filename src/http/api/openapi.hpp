// The OpenAPI document that GET /openapi.json serves. It is written by hand, in openapi.json beside
// this file; the tests check every answer of the daemon against it.
#pragma once

#include <string_view>

namespace celld::api {

/// Compiled into the program; no file is read at run time.
std::string_view openapi_json();

}  // namespace celld::api
