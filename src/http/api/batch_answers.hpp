// What clients of /v1/batches receive: why a batch is refused or ends early, and the responses.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "cells/ports/job_store.hpp"
#include "src/http/api/problem.hpp"

namespace celld::api {

Problem no_such_batch();
/// celld is reading `limit` batches already.
Problem too_many_batches(std::size_t limit);
/// celld is shutting down and begins no batch.
Problem shutdown_refuses_batch();

// --- Why a batch ends early ------------------------------------------------------------------

/// The client sent no lines for too long while other batches waited to be read.
Problem sender_too_slow();
/// The client sent nothing for longer than a pause within a body may last.
Problem sender_paused();
Problem batch_is_cancelled();
/// celld is shutting down.
Problem shutdown_ends_batch();
/// A line was refused, and may be accepted later.
Problem refusal_ends_batch(const cells::Refusal& refusal);

// --- Responses -------------------------------------------------------------------------------

http::Response batch_response(const cells::Batch& batch);
http::Response batch_list_response(const cells::BatchesListed& page);
/// 202: the jobs of the batch are going to be cancelled.
http::Response cancelling_response(const cells::Batch& batch);
/// `report`: a batch_report_json. 200 if the jobs have ended while the client waited, or else 202.
http::Response report_response(cells::BatchId id, std::string report, bool end_seen);

/// `Preference-Applied`, to a client that sent `Prefer: wait`. `wait`: what celld granted.
void add_preference(http::Response& response, std::chrono::seconds wait);
/// `Retry-After` in whole seconds, at least 1.
void add_retry_after(http::Response& response, std::chrono::milliseconds after);

}  // namespace celld::api
