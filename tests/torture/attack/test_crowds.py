"""Attacks by many clients or slow ones. Meanwhile a victim is served, and memory stays bounded."""

import contextlib
import json
import os
import resource
import socket
import time
import unittest

import wire
from crowd import Crowd, raise_descriptor_limit
from daemon import DEADLINE_S, SLOWDOWN, stays, wait_until
from siege import Siege
from wire import JSON, request, submission

LIVENESS = request("GET", "/livez")
WAIT_S = 60
WAITING = submission("w", f"Prefer: wait={WAIT_S}", delay_ms=600_000)
SUBMISSION_HEAD = request("POST", "/v1/jobs", b"", JSON, "Content-Length: 500000")


class SlowClients(Siege):
    def test_slow_heads_are_cut_off_under_default_limits(self):
        """1,500 connections send a byte a second each, which does not extend their five seconds."""
        self.start_siege()
        with self.siege(), Crowd(self.daemon) as crowd:
            began = time.monotonic()
            crowd.join(1500).send(b"GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow: ")
            crowd.drip(b"a", seconds=4.0)
            outcomes = crowd.receive()
            self.assert_in_time("the refusal of slow heads", time.monotonic() - began, 12)
            for outcome in outcomes:
                self.assert_refused(outcome, 408)

    def test_slow_bodies_are_cut_off(self):
        self.start_siege(body_timeout_ms=2000)
        with self.siege(), Crowd(self.daemon) as crowd:
            crowd.join(1500).send(SUBMISSION_HEAD)
            crowd.drip(b" ", seconds=1.8, interval_s=0.5)
            for outcome in crowd.receive():
                self.assert_refused(outcome, 408)

    def test_slow_chunks_are_cut_off(self):
        self.start_siege(body_timeout_ms=1500)
        head = request("POST", "/v1/jobs", b"", JSON, "Transfer-Encoding: chunked")
        with self.siege(), Crowd(self.daemon) as crowd:
            crowd.join(500).send(head)
            for _ in range(4):
                crowd.send(b"1\r\n \r\n")
                time.sleep(0.3)
            for outcome in crowd.receive():
                self.assert_refused(outcome, 408)

    def test_endless_bodies_are_refused_and_not_kept(self):
        """Each client sends a job and then spaces, as fast as it can, and continues after its
        refusal: a 413, or a 400 if a piece was cut."""
        self.start_siege()
        job = submission("endless").partition(b"\r\n\r\n")[2]
        piece = b"8000\r\n%b\r\n" % (b" " * 0x8000)
        head = request("POST", "/v1/jobs", b"", JSON, "Transfer-Encoding: chunked")
        with self.siege(), Crowd(self.daemon) as crowd:
            crowd.join(8).send(head + b"%x\r\n%b\r\n" % (len(job), job))
            until = time.monotonic() + 3
            while crowd.send(piece) and time.monotonic() < until:
                time.sleep(0.01)
            for outcome in crowd.receive(DEADLINE_S):
                self.assertIn(outcome.statuses, ([413], [400], []), outcome)
                self.assertNotEqual(outcome.end, wire.OPEN)
        self.assert_nothing_of("acme")

    def test_incomplete_bodies_do_not_fill_memory(self):
        """After requests with bodies that need room, each client sends nearly the whole MiB that it
        may, and then nothing. The head of that body comes together with the body before. All
        incomplete bodies together have a bound: the room of 4 MiB, and 16 KiB for each that waits.
        Besides, the allocator keeps some freed memory, and the victim's own jobs take some."""
        self.start_siege(body_timeout_ms=2500)
        first = request("POST", "/v1/jobs", b" " * 20_000, JSON)
        head = request("POST", "/v1/jobs", b"", JSON, "Content-Length: 1048576")
        with self.siege(), Crowd(self.daemon) as crowd:
            crowd.join(150).send(first)
            for member in crowd.members:
                member.settimeout(DEADLINE_S)
                self.assertTrue(member.recv(1 << 16).startswith(b"HTTP/1.1 400 "))
                member.setblocking(False)
            crowd.send(first + head)
            until = time.monotonic() + 2
            for _ in range(64):
                crowd.send(b" " * 16_000)
                if time.monotonic() > until:
                    break
            crowd.receive(patience_s=5)

    def test_idle_clients_are_disconnected(self):
        self.start_siege(idle_timeout_ms=1500)
        with self.siege(), Crowd(self.daemon) as crowd:
            for outcome in crowd.join(1000).receive():
                self.assertEqual((outcome.answers, outcome.end), ([], wire.CLOSED))

    def test_requests_completed_at_the_last_moment_are_served(self):
        """Each client completes a request just before its deadline, and begins the next one."""
        timeout_s = 3 * SLOWDOWN
        self.start_siege(head_timeout_ms=int(1000 * timeout_s))
        with self.siege(), Crowd(self.daemon) as crowd:
            crowd.join(500)
            for _ in range(4):
                crowd.send(LIVENESS[:-2])
                time.sleep(0.6 * timeout_s)
                crowd.send(LIVENESS[-2:])
            outcomes = crowd.receive(patience_s=3 * SLOWDOWN)
            self.assertEqual({(*outcome.statuses, outcome.end) for outcome in outcomes},
                             {(200, 200, 200, 200, wire.OPEN)})

    def assert_nothing_of(self, customer):
        self.assertEqual(self.client.get("/v1/jobs", customer=customer).json["items"], [])


