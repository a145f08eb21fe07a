// The line protocol on the standard error of a worker's command.
#pragma once

#include <string>
#include <string_view>
#include <variant>

namespace celld::cli {

/// `progress 0.4` or `progress 40%`: the share of the work that is done, from 0 to 1.
struct ProgressLine {
  double share = 0;
  bool operator==(const ProgressLine&) const = default;
};

/// `message TEXT`: appears in the job while the command runs.
struct MessageLine {
  std::string text;
  bool operator==(const MessageLine&) const = default;
};

/// Any other line. It becomes a message of the job when the command ends.
struct OtherLine {
  bool operator==(const OtherLine&) const = default;
};

using WorkLine = std::variant<OtherLine, ProgressLine, MessageLine>;

/// `line` has no line end. A line that only resembles the protocol, such as `progress 140%`, is an
/// OtherLine, so that no text is lost.
WorkLine parse_work_line(std::string_view line);

}  // namespace celld::cli
