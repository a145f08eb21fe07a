// The actor that answers GET /metrics.
//
// It surveys the cells, and then the services, through the engine, one page of cells at a time, so
// that the engine's other work continues in between, however many cells there are. Scrapes that
// arrive meanwhile share the result; so do those within one second after it, or within ten times as
// long as the survey took (at most a minute). Once there is a result, a scrape waits at most two
// seconds for the next survey, and then gets the previous result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "cells/actors/protocol.hpp"
#include "src/http/server.hpp"
#include "src/metrics/metrics.hpp"

namespace celld::metrics {

struct Scrape {
  http::Responder responder;
};

/// To itself: scrapes that wait for this survey have waited long enough.
struct AnswerFromBefore {
  std::uint64_t survey = 0;
};

}  // namespace celld::metrics

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::metrics::Scrape)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::metrics::AnswerFromBefore)

namespace celld::metrics {

using Scraper = caf::typed_actor<
    /// Answers once the cells are surveyed.
    caf::reacts_to<Scrape>, caf::reacts_to<AnswerFromBefore>>;

struct ScraperOptions {
  std::shared_ptr<Metrics> metrics;
  cells::CellDispatcher dispatcher;
  cells::JobReader reader;
  std::function<cells::WallTime()> wall_clock;
  std::function<DaemonReading()> read_daemon;
  std::size_t page_cells_max = 100;  ///< Surveyed at a time.
  std::size_t ages_max = 256;        ///< Ages of oldest jobs that are read at a time.
};

/// On a thread of its own, because it renders megabytes and reads files.
Scraper spawn_scraper(caf::actor_system& system, ScraperOptions options);

}  // namespace celld::metrics
