// The message that a store sends itself to commit.
#pragma once

#include <cstdint>

#include "cells/ports/job_store.hpp"

namespace celld::store {

/// Commits the batch of this number, unless it is committed already.
struct CommitBatch {
  std::uint64_t batch = 0;
};

}  // namespace celld::store

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::store::CommitBatch)

namespace celld::store {

/// The JobStore interface, with the store's message to itself.
using CommittingStore = cells::JobStore::extend<caf::reacts_to<CommitBatch>>;

/// The answer to every request after a failed commit.
inline caf::error cannot_commit(std::string text) {
  return caf::make_error(caf::sec::runtime_error, std::move(text));
}

}  // namespace celld::store
