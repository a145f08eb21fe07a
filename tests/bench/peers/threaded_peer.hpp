// A peer whose clients are threads. Each thread has its own connection, and waits for each answer
// before it sends the next request.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/bench/load.hpp"
#include "tests/bench/peers/peer.hpp"

namespace celld::bench {

/// What becomes of the jobs of a load.
enum class Purpose {
  run,        ///< Workers take and end them meanwhile.
  keep,       ///< They stay queued.
  notice,     ///< A single worker waits for each of them.
  pull,       ///< Workers outside the server take and end them, one at a time.
  pull_many,  ///< The same, with up to `jobs_at_once` at a time.
};

constexpr std::size_t jobs_at_once = 100;

/// A client with one connection. Each thread has its own.
class Producer {
 public:
  Producer() = default;
  virtual ~Producer() = default;
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  /// Submits another job, and returns when the server has acknowledged it. Throws.
  virtual void submit() = 0;
  /// Submits so many jobs, and returns when the server has acknowledged all of them. False if there
  /// is no faster way than one after another; then it has submitted none. Throws.
  virtual bool submit_many(std::size_t /*count*/) { return false; }
};

/// The workers of one load. They run until the object is destroyed.
class Workers {
 public:
  Workers() = default;
  virtual ~Workers() = default;
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Waits for the n-th job (from 1) that a worker took. Returns when that was; throws after half a
  /// minute.
  virtual Clock::time_point await_taken(std::size_t nth) = 0;
  /// Waits until `count` jobs have ended. Returns when the last of them did; throws after two
  /// minutes.
  virtual Clock::time_point await_ended(std::size_t count) = 0;
};

class ThreadedPeer : public Peer {
 public:
  double measure_idle(double seconds) final;
  double measure_lives(std::size_t connections, double seconds) final;
  std::optional<double> measure_queued(double seconds) final;
  std::optional<ManyFigures> measure_many(double seconds) final;
  KeptFigures measure_kept(std::size_t connections, double seconds) final;

 protected:
  /// Producers with different seeds submit different jobs.
  virtual std::unique_ptr<Producer> producer(Purpose purpose, std::uint64_t seed) = 0;
  virtual std::unique_ptr<Workers> workers(Purpose purpose, std::size_t count) = 0;

 private:
  std::vector<std::unique_ptr<Producer>> producers(Purpose purpose, std::size_t count);
  double end_rate(Purpose purpose, std::size_t jobs);

  std::uint64_t seed_ = 0;
};

}  // namespace celld::bench
