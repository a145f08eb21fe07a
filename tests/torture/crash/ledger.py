"""What celld owes its clients, given the answers they received.

The ledger knows neither celld nor the clock. It takes the notes of a journal in order and checks
the jobs that celld shows against them. `faults` collects what is wrong.
"""

import calendar
import collections
import dataclasses
import time

import sizes
from faults import Faults

ENDED = ("succeeded", "failed", "cancelled")
# The job's state and error code by the provider's outcome, unless a client cancels the job.
EXPECTED = {"ok": ("succeeded", None), "slow": ("succeeded", None), "flaky": ("succeeded", None),
            "busy": ("succeeded", None), "reject": ("failed", "provider_rejected"),
            "hang": ("failed", "timeout")}
COMMAND = "tool"  # The service that runs a command.


@dataclasses.dataclass
class Request:
    sent_at: float
    answered_at: "float | None" = None
    status: "int | None" = None


# A death of celld while the disk showed the job as running. `epoch`: of the lease. `before`: the
# earlier interruptions in a row, as the disk showed them.
Interruption = collections.namedtuple("Interruption", "epoch step before")


@dataclasses.dataclass
class Life:
    """One celld, from its start to its death."""
    began: float
    wall_ahead_s: float             # The wall clock less CLOCK_MONOTONIC, or a moment more.
    watched: float = float("inf")   # Since when a client follows its events.
    how: "str | None" = None        # It ends, or is to end: "stop" or "kill".
    stopping: bool = False          # It received SIGTERM.
    signalled: "float | None" = None  # When the first signal was sent, and the last.
    last_signalled: "float | None" = None
    died: "float | None" = None


@dataclasses.dataclass
class Entry:
    """One submission, and all that celld reported about its job."""
    key: str
    sent: dict
    id: "str | None" = None
    submitted_at: float = 0.0
    accepted: bool = False
    ends: dict = dataclasses.field(default_factory=dict)    # By finished_at: the ended job.
    # By finished_at: the Interruptions before it, and since the last reopening.
    interrupted: dict = dataclasses.field(default_factory=dict)
    interruptions: list = dataclasses.field(default_factory=list)  # So far.
    doubtful: set = dataclasses.field(default_factory=set)  # Ends seen before the last reopening.
    void: set = dataclasses.field(default_factory=set)  # Ends undone by an acknowledged reopening.
    final: "str | None" = None      # The end that no later reopening can have undone.
    final_at: float = 0.0           # When it was first seen.
    steps_done: dict = dataclasses.field(default_factory=dict)  # By service: when first seen.
    cancels: list = dataclasses.field(default_factory=list)  # The Requests, in order.
    retries: list = dataclasses.field(default_factory=list)
    must_cancel: bool = False       # A cancellation was acknowledged, and no reopening followed.
    must_have_ended: bool = False   # A cancellation was refused because the job had ended.


