// Files and pipes with one job a line.
#include "src/cli/line_source.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/unit/catch.hpp"

using namespace celld::cli;

namespace {

/// A pipe whose reading end has a path.
class Pipe {
 public:
  Pipe() { REQUIRE(::pipe2(ends_.data(), O_CLOEXEC) == 0); }
  ~Pipe() {
    ::close(ends_[0]);
    end();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  std::string path() const { return "/dev/fd/" + std::to_string(ends_[0]); }
  void write(std::string_view text) const {
    REQUIRE(::write(ends_[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  void end() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

/// A file that is removed with this object.
class File {
 public:
  explicit File(std::string_view text) {
    const int descriptor = ::mkstemp(path_.data());
    REQUIRE(descriptor >= 0);
    REQUIRE(::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    ::close(descriptor);
  }
  ~File() { ::unlink(path_.c_str()); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/celld-lines-XXXXXX";
};

/// While it exists, standard input is this file, from an offset on.
class Input {
 public:
  Input(const std::string& path, off_t offset) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    REQUIRE(::lseek(descriptor, offset, SEEK_SET) == offset);
    ::dup2(descriptor, STDIN_FILENO);
    ::close(descriptor);
  }
  ~Input() {
    ::dup2(kept_, STDIN_FILENO);
    ::close(kept_);
  }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

 private:
  const int kept_ = ::dup(STDIN_FILENO);
};

/// Everything up to the end, which must have come already.
std::string rest_of(LineSource& source) {
  std::string all;
  while (!source.has_ended()) {
    const auto piece = source.next();
    if (piece.empty() && !source.has_ended()) source.read();
    all += piece;
  }
  return all;
}

/// Why the source cannot go to this line.
std::string fault_of(LineSource& source, std::uint64_t line) {
  try {
    source.go_to(line);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the lines of a pipe are given as they come, and only whole ones") {
  Pipe pipe;
  LineSource source(pipe.path());
  CHECK_FALSE(source.bytes_total());
  CHECK(source.next().empty());
  pipe.write("one\ntw");
  source.read();
  CHECK(source.next() == "one\n");
  CHECK(source.next().empty());
  CHECK_FALSE(source.has_ended());
  CHECK(source.line() == 2);
  pipe.write("o\nthree");
  source.read();
  CHECK(source.next() == "two\n");
  pipe.end();
  source.read();
  CHECK(source.next() == "three");
  CHECK(source.has_ended());
  CHECK(source.bytes() == 13);
}

TEST_CASE("a pause between two lines is filled with a blank, which is no line") {
  Pipe pipe;
  LineSource source(pipe.path());
  CHECK(source.filler() == " ");
  pipe.write("one\ntw");
  source.read();
  source.next();
  CHECK(source.filler() == " ");
}

TEST_CASE("a line that is too long for celld is given in parts, and no blank gets into it") {
  Pipe pipe;
  LineSource source(pipe.path());
  const std::string part(32 << 10, 'x');
  std::size_t given = 0;
  for (int i = 0; i < 40; ++i) {
    pipe.write(part);
    source.read();
    for (auto piece = source.next(); !piece.empty(); piece = source.next()) given += piece.size();
    CHECK((given == 0) == (source.filler() == " "));
  }
  CHECK(given == 40 * part.size());
  pipe.write("\n{}\n");
  source.read();
  CHECK(source.next() == "\n{}\n");
  CHECK(source.filler() == " ");
  CHECK(source.line() == 3);
}

TEST_CASE("many lines are given in pieces that do not block a socket, without a part of a line") {
  Pipe pipe;
  LineSource source(pipe.path());
  std::string text;
  while (text.size() < 40'000) text += "a line\n";
  pipe.write(text + "part");
  source.read();
  std::string given;
  for (auto piece = source.next(); !piece.empty(); piece = source.next()) {
    CHECK(piece.size() <= 16 << 10);
    given += piece;
  }
  CHECK(given == text);
}

TEST_CASE("a file can be read again from any line") {
  const File file("1\n2\n\n4");
  LineSource source(file.path());
  CHECK(source.bytes_total() == 6);
  CHECK(rest_of(source) == "1\n2\n\n4");
  source.go_to(2);
  CHECK(source.bytes() == 2);
  CHECK(source.line() == 2);
  CHECK(rest_of(source) == "2\n\n4");
  source.go_to(4);
  CHECK(source.has_more());
  CHECK(rest_of(source) == "4");
  source.go_to(1);
  CHECK(source.bytes() == 0);
  CHECK(fault_of(source, 7).find("has no line 7") != std::string::npos);
}

TEST_CASE("a long file can be read again from any line") {
  std::string text;
  for (int i = 1; i <= 50'000; ++i) text += std::to_string(i) + "\n";
  const File file(text);
  LineSource source(file.path());
  CHECK((rest_of(source) == text));
  for (const auto& line : {"1", "2", "49999", "30000", "30001"}) {
    source.go_to(std::stoull(line));
    CHECK(source.has_more());
    CHECK(source.next().starts_with(line + std::string("\n")));
  }
}

TEST_CASE("a file as standard input begins where another program stopped reading it") {
  const File file("title\n1\n2\n");
  const Input input(file.path(), 6);
  LineSource source("-");
  CHECK(source.bytes_total() == 4);
  CHECK(rest_of(source) == "1\n2\n");
  source.go_to(1);
  CHECK(rest_of(source) == "1\n2\n");
}

TEST_CASE("a pipe can be read again from a line that is kept") {
  Pipe pipe;
  LineSource source(pipe.path());
  pipe.write("1\n2\n3\n");
  CHECK(source.has_more());
  CHECK(source.next() == "1\n2\n3\n");
  source.go_to(2);
  CHECK(source.line() == 2);
  pipe.write("4\n");
  pipe.end();
  CHECK(rest_of(source) == "2\n3\n4\n");
  source.go_to(5);
  CHECK_FALSE(source.has_more());
  CHECK_THROWS_AS(source.go_to(6), Failure);
}

TEST_CASE("only the last lines of a pipe are kept") {
  Pipe pipe;
  LineSource source(pipe.path(), 100);
  std::string text;
  for (int i = 1001; i <= 1100; ++i) text += std::to_string(i) + "\n";
  pipe.write(text);
  pipe.end();
  CHECK(rest_of(source) == text);
  CHECK_FALSE(source.has_kept(80));
  REQUIRE(source.has_kept(95));
  CHECK(fault_of(source, 1).find("line 1 of /dev/fd/") == 0);
  source.go_to(95);
  CHECK(rest_of(source) == "1095\n1096\n1097\n1098\n1099\n1100\n");
}

TEST_CASE("whether lines have keys is known of those that were given") {
  const std::string keyed = R"({"idempotency_key":"k"})";
  const File file("{}\n" + keyed + "\n \n" + keyed + "\n{}");
  LineSource source(file.path());
  CHECK(source.has_keys());
  rest_of(source);
  CHECK_FALSE(source.has_keys());
  source.go_to(2);
  CHECK(source.has_keys());
  rest_of(source);
  CHECK_FALSE(source.has_keys());
  Pipe pipe;
  LineSource open(pipe.path());
  pipe.write(keyed + "\n{");
  open.read();
  open.next();
  CHECK(open.has_keys());
}

TEST_CASE("going back to a line that was given in part begins it afresh") {
  const std::string line =
      R"({"action":")" + std::string(40'000, 'x') + R"(","idempotency_key":"k"})" + "\n";
  const File file{line};
  LineSource source(file.path());
  source.read();
  source.next();
  CHECK(source.filler().empty());
  source.go_to(1);
  CHECK(source.filler() == " ");
  CHECK((rest_of(source) == line));
  CHECK(source.has_keys());
}

TEST_CASE("only the member of the job itself is its key") {
  const auto has_keys = [](const std::string& line) {
    const File file{line + "\n"};
    LineSource source{file.path()};
    rest_of(source);
    return source.has_keys();
  };
  CHECK(has_keys(R"({"a":["\\",{"b":"\"}"}], "idempotency_key" : "k"})"));
  CHECK_FALSE(has_keys(R"({"parameters":{"idempotency_key":"k"}})"));
  CHECK_FALSE(has_keys(R"({"action":"idempotency_key","parameters":{}})"));
  CHECK_FALSE(has_keys(R"({"action":"\"idempotency_key\":"})"));
}

TEST_CASE("a file that cannot be read is a usage error") {
  CHECK_THROWS_AS(LineSource("/tmp/celld-no-such-file"), Failure);
  CHECK_THROWS_AS(LineSource("/tmp").has_more(), Failure);
}

TEST_CASE("some lines of a file are given again, before the rest") {
  const std::string text = "{\"idempotency_key\":1}\nb\n\nd\n{\"idempotency_key\":2}\nlast";
  const auto all = [](LineSource& source) {
    std::string given;
    while (source.has_more()) given += source.next();
    return given;
  };
  File file{text};
  LineSource source{file.path()};
  CHECK(all(source) == text);
  source.go_to({2, 4}, 5);
  CHECK(!source.has_ended());
  CHECK(all(source) == "b\nd\n{\"idempotency_key\":2}\nlast");
  CHECK(source.has_ended());
  source.go_to({1}, 5);
  CHECK(source.has_keys());
  source.go_to({1, 2}, 5);
  CHECK(!source.has_keys());
  source.go_to({5}, 6);
  CHECK(all(source) == "{\"idempotency_key\":2}\nlast");
  source.go_to({6}, 7);
  CHECK(all(source) == "last\n");
  source.go_to(7);
  CHECK(!source.has_more());
  CHECK_THROWS_AS(source.go_to(8), Failure);
}
