// The actor between workers outside and the engine. Handlers send it each request with its
// Responder; it asks the engine, renders the reply, and answers. It never blocks.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cells/actors/protocol.hpp"
#include "src/http/api/bound_customer.hpp"
#include "src/http/api/lease_bodies.hpp"
#include "src/http/api/lease_names.hpp"
#include "src/http/server.hpp"

namespace celld::api {

/// What the token of a request may work for.
struct WorkAccess {
  BoundCustomer only_customer;
  std::optional<std::set<std::string>> only_services;  ///< None: all.

  bool is_bound() const { return only_customer || only_services; }
  bool may_serve(const std::string& service) const;
  bool may_hold(const cells::Job& job) const;
};

// --- From the handlers -----------------------------------------------------------------------

struct PostLeases {
  std::string service;
  LeaseOrder order;
  BoundCustomer only_customer;
  http::Responder responder;
};

struct PostHeartbeat {
  std::string lease;  ///< As named in the request, as in the messages below.
  Heartbeat heartbeat;
  WorkAccess access;
  http::Responder responder;
};

/// …/complete and …/fail
struct PostEnd {
  std::string lease;
  cells::CallOutcome outcome;
  WorkAccess access;
  http::Responder responder;
};

struct PostReports {
  std::vector<Report> reports;
  WorkAccess access;
  http::Responder responder;
};

struct GetLeases {
  cells::ListLeases list;
  http::Responder responder;
};

// --- From the composition --------------------------------------------------------------------

/// The tokens have changed: answer every waiting request now, so that no worker gets a job for a
/// token that is gone.
struct EndWaits {};

/// celld is shutting down: answer every waiting request now, and let no later request wait.
struct StopLeasing {};

// --- To itself -------------------------------------------------------------------------------

/// Answer the requests whose wait is over, and forget disconnected workers; unless another check
/// was armed since.
struct CheckRequests {
  std::chrono::steady_clock::time_point at;
};

}  // namespace celld::api

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::PostLeases)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::PostHeartbeat)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::PostEnd)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::PostReports)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::GetLeases)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::EndWaits)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::StopLeasing)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::CheckRequests)

namespace celld::api {

/// Answers every request exactly once; with a problem if the engine fails.
using LeaseGateway = caf::typed_actor<caf::reacts_to<PostLeases>, caf::reacts_to<PostHeartbeat>,
                                      caf::reacts_to<PostEnd>, caf::reacts_to<PostReports>,
                                      caf::reacts_to<GetLeases>, caf::reacts_to<EndWaits>,
                                      caf::reacts_to<StopLeasing>, caf::reacts_to<CheckRequests>>;

struct LeaseGatewaySetup {
  cells::CellDispatcher dispatcher;
  cells::JobReader reader;
  LeaseNames names;
  std::function<cells::WallTime()> wall_clock;
};

LeaseGateway spawn_lease_gateway(caf::actor_system& system, LeaseGatewaySetup setup);

}  // namespace celld::api
