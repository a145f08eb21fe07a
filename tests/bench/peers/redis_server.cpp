#include "tests/bench/peers/redis_server.hpp"

#include <string>

namespace celld::bench {

RedisServer::RedisServer(const PeerSetup& setup)
    : directory_(setup.directory, false), server_(command(setup)) {
  server_.await_port(port_);
}

ServerCommand RedisServer::command(const PeerSetup& setup) const {
  ServerCommand command;
  command.name = "redis-server";
  command.directory = directory_.path();
  const auto root = root_of(setup.unpacked, "redis-server");
  command.variables = variables_of(root);
  command.arguments = {(root / "usr/bin/redis-server").string(),
                       "--bind",
                       "127.0.0.1",
                       "--port",
                       std::to_string(port_),
                       "--dir",
                       directory_.path().string(),
                       "--save",
                       "",
                       "--appendonly",
                       "yes",
                       "--appendfsync",
                       "always"};
  return command;
}

}  // namespace celld::bench
