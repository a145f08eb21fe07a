// The part of the configuration that the handlers use.
#pragma once

#include <map>
#include <memory>
#include <string>

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

/// `routing` must be made from the cells of `config`.
std::shared_ptr<const Settings> make_settings(const config::Config& config,
                                              std::shared_ptr<const cells::Routing> routing);

}  // namespace celld::api
