// A page of jobs on its way to a client: a short one at once, a long one in pieces, each made when
// the client has taken the one before. So a client that asks for much and reads nothing takes no
// more memory than one piece.
#pragma once

#include <functional>

#include "cells/ports/job_store.hpp"
#include "src/http/server.hpp"

namespace celld::api {

/// For one thread. A page that goes before its end closes its connection, so that the client
/// notices.
class JobPage {
 public:
  JobPage(cells::ListJobs wanted, http::Responder responder);
  ~JobPage();
  JobPage(const JobPage&) = delete;
  JobPage& operator=(const JobPage&) = delete;

  const http::Responder& responder() const { return responder_; }
  /// What to ask the reader for next: once for each piece.
  cells::ListJobs ask_piece();
  /// Sends what the reader said to that. True: it takes another one, once `on_taken` has been
  /// called, on any thread: the client has taken this one, or has gone. It may be called again.
  bool send(const cells::JobsListed& piece, const std::function<void()>& on_taken);
  /// A piece was asked for, and has not come yet.
  bool asked() const { return asked_; }
  /// The client is still there for the rest. Before the first piece: nobody knows.
  bool connected() const { return stream_.connected(); }

 private:
  bool take(const cells::JobsListed& piece);

  cells::ListJobs rest_;
  const http::Responder responder_;
  http::AnswerStream stream_;
  bool asked_ = false;
  bool begun_ = false;  ///< Something of it has been sent.
};

}  // namespace celld::api
