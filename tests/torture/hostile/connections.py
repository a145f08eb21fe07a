"""Connections that misbehave before the request has been read, or instead of reading it."""

import socket
import struct
import threading
import time

from hostility import (BROKEN, LARGE_BYTES, NOT_HTTP, NOT_REACHED, OUT_OF_TIME, SUCCESS,
                       TOO_LARGE, HostileBehaviour)
from provider import hung_up

PATIENCE_S = 30.0


class HostileServer:
    """A server on a port of its own that runs `act(connection)` for each connection."""

    def __init__(self):
        self.act = end
        self.connections = set()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        self.connections.add(connection)
        with connection:
            try:
                self.act(connection)
            except OSError:
                pass
        self.connections.discard(connection)

    def close(self):
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def wait_for_hangup(connection):
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        if hung_up(connection):
            return
        time.sleep(0.01)


def swallow_and_wait(connection):
    """Reads everything and answers nothing."""
    connection.settimeout(PATIENCE_S)
    while connection.recv(1 << 16):
        pass


def read_some(count, then):
    def act(connection):
        connection.recv(count)
        then(connection)
    return act


def send(data, then=swallow_and_wait):
    def act(connection):
        connection.sendall(data)
        then(connection)
    return act


def flood(connection):
    for _ in range(4096):
        connection.sendall(b"\x16\x03\x01" + b"x" * 65533)


def end(connection):
    """Does nothing: _serve closes the connection."""


# Starts of TLS records: a handshake that is never complete, an alert, and nonsense.
TLS_WORDS = (b"\x16\x03\x03\x40\x00", b"\x15\x03\x03\x00\x02\x02\x28", b"\x00" * 100,
             b"HTTP/1.1 400 Bad Request\r\n\r\n")

UNREACHED = (NOT_REACHED,)
LARGE = {"parameter_bytes": LARGE_BYTES}
TLS = {"tls": True}
CONNECTIONS = [HostileBehaviour(*row[:3], **(row[3] if len(row) > 3 else {})) for row in (
    ("resets-at-once", lambda rng: reset, (NOT_REACHED, BROKEN)),
    ("closes-at-once", lambda rng: end, (BROKEN, NOT_REACHED)),
    ("resets-in-the-request", lambda rng: read_some(rng.randrange(1, 200), reset), (BROKEN,)),
    ("closes-in-the-request", lambda rng: read_some(rng.randrange(1, 200), end), (BROKEN,)),
    ("resets-in-a-large-request", lambda rng: read_some(rng.randrange(1, 100_000), reset),
     (BROKEN,), LARGE),
    ("never-reads", lambda rng: wait_for_hangup, (OUT_OF_TIME,)),
    ("never-reads-a-large-request", lambda rng: wait_for_hangup, (OUT_OF_TIME,), LARGE),
    ("reads-and-says-nothing", lambda rng: swallow_and_wait, (OUT_OF_TIME,), LARGE),
    ("answers-before-it-is-asked", lambda rng: send(
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"), (SUCCESS, BROKEN)),
    ("floods-before-it-is-asked", lambda rng: flood, (NOT_HTTP, BROKEN, TOO_LARGE)),
    ("hangs-in-its-handshake", lambda rng: swallow_and_wait, (OUT_OF_TIME,), TLS),
    ("resets-in-its-handshake", lambda rng: read_some(rng.randrange(1, 300), reset), UNREACHED,
     TLS),
    ("closes-in-its-handshake", lambda rng: read_some(rng.randrange(1, 300), end), UNREACHED, TLS),
    ("garbles-its-handshake", lambda rng: send(rng.choice(TLS_WORDS)),
     (NOT_REACHED, OUT_OF_TIME), TLS),
    ("floods-its-handshake", lambda rng: flood, UNREACHED, TLS),
)]
