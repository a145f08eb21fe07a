// How the SQLite store's writer finds jobs other than by id: the line of an entity, and the jobs of
// a backlog in the order of their turns. It also keeps three lists for readers: the jobs of a
// routing key, those of an entity id and those of a batch. All five are written behind the commits
// (behind_index.hpp), so that an insertion writes the row of the job alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "src/store/backlogs.hpp"
#include "src/store/behind_index.hpp"
#include "src/store/behind_list.hpp"
#include "src/store/write_limits.hpp"

namespace celld::store {

/// FNV-1a of 64 bits (G. Fowler, L. C. Noll, K.-P. Vo; RFC 9923). Keys of tables depend on it, so
/// it never changes.
std::int64_t entity_hash(std::string_view entity_id);
std::int64_t line_hash(std::int64_t routing_key, std::string_view entity_type,
                       std::string_view entity_id);

class JobIndexes {
 public:
  /// Reads what is not in the tables yet.
  JobIndexes(Connection& connection, const WriteLimits& limits);

  void add(cells::JobId id, const Standing& at, const cells::Entity& entity);
  void change(cells::JobId id, const Standing& before, const Standing& after,
              const cells::Entity& entity);
  /// The place stays the same.
  void change(cells::JobId id, const Standing& before, const Standing& after);
  /// An ended job that has left its line.
  void remove(cells::JobId id, std::int64_t routing_key, std::string_view entity_id,
              cells::BatchId batch);

  /// Calls visit(id) for the jobs of the line in order, from this place on, until it returns false.
  /// Jobs of other entities with the same hash are among them.
  template <class Visit>
  void scan_line(std::int64_t routing_key, const cells::Entity& entity, cells::JobId place,
                 const Visit& visit) {
    lines_.scan({line_hash(routing_key, entity.type, entity.id), static_cast<std::int64_t>(place)},
                std::numeric_limits<std::int64_t>::max(),
                [&](const IndexKey& key) { return visit(cells::JobId(key[2])); });
  }
  /// Calls visit(turn, place, id) for the jobs of a backlog with first <= turn < end, in order,
  /// until it returns false.
  template <class Visit>
  void scan_turns(std::int64_t cell, std::int64_t routing_key, std::int64_t first, std::int64_t end,
                  const Visit& visit) {
    turns_.scan({cell, routing_key, first}, end,
                [&](const IndexKey& key) { return visit(key[2], key[3], key[4]); });
  }

  /// Part of each commit.
  void write_behind();

 private:
  void load(Connection& connection);
  void start_move();
  void move(std::size_t jobs);
  void end_move();
  void save();

  const WriteLimits limits_;
  Generations generations_;
  Statement save_;
  BehindIndex lines_;
  BehindIndex turns_;
  BehindList by_routing_key_;
  BehindList by_entity_;
  BehindList by_batch_;
  std::int64_t last_id_ = 0;   ///< Of a job in memory.
  std::size_t recent_ = 0;     ///< Jobs that came since the move started.
  std::size_t unwritten_ = 0;  ///< Jobs that came since a commit wrote behind.
  std::size_t untended_ = 0;   ///< Jobs that arrived since the last commit.
  bool is_moving_ = false;
};

}  // namespace celld::store
