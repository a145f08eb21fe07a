// Keeps configured secrets out of messages.
#pragma once

#include <string>
#include <vector>

#include "src/config/secrets.hpp"

namespace celld::providers {

/// The texts to blank: each value, and each of its words of eight bytes or more, because a provider
/// may quote one line of several, or "Bearer …" without its first word.
std::vector<std::string> secrets_of(const config::NamedSecrets& named);

/// `text` with "***" in place of every part of a secret, including secrets that overlap or contain
/// each other. Ignores secrets below four bytes: blanking "1" would only garble the text. A text
/// that was `cut` may end with the beginning of a secret, which is blanked, too.
std::string blank_secrets(const std::string& text, const std::vector<std::string>& secrets,
                          bool cut = false);

}  // namespace celld::providers
