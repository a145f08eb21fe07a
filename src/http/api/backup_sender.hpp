// Sends copies of the database to clients: one at a time, and no faster than its client takes it.
#pragma once

#include <cstdint>

#include "src/http/server.hpp"
#include "src/store/backup.hpp"

namespace celld::api {

/// A client wants a copy.
struct SendBackup {
  http::Responder responder;
};

/// The client of the copy of this number has taken so many bytes, or has gone.
struct BackupTaken {
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;
};

}  // namespace celld::api

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::SendBackup)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::BackupTaken)

namespace celld::api {

/// Never blocks, and holds one piece of the copy in memory. When it ends, its client hears that
/// celld stops, or loses its connection where the copy has begun.
using BackupSender = caf::typed_actor<caf::reacts_to<SendBackup>, caf::reacts_to<BackupTaken>>;

BackupSender spawn_backup_sender(caf::actor_system& system, store::BackupMaker maker);

}  // namespace celld::api
