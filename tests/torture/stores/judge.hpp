// Judges one life of one store after its end.
#pragma once

#include <cstddef>
#include <string>

#include "src/store/memory_store.hpp"
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

/// Whether the answer to this look shows the state of `disk`. With `pages_are_short`, a page of
/// jobs may end early.
bool shows(const celld::store::MemoryDisk& disk, const Look& look, const Answer& answer,
           bool pages_are_short);

/// The part of a life of both kinds that concerns the disk: jobs on disk, schedules, cells. Without
/// batches, whose rows also count jobs in memory, as of some earlier time.
struct DiskPart {
  History history;
  Record record;
};
DiskPart disk_part(const History& history, const Record& record);

}  // namespace stores
