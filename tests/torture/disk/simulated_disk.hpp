// A disk that may lose what was not synced. It follows a log, and can say at each point of it what
// a power cut there may leave behind.
//
// What it takes for granted, and nothing else: a sync that has returned covers all that was done to
// that file (data and size) or in that directory (names) before the sync began; a sector of 512
// bytes is written whole or not at all. What was not synced is on disk, or not, or in part, in any
// order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/torture/disk/log_file.hpp"

namespace celld::disk {

/// What happens to what was not synced.
enum class Loss : std::uint8_t {
  nothing,        ///< All of it got there in time.
  everything,     ///< None of it did.
  after_a_point,  ///< All until some operation, which is torn.
  some_operations,
  some_sectors,
  all_but_one_operation,
  one_operation_only_is_there,
};

/// How a file looks where it was enlarged, and what was written there is lost.
enum class Grown : std::uint8_t { not_at_all, with_zeros, with_garbage };

/// A cut, as a seed decides it.
struct Cut {
  Loss loss = Loss::nothing;
  Grown grown = Grown::not_at_all;
  std::uint64_t seed = 0;

  static Cut of_seed(std::uint64_t seed);
};
std::string to_string(const Cut& cut);

/// Files and directories by path, relative to the watched directory.
struct DiskState {
  std::vector<std::string> directories;
  std::map<std::string, std::string> files;
};

class SimulatedDisk {
 public:
  /// Something that was there before the log, and durable.
  void add_directory(const std::string& path);
  void add_file(const std::string& path, std::string bytes);

  /// Takes in the next record; its payload must outlive the disk.
  void apply(const Record& record);

  DiskState after(const Cut& cut) const;

 private:
  struct Operation {
    std::uint64_t number = 0;  ///< Ascending over the whole disk.
    std::int64_t at = 0;       ///< The offset, or the new size.
    std::string_view data;
    bool truncates = false;
  };
  struct Node {
    bool directory = false;
    std::string durable;
    std::vector<Operation> pending;
  };
  /// What a name has stood for since its directory was last synced; the first of them is durable.
  struct Change {
    std::uint64_t number = 0;
    std::optional<std::size_t> node;
  };
  struct Sync {
    std::optional<std::size_t> node;  ///< None: of a directory.
    std::string directory;
    std::uint64_t number = 0;  ///< Of the last operation before it.
  };
  class Chooser;

  std::optional<std::size_t> find(const std::string& path) const;
  std::size_t make_node(bool directory);
  void name(const std::string& path, std::optional<std::size_t> node);
  void open(const Record& record);
  void finish(const Sync& sync);
  std::vector<std::uint64_t> pending() const;
  static std::string content(const Node& node, Chooser& chooser, Grown grown);

  std::uint64_t numbers_ = 0;
  std::vector<Node> nodes_;
  std::map<std::string, std::vector<Change>> names_;
  std::map<std::uint32_t, std::size_t> objects_;      ///< The node that each object stands for.
  std::map<std::uint32_t, std::string> directories_;  ///< The path of each object that is one.
  std::map<std::int64_t, Sync> syncs_;
};

}  // namespace celld::disk
