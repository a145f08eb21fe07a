// The parts of a job that are kept as JSON text: how they are written, and how they are read again.
// Written by hand, since this is on the way of every commit; readable with `sqlite3 -readonly`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cells/model/job.hpp"

namespace celld::store {

// Each is empty for the value that a new job has, which is kept as NULL.

std::string services_text(const std::vector<std::string>& services);
std::string labels_text(const std::map<std::string, std::string>& labels);
std::string steps_text(const std::vector<cells::Step>& steps);
std::string messages_text(const std::vector<cells::Message>& messages);
std::string error_text(const std::optional<cells::JobError>& error);
/// The values are put in as they are, so that they come back unchanged to the byte.
std::string properties_text(const cells::Properties& properties);

// The inverse of each; empty text is the value of a new job. They throw SqliteFailure when the text
// is not of the form that the functions above write.

std::vector<std::string> read_services(std::string_view text);
std::map<std::string, std::string> read_labels(std::string_view text);
/// `count` waiting steps for an empty text.
std::vector<cells::Step> read_steps(std::string_view text, std::size_t count);
std::vector<cells::Message> read_messages(std::string_view text);
std::optional<cells::JobError> read_error(std::string_view text);
cells::Properties read_properties(std::string_view text);

}  // namespace celld::store
