#include "cells/actors/attempt_end.hpp"

#include <string>
#include <utility>

namespace cells {
namespace {

AttemptEnd::Kind kind_of(CallOutcome::Kind kind) {
  switch (kind) {
    case CallOutcome::Kind::succeeded:
      return AttemptEnd::Kind::succeeded;
    case CallOutcome::Kind::rejected:
      return AttemptEnd::Kind::rejected;
    case CallOutcome::Kind::retryable:
      return AttemptEnd::Kind::retryable;
    case CallOutcome::Kind::throttled:
      return AttemptEnd::Kind::throttled;
    case CallOutcome::Kind::unknown:
    case CallOutcome::Kind::aborted:
      break;
  }
  return AttemptEnd::Kind::unknown;
}

AttemptEnd aborted(AbortCause cause, const JobSpec& spec) {
  AttemptEnd end;
  switch (cause) {
    case AbortCause::timeout:
      end.kind = AttemptEnd::Kind::unknown;
      end.code = "timeout";
      end.message =
          "the attempt had not ended after " + std::to_string(spec.timeout.count()) + " ms";
      break;
    case AbortCause::expiry:
      end.kind = AttemptEnd::Kind::expired;
      end.code = "expired";
      end.message = "the job expired before it ended";
      break;
    case AbortCause::cancel:
      end.kind = AttemptEnd::Kind::cancelled;
      end.code = "cancelled";
      end.message = "the job was cancelled";
      break;
    case AbortCause::hand_back:
      end.kind = AttemptEnd::Kind::handed_back;
      break;
    case AbortCause::worker_lost:
      end.kind = AttemptEnd::Kind::interrupted;
      end.code = "interrupted";
      end.message = "the attempt was cut short by a crash, " + std::to_string(interruptions_max) +
                    " times in a row";
      break;
    case AbortCause::none:
      end.kind = AttemptEnd::Kind::unknown;
      end.code = "communications_error";
      end.message = "the call ended without an answer";
      break;
  }
  return end;
}

}  // namespace

AbortCause cause_of(const CallOutcome& outcome, AbortCause asked) {
  const bool timed_out = outcome.kind == CallOutcome::Kind::unknown && outcome.code == "timeout";
  return timed_out && asked == AbortCause::none ? AbortCause::timeout : asked;
}

AttemptEnd attempt_end(CallOutcome outcome, AbortCause cause, const JobSpec& spec) {
  if (outcome.kind == CallOutcome::Kind::aborted) return aborted(cause, spec);
  AttemptEnd end;
  end.kind = kind_of(outcome.kind);
  end.code = std::move(outcome.code);
  end.message = std::move(outcome.message);
  end.properties = std::move(outcome.properties);
  end.messages = std::move(outcome.messages);
  end.retry_after = outcome.retry_after;
  return end;
}

}  // namespace cells
