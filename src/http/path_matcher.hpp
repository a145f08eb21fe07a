// Matches paths against patterns, with cpp-httplib. Everything that depends on the version of that
// library is in the .cpp file.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace celld::http {

/// The library only sees a request line that is made here from a checked path. No header, body or
/// socket of a client reaches it, and its answers are dropped.
class PathMatcher {
 public:
  struct Match {
    std::size_t path = 0;
    std::vector<std::string> segments;  ///< One for each `{}` of the pattern, not decoded.
  };

  PathMatcher();
  ~PathMatcher();
  PathMatcher(const PathMatcher&) = delete;
  PathMatcher& operator=(const PathMatcher&) = delete;

  /// Segments of `pattern` may be `{}`, which matches any non-empty segment. Of several matching
  /// patterns, the one added first wins.
  void add(std::string_view pattern, std::size_t path);

  /// `path` is a Target's `match_path`. Thread-safe once all patterns have been added.
  std::optional<Match> find(std::string_view path) const;

 private:
  class Library;
  std::unique_ptr<Library> library_;
};

}  // namespace celld::http
