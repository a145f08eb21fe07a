// The server process of a peer.
#pragma once

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

namespace celld::bench {

/// A fresh directory. The destructor removes it.
class DataDirectory {
 public:
  /// Below `parent`. If `unprivileged`, and the benchmark runs as root, it belongs to `nobody`.
  DataDirectory(const std::filesystem::path& parent, bool unprivileged);
  ~DataDirectory();
  DataDirectory(const DataDirectory&) = delete;
  DataDirectory& operator=(const DataDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct ServerCommand {
  std::string name;                    ///< For messages.
  std::vector<std::string> arguments;  ///< The first is the program.
  std::vector<std::string> variables;  ///< NAME=VALUE, added to the environment.
  std::filesystem::path directory;     ///< Where it runs, and leaves its log.
  bool unprivileged = false;           ///< Runs as `nobody` if the benchmark runs as root.
  int stop_signal = SIGTERM;
};

/// The process starts and stops with the object, and dies with the benchmark.
class Server {
 public:
  explicit Server(const ServerCommand& command);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Returns once the server accepts connections. Throws, with the end of its log.
  void await_port(std::uint16_t port) const;
  /// Waits for the process to end. Throws, with the end of its log, unless it exits with 0.
  void await_success();

 private:
  bool ended() const;
  [[noreturn]] void fail(const std::string& what) const;

  std::string name_;
  std::filesystem::path log_;
  int stop_signal_;
  pid_t pid_ = -1;
};

/// A port of 127.0.0.1 that no process used a moment ago.
std::uint16_t free_port();

/// Where a package was unpacked; "/" if it is installed instead.
std::filesystem::path root_of(const std::filesystem::path& unpacked, const std::string& package);

/// What a program below such a root needs in its environment, to find its libraries.
std::vector<std::string> variables_of(const std::filesystem::path& root);

}  // namespace celld::bench
