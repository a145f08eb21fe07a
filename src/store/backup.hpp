// Copies of the database, made while it is in use: one copy at a time, complete before its pieces
// can be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "cells/ports/actor_types.hpp"

namespace celld::store {

struct BackupOptions {
  int step_pages = 1024;             ///< Copied at a time.
  std::size_t step_bytes = 4 << 20;  ///< Hashed at a time.
  /// The copy leaves this much of its file system free, or this fraction if that is less: meanwhile
  /// the write-ahead log grows, and without space celld ends.
  std::uint64_t spared_bytes = 64 << 20;
  std::uint64_t spared_fraction = 20;       ///< One in so many.
  std::optional<std::int64_t> pages_max{};  ///< Simulates a full disk in tests.
};

/// Copies what is committed now. Drops the previous copy.
struct MakeBackup {};
/// The copy is complete and a database of its own.
struct BackupMade {
  std::uint64_t bytes = 0;
  std::string digest;      ///< In the form of the header field Repr-Digest.
  std::string media_type;  ///< Of the copy.
};

/// Reads the next piece of the copy, beginning at its start.
struct ReadBackup {
  std::size_t bytes_max = 0;
};
struct BackupPiece {
  std::string data;  ///< Shorter than `bytes_max` only at the end.
};

/// Discards the copy, finished or not.
struct DropBackup {};

}  // namespace celld::store

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::store::MakeBackup)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::store::BackupMade)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::store::ReadBackup)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::store::BackupPiece)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::store::DropBackup)

namespace celld::store {

/// A request that fails is answered with an error in plain words, and its copy is discarded.
using BackupMaker =
    caf::typed_actor<caf::replies_to<MakeBackup>::with<BackupMade>,
                     caf::replies_to<ReadBackup>::with<BackupPiece>, caf::reacts_to<DropBackup>>;

}  // namespace celld::store
