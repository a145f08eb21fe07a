// Writes and reads the parts of a job that are stored as JSON text. The writer is hand-written for
// speed, because every commit runs it. JSON keeps the columns readable with `sqlite3 -readonly`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cells/model/job.hpp"

namespace celld::store {

// Each returns empty text for the value of a new job; the column is then NULL.

std::string services_text(const std::vector<std::string>& services);
std::string labels_text(const std::map<std::string, std::string>& labels);
std::string steps_text(const std::vector<cells::Step>& steps);
std::string messages_text(const std::vector<cells::Message>& messages);
std::string error_text(const std::optional<cells::JobError>& error);
/// Copies the values verbatim, so that they are read back byte for byte.
std::string properties_text(const cells::Properties& properties);

// The inverse of each; empty text stands for the value of a new job. They throw SqliteFailure for
// text that the functions above cannot have written.

std::vector<std::string> read_services(std::string_view text);
std::map<std::string, std::string> read_labels(std::string_view text);
/// Empty text stands for `count` waiting steps.
std::vector<cells::Step> read_steps(std::string_view text, std::size_t count);
std::vector<cells::Message> read_messages(std::string_view text);
std::optional<cells::JobError> read_error(std::string_view text);
cells::Properties read_properties(std::string_view text);

}  // namespace celld::store
