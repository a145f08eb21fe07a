#include "src/cli/input.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include "src/cli/failure.hpp"
#include "tests/unit/catch.hpp"

using namespace celld::cli;

namespace {

struct InputFile {
  explicit InputFile(const std::string& content) { std::ofstream(path) << content; }
  ~InputFile() { std::filesystem::remove(path); }
  std::string path =
      std::filesystem::temp_directory_path() / ("celld-input-" + std::to_string(::getpid()));
};

std::string failure_of(const std::string& path, std::size_t bytes_max) {
  try {
    read_input(path, bytes_max);
    return "none";
  } catch (const Failure& failure) {
    CHECK(failure.code() == ExitCode::usage);
    return failure.what();
  }
}

}  // namespace

TEST_CASE("a file of the greatest size is read whole") {
  const std::string content(100'000, 'x');
  const InputFile file(content);
  CHECK(read_input(file.path, content.size()) == content);
  CHECK(failure_of(file.path, content.size() - 1) == file.path + " is longer than 99999 bytes");
}

TEST_CASE("an empty file is an empty input") {
  const InputFile file("");
  CHECK(read_input(file.path, 10).empty());
}

TEST_CASE("a file that cannot be read is named with the reason") {
  CHECK(failure_of("/no/such/file", 10) ==
        "/no/such/file cannot be read: No such file or directory");
  CHECK(failure_of("/", 10) == "/ cannot be read: Is a directory");
}
