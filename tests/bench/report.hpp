// The output of a benchmark, and the arguments that all benchmarks share.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace celld::bench {

/// The smallest value that at least `part` (0 to 1) of the values do not exceed; 0 if there are
/// none.
double percentile(std::vector<double> values, double part);

/// The load average of the last minute. Other load on the machine distorts the figures.
double load_average();

/// What it costs to overwrite 16 KiB of a file and sync it, which is what a commit waits for.
struct SyncCost {
  double p50_us = 0;
  double switches = 0;  ///< Voluntary context switches of the thread, on average.
};

/// For a file in `directory`. Figures of a durable daemon are only comparable on disks for which
/// this cost is similar.
SyncCost measure_sync(const std::filesystem::path& directory);

/// Figures by name, in the order in which they were first added. A figure that was added several
/// times is reported as its median, with its minimum and maximum.
class Report {
 public:
  explicit Report(std::string title);

  void add(const std::string& name, const std::string& unit, double value);
  /// Prints one figure per line, or one JSON document.
  void print(bool json) const;

 private:
  struct Figure {
    std::string name;
    std::string unit;
    std::vector<double> values;
  };
  void print_lines() const;
  void print_json() const;

  std::string title_;
  double load_before_;
  std::vector<Figure> figures_;
};

struct Arguments {
  std::string celld;                ///< The program. Default: next to the benchmark.
  std::filesystem::path directory;  ///< Parent of the data directories, on the disk to measure.
  int runs = 3;
  bool json = false;
};

/// The shared part of the benchmarks' main functions. `add_options` adds options of the benchmark's
/// own; `measure` is called once per run. Returns the exit code.
int run_benchmark(int argc, char** argv, const std::string& title,
                  const std::function<void(CLI::App&)>& add_options,
                  const std::function<void(const Arguments&, Report&)>& measure);

}  // namespace celld::bench
