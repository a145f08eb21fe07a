// The messages that a store sends itself to commit, and what both stores do around a commit.
#pragma once

#include <cstdint>

#include "cells/ports/job_store.hpp"

namespace celld::store {

/// Commits the batch of this number, unless it is committed already.
struct CommitBatch {
  std::uint64_t batch = 0;
};

/// Commits the claims that no other commit has included.
struct CommitClaims {};

}  // namespace celld::store

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::store::CommitBatch)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::store::CommitClaims)

namespace celld::store {

/// The JobStore interface, with the store's messages to itself.
using CommittingStore =
    cells::JobStore::extend<caf::reacts_to<CommitBatch>, caf::reacts_to<CommitClaims>>;

/// Counts once what is committed, then ends.
using NeedsCounter =
    caf::typed_actor<caf::replies_to<cells::CountNeeds>::with<cells::NeedsCounted>>;

/// The answer to every request after a failed commit.
inline caf::error cannot_commit(std::string text) {
  return caf::make_error(caf::sec::runtime_error, std::move(text));
}

}  // namespace celld::store
