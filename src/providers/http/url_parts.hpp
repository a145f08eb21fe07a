// The parts of a URL, as libcurl reads them.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <optional>
#include <string>

namespace celld::providers {

struct CurlUrlDeleter {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using CurlUrl = std::unique_ptr<CURLU, CurlUrlDeleter>;

/// Empty if the URL has no such part.
std::string part_of(const CurlUrl& url, CURLUPart part, unsigned flags = 0);

struct NamedHost {
  std::string name;  ///< In lower case.
  std::string port;
};

/// The host of a URL if a call needs a look-up of its name: not for an address, nor for
/// `localhost`, which libcurl knows.
std::optional<NamedHost> named_host(const std::string& url);

}  // namespace celld::providers
