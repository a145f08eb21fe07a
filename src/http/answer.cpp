#include "src/http/answer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <string_view>
#include <utility>

#include "src/http/text.hpp"

namespace celld::http {
namespace {

std::string_view reason_of(int status) {
  static constexpr std::array<std::pair<int, std::string_view>, 33> reasons{{
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {204, "No Content"},
      {206, "Partial Content"},
      {301, "Moved Permanently"},
      {302, "Found"},
      {303, "See Other"},
      {304, "Not Modified"},
      {307, "Temporary Redirect"},
      {308, "Permanent Redirect"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {406, "Not Acceptable"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {410, "Gone"},
      {411, "Length Required"},
      {412, "Precondition Failed"},
      {413, "Content Too Large"},
      {414, "URI Too Long"},
      {415, "Unsupported Media Type"},
      {422, "Unprocessable Content"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {502, "Bad Gateway"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
      {505, "HTTP Version Not Supported"},
  }};
  const auto found = std::find_if(reasons.begin(), reasons.end(),
                                  [&](const auto& reason) { return reason.first == status; });
  return found == reasons.end() ? "Unknown" : found->second;
}

bool is_framing_field(std::string_view name) {
  return equal_ignoring_case(name, "content-length") ||
         equal_ignoring_case(name, "transfer-encoding") || equal_ignoring_case(name, "connection");
}

/// The current time for a `Date` field (RFC 9110, section 5.6.7). The process never leaves the "C"
/// locale, so the names are English.
std::string_view date() {
  thread_local std::time_t second = -1;
  thread_local std::array<char, 40> text{};
  thread_local std::size_t length = 0;
  const std::time_t now = std::time(nullptr);
  if (now != second) {
    second = now;
    std::tm parts{};
    gmtime_r(&now, &parts);
    length = std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  }
  return {text.data(), length};
}

void append_field(std::string& message, std::string_view name, std::string_view value) {
  message.append(name).append(": ");
  for (const char c : value) message += is_field_char(c) ? c : ' ';
  message.append("\r\n");
}

int status_of(const Response& response) {
  return response.status >= 200 && response.status <= 599 ? response.status : 500;
}

bool is_bodyless(int status) {
  return status == 204 || status == 304;
}

void append_first_lines(std::string& message, int status) {
  message.append("HTTP/1.1 ").append(std::to_string(status)).append(" ");
  message.append(reason_of(status)).append("\r\nDate: ").append(date()).append("\r\n");
}

/// Appends the fields that do not depend on the framing of the body, and the end of the head.
void append_other_fields(std::string& message, const Response& response, const AnswerForm& form) {
  for (const auto& [name, value] : response.headers) {
    if (is_token(name) && !is_framing_field(name)) append_field(message, name, value);
  }
  if (!form.keep_alive) {
    message.append("Connection: close\r\n");
  } else if (form.http_1_0) {
    message.append("Connection: keep-alive\r\n");
  }
  message.append("\r\n");
}

void append_content_type(std::string& message, const Response& response) {
  if (!response.content_type.empty()) append_field(message, "Content-Type", response.content_type);
}

}  // namespace

bool has_body(const Response& response, const AnswerForm& form) {
  return !is_bodyless(status_of(response)) && !form.head_only;
}

std::string serialise(const Response& response, const AnswerForm& form) {
  const int status = status_of(response);
  const bool with_body = has_body(response, form);

  std::string message;
  message.reserve(192 + (with_body ? response.body.size() : 0));
  append_first_lines(message, status);
  if (!is_bodyless(status)) {
    append_content_type(message, response);
    append_field(message, "Content-Length", std::to_string(response.body.size()));
  }
  append_other_fields(message, response, form);
  if (with_body) message.append(response.body);
  return message;
}

std::string serialise_stream_head(const Response& response, const AnswerForm& form,
                                  std::optional<std::uint64_t> length) {
  const int status = status_of(response);
  std::string message;
  append_first_lines(message, status);
  if (!is_bodyless(status)) {
    append_content_type(message, response);
    if (length) {
      append_field(message, "Content-Length", std::to_string(*length));
    } else if (!form.http_1_0) {
      message.append("Transfer-Encoding: chunked\r\n");
    }
  }
  append_other_fields(message, response, form);
  return message;
}

void make_chunk(std::string& data) {
  std::array<char, 16> digits{};
  auto* const end =
      std::to_chars(digits.data(), digits.data() + digits.size(), data.size(), 16).ptr;
  data.insert(0, std::string(digits.data(), end) + "\r\n").append("\r\n");
}

}  // namespace celld::http
