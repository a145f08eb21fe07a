"""Runs campaigns in turns, each from where it stopped, and keeps their records."""

import contextlib
import dataclasses
import itertools
import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

import records
from program import COUNT_MAX

LOGS = os.path.join("build", "campaigns")  # Relative to the tree's root.
RECORDS = os.path.join("build", "campaigns.json")
ROUND_S = 600             # Each campaign gets a turn about this often.
END_S = 300               # What a program may take after its time is up, for last jobs and audits.
TAIL_LINES = 40
REPEAT_S = 3600
INTERRUPTED_S = 30        # What a program may take to end when it is interrupted.
# Exit codes of an interrupted program that found nothing; None: it had to be killed.
INTERRUPTED_CODES = (None, 130, -signal.SIGINT, -signal.SIGTERM)
# Changes of documentation do not make another version of the program.
PROGRAM = (".", ":(exclude)docs", ":(exclude)*.md")


@dataclasses.dataclass(frozen=True)
class Commit:
    name: str
    clean: bool  # No uncommitted changes, except to documentation.

    def __str__(self):
        return self.name if self.clean else f"{self.name} with uncommitted changes"


def commit_of(root):
    """The commit that is checked out. Raises records.Invalid."""
    def git(*arguments):
        try:
            return subprocess.run(["git", "-C", root, *arguments], check=True, text=True,
                                  capture_output=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError) as error:
            why = getattr(error, "stderr", None) or error
            raise records.Invalid(f"figures belong to a commit, but git failed: {why}") from None
    changes = git("status", "--porcelain", "--", *PROGRAM)
    return Commit(git("rev-parse", "--short", "HEAD"), not changes)


def same_program(root, one, other):
    """Whether two commits differ in documentation at most. False if either no longer exists."""
    done = subprocess.run(["git", "-C", root, "diff", "--quiet", one, other, "--", *PROGRAM],
                          check=False, capture_output=True)
    return done.returncode == 0


class Interruption:
    """Handles SIGINT and SIGTERM. Inside `awaited()` a signal raises KeyboardInterrupt. Elsewhere
    it is only counted, so that the results in hand are saved before the run ends."""

    def __init__(self):
        self.received, self.raises = 0, False

    def __enter__(self):
        self.before = [(number, signal.signal(number, self.receive))
                       for number in (signal.SIGINT, signal.SIGTERM)]
        return self

    def __exit__(self, *_):
        for number, handler in self.before:
            signal.signal(number, handler)

    def receive(self, *_):
        self.received += 1
        if self.raises:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def awaited(self, handled=0):
        """`handled`: how many signals the caller has already handled."""
        self.raises = True
        try:
            if self.received > handled:
                raise KeyboardInterrupt
            yield
        finally:
            self.raises = False


class Slice:
    """One run of a campaign's program."""

    def __init__(self, campaign, first, count, seconds, log):
        self.campaign, self.first, self.count, self.seconds = campaign, first, count, seconds
        self.log = log
        self.summary = None
        self.why = None       # What went wrong, apart from the failures in the summary.
        self.took_s = 0.0
        self.interrupted = False

    def run(self, root, environment, interruption):
        began_at = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="celld-campaign-") as scratch:
            path = os.path.join(scratch, "summary.json")
            command = self.campaign.command_line(self.first, self.count, self.seconds, path)
            with open(self.log, "w", encoding="utf-8") as log:
                try:
                    process = subprocess.Popen(command, cwd=root, stdout=log, env=environment,
                                               stderr=subprocess.STDOUT, start_new_session=True)
                except OSError as error:
                    self.why = f"the program could not be started: {error}"
                    return
                code = self._wait(process, interruption)
            self.took_s = time.monotonic() - began_at
            self._read(path, code)

    def _wait(self, process, interruption):
        """The exit code, or None if the program had to be killed. Leaves no process of its
        session."""
        try:
            with interruption.awaited():
                return process.wait(self.seconds + END_S)
        except subprocess.TimeoutExpired:
            return None
        except KeyboardInterrupt:
            self.interrupted = True
            process.send_signal(signal.SIGINT)
            try:
                with interruption.awaited(handled=1):
                    return process.wait(INTERRUPTED_S)
            except (subprocess.TimeoutExpired, KeyboardInterrupt):
                return None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()

    def _read(self, path, code):
        try:
            with open(path, encoding="utf-8") as file:
                self.summary = checked(json.load(file))
        except FileNotFoundError:
            self.why = "the program left no summary"
        except (ValueError, records.Invalid) as error:
            self.why = f"the summary is invalid: {error}"
        if self.interrupted and code in INTERRUPTED_CODES:
            self.why = None  # The interruption is no failure. A summary still counts.
            return
        if code is None:
            self.why = "the program did not end in time"
        elif code < 0:
            self.why = f"{signal.Signals(-code).name} ended the program"
        elif self.summary is None:
            self.why += f"; it exited with {code}"
        elif self.summary["units"] == 0 and not (self.summary["failures"] or self.interrupted):
            self.why = "the program tried no unit"
        elif code != (1 if self.summary["failures"] else 0):
            self.why = f"the program exited with {code} after {self.summary['failures']} failures"
        if self.why is not None:
            self.summary = None

    def failed(self):
        return self.why is not None or (self.summary is not None and self.summary["failures"] > 0)


