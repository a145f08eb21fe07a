// Logs what a reload has changed, or why it has changed nothing.
#pragma once

#include <string>

#include "src/http/api/reload.hpp"
#include "src/logs/log.hpp"

namespace celld {

/// Where the fault is, for people: its JSON Pointer, or words for the whole document.
std::string place_of(const json::Fault& fault);

/// `config_path`: the file that was read.
void log_reload(logs::Log& log, const std::string& config_path, const api::ReloadOutcome& outcome);

}  // namespace celld