class Floods(Siege):
    def test_twelve_thousand_connections_that_close_at_once_do_no_harm(self):
        self.start_siege()
        with self.siege():
            for i in range(12_000):
                connection = wire.connect(self.daemon)
                if i % 3 == 0:
                    wire.reset(connection)
                else:
                    connection.close()

    def test_a_flood_of_malformed_requests_does_no_harm(self):
        """Each malformed request has a connection of its own."""
        self.start_siege()
        with self.siege():
            for _ in self.waves():
                with Crowd(self.daemon) as crowd:
                    crowd.join(200).send(b"GET /livez HTTP/1.1\r\nHost : x\r\n\r\n")
                    for outcome in crowd.receive():
                        self.assert_refused(outcome, 400)

    def test_a_connection_beyond_ten_thousand_is_refused(self):
        """Under default limits. The victim's connection is one of the ten thousand."""
        connections_max = 10_000
        if not raise_descriptor_limit(connections_max + 200):
            self.fail(f"this test opens {connections_max} connections, but the hard limit of open "
                      "files (ulimit -Hn) is lower: raise it")
        self.start_siege()
        with self.siege(fresh=False), Crowd(self.daemon) as crowd:
            for _ in range(100):  # Half of them have sent a request before.
                some = Crowd(self.daemon).join(50)
                some.send(LIVENESS)
                crowd.members += some.members
            crowd.join(connections_max - 1 - len(crowd.members))
            wait_until(lambda: self.descriptors() >= connections_max, "all are connected")
            for data in (LIVENESS, submission("one-too-many")):
                outcome = wire.talk(self.daemon, data)
                self.assert_refused(outcome, 503)
                self.assertIn("retry-after", outcome.answers[0].headers)
            stays(lambda: crowd.connected() == connections_max - 1, "no connection is closed", 1.0)
            crowd.members.pop().close()
            wait_until(lambda: wire.talk(self.daemon, LIVENESS, half_close=True).statuses == [200],
                       "a closed connection makes room")
        self.assertEqual(self.client.get("/v1/jobs", customer="acme").json["items"], [])

    def test_a_burst_of_connections_beyond_the_limit_is_refused(self):
        self.start_siege(max_connections=100)
        with self.siege(fresh=False), Crowd(self.daemon) as crowd:
            crowd.join(99).send(LIVENESS)
            wait_until(lambda: self.descriptors() >= 100, "all are connected")
            for _ in self.waves():
                with Crowd(self.daemon) as late:
                    outcomes = late.join(500).receive()
                refused = [outcome for outcome in outcomes if outcome.answers]
                self.assertGreater(len(refused), 0)
                for outcome in refused:
                    self.assert_refused(outcome, 503)


