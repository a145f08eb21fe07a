#include "src/http/mailbox.hpp"

#include <memory>
#include <utility>
#include <vector>

#include <poll.h>

#include "tests/unit/catch.hpp"

namespace celld::http {
namespace {

bool is_readable(int fd, int timeout_ms = 0) {
  pollfd readable{fd, POLLIN, 0};
  return ::poll(&readable, 1, timeout_ms) == 1;
}

TEST_CASE("a notice wakes a poller that sleeps, and no other") {
  Mailbox mailbox;
  mailbox.post({});
  CHECK_FALSE(is_readable(mailbox.wake_fd()));
  CHECK_FALSE(mailbox.fall_asleep());
  std::vector<Notice> notices;
  mailbox.take(notices);
  CHECK(notices.size() == 1);
  REQUIRE(mailbox.fall_asleep());
  mailbox.post({});
  CHECK(is_readable(mailbox.wake_fd()));
}

TEST_CASE("a quiet notice does not wake the poller, but is never left for long") {
  Mailbox mailbox;
  std::vector<Notice> notices;
  for (int round = 0; round < 2; ++round) {
    REQUIRE(mailbox.fall_asleep());
    mailbox.post_quietly({});
    CHECK_FALSE(is_readable(mailbox.wake_fd()));
    CHECK(is_readable(mailbox.timer_fd(), 60'000));
    mailbox.wake_up();
    mailbox.timer_expired();
    CHECK_FALSE(mailbox.fall_asleep());
    mailbox.take(notices);
    CHECK(notices.size() == 1);
  }
}

TEST_CASE("a poller that is woken looks once before it sleeps") {
  Mailbox mailbox;
  mailbox.wake();
  CHECK_FALSE(mailbox.fall_asleep());
  REQUIRE(mailbox.fall_asleep());
  mailbox.wake();
  CHECK(is_readable(mailbox.wake_fd()));
}

TEST_CASE("many quiet notices wake the poller") {
  Mailbox mailbox;
  REQUIRE(mailbox.fall_asleep());
  for (std::size_t i = 1; i < Mailbox::quiet_max; ++i) mailbox.post_quietly({});
  CHECK_FALSE(is_readable(mailbox.wake_fd()));
  mailbox.post_quietly({});
  CHECK(is_readable(mailbox.wake_fd()));
}

TEST_CASE("a mailbox that closes lets go of its notices, and keeps none that comes later") {
  Mailbox mailbox;
  const auto post = [&mailbox] {
    const auto lives = std::make_shared<int>();
    Notice notice;
    notice.slot = {lives, nullptr};
    mailbox.post(std::move(notice));
    return std::weak_ptr{lives};
  };
  const auto waits = post();
  CHECK_FALSE(waits.expired());
  mailbox.close();
  CHECK(waits.expired());
  CHECK(post().expired());
}

}  // namespace
}  // namespace celld::http
