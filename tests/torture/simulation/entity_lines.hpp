// The entity lines as they follow from committed jobs alone, independent of the store's code.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cells/model/job.hpp"

namespace simulation {

using namespace cells;

/// (Customer, product, entity type, entity id).
using EntityName = std::tuple<std::string, std::string, std::string, std::string>;
inline EntityName entity_of(const Job& job) {
  return {job.spec->customer, job.spec->product, job.spec->entity.type, job.spec->entity.id};
}

/// The lines of promise P6. The head of a line stays the head until it leaves, even if a job with a
/// lower place arrives; then the job with the lowest place is next.
class EntityLines {
 public:
  /// `before` is null for a new job.
  void changed(const Job* before, const Job& after) {
    const JobId place_before = before ? before->place : 0;
    if (place_before == after.place) return;
    Line& line = lines_[entity_of(after)];
    if (place_before != 0) line.places.erase({place_before, after.id});
    if (after.place != 0) line.places.emplace(after.place, after.id);
    if (after.place == 0 && line.head == after.id) line.head = 0;
    if (line.head == 0 && !line.places.empty()) line.head = line.places.begin()->second;
    if (line.places.empty()) lines_.erase(entity_of(after));
  }

  /// 0: the line is empty.
  JobId head(const EntityName& entity) const {
    const auto found = lines_.find(entity);
    return found == lines_.end() ? 0 : found->second.head;
  }

  /// The other jobs in the line of this one, and of these, those behind it.
  struct Others {
    std::set<JobId> all;
    std::set<JobId> behind;
  };
  Others others(const Job& job) const {
    Others found;
    const auto line = lines_.find(entity_of(job));
    if (line == lines_.end()) return found;
    for (const auto& [place, id] : line->second.places) {
      if (id == job.id) continue;
      found.all.insert(id);
      if (place > job.place) found.behind.insert(id);
    }
    return found;
  }

 private:
  struct Line {
    JobId head = 0;
    std::set<std::pair<JobId, JobId>> places;  ///< (Place, id).
  };
  std::map<EntityName, Line> lines_;
};

/// Checks that jobs receive their places in the order in which they fell due. Exempt are jobs that
/// moved to another cell or were reopened, because these receive their places at that moment, and
/// pairs of times from before and after a jump of the clock.
class DueOrder {
 public:
  /// `before` is null for a new job. `exempt`: its times may date from before a clock jump.
  void changed(const Job* before, const Job& after, bool exempt) {
    const bool special = before && (is_ended(before->state) || before->cell != after.cell);
    if (special || (exempt && !before)) exempt_.insert(after.id);
    auto& jobs = lines_[entity_of(after)];
    if (is_ended(after.state) || exempt_.contains(after.id)) {
      jobs.erase(after.id);
    } else {
      jobs[after.id] = {after.cell, std::max(after.run_at, after.created_at), after.place,
                        after.expires_at};
      if (after.place != 0 && !(before && before->place != 0)) came_.insert(after.id);
    }
    if (jobs.empty()) lines_.erase(entity_of(after));
  }

  void clock_jumped() {
    for (const auto& [entity, jobs] : lines_) {
      for (const auto& [id, job] : jobs) exempt_.insert(id);
    }
    lines_.clear();
  }

  /// Pairs of (job that went first, job that had fallen due before it), among the jobs that
  /// received their places since the last call. Jobs of one commit arrive here in any order.
  std::vector<std::pair<JobId, JobId>> overtaken(WallTime latest) {
    std::vector<std::pair<JobId, JobId>> found;
    const auto came = std::exchange(came_, {});
    if (came.empty()) return found;
    for (const auto& [entity, jobs] : lines_) {
      for (const auto& [id, job] : jobs) {
        if (!came.contains(id)) continue;
        for (const auto& [other_id, other] : jobs) {
          if (goes_wrongly_before(job, other, latest)) found.emplace_back(id, other_id);
          if (goes_wrongly_before(other, job, latest)) found.emplace_back(other_id, id);
        }
      }
    }
    return found;
  }

 private:
  struct Standing {
    CellKey cell;
    WallTime due{};
    JobId place = 0;  ///< 0: none yet.
    std::optional<WallTime> expires_at{};
  };

  /// A job that expired while it waited need not receive a place.
  static bool goes_wrongly_before(const Standing& first, const Standing& other, WallTime latest) {
    const bool before = first.place != 0 && (other.place == 0 || first.place < other.place);
    const bool expired = other.expires_at && *other.expires_at <= latest;
    return before && !expired && other.cell == first.cell && other.due < first.due;
  }

  std::map<EntityName, std::map<JobId, Standing>> lines_;
  std::set<JobId> came_;
  std::set<JobId> exempt_;
};

}  // namespace simulation
