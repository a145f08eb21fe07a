// One attempt to move bytes over a socket; it never blocks and never raises SIGPIPE.
#pragma once

#include <cstddef>
#include <string_view>

namespace celld::http {

/// The result of one attempt to read or write.
struct Transfer {
  enum class Outcome {
    done,
    would_block,
    end,
    failed,
    not_encrypted,  ///< Input other than a TLS handshake. Nothing has been read.
  };
  Outcome outcome = Outcome::done;
  std::size_t bytes = 0;
};

Transfer receive_plain(int fd, char* to, std::size_t size);
/// Sends as much as the kernel takes: `done` with all of it, `would_block` with a part.
Transfer send_plain(int fd, std::string_view from);

}  // namespace celld::http
