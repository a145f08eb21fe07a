// The routes of a server: which handler a request goes to.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/http/path_router.hpp"
#include "src/http/server.hpp"

namespace celld::http {

class Routes {
 public:
  void add(std::string method, std::string pattern, Handler handler);
  void add_stream(std::string method, std::string path, StreamHandler handler);
  /// No route is added afterwards; from now on reads may come from any thread.
  void complete();
  /// Lets go of all handlers.
  void clear();

  /// Found where the head ends, as it decides how the body is read; null for all other requests.
  const StreamHandler* stream_handler(std::string_view method, std::string_view route_path) const;

  struct Found {
    const Handler* handler = nullptr;
    int status = 200;   ///< 404 or 405 when there is no handler.
    std::string allow;  ///< The methods of the path, for a 405.
    std::vector<std::string> captures;
  };
  Found find(const std::string& method, std::string_view route_path) const;

 private:
  struct Route {
    std::string pattern;
    std::map<std::string, Handler> handlers;
    std::map<std::string, StreamHandler, std::less<>> stream_handlers;
  };

  Route& route_of(std::string&& pattern);
  static std::string allowed_methods(const Route& route);

  std::vector<Route> routes_;
  PathRouter router_;
};

}  // namespace celld::http
