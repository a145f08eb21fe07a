// The tables of an index that is written behind the commits (behind_index.hpp).
//
// Each index has a table of its keys. If the keys are random, the newer ones are in partitions
// (partitions.hpp). The table then has the keys that an older version of celld wrote, and, once
// there are too many partitions, the keys of the oldest and of still older jobs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "src/store/key_columns.hpp"
#include "src/store/key_table.hpp"
#include "src/store/partitions.hpp"
#include "src/store/write_limits.hpp"

namespace celld::store {

class IndexTables {
 public:
  struct Form {
    const char* table;
    const char* partitions;  ///< Their table; null: none.
    bool is_searched;        ///< The writer searches the index.
    KeyColumns columns;
  };
  IndexTables(Connection& connection, const Form& form, const WriteLimits& limits);

  void insert(const IndexKey& key);
  void remove(const IndexKey& key);

  // Around the move of a generation's keys: see Partitions::start_generation.
  void start_generation(std::size_t jobs, std::int64_t after_id);
  void end_generation();
  /// Part of each commit; `jobs` have arrived since the last one. Builds filters, and moves keys
  /// out of surplus partitions.
  void tend(std::size_t jobs);

  /// As KeyTable::Scan, over all tables.
  class Scan {
   public:
    Scan(IndexTables& tables, const IndexKey& from, std::int64_t end);

    const IndexKey* key() const;
    void advance();

   private:
    const IndexKey* in_partition() const { return newer_ ? newer_->key() : nullptr; }

    KeyTable::Scan older_;
    std::optional<Partitions::Scan> newer_;
  };

 private:
  const WriteLimits limits_;
  const std::size_t partitions_max_;
  const std::size_t kept_max_;
  const std::size_t retired_min_;
  KeyTable table_;
  std::optional<Partitions> partitions_;
  std::size_t to_retire_ = 0;  ///< Keys to move out of surplus partitions.
};

}  // namespace celld::store
