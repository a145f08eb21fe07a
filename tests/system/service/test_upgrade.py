"""A restart under load by a service manager that keeps the listening socket: what clients notice,
and what happens to the jobs."""

import http.client
import json
import select
import shutil
import signal
import socket
import tempfile
import threading
import time
import unittest

from daemon import DEADLINE_S, SLOWDOWN, a_config, a_job, wait_until
from provider import Provider, slow
from service import Service, listening_socket

RESTARTS = 3


class LoadClient(threading.Thread):
    """Posts jobs and reads each back, over one connection for as long as celld keeps it, and
    accepts no refusal. Like any client with a connection pool, it notices when an idle connection
    has been closed. A client that is silent for longer than a hand-over takes may notice too late,
    and then repeats its request: idempotency keys are for that."""

    def __init__(self, name, address, pause_s):
        super().__init__(name=f"client {name}, which pauses for {pause_s} s")
        self.address = address
        self.pause_s = pause_s
        self.may_repeat = pause_s > 1 or SLOWDOWN > 1
        self.ending = threading.Event()
        self.accepted = []
        self.requests = self.connections = self.repeated = 0
        self.longest_s = 0.0
        self.failure = None
        self.connection = None

    def run(self):
        try:
            while not self.ending.is_set():
                job = a_job(f"{self.name} {self.requests}",
                            idempotency_key=f"{self.ident}.{self.requests}")
                accepted = self.request("POST", "/v1/jobs", job)
                self.accepted.append(accepted["id"])
                self.ending.wait(self.pause_s)
                self.request("GET", f"/v1/jobs/{accepted['id']}")
                self.ending.wait(self.pause_s)
        except Exception as error:  # pylint: disable=broad-except
            self.failure = error
        if self.connection:
            self.connection.close()

    def request(self, method, path, body=None):
        began = time.monotonic()
        is_new = self.ensure_connection()
        try:
            answer = self.ask(method, path, body)
        except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
            if is_new or not self.may_repeat:
                raise
            self.repeated += 1
            self.connection.close()
            self.ensure_connection()
            answer = self.ask(method, path, body)
        self.requests += 1
        self.longest_s = max(self.longest_s, time.monotonic() - began)
        return answer

    def ask(self, method, path, body):
        self.connection.request(method, path, body and json.dumps(body),
                                {"Content-Type": "application/json"} if body else {})
        response = self.connection.getresponse()
        text = response.read()
        if response.status not in (200, 202):
            raise AssertionError(f"{method} {path}: {response.status} {text[:500]!r}")
        return json.loads(text)

    def ensure_connection(self):
        """True if the connection is new."""
        if self.connection and self.connection.sock:
            closed, _, _ = select.select([self.connection.sock], [], [], 0)
            if not closed:
                return False
            self.connection.close()
        self.connection = http.client.HTTPConnection(*self.address, timeout=DEADLINE_S)
        self.connection.connect()
        self.connections += 1
        return True


