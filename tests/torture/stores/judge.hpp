// Judges one life of one store after its end.
#pragma once

#include <cstddef>
#include <string>

#include "src/store/memory_jobs.hpp"
#include "src/store/read_limits.hpp"
#include "tests/torture/stores/history.hpp"

namespace stores {

struct Verdict {
  std::size_t survived = 0;  ///< Operations.
  std::string violation;     ///< Empty: none.
};

/// `before` is the content of the store at the start of the life, `left` after its end. Everything
/// that was answered or read must have survived; of the rest, all operations up to some point.
Verdict judge(const celld::store::StoreContent& before, const History& history,
              const Record& record, const celld::store::StoreContent& left,
              const celld::store::ReadLimits& limits);

}  // namespace stores
