"""A fast HTTP provider, a process of its own, that writes down when each call began and ended.

What it answers follows from the document alone, so that the test knows how each job must end:
`parameters.outcome` is `ok`, `reject` (422), `flaky` (500 at the first attempt) or `busy` (429 at
the first call of a step). `parameters.latency_ms` is how long a call takes.

Prints its port, then serves until its standard input closes, and then prints the log: one JSON
array a line, [job, service, attempt, cell, entity, began_at, ended_at, broken]. Times are of
CLOCK_MONOTONIC, which all processes share. `broken`: celld's connection went before the answer.
"""

import asyncio
import json
import sys
import time

REASONS = {200: b"OK", 422: b"Unprocessable Content", 429: b"Too Many Requests",
           500: b"Internal Server Error"}


class Provider:
    def __init__(self):
        self.log = []
        self.seen = set()

    def status_of(self, document):
        outcome = document["parameters"]["outcome"]
        step = (document["job"], document["service"])
        first = step not in self.seen
        self.seen.add(step)
        if outcome == "reject":
            return 422
        if outcome == "flaky" and document["attempt"] == 1:
            return 500
        if outcome == "busy" and first:
            return 429
        return 200

    def began(self, document):
        entity = document["entity"]
        cell = document["customer"] + "/" + document["product"]
        record = [document["job"], document["service"], document["attempt"], cell,
                  f"{cell}/{entity['type']}/{entity['id']}", time.monotonic(), None, False]
        self.log.append(record)
        return record


class Connection(asyncio.Protocol):
    def __init__(self, provider):
        self.provider = provider
        self.received = b""
        self.record = self.transport = None

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.received += data
        head_end = self.received.find(b"\r\n\r\n")
        if head_end < 0:
            return
        head = self.received[:head_end].lower()
        length = int(head.split(b"\r\ncontent-length:", 1)[1].split(b"\r\n", 1)[0])
        body_at = head_end + 4
        if len(self.received) < body_at + length:
            return
        document = json.loads(self.received[body_at:body_at + length])
        self.received = self.received[body_at + length:]
        self.record = self.provider.began(document)
        asyncio.get_running_loop().call_later(document["parameters"]["latency_ms"] / 1000,
                                              self.answer, document)

    def answer(self, document):
        if self.record is None:
            return
        status = self.provider.status_of(document)
        body = json.dumps({"properties": {document["service"]: document["job"]}}).encode()
        # Before the answer leaves: celld may start its next call the moment it has read it.
        self.record[6] = time.monotonic()
        self.record = None
        self.transport.write(b"HTTP/1.1 %d %s\r\nContent-Length: %d\r\n\r\n%s" % (
            status, REASONS[status], len(body), body))

    def connection_lost(self, _):
        if self.record is not None:
            self.record[6], self.record[7] = time.monotonic(), True
            self.record = None


async def main():
    provider = Provider()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(provider), "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    for record in provider.log:
        print(json.dumps(record))


if __name__ == "__main__":
    asyncio.run(main())
