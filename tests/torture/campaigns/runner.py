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

LOGS = os.path.join("build", "campaigns")  # Below the tree's root.
ROUND_S = 600             # Each campaign gets its turn about that often.
END_S = 300               # For what a program does after its time: a drain, an audit.
TAIL_LINES = 40
REPEAT_S = 3600
INTERRUPTED_S = 30        # For what a program does when it is told to end early.
# How it ends then, unless it has something to tell: it is killed at last, or ends with the signal.
INTERRUPTED_CODES = (None, 130, -signal.SIGINT, -signal.SIGTERM)


@dataclasses.dataclass(frozen=True)
class Commit:
    name: str
    clean: bool  # Nothing is changed beside it.

    def __str__(self):
        return self.name if self.clean else f"{self.name} with changes"


def commit_of(root, records_path):
    """What is tried. The records themselves do not count as a change. Raises records.Invalid."""
    def git(*arguments):
        try:
            return subprocess.run(["git", "-C", root, *arguments], check=True, text=True,
                                  capture_output=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError) as error:
            why = getattr(error, "stderr", None) or error
            raise records.Invalid(f"counts are kept by commit, and git says: {why}") from None
    changes = git("status", "--porcelain", "--", ".",
                  f":(exclude){os.path.relpath(records_path, root)}")
    return Commit(git("rev-parse", "--short", "HEAD"), not changes)


def same_tree(root, records_path, one, other):
    """Whether two commits differ in nothing but the records. One that is gone is another."""
    done = subprocess.run(["git", "-C", root, "diff", "--quiet", one, other, "--", ".",
                           f":(exclude){os.path.relpath(records_path, root)}"],
                          check=False, capture_output=True)
    return done.returncode == 0


class Interruption:
    """SIGINT or SIGTERM: comes as KeyboardInterrupt while it is waited for, and else is noted, so
    that what a program has found is kept before this ends."""

    def __init__(self):
        self.came, self.waited_for = 0, False

    def __enter__(self):
        self.before = [(number, signal.signal(number, self.come))
                       for number in (signal.SIGINT, signal.SIGTERM)]
        return self

    def __exit__(self, *_):
        for number, handler in self.before:
            signal.signal(number, handler)

    def come(self, *_):
        self.came += 1
        if self.waited_for:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def awaited(self, known=0):
        """`known`: so many have been taken care of."""
        self.waited_for = True
        try:
            if self.came > known:
                raise KeyboardInterrupt
            yield
        finally:
            self.waited_for = False


class Slice:
    """One run of a campaign's program."""

    def __init__(self, campaign, first, count, seconds, log):
        self.campaign, self.first, self.count, self.seconds = campaign, first, count, seconds
        self.log = log
        self.summary = None
        self.why = None       # What went wrong, but for the failures in the summary.
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
                    self.why = f"it cannot be started: {error}"
                    return
                code = self._wait(process, interruption)
            self.took_s = time.monotonic() - began_at
            self._read(path, code)

    def _wait(self, process, interruption):
        """The exit code, or None: it had to be killed. Nothing of its session is left."""
        try:
            with interruption.awaited():
                return process.wait(self.seconds + END_S)
        except subprocess.TimeoutExpired:
            return None
        except KeyboardInterrupt:
            self.interrupted = True
            process.send_signal(signal.SIGINT)
            try:
                with interruption.awaited(known=1):
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
            self.why = "it left no summary"
        except (ValueError, records.Invalid) as error:
            self.why = f"its summary is unusable: {error}"
        if self.interrupted and code in INTERRUPTED_CODES:
            self.why = None  # Whoever interrupted it knows. The summary counts, if there is one.
            return
        if code is None:
            self.why = "it did not end"
        elif code < 0:
            self.why = f"it was ended by {signal.Signals(-code).name}"
        elif self.summary is None:
            self.why += f", and it exited with {code}"
        elif self.summary["units"] == 0 and not (self.summary["failures"] or self.interrupted):
            self.why = "it tried nothing"
        elif code != (1 if self.summary["failures"] else 0):
            self.why = f"it exited with {code} after {self.summary['failures']} failures"
        if self.why is not None:
            self.summary = None

    def failed(self):
        return self.why is not None or (self.summary is not None and self.summary["failures"] > 0)


def checked(summary):
    """The summary, if it is one. Raises records.Invalid."""
    if not isinstance(summary, dict):
        raise records.Invalid("it is no object")
    for name in ("units", "failures"):
        if not records.is_count(summary.get(name)):
            raise records.Invalid(f"/{name} must be an integer of at least 0")
    records.check_figures(summary.get("figures"), "/figures")
    records.check_ranges(summary.setdefault("failed", []), "/failed")
    return summary