class Scarcity(Siege):
    @unittest.skipIf("undefined" in os.environ.get("CELLD_SANITIZE", ""),
                     "without a free descriptor, this sanitizer reports valid objects as invalid")
    def test_a_daemon_out_of_descriptors_recovers_when_some_are_free_again(self):
        """More clients than free descriptors, but fewer than its connection limit."""
        self.start_siege()
        self.client.close()
        pid = self.daemon.process.pid
        before = self.descriptors()
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (before + 50, before + 50))
        client = self.daemon.client()
        self.assertEqual(client.get("/livez").status, 200)
        with Crowd(self.daemon) as crowd:
            crowd.join(400).send(LIVENESS)
            wait_until(lambda: self.descriptors() >= before + 49, "no descriptor is left")
            wait_until(lambda: crowd.connected() < 100, "celld closes the other connections")
            for i in range(50):
                job = json.loads(submission(f"e-{i}").partition(b"\r\n\r\n")[2])
                self.assertEqual(client.post("/v1/jobs", job).status, 202)
                self.assertEqual(client.get("/v1/jobs", limit=5).status, 200)
        client.close()
        wait_until(lambda: self.descriptors() <= before, "the descriptors come back")
        self.wait_for_end(self.submit(job))

    def test_waiting_clients_that_have_given_up_do_not_keep_their_connections(self):
        """Such a client may have closed only its sending side: celld lets the latest 256 wait."""
        self.start_siege()
        before = self.descriptors()
        with Crowd(self.daemon) as crowd:
            crowd.join(600).send(WAITING)
            wait_until(lambda: self.jobs() == 600, "all jobs are submitted")
            self.assertGreaterEqual(self.descriptors(), before + 600)
        wait_until(lambda: self.descriptors() <= before + 256, "their connections are closed",
                   WAIT_S / 2)

    def jobs(self):
        return len(self.client.get("/v1/jobs", limit=1000).json["items"])

    def test_a_shutdown_under_attack_is_clean_and_in_time(self):
        """Clients that are slow, idle, waiting, or not reading do not delay it."""
        self.start_siege(write_timeout_ms=1000)
        with contextlib.ExitStack() as stack:
            for data in (b"", b"GET /livez HTTP/1.1\r\nHost: x\r\nA", SUBMISSION_HEAD + b" " * 99,
                         request("GET", "/v1/events"), LIVENESS, WAITING):
                crowd = stack.enter_context(Crowd(self.daemon))
                crowd.join(100, receive_buffer=4096).send(data)
            wait_until(lambda: self.jobs() == 100, "all jobs are submitted")
            began = time.monotonic()
            self.client.close()
            self.assertEqual(self.daemon.stop(), 0)
            # The grace, and a margin.
            self.assert_in_time("the shutdown", time.monotonic() - began, 10 + 5)
        self.restart()
        self.assertEqual(self.jobs(), 100)


