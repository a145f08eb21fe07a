#include "src/http/api/job_page.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "src/http/api/job_json.hpp"

namespace celld::api {
namespace {

constexpr std::size_t piece_bytes_max = 128 << 10;

}  // namespace

JobPage::JobPage(cells::ListJobs wanted, http::Responder responder)
    : rest_(std::move(wanted)), responder_(std::move(responder)) {}

JobPage::~JobPage() {
  if (stream_.connected()) stream_.break_off();
}

cells::ListJobs JobPage::ask_piece() {
  asked_ = true;
  cells::ListJobs piece = rest_;
  piece.bytes_max = std::min(piece.bytes_max, piece_bytes_max);
  return piece;
}

bool JobPage::send(const cells::JobsListed& piece, const std::function<void()>& on_taken) {
  asked_ = false;
  const bool more = take(piece);
  http::Response response;
  std::string& text = response.body;
  if (!begun_) text = job_list_head();
  append_job_items(text, piece.jobs, begun_);
  if (!more) append_job_list_tail(text, piece.next);
  if (begun_) {
    if (!stream_.write(text)) return false;
    if (!more) stream_.end();
    return more;
  }
  begun_ = true;
  if (!more) {
    responder_.answer(std::move(response));
    return false;
  }
  http::StreamTerms terms;
  terms.on_taken = [on_taken](std::uint64_t) { on_taken(); };
  stream_ = responder_.begin_stream(response, std::move(terms));
  return stream_.connected();
}

/// Takes a piece off what is wanted; true: there is more to come.
bool JobPage::take(const cells::JobsListed& piece) {
  std::size_t bytes = 0;
  for (const auto& job : piece.jobs) bytes += approximate_bytes(*job);
  const bool room = piece.jobs.size() < rest_.limit && bytes <= rest_.bytes_max;
  rest_.before = piece.next;
  rest_.limit -= std::min(rest_.limit, piece.jobs.size());
  rest_.bytes_max -= std::min(rest_.bytes_max, bytes);
  return room && piece.full && piece.next != 0;
}

}  // namespace celld::api
