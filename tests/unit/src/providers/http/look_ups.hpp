// Stands in for the name servers: replaces the C library's getaddrinfo() in the test program.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace celld::test {

/// While one exists, it decides on the names that end in `.invalid`: a name without an answer does
/// not exist. There is one at a time.
class LookUps {
 public:
  LookUps();
  /// Ends the look-ups that hang.
  ~LookUps();
  LookUps(const LookUps&) = delete;
  LookUps& operator=(const LookUps&) = delete;

  enum class Answer {
    loopback,  ///< 127.0.0.1.
    both,      ///< An address of version 6 that nothing listens at, then 127.0.0.1.
    scoped,    ///< An address of version 6 that is valid on one link only, then 127.0.0.1.
    failed,    ///< The name server has a fault.
    shortage,  ///< celld has no descriptor left to ask with.
    silent,    ///< The name server does not answer; the look-up hangs.
  };
  void set(const std::string& name, Answer answer);
  /// Ends the look-ups that hang, with the answer that is now set.
  void wake();

  std::size_t begun(const std::string& name) const;
  /// Waits until so many look-ups have begun; false if that takes too long.
  bool await_begun(const std::string& name, std::size_t count) const;

  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::string, Answer> answers;
    std::map<std::string, std::size_t> begun;
    bool over = false;
    std::size_t woken = 0;
  };

 private:
  std::shared_ptr<State> state_;
};

}  // namespace celld::test
