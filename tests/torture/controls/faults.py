#!/usr/bin/env python3
"""Faults of a whole celld. Most test the suites that measure celld: attack, hostile, storms, soak.
One brings celld to a limit that clients would take long to reach.

With CELLD_PLANTED_BUGS, the build compiles changed copies of some sources into one program,
celld_faulty. It behaves like celld, except for the faults that the environment variable CELLD_FAULT
names, separated by commas. A suite that does not report a celld with such a fault proves nothing.
celld's own sources contain nothing of this.

  faults.py list                      prints the changed sources, one per line
  faults.py plant SOURCE ROOT OUTPUT  writes the changed copy of ROOT's SOURCE to OUTPUT
  faults.py table                     prints the faults as a table for the documentation
"""

import dataclasses
import pathlib
import sys

FAULT_HEADER = '#include "tests/torture/controls/fault.hpp"\n'


@dataclasses.dataclass(frozen=True)
class Fault:
    name: str
    mistake: str  # Empty: part of the fault before it.
    source: str
    before: str  # Text in the source that occurs once.
    after: str


FAULTS = (
    Fault(
        "phantom_line",
        "a batch acknowledges one line in fifty that it has not committed",
        "src/http/api/batch_desk.cpp",
        "    unanswered_bytes_ += bytes;\n",
        "    unanswered_bytes_ += bytes;\n"
        '    if (fault::is_on("phantom_line") && number % 50 == 49)\n'
        "      return note_outcome(id, number, bytes, Outcome::accepted);\n",
    ),
    Fault(
        "leaked_request",
        "each request of a client leaks 128 KiB",
        "src/http/request_task.cpp",
        "  const auto exchange = std::move(exchange_);\n",
        "  const auto exchange = std::move(exchange_);\n"
        '  if (fault::is_on("leaked_request")) fault::leak(128 << 10);\n',
    ),
    Fault(
        "leaked_call",
        "each call to a provider leaks 4 MiB",
        "src/providers/http/call.cpp",
        "  ended_(std::move(result_));\n",
        '  if (fault::is_on("leaked_call")) fault::leak(4 << 20);\n'
        "  ended_(std::move(result_));\n",
    ),
    Fault(
        "leaked_job",
        "each job leaks 64 KiB when it ends",
        "cells/actors/job_dispatcher_time.cpp",
        "  finished_rate_.count(at.steady);\n",
        "  finished_rate_.count(at.steady);\n"
        '  if (celld::fault::is_on("leaked_job")) celld::fault::leak(64 << 10);\n',
    ),
    Fault(
        "lost_descriptor",
        "one in a hundred connections of clients leaves a descriptor behind",
        "src/http/socket.cpp",
        "  tls_.reset();\n  fd_.reset();\n",
        "  static std::atomic<unsigned> closed{0};\n"
        # Not that of the connection: epoll would report it, with a pointer to what is gone.
        '  if (fault::strikes("lost_descriptor", closed, 100)) {\n'
        "    [[maybe_unused]] const int lost = ::socket(AF_INET, SOCK_STREAM, 0);\n"
        "  }\n"
        "  tls_.reset();\n  fd_.reset();\n",
    ),
    Fault(
        "lost_call_descriptor",
        "every other connection to a provider keeps its descriptor",
        "src/providers/http/shard.cpp",
        "  ::shutdown(socket, SHUT_RDWR);\n",
        "  ::shutdown(socket, SHUT_RDWR);\n"
        "  static std::atomic<unsigned> closed{0};\n"
        '  if (fault::strikes("lost_call_descriptor", closed, 2)) {\n'
        "    [[maybe_unused]] const int lost = ::dup(socket);\n"
        "  }\n",
    ),
    Fault(
        "kept_permit",
        "one in three attempts at a protected service keeps its permit",
        "cells/actors/permit_desk.cpp",
        "  guard_.release(message.lease);\n",
        "  static std::atomic<unsigned> ended{0};\n"
        '  if (!celld::fault::strikes("kept_permit", ended, 3)) guard_.release(message.lease);\n',
    ),
    Fault(
        "stalled_poller",
        "the thread that serves all clients stalls for 500 ms each second",
        "src/http/poller.cpp",
        "    wait_for_events();\n",
        '    wait_for_events();\n    fault::stall_now_and_then("stalled_poller");\n',
    ),
    Fault(
        "stalled_engine",
        "each of the engine's threads stalls for 500 ms each second",
        "cells/actors/job_dispatcher_time.cpp",
        "  turned_away_.job_ended();\n",
        "  turned_away_.job_ended();\n"
        '  celld::fault::stall_now_and_then("stalled_engine");\n',
    ),
    Fault(
        "hung_engine",
        "after the start, the cell dispatcher never answers a request to list cells",
        "cells/actors/cell_dispatcher_cells.cpp",
        "caf::result<CellsListed> CellDispatcherActor::list(const ListCells& message) {\n",
        "caf::result<CellsListed> CellDispatcherActor::list(const ListCells& message) {\n"
        "  static std::atomic<unsigned> asked{0};\n"
        '  if (celld::fault::is_on("hung_engine") && ++asked > 1)\n'
        "    return make_response_promise<CellsListed>();\n",
    ),
    Fault(
        "hung_server",
        "the HTTP server hangs as soon as a client connects",
        "src/http/poller.cpp",
        "void Poller::accept_clients() {\n",
        "void Poller::accept_clients() {\n"
        '  while (fault::is_on("hung_server")) fault::stall();\n',
    ),
    Fault(
        "dead_dispatcher",
        "after the start, the cell dispatcher ends when it is asked to list cells",
        "cells/actors/cell_dispatcher_cells.cpp",
        "caf::result<CellsListed> CellDispatcherActor::list(const ListCells& message) {\n",
        "caf::result<CellsListed> CellDispatcherActor::list(const ListCells& message) {\n"
        "  static std::atomic<unsigned> lists{0};\n"
        '  if (celld::fault::is_on("dead_dispatcher") && ++lists > 1)\n'
        '    quit(caf::make_error(caf::sec::runtime_error, "a fault"));\n',
    ),
    Fault(
        "dead_schedule_desk",
        "the schedule desk ends when it is asked to list schedules",
        "cells/actors/schedule_desk.cpp",
        "        [this](const ListSchedules& question) { return list(question); },\n",
        "        [this](const ListSchedules& question) {\n"
        '          if (celld::fault::is_on("dead_schedule_desk"))\n'
        '            quit(caf::make_error(caf::sec::runtime_error, "a fault"));\n'
        "          return list(question);\n"
        "        },\n",
    ),
    Fault(
        "slow_feed",
        "the event feed takes 20 ms for each change, and may be only 20 changes behind",
        "src/http/api/event_feed.cpp",
        "waiting_max_(limits.waiting_max)",
        'waiting_max_(fault::is_on("slow_feed") ? 20 : limits.waiting_max)',
    ),
    Fault(
        "slow_feed",
        "",
        "src/http/api/event_feed.cpp",
        "  void changed(const JobPtr& job) {\n",
        "  void changed(const JobPtr& job) {\n"
        '    if (fault::is_on("slow_feed")) {\n'
        "      std::this_thread::sleep_for(std::chrono::milliseconds{20});\n"
        "    }\n",
    ),
    # libcurl's own timeout must not end the call before the late abort does.
    Fault(
        "late_abort",
        "one abort of an HTTP call in a hundred is 1 s late, and libcurl does not end calls itself",
        "src/providers/http/call.cpp",
        "std::max(remaining, milliseconds{1});\n",
        "std::max(remaining, milliseconds{1}) +\n"
        '      milliseconds{fault::is_on("late_abort") ? 5000 : 0};\n',
    ),
    Fault(
        "late_abort",
        "",
        "src/providers/http/call_queue.cpp",
        "  push(Abort{lease, std::move(gone)});\n",
        "  static std::atomic<unsigned> aborts{0};\n"
        '  if (!fault::strikes("late_abort", aborts, 100)) {\n'
        "    return push(Abort{lease, std::move(gone)});\n"
        "  }\n"
        "  std::thread([this, lease, gone = std::move(gone)]() mutable {\n"
        "    std::this_thread::sleep_for(std::chrono::seconds{1});\n"
        "    push(Abort{lease, std::move(gone)});\n"
        "  }).detach();\n",
    ),
    Fault(
        "late_kill",
        "one command in a hundred is killed 5 s late",
        "src/providers/command/call.cpp",
        "  cause_ = cause;\n",
        "  cause_ = cause;\n"
        "  static std::atomic<unsigned> kills{0};\n"
        '  if (fault::strikes("late_kill", kills, 100)) {\n'
        "    const auto late = [](uv_timer_t* timer) {\n"
        "      static_cast<CommandCall*>(timer->data)->kill_();\n"
        "    };\n"
        "    uv_timer_start(timer_.get(), late, 5000, 0);\n"
        "    return;\n"
        "  }\n",
    ),
    Fault(
        "ignored_shrink",
        "a pool that shrinks keeps its workers, and its dispatcher uses them",
        "cells/actors/job_worker_pool.cpp",
        "    if (surplus == 0 || withdrawing_) return;\n",
        "    if (surplus == 0 || withdrawing_) return;\n"
        '    if (celld::fault::is_on("ignored_shrink")) return;\n',
    ),
    Fault(
        "large_pool",
        "once a pool was resized, one job more than its size may run",
        "cells/actors/cell.cpp",
        "    request(dispatcher_, caf::infinite, LimitRunning{terms()})\n",
        "    SlotTerms limits = terms();\n"
        '    limits.guarantee += celld::fault::is_on("large_pool") ? 1 : 0;\n'
        "    limits.burst = std::max(limits.burst, limits.guarantee);\n"
        "    request(dispatcher_, caf::infinite, LimitRunning{limits})\n",
    ),
    Fault(
        "large_pool",
        "",
        "cells/actors/cell.cpp",
        "    request(pool_, caf::infinite, Resize{workers()})\n",
        '    const auto more = celld::fault::is_on("large_pool") ? 1U : 0U;\n'
        "    request(pool_, caf::infinite, Resize{workers() + more})\n",
    ),
    Fault(
        "large_reload",
        "a reload makes each pool twice as large as it says",
        "src/config/changes.cpp",
        "Config reloaded(const Config& before, Config after) {\n",
        "Config reloaded(const Config& before, Config after) {\n"
        '  if (fault::is_on("large_reload")) {\n'
        "    for (auto& rule : after.cells) rule.settings.pool_size *= 2;\n"
        "  }\n",
    ),
    Fault(
        "long_retry_after",
        "`Retry-After` is eight times too long",
        "cells/model/admission.cpp",
        "milliseconds wait_for(double jobs, double finished_per_s) {\n",
        "milliseconds wait_for(double jobs, double finished_per_s) {\n"
        '  if (celld::fault::is_on("long_retry_after")) jobs *= 8;\n',
    ),
    Fault(
        "early_result",
        "the success of a job is reported 60 ms before it is committed",
        "src/store/sqlite_writer.cpp",
        "  void commit(std::size_t operations) { database_->commit(operations); }\n"
        "  void tidy() { database_->checkpoint_when_long(); }\n",
        "  // GroupCommit sends the answers between the two.\n"
        "  void commit(std::size_t operations) {\n"
        '    late_ = succeeded_ && !inserted_ && fault::is_on("early_result");\n'
        "    if (!late_) database_->commit(operations);\n"
        "    operations_ = operations;\n"
        "    succeeded_ = inserted_ = false;\n"
        "  }\n"
        "  void tidy() {\n"
        "    if (late_) {\n"
        "      std::this_thread::sleep_for(std::chrono::milliseconds{60});\n"
        "      database_->commit(operations_);\n"
        "      late_ = false;\n"
        "    }\n"
        "    database_->checkpoint_when_long();\n"
        "  }\n",
    ),
    Fault(
        "early_result",
        "",
        "src/store/sqlite_writer.cpp",
        "    return database_->jobs().apply(request);\n",
        "    if constexpr (std::is_same_v<Request, cells::RecordJob>) {\n"
        "      succeeded_ = succeeded_ || request.job->state == cells::JobState::succeeded;\n"
        "    }\n"
        "    inserted_ = inserted_ || std::is_same_v<Request, cells::InsertJob>;\n"
        "    return database_->jobs().apply(request);\n",
    ),
    Fault(
        "early_result",
        "",
        "src/store/sqlite_writer.cpp",
        "  std::shared_ptr<OpenedDatabase> database_;\n};\n",
        "  std::shared_ptr<OpenedDatabase> database_;\n"
        "  bool succeeded_ = false;\n"
        "  bool inserted_ = false;\n"
        "  bool late_ = false;\n"
        "  std::size_t operations_ = 0;\n"
        "};\n",
    ),
    Fault(
        "ignored_shrink",
        "",
        "cells/actors/job_dispatcher.cpp",
        "        slots_.change(message.terms);\n",
        "        if (!celld::fault::is_on(\"ignored_shrink\") ||\n"
        "            message.terms.guarantee > slots_.terms().guarantee) {\n"
        "          slots_.change(message.terms);\n        }\n",
    ),
)


def sources():
    return list(dict.fromkeys(fault.source for fault in FAULTS))


def plant(source, root):
    text = (pathlib.Path(root) / source).read_text(encoding="utf-8")
    for fault in FAULTS:
        if fault.source != source:
            continue
        if text.count(fault.before) != 1:
            sys.exit(f"faults.py: {fault.name}: {source} does not contain this text once, so the "
                     f"fault must be adapted:\n{fault.before}")
        text = text.replace(fault.before, fault.after)
    return FAULT_HEADER + text


def main(arguments):
    if arguments == ["list"]:
        print("\n".join(sources()))
    elif arguments == ["table"]:
        for fault in FAULTS:
            if fault.mistake:
                print(f"| `{fault.name}` | {fault.mistake} |")
    elif len(arguments) == 4 and arguments[0] == "plant":
        output = pathlib.Path(arguments[3])
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(plant(arguments[1], arguments[2]), encoding="utf-8")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
