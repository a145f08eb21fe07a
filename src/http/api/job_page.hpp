// Answers with a page of jobs: a short one at once, a long one in pieces, each made when the client
// has taken the one before. So a client that asks for much and reads nothing takes no more memory
// than one piece.
#pragma once

#include "cells/ports/job_store.hpp"
#include "src/http/server.hpp"

namespace celld::api {

/// What to ask the reader for first, where `page` is wanted.
cells::ListJobs first_piece(cells::ListJobs page);

/// Answers with what the reader said to first_piece(page), and goes on with more if need be. A page
/// that breaks off, because the store fails or celld stops, closes its connection.
void answer_page(caf::actor_system& system, const cells::JobReader& reader,
                 const cells::ListJobs& page, const cells::JobsListed& first,
                 const http::Responder& responder);

}  // namespace celld::api
