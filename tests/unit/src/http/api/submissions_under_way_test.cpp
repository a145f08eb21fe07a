#include "src/http/api/submissions_under_way.hpp"

#include "tests/unit/catch.hpp"

using celld::api::SubmissionsUnderWay;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr SubmissionsUnderWay::Time start{std::chrono::hours{1}};
constexpr auto wait_max = SubmissionsUnderWay::wait_max;
constexpr auto bytes_max = SubmissionsUnderWay::bytes_max;

}  // namespace

TEST_CASE("submissions are admitted while the store keeps up") {
  SubmissionsUnderWay under_way;
  for (int i = 0; i < 1000; ++i) CHECK(under_way.admit(1000, start + seconds{i}));
}

TEST_CASE("no submission is admitted behind one that has waited too long") {
  SubmissionsUnderWay under_way;
  auto first = under_way.admit(1, start);
  auto second = under_way.admit(1, start + wait_max);
  REQUIRE(second);
  CHECK_FALSE(under_way.admit(1, start + wait_max + milliseconds{1}));
  second.reset();
  CHECK_FALSE(under_way.admit(1, start + wait_max + milliseconds{1}));
  first.reset();
  CHECK(under_way.admit(1, start + wait_max + milliseconds{1}));
}

TEST_CASE("bytes under way are bounded, but a single submission may have any size") {
  SubmissionsUnderWay under_way;
  auto huge = under_way.admit(2 * bytes_max, start);
  REQUIRE(huge);
  CHECK_FALSE(under_way.admit(1, start));
  huge.reset();
  const auto large = under_way.admit(bytes_max - 1, start);
  const auto small = under_way.admit(1, start);
  CHECK(small);
  CHECK_FALSE(under_way.admit(1, start));
}

TEST_CASE("a share may outlive its object") {
  SubmissionsUnderWay::Share share;
  {
    SubmissionsUnderWay under_way;
    share = under_way.admit(1, start);
  }
  CHECK(share.use_count() == 1);
}
