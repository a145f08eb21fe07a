// Compares the SQLite store with the in-memory one; see docs/evidence.md.
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/torture/stores/run.hpp"

namespace stores {
namespace {

constexpr const char* usage = R"(usage: %s [--from SEED] [--count N] [--seconds S]
  [--summary FILE] [--trace] [--controls]
Runs N seeds (default 100), beginning with SEED (default 0). At the first difference between the
stores, or from what they promise, prints it with the command that repeats it, and exits with 1.
  --seconds S    begin no seed after S seconds
  --summary FILE write the results to FILE as JSON
  --trace        print every operation
  --controls     plant one mistake after the other, each of which must be found within N seeds
)";

volatile std::sig_atomic_t interrupted = 0;

struct Options {
  std::string program;
  std::uint64_t from = 0;
  std::uint64_t count = 100;
  std::optional<std::chrono::seconds> time;
  std::string summary;
  bool trace = false;
  bool controls = false;
};

bool parse_number(std::string_view text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

bool parse_flag(std::string_view name, Options& options) {
  if (name == "--trace") return options.trace = true;
  if (name == "--controls") return options.controls = true;
  return false;
}

bool parse_value(std::string_view name, std::string_view value, Options& options) {
  if (name == "--from") return parse_number(value, options.from);
  if (name == "--count") return parse_number(value, options.count);
  if (name == "--summary") {
    options.summary = value;
    return true;
  }
  std::uint64_t seconds = 0;
  if (name != "--seconds" || !parse_number(value, seconds)) return false;
  options.time = std::chrono::seconds{seconds};
  return true;
}

class Campaign {
 public:
  explicit Campaign(const Options& options) : options_(options) {}

  int run() {
    for (std::uint64_t seed = options_.from; seed < options_.from + options_.count; ++seed) {
      if (interrupted || (options_.time && elapsed() >= *options_.time)) break;
      if (!run_one(seed)) break;
    }
    std::printf(
        "%zu seeds: %zu operations, %zu looks, %zu crashes, %zu failures, %zu lost"
        " operations, %d differences\n",
        seeds_, sum_.operations, sum_.looks, sum_.crashes, sum_.failures, sum_.lost,
        failed_seed_ ? 1 : 0);
    return write_summary() && !failed_seed_ ? 0 : 1;
  }

 private:
  std::chrono::steady_clock::duration elapsed() const {
    return std::chrono::steady_clock::now() - start_;
  }

  bool run_one(std::uint64_t seed) {
    const auto result = run_seed(seed, {}, options_.trace);
    ++seeds_;
    sum_.operations += result.operations;
    sum_.looks += result.looks;
    sum_.crashes += result.crashes;
    sum_.failures += result.failures;
    sum_.lost += result.lost;
    for (const auto& line : result.trace) std::printf("%s\n", line.c_str());
    if (result.violation.empty()) return true;
    failed_seed_ = seed;
    std::printf("seed %llu: %s\nrepeat with: %s --from %llu --count 1 --trace\n",
                static_cast<unsigned long long>(seed), result.violation.c_str(),
                options_.program.c_str(), static_cast<unsigned long long>(seed));
    return false;
  }

  bool write_summary() const {
    if (options_.summary.empty()) return true;
    std::ofstream file{options_.summary};
    file << "{\"units\": " << seeds_ << ", \"failures\": " << (failed_seed_ ? 1 : 0)
         << ", \"failed\": [";
    if (failed_seed_) file << "{\"from\": " << *failed_seed_ << ", \"count\": 1}";
    file << "], \"figures\": {\"operations\": " << sum_.operations << ", \"looks\": " << sum_.looks
         << ", \"crashes\": " << sum_.crashes << ", \"failures\": " << sum_.failures
         << ", \"lost\": " << sum_.lost << "}}\n";
    file.close();
    if (!file) std::fprintf(stderr, "cannot write %s\n", options_.summary.c_str());
    return static_cast<bool>(file);
  }

  const Options& options_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::size_t seeds_ = 0;
  RunResult sum_;
  std::optional<std::uint64_t> failed_seed_;
};

// --- Controls --------------------------------------------------------------------------------

template <class Dropped>
Wrong without() {
  return {.dropped = Request{Dropped{}}.index()};
}

std::vector<std::pair<std::string, Wrong>> all_wrongs() {
  std::vector<std::pair<std::string, Wrong>> wrongs{
      {"without ClaimJob", without<ClaimJob>()},
      {"without HoldJob", without<HoldJob>()},
      {"without ChangeLane", without<ChangeLane>()},
      {"without ReleaseHolds", without<ReleaseHolds>()},
      {"stale looks", {.stale_looks = true}},
      {"lost commits", {.loses_commits = true}}};
  for (std::size_t number = 0; const auto field = answer_field(number); ++number)
    wrongs.emplace_back(to_text(*field), Wrong{.answer = field});
  return wrongs;
}

/// With both kinds, no pruning is cut short, and only then would this field have a meaning.
constexpr std::string_view unseen_with_both_kinds = "EndedPruned, field 2";

/// Whether a seed finds it, among those that have jobs of both kinds, or among the others.
bool is_found(const Wrong& wrong, bool both_kinds, const Options& options, std::size_t& seeds) {
  for (std::uint64_t seed = options.from; seed < options.from + options.count; ++seed) {
    if (has_both_kinds(seed) != both_kinds) continue;
    ++seeds;
    if (!run_seed(seed, wrong, false).violation.empty()) return true;
  }
  return false;
}

/// Each mistake must be found, in front of one store as of two.
int run_controls(const Options& options) {
  std::size_t planted = 0;
  std::size_t found = 0;
  std::size_t seeds = 0;
  const auto wrongs = all_wrongs();
  for (const auto& [name, wrong] : wrongs) {
    for (const bool both_kinds : {false, true}) {
      if (both_kinds && name == unseen_with_both_kinds) continue;
      const bool is_found_here = is_found(wrong, both_kinds, options, seeds);
      if (!is_found_here)
        std::printf("not found: %s%s\n", name.c_str(), both_kinds ? ", with both kinds" : "");
      ++planted;
      found += is_found_here ? 1 : 0;
    }
  }
  std::printf("found %zu of %zu mistakes, with %zu seeds in all\n", found, planted, seeds);
  return found == planted ? 0 : 1;
}

}  // namespace
}  // namespace stores

int main(int argc, char** argv) {
  stores::Options options;
  options.program = argv[0];
  for (int i = 1; i < argc; ++i) {
    if (stores::parse_flag(argv[i], options)) continue;
    if (i + 1 == argc || !stores::parse_value(argv[i], argv[i + 1], options)) {
      std::fprintf(stderr, stores::usage, argv[0]);
      return 2;
    }
    ++i;
  }
  // A crash of a process loses nothing that is in memory, and nothing here depends on a disk.
  if (std::filesystem::is_directory("/dev/shm")) ::setenv("TMPDIR", "/dev/shm", 0);
  // No new seed begins, and the campaign still reports its results.
  std::signal(SIGINT, [](int) { stores::interrupted = 1; });
  std::signal(SIGTERM, [](int) { stores::interrupted = 1; });
  return options.controls ? stores::run_controls(options) : stores::Campaign{options}.run();
}