class Readers(Siege):
    """Clients that do not read their answers."""

    def fill(self, count, parameter_bytes):
        text = "x" * parameter_bytes
        for i in range(count):
            job = json.loads(submission(f"f-{i}").partition(b"\r\n\r\n")[2])
            job.update(customer="filler", parameters={"text": text})
            self.wait_for_end(self.submit(job))

    def test_unread_large_answers_do_not_fill_memory(self):
        """Clients request pages of 8 MiB and never read. celld disconnects each after the write
        timeout. Until then, the unsent bytes of all of them together have a bound."""
        self.start_siege(write_timeout_ms=2000)
        self.fill(9, 1_000_000)
        # A third of a page fits into the buffers of a connection, so that this client need not be
        # faster than the write timeout.
        third = request("GET", "/v1/jobs?customer=filler&limit=3")
        self.assertGreater(len(wire.talk(self.daemon, third, half_close=True).answers[0].body),
                           2_700_000)
        page = request("GET", "/v1/jobs?customer=filler&limit=1000")
        with self.siege(), Crowd(self.daemon) as crowd:
            crowd.join(20, receive_buffer=4096).send(page)
            time.sleep(3.5)

    def test_large_answers_do_not_delay_small_ones(self):
        """A client requests one large page after another; celld makes and sends each in pieces."""
        self.start_siege()
        self.fill(9, 1_000_000)
        page = request("GET", "/v1/jobs?customer=filler&limit=1000")
        with self.siege():
            for _ in self.waves(1.5):
                wire.talk(self.daemon, page, page, half_close=True)

    def test_a_client_that_sends_too_much_and_reads_late_gets_the_whole_answer(self):
        """Closing a connection with unread input resets it, and a reset discards what has not been
        delivered."""
        self.start_siege()
        self.fill(1, 60_000)
        before = self.descriptors()
        connection = wire.connect(self.daemon, receive_buffer=4096)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 400_000)
        page = request("GET", "/v1/jobs?customer=filler", b"", "Connection: close")
        connection.sendall(page + b"x" * 300_000)
        connection.shutdown(socket.SHUT_WR)
        wait_until(lambda: self.descriptors() <= before, "celld has closed the connection")
        with connection, connection.makefile("rb") as stream:
            answer, rest = wire.read_answer(stream.read())
        self.assertEqual((len(answer.json["items"]), rest), (1, b""))

    def test_answers_that_stay_unread_are_given_up(self):
        self.start_siege(write_timeout_ms=500)
        self.fill(4, 1_000_000)
        before = self.descriptors()
        with Crowd(self.daemon) as crowd:
            crowd.join(5, receive_buffer=4096)
            crowd.send(request("GET", "/v1/jobs?customer=filler"))
            wait_until(lambda: self.descriptors() >= before + 5, "all are connected")
            wait_until(lambda: self.descriptors() <= before, "celld has closed the connections")

    def test_answers_beyond_the_bound_on_unsent_bytes_are_given_up(self):
        """celld keeps only the client that read last."""
        self.start_siege(write_timeout_ms=600_000, max_unsent_bytes=65_536)
        self.fill(4, 1_000_000)
        before = self.descriptors()
        with Crowd(self.daemon) as crowd:
            crowd.join(3, receive_buffer=4096)
            wait_until(lambda: self.descriptors() >= before + 3, "all are connected")
            crowd.send(request("GET", "/v1/jobs?customer=filler"))
            wait_until(lambda: self.descriptors() <= before + 1, "celld has closed the connections")

    def test_resets_in_the_middle_of_large_answers_do_no_harm(self):
        self.start_siege()
        self.fill(2, 1_000_000)
        page = request("GET", "/v1/jobs?customer=filler")
        with self.siege():
            for _ in self.waves():
                connection = wire.connect(self.daemon, receive_buffer=4096)
                connection.sendall(page)
                connection.recv(4096)
                wire.reset(connection)

    def test_unread_event_streams_do_not_delay_others(self):
        """While jobs run, a hundred event streams are never read, and five others are."""
        self.start_siege(max_stream_backlog_bytes=32 << 10)
        with self.siege(), Crowd(self.daemon) as stalled, Crowd(self.daemon) as listening:
            stalled.join(100, receive_buffer=4096).send(request("GET", "/v1/events"))
            listening.join(5).send(request("GET", "/v1/events?customer=quiet"))
            job = json.loads(submission("s").partition(b"\r\n\r\n")[2])
            for i in range(30):
                loud = dict(job, entity={"type": "zone", "id": f"s-{i}"},
                            parameters={"text": "x" * 20_000})
                self.wait_for_end(self.submit(loud))
            last = self.submit(dict(job, customer="quiet"))
            self.wait_for_end(last)
            for outcome in listening.receive(patience_s=1.0):
                self.assertIn(b'"succeeded"', outcome.answers[0].body)
                self.assertIn(last.encode(), outcome.answers[0].body)

    def test_hundreds_of_dropped_event_streams_do_no_harm(self):
        self.start_siege()
        with self.siege():
            for _ in self.waves():
                with Crowd(self.daemon) as crowd:
                    crowd.join(200).send(request("GET", "/v1/events?customer=absent"))
                    time.sleep(0.1)
                    crowd.reset()


if __name__ == "__main__":
    unittest.main()
