"""What celld owes its clients, given the answers they received.

The ledger knows neither celld nor the clock. It takes the notes of a journal in order and checks
the jobs that celld shows against them. `faults` collects what is wrong.
"""

import dataclasses

from faults import Faults

ENDED = ("succeeded", "failed", "cancelled")
# The job's state and error code by the provider's outcome, unless a client cancels the job.
EXPECTED = {"ok": ("succeeded", None), "slow": ("succeeded", None), "flaky": ("succeeded", None),
            "busy": ("succeeded", None), "reject": ("failed", "provider_rejected"),
            "hang": ("failed", "timeout")}
INTERRUPTIONS_MAX = 3


@dataclasses.dataclass
class Entry:
    """One submission, and all that celld reported about its job."""
    key: str
    sent: dict
    id: "str | None" = None
    accepted: bool = False
    deaths_before: int = 0
    ends: dict = dataclasses.field(default_factory=dict)    # By finished_at: the ended job.
    deaths_until: dict = dataclasses.field(default_factory=dict)  # By finished_at: deaths so far.
    doubtful: set = dataclasses.field(default_factory=set)  # Ends seen before the last reopening.
    void: set = dataclasses.field(default_factory=set)  # Ends undone by an acknowledged reopening.
    final: "str | None" = None      # The end that no later reopening can have undone.
    final_at: float = 0.0           # When it was first seen.
    steps_done: dict = dataclasses.field(default_factory=dict)  # By service: when first seen.
    cancels: list = dataclasses.field(default_factory=list)  # When requested, answered or not.
    retries: int = 0
    must_cancel: bool = False       # A cancellation was acknowledged, and no reopening followed.
    must_have_ended: bool = False   # A cancellation was refused because the job had ended.


class Ledger:
    def __init__(self):
        self.faults = Faults()
        self.entries = {}   # By key.
        self.by_id = {}
        self.lives = {}     # By number: how it ends (None: not yet), when signalled, when dead.
        self.deaths = 0     # Lives that ended other than by a stop.
        self.sizes = {}     # By cell: [requested at, answered at, size].

    def enter(self, note):
        """Returns whether the note is news."""
        return getattr(self, "_" + note["note"])(note) is not False

    # Notes.

    def _began(self, note):
        self.lives[note["life"]] = {"how": None, "signalled": None, "died": None}

    def _signalled(self, note):
        self.lives[note["life"]].update(how=note["how"], signalled=note["at"])

    def _died(self, note):
        self.lives[note["life"]].update(how=note["how"], died=note["at"])
        self.deaths += note["how"] != "stop"

    def _submitting(self, note):
        if note["key"] in self.entries:
            return False
        self.entries[note["key"]] = Entry(note["key"], note["job"], deaths_before=self.deaths)
        return True

    def _accepted(self, note):
        entry = self.entries[note["key"]]
        self._identify(entry, note["id"])
        entry.accepted = True

    def _requesting(self, note):
        entry = self.by_id[note["id"]]
        if note["what"] == "cancel":
            entry.cancels.append(note["at"])
        else:
            entry.retries += 1
            entry.doubtful = set(entry.ends)
            entry.final, entry.must_cancel, entry.must_have_ended = None, False, False

    def _answered(self, note):
        entry = self.by_id[note["id"]]
        if note["what"] == "cancel":
            entry.must_cancel |= note["status"] == 200
            entry.must_have_ended |= note["status"] == 409
        elif note["status"] == 202:
            entry.void |= entry.doubtful

    def _resizing(self, note):
        self.sizes.setdefault(note["cell"], []).append([note["at"], None, note["size"]])

    def _resized(self, note):
        self.sizes[note["cell"]][-1][1] = note["at"]

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
        entry.deaths_until[end] = self.deaths
        self.faults.expect(len(entry.ends) <= 1 + entry.retries, "a job ended twice",
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
            deaths = entry.deaths_until[job["finished_at"]] - entry.deaths_before
            if deaths >= INTERRUPTIONS_MAX:
                allowed.add(("failed", "interrupted"))
            self.faults.expect(got in allowed, "a job's end contradicts its provider's answer",
                               got, job)
            done = [step["service"] for step in job["steps"] if step["state"] == "succeeded"]
            self.faults.expect(job["properties"] == {service: job_id for service in done},
                               "properties are missing", job)
            self.faults.expect(job["state"] != "succeeded" or done == job["services"],
                               "a job succeeded without all of its steps", job)

    def sizes_in_force(self, cell, first, since, until):
        """The sizes that the pool of `cell` may have had between `since` and `until`. `first` is
        the configured size."""
        sizes, possible = set(), [(float("-inf"), first)]
        for requested_at, answered_at, size in self.sizes.get(cell, []):
            if answered_at is not None:
                # Once this resize is answered, no earlier size is in force.
                sizes |= {s for b, s in possible if b <= until and answered_at >= since}
                possible = []
            possible.append((requested_at, size))
        return sizes | {s for b, s in possible if b <= until}
