#include "src/http/api/job_page.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "src/http/api/job_json.hpp"

namespace celld::api {

/// The client has taken all that was written, or has gone.
struct PieceTaken {};

}  // namespace celld::api

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::PieceTaken)

namespace celld::api {
namespace {

constexpr std::size_t piece_bytes_max = 128 << 10;

/// What is still wanted of a page, as pieces of it come.
class Rest {
 public:
  explicit Rest(cells::ListJobs page) : page_(std::move(page)) {}

  cells::ListJobs next_piece() const {
    cells::ListJobs piece = page_;
    piece.bytes_max = std::min(piece.bytes_max, piece_bytes_max);
    return piece;
  }

  /// Takes a piece off; true: there is more to come.
  bool take(const cells::JobsListed& piece) {
    std::size_t bytes = 0;
    for (const auto& job : piece.jobs) bytes += approximate_bytes(*job);
    const bool room = piece.jobs.size() < page_.limit && bytes <= page_.bytes_max;
    page_.before = piece.next;
    page_.limit -= std::min(page_.limit, piece.jobs.size());
    page_.bytes_max -= std::min(page_.bytes_max, bytes);
    return room && piece.full && piece.next != 0;
  }

 private:
  cells::ListJobs page_;
};

using PageSender = caf::typed_actor<caf::reacts_to<PieceTaken>>;

/// Lives as long as its stream, which tells it when its client has gone.
class PageSenderActor final : public PageSender::base {
 public:
  PageSenderActor(caf::actor_config& config, cells::JobReader reader, Rest rest,
                  const std::string& first, const http::Responder& responder)
      : PageSender::base(config), reader_(std::move(reader)), rest_(std::move(rest)) {
    http::Response head;
    head.body = first;
    http::StreamTerms terms;
    terms.on_taken = [self = PageSender{this}](std::uint64_t) {
      caf::anon_send(self, PieceTaken{});
    };
    stream_ = responder.begin_stream(head, std::move(terms));
  }

  behavior_type make_behavior() override {
    if (!stream_.connected()) quit();
    return {[this](PieceTaken) { go_on(); }};
  }

  void on_exit() override {
    if (stream_.connected()) stream_.break_off();
    stream_ = {};
    reader_ = nullptr;
  }

 private:
  void go_on() {
    if (!stream_.connected()) return quit();
    if (std::exchange(asked_, true)) return;
    request(reader_, caf::infinite, rest_.next_piece())
        .then([this](const cells::JobsListed& piece) { send_piece(piece); },
              [this](const caf::error&) { quit(); });
  }

  void send_piece(const cells::JobsListed& piece) {
    asked_ = false;
    const bool more = rest_.take(piece);
    std::string text;
    append_job_items(text, piece.jobs, true);
    if (!more) append_job_list_tail(text, piece.next);
    if (!stream_.write(text)) return quit();
    if (more) return;
    stream_.end();
    quit();
  }

  cells::JobReader reader_;
  Rest rest_;
  http::AnswerStream stream_;
  bool asked_ = false;
};

}  // namespace

cells::ListJobs first_piece(cells::ListJobs page) {
  return Rest{std::move(page)}.next_piece();
}

void answer_page(caf::actor_system& system, const cells::JobReader& reader,
                 const cells::ListJobs& page, const cells::JobsListed& first,
                 const http::Responder& responder) {
  Rest rest{page};
  if (rest.take(first)) {
    std::string text = job_list_head();
    append_job_items(text, first.jobs, false);
    system.spawn<PageSenderActor>(reader, std::move(rest), text, responder);
    return;
  }
  http::Response response;
  response.body = job_list_json(first.jobs, first.next);
  responder.answer(std::move(response));
}

}  // namespace celld::api
