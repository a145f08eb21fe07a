// What bench_peers needs of celld and of each of its peers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/bench/load.hpp"

namespace celld::bench {

/// Workers that take and end the jobs of a load.
constexpr std::uint32_t workers_in_load = 16;

/// What becomes of the jobs of a load.
enum class Purpose {
  run,     ///< Workers take and end them meanwhile.
  keep,    ///< They stay queued.
  notice,  ///< A single worker waits for each of them.
};

/// A client with one connection. Each thread has its own.
class Producer {
 public:
  Producer() = default;
  virtual ~Producer() = default;
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  /// Submits another job, and returns when the server has acknowledged it. Throws.
  virtual void submit() = 0;
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
  /// Waits until as many jobs have ended. Returns when the last of them did; throws after two
  /// minutes.
  virtual Clock::time_point await_ended(std::size_t count) = 0;
};

/// A running server on a fresh data directory. The destructor stops it and removes the directory.
class Peer {
 public:
  Peer() = default;
  virtual ~Peer() = default;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  /// Producers with different seeds submit different jobs.
  virtual std::unique_ptr<Producer> producer(Purpose purpose, std::uint64_t seed) = 0;
  virtual std::unique_ptr<Workers> workers(Purpose purpose, std::size_t count) = 0;
};

struct PeerSetup {
  std::string celld;                ///< The program.
  std::filesystem::path unpacked;   ///< Holds an unpacked package in a directory of its name.
  std::filesystem::path directory;  ///< Parent of the data directories.
};

struct PeerKind {
  std::string name;   ///< As an argument.
  std::string title;  ///< As a row of the table.
  bool synced;        ///< Whether an acknowledged job is on disk.
  std::unique_ptr<Peer> (*start)(const PeerSetup&);
};

PeerKind celld_kind();
PeerKind beanstalkd_kind();
PeerKind nats_kind();
PeerKind redis_kind();
#ifdef CELLD_BENCH_POSTGRESQL
PeerKind postgresql_kind();
#endif
#ifdef CELLD_BENCH_RABBITMQ
PeerKind rabbitmq_kind();
#endif

}  // namespace celld::bench
