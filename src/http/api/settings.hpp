// The part of the configuration that the handlers use.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/config/config.hpp"
#include "src/http/api/access.hpp"
#include "src/http/api/live.hpp"
#include "src/http/api/submission.hpp"

namespace celld::api {

struct Settings {
  SubmissionRules rules;
  AccessControl access;
  std::map<std::string, std::string> service_types;  ///< By name.
  std::string shown;                                 ///< The body of GET /v1/admin/config.
};
using LiveSettings = Live<Settings>;

/// SubmissionRules::can_undo for these services.
std::function<bool(const std::string& service, const std::string& action)> undos_of(
    const std::vector<config::Service>& services);

/// `routing` must be made from the cells of `config`.
std::shared_ptr<const Settings> make_settings(const config::Config& config,
                                              std::shared_ptr<const cells::Routing> routing);

}  // namespace celld::api
