// celld_power_cuts --log FILE --scratch DIR [--from N] [--count N] [--retention-ms N]
//                  [--base DIR] [--retried ID]... [--early-answers N]
//                  [--export N | --owed | --at-fault | --at-end] [--summary FILE]
//
// Follows a log of the shim, cuts the power at some points, and opens the store on what may then be
// on disk. Disks are numbered: four for each cut, the first of which has lost nothing. The number
// determines the point of the cut and the losses. With --at-fault or --at-end there is one cut, at
// the first failed call or at the end. It loses everything unsynced, but must keep the promises of
// the whole log. --export writes the disk of that number to DIR and prints the jobs that it must
// have; --owed only prints those of the whole log. --retried names a job that a client tried to
// reopen without an answer. --early-answers is a control: each answer counts as sent N records
// earlier. Exits with 1 if a promise is broken.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/json/json.hpp"
#include "tests/torture/disk/log_file.hpp"
#include "tests/torture/disk/promises.hpp"
#include "tests/torture/disk/simulated_disk.hpp"
#include "tests/torture/disk/state_check.hpp"

namespace {

using namespace celld::disk;

constexpr std::uint64_t disks_per_cut = 4;
constexpr std::size_t faults_printed_max = 5;
constexpr std::int64_t check_interval_ms = 200;  ///< Much less than the retention time.
/// Where celld keeps its data below the watched directory.
constexpr const char* data_directory = "var/data";

struct Arguments {
  std::string log;
  std::string scratch;
  std::string base;
  std::string summary;
  std::uint64_t from = 0;
  std::uint64_t count = disks_per_cut;
  std::int64_t retention_ms = 604'800'000;
  std::set<std::string> retried;
  std::size_t early_answers = 0;  ///< By this many records.
  std::optional<std::uint64_t> exported;
  bool at_fault = false;
  bool at_end = false;
  bool owed = false;
};

bool parse(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--owed") {
      arguments.owed = true;
      continue;
    }
    if (name == "--at-fault" || name == "--at-end") {
      (name == "--at-end" ? arguments.at_end : arguments.at_fault) = true;
      continue;
    }
    if (i + 1 == argc) return false;
    const char* value = argv[++i];
    if (name == "--log") {
      arguments.log = value;
    } else if (name == "--scratch") {
      arguments.scratch = value;
    } else if (name == "--base") {
      arguments.base = value;
    } else if (name == "--summary") {
      arguments.summary = value;
    } else if (name == "--from") {
      arguments.from = std::strtoull(value, nullptr, 10);
    } else if (name == "--count") {
      arguments.count = std::strtoull(value, nullptr, 10);
    } else if (name == "--retention-ms") {
      arguments.retention_ms = std::strtoll(value, nullptr, 10);
    } else if (name == "--retried") {
      arguments.retried.insert(value);
    } else if (name == "--early-answers") {
      arguments.early_answers = std::strtoull(value, nullptr, 10);
    } else if (name == "--export") {
      arguments.exported = std::strtoull(value, nullptr, 10);
    } else {
      return false;
    }
  }
  return !arguments.log.empty() && !arguments.scratch.empty();
}

/// Chooses cuts: anywhere, just after an answer, or just after the beginning of a sync.
class CutPoints {
 public:
  explicit CutPoints(const std::vector<Record>& log) : size_(log.size()) {
    for (std::size_t i = 0; i < log.size(); ++i) {
      if (log[i].head.kind == RecordKind::answer) after_answers_.push_back(i + 1);
      if (log[i].head.kind == RecordKind::sync_begin) at_syncs_.push_back(i + 1);
    }
  }
  /// The number of records before the cut.
  std::size_t of_cut(std::uint64_t cut) const {
    std::mt19937_64 random{cut};
    const auto kind = random() % 4;
    if (kind == 0 && !after_answers_.empty()) return pick(random, after_answers_);
    if (kind == 1 && !at_syncs_.empty()) return pick(random, at_syncs_);
    return random() % (size_ + 1);
  }

 private:
  static std::size_t pick(std::mt19937_64& random, const std::vector<std::size_t>& points) {
    return points[random() % points.size()];
  }
  std::size_t size_;
  std::vector<std::size_t> after_answers_;
  std::vector<std::size_t> at_syncs_;
};

struct Planned {
  std::uint64_t cut = 0;
  std::size_t at = 0;
};

/// The cuts in log order, so that one pass over the log suffices.
std::vector<Planned> plan(const std::vector<Record>& log, std::uint64_t first, std::uint64_t end) {
  const CutPoints points{log};
  std::vector<Planned> planned;
  for (auto cut = first; cut < end; ++cut) planned.push_back({cut, points.of_cut(cut)});
  std::sort(planned.begin(), planned.end(),
            [](const Planned& a, const Planned& b) { return a.at < b.at; });
  return planned;
}

