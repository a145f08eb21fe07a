// Load over several connections, each with one request in flight, all on the calling thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace celld::bench {

using Clock = std::chrono::steady_clock;

struct Load {
  std::uint16_t port = 0;
  std::size_t connections = 1;
  int status = 202;  ///< The expected status. Any other is an error.
  /// The load ends when it reaches either limit. Every request that was sent is answered and
  /// counted.
  Clock::duration duration = std::chrono::hours{1};
  std::size_t requests_max = SIZE_MAX;
};

struct LoadResult {
  std::size_t requests = 0;
  double seconds = 0;
  std::vector<double> latencies_us;

  double rate() const { return static_cast<double>(requests) / seconds; }
};

/// The returned view need only be valid until the next call.
using NextRequest = std::function<std::string_view()>;

/// Throws on an unexpected or missing answer.
LoadResult run_load(const Load& load, const NextRequest& next_request);

/// Requests that submit a job of about 200 bytes, each for another entity. The entities' ids are
/// random, as those of users are (domain names, UUIDs), and the same in every run with this seed.
class JobRequests {
 public:
  JobRequests(std::string_view service, std::int64_t delay_ms = 0,
              std::uint64_t seed = std::mt19937_64::default_seed);

  /// The view is valid until the next call.
  std::string_view next();
  /// The JSON of the next request alone. The view is valid until the next call.
  std::string_view next_body();

 private:
  std::string text_;
  std::size_t id_at_ = 0;
  std::size_t body_at_ = 0;
  std::mt19937_64 ids_;
};

/// Submits `count` jobs in one request. Returns the seconds until its answer; throws unless celld
/// accepts all of them.
double submit_batch(std::uint16_t port, JobRequests& jobs, std::size_t count);

}  // namespace celld::bench
