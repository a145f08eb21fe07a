// What the token of a request may see. endpoints.cpp decides for each endpoint how this applies.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cells/model/job.hpp"

namespace celld::api {

/// The only customer that the request's token may see; nothing: any. Everything of other customers,
/// and everything shared, appears not to exist.
using BoundCustomer = std::optional<std::string>;

inline bool may_see(const BoundCustomer& only_customer, std::string_view customer) {
  return !only_customer || *only_customer == customer;
}

/// A job that a request names.
struct NamedJob {
  cells::JobId id = 0;
  BoundCustomer only_customer{};

  /// `job`, the one with this id; null if there is none or the request may not see it.
  cells::JobPtr visible(const cells::JobPtr& job) const {
    return job && may_see(only_customer, job->spec->customer) ? job : nullptr;
  }
};

}  // namespace celld::api
