#include "src/http/api/job_page.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/http/api/job_json.hpp"

namespace celld::api {
namespace {

/// Reserved per piece for the response head and chunk framing. A text that outgrows its reservation
/// would be moved to a buffer of twice the size; the JSON of a job is usually shorter than its
/// memory.
constexpr std::size_t head_bytes = 1024;

std::size_t approximate_bytes(const std::vector<cells::JobPtr>& jobs) {
  std::size_t bytes = 0;
  for (const auto& job : jobs) bytes += cells::approximate_bytes(*job);
  return bytes;
}

}  // namespace

JobPage::JobPage(cells::ListJobs wanted, http::Responder responder, std::size_t piece_bytes_max)
    : rest_(std::move(wanted)),
      responder_(std::move(responder)),
      piece_bytes_max_(piece_bytes_max) {}

JobPage::~JobPage() {
  if (stream_.connected()) stream_.break_off();
}

cells::ListJobs JobPage::ask_piece() {
  asked_ = true;
  cells::ListJobs piece = rest_;
  piece.bytes_max = std::min(piece.bytes_max, piece_bytes_max_);
  return piece;
}

bool JobPage::send(const cells::JobsListed& piece, const std::function<void()>& on_taken) {
  asked_ = false;
  http::Response response;
  std::string& text = response.body;
  text.reserve(approximate_bytes(piece.jobs) + head_bytes);
  if (!begun_) text += job_list_head();
  const std::size_t items_begin = text.size();
  append_job_items(text, piece.jobs, begun_);
  const bool more = take(piece, text.size() - items_begin);
  if (!more) append_job_list_tail(text, piece.next);
  if (begun_) {
    if (!stream_.write(std::move(text))) return false;
    if (!more) stream_.end();
    return more;
  }
  begun_ = true;
  if (!more) {
    responder_.answer(std::move(response));
    return false;
  }
  http::StreamOptions options;
  options.on_taken = [on_taken](std::uint64_t) { on_taken(); };
  stream_ = responder_.begin_stream(std::move(response), std::move(options));
  return stream_.connected();
}

/// Subtracts a piece, which is `bytes` of text, from the rest of the page. Returns whether more is
/// to come.
bool JobPage::take(const cells::JobsListed& piece, std::size_t bytes) {
  const bool room = piece.jobs.size() < rest_.limit && bytes <= rest_.bytes_max;
  rest_.before = piece.next;
  rest_.limit -= std::min(rest_.limit, piece.jobs.size());
  rest_.bytes_max -= std::min(rest_.bytes_max, bytes);
  return room && piece.full && piece.next != 0;
}

}  // namespace celld::api
