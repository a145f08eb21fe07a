#include "src/http/routes.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "src/http/target.hpp"

namespace celld::http {

void Routes::add(std::string method, std::string pattern, Handler handler) {
  const std::size_t endpoint = add_endpoint(method, pattern);
  route_of(std::move(pattern))
      .handlers.insert_or_assign(std::move(method), Entry{std::move(handler), endpoint});
}

void Routes::add_stream(std::string method, std::string path, StreamHandler handler) {
  const std::size_t endpoint = add_endpoint(method, path);
  route_of(std::move(path))
      .stream_handlers.insert_or_assign(std::move(method),
                                        StreamEntry{std::move(handler), endpoint});
}

void Routes::complete() {
  // Exact paths go before patterns, so that `/leases/report` is not taken for a `/leases/{}`.
  std::stable_partition(routes_.begin(), routes_.end(), [](const Route& route) {
    return route.pattern.find("{}") == std::string::npos;
  });
  for (std::size_t i = 0; i < routes_.size(); ++i) router_.add(routes_[i].pattern, i);
}

void Routes::clear() {
  routes_.clear();
}

const Routes::StreamEntry* Routes::stream_handler(std::string_view method,
                                                  std::string_view route_path) const {
  for (const auto& route : routes_) {
    if (route.stream_handlers.empty() || route.pattern != route_path) continue;
    const auto found = route.stream_handlers.find(method);
    return found == route.stream_handlers.end() ? nullptr : &found->second;
  }
  return nullptr;
}

Routes::Found Routes::find(const std::string& method, std::string_view route_path) const {
  Found found;
  const auto match = router_.find(route_path);
  if (!match) {
    found.status = 404;
    return found;
  }
  const auto& route = routes_[match->route];
  auto handler = route.handlers.find(method);
  if (handler == route.handlers.end() && method == "HEAD") handler = route.handlers.find("GET");
  if (handler == route.handlers.end()) {
    found.status = 405;
    found.allow = allowed_methods(route);
    return found;
  }
  found.handler = &handler->second.handler;
  found.endpoint = handler->second.endpoint;
  for (const auto& segment : match->segments) {
    found.captures.push_back(percent_decode(segment).value_or(segment));
  }
  return found;
}

std::size_t Routes::add_endpoint(const std::string& method, const std::string& pattern) {
  endpoints_.push_back({method, pattern});
  return endpoints_.size() - 1;
}

Routes::Route& Routes::route_of(std::string&& pattern) {
  const auto known = std::find_if(routes_.begin(), routes_.end(),
                                  [&](const Route& route) { return route.pattern == pattern; });
  if (known != routes_.end()) return *known;
  auto& route = routes_.emplace_back();
  route.pattern = std::move(pattern);
  return route;
}

std::string Routes::allowed_methods(const Route& route) {
  std::set<std::string> methods;
  for (const auto& [method, handler] : route.handlers) methods.insert(method);
  for (const auto& [method, handler] : route.stream_handlers) methods.insert(method);
  if (route.handlers.count("GET") > 0) methods.insert("HEAD");
  std::string list;
  for (const auto& method : methods) list += (list.empty() ? "" : ", ") + method;
  return list;
}

}  // namespace celld::http
