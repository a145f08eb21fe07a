"""The processes, connections and descriptors of celld and its commands."""

import collections
import contextlib
import os
import signal

MARK = "CELLD_HOSTILE_TEST"


def process_numbers():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def service_of(pid, directory):
    """The service whose command started this process: the mark in its environment is the service's
    name below the test's directory. None for other processes and for those that have ended."""
    wanted = f"{MARK}={directory}/".encode()
    with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
        for variable in file.read().split(b"\0"):
            if variable.startswith(wanted):
                return variable[len(wanted):].decode()
    return None


def marked(directory):
    """The processes of commands and their descendants."""
    return [pid for pid in process_numbers() if service_of(pid, directory)]


def escaped(directory):
    """The marked processes in a session of their own, which celld promises to leave alone."""
    found = []
    for pid in marked(directory):
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(pid) == pid:
                found.append(pid)
    return found


def stat(pid):
    """State, parent, group, session, and so on; empty when the process is gone."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()
    return []


def at_work(directory, groups):
    """The services whose commands have a process, or a zombie, in their process group. `groups`
    remembers the service of each group from one call to the next."""
    found = set()
    for pid in process_numbers():
        _, _, group, session, *_ = stat(pid) or [None] * 4
        if group == session:
            continue  # Not a command, or one that has escaped.
        if group not in groups and (service := service_of(pid, directory)):
            groups[group] = service
        if group in groups:
            found.add(groups[group])
    return found


def connected(ports):
    """The names of the ports in `ports` ({port: name}) to which some process holds a connection,
    whether or not the peer still knows it."""
    found = set()
    with open("/proc/net/tcp", encoding="ascii") as file:
        next(file)
        for line in file:
            _, _, remote, _, _, _, _, _, _, inode, *_ = line.split()
            if inode != "0":  # Closed connections have no inode.
                found.add(ports.get(int(remote.rpartition(":")[2], 16)))
    return found - {None}


def kill(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def offspring(ancestor):
    """All descendants of a process, zombies included."""
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
    """The processes as text, similar to the output of ps."""
    texts = []
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            texts.append(" ".join(file.read().split()[:5]))
    return texts


def descriptors(pid):
    """The targets of a process's open descriptors, counted."""
    names = collections.Counter()
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            target = os.readlink(f"/proc/{pid}/fd/{name}")
            names[target if target.startswith("/") else target.partition(":")[0]] += 1
    return names
