#include "tests/bench/daemon.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace celld::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int start_timeout_ms = 30'000;
constexpr int stop_timeout_ms = 30'000;
constexpr std::int64_t poll_interval_ms = 2;
constexpr std::chrono::minutes cell_timeout{2};
constexpr double bytes_per_mb = 1024.0 * 1024.0;

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

std::filesystem::path make_directory(const std::filesystem::path& parent) {
  auto pattern = (parent / "celld-bench-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) fail(pattern);
  return pattern;
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file{path};
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The number after a name that begins a line.
double field_of(const std::string& text, const std::string& name) {
  const auto at = ("\n" + text).find("\n" + name);
  if (at == std::string::npos) throw std::runtime_error("no " + name);
  return std::stod(text.substr(at + name.size()));
}

}  // namespace

Daemon::Daemon(const std::string& program, const std::filesystem::path& parent,
               const nlohmann::json& config, std::vector<std::string> variables)
    : directory_(make_directory(parent)), variables_(std::move(variables)) {
  try {
    std::ofstream{directory_ / "config.json"} << config.dump(2);
    launch(program);
  } catch (...) {
    stop();
    throw;
  }
}

Daemon::~Daemon() {
  stop();
}

void Daemon::launch(const std::string& program) {
  std::array<int, 2> output;
  if (::pipe2(output.data(), O_CLOEXEC) != 0) fail("pipe");
  const Descriptor reading{output[0]};
  const Descriptor writing{output[1]};
  const auto log = (directory_ / "log").string();
  const auto config = (directory_ / "config.json").string();
  const auto data = (directory_ / "data").string();
  pid_ = ::fork();
  if (pid_ < 0) fail("fork");
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // celld dies with the benchmark.
    for (auto& variable : variables_) ::putenv(variable.data());
    ::dup2(writing.get(), STDOUT_FILENO);
    const int errors = ::open(log.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (errors >= 0) ::dup2(errors, STDERR_FILENO);
    ::execl(program.c_str(), program.c_str(), "--config", config.c_str(), "--listen", "127.0.0.1:0",
            "--data", data.c_str(), nullptr);
    ::_exit(127);
  }
  await_listening(reading.get());
}

void Daemon::await_listening(int output) {
  std::string line;
  while (line.find('\n') == std::string::npos) {
    pollfd readable{output, POLLIN, 0};
    std::array<char, 256> buffer;
    const bool came = ::poll(&readable, 1, start_timeout_ms) == 1;
    const auto count = came ? ::read(output, buffer.data(), buffer.size()) : 0;
    if (count <= 0)
      throw std::runtime_error("celld did not start: " + contents(directory_ / "log"));
    line.append(buffer.data(), static_cast<std::size_t>(count));
  }
  port_ = static_cast<std::uint16_t>(std::stoi(line.substr(line.rfind(':') + 1)));
}

void Daemon::stop() noexcept {
  if (pid_ > 0) {
    const Descriptor process{static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0))};
    ::kill(pid_, SIGTERM);
    pollfd ended{process.get(), POLLIN, 0};
    if (::poll(&ended, 1, stop_timeout_ms) != 1) ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

double Daemon::resident_mb() const {
  std::istringstream fields{contents("/proc/" + std::to_string(pid_) + "/statm")};
  double size_pages = 0;
  double resident_pages = 0;
  fields >> size_pages >> resident_pages;
  return resident_pages * static_cast<double>(::sysconf(_SC_PAGESIZE)) / bytes_per_mb;
}

double Daemon::cpu_seconds() const {
  const auto text = contents("/proc/" + std::to_string(pid_) + "/stat");
  // Skip the name in parentheses, which may contain anything, and the eleven fields after it.
  std::istringstream fields{text.substr(text.rfind(')') + 1)};
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user_ticks = 0;
  double kernel_ticks = 0;
  fields >> user_ticks >> kernel_ticks;
  return (user_ticks + kernel_ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double Daemon::voluntary_switches() const {
  double switches = 0;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/task")) {
    switches += field_of(contents(task.path() / "status"), "voluntary_ctxt_switches:");
  }
  return switches;
}

double Daemon::writing_calls() const {
  return io("syscw:");
}

double Daemon::bytes_written() const {
  return io("wchar:");
}

double Daemon::io(const std::string& field) const {
  return field_of(contents("/proc/" + std::to_string(pid_) + "/io"), field);
}

double Daemon::metric(const std::string& name) const {
  const auto socket = connect_to(port_);
  send_whole(socket.get(), request_text("GET", "/metrics"));
  MessageReader reader;
  auto answer = reader.next();
  while (!answer && reader.fill(socket.get())) answer = reader.next();
  const std::string text{answer ? answer->body : ""};
  const auto at = text.find("\n" + name + " ");
  if (at == std::string::npos) throw std::runtime_error("celld has no metric " + name);
  return std::stod(text.substr(at + name.size() + 2));
}

double Daemon::database_bytes() const {
  double bytes = 0;
  for (const char* name : {"celld.db", "celld.db-wal"}) {
    std::error_code absent;
    const auto size = std::filesystem::file_size(directory_ / "data" / name, absent);
    if (!absent) bytes += static_cast<double>(size);
  }
  return bytes;
}

double Daemon::await_cell(const std::function<bool(const nlohmann::json& cell)>& wanted) const {
  ApiClient client{port_};
  Ticker ticker{poll_interval_ms};
  const auto begin = Clock::now();
  while (!wanted(client.ask(200, "GET", cell_path))) {
    if (Clock::now() - begin > cell_timeout)
      throw std::runtime_error("the cell did not reach the expected state");
    ticker.await_tick();
  }
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double Daemon::await_all_ended() const {
  return await_cell([](const nlohmann::json& cell) {
    const auto& queue = cell.at("queue");
    return queue.at("queued") == 0 && queue.at("retrying") == 0 && queue.at("running") == 0;
  });
}

nlohmann::json one_cell_config(const nlohmann::json& service, std::uint32_t pool_size) {
  return {{"services", {{service_name, service}}},
          {"defaults",
           {{"pool", {{"size", pool_size}}},
            {"timeout_ms", 600'000},
            {"queue", {{"max_jobs", 10'000'000}}}}},
          {"cells", {{{"customer", "*"}, {"product", "*"}}}},
          {"shutdown_grace_ms", 100}};
}

nlohmann::json keep_jobs(nlohmann::json config, const std::string& durability) {
  constexpr std::int64_t unbounded = std::int64_t{1} << 36;
  config["cells"][0]["durability"] = durability;
  config["cells"][0]["queue"] = {{"max_bytes", unbounded}};
  config["capacity"] = {{"memory_max_bytes", unbounded}};
  return config;
}

Ticker::Ticker(std::int64_t interval_ms) : timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) {
  itimerspec times{};
  times.it_interval = {interval_ms / 1000, interval_ms % 1000 * 1'000'000};
  times.it_value = times.it_interval;
  ::timerfd_settime(timer_.get(), 0, &times, nullptr);
}

void Ticker::await_tick() {
  std::uint64_t ticks = 0;
  if (::read(timer_.get(), &ticks, sizeof ticks) != sizeof ticks) fail("timer");
}

}  // namespace celld::bench
