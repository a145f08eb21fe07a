// The actor between HTTP and the engine. Handlers send it each request with its Responder; the
// gateway asks the engine, renders the reply, and answers. It never blocks.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cells/actors/schedules.hpp"
#include "src/http/api/bound_customer.hpp"
#include "src/http/api/event_feed.hpp"
#include "src/http/api/job_page.hpp"
#include "src/http/api/problem.hpp"
#include "src/http/api/query.hpp"
#include "src/http/api/settings.hpp"
#include "src/http/server.hpp"

namespace celld::api {

// --- From the composition --------------------------------------------------------------------

/// Use this engine from now on. The engine needs the gateway as its observer and so starts after
/// it; until this message, every request is answered with a 503.
struct ServeEngine {
  cells::CellDispatcher dispatcher;
  cells::JobReader reader;
  cells::ScheduleDesk schedules{};
};

/// A reload begins or has ended. Meanwhile a submission may wait for the reload's decision, however
/// fast the disk is.
struct Reloading {
  bool is_under_way = false;
};

/// celld is shutting down: answer every client that waits for the end of a job with its state now.
struct ReleaseWaiters {};

// --- From the handlers -----------------------------------------------------------------------

struct PostJob {
  cells::JobRequest request;
  std::optional<std::chrono::seconds> wait;  ///< How long to wait for the job's end.
  http::Responder responder;
  std::optional<Problem> refusal_if_new{};  ///< The answer if no job has this key.
  bool spares_disk = false;                 ///< As in Submission.
};

struct GetJob {
  NamedJob job;
  http::Responder responder;
};

struct GetJobs {
  cells::ListJobs list;
  http::Responder responder;
  BoundCustomer only_customer{};
};

struct PostCancel {
  NamedJob job;
  http::Responder responder;
};

struct PostRetry {
  NamedJob job;
  http::Responder responder;
};

struct GetCell {
  cells::CellKey cell;
  http::Responder responder;
};

struct GetCells {
  cells::ListCells list;
  http::Responder responder;
  BoundCustomer only_customer{};
};

struct PutPool {
  cells::ResizePool change;
  http::Responder responder;
};

/// Sets limits instead of the configured ones; without any, restores the configured ones.
struct PutQuota {
  cells::CellKey cell;
  cells::QuotaOverride quota;
  http::Responder responder;
};

struct PostCellState {
  cells::CellKey cell;
  cells::CellState state = cells::CellState::active;
  http::Responder responder;
};

struct GetServices {
  ListServicesByName list;
  std::shared_ptr<const Settings> settings;
  http::Responder responder;
};

struct GetService {
  std::string service;
  std::shared_ptr<const Settings> settings;
  http::Responder responder;
};

/// Closes the service's circuit, and ends a pause that its provider asked for.
struct PostServiceReset {
  std::string service;
  std::shared_ptr<const Settings> settings;
  http::Responder responder;
};

/// GET, PUT and DELETE of one schedule.
struct GetSchedule {
  cells::DescribeSchedule question;
  http::Responder responder;
};

struct PutSchedule {
  cells::PutSchedule order;
  http::Responder responder;
};

struct DeleteSchedule {
  cells::DeleteSchedule order;
  http::Responder responder;
};

struct GetSchedules {
  cells::ListSchedules list;
  http::Responder responder;
};

// --- To itself -------------------------------------------------------------------------------

/// Answer the waiters whose deadline has passed, and forget disconnected clients.
struct CheckWaiters {
  std::chrono::steady_clock::time_point at;  ///< Another check may have been armed since.
};
/// The client of this page has taken everything sent so far, or has disconnected.
struct PieceTaken {
  std::weak_ptr<JobPage> page;
};

}  // namespace celld::api

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::ServeEngine)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::ReleaseWaiters)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::PostJob)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::GetJob)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::GetJobs)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::PostCancel)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::PostRetry)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::GetCell)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::GetCells)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::PutPool)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::PutQuota)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::PostCellState)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::GetServices)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::GetService)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::PostServiceReset)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::GetSchedule)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::PutSchedule)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::DeleteSchedule)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::GetSchedules)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::Reloading)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::CheckWaiters)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::PieceTaken)

namespace celld::api {

/// Answers every request exactly once; with a problem if the engine fails.
using Gateway = cells::JobObserver::extend<
    caf::reacts_to<ServeEngine>, caf::reacts_to<ReleaseWaiters>, caf::reacts_to<PostJob>,
    caf::reacts_to<GetJob>, caf::reacts_to<GetJobs>, caf::reacts_to<PostCancel>,
    caf::reacts_to<PostRetry>, caf::reacts_to<FollowJob>, caf::reacts_to<FollowJobs>,
    caf::reacts_to<EndStreams>, caf::reacts_to<Reloading>, caf::reacts_to<GetCell>,
    caf::reacts_to<GetCells>, caf::reacts_to<PutPool>, caf::reacts_to<PutQuota>,
    caf::reacts_to<PostCellState>, caf::reacts_to<GetServices>, caf::reacts_to<GetService>,
    caf::reacts_to<PostServiceReset>, caf::reacts_to<GetSchedule>, caf::reacts_to<PutSchedule>,
    caf::reacts_to<DeleteSchedule>, caf::reacts_to<GetSchedules>, caf::reacts_to<CheckWaiters>,
    caf::reacts_to<PieceTaken>>;

/// `wall_clock` serves to compute the age of a cell's oldest queued job. The gateway reads at most
/// `ages_max` such ages at a time.
Gateway spawn_gateway(caf::actor_system& system, std::function<cells::WallTime()> wall_clock,
                      std::size_t ages_max = 100);

}  // namespace celld::api
