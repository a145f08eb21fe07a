#include "src/metrics/process_metrics.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include "src/metrics/families.hpp"

namespace celld::metrics {
namespace {

using prometheus::MetricFamily;

MetricFamily one(MetricFamily made, double value) {
  add(made, {}, value);
  return made;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

void add_memory(std::vector<MetricFamily>& families) {
  std::ifstream file("/proc/self/statm");
  double total_pages = 0;
  double resident_pages = 0;
  if (!(file >> total_pages >> resident_pages)) return;
  const auto page_bytes = static_cast<double>(::sysconf(_SC_PAGESIZE));
  families.push_back(one(gauges("celld_process_resident_memory_bytes", "Resident memory."),
                         resident_pages * page_bytes));
}

void add_descriptors(std::vector<MetricFamily>& families) {
  std::error_code failed;
  const std::filesystem::directory_iterator descriptors("/proc/self/fd", failed);
  rlimit limit{};
  if (failed || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  // The iterator itself holds one descriptor.
  const auto open = std::distance(begin(descriptors), end(descriptors)) - 1;
  families.push_back(
      one(gauges("celld_process_open_fds", "Open file descriptors."), static_cast<double>(open)));
  families.push_back(
      one(gauges("celld_process_max_fds", "Maximum number of open file descriptors."),
          static_cast<double>(limit.rlim_cur)));
}

void add_processor_time(std::vector<MetricFamily>& families) {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return;
  families.push_back(one(counters("celld_process_cpu_seconds_total", "Processor time."),
                         seconds(usage.ru_utime) + seconds(usage.ru_stime)));
}

}  // namespace

std::vector<MetricFamily> process_families() {
  std::vector<MetricFamily> families;
  add_memory(families);
  add_descriptors(families);
  add_processor_time(families);
  return families;
}

}  // namespace celld::metrics
