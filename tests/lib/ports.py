"""Ports for programs that cannot choose their own."""

import contextlib
import random
import socket

FIRST_PORT = 10_000


def ports_without_clients():
    """Ports that the system gives to no client. All ports, if it may give any to a client."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        first, last = map(int, file.read().split())
    below, above = range(FIRST_PORT, first), range(max(FIRST_PORT, last + 1), 1 << 16)
    return max(below, above, key=len) or range(FIRST_PORT, 1 << 16)


def free_port():
    """A port that the system gives to no client, so that none takes it before the program does. Two
    tests that run at once may get the same port, though rarely."""
    ports = ports_without_clients()
    while True:
        port = random.choice(ports)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
