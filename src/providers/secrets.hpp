// What a provider must not say again.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "src/config/config.hpp"

namespace celld::providers {

/// What must not come back in a message: the values, and each longer word of them, because a
/// provider may quote one line of several, or "Bearer …" without its first word.
std::vector<std::string> secrets_of(
    const std::vector<std::pair<std::string, config::Secret>>& named);

/// `text` with "***" for whatever is part of a secret, also of one that overlaps or contains
/// another. Those below four bytes count for nothing: blanking "1" would only garble. A text that
/// was `cut` may end within a secret, and its beginning is one too.
std::string blank_secrets(const std::string& text, const std::vector<std::string>& secrets,
                          bool cut = false);

}  // namespace celld::providers
