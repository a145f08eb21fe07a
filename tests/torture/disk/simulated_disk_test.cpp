// The disk itself is tested: it keeps what was synced, and loses what was not.
#include "tests/torture/disk/simulated_disk.hpp"

#include <set>
#include <string>

#include "tests/unit/catch.hpp"

using namespace celld::disk;

namespace {

constexpr Cut lose_everything{Loss::everything, Grown::not_at_all, 0};

/// A disk that is told what happens, one call after the other. Object 1 is the root, 2 the file.
class Told {
 public:
  Told() { tell(RecordKind::open_directory, 1, 0, ""); }
  Told& create() { return tell(RecordKind::open, 2, 1, "file"); }
  Told& write(std::int64_t at, std::string_view bytes) {
    return tell(RecordKind::write, 2, at, bytes);
  }
  Told& truncate(std::int64_t size) { return tell(RecordKind::truncate, 2, size, ""); }
  Told& unlink() { return tell(RecordKind::unlink, 0, 0, "file"); }
  Told& begin_sync(std::uint32_t object) {
    return tell(RecordKind::sync_begin, object, object, "");
  }
  Told& end_sync(std::uint32_t object) { return tell(RecordKind::sync_end, object, object, ""); }
  Told& sync(std::uint32_t object) { return begin_sync(object).end_sync(object); }

  /// The file after a cut, or "-" when there is none.
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
  Told& tell(RecordKind kind, std::uint32_t object, std::int64_t value, std::string_view payload) {
    disk_.apply({{kind, object, value, 0, payload.size()}, payload});
    return *this;
  }
  SimulatedDisk disk_;
};

}  // namespace

TEST_CASE("what was synced is there after every cut") {
  Told told;
  told.create().write(0, "abc").sync(2).sync(1);
  CHECK(told.files_of_seeds() == std::set<std::string>{"abc"});
}

TEST_CASE("what was not synced is there, or not") {
  Told told;
  told.create().sync(1).write(0, "abc").sync(2).write(1, "X").write(2, "Y");
  CHECK(told.file(lose_everything) == "abc");
  CHECK(told.file({}) == "aXY");
  CHECK(told.files_of_seeds() == std::set<std::string>{"abc", "aXc", "abY", "aXY"});
}

TEST_CASE("a sync covers what was written before it began, and nothing later") {
  Told told;
  told.create().sync(1).write(0, "a").begin_sync(2).write(1, "b").end_sync(2);
  CHECK(told.file(lose_everything) == "a");
}

TEST_CASE("a sync that has not returned promises nothing") {
  Told told;
  told.create().sync(1).write(0, "a").begin_sync(2);
  CHECK(told.file(lose_everything).empty());
}

TEST_CASE("a name is there when its directory was synced") {
  Told told;
  told.create().write(0, "a").sync(2);
  CHECK(told.file(lose_everything) == "-");
  told.sync(1);
  CHECK(told.file(lose_everything) == "a");
  told.unlink();
  CHECK(told.file(lose_everything) == "a");
  CHECK(told.file({}) == "-");
  told.sync(1);
  CHECK(told.file(lose_everything) == "-");
}

TEST_CASE("a file that was removed and made anew is the old one, the new one, or none") {
  Told told;
  told.create().write(0, "old").sync(2).sync(1).unlink().create().write(0, "new").sync(2);
  CHECK(told.file(lose_everything) == "old");
  CHECK(told.file({}) == "new");
  CHECK(told.files_of_seeds() == std::set<std::string>{"old", "-", "new"});
}

TEST_CASE("a write is torn at the sectors of the disk, and nowhere else") {
  Told told;
  const std::string two_sectors(1024, 'b');
  told.create().sync(1).write(0, std::string_view{"a"}).truncate(1024).sync(2);
  told.write(0, two_sectors);
  std::set<std::string> seen;
  for (const auto& file : told.files_of_seeds()) {
    REQUIRE(file.size() == 1024);
    seen.insert({file[0] == 'b' ? '1' : '0', file[512] == 'b' ? '1' : '0'});
    CHECK(file.find_first_not_of(file[1], 1) >= 512);
    CHECK(file.find_first_not_of(file[512], 512) == std::string::npos);
  }
  CHECK(seen == std::set<std::string>{"00", "01", "10", "11"});
}

TEST_CASE("the room of a lost write may be there without what was written") {
  Told told;
  told.create().sync(1).write(0, "abc");
  CHECK(told.file({Loss::everything, Grown::with_zeros, 0}) == std::string(3, '\0'));
  CHECK(told.file({Loss::everything, Grown::with_garbage, 7}).size() == 3);
}
