// What was asked of the stores in one life, and what one store did with it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/torture/stores/messages.hpp"

namespace stores {

/// Which jobs a request concerns, where jobs are of both kinds.
enum class Scope {
  disk,
  memory,
  both,  ///< Its answer joins those of both stores.
  /// It asks the store on disk before it adds a job in memory, or may wait for such a request.
  /// Others may overtake it.
  asks_first,
};

struct Operation {
  Request request;
  Answer expected;
  /// Once the request is answered, the first `durable` operations survive a crash.
  std::size_t durable = 0;
  Scope scope = Scope::disk;
};

/// Begins with the state that the last life left.
struct History {
  std::vector<Operation> operations;
  std::vector<Look> looks;
  bool both_kinds = false;  ///< Jobs in memory beside those on disk.
};

/// An answered look. It must show the state after some number of operations within these bounds.
struct Looked {
  std::size_t look = 0;
  std::size_t from = 0;
  std::size_t to = 0;
  Answer answer;
};

struct Record {
  std::size_t sent = 0;               ///< Operations.
  std::size_t durable = 0;            ///< This many operations must survive a crash.
  std::vector<std::size_t> answered;  ///< Operations, in the order of their answers.
  std::vector<Looked> looked;         ///< By the reader, in the order of its answers.
  std::vector<Looked> counted;        ///< Answers to CountNeeds.
  std::size_t fatal_reports = 0;
  bool may_fail = false;
  bool failed = false;
  std::string violation;  ///< The first one; empty: none.

  void violate(const std::string& what) {
    if (violation.empty()) violation = what;
  }
};

}  // namespace stores
