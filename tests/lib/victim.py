"""The victim of an attack: a client in a process of its own that sends requests at a steady rate.

`victim.py HOST PORT RATE` writes the line "asking", sends requests until its standard input ends,
and then writes one JSON object: `latencies_ms`, and `faults`, the first few failures. It keeps its
connection; with a fourth argument `fresh`, every tenth request uses a new one, like a client that
has just arrived. A latency counts from the time at which the request was due. So one slow answer
also delays the requests after it, as it would delay that many clients.
"""

import gc
import json
import select
import socket
import sys
import time

LIVENESS = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"


def submission(index):
    body = json.dumps({"customer": f"victim-{index % 7}", "product": "dns", "action": "create",
                       "entity": {"type": "zone", "id": f"v-{index}"},
                       "services": ["demo"]}).encode()
    return (b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n" % len(body) + body)


def connect(host, port):
    connection = socket.create_connection((host, port), timeout=30)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def more_of(connection):
    piece = connection.recv(65536)
    if not piece:
        raise ConnectionError("closed before the end of an answer")
    return piece


def ask(connection, request):
    """Sends a request; returns the first line and the body of the complete answer."""
    connection.sendall(request)
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += more_of(connection)
    head, _, body = answer.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += more_of(connection)
    return head.split(b"\r\n")[0], body


def look_up(job_id):
    return b"GET /v1/jobs/%b HTTP/1.1\r\nHost: x\r\n\r\n" % job_id


def main():
    host, port, rate = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    fresh = sys.argv[4:] == ["fresh"]
    latencies_ms, faults, index = [], [], 0
    gc.disable()
    kept = connect(host, port)
    job_id = json.loads(ask(kept, submission(index))[1])["id"].encode()
    print("asking", flush=True)
    due = time.perf_counter()
    while True:
        due += 1 / rate
        if select.select([sys.stdin], [], [], max(0.0, due - time.perf_counter()))[0]:
            break
        index += 1
        request = (submission(index), look_up(job_id), LIVENESS)[index % 3]
        try:
            if fresh and index % 10 == 0:
                with connect(host, port) as new:
                    line, body = ask(new, request)
            else:
                line, body = ask(kept, request)
            latencies_ms.append((time.perf_counter() - due) * 1000)
            if line.split()[1] not in (b"200", b"202"):
                faults.append(line.decode())
            elif index % 3 == 0:
                job_id = json.loads(body)["id"].encode()
        except OSError as error:
            faults.append(repr(error))
            kept = connect(host, port)
        if len(faults) > 20:
            break
    print(json.dumps({"latencies_ms": latencies_ms, "faults": faults}), flush=True)


if __name__ == "__main__":
    main()
