#include "src/http/endpoints.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "src/http/target.hpp"

namespace celld::http {
namespace {

constexpr std::string_view any_segment = "{}";

/// Removes the first segment of `path`, and returns it.
std::string_view take_segment(std::string_view& path) {
  const auto segment = path.substr(0, path.find('/'));
  path.remove_prefix(std::min(segment.size() + 1, path.size()));
  return segment;
}

}  // namespace

std::optional<std::vector<std::string_view>> match_path(std::string_view pattern,
                                                        std::string_view path) {
  if (std::count(pattern.begin(), pattern.end(), '/') != std::count(path.begin(), path.end(), '/'))
    return std::nullopt;
  std::vector<std::string_view> captures;
  while (!pattern.empty() || !path.empty()) {
    const auto expected = take_segment(pattern);
    const auto segment = take_segment(path);
    if (expected == any_segment && !segment.empty()) {
      captures.push_back(segment);
    } else if (expected != segment) {
      return std::nullopt;
    }
  }
  return captures;
}

void Endpoints::add(std::string method, std::string pattern, Handler handler) {
  const std::size_t endpoint = add_endpoint(method, pattern);
  path_of(std::move(pattern))
      .handlers.insert_or_assign(std::move(method), Entry{std::move(handler), endpoint});
}

void Endpoints::add_stream(std::string method, std::string path, StreamHandler handler) {
  const std::size_t endpoint = add_endpoint(method, path);
  path_of(std::move(path))
      .stream_handlers.insert_or_assign(std::move(method),
                                        StreamEntry{std::move(handler), endpoint});
}

void Endpoints::complete() {
  // Exact paths come before patterns, so that `/leases/{}` does not match `/leases/report`.
  std::stable_partition(paths_.begin(), paths_.end(), [](const Path& path) {
    return path.pattern.find(any_segment) == std::string::npos;
  });
}

void Endpoints::clear() {
  paths_.clear();
}

const Endpoints::StreamEntry* Endpoints::stream_handler(std::string_view method,
                                                        std::string_view match_path) const {
  for (const auto& path : paths_) {
    if (path.stream_handlers.empty() || path.pattern != match_path) continue;
    const auto found = path.stream_handlers.find(method);
    return found == path.stream_handlers.end() ? nullptr : &found->second;
  }
  return nullptr;
}

Endpoints::Found Endpoints::find(const std::string& method, std::string_view match_path) const {
  Found found;
  std::optional<std::vector<std::string_view>> captures;
  const auto path = std::find_if(paths_.begin(), paths_.end(), [&](const Path& each) {
    if (!match_path.starts_with(each.start)) return false;
    captures = http::match_path(each.pattern, match_path);
    return captures.has_value();
  });
  if (path == paths_.end()) {
    found.status = 404;
    return found;
  }
  auto handler = path->handlers.find(method);
  if (handler == path->handlers.end() && method == "HEAD") handler = path->handlers.find("GET");
  if (handler == path->handlers.end()) {
    found.status = 405;
    found.allow = allowed_methods(*path);
    return found;
  }
  found.handler = &handler->second.handler;
  found.endpoint = handler->second.endpoint;
  for (const auto segment : *captures) {
    found.captures.push_back(percent_decode(segment).value_or(std::string(segment)));
  }
  return found;
}

std::size_t Endpoints::add_endpoint(const std::string& method, const std::string& pattern) {
  endpoints_.push_back({method, pattern});
  return endpoints_.size() - 1;
}

Endpoints::Path& Endpoints::path_of(std::string&& pattern) {
  const auto known = std::find_if(paths_.begin(), paths_.end(),
                                  [&](const Path& path) { return path.pattern == pattern; });
  if (known != paths_.end()) return *known;
  auto& path = paths_.emplace_back();
  path.start = pattern.substr(0, pattern.find(any_segment));
  path.pattern = std::move(pattern);
  return path;
}

std::string Endpoints::allowed_methods(const Path& path) {
  std::set<std::string> methods;
  for (const auto& [method, handler] : path.handlers) methods.insert(method);
  for (const auto& [method, handler] : path.stream_handlers) methods.insert(method);
  if (path.handlers.count("GET") > 0) methods.insert("HEAD");
  std::string list;
  for (const auto& method : methods) list += (list.empty() ? "" : ", ") + method;
  return list;
}

}  // namespace celld::http
