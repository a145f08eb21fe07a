#include "src/http/path_matcher.hpp"

#include <httplib.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "src/http/text.hpp"

namespace celld::http {
namespace {

/// Serves reads from memory and drops what is written.
class MemoryStream final : public httplib::Stream {
 public:
  explicit MemoryStream(std::string_view input) : input_(input) {}

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* to, size_t size) override {
    const auto taken = std::min(size, input_.size());
    std::memcpy(to, input_.data(), taken);
    input_.remove_prefix(taken);
    return static_cast<ssize_t>(taken);
  }
  ssize_t write(const char*, size_t size) override { return static_cast<ssize_t>(size); }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return INVALID_SOCKET; }

 private:
  std::string_view input_;
};

/// Percent-encodes most characters, so that the library's own decoding restores `path` byte for
/// byte, its escaped slashes still escaped.
std::string encoded(std::string_view path) {
  static constexpr std::string_view digits = "0123456789ABCDEF";
  std::string text;
  text.reserve(path.size());
  for (const char c : path) {
    const bool plain = is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z') ||
                       std::string_view("/-._~").find(c) != std::string_view::npos;
    if (plain) {
      text += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      text += '%';
      text += digits[byte >> 4];
      text += digits[byte & 15];
    }
  }
  return text;
}

std::string regular_expression(std::string_view pattern) {
  static constexpr std::string_view capture = "{}";
  std::string expression = "^";
  while (!pattern.empty()) {
    if (pattern.substr(0, capture.size()) == capture) {
      expression += "([^/]+)";
      pattern.remove_prefix(capture.size());
      continue;
    }
    if (std::string_view(R"(^$\.*+?()[]{}|)").find(pattern.front()) != std::string_view::npos) {
      expression += '\\';
    }
    expression += pattern.front();
    pattern.remove_prefix(1);
  }
  return expression + "$";
}

/// Receives the match of the lookup that this thread is making: the library offers no other way to
/// pass a result out of its handlers.
thread_local std::optional<PathMatcher::Match>* current_match = nullptr;

}  // namespace

class PathMatcher::Library : public httplib::Server {
 public:
  void dispatch(const std::string& request) { run(*this, request); }

 private:
  /// Since cpp-httplib 0.18, process_request also takes the addresses of both ends.
  template <typename Self>
  static void run(Self& self, const std::string& request) {
    MemoryStream stream(request);
    bool closed = false;
    if constexpr (requires { self.process_request(stream, true, closed, nullptr); }) {
      self.process_request(stream, true, closed, nullptr);
    } else {
      self.process_request(stream, std::string(), 0, std::string(), 0, true, closed, nullptr);
    }
  }
};

PathMatcher::PathMatcher() : library_(std::make_unique<Library>()) {}
PathMatcher::~PathMatcher() = default;

void PathMatcher::add(std::string_view pattern, std::size_t path) {
  library_->Get(regular_expression(pattern),
                [path](const httplib::Request& request, httplib::Response&) {
                  auto& match = current_match->emplace();
                  match.path = path;
                  for (std::size_t i = 1; i < request.matches.size(); ++i) {
                    match.segments.push_back(request.matches[i].str());
                  }
                });
}

std::optional<PathMatcher::Match> PathMatcher::find(std::string_view path) const {
  std::optional<Match> match;
  if (path.empty()) return match;
  current_match = &match;
  library_->dispatch("GET " + encoded(path) + " HTTP/1.1\r\n\r\n");
  current_match = nullptr;
  return match;
}

}  // namespace celld::http
