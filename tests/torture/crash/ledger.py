"""What celld owes its clients, after what it has told them.

Knows neither celld nor the clock: it is fed the notes of a journal, in order, and asked whether the
jobs that celld shows are what they have to be. What is wrong is in `faults`.
"""

import dataclasses

from faults import Faults

ENDED = ("succeeded", "failed", "cancelled")
# By the outcome that a provider gives: how the job ends when nobody cancels it.
EXPECTED = {"ok": ("succeeded", None), "slow": ("succeeded", None), "flaky": ("succeeded", None),
            "busy": ("succeeded", None), "reject": ("failed", "provider_rejected"),
            "hang": ("failed", "timeout")}
INTERRUPTIONS_MAX = 3


@dataclasses.dataclass
class Entry:
    """One request for a job, and all that was told about the job."""
    key: str
    sent: dict
    id: "str | None" = None
    accepted: bool = False
    deaths_before: int = 0
    ends: dict = dataclasses.field(default_factory=dict)    # By finished_at: the job as it ended.
    deaths_until: dict = dataclasses.field(default_factory=dict)  # By finished_at, as first seen.
    doubtful: set = dataclasses.field(default_factory=set)  # Ends before the last retry.
    void: set = dataclasses.field(default_factory=set)      # Ends that an answered retry undid.
    settled: "str | None" = None    # The end that stands, since no retry was asked for after it.
    settled_at: float = 0.0         # When that was told.
    steps_done: dict = dataclasses.field(default_factory=dict)  # By service: when it was told.
    cancels: list = dataclasses.field(default_factory=list)  # When asked for, answered or not.
    retries: int = 0
    must_cancel: bool = False       # An answered cancel that no retry followed.
    must_have_ended: bool = False   # A cancel was refused since the job had ended.


class Ledger:
    def __init__(self):
        self.faults = Faults()
        self.entries = {}   # By key.
        self.by_id = {}
        self.lives = {}     # By number: how it ends (None: not yet), when it was struck, and died.
        self.deaths = 0
        self.sizes = {}     # By cell: [asked for at, answered at, size].

    def enter(self, note):
        """Whether the note says anything new."""
        return getattr(self, "_" + note["note"])(note) is not False

    # The notes.

    def _began(self, note):
        self.lives[note["life"]] = {"how": None, "struck": None, "died": None}

    def _struck(self, note):
        self.lives[note["life"]].update(how=note["how"], struck=note["at"])

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

    def _asking(self, note):
        entry = self.by_id[note["id"]]
        if note["what"] == "cancel":
            entry.cancels.append(note["at"])
        else:
            entry.retries += 1
            entry.doubtful = set(entry.ends)
            entry.settled, entry.must_cancel, entry.must_have_ended = None, False, False

    def _told(self, note):
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
            self.faults.expect(False, "a job that nobody submitted", job)
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
            # One that still keeps its entity goes with the line to another cell.
            changes = {name: (known.get(name), job.get(name)) for name in {**known, **job}
                       if known.get(name) != job.get(name) and name != "cell"}
            self.faults.expect(not changes, "an ended job changed", job["id"], changes)
            return bool(changes)
        entry.ends[end] = job
        entry.deaths_until[end] = self.deaths
        self.faults.expect(len(entry.ends) <= 1 + entry.retries, "a job ended twice",
                           list(entry.ends.values()))
        entry.settled, entry.settled_at = end, at
        return True

    def _identify(self, entry, job_id):
        self.faults.expect(entry.id in (None, job_id), "one request became two jobs", entry.key,
                           entry.id, job_id)
        entry.id = job_id
        self.by_id[job_id] = entry

    # The questions.

    def check_standing(self, jobs):
        """`jobs`: all that celld has, by id, while no request is under way."""
        for entry in self.entries.values():
            job = jobs.get(entry.id)
            if job is None:
                self.faults.expect(not entry.accepted, "an accepted job is lost", entry.id,
                                   entry.key)
                continue
            self._check_sent(entry, job)
            self._check_standing(entry, job)

    def _check_sent(self, entry, job):
        for name, value in entry.sent.items():
            self.faults.expect(job.get(name) == value or name == "retry",
                               "a job is not what was sent", entry.id, name, value, job.get(name))

    def _check_standing(self, entry, job):
        ended = job["state"] in ENDED
        if entry.settled is not None:
            self.faults.expect(ended and job["finished_at"] == entry.settled,
                               "an ended job goes on", entry.ends[entry.settled], job)
        elif ended:
            # An unanswered retry came to nothing; when the end was told first counts no more.
            entry.settled, entry.settled_at = job["finished_at"], float("inf")
        self.faults.expect(not ended or job["finished_at"] not in entry.void,
                           "an answered retry is lost", job)
        self.faults.expect(ended or not entry.must_have_ended,
                           "a job goes on that had ended when its cancellation was refused", job)
        if entry.must_cancel:
            self.faults.expect(job["state"] == "cancelled" or
                               not ended and job["cancel_requested"],
                               "an answered cancellation is lost", job)
        for step in job["steps"]:
            self.faults.expect(step["state"] == "succeeded" or
                               step["service"] not in entry.steps_done,
                               "a step that had succeeded is undone", step, job)

    def check_ends(self, jobs):
        """`jobs` as for check_standing, once all is over."""
        for job_id, job in jobs.items():
            entry = self.by_id[job_id]
            got = (job["state"], job["error"] and job["error"]["code"])
            allowed = {EXPECTED[entry.sent["parameters"]["outcome"]]}
            if entry.cancels:
                allowed.add(("cancelled", "cancelled"))
            deaths = entry.deaths_until[job["finished_at"]] - entry.deaths_before
            if deaths >= INTERRUPTIONS_MAX:
                allowed.add(("failed", "interrupted"))
            self.faults.expect(got in allowed, "a job did not end as its provider answered",
                               got, job)
            done = [step["service"] for step in job["steps"] if step["state"] == "succeeded"]
            self.faults.expect(job["properties"] == {service: job_id for service in done},
                               "properties are missing", job)
            self.faults.expect(job["state"] != "succeeded" or done == job["services"],
                               "a job succeeded without all of its steps", job)

    def sizes_in_force(self, cell, first, since, until):
        """The sizes that the pool of `cell` may have had in a span of time."""
        sizes, possible = set(), [(float("-inf"), first)]
        for asked_at, answered_at, size in self.sizes.get(cell, []):
            if answered_at is not None:
                # From its answer on, none of the earlier ones is in force.
                sizes |= {s for b, s in possible if b <= until and answered_at >= since}
                possible = []
            possible.append((asked_at, size))
        return sizes | {s for b, s in possible if b <= until}
