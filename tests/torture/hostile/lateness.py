"""How late attempts end, and when that is a fault.

A busy machine makes single attempts late. So the test repeats a late attempt alone, and blames
celld for a behaviour only if the attempt is late every time. It also blames celld if more than a
very few of all attempts are late (P8).
"""

import collections
import datetime

from daemon import SLOWDOWN

MS_MAX = {"HTTP attempts": 100 * SLOWDOWN, "their connections": 100 * SLOWDOWN,
          "commands": 1000 * SLOWDOWN, "their processes": 1000 * SLOWDOWN}
REPEATS = 3
LATE_SHARE_MAX = 0.005
# On a busy machine, concurrent attempts are late together. More than this is a fault on any machine.
BUSY_LATE_SHARE_MAX = 0.2
# Among fewer attempts, a single late one exceeds the share.
MANY = 200


def moment(text):
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%f%z").timestamp()


def of_attempt(step, timeout_ms, kinds, held_at):
    """The lateness of one attempt, {kind: milliseconds}. `kinds` names the attempt and what celld
    holds for it; `held_at` is when celld was last seen to hold that, or None if it may keep it."""
    ended_at = moment(step["finished_at"])
    deadline = moment(step["started_at"]) + timeout_ms / 1000
    own, held = kinds
    found = {own: max(0.0, 1000 * (ended_at - deadline))}
    if held_at is not None:
        found[held] = max(0.0, 1000 * (held_at - min(ended_at, deadline)))
    return found


def late(found):
    return {kind for kind, ms in found.items() if ms > MS_MAX[kind]}


class Lateness:
    def __init__(self, is_explained=lambda what: False):
        """`is_explained(what)`: whether the machine was too busy to judge `what`."""
        self.is_explained = is_explained
        self.most_ms = dict.fromkeys(MS_MAX, 0.0)
        self.seen = collections.Counter()
        self.late = collections.Counter()
        self.repeated = 0  # Attempts.

    def judge(self, found, again):
        """Returns the faults. `again()` repeats the attempt alone, and returns its other faults and
        its lateness."""
        self.seen.update(found.keys())
        self.late.update(late(found))
        faults, tries = [], [found]
        self._note(found)
        while (always := set.intersection(*map(late, tries))) and len(tries) <= REPEATS:
            more, found = again()
            faults += more
            tries.append(found)
            self.repeated += 1
            self._note(found)
        if always and self.is_explained(f"{', '.join(sorted(always))} late each time"):
            return faults
        return faults + [f"{kind} are late each time: by "
                         f"{', '.join(f'{one[kind]:.0f}' for one in tries)} ms"
                         for kind in sorted(always)]

    def _note(self, found):
        for kind, ms in found.items():
            self.most_ms[kind] = max(self.most_ms[kind], ms)

    def faults(self):
        """The faults of all attempts together, counting as late those that were late only beside
        others."""
        return [fault for kind in MS_MAX if self.seen[kind] >= MANY for fault in self._share(kind)]

    def _share(self, kind):
        share = self.late[kind] / self.seen[kind]
        fault = f"of {self.seen[kind]} {kind} {self.late[kind]} were late"
        if share <= LATE_SHARE_MAX or (share <= BUSY_LATE_SHARE_MAX and self.is_explained(fault)):
            return []
        return [fault]

    def __str__(self):
        return ", ".join(f"{kind} at most {ms:.0f} ms late"
                         for kind, ms in self.most_ms.items() if self.seen[kind]) + (
                             f"; {self.repeated} late attempts repeated")
