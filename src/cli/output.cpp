#include "src/cli/output.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "src/cli/failure.hpp"
#include "src/cli/text.hpp"

namespace celld::cli {
namespace {

bool wants_colour() {
  const char* refused = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  return (refused == nullptr || *refused == '\0') && !dumb;
}

winsize window() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
    size = {.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
  return size;
}

std::size_t count_lines(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// At most the first `lines` lines of `text`.
std::string_view head(std::string_view text, std::size_t lines) {
  std::size_t end = 0;
  for (; lines > 0; --lines) end = std::min(text.find('\n', end), text.size() - 1) + 1;
  return text.substr(0, end);
}

}  // namespace

Output::Output()
    : is_terminal_(::isatty(STDOUT_FILENO) == 1), colour_(is_terminal_ && wants_colour()) {}

TableLook Output::look() const {
  if (!is_terminal_) return {};
  return {.width = window().ws_col, .colour = colour_};
}

void Output::print(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
    return;
  const int reason = errno;
  if (reason == EPIPE) {
    std::signal(SIGPIPE, SIG_DFL);
    std::raise(SIGPIPE);
  }
  throw Failure(ExitCode::output_failed,
                "standard output cannot be written: " + std::generic_category().message(reason));
}

void Output::print_json(std::string_view document) {
  while (document.ends_with('\n')) document.remove_suffix(1);
  print((is_terminal_ ? json_for_terminal(document) : std::string(document)) + '\n');
}

void Output::repaint(std::string_view text) {
  if (!is_terminal_) {
    print(painted_ ? "\n" + std::string(text) : std::string(text));
  } else {
    // Lines that scroll off the screen cannot be repainted.
    const std::string_view shown = head(text, std::max<std::size_t>(window().ws_row, 2) - 1);
    std::string all =
        painted_lines_ > 0 ? "\x1b[" + std::to_string(painted_lines_) + "A\r\x1b[J" : "";
    painted_lines_ = count_lines(shown);
    print(all.append(shown));
  }
  painted_ = true;
}

void print_message(std::string_view text) {
  std::fprintf(stderr, "cellctl: %.*s\n", static_cast<int>(text.size()), text.data());
}

}  // namespace celld::cli