class Ledger:
    def __init__(self):
        self.faults = Faults()
        self.entries = {}   # By key.
        self.by_id = {}
        self.lives = {}     # By number.
        self.life = None    # The latest one.
        self.sizes = {}     # By cell: [requested at, answered at, size].

    def enter(self, note):
        """Returns whether the note is news."""
        return getattr(self, "_" + note["note"])(note) is not False

    # Notes.

    def _began(self, note):
        self.life = self.lives[note["life"]] = Life(note["at"], note["wall_ahead_s"])

    def _watching(self, note):
        self.life.watched = note["at"]

    def _signalled(self, note):
        self.life.how = note["how"]
        self.life.stopping |= note["how"] == "stop"
        self.life.signalled = self.life.signalled or note["at"]
        self.life.last_signalled = note["at"]

    def _died(self, note):
        self.life.how, self.life.died = note["how"], note["at"]

    def _interrupted(self, note):
        """A dead celld's database shows these jobs as running."""
        for key, *interruption in note["jobs"]:
            self.entries[key].interruptions.append(Interruption(*interruption))

    def _submitting(self, note):
        if note["key"] in self.entries:
            return False
        self.entries[note["key"]] = Entry(note["key"], note["job"], submitted_at=note["at"])
        return True

    def _accepted(self, note):
        entry = self.entries[note["key"]]
        self._identify(entry, note["id"])
        entry.accepted = True

    def _requesting(self, note):
        entry = self.by_id[note["id"]]
        requests = entry.cancels if note["what"] == "cancel" else entry.retries
        requests.append(Request(note["at"]))
        if note["what"] == "retry":
            entry.doubtful = set(entry.ends)
            entry.interruptions = []
            entry.final, entry.must_cancel, entry.must_have_ended = None, False, False

    def _answered(self, note):
        entry = self.by_id[note["id"]]
        request = (entry.cancels if note["what"] == "cancel" else entry.retries)[-1]
        request.answered_at, request.status = note["at"], note["status"]
        if note["what"] == "cancel":
            entry.must_cancel |= note["status"] == 200
            entry.must_have_ended |= note["status"] == 409
        elif note["status"] == 202:
            entry.void |= entry.doubtful

    def _resizing(self, note):
        self.sizes.setdefault(note["cell"], []).append([note["at"], None, note["size"]])

    def _resized(self, note):
        self.sizes[note["cell"]][-1][1] = note["at"]

    def _size(self, note):
        """A celld that has just started shows this size."""
        self.sizes.setdefault(note["cell"], []).append([note["at"], note["at"], note["size"]])

    def _saw(self, note):
        job = note["job"]
        entry = self.entries.get(job["labels"].get("key"))
        if entry is None:
            self.faults.expect(False, "a job that no client submitted", job)
            return True
        news = entry.id != job["id"]
        if news:
            self._identify(entry, job["id"])
        for step in job["steps"]:
            if step["state"] == "succeeded" and step["service"] not in entry.steps_done:
                entry.steps_done[step["service"]] = note["at"]
                news = True
        if job["state"] in ENDED:
            news |= self._saw_end(entry, job, note["at"])
        return news

    def _saw_end(self, entry, job, at):
        end = job["finished_at"]
        known = entry.ends.get(end)
        if known is not None:
            # An ended job that still keeps its entity moves to another cell with the line.
            changes = {name: (known.get(name), job.get(name)) for name in {**known, **job}
                       if known.get(name) != job.get(name) and name != "cell"}
            self.faults.expect(not changes, "an ended job changed", job["id"], changes)
            return bool(changes)
        entry.ends[end] = job
        entry.interrupted[end] = list(entry.interruptions)
        self.faults.expect(len(entry.ends) <= 1 + len(entry.retries), "a job ended twice",
                           list(entry.ends.values()))
        entry.final, entry.final_at = end, at
        return True

    def _identify(self, entry, job_id):
        self.faults.expect(entry.id in (None, job_id), "one request became two jobs", entry.key,
                           entry.id, job_id)
        entry.id = job_id
        self.by_id[job_id] = entry

    # Checks.

    def check_state(self, jobs):
        """`jobs`: all of celld's jobs, by id, while no request is in flight."""
        for entry in self.entries.values():
            job = jobs.get(entry.id)
            if job is None:
                self.faults.expect(not entry.accepted, "an accepted job is lost", entry.id,
                                   entry.key)
                continue
            self._check_sent(entry, job)
            self._check_job(entry, job)

    def _check_sent(self, entry, job):
        for name, value in entry.sent.items():
            self.faults.expect(job.get(name) == value or name == "retry",
                               "a job differs from its submission", entry.id, name, value,
                               job.get(name))

    def _check_job(self, entry, job):
        ended = job["state"] in ENDED
        if entry.final is not None:
            self.faults.expect(ended and job["finished_at"] == entry.final,
                               "an ended job is unfinished again", entry.ends[entry.final], job)
        elif ended:
            # The unanswered reopening had no effect. Later calls are not checked against this end.
            entry.final, entry.final_at = job["finished_at"], float("inf")
        self.faults.expect(not ended or job["finished_at"] not in entry.void,
                           "an acknowledged retry is lost", job)
        self.faults.expect(ended or not entry.must_have_ended,
                           "a job is unfinished whose cancellation was refused as too late", job)
        if entry.must_cancel:
            self.faults.expect(job["state"] == "cancelled" or
                               not ended and job["cancel_requested"],
                               "an acknowledged cancellation is lost", job)
        for step in job["steps"]:
            self.faults.expect(step["state"] == "succeeded" or
                               step["service"] not in entry.steps_done,
                               "a succeeded step is undone", step, job)

    def check_ends(self, jobs):
        """`jobs` as for check_state, when all of them have ended."""
        for job_id, job in jobs.items():
            entry = self.by_id[job_id]
            got = (job["state"], job["error"] and job["error"]["code"])
            allowed = {EXPECTED[entry.sent["parameters"]["outcome"]]}
            if entry.cancels:
                allowed.add(("cancelled", "cancelled"))
            if _three_in_a_row(entry.interrupted[job["finished_at"]]):
                allowed.add(("failed", "interrupted"))
            self.faults.expect(got in allowed, "a job's end contradicts its provider's answer",
                               got, job)
            done = [step["service"] for step in job["steps"] if step["state"] == "succeeded"]
            self.faults.expect(job["properties"] == {service: job_id for service in done},
                               "properties are missing", job)
            self.faults.expect(job["state"] != "succeeded" or done == job["services"],
                               "a job succeeded without all of its steps", job)

    def sizes_in_force(self, cell, first, since, until):
        return sizes.sizes_in_force(self.sizes.get(cell, []), first, since, until)

    def started_at(self, entry, service):
        """When the step's first attempts began, according to celld: one time, at most a
        millisecond early, for each end of the job that was seen."""
        for job in entry.ends.values():
            for step in job["steps"]:
                if step["service"] == service and step["started_at"] is not None:
                    yield unix_time(step["started_at"])


def unix_time(text):
    """Of an RFC 3339 time in UTC with milliseconds."""
    return calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) + float(text[19:23])


def _three_in_a_row(interruptions):
    """Whether three lives died while they ran the job's step, and nothing else happened to it."""
    by_epoch = {each.epoch: each for each in interruptions}
    last = [by_epoch[epoch] for epoch in sorted(by_epoch)][-3:]
    return [each.before for each in last] == [0, 1, 2] and len({each.step for each in last}) == 1
