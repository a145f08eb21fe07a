// The target of a request.
#include "src/http/target.hpp"

#include <string_view>

#include "tests/unit/catch.hpp"

namespace celld::http::test {
namespace {

TEST_CASE("an escape must end within its text") {
  const std::string_view whole = "a%41";
  CHECK(percent_decode(whole) == "aA");
  CHECK_FALSE(percent_decode(whole.substr(0, 3)));
  CHECK_FALSE(percent_decode(whole.substr(0, 2)));
}

}  // namespace
}  // namespace celld::http::test
