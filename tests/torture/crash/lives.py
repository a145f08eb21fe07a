"""The lives of one celld, as known by the test that ends them."""

import dataclasses
import time


@dataclasses.dataclass
class Life:
    """Times are from CLOCK_MONOTONIC."""
    signalled_at: "float | None" = None  # The first signal that is to end it.
    dead_at: float = float("inf")
    killed: bool = False                 # Even if celld was shutting down.
    stopping: bool = False               # It was told to shut down, so it refuses jobs.


class Lives:
    """The lives so far, numbered from 1."""

    def __init__(self):
        self.all = []

    @property
    def number(self):
        """Of the latest life."""
        return len(self.all)

    def begin(self):
        self.all.append(Life())

    def signalled(self, stop):
        self.all[-1].signalled_at, self.all[-1].stopping = time.monotonic(), stop

    def dead(self, killed):
        self.all[-1].dead_at, self.all[-1].killed = time.monotonic(), killed

    def is_stopping(self, number):
        return number > 0 and self.all[number - 1].stopping

    def spans(self):
        """Of each life: a time before its start, and one at which it was dead."""
        dead = [life.dead_at for life in self.all]
        return list(zip([float("-inf"), *dead], dead))

    def ends_between(self, begin, end):
        """How many lives may have ended between the two times."""
        return sum(life.signalled_at is not None and begin <= life.dead_at and
                   life.signalled_at <= end for life in self.all)

    def kills_between(self, begin, end):
        return sum(life.killed and begin <= life.dead_at and life.signalled_at <= end
                   for life in self.all)

    def may_have_lost(self, call):
        """Whether celld may have ended before it recorded the end of the call."""
        life = self.all[call.life - 1]
        if life.signalled_at is None:
            return False
        return life.killed or call.ended_at is None or call.ended_at >= life.signalled_at

    def end_of(self, call):
        """A call ends at the latest with its celld, although the provider may notice later."""
        return min(self.all[call.life - 1].dead_at,
                   call.ended_at if call.ended_at is not None else float("inf"))
