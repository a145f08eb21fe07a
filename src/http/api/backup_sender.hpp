// Sends copies of the database to clients, one at a time and no faster than the client reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "src/http/server.hpp"
#include "src/store/backup.hpp"

namespace celld::api {

/// Make a copy and send it to this client.
struct SendBackup {
  http::Responder responder;
};

/// The client of copy `number` has taken this many bytes in all, or has disconnected.
struct BackupTaken {
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;
};

}  // namespace celld::api

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::SendBackup)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::BackupTaken)

namespace celld::api {

/// Never blocks, and holds one piece of the copy in memory. When the actor exits, a client whose
/// copy is still being made gets a 503; a client that is already receiving it is disconnected.
using BackupSender = caf::typed_actor<caf::reacts_to<SendBackup>, caf::reacts_to<BackupTaken>>;

/// If a copy cannot be made or read, calls `on_failure` with the reason, on an actor's thread.
BackupSender spawn_backup_sender(caf::actor_system& system, store::BackupMaker maker,
                                 std::function<void(const std::string&)> on_failure,
                                 std::size_t piece_bytes = 256 << 10);

}  // namespace celld::api
