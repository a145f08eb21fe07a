"""Pure functions that judge a storm by when its jobs began and ended."""

import bisect
from typing import NamedTuple

GOODPUT_MIN = 0.9
GAP_S_MAX = 2.0  # Four times the latency of a job.
CALM_S = 2.0     # Goodput has recovered once it has been normal for this long.
STEP_S = 0.1


class Job(NamedTuple):
    state: str
    attempt: int
    began_at: float
    ended_at: float


def rate(ends, began_at, ended_at):
    """Jobs ended per second. `ends` is sorted."""
    count = bisect.bisect_left(ends, ended_at) - bisect.bisect_left(ends, began_at)
    return count / (ended_at - began_at)


def longest_gap_s(ends, began_at, ended_at):
    """The longest time in which no job ended."""
    between = ends[bisect.bisect_left(ends, began_at):bisect.bisect_left(ends, ended_at)]
    marks = [began_at, *between, ended_at]
    return max(later - earlier for earlier, later in zip(marks, marks[1:]))


def beginnings(jobs):
    """Yields (time, jobs running) at the start of each job, itself included. Within a millisecond
    ends precede starts, since they free workers."""
    running = 0
    for at, change in edges(jobs):
        running += change
        if change > 0:
            yield at, running


def edges(jobs):
    return sorted([(job.began_at, 1) for job in jobs] + [(job.ended_at, -1) for job in jobs])


def worker_seconds(jobs, sizes, began_at, ended_at):
    """The available worker time: the pool's size over time, or the number of running jobs where
    retiring workers make it larger. `sizes` are (since, size), sorted."""
    marks = sorted([(at, change, None) for at, change in edges(jobs)] +
                   [(at, 0, size) for at, size in sizes] + [(ended_at, 0, None)],
                   key=lambda mark: mark[:2])
    total, running, size, since = 0.0, 0, 0, began_at
    for at, change, new_size in marks:
        until = min(max(at, began_at), ended_at)
        total += max(running, size) * (until - since)
        since = until
        running += change
        size = size if new_size is None else new_size
    return total


def use(jobs, ends, sizes, latency_s, began_at, ended_at):
    """The fraction of the available worker time that was used: 1 if no worker was ever idle and
    celld added nothing to the provider's latency."""
    worked = rate(ends, began_at, ended_at) * (ended_at - began_at) * latency_s
    return worked / worker_seconds(jobs, sizes, began_at, ended_at)


def recovery_s(ends, after, until, enough):
    """Seconds from `after` until `enough` jobs end per second; None if not by `until`."""
    for step in range(int((until - after - CALM_S) / STEP_S) + 1):
        began_at = after + step * STEP_S
        if rate(ends, began_at, began_at + CALM_S) >= enough:
            return step * STEP_S
    return None
