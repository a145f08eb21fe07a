"""Bounds on real time that a busy machine cannot break.

A test fails for being late only when the machine had processors to spare. Linux reports for how
much of the time at least one runnable thread waited for a processor (/proc/pressure/cpu, "some"),
and how long the hypervisor took the processors away ("steal" in /proc/stat). If these times can
explain the lateness, the test prints "not judged: ..." instead of failing; scripts/test lists these
lines at its end.
"""

import contextlib
import os
import sys
import time

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PROCESSORS = os.cpu_count() or 1
OWN_PID = os.getpid()  # Also in processes that this one forks.
BUSY_SHARE_MAX = 0.15  # Of all processors.


def not_judged(what, why):
    print(f"not judged: {what}: {why}", file=sys.stderr, flush=True)


def processor_times_s():
    """(used by processes, stolen) seconds of all processors since the machine started."""
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(text) for text in file.readline().split()[1:9]]
    user, nice, system, _, _, _, _, steal = ticks
    return (user + nice + system) / TICKS_PER_S, steal / TICKS_PER_S


def waited_s():
    """The time since the machine started in which at least one thread waited for a processor, plus
    the stolen time of all processors. None when the kernel does not count the former."""
    try:
        with open("/proc/pressure/cpu", encoding="ascii") as file:
            pressure_s = int(file.readline().rpartition("=")[2]) / 1e6
    except OSError:
        return None
    return pressure_s + processor_times_s()[1]


def own_s():
    """The processor time of the test's process and its descendants since they started."""
    parents, used_s = {}, {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", encoding="ascii",
                                                errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
            parents[int(name)] = int(fields[1])
            used_s[int(name)] = sum(map(int, fields[11:15])) / TICKS_PER_S  # With reaped children.
    family = {OWN_PID}
    while grown := {each for each, parent in parents.items() if parent in family} - family:
        family |= grown
    return sum(used_s.get(each, 0) for each in family)


class Machine:
    """Measures the machine from the construction of this object on."""

    def __init__(self):
        self.waited_before_s = waited_s()

    def waited_s(self):
        """The lateness that other processes may have caused."""
        if self.waited_before_s is None:
            return float("inf") if os.getloadavg()[0] > PROCESSORS / 2 else 0.0
        return waited_s() - self.waited_before_s

    def is_in_time(self, what, took_s, most_s):
        """Whether `took_s` is below `most_s`, or the machine explains why not."""
        if took_s < most_s:
            return True
        waited = self.waited_s()
        if took_s - most_s > waited:
            return False
        not_judged(what, f"took {took_s:.2f} s, not {most_s:.2f}, while threads waited "
                         f"{waited:.2f} s for a processor")
        return True


class Quiet:
    """Whether other processes have kept the machine busy since the construction of this object."""

    def __init__(self):
        self.began_at = time.monotonic()
        self.others_before_s = self._others_s()

    @staticmethod
    def _others_s():
        """Counts no interrupts: an attack causes those that its packets raise."""
        return sum(processor_times_s()) - own_s()

    def explains(self, what):
        """Reports `what` as not judged, if the machine was busy."""
        passed_s = time.monotonic() - self.began_at
        share = (self._others_s() - self.others_before_s) / (passed_s * PROCESSORS)
        if share <= BUSY_SHARE_MAX:
            return False
        not_judged(what, f"other processes used {100 * share:.0f} % of the machine")
        return True
