#!/usr/bin/env python3
"""Mistakes that a programmer could make in a parser. They test the fuzzers.

Each bug changes one source file. The build links a changed copy of that file into a fuzzer of its
own, whose corpus must find the bug.

  parser_bugs.py list                      prints NAME,FUZZER,SOURCE,SEEN_AS, one bug per line
  parser_bugs.py plant NAME ROOT OUTPUT    writes the changed copy of ROOT's source to OUTPUT
"""

import dataclasses
import pathlib
import sys


@dataclasses.dataclass(frozen=True)
class Bug:
    name: str
    fuzzer: str
    seen_as: str  # The promise that the fuzzer finds broken first: a regular expression.
    mistake: str
    source: str
    changes: tuple[tuple[str, str], ...]  # (Text in the source, its replacement).


BUGS = (
    Bug("half-a-head", "answer", "an answer has a complete head",
        "an answer counts although the connection ended in its head",
        "src/providers/http/call.cpp",
        (("return head_complete_ ? End::answered : End::broken;", "return End::answered;"),)),
    Bug("cut-at-a-quote", "batch", "the jobs are the same however a body is split",
        "what is known of a string in an element is lost at the end of a piece",
        "src/http/api/batch_splitter.cpp",
        (("    if (state_ == State::in_element) text_.add(piece.substr(begin));\n",
          "    if (state_ == State::in_element) text_.add(piece.substr(begin));\n"
          "    in_string_ = false;\n"),)),
    Bug("pool-of-zero", "bodies", "a change that is taken is within its bounds",
        "a pool may have no workers",
        "src/http/api/bodies.cpp", (("reader.integer(member, 1, max)", "reader.integer(member, 0, max)"),)),
    Bug("unknown-limits", "bodies", "a quota that is taken is within its bounds",
        "limits that celld does not know are ignored",
        "src/http/api/bodies.cpp", (("    inner_reader.finish();\n", ""),)),
    Bug("schedule-of-others", "bodies", "a schedule for another customer is not found",
        "a token that is bound to a customer makes schedules for others",
        "src/http/api/schedule_json.cpp",
        (("config::is_name(spec.job.customer) && !may_see(only_customer, spec.job.customer)",
          "only_customer && only_customer->empty()"),)),
    Bug("raw-c1", "cellctl", "a text has no C1 control characters",
        "the control characters beyond ASCII reach the terminal",
        "src/cli/text.cpp", (("(code >= 0x7F && code < 0xA0)", "code == 0x7F"),)),
    Bug("half-a-secret", "command", "a cut line does not end in a secret",
        "the beginning of a secret, at the end of a cut line, is shown",
        "src/providers/command/outcome.cpp",
        (("blank_secrets(line.text, secrets, line.cut)", "blank_secrets(line.text, secrets)"),
         ("blank_secrets(cleaned, secrets, line.cut)", "blank_secrets(cleaned, secrets)"))),
    Bug("unordered-backoff", "config", "a backoff is below its maximum",
        "the first pause between attempts may be longer than the longest",
        "src/config/cell_setting.cpp",
        (('bounded_by("retry.backoff_max_ms",', 'bounded_by("",'),)),
    Bug("split-line-end", "event_stream", "the events are the same however the bytes are split",
        "a CR LF that is split counts as two line ends",
        "src/cli/event_stream.cpp",
        (("    after_return_ = bytes[end] == '\\r';\n    bytes.remove_prefix(end + 1);\n",
          "    const bool pair = bytes.substr(end, 2) == \"\\r\\n\";\n"
          "    bytes.remove_prefix(end + (pair ? 2 : 1));\n"),)),
    Bug("first-length-wins", "framing", "a body has one length",
        "of two lengths, the last counts",
        "src/http/request_head.cpp",
        (('    if (lengths_ > 1) return refuse(400, "There is more than one Content-Length.");\n',
          ""),)),
    Bug("jobless-lease", "granted_leases", "what is no lease is skipped",
        "a lease need not have a job",
        "src/cli/worker/granted_lease.cpp", ((" || lease.job.empty()", ""),)),
    Bug("any-authorization", "headers", "a request needs one valid token",
        "of two Authorization headers, the last counts",
        "src/http/api/access.cpp", (('    if (only != nullptr) return "";\n', ""),)),
    Bug("last-key-wins", "json", "no value of the text is lost",
        "of two members with the same name, the last counts",
        "src/json/json.cpp",
        (('    if (!inserted) return stop("duplicate key " + quote(member->first));\n',
          "    static_cast<void>(inserted);\n"),)),
    Bug("half-a-code", "lease_names", "no part of a name can be changed",
        "only the first half of the code in a name counts",
        "src/http/api/lease_names.cpp",
        (("bytes->data() + payload_bytes, code.size())",
          "bytes->data() + payload_bytes, code.size() / 2)"),)),
    Bug("deep-segment", "mapping", "a value stays within its segment",
        "a slash in a value begins another segment of the path",
        "src/providers/http/mapping/escaping.cpp",
        (("c == '.' || c == '_' || c == '~';", "c == '.' || c == '_' || c == '~' || c == '/';"),)),
    Bug("secret-note", "mapping", "a text reveals no secret",
        "messages of an answer are not searched for secrets",
        "src/providers/http/mapping/answer.cpp",
        (("  for (auto& message : messages) message.text = text_for_people(message.text, secrets);\n",
          "  static_cast<void>(secrets);\n"),)),
    Bug("over-at-once", "mapping", "an operation is done when its value says so",
        "an operation is done with any value that is no failure",
        "src/providers/http/mapping/answer.cpp",
        (("  auto goes_on = pending(result, now);\n",
          "  if (!poll.until->done.empty()) return std::nullopt;\n"
          "  auto goes_on = pending(result, now);\n"),)),
    Bug("secret-code", "outcome", "a text reveals no secret",
        "codes are not searched for secrets",
        "src/providers/http/outcome.cpp",
        (("  outcome.code = for_people(outcome.code, secrets);\n", ""),)),
    Bug("empty-capture", "path", "a path matches the pattern that it names",
        "a name in a path may be empty",
        "src/http/endpoints.cpp", ((" && !segment.empty()", ""),)),
    Bug("page-anywhere", "pages", "a page is read if its checksum is right",
        "the checksum of a page does not depend on its number",
        "src/store/page_checksums.cpp",
        (("static_cast<std::uint32_t>(number)", "static_cast<std::uint32_t>(number != 0)"),)),
    Bug("empty-page", "query", "a page has 1 to 1000 jobs",
        "a list may have a limit of 0",
        "src/http/api/query.cpp", ((" || limit < 1 || limit", " || limit"),)),
    Bug("million-leases", "leases", "a worker asks for 1 to 1000 leases",
        "a worker may ask for any number of leases",
        "src/http/api/lease_bodies.cpp", (('"max", 1, leases_max)', '"max", 1, leases_max * 1000)'),)),
    Bug("one-event-less", "resume", "an id is valid while all later events are in the log",
        "a client resumes although it has missed one event",
        "src/http/api/event_log.cpp", (("number + 1 >= first_kept", "number + 2 >= first_kept"),)),
    Bug("cursor-and-more", "query", "a cursor of leases is two numbers",
        "what follows a cursor is ignored",
        "src/http/api/query.cpp", ((" || counter.ptr != end", ""),)),
    Bug("one-sunday", "cron", "a rule is due when its fields say",
        "Sunday is only 0",
        "cells/model/cron.cpp",
        (("  if (has(rule.weekdays_, sunday_as_end)) rule.weekdays_ |= 1;\n", ""),)),
    Bug("wrapped-attempts", "stored", "a text is read as what it says",
        "a number of attempts beyond 32 bits wraps",
        "src/store/job_texts.cpp",
        (('  if (count < 0 || count > UINT32_MAX) unreadable("steps");\n', ""),)),
    Bug("two-starts", "submission", "a job has a delay or a time, not both",
        "a job may have both a delay and a time",
        "src/http/api/submission.cpp",
        (('  if (reader.has("run_at") && reader.has("delay_ms"))\n'
          '    reader.fault("run_at", "must not be combined with `delay_ms`");\n', ""),)),
    Bug("thirtieth-of-february", "time_text",
        "a time is written with the seconds it was read with",
        "each month has 31 days",
        "src/json/time_text.cpp", ((" || !date.ok()", ""),)),
    Bug("any-client", "tls_files", "clients need a certificate if the server has their CA",
        "a client without a certificate is let in",
        "src/http/tls.cpp", ((" | SSL_VERIFY_FAIL_IF_NO_PEER_CERT", ""),)),
    Bug("older-page", "wal", "a log whose header is wrong has lost nothing that the database has",
        "of two versions of a page, the older one counts",
        "src/store/wal_check.cpp",
        (("    uncommitted.merge(pages);  // Keeps the newer versions.\n"
          "    pages = std::exchange(uncommitted, {});\n",
          "    pages.merge(uncommitted);\n    uncommitted.clear();\n"),)),
    Bug("endless-list", "wire", "a program has one form",
        "a list need not have an end",
        "src/providers/command/wire.cpp",
        (("  if (!bytes.starts_with('\\0')) return false;\n  bytes.remove_prefix(1);\n",
          "  if (bytes.starts_with('\\0')) bytes.remove_prefix(1);\n"),)),
    Bug("more-than-all", "work_line", "a progress is 0 to 1",
        "a progress may be more than all of the work",
        "src/cli/worker/work_line.cpp", (("value >= 0 && value <= 1;", "value >= 0;"),)),
)


def find(name):
    for bug in BUGS:
        if bug.name == name:
            return bug
    sys.exit(f"parser_bugs.py: unknown bug {name}")


def plant(bug, root):
    text = (pathlib.Path(root) / bug.source).read_text()
    for before, after in bug.changes:
        if text.count(before) != 1:
            sys.exit(f"parser_bugs.py: {bug.name}: {bug.source} no longer contains this text once, "
                     f"so the bug must be adapted:\n{before}")
        text = text.replace(before, after)
    return text


def main(arguments):
    if arguments == ["list"]:
        for bug in BUGS:
            print(f"{bug.name},{bug.fuzzer},{bug.source},{bug.seen_as}")
    elif len(arguments) == 4 and arguments[0] == "plant":
        output = pathlib.Path(arguments[3])
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(plant(find(arguments[1]), arguments[2]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
