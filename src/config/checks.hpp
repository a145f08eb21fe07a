// Checks of single values. Each `…_fault` returns a text that continues the value's name
// ("must …"), or an empty text when the value is valid.
#pragma once

#include <string>
#include <string_view>

namespace celld::config {

/// Customers, products and services: [A-Za-z0-9][A-Za-z0-9._-]{0,62}
bool is_name(std::string_view text);

/// 127.0.0.0/8, ::1, or localhost.
bool is_loopback(const std::string& host);

/// An absolute http or https URL without user, password or fragment.
std::string url_fault(std::string_view url);

/// Lower-cases ASCII letters, to compare header names and schemes.
std::string lower_case(std::string_view text);

/// For a header that an operator adds to a provider's requests. Refuses those that celld sets.
std::string header_name_fault(std::string_view name);

/// For a header's value after secrets are resolved. Never quotes the value.
std::string header_value_fault(std::string_view value);

}  // namespace celld::config
