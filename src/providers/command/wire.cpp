#include "src/providers/command/wire.hpp"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace celld::providers {
namespace {

constexpr std::size_t program_bytes_max = std::size_t{64} << 20;

/// Space for the descriptors sent with a frame, aligned as the kernel requires.
union Control {
  cmsghdr header;
  std::array<char, CMSG_SPACE(sizeof(int) * command_descriptors)> bytes;
};

/// Takes ownership of the received descriptors.
void take_descriptors(const msghdr& message, CommandDescriptors& descriptors) {
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
    return;
  }
  const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (std::size_t i = 0; i < count && i < descriptors.size(); ++i) {
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
    descriptors[i] = Descriptor{descriptor};
  }
}

/// Each text stands between "=" and a NUL; one more NUL ends the list.
void append_list(std::string& bytes, const std::vector<std::string>& texts) {
  for (const auto& text : texts) {
    bytes += '=';
    bytes += text;
    bytes += '\0';
  }
  bytes += '\0';
}

/// Takes one list off the front of `bytes`; false when there is none.
bool take_list(std::string_view& bytes, std::vector<std::string>& texts) {
  while (bytes.starts_with('=')) {
    const auto end = bytes.find('\0');
    if (end == std::string_view::npos) return false;
    texts.emplace_back(bytes.substr(1, end - 1));
    bytes.remove_prefix(end + 1);
  }
  if (!bytes.starts_with('\0')) return false;
  bytes.remove_prefix(1);
  return true;
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

Descriptor::~Descriptor() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

int send_frame(int socket, const CommandFrame& frame, std::span<const Descriptor> descriptors) {
  auto copy = frame;
  iovec part{&copy, sizeof copy};
  Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = &control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors.size());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * descriptors.size());
    for (std::size_t i = 0; i < descriptors.size(); ++i) {
      const int descriptor = descriptors[i].get();
      std::memcpy(CMSG_DATA(header) + i * sizeof(int), &descriptor, sizeof(int));
    }
  }
  for (;;) {
    if (::sendmsg(socket, &message, MSG_NOSIGNAL) >= 0) return 0;
    if (errno != EINTR) return errno;
  }
}

ReceivedFrame receive_frame(int socket, bool wait) {
  ReceivedFrame received;
  iovec part{&received.frame, sizeof received.frame};
  Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = &control;
  message.msg_controllen = sizeof control;
  ssize_t bytes = -1;
  do {
    bytes = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
    // When a peer has closed with unread data, recvmsg() reports ECONNRESET once, before the last
    // frames that the peer itself sent.
  } while (bytes < 0 && (errno == EINTR || errno == ECONNRESET));
  if (bytes >= 0) take_descriptors(message, received.descriptors);
  const bool whole = (message.msg_flags & MSG_TRUNC) == 0;
  if (whole && bytes == static_cast<ssize_t>(sizeof received.frame)) {
    received.end = ReceivedFrame::End::frame;
  } else if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    received.end = ReceivedFrame::End::nothing_yet;
  }
  return received;
}

Descriptor encode_program(const CommandProgram& program) {
  std::string bytes;
  append_list(bytes, program.arguments);
  append_list(bytes, program.environment);
  append_list(bytes, {program.directory});
  Descriptor file{::memfd_create("command", MFD_CLOEXEC)};
  if (file && !write_all(file.get(), bytes)) return Descriptor{};
  return file;
}

std::optional<CommandProgram> decode_program(int file) {
  struct stat status{};
  if (::fstat(file, &status) != 0 || status.st_size <= 0) return std::nullopt;
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > program_bytes_max) return std::nullopt;
  std::string bytes(size, '\0');
  if (::pread(file, bytes.data(), size, 0) != status.st_size) return std::nullopt;
  CommandProgram program;
  std::string_view rest = bytes;
  std::vector<std::string> directories;
  if (!take_list(rest, program.arguments) || !take_list(rest, program.environment) ||
      !take_list(rest, directories)) {
    return std::nullopt;
  }
  if (program.arguments.empty() || directories.size() != 1 || !rest.empty()) return std::nullopt;
  program.directory = std::move(directories.front());
  return program;
}

}  // namespace celld::providers
