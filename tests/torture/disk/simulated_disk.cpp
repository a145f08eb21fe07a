#include "tests/torture/disk/simulated_disk.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <stdexcept>

namespace celld::disk {
namespace {

constexpr std::int64_t sector_bytes = 512;

std::string parent_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? std::string{} : path.substr(0, slash);
}

template <class Value, std::size_t size>
Value pick(std::mt19937_64& random, const std::array<Value, size>& values) {
  return values[random() % size];
}

}  // namespace

Cut Cut::of_seed(std::uint64_t seed) {
  std::mt19937_64 random{seed};
  constexpr std::array losses{Loss::everything,
                              Loss::after_a_point,
                              Loss::some_operations,
                              Loss::some_operations,
                              Loss::some_sectors,
                              Loss::some_sectors,
                              Loss::all_but_one_operation,
                              Loss::one_operation_only_is_there};
  constexpr std::array ways{Grown::not_at_all, Grown::with_zeros, Grown::with_garbage};
  const auto loss = pick(random, losses);
  return {loss, pick(random, ways), random()};
}

std::string to_string(const Cut& cut) {
  constexpr std::array losses{"nothing is lost",
                              "everything unsynced is lost",
                              "everything unsynced after a point is lost",
                              "some operations are lost",
                              "some sectors are lost",
                              "one operation is lost",
                              "all but one operation is lost"};
  constexpr std::array ways{"", ", files have grown with zeros", ", files have grown with garbage"};
  return std::string{losses[static_cast<std::size_t>(cut.loss)]} +
         ways[static_cast<std::size_t>(cut.grown)];
}

// --- Which pending operations are on disk ------------------------------------------------------

class SimulatedDisk::Chooser {
 public:
  Chooser(const Cut& cut, const std::vector<std::uint64_t>& pending)
      : loss_(cut.loss), random_(cut.seed), share_(pick(random_, shares)) {
    if (!pending.empty()) chosen_ = pending[random_() % pending.size()];
  }

  /// Call this once for each sector of a torn operation.
  bool keeps_sector() { return chance(share_); }

  enum class Fate : std::uint8_t { there, lost, torn };
  Fate fate(std::uint64_t number) {
    switch (loss_) {
      case Loss::nothing:
        return Fate::there;
      case Loss::everything:
        return Fate::lost;
      case Loss::after_a_point:
        if (number == chosen_) return Fate::torn;
        return number < chosen_ ? Fate::there : Fate::lost;
      case Loss::some_operations:
        return chance(share_) ? Fate::there : Fate::lost;
      case Loss::some_sectors:
        return Fate::torn;
      case Loss::all_but_one_operation:
        return number == chosen_ ? Fate::lost : Fate::there;
      case Loss::one_operation_only_is_there:
        return number == chosen_ ? Fate::there : Fate::lost;
    }
    return Fate::there;
  }
  /// The same for a change that cannot be torn.
  bool keeps(std::uint64_t number) {
    const auto decided = fate(number);
    return decided == Fate::there || (decided == Fate::torn && keeps_sector());
  }

  std::mt19937_64& random() { return random_; }

 private:
  static constexpr std::array shares{0.1, 0.5, 0.9};

  bool chance(double probability) {
    return std::uniform_real_distribution<double>{}(random_) < probability;
  }

  Loss loss_;
  std::mt19937_64 random_;
  double share_;
  std::uint64_t chosen_ = 0;
};

std::vector<std::uint64_t> SimulatedDisk::pending() const {
  std::vector<std::uint64_t> numbers;
  for (const auto& node : nodes_) {
    for (const auto& operation : node.pending) numbers.push_back(operation.number);
  }
  for (const auto& [path, changes] : names_) {
    for (auto change = std::next(changes.begin()); change != changes.end(); ++change) {
      numbers.push_back(change->number);
    }
  }
  return numbers;
}

namespace {

void put(std::string& bytes, std::int64_t at, std::string_view data) {
  const auto end = static_cast<std::size_t>(at) + data.size();
  if (bytes.size() < end) bytes.resize(end);
  std::memcpy(bytes.data() + at, data.data(), data.size());
}

void grow(std::string& bytes, std::size_t size, Grown how, std::mt19937_64& random) {
  const auto old = bytes.size();
  if (how == Grown::not_at_all || size <= old) return;
  bytes.resize(size);
  if (how == Grown::with_zeros) return;
  std::generate(bytes.begin() + static_cast<std::ptrdiff_t>(old), bytes.end(),
                [&] { return static_cast<char>(random()); });
}

}  // namespace

