// Redis with an append-only file that is synced before each answer. Package: redis-server.
#pragma once

#include "tests/bench/peers/peer.hpp"
#include "tests/bench/peers/server.hpp"

namespace celld::bench {

class RedisServer {
 public:
  /// Returns once the server accepts connections. Throws.
  explicit RedisServer(const PeerSetup& setup);

  std::uint16_t port() const { return port_; }

 private:
  ServerCommand command(const PeerSetup& setup) const;

  const std::uint16_t port_ = free_port();
  DataDirectory directory_;
  Server server_;
};

}  // namespace celld::bench
