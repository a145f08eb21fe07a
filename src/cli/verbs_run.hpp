// The functions behind the verbs; the table in verbs.cpp has their flags and help.
#pragma once

#include "src/cli/arguments.hpp"
#include "src/cli/failure.hpp"
#include "src/cli/session.hpp"

namespace celld::cli {

ExitCode submit(Session& session, const Arguments& arguments);

ExitCode job_get(Session& session, const Arguments& arguments);
ExitCode job_list(Session& session, const Arguments& arguments);
ExitCode job_cancel(Session& session, const Arguments& arguments);
ExitCode job_retry(Session& session, const Arguments& arguments);
ExitCode job_wait(Session& session, const Arguments& arguments);
ExitCode job_events(Session& session, const Arguments& arguments);

ExitCode cell_list(Session& session, const Arguments& arguments);
ExitCode cell_get(Session& session, const Arguments& arguments);
ExitCode cell_resize(Session& session, const Arguments& arguments);
ExitCode cell_pause(Session& session, const Arguments& arguments);
ExitCode cell_resume(Session& session, const Arguments& arguments);
ExitCode cell_drain(Session& session, const Arguments& arguments);

ExitCode service_list(Session& session, const Arguments& arguments);

ExitCode reload(Session& session, const Arguments& arguments);
ExitCode backup(Session& session, const Arguments& arguments);
ExitCode config_check(Session& session, const Arguments& arguments);
ExitCode config_show(Session& session, const Arguments& arguments);
ExitCode print_completion_bash(Session& session, const Arguments& arguments);
ExitCode print_completion_zsh(Session& session, const Arguments& arguments);
ExitCode print_completion_fish(Session& session, const Arguments& arguments);

}  // namespace celld::cli
