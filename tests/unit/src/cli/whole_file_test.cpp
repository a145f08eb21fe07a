#include "src/cli/whole_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "src/cli/failure.hpp"
#include "tests/unit/catch.hpp"

using namespace celld::cli;

namespace {

/// Paths that are free, and free again at the end of the test.
struct FreePath {
  FreePath() { clear(); }
  ~FreePath() { clear(); }
  void clear() const {
    std::filesystem::remove(whole);
    std::filesystem::remove(partial);
  }
  std::string whole =
      std::filesystem::temp_directory_path() / ("celld-whole-" + std::to_string(::getpid()));
  std::string partial = whole + ".partial";
};

/// The next file that opens has descriptor 0.
class ClosedInput {
 public:
  ClosedInput() { ::close(STDIN_FILENO); }
  ~ClosedInput() {
    ::dup2(kept_, STDIN_FILENO);
    ::close(kept_);
  }
  ClosedInput(const ClosedInput&) = delete;
  ClosedInput& operator=(const ClosedInput&) = delete;

 private:
  const int kept_ = ::dup(STDIN_FILENO);
};

/// While it exists, no file grows beyond so many bytes.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallFiles() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  rlimit before_{};
  void (*const handler_)(int) = std::signal(SIGXFSZ, SIG_IGN);
};

/// While it exists, no file reaches the disk.
class FailingDisk {
 public:
  FailingDisk() { fails = true; }
  ~FailingDisk() { fails = false; }
  FailingDisk(const FailingDisk&) = delete;
  FailingDisk& operator=(const FailingDisk&) = delete;

  static inline bool fails = false;
  static inline int synchronised = 0;  ///< How many files and directories.
};

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

/// Takes the place of the C library's.
extern "C" int fsync(int fd) {
  ++FailingDisk::synchronised;
  if (!FailingDisk::fails) return static_cast<int>(::syscall(SYS_fsync, fd));
  errno = EIO;
  return -1;
}

TEST_CASE("a program without standard input writes a file whole") {
  const ClosedInput closed;
  const FreePath path;
  WholeFile file(path.whole, false);
  file.write("ab");
  REQUIRE(::fcntl(STDIN_FILENO, F_GETFD) != -1);
  CHECK_FALSE(std::filesystem::exists(path.whole));
  file.write("cd");
  CHECK(content_of(path.partial) == "abcd");
  file.complete();
  CHECK(content_of(path.whole) == "abcd");
  CHECK_FALSE(std::filesystem::exists(path.partial));
}

TEST_CASE("a program without standard input removes an incomplete file") {
  const ClosedInput closed;
  const FreePath path;
  {
    WholeFile file(path.whole, false);
    file.write("ab");
    CHECK(std::filesystem::exists(path.partial));
  }
  CHECK_FALSE(std::filesystem::exists(path.partial));
  CHECK_FALSE(std::filesystem::exists(path.whole));
  CHECK(::fcntl(STDIN_FILENO, F_GETFD) == -1);
}

TEST_CASE("a file that cannot be written whole is an error, and removed") {
  const FreePath path;
  {
    WholeFile file(path.whole, false);
    const SmallFiles limit(4096);
    CHECK_THROWS_AS(file.write(std::string(8192, 'x')), Failure);
  }
  CHECK_FALSE(std::filesystem::exists(path.partial));
  {
    WholeFile file(path.whole, false);
    file.write("ab");
    const FailingDisk disk;
    CHECK_THROWS_AS(file.complete(), Failure);
  }
  CHECK_FALSE(std::filesystem::exists(path.partial));
  CHECK_FALSE(std::filesystem::exists(path.whole));
}

TEST_CASE("a file that appears meanwhile is replaced only if cellctl may") {
  const FreePath path;
  const bool replace = GENERATE(false, true);
  WholeFile file(path.whole, replace);
  file.write("new");
  std::ofstream(path.whole) << "old";
  if (replace) {
    file.complete();
  } else {
    CHECK_THROWS_AS(file.complete(), Failure);
  }
  CHECK(content_of(path.whole) == (replace ? "new" : "old"));
}

TEST_CASE("a name that leads nowhere is taken before anything is written") {
  const FreePath path;
  std::filesystem::create_symlink("/no/such/file", path.whole);
  CHECK_THROWS_AS(WholeFile(path.whole, false), Failure);
}

TEST_CASE("a complete file and its name are on the disk") {
  const FreePath path;
  WholeFile file(path.whole, false);
  file.write("ab");
  FailingDisk::synchronised = 0;
  file.complete();
  CHECK(FailingDisk::synchronised == 2);
}

TEST_CASE("a file is private, whatever was in its place") {
  const FreePath path;
  std::ofstream(path.partial) << "old";
  REQUIRE(::chmod(path.partial.c_str(), 0644) == 0);
  WholeFile file(path.whole, false);
  file.write("ab");
  file.complete();
  struct stat status{};
  REQUIRE(::stat(path.whole.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
}

TEST_CASE("only a regular file is ever replaced") {
  CHECK_THROWS_AS(WholeFile("/dev/null", true), Failure);
  CHECK_THROWS_AS(WholeFile(std::filesystem::temp_directory_path(), true), Failure);
}

TEST_CASE("a file that another run writes is left alone") {
  const FreePath path;
  const int other = ::open(path.partial.c_str(), O_WRONLY | O_CREAT, 0600);
  REQUIRE(::write(other, "other", 5) == 5);
  REQUIRE(::flock(other, LOCK_EX) == 0);
  {
    WholeFile file(path.whole, false);
    CHECK_THROWS_AS(file.write("ab"), Failure);
  }
  CHECK(content_of(path.partial) == "other");
  ::close(other);  // That run has been killed: its file can be taken over.
  WholeFile file(path.whole, false);
  file.write("ab");
  CHECK(content_of(path.partial) == "ab");
  const int third = ::open(path.partial.c_str(), O_RDONLY);
  CHECK(::flock(third, LOCK_EX | LOCK_NB) != 0);
  ::close(third);
  file.complete();
  CHECK(content_of(path.whole) == "ab");
}

TEST_CASE("anything else in the place of the partial file is replaced, and nothing behind it") {
  const FreePath path;
  const std::string behind = path.whole + ".behind";
  std::ofstream(behind) << "kept";
  SECTION("a symbolic link") {
    std::filesystem::create_symlink(behind, path.partial);
  }
  SECTION("another name of a file") {
    std::filesystem::create_hard_link(behind, path.partial);
  }
  SECTION("a FIFO") {
    REQUIRE(::mkfifo(path.partial.c_str(), 0600) == 0);
  }
  WholeFile file(path.whole, false);
  file.write("ab");
  file.complete();
  CHECK(content_of(path.whole) == "ab");
  CHECK(content_of(behind) == "kept");
  std::filesystem::remove(behind);
}
