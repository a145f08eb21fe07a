// What celld and its command supervisor send each other: a frame, and a program in a file.
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/providers/command/wire.hpp"
#include "tests/torture/fuzz/fuzzing.hpp"

using namespace celld;
using fuzz::must;
using providers::CommandFrame;
using providers::CommandProgram;
using providers::Descriptor;
using providers::ReceivedFrame;

namespace {

constexpr std::size_t frame_bytes_max = 64 << 10;

Descriptor file_of(std::string_view bytes) {
  Descriptor file{::memfd_create("fuzz", MFD_CLOEXEC)};
  must(
      file && ::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
      "there is room for a file");
  return file;
}

std::string content_of(const Descriptor& file) {
  std::string bytes(static_cast<std::size_t>(::lseek(file.get(), 0, SEEK_END)), '\0');
  must(::pread(file.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
       "a file can be read");
  return bytes;
}

void check_program(std::string_view bytes) {
  const auto program = providers::decode_program(file_of(bytes).get());
  if (!program) return;
  must(!program->arguments.empty(), "a program has a name");
  for (const auto& texts : {program->arguments, program->environment})
    must(std::none_of(texts.begin(), texts.end(),
                      [](const std::string& text) { return text.find('\0') != std::string::npos; }),
         "an argument has no NUL");
  must(content_of(providers::encode_program(*program)) == bytes, "a program has one form");
}

/// Any arguments and variables arrive as they were sent.
void check_round_trip(std::string_view bytes) {
  CommandProgram program{{"/bin/true"}, {}};
  fuzz::Dice dice(bytes);
  std::string text;
  for (const char c : bytes) {
    if (c != '\0') {
      text += c;
      continue;
    }
    (dice.roll(2) == 0 ? program.arguments : program.environment).push_back(std::move(text));
    text.clear();
  }
  const auto again = providers::decode_program(providers::encode_program(program).get());
  must(again && again->arguments == program.arguments && again->environment == program.environment,
       "a program arrives as it was sent");
}

void check_frame(std::string_view bytes) {
  std::array<int, 2> ends{};
  must(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0,
       "there are sockets");
  const Descriptor near{ends[0]};
  Descriptor far{ends[1]};
  must(::send(far.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
       "a message can be sent");
  const auto received = providers::receive_frame(near.get(), false);
  must((received.end == ReceivedFrame::End::frame) == (bytes.size() == sizeof(CommandFrame)),
       "a frame has one size");
  if (received.end != ReceivedFrame::End::frame) return;
  must(std::memcmp(&received.frame, bytes.data(), bytes.size()) == 0, "a frame is what was sent");
  must(!received.descriptors.front(), "a frame without descriptors has none");
  far = Descriptor{};
  must(providers::receive_frame(near.get(), false).end == ReceivedFrame::End::closed,
       "the end of a connection is seen");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::text_of(data, std::min(size, frame_bytes_max));
  check_program(bytes);
  check_round_trip(bytes);
  check_frame(bytes);
  return 0;
}
