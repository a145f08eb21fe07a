"""A fake provider: an HTTP server that behaves as each test requires, and records its calls.

A rule is a function from a Call to a behaviour; the default is `succeed()`. A behaviour is a
function of the call and its connection. It may answer, and returns whether the connection may be
used again.
"""

import json
import select
import socket
import struct
import threading
import time

SHORT_S = 0.01


class Call:
    """One request. `index` counts the earlier ones with the same idempotency key."""

    def __init__(self, path, headers, body, index):
        self.path = path
        self.headers = headers
        self.raw = body
        self.body = json.loads(body) if body else {}
        self.index = index
        self.started_at = time.monotonic()
        self.ended_at = None  # Before the first byte of the answer goes out.
        self.aborted = False  # celld closed the connection before it had its answer.

    @property
    def key(self):
        return self.headers.get("idempotency-key")

    @property
    def entity(self):
        entity = self.body["entity"]
        return (self.body["customer"], self.body["product"], entity["type"], entity["id"])

    @property
    def customer_product(self):
        return (self.body["customer"], self.body["product"])

    def end(self):
        if self.ended_at is None:
            self.ended_at = time.monotonic()


class Gate:
    """Holds calls back until the test releases them, in the order of their arrival."""

    def __init__(self):
        self.condition = threading.Condition()
        self.waiting = []
        self.permits = 0
        self.open = False

    def let(self, count):
        """Releases calls that wait now. Later ones pass if fewer than `count` wait."""
        with self.condition:
            released = min(count, len(self.waiting))
            del self.waiting[:released]
            self.permits += count - released
            self.condition.notify_all()

    def let_all(self):
        with self.condition:
            self.open = True
            self.condition.notify_all()

    def arrive(self):
        """A ticket for `passed`."""
        ticket = object()
        with self.condition:
            if self.permits > 0:
                self.permits -= 1
            else:
                self.waiting.append(ticket)
        return ticket

    def leave(self, ticket):
        """Gives up the place of a call that has not passed."""
        with self.condition:
            if ticket in self.waiting:
                self.waiting.remove(ticket)

    def passed(self, ticket, patience_s):
        """Whether the call may proceed; waits at most `patience_s`."""
        with self.condition:
            return self.condition.wait_for(lambda: self.open or ticket not in self.waiting,
                                           patience_s)


def hung_up(connection):
    """Whether the peer has closed or reset the connection."""
    try:
        readable, _, _ = select.select([connection], [], [], 0)
        return bool(readable) and not connection.recv(1, socket.MSG_PEEK)
    except OSError:
        return True


def response(status, body, headers=()):
    payload = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(payload)}",
             "Content-Type: application/json", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + payload


def raw(data, keep=False):
    """Sends these bytes as the answer, and closes the connection unless `keep`."""
    def behave(call, connection):
        call.end()
        connection.sendall(data)
        return keep
    return behave


def answer(status, body=b"", headers=()):
    return raw(response(status, body, headers), keep=True)


def succeed(properties=None, messages=None):
    body = {"properties": properties or {}}
    if messages is not None:
        body["messages"] = messages
    return answer(200, body)


def held(gate, then=None):
    """Waits for the gate, then behaves as `then`; ends early when celld hangs up."""
    then = then or succeed()

    def behave(call, connection):
        ticket = gate.arrive()
        while not gate.passed(ticket, SHORT_S):
            if hung_up(connection):
                gate.leave(ticket)
                call.aborted = True
                call.end()
                return False
        return then(call, connection)
    return behave


def slow(seconds, then=None):
    """Waits for this long, then behaves as `then`; ends early when celld hangs up."""
    then = then or succeed()

    def behave(call, connection):
        due = time.monotonic() + seconds
        while (left := due - time.monotonic()) > 0:
            time.sleep(min(left, SHORT_S))
            if hung_up(connection):
                call.aborted = True
                call.end()
                return False
        return then(call, connection)
    return behave


def hang():
    """Never answers."""
    return held(Gate())


def drip(gap_s=0.02):
    """Sends a valid answer byte by byte, so slowly that it never ends."""
    def behave(call, connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        try:
            while not hung_up(connection):
                connection.sendall(b" ")
                time.sleep(gap_s)
        except OSError:
            pass
        call.aborted = True
        call.end()
        return False
    return behave


def reset():
    """Breaks the connection with a TCP reset."""
    def behave(call, connection):
        call.end()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False
    return behave


class Provider:
    def __init__(self):
        self.lock = threading.Lock()
        self.calls = []
        self.rules = {}
        self.gates = []
        self.closed = False
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.connections = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def on(self, path, rule):
        """Calls of `path` behave as `rule(call)` returns. A list as `rule` has one behaviour for
        each attempt of a step; the last is also for all later attempts."""
        if isinstance(rule, list):
            self.rules[path] = lambda call: rule[min(call.index, len(rule) - 1)]
        else:
            self.rules[path] = rule

    def always(self, path, behaviour):
        self.rules[path] = lambda call: behaviour

    def hold(self, path, then=None):
        """Every call of `path` waits until the returned gate releases it."""
        gate = Gate()
        self.gates.append(gate)
        self.always(path, held(gate, then))
        return gate

    def release_all(self):
        for gate in self.gates:
            gate.let_all()

    def calls_of(self, path=None, job=None):
        with self.lock:
            return [call for call in self.calls
                    if path in (None, call.path) and job in (None, call.body.get("job"))]

    def running(self, path=None):
        return [call for call in self.calls_of(path) if call.ended_at is None]

    def peak(self, key):
        """For each `key(call)`, the largest number of such calls that ran at once."""
        edges = {}
        for call in self.calls_of():
            edges.setdefault(key(call), []).append((call.started_at, 1))
            if call.ended_at is not None:
                edges[key(call)].append((call.ended_at, -1))
        peaks = {}
        for name, marks in edges.items():
            count = peaks[name] = 0
            for _, step in sorted(marks):
                count += step
                peaks[name] = max(peaks[name], count)
        return peaks

    def close(self):
        self.closed = True
        self.release_all()
        try:
            self.listener.shutdown(socket.SHUT_RDWR)  # Ends a blocked accept; close does not.
        except OSError:
            pass
        self.listener.close()
        with self.lock:
            connections = list(self.connections)
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def _accept(self):
        while not self.closed:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.connections.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            with connection, connection.makefile("rb") as reader:
                while self._exchange(connection, reader):
                    pass
        except OSError:
            pass
        finally:
            with self.lock:
                self.connections.discard(connection)

    def _exchange(self, connection, reader):
        """Handles one request; returns whether another may follow."""
        request_line = reader.readline().split()
        if len(request_line) != 3:
            return False
        headers = {}
        while (line := reader.readline().strip()):
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        if headers.get("expect", "").lower() == "100-continue":
            connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = reader.read(int(headers.get("content-length", 0)))
        path = request_line[1].decode()
        with self.lock:
            key = headers.get("idempotency-key")
            index = sum(1 for call in self.calls if call.key == key)
            call = Call(path, headers, body, index)
            call.method = request_line[0].decode()
            self.calls.append(call)
        rule = self.rules.get(path, lambda call: succeed())
        try:
            return rule(call)(call, connection)
        except OSError:
            call.aborted = True
            return False
        finally:
            call.end()
