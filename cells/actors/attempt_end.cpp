#include "cells/actors/attempt_end.hpp"

#include <string>
#include <utility>

namespace cells {
namespace {

/// So that a shortage does not make celld run through the queues for a service with limits or a
/// circuit.
constexpr milliseconds pause_of_shortage{1000};

AttemptEnd::Kind kind_of(CallOutcome::Kind kind, bool has_circuit) {
  switch (kind) {
    case CallOutcome::Kind::succeeded:
      return AttemptEnd::Kind::succeeded;
    case CallOutcome::Kind::rejected:
      return AttemptEnd::Kind::rejected;
    case CallOutcome::Kind::retryable:
      return AttemptEnd::Kind::retryable;
    case CallOutcome::Kind::throttled:
    case CallOutcome::Kind::unable:
      return AttemptEnd::Kind::throttled;
    case CallOutcome::Kind::unauthorized:
      return has_circuit ? AttemptEnd::Kind::throttled : AttemptEnd::Kind::retryable;
    case CallOutcome::Kind::pending:
      return AttemptEnd::Kind::pending;
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
      end.message =
          "the attempt was cut short by a crash, " + std::to_string(interruptions_max) + " times";
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

AttemptEnd attempt_end(CallOutcome outcome, AbortCause cause, const JobSpec& spec,
                       bool has_circuit) {
  if (outcome.kind == CallOutcome::Kind::aborted) return aborted(cause, spec);
  AttemptEnd end;
  end.kind = kind_of(outcome.kind, has_circuit);
  end.code = std::move(outcome.code);
  end.message = std::move(outcome.message);
  end.properties = std::move(outcome.properties);
  end.messages = std::move(outcome.messages);
  end.retry_after = outcome.retry_after;
  end.operation = std::move(outcome.operation);
  end.in_doubt = outcome.in_doubt;
  return end;
}

ProviderSign sign_of(const CallOutcome& outcome, AbortCause cause) {
  ProviderSign sign;
  switch (outcome.kind) {
    case CallOutcome::Kind::succeeded:
    case CallOutcome::Kind::rejected:
    case CallOutcome::Kind::pending:
      sign.call = CallSign::alive;
      return sign;
    case CallOutcome::Kind::unauthorized:
      sign.call = CallSign::refusing;
      break;
    case CallOutcome::Kind::throttled:
      // A provider that does not say how long to wait is protected by the circuit.
      if (!outcome.pauses_service) sign.call = CallSign::failing;
      break;
    case CallOutcome::Kind::retryable:
    case CallOutcome::Kind::unknown:
      sign.call = CallSign::failing;
      break;
    case CallOutcome::Kind::unable:
      sign.pause = pause_of_shortage;
      return sign;
    case CallOutcome::Kind::aborted:
      if (cause != AbortCause::timeout) return sign;
      sign.call = CallSign::failing;
      sign.what = "a call did not end in time";
      return sign;
  }
  sign.what = outcome.message;
  if (outcome.pauses_service) sign.pause = outcome.retry_after;
  return sign;
}

}  // namespace cells
