"""What celld, its commands and its connections leave on the machine."""

import collections
import contextlib
import os
import signal

MARK = "CELLD_HOSTILE_TEST"


def process_numbers():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def marked(mark):
    """The processes with this mark in their environment: commands, and whatever comes of them."""
    found = []
    wanted = f"{MARK}={mark}".encode()
    for pid in process_numbers():
        with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
            if wanted in file.read().split(b"\0"):
                found.append(pid)
    return found


def escaped(mark):
    """Those of them in a session of their own: celld promises to let them go."""
    found = []
    for pid in marked(mark):
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(pid) == pid:
                found.append(pid)
    return found


def kill(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def offspring(ancestor):
    """All that descends from a process, also what has ended and nobody has waited for."""
    children = collections.defaultdict(set)
    for pid in process_numbers():
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            children[int(file.read().rpartition(")")[2].split()[1])].add(pid)
    found, queue = set(), [ancestor]
    while queue:
        of_one = children[queue.pop()]
        found |= of_one
        queue += of_one
    return found


def describe(pids):
    """As ps would."""
    texts = []
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            texts.append(" ".join(file.read().split()[:5]))
    return texts


def descriptors(pid):
    """What each open one is, counted."""
    names = collections.Counter()
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            target = os.readlink(f"/proc/{pid}/fd/{name}")
            names[target if target.startswith("/") else target.partition(":")[0]] += 1
    return names