def checked(summary):
    """The summary. Raises records.Invalid if it is malformed."""
    if not isinstance(summary, dict):
        raise records.Invalid("must be an object")
    for name in ("units", "failures"):
        if not records.is_count(summary.get(name)):
            raise records.Invalid(f"/{name} must be an integer of at least 0")
    records.check_figures(summary.get("figures"), "/figures")
    records.check_ranges(summary.setdefault("failed", []), "/failed")
    return summary


class Runner:
    def __init__(self, campaigns, root, path, commit, report=print, clock=time.monotonic):
        self.campaigns = campaigns
        self.root = root
        self.path = path
        self.commit = commit
        self.report = report
        self.clock = clock
        self.records = records.load(path, campaigns)
        self.logs = os.path.join(root, LOGS)
        self.environment = {**os.environ, "CELLD_BINARY": os.path.join(root, "build", "celld"),
                            "PYTHONPYCACHEPREFIX": os.path.join(root, "build", "pycache")}
        self.interruption = Interruption()
        self.failures = []  # Of this run, as reported at its end.

    def missing(self):
        """The (campaign, file) pairs of files that are not built."""
        return [(campaign.name, name) for campaign in self.campaigns for name in campaign.needs
                if not os.path.exists(os.path.join(self.root, name))]

    def run(self, seconds):
        """True without failures, False with some, None if interrupted."""
        os.makedirs(self.logs, exist_ok=True)
        slice_s = self._slice_s(seconds)
        self.report(f"{len(self.campaigns)} campaigns for {seconds / 60:g} minutes, in turns of "
                    f"{slice_s} s, at commit {self.commit}. Each failure is printed with the "
                    "command that repeats it and recorded in "
                    f"{os.path.relpath(self.path, self.root)}; a run with failures exits with 1.")
        for campaign in self.campaigns:
            self.report(f"  {campaign.name}: {campaign.what} ({campaign.promises}); "
                        f"{self._progress(campaign)}")
        with self.interruption:
            interrupted = not (self._repeat_failures() and self._take_turns(seconds, slice_s))
        self._report_end(interrupted)
        return None if interrupted else not self.failures

    def _slice_s(self, seconds):
        turns = max(1, round(seconds / ROUND_S))
        return max(1, int(seconds / turns / len(self.campaigns)))

    def _take_turns(self, seconds, slice_s):
        """False if interrupted. Every campaign gets at least one whole turn."""
        ends_at = self.clock() + seconds
        for turn in itertools.count():
            for campaign in self.campaigns:
                left_s = slice_s if turn == 0 else min(slice_s, int(ends_at - self.clock()))
                if left_s < 1:
                    return True
                wanted_s = campaign.slice_whole_s if 10 * campaign.slice_whole_s <= seconds else 0
                wanted_s = max(left_s, campaign.slice_min_s, wanted_s)
                if not self._take_turn(campaign, wanted_s):
                    return False

    def _take_turn(self, campaign, seconds):
        record = self.records[campaign.name]
        first = record["next"]
        self.report(f"== {campaign.name}: {campaign.unit} from {first} on, for {seconds} s")
        this = self._run_slice(campaign, first, COUNT_MAX, seconds)
        if this.summary is not None:
            records.add(record, this.summary, this.took_s, self.commit)
            self._report_slice(campaign, this)
            self._keep_failures(campaign, this)
        elif this.why is not None:
            self._keep(campaign, first, COUNT_MAX, this)
        else:
            self.report("   the program left no summary when interrupted, so this turn does not "
                        f"count; its output: {os.path.relpath(this.log, self.root)}")
        records.save(self.path, self.records)
        return not self.interruption.received

    def _run_slice(self, campaign, first, count, seconds):
        this = Slice(campaign, first, count, seconds,
                     os.path.join(self.logs, campaign.name + ".log"))
        this.run(self.root, self.environment, self.interruption)
        return this

    def _keep_failures(self, campaign, this):
        failed = this.summary["failed"]
        if this.summary["failures"] and not failed:
            failed = [{"from": this.first, "count": max(1, this.summary["units"])}]
        for each in failed:
            this.why = "failed"
            self._keep(campaign, each["from"], each["count"], this)

    def _keep(self, campaign, first, count, this):
        records.add_failure(self.records[campaign.name], first, count, this.why, self.commit)
        self._report_failure(campaign, first, count, this)

    def _repeat_failures(self):
        """Repeats what failed in earlier runs. False if interrupted."""
        for campaign in self.campaigns:
            record = self.records[campaign.name]
            for failure in list(record["failing"]):
                this = self._repeat(campaign, failure)
                if self._repeated_well(this):
                    self._passed(campaign, failure)
                elif this.failed() or not this.interrupted:
                    this.why = this.why or "still fails"
                    self._report_failure(campaign, failure["from"], failure["count"], this)
                records.save(self.path, self.records)
                if self.interruption.received:
                    return False
        return True

    def _repeat(self, campaign, failure):
        self.report(f"== {campaign.name}: repeating what failed at {failure['commit']}: "
                    f"{self._units(campaign, failure['from'], failure['count'])}")
        return self._run_slice(campaign, failure["from"], failure["count"],
                               self._seconds_to_repeat(failure["count"], 60))

    def _repeated_well(self, this):
        if this.summary is None or this.summary["failures"]:
            return False
        return this.count == COUNT_MAX or this.summary["units"] >= this.count

    def _seconds_to_repeat(self, count, otherwise):
        """A bounded range may take as long as it needs."""
        return REPEAT_S if count < COUNT_MAX else otherwise

    def _passed(self, campaign, failure):
        if not self.commit.clean:
            self.report("   passes now, with uncommitted changes: stays open until it passes "
                        "without any")
        elif failure["clean"] and self._is_same(failure["commit"]):
            self.report("   passes now, but the program has not changed: stays open until it "
                        "passes on another version")
            self.failures.append(f"{campaign.name}: {failure['from']} failed at "
                                 f"{failure['commit']} and passes at {self.commit}, which is the "
                                 "same program")
        else:
            self.report("   passes now")
            self.records[campaign.name]["failing"].remove(failure)

    def _is_same(self, commit):
        return commit == self.commit.name or same_program(self.root, commit, self.commit.name)

    # Output.

    def _progress(self, campaign):
        record = self.records[campaign.name]
        text = (f"{record['done']:,} of {campaign.goal:,} {campaign.unit} done "
                f"({100 * record['done'] / campaign.goal:.1f} %), "
                f"{record['failures']} failures so far")
        if record["failing"]:
            text += f", {len(record['failing'])} of them open"
        return text

    def _units(self, campaign, first, count):
        if count == COUNT_MAX:
            return f"{campaign.unit} from {first} on"
        if count == 1:
            return f"number {first} ({campaign.unit})"
        return f"{campaign.unit} {first} to {first + count - 1}"

    def _report_slice(self, campaign, this):
        self.report(f"   {this.summary['units']:,} {campaign.unit} in {this.took_s:.0f} s, "
                    f"{this.summary['failures']} failures; {self._progress(campaign)}")
        figures = ", ".join(f"{value:,} {name}" for name, value in this.summary["figures"].items())
        if figures:
            self.report(f"   figures: {figures}")

    def _report_failure(self, campaign, first, count, this):
        # The next turn overwrites this turn's log.
        kept = os.path.join(self.logs, f"{campaign.name}-{first}.log")
        shutil.copyfile(this.log, kept)
        with open(kept, encoding="utf-8", errors="replace") as log:
            tail = log.read().splitlines()[-TAIL_LINES:]
        self.report("\n".join("   | " + line for line in tail))
        seconds = self._seconds_to_repeat(count, this.seconds)
        again = campaign.command_line(first, count, seconds, "/dev/stdout")
        text = (f"{campaign.name}: {self._units(campaign, first, count)}: {this.why}\n"
                f"   repeat: CELLD_BINARY=build/celld {shlex.join(again)}\n"
                f"   output: {os.path.relpath(kept, self.root)}")
        self.report(f"   FAILURE: {text}")
        self.failures.append(text)

    def _report_end(self, interrupted):
        self.report("interrupted; the figures so far are saved" if interrupted else "== the end")
        for campaign in self.campaigns:
            self.report(f"  {campaign.name}: {self._progress(campaign)}")
        if self.failures:
            self.report(f"{len(self.failures)} FAILURES:")
            for text in self.failures:
                self.report("  " + text)
        elif not interrupted:
            self.report("nothing failed")