class Runner:
    def __init__(self, campaigns, root, path, commit, tell=print, clock=time.monotonic):
        self.campaigns = campaigns
        self.root = root
        self.path = path
        self.commit = commit
        self.tell = tell
        self.clock = clock
        self.records = records.load(path, campaigns)
        self.logs = os.path.join(root, LOGS)
        self.environment = {**os.environ, "CELLD_BINARY": os.path.join(root, "build", "celld"),
                            "PYTHONDONTWRITEBYTECODE": "1"}
        self.interruption = Interruption()
        self.failures = []  # Of this run: what to tell at its end.

    def missing(self):
        """What has to be built first: (campaign, file)."""
        return [(campaign.name, name) for campaign in self.campaigns for name in campaign.needs
                if not os.path.exists(os.path.join(self.root, name))]

    def run(self, seconds):
        """Whether all went well; None when it was interrupted."""
        os.makedirs(self.logs, exist_ok=True)
        slice_s = self._slice_s(seconds)
        self.tell(f"{len(self.campaigns)} campaigns for {seconds / 60:g} minutes, in turns of "
                  f"{slice_s} s, at commit {self.commit}. Whatever fails is told with the command "
                  f"that repeats it, kept in {os.path.relpath(self.path, self.root)}, and ends "
                  "this run with 1.")
        for campaign in self.campaigns:
            self.tell(f"  {campaign.name}: {campaign.what} ({campaign.promises}); "
                      f"{self._progress(campaign)}")
        with self.interruption:
            interrupted = not (self._repeat_failures() and self._take_turns(seconds, slice_s))
        self._tell_end(interrupted)
        return None if interrupted else not self.failures

    def _slice_s(self, seconds):
        turns = max(1, round(seconds / ROUND_S))
        return max(1, int(seconds / turns / len(self.campaigns)))

    def _take_turns(self, seconds, slice_s):
        """False when it was interrupted. Every campaign gets at least one whole turn."""
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
        self.tell(f"== {campaign.name}: {campaign.unit} from {first} on, for {seconds} s")
        this = self._run_slice(campaign, first, COUNT_MAX, seconds)
        if this.summary is not None:
            records.add(record, this.summary, this.took_s, self.commit)
            self._tell_slice(campaign, this)
            self._keep_failures(campaign, this)
        elif this.why is not None:
            self._keep(campaign, first, COUNT_MAX, this)
        else:
            self.tell("   it left no summary when it was interrupted: what it did is not counted; "
                      f"its output: {os.path.relpath(this.log, self.root)}")
        records.save(self.path, self.records)
        return not self.interruption.came

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
            this.why = "it fails"
            self._keep(campaign, each["from"], each["count"], this)

    def _keep(self, campaign, first, count, this):
        records.add_failure(self.records[campaign.name], first, count, this.why, self.commit)
        self._tell_failure(campaign, first, count, this)

    def _repeat_failures(self):
        """What failed in earlier runs, first of all. False when it was interrupted."""
        for campaign in self.campaigns:
            record = self.records[campaign.name]
            for failure in list(record["failing"]):
                this = self._repeat(campaign, failure)
                if self._repeated_well(this):
                    self._passed(campaign, failure)
                elif this.failed() or not this.interrupted:
                    this.why = this.why or "it still fails"
                    self._tell_failure(campaign, failure["from"], failure["count"], this)
                records.save(self.path, self.records)
                if self.interruption.came:
                    return False
        return True

    def _repeat(self, campaign, failure):
        self.tell(f"== {campaign.name}: again what failed at {failure['commit']}: "
                  f"{self._units(campaign, failure['from'], failure['count'])}")
        return self._run_slice(campaign, failure["from"], failure["count"],
                               self._seconds_to_repeat(failure["count"], 60))

    def _repeated_well(self, this):
        if this.summary is None or this.summary["failures"]:
            return False
        return this.count == COUNT_MAX or this.summary["units"] >= this.count

    def _seconds_to_repeat(self, count, otherwise):
        """What has a known end may take its time to get there."""
        return REPEAT_S if count < COUNT_MAX else otherwise

    def _passed(self, campaign, failure):
        if not self.commit.clean:
            self.tell("   it passes now, with changes: it stays in the list until it passes on a "
                      "commit without any")
        elif failure["clean"] and self._is_same(failure["commit"]):
            self.tell("   it passes now, and nothing has changed: it stays in the list until it "
                      "passes where something has")
            self.failures.append(f"{campaign.name}: {failure['from']} failed at "
                                 f"{failure['commit']}, and passes now, at {self.commit}, which is "
                                 "the same")
        else:
            self.tell("   it passes now")
            self.records[campaign.name]["failing"].remove(failure)

    def _is_same(self, commit):
        return commit == self.commit.name or same_tree(self.root, self.path, commit,
                                                       self.commit.name)

    # What people read.

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
            return f"number {first} of the {campaign.unit}"
        return f"{campaign.unit} {first} to {first + count - 1}"

    def _tell_slice(self, campaign, this):
        self.tell(f"   {this.summary['units']:,} {campaign.unit} in {this.took_s:.0f} s, "
                  f"{this.summary['failures']} failures; {self._progress(campaign)}")
        figures = ", ".join(f"{value:,} {name}" for name, value in this.summary["figures"].items())
        if figures:
            self.tell(f"   in them: {figures}")

    def _tell_failure(self, campaign, first, count, this):
        kept = os.path.join(self.logs, f"{campaign.name}-{first}.log")  # The next turn has its own.
        shutil.copyfile(this.log, kept)
        with open(kept, encoding="utf-8", errors="replace") as log:
            tail = log.read().splitlines()[-TAIL_LINES:]
        self.tell("\n".join("   | " + line for line in tail))
        seconds = self._seconds_to_repeat(count, this.seconds)
        again = campaign.command_line(first, count, seconds, "/dev/stdout")
        text = (f"{campaign.name}: {self._units(campaign, first, count)}: {this.why}\n"
                f"   again: CELLD_BINARY=build/celld {shlex.join(again)}\n"
                f"   its output: {os.path.relpath(kept, self.root)}")
        self.tell(f"   FAILURE: {text}")
        self.failures.append(text)

    def _tell_end(self, interrupted):
        self.tell("interrupted; what was counted is kept" if interrupted else "== the end")
        for campaign in self.campaigns:
            self.tell(f"  {campaign.name}: {self._progress(campaign)}")
        if self.failures:
            self.tell(f"{len(self.failures)} FAILURES:")
            for text in self.failures:
                self.tell("  " + text)
        elif not interrupted:
            self.tell("nothing failed")
