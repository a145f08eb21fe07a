// Looks host names up with the C library.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "src/providers/http/host_names.hpp"

namespace celld::providers {

/// getaddrinfo() cannot be interrupted, and takes as long as the system's resolver is patient with
/// a name server that does not answer: by default 10 s. So it runs on threads of its own, which may
/// outlive this object, and there are at most `threads_max` of them, which end when nothing waits.
class NameLookUps {
 public:
  static constexpr std::size_t threads_max = 16;
  using Ended = std::function<void(const std::string& name, HostAddresses found)>;

  /// `ended` is called once for each look-up: on a thread of this object, perhaps after this object
  /// is gone, or within start().
  explicit NameLookUps(Ended ended);
  ~NameLookUps();
  NameLookUps(const NameLookUps&) = delete;
  NameLookUps& operator=(const NameLookUps&) = delete;

  /// From any thread.
  void start(const std::string& name);

 private:
  struct State;
  static void run(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

}  // namespace celld::providers
