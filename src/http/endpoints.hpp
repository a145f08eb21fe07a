// The endpoints of a server. Finds the handler of a request.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/http/server.hpp"
#include "src/http/server_observer.hpp"

namespace celld::http {

/// The segments of `path` that stand where `pattern` has `{}`, not decoded; nothing if it does not
/// match. A segment `{}` matches any segment that is not empty; any other matches itself.
std::optional<std::vector<std::string_view>> match_path(std::string_view pattern,
                                                        std::string_view path);

class Endpoints {
 public:
  void add(std::string method, std::string pattern, Handler handler);
  void add_stream(std::string method, std::string path, StreamHandler handler);
  /// Call this after adding the last endpoint. From then on any thread may look up handlers.
  void complete();
  /// Releases all handlers.
  void clear();

  /// All endpoints, by the index that `endpoint` gives for each handler.
  const std::vector<Endpoint>& endpoints() const { return endpoints_; }

  struct StreamEntry {
    StreamHandler handler;
    std::size_t endpoint = 0;
  };
  /// Looked up at the end of the head, because it decides how the body is read; null for requests
  /// that are not streamed.
  const StreamEntry* stream_handler(std::string_view method, std::string_view match_path) const;

  struct Found {
    const Handler* handler = nullptr;
    std::size_t endpoint = 0;
    int status = 200;   ///< 404 or 405 when there is no handler.
    std::string allow;  ///< The methods of the path, for a 405.
    std::vector<std::string> captures;
  };
  Found find(const std::string& method, std::string_view match_path) const;

 private:
  struct Entry {
    Handler handler;
    std::size_t endpoint = 0;
  };
  struct Path {
    std::string pattern;
    std::string start;  ///< Of the pattern, up to the first `{}`. Every match begins with it.
    std::map<std::string, Entry> handlers;
    std::map<std::string, StreamEntry, std::less<>> stream_handlers;
  };

  std::size_t add_endpoint(const std::string& method, const std::string& pattern);
  Path& path_of(std::string&& pattern);
  static std::string allowed_methods(const Path& path);

  std::vector<Endpoint> endpoints_;
  std::vector<Path> paths_;  ///< Once complete, those without `{}` first.
};

}  // namespace celld::http