Cut cut_of(std::uint64_t number) {
  return number % disks_per_cut == 0 ? Cut{} : Cut::of_seed(number);
}

/// A pass over the log, with the disk and the promises at the current record.
class Walk {
 public:
  Walk(const Arguments& arguments, const std::vector<Record>& log)
      : log_(log), promises_(log, arguments.retried), early_answers_(arguments.early_answers) {
    if (!arguments.base.empty()) add_base(arguments.base);
  }

  void to(std::size_t at) {
    while (done_ < at) step();
  }
  /// Like `to`, but stops at the next time to check the disk. True: it stopped for that.
  bool to_check(std::size_t at) {
    while (done_ < at) {
      step();
      if (checked_ms_ == 0) checked_ms_ = wall_ms_;
      if (wall_ms_ < checked_ms_ + check_interval_ms) continue;
      checked_ms_ = wall_ms_;
      return true;
    }
    return false;
  }
  /// Adds the promises of the rest of the log, but leaves the disk as it is.
  void promise_all() { promise_until(log_.size()); }

  const SimulatedDisk& disk() const { return disk_; }
  Promises& promises() { return promises_; }
  std::int64_t wall_ms() const { return wall_ms_; }

 private:
  void step() {
    const auto& record = log_[done_++];
    disk_.apply(record);
    wall_ms_ = record.head.wall_ms;
    promise_until(std::min(done_ + early_answers_, log_.size()));
  }

  void promise_until(std::size_t end) {
    for (; promised_ < end; ++promised_) {
      if (log_[promised_].head.kind == RecordKind::answer) promises_.take(log_[promised_]);
    }
  }

  void add_base(const std::filesystem::path& base) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator{base}) {
      const auto path = entry.path().lexically_relative(base).string();
      if (entry.is_directory()) {
        disk_.add_directory(path);
      } else if (!path.ends_with("-shm")) {
        disk_.add_file(path, read_file(entry.path().string()));
      }
    }
  }

  const std::vector<Record>& log_;
  SimulatedDisk disk_;
  Promises promises_;
  std::size_t early_answers_;
  std::size_t done_ = 0;      ///< This many records are applied to the disk.
  std::size_t promised_ = 0;  ///< The answers among this many count as sent.
  std::int64_t wall_ms_ = 0;
  std::int64_t checked_ms_ = 0;
};

/// Advances to `at` and checks the disk on the way, which records the jobs that have ended: only
/// these may disappear. Returns the faults.
std::vector<std::string> advance(Walk& walk, StateCheck& check, std::size_t at) {
  std::vector<std::string> faults;
  while (walk.to_check(at)) {
    const auto found = check.check(walk.disk().after({}), walk.promises(), true, walk.wall_ms());
    faults.insert(faults.end(), found.begin(), found.end());
  }
  return faults;
}

struct Tally {
  std::uint64_t disks = 0;
  std::uint64_t failures = 0;
  std::uint64_t promised = 0;  ///< Jobs looked for, summed over all disks.
  /// The number of disks on which something of each kind is missing.
  std::array<std::uint64_t, StateCheck::losses.size()> losers{};
};

void report(const std::vector<std::string>& faults, const std::string& where) {
  std::printf("FAILURE: %s\n", where.c_str());
  for (std::size_t i = 0; i < std::min(faults.size(), faults_printed_max); ++i) {
    std::printf("    %s\n", faults[i].c_str());
  }
  if (faults.size() > faults_printed_max) {
    std::printf("    and %zu more\n", faults.size() - faults_printed_max);
  }
}

void print_how_to_repeat(const Arguments& arguments, std::uint64_t number) {
  std::printf(
      "    again: celld_power_cuts --log %s --scratch DIR --retention-ms %lld --from %llu"
      " --count 1\n",
      arguments.log.c_str(), static_cast<long long>(arguments.retention_ms),
      static_cast<unsigned long long>(number));
}

void count_losses(Tally& tally, const std::vector<std::string>& faults) {
  for (std::size_t i = 0; i < StateCheck::losses.size(); ++i) {
    const auto is_of_kind = [i](const std::string& fault) {
      return fault.starts_with(StateCheck::losses[i]);
    };
    if (std::any_of(faults.begin(), faults.end(), is_of_kind)) ++tally.losers[i];
  }
}