std::string SimulatedDisk::content(const Node& node, Chooser& chooser, Grown grown) {
  auto bytes = node.durable;
  for (const auto& operation : node.pending) {
    const auto fate = chooser.fate(operation.number);
    if (operation.truncates) {
      if (fate == Chooser::Fate::there) bytes.resize(static_cast<std::size_t>(operation.at));
      continue;
    }
    if (fate == Chooser::Fate::there) {
      put(bytes, operation.at, operation.data);
      continue;
    }
    const auto end = operation.at + static_cast<std::int64_t>(operation.data.size());
    grow(bytes, static_cast<std::size_t>(end), grown, chooser.random());
    for (auto at = operation.at; fate == Chooser::Fate::torn && at < end;) {
      const auto next = std::min((at / sector_bytes + 1) * sector_bytes, end);
      if (chooser.keeps_sector()) {
        put(bytes, at,
            operation.data.substr(static_cast<std::size_t>(at - operation.at),
                                  static_cast<std::size_t>(next - at)));
      }
      at = next;
    }
  }
  return bytes;
}

DiskState SimulatedDisk::after(const Cut& cut) const {
  Chooser chooser{cut, pending()};
  DiskState state;
  for (const auto& [path, changes] : names_) {  // A directory comes before its entries.
    auto node = changes.front().node;
    for (auto change = std::next(changes.begin()); change != changes.end(); ++change) {
      if (!chooser.keeps(change->number)) break;
      node = change->node;
    }
    const auto parent = parent_of(path);
    const auto& there = state.directories;
    if (!node || (!parent.empty() && std::find(there.begin(), there.end(), parent) == there.end()))
      continue;
    if (nodes_[*node].directory) {
      state.directories.push_back(path);
    } else {
      state.files[path] = content(nodes_[*node], chooser, cut.grown);
    }
  }
  return state;
}

// --- Following the log -------------------------------------------------------------------------

std::optional<std::size_t> SimulatedDisk::find(const std::string& path) const {
  const auto found = names_.find(path);
  return found == names_.end() ? std::nullopt : found->second.back().node;
}

std::size_t SimulatedDisk::make_node(bool directory) {
  nodes_.emplace_back().directory = directory;
  return nodes_.size() - 1;
}

void SimulatedDisk::name(const std::string& path, std::optional<std::size_t> node) {
  auto& changes = names_[path];
  if (changes.empty()) changes.push_back({0, std::nullopt});
  changes.push_back({++numbers_, node});
}

void SimulatedDisk::add_directory(const std::string& path) {
  names_[path] = {{0, make_node(true)}};
}

void SimulatedDisk::add_file(const std::string& path, std::string bytes) {
  const auto node = make_node(false);
  nodes_[node].durable = std::move(bytes);
  names_[path] = {{0, node}};
}

void SimulatedDisk::open(const Record& record) {
  const std::string path{record.payload};
  if (record.head.kind == RecordKind::open_directory) {
    directories_[record.head.object] = path;
    return;
  }
  if (record.head.value != 0) name(path, make_node(false));
  auto node = find(path);
  if (!node) {  // It existed before the log, and its content does not matter.
    add_file(path, "");
    node = find(path);
  }
  objects_[record.head.object] = *node;
}

/// Makes everything done before the sync began durable.
void SimulatedDisk::finish(const Sync& sync) {
  if (!sync.node) {
    for (auto& [path, changes] : names_) {
      if (parent_of(path) != sync.directory) continue;
      while (changes.size() > 1 && changes[1].number <= sync.number) changes.erase(changes.begin());
    }
    return;
  }
  auto& node = nodes_[*sync.node];
  auto operation = node.pending.begin();
  for (; operation != node.pending.end() && operation->number <= sync.number; ++operation) {
    if (operation->truncates) {
      node.durable.resize(static_cast<std::size_t>(operation->at));
    } else {
      put(node.durable, operation->at, operation->data);
    }
  }
  node.pending.erase(node.pending.begin(), operation);
}

void SimulatedDisk::apply(const Record& record) {
  const auto& head = record.head;
  const auto node = [&] { return objects_.at(head.object); };
  switch (head.kind) {
    case RecordKind::start:
      objects_.clear();
      directories_.clear();
      syncs_.clear();
      return;
    case RecordKind::open:
    case RecordKind::open_directory:
      return open(record);
    case RecordKind::make_directory:
      return name(std::string{record.payload}, make_node(true));
    case RecordKind::write:
      nodes_[node()].pending.push_back({++numbers_, head.value, record.payload, false});
      return;
    case RecordKind::truncate:
      nodes_[node()].pending.push_back({++numbers_, head.value, {}, true});
      return;
    case RecordKind::unlink:
      return name(std::string{record.payload}, std::nullopt);
    case RecordKind::rename: {
      const auto split = record.payload.find('\0');
      const std::string from{record.payload.substr(0, split)};
      name(std::string{record.payload.substr(split + 1)}, find(from));
      return name(from, std::nullopt);
    }
    case RecordKind::sync_begin: {
      const auto directory = directories_.find(head.object);
      if (directory == directories_.end()) {
        syncs_[head.value] = {node(), "", numbers_};
      } else {
        syncs_[head.value] = {std::nullopt, directory->second, numbers_};
      }
      return;
    }
    case RecordKind::sync_end:
      finish(syncs_.at(head.value));
      syncs_.erase(head.value);
      return;
    case RecordKind::answer:
    case RecordKind::fault:
    case RecordKind::writer:
      return;
  }
}

}  // namespace celld::disk
