#include "src/metrics/scraper.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace celld::metrics {
namespace {

using cells::CellKey;
using Time = caf::actor_clock::time_point;

constexpr std::chrono::seconds fresh_min{1};
constexpr std::chrono::seconds fresh_max{60};
constexpr int rest_factor = 10;  ///< A survey stays fresh this many times as long as it took.
constexpr std::chrono::seconds patience{2};
constexpr std::chrono::seconds rank_interval{60};

class ScraperActor : public Scraper::base {
 public:
  ScraperActor(caf::actor_config& config, ScraperOptions options)
      : Scraper::base(config), options_(std::move(options)) {}

  behavior_type make_behavior() override {
    return {
        [this](const Scrape& order) { scrape(order.responder); },
        [this](const AnswerFromBefore& due) {
          if (due.survey == survey_number_ && last_) answer_all();
        },
    };
  }

  void on_exit() override {
    waiting_.clear();
    options_ = {};
  }

 private:
  void scrape(const http::Responder& responder) {
    waiting_.push_back(responder);
    if (last_ && clock().now() < fresh_until_) return answer_all();
    if (surveying_) {
      if (last_ && clock().now() >= started_at_ + patience) answer_all();
      return;
    }
    started_at_ = clock().now();
    surveying_ = true;
    ++survey_number_;
    delayed_send(this, patience, AnswerFromBefore{survey_number_});
    ask_page(std::nullopt);
  }

  void ask_page(std::optional<CellKey> after) {
    request(options_.dispatcher, caf::infinite,
            cells::ListCells{std::move(after), options_.page_cells_max})
        .then([this](const cells::CellsListed& page) { take_page(page); },
              [this](const caf::error&) { finish(); });
  }

  void take_page(const cells::CellsListed& page) {
    for (const auto& status : page.cells) {
      next_.add(status, options_.metrics->tallies());
      const auto found = next_.labelled.find(status.key);
      if (found == next_.labelled.end()) continue;
      if (status.queue.counts[cells::JobState::queued] > 0) {
        without_age_.push_back(status.key);
      } else {
        found->second.oldest_queued_s = 0;
      }
    }
    if (page.more_after) return ask_page(page.more_after);
    request(options_.dispatcher, caf::infinite, cells::ListServices{})
        .then(
            [this](const cells::ServicesListed& listed) {
              next_.add(listed.services);
              ask_ages();
            },
            [this](const caf::error&) { ask_ages(); });
  }

  /// Some at a time, so that other reads need not wait for all of them.
  void ask_ages() {
    if (without_age_.empty()) return finish();
    const auto count = std::min(options_.ages_max, without_age_.size());
    std::vector<CellKey> keys(without_age_.end() - static_cast<std::ptrdiff_t>(count),
                              without_age_.end());
    without_age_.resize(without_age_.size() - count);
    request(options_.reader, caf::infinite, cells::FindOldestQueued{keys})
        .then(
            [this, keys](const cells::OldestQueued& oldest) {
              for (std::size_t i = 0; i < keys.size(); ++i) take_age(keys[i], oldest.places[i]);
              ask_ages();
            },
            [this](const caf::error&) { ask_ages(); });
  }

  void take_age(const CellKey& key, cells::JobId place) {
    const auto age =
        place == 0 ? cells::milliseconds{0} : options_.wall_clock() - cells::time_of(place);
    next_.labelled[key].oldest_queued_s =
        std::chrono::duration<double>(std::max(age, cells::milliseconds{0})).count();
  }

  void finish() {
    surveying_ = false;
    const Time now = clock().now();
    fresh_until_ =
        now + std::clamp<Time::duration>(rest_factor * (now - started_at_), fresh_min, fresh_max);
    last_ = std::exchange(next_, {});
    without_age_.clear();  // Some are left if a page of cells failed.
    answer_all();
    if (ranked_at_ && now - *ranked_at_ < rank_interval) return;
    ranked_at_ = now;
    options_.metrics->tallies().rank();
  }

  void answer_all() {
    if (waiting_.empty()) return;
    http::Response response;
    response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    response.body = options_.metrics->text(*last_, options_.read_daemon());
    for (const auto& responder : std::exchange(waiting_, {})) responder.answer(response);
  }

  ScraperOptions options_;
  std::vector<http::Responder> waiting_;
  bool surveying_ = false;
  std::uint64_t survey_number_ = 0;
  CellSurvey next_;
  std::vector<CellKey> without_age_;
  std::optional<CellSurvey> last_;
  Time started_at_;
  Time fresh_until_;
  std::optional<Time> ranked_at_;
};

}  // namespace

Scraper spawn_scraper(caf::actor_system& system, ScraperOptions options) {
  return system.spawn<ScraperActor, caf::detached>(std::move(options));
}

}  // namespace celld::metrics
