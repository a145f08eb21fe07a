#include "tests/bench/report.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>

#include <sys/resource.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "tests/bench/http_wire.hpp"

namespace celld::bench {
namespace {

double median(const std::vector<double>& values) {
  return percentile(values, 0.5);
}

/// The voluntary context switches of this thread, so far.
long voluntary_switches() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

}  // namespace

double load_average() {
  double average = 0;
  return ::getloadavg(&average, 1) == 1 ? average : 0;
}

SyncCost measure_sync(const std::filesystem::path& directory) {
  constexpr int rounds = 50;
  constexpr std::size_t bytes = 16 << 10;
  auto path = (directory / "celld-bench-XXXXXX").string();
  const Descriptor file{::mkstemp(path.data())};
  if (file.get() < 0) throw std::runtime_error("cannot write in " + directory.string());
  ::unlink(path.c_str());
  const std::string content(bytes, 'x');
  std::vector<double> times_us;
  long switches_before = 0;
  for (int round = -1; round < rounds; ++round) {
    if (round == 0) switches_before = voluntary_switches();
    const auto begin = std::chrono::steady_clock::now();
    const bool written =
        ::pwrite(file.get(), content.data(), bytes, 0) == static_cast<ssize_t>(bytes);
    if (!written || ::fdatasync(file.get()) != 0) throw std::runtime_error("cannot write " + path);
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
    if (round >= 0) times_us.push_back(time.count());  // The first write allocates the blocks.
  }
  return {percentile(times_us, 0.5),
          static_cast<double>(voluntary_switches() - switches_before) / rounds};
}

double percentile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  const auto rank = std::ceil(part * static_cast<double>(values.size()));
  const auto index = std::max<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(rank) - 1);
  std::nth_element(values.begin(), values.begin() + index, values.end());
  return values[static_cast<std::size_t>(index)];
}

Report::Report(std::string title) : title_(std::move(title)), load_before_(load_average()) {}

void Report::add(const std::string& name, const std::string& unit, double value) {
  const auto known = std::find_if(figures_.begin(), figures_.end(),
                                  [&](const Figure& figure) { return figure.name == name; });
  if (known == figures_.end()) {
    figures_.push_back({name, unit, {value}});
  } else {
    known->values.push_back(value);
  }
}

void Report::print(bool json) const {
  if (json) {
    print_json();
  } else {
    print_lines();
  }
}

void Report::print_lines() const {
  std::printf("%s (load average %.1f before, %.1f after)\n", title_.c_str(), load_before_,
              load_average());
  for (const auto& figure : figures_) {
    const auto [least, greatest] = std::minmax_element(figure.values.begin(), figure.values.end());
    const auto middle = median(figure.values);
    const int digits = std::abs(middle) < 100 ? 2 : 0;
    std::printf("  %-44s %12.*f %-7s", figure.name.c_str(), digits, middle, figure.unit.c_str());
    if (figure.values.size() > 1) std::printf(" %.*f ... %.*f", digits, *least, digits, *greatest);
    std::printf("\n");
  }
}

void Report::print_json() const {
  nlohmann::json document = {{"title", title_},
                             {"load_average", {load_before_, load_average()}},
                             {"figures", nlohmann::json::array()}};
  for (const auto& figure : figures_) {
    document["figures"].push_back({{"name", figure.name},
                                   {"unit", figure.unit},
                                   {"median", median(figure.values)},
                                   {"values", figure.values}});
  }
  std::printf("%s\n", document.dump().c_str());
}

int run_benchmark(int argc, char** argv, const std::string& title,
                  const std::function<void(CLI::App&)>& add_options,
                  const std::function<void(const Arguments&, Report&)>& measure) {
  Arguments arguments;
  arguments.directory = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  arguments.celld = (arguments.directory / "celld").string();
  CLI::App app{"Measures " + title + "."};
  app.add_option("celld", arguments.celld, "the daemon (default: next to this program)");
  app.add_option("--data", arguments.directory, "parent of the data directories");
  app.add_option("--runs", arguments.runs, "runs; figures are their medians")
      ->check(CLI::Range(1, 1000));
  app.add_flag("--json", arguments.json, "print one JSON document");
  add_options(app);
  CLI11_PARSE(app, argc, argv);
  try {
    Report report{title};
    for (int run = 0; run < arguments.runs; ++run) {
      const auto sync = measure_sync(arguments.directory);
      report.add("disk: write 16 KiB and fdatasync, p50", "us", sync.p50_us);
      report.add("disk: voluntary switches of a sync", "switches", sync.switches);
      measure(arguments, report);
    }
    report.print(arguments.json);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
}

}  // namespace celld::bench
