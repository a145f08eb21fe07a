#include "src/store/job_indexes.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace celld::store {

using cells::JobId;

namespace {

// Indexes by hash have partitions, because their keys are random.
constexpr IndexTables::Form lines{"lines", "lines_by_part", true, {{"hash", "place", "job"}, 3, 1}};
constexpr IndexTables::Form turns{
    "turns", nullptr, true, {{"cell", "origin", "turn", "place", "job"}, 5, 2}};
constexpr BehindList::Form by_routing_key{"jobs_of_origin", nullptr, "origin"};
constexpr BehindList::Form by_entity{"jobs_of_entity", "jobs_of_entity_by_part", "hash"};
constexpr BehindList::Form by_batch{"jobs_of_batch", nullptr, "batch"};

std::uint64_t add_bytes(std::uint64_t hash, std::string_view bytes) {
  for (const char byte : bytes) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 0x100000001b3;
  }
  return hash;
}
constexpr std::uint64_t no_bytes = 0xcbf29ce484222325;

IndexKey line_key(JobId id, const Standing& at, const cells::Entity& entity) {
  return {line_hash(at.routing_key, entity.type, entity.id), to_integer(at.place), to_integer(id)};
}

IndexKey turn_key(JobId id, const Standing& at) {
  return {at.cell, at.routing_key, *at.turn, to_integer(at.place), to_integer(id)};
}

}  // namespace

std::int64_t entity_hash(std::string_view entity_id) {
  return static_cast<std::int64_t>(add_bytes(no_bytes, entity_id));
}

std::int64_t line_hash(std::int64_t routing_key, std::string_view entity_type,
                       std::string_view entity_id) {
  const auto number = std::to_string(routing_key);
  auto hash = add_bytes(no_bytes, number);
  hash = add_bytes(add_bytes(hash, std::string_view{"\0", 1}), entity_type);
  hash = add_bytes(add_bytes(hash, std::string_view{"\0", 1}), entity_id);
  return static_cast<std::int64_t>(hash);
}

JobIndexes::JobIndexes(Connection& connection, const WriteLimits& limits)
    : limits_(limits),
      generations_{
          connection.query_integer("SELECT value FROM settings WHERE name = 'indexed_id'"),
          connection.query_integer("SELECT value FROM settings WHERE name = 'indexing_id'")},
      save_(connection, "UPDATE settings SET value = ?2 WHERE name = ?1"),
      lines_(connection, lines, generations_, limits),
      turns_(connection, turns, generations_, limits),
      by_routing_key_(connection, by_routing_key, generations_, limits),
      by_entity_(connection, by_entity, generations_, limits),
      by_batch_(connection, by_batch, generations_, limits) {
  load(connection);
}

void JobIndexes::load(Connection& connection) {
  is_moving_ = generations_.moving > generations_.written;
  last_id_ = generations_.moving;
  Statement row{connection,
                "SELECT id, cell, origin, turn, place, entity_type, entity_id, batch"
                " FROM jobs WHERE id > ?1"};
  for (row.bind(1, generations_.written); row.step();) {
    const auto id = row.integer(0);
    const auto routing_key = row.integer(2);
    const auto place = row.integer(4);
    if (const auto turn = row.optional_integer(3)) {
      turns_.load({row.integer(1), routing_key, *turn, place, id});
    }
    if (place != 0) lines_.load({line_hash(routing_key, row.text(5), row.text(6)), place, id});
    by_routing_key_.load(routing_key, id);
    by_entity_.load(entity_hash(row.text(6)), id);
    if (const auto batch = row.integer(7)) by_batch_.load(batch, id);
    last_id_ = std::max(last_id_, id);
    if (id > generations_.moving) ++recent_;
  }
  // The move begins anew, so the jobs that came during it count again.
  unwritten_ = std::min(recent_, limits_.generation_jobs);
  by_routing_key_.finish_loading();
  by_entity_.finish_loading();
  by_batch_.finish_loading();
}

void JobIndexes::add(JobId id, const Standing& at, const cells::Entity& entity) {
  if (at.turn) turns_.add(turn_key(id, at));
  if (at.place != 0) lines_.add(line_key(id, at, entity));
  const auto job = to_integer(id);
  by_routing_key_.add(at.routing_key, job);
  by_entity_.add(entity_hash(entity.id), job);
  if (at.batch != 0) by_batch_.add(to_integer(at.batch), job);
  last_id_ = std::max(last_id_, job);
  ++unwritten_;
  ++untended_;
  if (job > generations_.moving) ++recent_;
}

void JobIndexes::change(JobId id, const Standing& before, const Standing& after,
                        const cells::Entity& entity) {
  if (before.place != after.place) {
    if (before.place != 0) lines_.remove(line_key(id, before, entity));
    if (after.place != 0) lines_.add(line_key(id, after, entity));
  }
  change(id, before, after);
}

void JobIndexes::change(JobId id, const Standing& before, const Standing& after) {
  if (before.turn == after.turn && before.place == after.place && before.cell == after.cell) return;
  if (before.turn) turns_.remove(turn_key(id, before));
  if (after.turn) turns_.add(turn_key(id, after));
}

void JobIndexes::remove(JobId id, std::int64_t routing_key, std::string_view entity_id,
                        cells::BatchId batch) {
  by_routing_key_.remove(routing_key, to_integer(id));
  by_entity_.remove(entity_hash(entity_id), to_integer(id));
  if (batch != 0) by_batch_.remove(to_integer(batch), to_integer(id));
}

// --- Writing behind --------------------------------------------------------------------------

void JobIndexes::write_behind() {
  if (!is_moving_ && recent_ >= limits_.generation_jobs) start_move();
  if (unwritten_ >= std::min(limits_.jobs_per_move, limits_.generation_jobs)) {
    const auto jobs = std::min(unwritten_, limits_.jobs_per_commit_max);
    unwritten_ -= jobs;
    if (is_moving_) move(jobs);
  }
  lines_.tend(untended_);
  by_entity_.tend(untended_);
  untended_ = 0;
}

void JobIndexes::start_move() {
  lines_.start_move(recent_);
  turns_.start_move(recent_);
  by_routing_key_.start_move(recent_);
  by_entity_.start_move(recent_);
  by_batch_.start_move(recent_);
  generations_.moving = last_id_;
  is_moving_ = true;
  recent_ = 0;
  save();
}

/// `jobs` have come since the last call.
void JobIndexes::move(std::size_t jobs) {
  std::size_t left = jobs * limits_.moved_per_job;
  left -= lines_.move(left);
  left -= turns_.move(left);
  left -= by_routing_key_.move(left);
  left -= by_entity_.move(left);
  left -= by_batch_.move(left);
  if (left != 0) end_move();
}

void JobIndexes::end_move() {
  lines_.end_move();
  turns_.end_move();
  by_routing_key_.end_move();
  by_entity_.end_move();
  by_batch_.end_move();
  generations_.written = generations_.moving;
  is_moving_ = false;
  save();
}

void JobIndexes::save() {
  save_.bind(1, std::string_view{"indexed_id"}).bind(2, generations_.written).run();
  save_.bind(1, std::string_view{"indexing_id"}).bind(2, generations_.moving).run();
}

}  // namespace celld::store
