// The OpenAPI description of the API, as GET /openapi.json shows it. It is written by hand, in
// openapi.json beside this file; the tests hold the daemon against it.
#pragma once

#include <string_view>

namespace celld::api {

/// Part of the program: no file is read at run time.
std::string_view openapi_json();

}  // namespace celld::api
