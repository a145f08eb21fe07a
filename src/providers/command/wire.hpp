// The protocol between celld and its command supervisor: fixed-size frames over a SOCK_SEQPACKET
// socket. A frame that starts a command carries descriptors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace celld::providers {

/// Owns a descriptor; -1 is none.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  Descriptor(Descriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Descriptor();

  int get() const { return descriptor_; }
  int release() { return std::exchange(descriptor_, -1); }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

struct CommandFrame {
  enum class Kind : std::uint32_t {
    // From celld.
    start,   ///< Start a command as `id`; carries CommandDescriptors.
    signal,  ///< Send signal `value` to the group of `id`, if it still runs.
    // From the supervisor. Each start is answered by exactly one of the last three.
    started,     ///< `value` is its process group. Sent before the program is executed.
    exited,      ///< Exited by itself, with `value`. Nothing of its group is left.
    killed,      ///< Killed by signal `value`. Nothing of its group is left.
    not_started  ///< The program could not be executed: errno `value`.
  };
  Kind kind = Kind::start;
  std::int32_t value = 0;
  std::uint64_t id = 0;  ///< Chosen by celld, unique for one supervisor.
};

/// The program as encoded by encode_program(), then standard input, output and error.
inline constexpr std::size_t command_descriptors = 4;
using CommandDescriptors = std::array<Descriptor, command_descriptors>;

/// Returns 0 or an errno. The caller keeps `descriptors`.
int send_frame(int socket, const CommandFrame& frame, std::span<const Descriptor> descriptors = {});

struct ReceivedFrame {
  enum class End : std::uint8_t { frame, nothing_yet, closed };
  End end = End::closed;  ///< Also `closed` when the message is not a frame.
  CommandFrame frame;
  CommandDescriptors descriptors;  ///< Empty where this process had no room for one.
};
ReceivedFrame receive_frame(int socket, bool wait);

/// What a command executes: a program, its arguments, its whole environment, and where it runs.
struct CommandProgram {
  std::vector<std::string> arguments;    ///< The first is the program's absolute path.
  std::vector<std::string> environment;  ///< NAME=value.
  std::string directory = "/";
};

/// Writes the program to a file in memory. On failure, returns none and sets errno.
Descriptor encode_program(const CommandProgram& program);
/// Nothing when the file does not hold a program.
std::optional<CommandProgram> decode_program(int file);

}  // namespace celld::providers
