#include "src/cli/whole_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

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

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

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
