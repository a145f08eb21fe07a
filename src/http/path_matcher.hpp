// Which endpoint a path belongs to, found by cpp-httplib. All that depends on the version of that
// library is in the .cpp file.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace celld::http {

/// The library only ever sees a request line made here from a path that has been checked: no
/// header, no body and no socket of a client reaches it, and what it would answer is dropped.
class PathMatcher {
 public:
  struct Match {
    std::size_t path = 0;
    std::vector<std::string> segments;  ///< One for each `{}` of the pattern, as in the path.
  };

  PathMatcher();
  ~PathMatcher();
  PathMatcher(const PathMatcher&) = delete;
  PathMatcher& operator=(const PathMatcher&) = delete;

  /// Segments of `pattern` may be `{}`, which stands for any that is not empty. The first pattern
  /// added that fits a path wins.
  void add(std::string_view pattern, std::size_t path);

  /// `path` is a Target's `route_path`. From any thread, once all patterns are added.
  std::optional<Match> find(std::string_view path) const;

 private:
  class Library;
  std::unique_ptr<Library> library_;
};

}  // namespace celld::http
