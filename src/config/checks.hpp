// Checks of single values. Each returns what is wrong in words that continue the value's name
// ("must …"), or an empty text when nothing is.
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

/// ASCII letters in lower case; header names and schemes are compared like this.
std::string lower_case(std::string_view text);

/// A header that an operator may add to a provider's requests. celld's own are refused.
std::string header_name_fault(std::string_view name);

/// A header's value, after secrets were resolved. Never quotes the value.
std::string header_value_fault(std::string_view value);

}  // namespace celld::config
