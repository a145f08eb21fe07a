"""A client of event streams."""

import json
import socket

from daemon import DEADLINE_S


class Stream:
    """A stream of server-sent events over a plain socket, parsed as the HTML standard defines."""

    def __init__(self, daemon, path, last_event_id=None, rcvbuf=None, token=None):
        self.socket = socket.socket()
        if rcvbuf:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.socket.settimeout(DEADLINE_S)
        self.socket.connect((daemon.host, daemon.port))
        head = f"GET {path} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n"
        if last_event_id is not None:
            head += f"Last-Event-ID: {last_event_id}\r\n"
        if token is not None:
            head += f"Authorization: Bearer {token}\r\n"
        self.socket.sendall((head + "\r\n").encode())
        self.file = self.socket.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.headers = {}
        while (line := self.file.readline().strip()):
            name, _, value = line.decode().partition(":")
            self.headers[name.lower()] = value.strip()
        self.text = b""
        self.last_event_id = last_event_id

    def line(self):
        """The next line of the stream; None at its end."""
        while b"\n" not in self.text:
            size = self.file.readline()
            if not size.strip():
                return None
            piece = self.file.read(int(size, 16) + 2)[:-2]
            if not piece:
                return None
            self.text += piece
        line, _, self.text = self.text.partition(b"\n")
        return line.decode()

    def event(self):
        """(event, data) of the next event; None at the end of the stream."""
        fields = {}
        while True:
            line = self.line()
            if line is None:
                return None
            if not line:
                self.last_event_id = fields.get("id", self.last_event_id)
                if "data" in fields:
                    return fields["event"], json.loads(fields["data"])
                fields = {}
            name, _, value = line.partition(":")
            if name:
                fields[name] = value.removeprefix(" ")

    def position(self):
        """The next `id` that comes without an event; comments are skipped."""
        while True:
            line = self.line()
            if line is None or line.startswith("event:"):
                raise AssertionError("an event or the end instead of a position")
            if line.startswith("id: "):
                self.last_event_id = line.removeprefix("id: ")
                return self.last_event_id

    def jobs(self, count=None):
        """The jobs of the next `count` events, or of all up to the end."""
        jobs = []
        while count is None or len(jobs) < count:
            event = self.event()
            if event is None:
                break
            assert event[0] == "job.state", event
            jobs.append(event[1])
        return jobs

    def close(self):
        self.file.close()
        self.socket.close()
