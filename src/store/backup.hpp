// Copies of the database, made while it is in use, for whoever asks for one: made whole first, then
// read piece by piece. One at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "cells/ports/actor_types.hpp"

namespace celld::store {

/// Copy what is committed now. The copy that was there before goes.
struct MakeBackup {};
/// It is complete, and a database by itself.
struct BackupMade {
  std::uint64_t bytes = 0;
  std::string digest;  ///< As the header field Repr-Digest.
};

/// Read on in the copy, from its beginning at first.
struct ReadBackup {
  std::size_t bytes_max = 0;
};
struct BackupPiece {
  std::string data;  ///< Shorter than asked for only at the end.
};

/// Nobody needs the copy any more, or waits for it.
struct DropBackup {};

}  // namespace celld::store

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::store::MakeBackup)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::store::BackupMade)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::store::ReadBackup)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::store::BackupPiece)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::store::DropBackup)

namespace celld::store {

/// Answers with an error, for people, what could not be done; nothing of the copy is left then.
using BackupMaker =
    caf::typed_actor<caf::replies_to<MakeBackup>::with<BackupMade>,
                     caf::replies_to<ReadBackup>::with<BackupPiece>, caf::reacts_to<DropBackup>>;

}  // namespace celld::store
