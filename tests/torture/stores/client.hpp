// The client of one store: sends it the operations and looks of a history.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "src/store/memory_store.hpp"
#include "tests/torture/stores/history.hpp"

namespace stores {

/// What the client of a store does wrong, in tests of the comparison.
struct Wrong {
  std::optional<AnswerField> answer{};   ///< It alters this field of each answer.
  std::optional<std::size_t> dropped{};  ///< It forwards no request with this index.
  bool stale_looks = false;              ///< Looks show the state at the start of the life.
  bool loses_commits = false;            ///< A crash leaves that state.
};

/// To the client: forward the operation or look with this number.
struct Ask {
  std::size_t operation = 0;
};
struct Watch {
  std::size_t look = 0;
};

/// Compares each answer with the expected one as it arrives. `start` is the state at the start of
/// the life.
caf::actor spawn_client(caf::actor_system& system, JobStore store, JobReader reader,
                        std::shared_ptr<const History> history, std::shared_ptr<Record> record,
                        Wrong wrong, std::shared_ptr<const celld::store::MemoryDisk> start);

}  // namespace stores

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(stores::Ask)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(stores::Watch)
