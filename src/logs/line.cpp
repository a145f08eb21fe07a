#include "src/logs/line.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

#include "src/json/json.hpp"

namespace celld::logs {
namespace {

constexpr std::array<std::string_view, 5> level_names = {"debug", "info", "warning", "error",
                                                         "critical"};

bool is_plain(std::string_view text) {
  constexpr std::string_view marks = "-_.:/*+[]@";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           marks.find(c) != std::string_view::npos;
  });
}

/// The length of a non-ASCII control character (U+0080 to U+009F, which terminals obey) or of a
/// line or paragraph separator (U+2028, U+2029) at the start of `text`; 0 if there is none.
std::size_t control_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  if (byte(0) == 0xC2 && byte(1) >= 0x80 && byte(1) <= 0x9F) return 2;
  if (byte(0) == 0xE2 && byte(1) == 0x80 && (byte(2) == 0xA8 || byte(2) == 0xA9)) return 3;
  return 0;
}

/// Appends a JSON string in which these characters are escaped, too.
void append_quoted(std::string& out, std::string_view text) {
  std::string quoted;
  json::append_quoted(quoted, text);
  for (std::string_view rest = quoted; !rest.empty();) {
    const std::size_t length = control_length(rest);
    if (length != 0) {
      const unsigned last = static_cast<unsigned char>(rest[length - 1]);
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", length == 2 ? last : 0x1F80 + last);
      out += escape.data();
    } else {
      out += rest.front();
    }
    rest.remove_prefix(std::max<std::size_t>(length, 1));
  }
}

/// Appends a message for people, quoted if it could move a terminal's cursor or start another line.
void append_message(std::string& out, std::string_view message) {
  bool harmless = true;
  for (std::size_t i = 0; i < message.size() && harmless; ++i) {
    const auto c = static_cast<unsigned char>(message[i]);
    harmless = c >= ' ' && c != 0x7F && control_length(message.substr(i)) == 0;
  }
  if (harmless) {
    out += message;
  } else {
    append_quoted(out, message);
  }
}

/// In text format, quotes only texts that need it.
void append_text(std::string& out, std::string_view text, Format format) {
  if (format == Format::text && is_plain(text)) {
    out += text;
  } else {
    append_quoted(out, text);
  }
}

std::string format_time(std::int64_t milliseconds) {
  const std::time_t seconds = milliseconds / 1000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 40> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::array<char, 8> fraction{};
  std::snprintf(fraction.data(), fraction.size(), ".%03dZ", static_cast<int>(milliseconds % 1000));
  return std::string(text.data(), length) + fraction.data();
}

}  // namespace

std::string_view to_string(Level level) {
  return level_names[static_cast<std::size_t>(level)];
}

std::optional<Level> parse_level(std::string_view name) {
  const auto* const found = std::find(level_names.begin(), level_names.end(), name);
  if (found == level_names.end()) return std::nullopt;
  return static_cast<Level>(found - level_names.begin());
}

std::optional<Format> parse_format(std::string_view name) {
  if (name == "text") return Format::text;
  if (name == "json") return Format::json;
  return std::nullopt;
}

Line& Line::text(std::string_view name, std::string_view value) {
  fields_.emplace_back(name, std::string(value));
  return *this;
}

Line& Line::number(std::string_view name, std::uint64_t value) {
  fields_.emplace_back(name, value);
  return *this;
}

Line& Line::flag(std::string_view name) {
  fields_.emplace_back(name, true);
  return *this;
}

std::string render(const Line& line, Format format) {
  const bool is_json = format == Format::json;
  std::string out;
  if (is_json) {
    out += "\"message\":";
    append_quoted(out, line.message_);
  } else {
    append_message(out, line.message_);
  }
  for (const auto& [name, value] : line.fields_) {
    out += is_json ? ",\"" : " ";
    out += name;
    out += is_json ? "\":" : "=";
    if (const auto* text = std::get_if<std::string>(&value)) {
      append_text(out, *text, format);
    } else if (const auto* number = std::get_if<std::uint64_t>(&value)) {
      out += std::to_string(*number);
    } else {
      out += "true";
    }
  }
  return out;
}

std::string finish(std::int64_t milliseconds, Level level, std::string_view rendered,
                   Format format) {
  std::string out;
  if (format == Format::json) {
    out += "{\"time\":\"";
    out += format_time(milliseconds);
    out += "\",\"level\":\"";
    out += to_string(level);
    out += "\",";
    out += rendered;
    out += "}\n";
  } else {
    out += format_time(milliseconds);
    out += ' ';
    out += to_string(level);
    out += ' ';
    out += rendered;
    out += '\n';
  }
  return out;
}

}  // namespace celld::logs