class Upgrade(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="celld-service-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.provider = Provider()
        self.addCleanup(self.provider.close)
        self.listening = listening_socket()
        self.addCleanup(self.listening.close)
        self.service = Service(a_config(self.provider), self.directory, self.listening)
        self.addCleanup(self.service.forget)
        self.service.start()
        self.addCleanup(lambda: self.service.running() and self.service.kill())

    def restart(self):
        """Does what `systemctl restart` does. Returns how long no process accepted connections, in
        seconds."""
        began = time.monotonic()
        self.assertEqual(self.service.stop(), 0, self.service.log())
        self.service.start()
        return time.monotonic() - began

    def connect(self):
        sock = socket.create_connection(self.listening.getsockname(), timeout=DEADLINE_S)
        self.addCleanup(sock.close)
        return sock

    def test_a_restart_under_load_loses_no_request_and_no_job(self):
        self.provider.always("/dns", slow(0.02))
        # From busy clients to clients that pause for longer than a hand-over takes.
        clients = [LoadClient(i, self.listening.getsockname(), pause_s)
                   for i, pause_s in enumerate([0] * 8 + [0.05] * 8 + [0.4] * 8 + [1.5] * 8)]
        for client in clients:
            client.start()
        for restart in range(RESTARTS):
            before = sum(client.requests for client in clients)
            wait_until(lambda before=before: sum(c.requests for c in clients) > before + 200,
                       "the load continues")
            restart_s = self.restart()
            print(f"restart {restart + 1}: {restart_s:.2f} s from SIGTERM to ready")
        before = [client.requests for client in clients]
        wait_until(lambda: all(c.requests > n or c.failure for c, n in zip(clients, before)),
                   "every client is served again")
        for client in clients:
            client.ending.set()
        for client in clients:
            client.join(DEADLINE_S)
        self.assertEqual({c.name: repr(c.failure) for c in clients if c.failure}, {})
        ids = [job_id for client in clients for job_id in client.accepted]
        print(f"{sum(c.requests for c in clients)} requests over "
              f"{sum(c.connections for c in clients)} connections, {len(ids)} jobs, "
              f"{sum(c.repeated for c in clients)} requests repeated, "
              f"the longest took {max(c.longest_s for c in clients):.2f} s")
        self.assertGreater(sum(c.connections for c in clients), RESTARTS * len(clients) // 2)
        self.assertEqual(self.ends_of(ids), {"succeeded"})
        calls = [call.body["job"] for call in self.provider.calls_of()]
        self.assertEqual((len(calls), set(calls)), (len(ids), set(ids)), "each job was called once")

    def ends_of(self, ids):
        client = self.service.client()
        states = set()
        for job_id in ids:
            def ended(job_id=job_id):
                state = client.get(f"/v1/jobs/{job_id}").json["state"]
                return state if state in ("succeeded", "failed", "cancelled") else None
            states.add(wait_until(ended, f"job {job_id} ends"))
        client.close()
        return states

    def test_new_connections_wait_for_the_next_celld_while_the_old_one_shuts_down(self):
        gate = self.provider.hold("/dns")
        client = self.service.client()
        self.assertEqual(client.post("/v1/jobs", a_job()).status, 202)
        client.close()
        wait_until(self.provider.running, "the call runs")
        self.service.signal(signal.SIGTERM)
        self.service.receive("STOPPING=1")
        self.wait_for_hand_over()
        late = self.connect()
        late.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        late.settimeout(0.3)
        with self.assertRaises(TimeoutError):
            late.recv(1)
        late.settimeout(DEADLINE_S)
        gate.let_all()
        self.assertEqual(self.service.wait(), 0)
        self.service.start()
        self.assertTrue(late.recv(100).startswith(b"HTTP/1.1 200 "))

    def wait_for_hand_over(self):
        """Waits until the old celld has released the listening socket: several new connections in a
        row are not answered."""
        def is_silent():
            with socket.create_connection(self.listening.getsockname()) as probe:
                probe.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
                return not select.select([probe], [], [], 0.2 * SLOWDOWN)[0]
        wait_until(lambda: all(is_silent() for _ in range(3)),
                   "the old celld accepts no connections")

    def test_a_pending_request_is_answered_after_the_hand_over(self):
        gate = self.provider.hold("/dns")
        answers = []
        client = self.service.client()
        waiter = threading.Thread(target=lambda: answers.append(
            client.post("/v1/jobs", a_job(), Prefer="wait=30")))
        waiter.start()
        wait_until(self.provider.running, "the call runs")
        self.service.signal(signal.SIGTERM)
        self.service.receive("STOPPING=1")
        self.wait_for_hand_over()
        gate.let_all()
        waiter.join(DEADLINE_S)
        self.assertEqual((answers[0].status, answers[0].json["state"]), (200, "succeeded"))
        self.assertEqual(answers[0].headers.get("connection"), "close")
        self.assertEqual(self.service.wait(), 0)


if __name__ == "__main__":
    unittest.main()
