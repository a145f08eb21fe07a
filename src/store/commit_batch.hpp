// The message by which a store tells itself to commit.
#pragma once

#include <cstdint>

#include "cells/ports/job_store.hpp"

namespace celld::store {

/// Commit the batch of this number, unless that happened already.
struct CommitBatch {
  std::uint64_t batch = 0;
};

}  // namespace celld::store

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::store::CommitBatch)

namespace celld::store {

/// A JobStore as it is from within.
using CommittingStore = cells::JobStore::extend<caf::reacts_to<CommitBatch>>;

/// What a store says to everything once it cannot commit.
inline caf::error cannot_commit(std::string text) {
  return caf::make_error(caf::sec::runtime_error, std::move(text));
}

}  // namespace celld::store
