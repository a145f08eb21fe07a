"""How late attempts were over, and when that is a fault.

A busy machine makes one attempt or the other late. So whatever is late is tried again alone, and
only what is late each time is celld's fault.
"""

import collections
import datetime

from daemon import SLOWDOWN

MS_MAX = {"HTTP attempts": 100 * SLOWDOWN, "their connections": 100 * SLOWDOWN,
          "commands": 1000 * SLOWDOWN, "their processes": 1000 * SLOWDOWN}
REPEATS = 3
# Those that meet each other are late together; so it takes many to say that most are late.
MANY = 30


def moment(text):
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%f%z").timestamp()


def of_attempt(step, timeout_ms, kinds, held_at):
    """{kind: milliseconds} of one attempt. `kinds` are the attempt's own and that of what celld
    holds for it; `held_at` is when it was last seen to hold that, None when it need not let go."""
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
        """`is_explained(what)`: whether the machine was too busy to judge that."""
        self.is_explained = is_explained
        self.most_ms = dict.fromkeys(MS_MAX, 0.0)
        self.met = collections.Counter()
        self.late = collections.Counter()
        self.repeated = 0  # Attempts.

    def judge(self, found, again):
        """What is wrong. `again()` makes the same attempt alone, and returns what else is wrong
        and what was found then."""
        self.met.update(found.keys())
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
        """Of all together: what is only late beside others must not be so as a rule."""
        found = [f"of {self.met[kind]} {kind} {self.late[kind]} were late"
                 for kind in MS_MAX if self.met[kind] >= MANY and
                 self.late[kind] > self.met[kind] / 2]
        return [] if found and self.is_explained(found) else found

    def __str__(self):
        return ", ".join(f"{kind} over {ms:.0f} ms late at most"
                         for kind, ms in self.most_ms.items() if self.met[kind]) + (
                             f"; {self.repeated} attempts repeated because they were late")
