"""What the times at which jobs began and ended tell of a storm. Pure functions."""

import bisect
from typing import NamedTuple

GOODPUT_MIN = 0.9
GAP_S_MAX = 2.0  # Four times what a job takes.
CALM_S = 2.0     # Goodput is as before when it is so for that long.
STEP_S = 0.1


class Job(NamedTuple):
    state: str
    attempt: int
    began_at: float
    ended_at: float


def rate(ends, began_at, ended_at):
    """Jobs ended per second; `ends` are in order."""
    count = bisect.bisect_left(ends, ended_at) - bisect.bisect_left(ends, began_at)
    return count / (ended_at - began_at)


def longest_gap_s(ends, began_at, ended_at):
    """The longest time in which none ended."""
    between = ends[bisect.bisect_left(ends, began_at):bisect.bisect_left(ends, ended_at)]
    marks = [began_at, *between, ended_at]
    return max(later - earlier for earlier, later in zip(marks, marks[1:]))


def beginnings(jobs):
    """(when, how many ran then) for each job that began, itself included. In the same millisecond
    ends come first, as they make room."""
    running = 0
    for at, change in edges(jobs):
        running += change
        if change > 0:
            yield at, running


def edges(jobs):
    return sorted([(job.began_at, 1) for job in jobs] + [(job.ended_at, -1) for job in jobs])


def worker_seconds(jobs, sizes, began_at, ended_at):
    """How much could have been worked: by as many workers as the pool had, or as ran when these
    were more, because some were on their way out. `sizes` are (since when, how many), in order."""
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
    """Which part of that was worked: 1 when jobs took no longer than their provider, and no worker
    ever waited."""
    worked = rate(ends, began_at, ended_at) * (ended_at - began_at) * latency_s
    return worked / worker_seconds(jobs, sizes, began_at, ended_at)


def recovery_s(ends, after, until, enough):
    """How long after `after` as many jobs as before end per second again; None: not by `until`."""
    for step in range(int((until - after - CALM_S) / STEP_S) + 1):
        began_at = after + step * STEP_S
        if rate(ends, began_at, began_at + CALM_S) >= enough:
            return step * STEP_S
    return None
