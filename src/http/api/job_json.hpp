// Jobs as the API shows them.
#pragma once

#include <string>
#include <vector>

#include "cells/model/job.hpp"

namespace celld::api {

/// Appends the job as a JSON object. Hand-written for speed: every submission renders a job.
void append_job(std::string& out, const cells::Job& job);
std::string job_json(const cells::Job& job);

/// A page of jobs; `next` as in cells::JobsListed.
std::string job_list_json(const std::vector<cells::JobPtr>& jobs, cells::JobId next);

// The same in pieces: the head, any number of items (`later` is false for the first), the tail.
std::string job_list_head();
void append_job_items(std::string& out, const std::vector<cells::JobPtr>& jobs, bool later);
void append_job_list_tail(std::string& out, cells::JobId next);

}  // namespace celld::api
