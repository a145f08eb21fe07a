// The layout of the help pages. Every page fits on one screen.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace celld::cli {

/// Begins the example in the footer of a verb.
inline constexpr const char* example_title = "Example:\n  ";

class HelpPage : public CLI::Formatter {
 public:
  HelpPage();

  std::string make_usage(const CLI::App* app, std::string name) const override;
  /// All verbs with their nouns.
  std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode mode) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_footer(const CLI::App* app) const override;
};

}  // namespace celld::cli
