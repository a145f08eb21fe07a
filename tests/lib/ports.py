"""Ports for programs that cannot choose their own."""

import contextlib
import random
import socket

PORTS = 20_000, 32_000  # Below /proc/sys/net/ipv4/ip_local_port_range.


def free_port():
    """A port that the system gives to no client, so that none takes it before the program does. Two
    tests that run at once may get the same port, though rarely."""
    while True:
        port = random.randrange(*PORTS)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
