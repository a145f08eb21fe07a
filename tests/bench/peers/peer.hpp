// What bench_peers needs of celld and of each of its peers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace celld::bench {

/// Workers that take and end the jobs of a load.
constexpr std::uint32_t workers_in_load = 16;

/// The interval between jobs in measure_idle.
constexpr std::int64_t idle_interval_ms = 20;

struct KeptFigures {
  double rate;    ///< Acknowledged submissions per second.
  double p50_us;  ///< From sending a job until its acknowledgement.
};

/// Of jobs that one client and `workers_in_load` workers move in the largest portions that suit.
struct ManyFigures {
  double submitted;  ///< Acknowledged submissions per second, over one connection.
  double ended;      ///< Acknowledged ends per second. No job is submitted meanwhile.
};

/// A running server on a fresh data directory, and its clients. The destructor stops it and removes
/// the directory. All functions throw.
class Peer {
 public:
  Peer() = default;
  virtual ~Peer() = default;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  /// Submits a job at each interval. Returns the median time, in microseconds, from sending a job
  /// until a waiting worker has it.
  virtual double measure_idle(double seconds) = 0;
  /// Workers take and end the jobs meanwhile. Jobs per second: the lesser of two rates, that of
  /// acknowledged submissions, and that of acknowledged ends until the last job has ended.
  virtual double measure_lives(std::size_t connections, double seconds) = 0;
  /// Workers outside the server take and end, one at a time, jobs that were submitted before. Ends
  /// per second, acknowledged if the server acknowledges them.
  virtual std::optional<double> measure_queued(double seconds) = 0;
  /// None if the client of this peer has no such load.
  virtual std::optional<ManyFigures> measure_many(double seconds) = 0;
  /// The jobs stay queued.
  virtual KeptFigures measure_kept(std::size_t connections, double seconds) = 0;
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
PeerKind bullmq_kind();
PeerKind nats_kind();
PeerKind redis_kind();
#ifdef CELLD_BENCH_POSTGRESQL
PeerKind postgresql_kind();
#endif
#ifdef CELLD_BENCH_RABBITMQ
PeerKind rabbitmq_kind();
#endif

}  // namespace celld::bench
