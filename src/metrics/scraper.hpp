// The actor that answers GET /metrics.
//
// It asks the engine how the cells stand, one page of cells after the other, so that however many
// there are the engine's other work goes on in between. Scrapes that come meanwhile share the
// answer; so do those within a second after it, or ten times as long as it took. With very many
// cells a scrape does not wait for the end: it gets what was found the time before.
#pragma once

#include <cstdint>
#include <functional>

#include "cells/actors/protocol.hpp"
#include "src/http/server.hpp"
#include "src/metrics/metrics.hpp"

namespace celld::metrics {

struct Scrape {
  http::Responder responder;
};

/// To itself: those who wait since that survey began have waited long enough.
struct AnswerFromBefore {
  std::uint64_t survey = 0;
};

}  // namespace celld::metrics

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::metrics::Scrape)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::metrics::AnswerFromBefore)

namespace celld::metrics {

using Scraper = caf::typed_actor<
    /// Answers when the cells are surveyed.
    caf::reacts_to<Scrape>, caf::reacts_to<AnswerFromBefore>>;

struct ScraperOptions {
  std::shared_ptr<Metrics> metrics;
  cells::CellDispatcher dispatcher;
  cells::JobReader reader;
  std::function<cells::WallTime()> wall_clock;
  std::function<DaemonReading()> read_daemon;
};

/// On a thread of its own, because it renders megabytes and looks at files.
Scraper spawn_scraper(caf::actor_system& system, ScraperOptions options);

}  // namespace celld::metrics
