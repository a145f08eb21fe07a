// A blocking connection for protocols of lines that end with CR LF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/bench/http_wire.hpp"

namespace celld::bench {

class TextConnection {
 public:
  explicit TextConnection(std::uint16_t port);

  void send(std::string_view bytes);
  /// The next line, without its end. Throws if none comes within half a minute.
  std::string line();
  /// The next bytes, and skips the CR LF that follows them.
  std::string block(std::size_t size);
  /// The next line. Throws unless it begins with `beginning`.
  std::string expect(std::string_view beginning);

 private:
  void fill();

  Descriptor socket_;
  std::string received_;
  std::size_t consumed_ = 0;
};

}  // namespace celld::bench
