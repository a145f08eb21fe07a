// A page of jobs that is being sent to a client. A short page is sent at once; a long one in
// pieces, each made when the client has taken the previous one. A client that asks for a long page
// and reads nothing costs the memory of one piece.
#pragma once

#include <cstddef>
#include <functional>

#include "cells/ports/job_store.hpp"
#include "src/http/server.hpp"

namespace celld::api {

/// For one thread. Destroying an unfinished page closes its connection, so that the client notices.
class JobPage {
 public:
  /// A piece ends with the job that takes it beyond `piece_bytes_max`, by approximate_bytes.
  JobPage(cells::ListJobs wanted, http::Responder responder,
          std::size_t piece_bytes_max = 192 << 10);
  ~JobPage();
  JobPage(const JobPage&) = delete;
  JobPage& operator=(const JobPage&) = delete;

  const http::Responder& responder() const { return responder_; }
  /// The next request to the reader. Call once for each piece.
  cells::ListJobs ask_piece();
  /// Sends the reader's reply. Returns whether another piece follows. In that case `on_taken` is
  /// called, on any thread and possibly more than once, when the client has taken this piece or has
  /// disconnected; then ask for the next piece.
  bool send(const cells::JobsListed& piece, const std::function<void()>& on_taken);
  /// Whether a piece has been asked for and has not been sent yet.
  bool asked() const { return asked_; }
  /// Whether the client is still connected. Meaningless before the first piece is sent.
  bool connected() const { return stream_.connected(); }

 private:
  bool take(const cells::JobsListed& piece, std::size_t bytes);

  cells::ListJobs rest_;
  const http::Responder responder_;
  const std::size_t piece_bytes_max_;
  http::AnswerStream stream_;
  bool asked_ = false;
  bool begun_ = false;  ///< At least one piece has been sent.
};

}  // namespace celld::api
