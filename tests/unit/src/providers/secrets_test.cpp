#include "src/providers/secrets.hpp"

#include "tests/unit/catch.hpp"

namespace celld::providers {

using Texts = std::vector<std::string>;

TEST_CASE("a secret is its value, and each word of it that is long enough to be a secret") {
  CHECK(secrets_of({{"Authorization", {"env:A", "Bearer 12345678"}}}) ==
        Texts{"Bearer 12345678", "12345678"});
  CHECK(secrets_of({{"A", {"env:A", "Bearer 1234567"}}, {"B", {"env:B", "short"}}}) ==
        Texts{"Bearer 1234567", "short"});
}

TEST_CASE("secrets are blanked wherever they are, also where they overlap") {
  const Texts secrets{"abcdef", "defghi", "key"};
  CHECK(blank_secrets("x abcdef y abcdef", secrets, false) == "x *** y ***");
  CHECK(blank_secrets("xabcdefghiy", secrets, false) == "x***y");
  CHECK(blank_secrets("a key of three bytes", secrets, false) == "a key of three bytes");
}

TEST_CASE("a secret that overlaps itself is blanked to its end") {
  CHECK(blank_secrets("x abcabcabc y", {"abcabc"}, false) == "x *** y");
}

TEST_CASE("a text that was cut may end within a secret") {
  CHECK(blank_secrets("x abc", {"abcdef"}, true) == "x ***");
  CHECK(blank_secrets("x abc", {"abcdef"}, false) == "x abc");
}

}  // namespace celld::providers
