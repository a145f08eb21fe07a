#include "src/http/request_head.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include "src/http/target.hpp"
#include "src/http/text.hpp"

namespace celld::http {
namespace {

constexpr std::size_t method_bytes_max = 32;
constexpr std::size_t request_line_rest = method_bytes_max + 12;  // Spaces, version and CR LF.

/// Removes the scheme and the authority from a target in absolute form, "http://host:80/path" (RFC
/// 9112, section 3.2.2), and returns the authority; nothing for a target in any other form.
std::optional<std::string> take_authority(std::string_view& target) {
  const auto scheme_end = target.find("://");
  if (scheme_end == std::string_view::npos) return std::nullopt;
  const auto scheme = lower_case(target.substr(0, scheme_end));
  if (scheme != "http" && scheme != "https") return std::nullopt;
  target.remove_prefix(scheme_end + 3);
  const auto end = std::min(target.find_first_of("/?"), target.size());
  std::string authority(target.substr(0, end));
  target.remove_prefix(end);
  return authority;
}

/// Whether `text` is a host and an optional port, without a user, as in RFC 3986, section 3.2:
/// "name:80", "192.0.2.1", "[2001:db8::1]:80", or empty. Escapes and sub-delimiters are refused,
/// because no such name resolves.
bool is_authority(std::string_view text) {
  const auto is_name_char = [](char c) {
    return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z') ||
           std::string_view("-._~").find(c) != std::string_view::npos;
  };
  const auto is_ipv6_char = [](char c) {
    return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'f') || c == ':' || c == '.';
  };
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos || end == 1) return false;
    const auto address = text.substr(1, end - 1);
    if (!std::all_of(address.begin(), address.end(), is_ipv6_char)) return false;
    text.remove_prefix(end + 1);
  } else {
    text.remove_prefix(std::find_if_not(text.begin(), text.end(), is_name_char) - text.begin());
  }
  if (text.empty()) return true;
  return text.front() == ':' && std::all_of(text.begin() + 1, text.end(), is_digit);
}

std::string target_too_long(const Limits& limits) {
  return "The request target is longer than " + std::to_string(limits.uri_bytes_max) + " bytes.";
}

/// Parses the lines of one head, up to the first fault.
class HeadReader {
 public:
  explicit HeadReader(const Limits& limits) : limits_(limits) {}

  std::variant<RequestHead, Refusal> read(std::string_view text) {
    const auto line_end = text.find("\r\n");
    if (read_request_line(text.substr(0, line_end)) && read_fields(text.substr(line_end + 2)) &&
        check_host() && read_framing()) {
      read_connection();
      return std::move(head_);
    }
    return std::move(refusal_);
  }

 private:
  bool refuse(int status, std::string detail) {
    refusal_ = {status, std::move(detail)};
    return false;
  }

  bool read_request_line(std::string_view line) {
    const auto method_end = line.find(' ');
    const auto target_end = line.rfind(' ');
    if (method_end == std::string_view::npos || method_end == target_end) {
      return refuse(400, "The request line is not METHOD TARGET VERSION.");
    }
    const auto method = line.substr(0, method_end);
    const auto target = line.substr(method_end + 1, target_end - method_end - 1);
    if (method.size() > method_bytes_max || !is_token(method)) {
      return refuse(400, "The method is malformed.");
    }
    head_.request.method = method;
    return read_version(line.substr(target_end + 1)) && read_target(target);
  }

  bool read_version(std::string_view version) {
    const bool well_formed = version.size() == 8 && version.substr(0, 5) == "HTTP/" &&
                             is_digit(version[5]) && version[6] == '.' && is_digit(version[7]);
    if (!well_formed) return refuse(400, "The HTTP version is malformed.");
    if (version != "HTTP/1.1" && version != "HTTP/1.0") {
      return refuse(505, "Only HTTP/1.1 and HTTP/1.0 are supported.");
    }
    head_.http_1_0 = version == "HTTP/1.0";
    return true;
  }

  bool read_target(std::string_view target) {
    if (target.size() > limits_.uri_bytes_max) return refuse(414, target_too_long(limits_));
    authority_ = take_authority(target);
    std::string rooted;
    if (authority_ && !target.starts_with('/')) target = rooted = "/" + std::string(target);
    auto parsed = parse_target(target);
    if (auto* wrong = std::get_if<std::string>(&parsed)) return refuse(400, std::move(*wrong));
    auto& [path, match_path, query] = std::get<Target>(parsed);
    head_.request.path = std::move(path);
    head_.request.query = std::move(query);
    head_.match_path = std::move(match_path);
    return true;
  }

  bool read_fields(std::string_view lines) {
    for (auto end = lines.find("\r\n"); end != 0; end = lines.find("\r\n")) {
      if (head_.request.headers.size() == limits_.headers_max) {
        return refuse(
            431, "There are more than " + std::to_string(limits_.headers_max) + " header fields.");
      }
      if (!read_field(lines.substr(0, end))) return false;
      lines.remove_prefix(end + 2);
    }
    return true;
  }

