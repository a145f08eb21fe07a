// The simulated disk keeps what was synced and may lose the rest.
#include "tests/torture/disk/simulated_disk.hpp"

#include <set>
#include <string>

#include "tests/unit/catch.hpp"

using namespace celld::disk;

namespace {

constexpr Cut lose_everything{Loss::everything, Grown::not_at_all, 0};

/// A simulated disk with one file. Object 1 is the root directory, 2 the file.
class TestDisk {
 public:
  TestDisk() { apply(RecordKind::open_directory, 1, 0, ""); }
  TestDisk& create() { return apply(RecordKind::open, 2, 1, "file"); }
  TestDisk& write(std::int64_t at, std::string_view bytes) {
    return apply(RecordKind::write, 2, at, bytes);
  }
  TestDisk& truncate(std::int64_t size) { return apply(RecordKind::truncate, 2, size, ""); }
  TestDisk& unlink() { return apply(RecordKind::unlink, 0, 0, "file"); }
  TestDisk& begin_sync(std::uint32_t object) {
    return apply(RecordKind::sync_begin, object, object, "");
  }
  TestDisk& end_sync(std::uint32_t object) {
    return apply(RecordKind::sync_end, object, object, "");
  }
  TestDisk& sync(std::uint32_t object) { return begin_sync(object).end_sync(object); }

  /// The file's content after a cut, or "-" without a file.
  std::string file(const Cut& cut) const {
    const auto files = disk_.after(cut).files;
    const auto found = files.find("file");
    return found == files.end() ? "-" : found->second;
  }
  std::set<std::string> files_of_seeds() const {
    std::set<std::string> all;
    for (std::uint64_t seed = 0; seed < 2000; ++seed) all.insert(file(Cut::of_seed(seed)));
    return all;
  }

 private:
  TestDisk& apply(RecordKind kind, std::uint32_t object, std::int64_t value,
                  std::string_view payload) {
    disk_.apply({{kind, object, value, 0, payload.size()}, payload});
    return *this;
  }
  SimulatedDisk disk_;
};

}  // namespace

TEST_CASE("synced data survives every cut") {
  TestDisk disk;
  disk.create().write(0, "abc").sync(2).sync(1);
  CHECK(disk.files_of_seeds() == std::set<std::string>{"abc"});
}

TEST_CASE("each unsynced write may or may not survive") {
  TestDisk disk;
  disk.create().sync(1).write(0, "abc").sync(2).write(1, "X").write(2, "Y");
  CHECK(disk.file(lose_everything) == "abc");
  CHECK(disk.file({}) == "aXY");
  CHECK(disk.files_of_seeds() == std::set<std::string>{"abc", "aXc", "abY", "aXY"});
}

TEST_CASE("a sync covers the writes before it began, and no later ones") {
  TestDisk disk;
  disk.create().sync(1).write(0, "a").begin_sync(2).write(1, "b").end_sync(2);
  CHECK(disk.file(lose_everything) == "a");
}

TEST_CASE("a sync that has not returned promises nothing") {
  TestDisk disk;
  disk.create().sync(1).write(0, "a").begin_sync(2);
  CHECK(disk.file(lose_everything).empty());
}

TEST_CASE("a name is durable once its directory is synced") {
  TestDisk disk;
  disk.create().write(0, "a").sync(2);
  CHECK(disk.file(lose_everything) == "-");
  disk.sync(1);
  CHECK(disk.file(lose_everything) == "a");
  disk.unlink();
  CHECK(disk.file(lose_everything) == "a");
  CHECK(disk.file({}) == "-");
  disk.sync(1);
  CHECK(disk.file(lose_everything) == "-");
}

TEST_CASE("a file that was removed and created again is the old one, the new one, or missing") {
  TestDisk disk;
  disk.create().write(0, "old").sync(2).sync(1).unlink().create().write(0, "new").sync(2);
  CHECK(disk.file(lose_everything) == "old");
  CHECK(disk.file({}) == "new");
  CHECK(disk.files_of_seeds() == std::set<std::string>{"old", "-", "new"});
}

TEST_CASE("a write is torn only at sector boundaries") {
  TestDisk disk;
  const std::string two_sectors(1024, 'b');
  disk.create().sync(1).write(0, std::string_view{"a"}).truncate(1024).sync(2);
  disk.write(0, two_sectors);
  std::set<std::string> seen;
  for (const auto& file : disk.files_of_seeds()) {
    REQUIRE(file.size() == 1024);
    seen.insert({file[0] == 'b' ? '1' : '0', file[512] == 'b' ? '1' : '0'});
    CHECK(file.find_first_not_of(file[1], 1) >= 512);
    CHECK(file.find_first_not_of(file[512], 512) == std::string::npos);
  }
  CHECK(seen == std::set<std::string>{"00", "01", "10", "11"});
}

TEST_CASE("a lost write may leave the file enlarged without its data") {
  TestDisk disk;
  disk.create().sync(1).write(0, "abc");
  CHECK(disk.file({Loss::everything, Grown::with_zeros, 0}) == std::string(3, '\0'));
  CHECK(disk.file({Loss::everything, Grown::with_garbage, 7}).size() == 3);
}
