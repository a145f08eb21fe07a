// Batches as the API shows them.
#pragma once

#include <string>

#include "cells/ports/job_store.hpp"
#include "src/http/api/batch_tally.hpp"

namespace celld::api {

std::string batch_json(const cells::Batch& batch);
std::string batch_list_json(const cells::BatchesListed& page);

/// The answer to POST /v1/batches.
std::string batch_report_json(cells::BatchId id, const BatchTally& tally);

}  // namespace celld::api
