// Who stands in which entity's line, from committed jobs alone: apart from how the store does it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "cells/model/job.hpp"

namespace simulation {

using namespace cells;

/// (Customer, product, entity type, entity id).
using EntityName = std::tuple<std::string, std::string, std::string, std::string>;
inline EntityName entity_of(const Job& job) {
  return {job.spec->customer, job.spec->product, job.spec->entity.type, job.spec->entity.id};
}

/// The lines of promise P6: whoever heads one does so until it leaves, even if a lower place comes
/// after it; then the lowest place is next.
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

  /// 0: nobody stands in the line.
  JobId head(const EntityName& entity) const {
    const auto found = lines_.find(entity);
    return found == lines_.end() ? 0 : found->second.head;
  }

 private:
  struct Line {
    JobId head = 0;
    std::set<std::pair<JobId, JobId>> places;  ///< (Place, id).
  };
  std::map<EntityName, Line> lines_;
};

}  // namespace simulation