  bool read_field(std::string_view line) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
      return refuse(400, "A header field is malformed.");
    }
    const auto value = trimmed(line.substr(colon + 1));
    if (!is_field_value(value)) return refuse(400, "A header field has control characters.");
    head_.request.headers.emplace_back(lower_case(line.substr(0, colon)), value);
    const auto& [name, kept] = head_.request.headers.back();
    return note_field(name, kept);
  }

  /// Records the fields that the framing depends on, and refuses those that are not supported.
  bool note_field(std::string_view name, std::string_view value) {
    if (name == "host") {
      ++hosts_;
      host_valid_ = is_authority(value);
    } else if (name == "content-length") {
      ++lengths_;
      length_ = value;
    } else if (name == "transfer-encoding") {
      ++encodings_;
      encoding_ = value;
    } else if (name == "content-encoding" && !equal_ignoring_case(value, "identity")) {
      return refuse(415, "Encoded bodies are not supported; send the body without an encoding.");
    } else if (name == "content-type" && lower_case(value.substr(0, 10)) == "multipart/") {
      return refuse(415, "Multipart bodies are not supported.");
    } else if (name == "expect") {
      if (!equal_ignoring_case(value, "100-continue")) {
        return refuse(400, "The only supported expectation is 100-continue.");
      }
      head_.expects_continue = true;
    }
    return true;
  }

  bool check_host() {
    if (hosts_ > 1 || (hosts_ == 0 && !head_.http_1_0)) {
      return refuse(400, "Exactly one Host header field is required.");
    }
    if (!host_valid_) return refuse(400, "The Host header field is malformed.");
    return !authority_ || replace_host();
  }

  /// The host of a target in absolute form replaces that of the Host field.
  bool replace_host() {
    if (!is_authority(*authority_) || authority_->empty() || authority_->starts_with(':')) {
      return refuse(400, "The authority of the request target is malformed.");
    }
    auto& headers = head_.request.headers;
    std::erase_if(headers, [](const auto& field) { return field.first == "host"; });
    headers.emplace_back("host", *authority_);
    return true;
  }

  bool read_framing() {
    if (lengths_ > 1) return refuse(400, "There is more than one Content-Length.");
    if (encodings_ > 0) {
      if (lengths_ > 0)
        return refuse(400, "Content-Length and Transfer-Encoding are mutually exclusive.");
      if (head_.http_1_0) return refuse(400, "HTTP/1.0 has no Transfer-Encoding.");
      if (encodings_ > 1 || !equal_ignoring_case(encoding_, "chunked")) {
        return refuse(400, "The only supported Transfer-Encoding is chunked.");
      }
      head_.body.chunked = true;
    }
    return lengths_ == 0 || read_length();
  }

  bool read_length() {
    if (length_.empty() || !std::all_of(length_.begin(), length_.end(), is_digit)) {
      return refuse(400, "The Content-Length is not a number.");
    }
    const auto* const end = length_.data() + length_.size();
    const auto read = std::from_chars(length_.data(), end, head_.body.length);
    // A number that does not fit 64 bits exceeds every limit, that of a streamed body included.
    return read.ec == std::errc{} || refuse(413, "The body is too large.");
  }

  void read_connection() {
    const auto connection = lower_case(head_.request.header("connection").value_or(""));
    head_.keep_alive = head_.http_1_0 ? has_list_member(connection, "keep-alive")
                                      : !has_list_member(connection, "close");
    if (head_.http_1_0) head_.expects_continue = false;
  }

  const Limits& limits_;
  RequestHead head_;
  Refusal refusal_;
  std::optional<std::string> authority_;  ///< Of a target in absolute form.
  int hosts_ = 0;
  bool host_valid_ = true;
  int lengths_ = 0;
  std::string length_;
  int encodings_ = 0;
  std::string encoding_;
};

}  // namespace

HeadScanner::Result HeadScanner::scan(std::string_view bytes) {
  for (auto line_end = bytes.find('\n', scanned_); line_end != std::string_view::npos;
       line_end = bytes.find('\n', scanned_)) {
    if (line_end == line_start_ || bytes[line_end - 1] != '\r') {
      return {0, {400, "A line does not end with CR LF."}};
    }
    const bool empty = line_end - line_start_ == 1;
    auto refusal = refusal_of_length(line_end + 1);
    if (refusal) return {0, std::move(refusal)};
    request_line_seen_ = true;
    line_start_ = scanned_ = line_end + 1;
    if (empty) return {scanned_, {}};
  }
  scanned_ = bytes.size();
  return {0, refusal_of_length(scanned_)};
}

Refusal HeadScanner::refusal_of_length(std::size_t length) const {
  if (!request_line_seen_ && length > limits_->uri_bytes_max + request_line_rest) {
    return {414, target_too_long(*limits_)};
  }
  if (length > limits_->head_bytes_max) {
    return {431, "The header section is longer than " + std::to_string(limits_->head_bytes_max) +
                     " bytes."};
  }
  return {};
}

std::variant<RequestHead, Refusal> parse_head(std::string_view head, const Limits& limits) {
  return HeadReader(limits).read(head);
}

}  // namespace celld::http
