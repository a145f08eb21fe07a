#include "src/http/api/pending_submissions.hpp"

#include "tests/unit/catch.hpp"

using celld::api::PendingSubmissions;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr PendingSubmissions::Time start{std::chrono::hours{1}};
constexpr auto wait_max = PendingSubmissions::wait_max;
constexpr auto bytes_max = PendingSubmissions::bytes_max;

}  // namespace

TEST_CASE("submissions are admitted while the store keeps up") {
  PendingSubmissions under_way;
  for (int i = 0; i < 1000; ++i) CHECK(under_way.admit(1000, start + seconds{i}));
}

TEST_CASE("no submission is admitted behind one that has waited too long") {
  PendingSubmissions under_way;
  auto first = under_way.admit(1, start);
  auto second = under_way.admit(1, start + wait_max);
  REQUIRE(second);
  CHECK_FALSE(under_way.admit(1, start + wait_max + milliseconds{1}));
  CHECK(under_way.admit(1, start + wait_max + milliseconds{1}, true));
  second.reset();
  CHECK_FALSE(under_way.admit(1, start + wait_max + milliseconds{1}));
  first.reset();
  CHECK(under_way.admit(1, start + wait_max + milliseconds{1}));
}

TEST_CASE("bytes under way are bounded, but a single submission may have any size") {
  PendingSubmissions under_way;
  auto huge = under_way.admit(2 * bytes_max, start);
  REQUIRE(huge);
  CHECK_FALSE(under_way.admit(1, start));
  CHECK_FALSE(under_way.admit(1, start, true));
  huge.reset();
  const auto large = under_way.admit(bytes_max - 1, start);
  const auto small = under_way.admit(1, start);
  CHECK(small);
  CHECK_FALSE(under_way.admit(1, start));
}

TEST_CASE("a share may outlive its object") {
  PendingSubmissions::Share share;
  {
    PendingSubmissions under_way;
    share = under_way.admit(1, start);
  }
  CHECK(share.use_count() == 1);
}
