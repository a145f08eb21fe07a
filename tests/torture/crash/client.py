"""An asyncio client of celld with keep-alive connections, and queries that several tests need."""

import asyncio
import json

from daemon import ENDED

BROKEN = (OSError, asyncio.IncompleteReadError, ValueError, IndexError)


class Connection:
    """One keep-alive connection to the celld that is running."""

    def __init__(self, daemon, on_sent=lambda: None):
        self.daemon = daemon
        self.on_sent = on_sent
        self.reader = self.writer = None

    async def request(self, method, path, body=None, header=""):
        """(status, document). `header` is a whole line, CRLF included. Raises one of BROKEN when
        the outcome is unknown."""
        try:
            if self.writer is None:
                self.reader, self.writer = await asyncio.open_connection(
                    "127.0.0.1", self.daemon.port, limit=16 << 20)
            payload = b"" if body is None else json.dumps(body).encode()
            self.writer.write(f"{method} {path} HTTP/1.1\r\nHost: celld\r\n"
                              f"Content-Type: application/json\r\n{header}"
                              f"Content-Length: {len(payload)}\r\n\r\n".encode() + payload)
            self.on_sent()
            head = (await self.reader.readuntil(b"\r\n\r\n")).lower()
            status = int(head.split(b" ", 2)[1])
            document = json.loads(await self.body(head))
            if b"\r\nconnection: close" in head:
                self.close()
            return status, document
        except BROKEN:
            self.close()
            raise

    async def body(self, head):
        if b"\r\ntransfer-encoding: chunked" not in head:
            length = int(head.split(b"\r\ncontent-length:", 1)[1].split(b"\r\n", 1)[0])
            return await self.reader.readexactly(length)
        body = b""
        while length := int(await self.reader.readuntil(b"\r\n"), 16):
            body += (await self.reader.readexactly(length + 2))[:-2]
        await self.reader.readexactly(2)
        return body

    def close(self):
        if self.writer is not None:
            self.writer.close()
            self.writer = None


async def all_jobs(daemon, **query):
    """All jobs, by id."""
    connection, jobs, cursor = Connection(daemon), {}, None
    while True:
        parameters = {"limit": 1000, **query, **({"cursor": cursor} if cursor else {})}
        path = "/v1/jobs?" + "&".join(f"{name}={value}" for name, value in parameters.items())
        status, page = await connection.request("GET", path)
        assert status == 200, page
        for job in page["items"]:
            assert job["id"] not in jobs, f"{job['id']} is listed twice"
            jobs[job["id"]] = job
        cursor = page["next_cursor"]
        if cursor is None:
            connection.close()
            return jobs


async def unfinished(daemon):
    connection, count, cursor = Connection(daemon), 0, None
    while True:
        status, page = await connection.request(
            "GET", "/v1/cells?limit=1000" + (f"&cursor={cursor}" if cursor else ""))
        assert status == 200, page
        for cell in page["items"]:
            queue = cell["queue"]
            count += sum(queue[name] for name in ("queued", "scheduled", "retrying", "running",
                                                  "compensating"))
        cursor = page["next_cursor"]
        if cursor is None:
            connection.close()
            return count


async def unended(daemon):
    """How many jobs have not ended on disk. The counts of `unfinished` may be ahead of the disk, so
    when they reach zero the listed jobs decide."""
    count = await unfinished(daemon)
    if count == 0:
        jobs = await all_jobs(daemon)
        count = sum(job["state"] not in ENDED for job in jobs.values())
    return count


async def follow(connection):
    """Opens a stream of all events."""
    connection.reader, connection.writer = await asyncio.open_connection(
        "127.0.0.1", connection.daemon.port, limit=16 << 20)
    connection.writer.write(b"GET /v1/events HTTP/1.1\r\nHost: celld\r\n\r\n")
    await connection.reader.readuntil(b"\r\n\r\n")


async def events(connection):
    """Yields the job of each event of a stream until the connection breaks."""
    text = b""
    while length := int(await connection.reader.readuntil(b"\r\n"), 16):
        text += (await connection.reader.readexactly(length + 2))[:-2]
        *lines, text = text.split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                yield json.loads(line[5:])
