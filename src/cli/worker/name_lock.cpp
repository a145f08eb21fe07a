#include "src/cli/worker/name_lock.hpp"

#include <openssl/sha.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <system_error>

#include "src/cli/failure.hpp"
#include "src/cli/session.hpp"

namespace celld::cli {
namespace {

using providers::Descriptor;

constexpr milliseconds poll_interval{50};

/// An abstract address: no file stays behind.
sockaddr_un address_of(const std::string& name) {
  static_assert(SHA256_DIGEST_LENGTH + 2 < sizeof(sockaddr_un::sun_path));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  ::SHA256(reinterpret_cast<const unsigned char*>(name.data()), name.size(), digest.data());
  address.sun_path[1] = 'c';
  std::memcpy(address.sun_path + 2, digest.data(), digest.size());
  return address;
}

}  // namespace

Descriptor lock_name(const std::string& name, milliseconds patience,
                     const std::function<void()>& waits) {
  Descriptor socket{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  const sockaddr_un address = address_of(name);
  constexpr auto size = offsetof(sockaddr_un, sun_path) + 2 + SHA256_DIGEST_LENGTH;
  const auto give_up_at = std::chrono::steady_clock::now() + patience;
  bool waited = false;
  while (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) {
    if (errno != EADDRINUSE)
      throw Failure(ExitCode::unavailable, "the worker's name cannot be locked: " +
                                               std::generic_category().message(errno));
    if (std::chrono::steady_clock::now() >= give_up_at)
      throw usage_failure("another worker of this name runs on this machine; see --name");
    if (!waited) waits();
    waited = true;
    rest(poll_interval);
  }
  return socket;
}

}  // namespace celld::cli
