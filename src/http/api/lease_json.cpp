#include "src/http/api/lease_json.hpp"

#include <algorithm>

#include "src/http/api/job_json.hpp"
#include "src/http/api/query.hpp"
#include "src/json/json.hpp"
#include "src/json/time_text.hpp"

namespace celld::api {
namespace {

using cells::LeaseOut;
using cells::Now;

cells::milliseconds left(const LeaseOut& lease, const Now& now) {
  const auto until = std::chrono::duration_cast<cells::milliseconds>(lease.deadline - now.steady);
  return std::max(until, cells::milliseconds{0});
}

void append_times(std::string& out, const LeaseOut& lease, const Now& now) {
  const auto time = left(lease, now);
  out += R"("expires_in_ms":)" + std::to_string(time.count());
  out += R"(,"deadline":")" + json::format_time(now.wall + time) + '"';
}

void append_lease(std::string& out, const LeaseOut& lease, const LeaseNames& names, const Now& now,
                  bool with_worker) {
  const cells::Job& job = *lease.job;
  const cells::Step& step = job.steps[job.step];
  const auto& service = job.spec->services[job.step];
  out += R"({"lease":")" + names.name({job.id, job.lease}) + R"(",)";
  if (with_worker) out += R"("worker":)" + json::quote(step.worker) + ',';
  append_times(out, lease, now);
  out += R"(,"service":)" + json::quote(service);
  out += R"(,"attempt":)" + std::to_string(step.attempts);
  out += R"(,"undo":false,"idempotency_key":)";
  json::append_quoted(out, cells::format_job_id(job.id) + '.' + service);
  out += R"(,"traceparent":)";
  out += job.spec->traceparent.empty() ? "null" : json::quote(job.spec->traceparent);
  out += R"(,"job":)";
  append_job(out, job);
  out += '}';
}

void append_leases(std::string& out, const std::vector<LeaseOut>& leases, const LeaseNames& names,
                   const Now& now, bool with_worker) {
  out += '[';
  for (const auto& lease : leases) {
    if (out.back() != '[') out += ',';
    append_lease(out, lease, names, now, with_worker);
  }
  out += ']';
}

}  // namespace

std::string granted_json(const std::vector<LeaseOut>& leases, const LeaseNames& names,
                         const Now& now) {
  std::string out = R"({"leases":)";
  append_leases(out, leases, names, now, false);
  return out + '}';
}

std::string lease_list_json(const std::vector<LeaseOut>& leases, bool more, const LeaseNames& names,
                            const Now& now) {
  std::string out = R"({"items":)";
  append_leases(out, leases, names, now, true);
  out += R"(,"next_cursor":)";
  out += more ? json::quote(lease_cursor(leases.back().job->lease)) : "null";
  return out + '}';
}

std::string held_json(const LeaseOut& lease, bool cancel, const Now& now) {
  std::string out = "{";
  append_times(out, lease, now);
  out += R"(,"cancel":)";
  out += cancel ? "true" : "false";
  return out + '}';
}

}  // namespace celld::api
