"""What celld, its commands and its connections leave on the machine."""

import collections
import contextlib
import os
import signal

MARK = "CELLD_HOSTILE_TEST"


def process_numbers():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def service_of(pid, directory):
    """The service whose command this process is or comes from: the mark in its environment is the
    service's name below the test's directory. None for others, and for those that have ended."""
    wanted = f"{MARK}={directory}/".encode()
    with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
        for variable in file.read().split(b"\0"):
            if variable.startswith(wanted):
                return variable[len(wanted):].decode()
    return None


def marked(directory):
    """The processes of commands, and whatever comes of them."""
    return [pid for pid in process_numbers() if service_of(pid, directory)]


def escaped(directory):
    """Those of them in a session of their own: celld promises to let them go."""
    found = []
    for pid in marked(directory):
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(pid) == pid:
                found.append(pid)
    return found


def stat(pid):
    """Its state, parent, group, session, and so on; nothing when it is gone."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()
    return []


def at_work(directory, groups):
    """The services whose commands have a process in their group, also one that has ended and that
    nobody has waited for. `groups` keeps what belongs to whom from one look to the next."""
    found = set()
    for pid in process_numbers():
        _, _, group, session, *_ = stat(pid) or [None] * 4
        if group == session:
            continue  # No command, or one that has escaped.
        if group not in groups and (service := service_of(pid, directory)):
            groups[group] = service
        if group in groups:
            found.add(groups[group])
    return found


def connected(ports):
    """The names of these ports, {port: name}, to which some process holds a connection, whatever
    the peer knows of it."""
    found = set()
    with open("/proc/net/tcp", encoding="ascii") as file:
        next(file)
        for line in file:
            _, _, remote, _, _, _, _, _, _, inode, *_ = line.split()
            if inode != "0":  # Nobody's any more, once it was closed.
                found.add(ports.get(int(remote.rpartition(":")[2], 16)))
    return found - {None}


def kill(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def offspring(ancestor):
    """All that descends from a process, also what has ended and nobody has waited for."""
    children = collections.defaultdict(set)
    for pid in process_numbers():
        for parent in stat(pid)[1:2]:
            children[int(parent)].add(pid)
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
