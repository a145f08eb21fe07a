// Runs one test that is written in Python.
//
//   run_python_test PYTHON NAME
//
// If the environment variable CELLD_PYTHON_SERVER names the socket of python_server.py, the test
// runs in a process that the server forks. Otherwise, or if the server cannot be reached, this
// program becomes the interpreter itself.

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>

namespace {

constexpr std::array streams{STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};

std::optional<int> connect_to(const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path == nullptr || std::strlen(path) >= sizeof address.sun_path) return std::nullopt;
  std::strcpy(address.sun_path, path);
  const int server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (server < 0) return std::nullopt;
  if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return server;
  ::close(server);
  return std::nullopt;
}

/// The name of the test, the directory and the entries of the environment, each with a zero at its
/// end; then another zero.
std::string request_for(const char* name) {
  std::string request(name);
  request += '\0';
  request += std::filesystem::current_path().string();
  request += '\0';
  for (char** entry = environ; *entry != nullptr; ++entry) {
    request += *entry;
    request += '\0';
  }
  request += '\0';
  return request;
}

/// The standard streams go with the first byte.
bool send_streams(int server, char& byte) {
  iovec data{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof streams)> space{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = space.data();
  message.msg_controllen = space.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof streams);
  std::memcpy(CMSG_DATA(header), streams.data(), sizeof streams);
  return ::sendmsg(server, &message, MSG_NOSIGNAL) == 1;
}

bool send_all(int server, const std::string& text, std::size_t from) {
  while (from < text.size()) {
    const auto sent = ::send(server, text.data() + from, text.size() - from, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    from += static_cast<std::size_t>(sent);
  }
  return true;
}

/// The exit code of the test.
int run_at(int server, const char* name) {
  std::string request = request_for(name);
  unsigned char code = 0;
  if (send_streams(server, request.front()) && send_all(server, request, 1) &&
      ::recv(server, &code, 1, 0) == 1) {
    return code;
  }
  std::fputs("run_python_test: python_server.py went away\n", stderr);
  return EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: run_python_test PYTHON NAME\n", stderr);
    return EXIT_FAILURE;
  }
  if (const auto server = connect_to(std::getenv("CELLD_PYTHON_SERVER")))
    return run_at(*server, argv[2]);
  ::execl(argv[1], argv[1], "-W", "ignore::ResourceWarning", "-m", "unittest", "-v", argv[2],
          static_cast<char*>(nullptr));
  std::perror(argv[1]);
  return EXIT_FAILURE;
}
