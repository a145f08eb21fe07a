// Schedules as the API shows and reads them.
#pragma once

#include <string>
#include <variant>

#include "cells/actors/schedules.hpp"
#include "src/config/config.hpp"
#include "src/http/api/bound_customer.hpp"
#include "src/http/api/problem.hpp"
#include "src/http/api/submission.hpp"
#include "src/http/server.hpp"

namespace celld::api {

std::string schedule_json(const cells::Schedule& schedule);
std::string schedule_list_json(const cells::SchedulesListed& page);

/// The body of PUT /v1/schedules/{name}, or a problem with all the faults of the request.
/// `zone_fault` says what is wrong with a time zone, if anything.
std::variant<cells::ScheduleSpec, Problem> parse_schedule(const http::Request& request,
                                                          const SubmissionRules& rules,
                                                          const config::TimeZoneFault& zone_fault,
                                                          const BoundCustomer& only_customer);

}  // namespace celld::api
