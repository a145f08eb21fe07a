// A disk that may lose unsynced operations. It follows a log and shows, at each point of it, what a
// power cut may leave behind.
//
// It assumes only that a sync that has returned covers everything done to that file (data and size)
// or in that directory (names) before the sync began, and that a sector of 512 bytes is written
// completely or not at all. Unsynced operations are on disk completely, partly or not at all, in
// any order.
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

/// What a cut does to unsynced operations.
enum class Loss : std::uint8_t {
  nothing,        ///< All of them are on disk.
  everything,     ///< None of them is.
  after_a_point,  ///< All before some operation are; that one is torn.
  some_operations,
  some_sectors,
  all_but_one_operation,  ///< All but one are on disk.
  one_operation_only_is_there,
};

/// What the end of a file contains if the write that enlarged the file was lost.
enum class Grown : std::uint8_t { not_at_all, with_zeros, with_garbage };

/// A power cut, derived from a seed.
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
  // These existed before the log began, and are durable.
  void add_directory(const std::string& path);
  void add_file(const std::string& path, std::string bytes);

  /// Applies the next record, whose payload must outlive the disk.
  void apply(const Record& record);

  /// The state that a cut at this point leaves behind.
  DiskState after(const Cut& cut) const;

 private:
  struct Operation {
    std::uint64_t number = 0;  ///< Ascending over all operations of the disk.
    std::int64_t at = 0;       ///< The offset, or the new size.
    std::string_view data;
    bool truncates = false;
  };
  struct Node {
    bool directory = false;
    std::string durable;
    std::vector<Operation> pending;
  };
  /// A meaning of a name. The list for a name has those since the last sync of its directory; the
  /// first one is durable.
  struct Change {
    std::uint64_t number = 0;
    std::optional<std::size_t> node;
  };
  struct Sync {
    std::optional<std::size_t> node;  ///< None: the sync of a directory.
    std::string directory;
    std::uint64_t number = 0;  ///< Of the last operation before the sync.
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
  std::map<std::uint32_t, std::size_t> objects_;      ///< The node of each object.
  std::map<std::uint32_t, std::string> directories_;  ///< The path of each directory.
  std::map<std::int64_t, Sync> syncs_;
};

}  // namespace celld::disk
