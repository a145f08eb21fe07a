"""HTTP as bytes, including those that a client library would neither send nor show.

Answers are read strictly: anything but a well-formed HTTP/1.1 message fails the test.
"""

import json
import re
import selectors
import socket
import struct
import time

from daemon import DEADLINE_S

STATUS_LINE = re.compile(rb"HTTP/1\.1 ([1-5][0-9]{2}) [A-Za-z0-9' -]+")
FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+): ([\t\x20-\x7e\x80-\xff]*)")
CHUNK = re.compile(rb"([0-9a-fA-F]+)\r\n")
NO_BODY = (204, 304)
BOTH = selectors.EVENT_READ | selectors.EVENT_WRITE

# The state of a connection after the last read.
CLOSED, RESET, OPEN = "closed", "reset", "open"


class Malformed(AssertionError):
    pass


class Answer:
    def __init__(self, status, headers, body, whole=True):
        self.status = status
        self.headers = headers
        self.body = body
        self.whole = whole  # False: a stream that is still open, or ended with its connection.

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body[:500]!r}"


def check_problem(answer):
    """Raises unless `answer` is a complete RFC 9457 problem with the status of the answer."""
    is_problem = answer.headers.get("content-type") == "application/problem+json"
    problem = answer.json if is_problem else {}
    texts = [problem.get(name, "") for name in ("type", "title", "detail")]
    good = (problem.get("status") == answer.status and all(isinstance(text, str) for text in texts)
            and re.fullmatch(r"/problems/[a-z-]+", texts[0]) and texts[1] and texts[2])
    if answer.status == 405:
        good = good and answer.headers.get("allow")
    if answer.status in (429, 503):
        good = good and 1 <= int(answer.headers.get("retry-after", 0)) <= 3600
    if not good:
        raise Malformed(f"not a proper problem: {answer}")


def read_head(data):
    """(status, headers, length) of the head at the start; None while it is incomplete."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return None
    first, *lines = data[:end].split(b"\r\n")
    status_line = STATUS_LINE.fullmatch(first)
    if not status_line:
        raise Malformed(f"not a status line: {first[:200]!r}")
    headers = {}
    for line in lines:
        field = FIELD.fullmatch(line)
        if not field:
            raise Malformed(f"not a field: {line[:200]!r}")
        name = field[1].decode().lower()
        if name in headers:
            raise Malformed(f"twice: {name}")
        headers[name] = field[2].decode("latin-1")
    return int(status_line[1]), headers, end + 4


def read_chunks(data, at):
    """(body, end, whether the body is complete)."""
    body = b""
    while True:
        size = CHUNK.match(data, at)
        if not size:
            if b"\r\n" in data[at:]:
                raise Malformed(f"not a chunk: {data[at:at + 100]!r}")
            return body, len(data), False
        start, length = size.end(), int(size[1], 16)
        if len(data) < start + length + 2:
            return body, len(data), False
        if data[start + length:start + length + 2] != b"\r\n":
            raise Malformed(f"a chunk that is longer than its size: {data[start:][:100]!r}")
        if length == 0:
            return body, start + 2, True
        body += data[start:start + length]
        at = start + length + 2


def read_answer(data):
    """(answer, rest). The answer is None while a head or a body of known length is incomplete. An
    answer to HEAD is recognised by what follows in place of its body."""
    head = read_head(data)
    if head is None:
        return None, data
    status, headers, at = head
    if status < 200 or status in NO_BODY:
        return Answer(status, headers, b""), data[at:]
    if headers.get("transfer-encoding") == "chunked":
        body, end, whole = read_chunks(data, at)
        return Answer(status, headers, body, whole), data[end:]
    if "content-length" not in headers:
        if headers.get("connection") != "close":
            raise Malformed(f"no framing: {status} {headers}")
        return Answer(status, headers, data[at:], False), b""
    length = int(headers["content-length"])
    if data[at:at + 9] == b"HTTP/1.1 " or (len(data) == at and length > 0):
        return Answer(status, headers, b""), data[at:]
    if len(data) < at + length:
        return None, data
    return Answer(status, headers, data[at:at + length]), data[at + length:]


def read_answers(data):
    """All complete answers, and the rest."""
    answers = []
    while data:
        answer, rest = read_answer(data)
        if answer is None:
            break
        answers.append(answer)
        data = rest
    return answers, data


def connect(daemon, timeout_s=30.0, receive_buffer=None):
    connection = socket.socket()
    if receive_buffer is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.settimeout(timeout_s)
    connection.connect((daemon.host, daemon.port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def reset(connection):
    """Closes the connection with a TCP reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


class Talk:
    """What a client received, and how its connection ended."""

    def __init__(self, answers, rest, end, unsent):
        self.answers = answers
        self.rest = rest
        self.end = end
        self.unsent = unsent  # Bytes that the other side did not accept.

    @property
    def statuses(self):
        return [answer.status for answer in self.answers]

    def __repr__(self):
        return f"{self.statuses} {self.end}, {len(self.rest)} more bytes; {self.answers[:3]}"


def talk(daemon, *pieces, half_close=False, until=None, patience_s=DEADLINE_S):
    """Sends each piece in a segment of its own, and reads at the same time. Ends when the
    connection ends, when `until(answers)` is true, or after `patience_s`."""
    queue = [memoryview(piece) for piece in pieces if piece]
    received, end = b"", OPEN
    give_up_at = time.monotonic() + patience_s
    with connect(daemon) as connection, selectors.DefaultSelector() as selector:
        connection.setblocking(False)
        selector.register(connection, BOTH)
        closed_writing = False
        while end == OPEN and (left := give_up_at - time.monotonic()) > 0:
            if until is not None and until(read_answers(received)[0]):
                break
            selector.modify(connection, BOTH if queue else selectors.EVENT_READ)
            ready = sum(events for _, events in selector.select(left))
            try:
                if queue and ready & selectors.EVENT_WRITE:
                    queue[0] = queue[0][connection.send(queue[0]):]
                    queue = queue if queue[0] else queue[1:]
                if half_close and not queue and not closed_writing:
                    connection.shutdown(socket.SHUT_WR)
                    closed_writing = True
                if ready & selectors.EVENT_READ:
                    piece = connection.recv(1 << 16)
                    received += piece
                    end = end if piece else CLOSED
            except BrokenPipeError:
                queue = []
            except ConnectionResetError:
                end = RESET
    return Talk(*read_answers(received), end, sum(map(len, queue)))


def request(method, target, body=b"", *fields, version="HTTP/1.1", host="Host: x"):
    lines = [f"{method} {target} {version}"] + [line for line in (host, *fields) if line]
    if body:
        lines += [f"Content-Length: {len(body)}"]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


JSON = "Content-Type: application/json"


def submission(entity_id, *fields, **changes):
    job = {"customer": "acme", "product": "dns", "action": "create",
           "entity": {"type": "zone", "id": entity_id}, "services": ["demo"]}
    job.update(changes)
    return request("POST", "/v1/jobs", json.dumps(job).encode(), JSON, *fields)