Tally check_cuts(const Arguments& arguments, const std::vector<Record>& log) {
  Walk walk{arguments, log};
  StateCheck check{arguments.scratch, data_directory, arguments.retention_ms};
  Tally tally;
  const auto first = arguments.from / disks_per_cut;
  const auto end = (arguments.from + arguments.count + disks_per_cut - 1) / disks_per_cut;
  for (const auto& planned : plan(log, first, end)) {
    if (const auto faults = advance(walk, check, planned.at); !faults.empty()) {
      ++tally.failures;
      report(faults, "before record " + std::to_string(planned.at) + ", without a cut");
      print_how_to_repeat(arguments, planned.cut * disks_per_cut);
    }
    for (auto number = planned.cut * disks_per_cut; number < (planned.cut + 1) * disks_per_cut;
         ++number) {
      const auto cut = cut_of(number);
      const auto faults = check.check(walk.disk().after(cut), walk.promises(),
                                      cut.loss == Loss::nothing, walk.wall_ms());
      ++tally.disks;
      tally.promised += walk.promises().jobs().size();
      if (faults.empty()) continue;
      ++tally.failures;
      count_losses(tally, faults);
      report(faults, "disk " + std::to_string(number) + ": cut after record " +
                         std::to_string(planned.at) + " of " + std::to_string(log.size()) + ", " +
                         to_string(cut));
      print_how_to_repeat(arguments, number);
    }
  }
  return tally;
}

/// Checks the worst case at the first failed call, or at the end.
Tally check_one(const Arguments& arguments, const std::vector<Record>& log) {
  Walk walk{arguments, log};
  const auto fault = std::find_if(log.begin(), log.end(), [](const Record& record) {
    return record.head.kind == RecordKind::fault;
  });
  walk.to(arguments.at_end ? log.size() : static_cast<std::size_t>(fault - log.begin()));
  walk.promise_all();
  StateCheck check{arguments.scratch, data_directory, arguments.retention_ms};
  const auto faults = check.check(walk.disk().after({Loss::everything, Grown::not_at_all, 0}),
                                  walk.promises(), false, walk.wall_ms());
  if (!faults.empty()) report(faults, "with everything unsynced lost");
  return {1, faults.empty() ? 0U : 1U, walk.promises().jobs().size(), {}};
}

/// Prints a line for each job: its id, and its final state if an answer reported one.
void print_owed(const std::map<cells::JobId, PromisedJob>& jobs) {
  for (const auto& [id, job] : jobs) {
    const bool known = job.end && job.retries_left == 0;
    std::printf("%s %s\n", cells::format_job_id(id).c_str(), known ? job.end->state.c_str() : "-");
  }
}

/// Writes a disk and prints the jobs that must be on it.
void export_disk(const Arguments& arguments, const std::vector<Record>& log) {
  Walk walk{arguments, log};
  StateCheck check{arguments.scratch, data_directory, arguments.retention_ms};
  advance(walk, check, CutPoints{log}.of_cut(*arguments.exported / disks_per_cut));
  check.check(walk.disk().after({}), walk.promises(), true, walk.wall_ms());
  check.write(walk.disk().after(cut_of(*arguments.exported)));
  print_owed(walk.promises().jobs());
}

/// A member for each kind of loss.
std::string losers_text(const Tally& tally) {
  std::string text;
  for (std::size_t i = 0; i < StateCheck::losses.size(); ++i) {
    text += (i == 0 ? "" : ", ") + celld::json::quote(StateCheck::losses[i]) + ": " +
            std::to_string(tally.losers[i]);
  }
  return text;
}

void write_summary(const std::string& path, const Tally& tally) {
  if (path.empty()) return;
  std::ofstream{path} << "{\"units\": " << tally.disks << ", \"failures\": " << tally.failures
                      << ", \"figures\": {\"jobs_looked_for\": " << tally.promised
                      << "}, \"losers\": {" << losers_text(tally) << "}}\n";
}

int run(const Arguments& arguments) {
  const LogFile log{arguments.log};
  if (arguments.exported) {
    export_disk(arguments, log.records());
    return 0;
  }
  if (arguments.owed) {
    Walk walk{arguments, log.records()};
    walk.promise_all();
    print_owed(walk.promises().jobs());
    return 0;
  }
  const bool one = arguments.at_fault || arguments.at_end;
  const auto tally =
      one ? check_one(arguments, log.records()) : check_cuts(arguments, log.records());
  std::printf("%llu disks of a log of %zu records: %llu failures\n",
              static_cast<unsigned long long>(tally.disks), log.records().size(),
              static_cast<unsigned long long>(tally.failures));
  write_summary(arguments.summary, tally);
  return tally.failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!parse(argc, argv, arguments)) {
    std::fprintf(stderr, "usage: %s --log FILE --scratch DIR [--from N] [--count N] ...\n",
                 argv[0]);
    return 2;
  }
  try {
    return run(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "celld_power_cuts: %s\n", error.what());
    return 2;
  }
}
