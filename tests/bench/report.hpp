// What a benchmark prints, and the arguments that all of them take.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace celld::bench {

/// The value that the given part of them does not exceed; 0 of none.
double percentile(std::vector<double> values, double part);

/// Figures by name, in order of their first appearance. One that is added several times is told by
/// its median, with its least and its greatest value.
class Report {
 public:
  explicit Report(std::string title);

  void add(const std::string& name, const std::string& unit, double value);
  /// One figure a line, or all as one JSON document.
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
  std::string celld;  ///< The program; beside the benchmark unless given.
  std::filesystem::path
      directory;  ///< Where the data directories are made, on the disk to measure.
  int runs = 3;
  bool json = false;
};

/// Everything that the programs' main functions share. `add_options` adds what else one takes;
/// `measure` is called once for each run. Returns what to exit with.
int run_benchmark(int argc, char** argv, const std::string& title,
                  const std::function<void(CLI::App&)>& add_options,
                  const std::function<void(const Arguments&, Report&)>& measure);

}  // namespace celld::bench
