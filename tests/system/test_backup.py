"""Backups made while celld runs, and a celld that starts from one."""

import base64
import contextlib
import hashlib
import http.client
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import threading
import time
import unittest

from cellctl import OK, OUTPUT, REFUSED, UNAVAILABLE, USAGE, CellctlTest, binary
from daemon import DEADLINE_S, Daemon, a_config, a_job, wait_until
from provider import slow
from tokens import bearer, entry

PARTIAL = "celld-backup.partial"
PATH = "/v1/admin/backup"
OK_LINE = b"HTTP/1.1 200 OK\r\n"
A_TEXT = {"text": "x" * 100_000}


def query(path, sql):
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return database.execute(sql).fetchall()


class Submitter(threading.Thread):
    """Submits jobs until stopped and records the accepted ones."""

    def __init__(self, client, name):
        super().__init__(daemon=True)
        self.client = client
        self.name = name
        self.accepted = []
        self.going = True
        self.start()

    def run(self):
        number = 0
        while self.going:
            number += 1
            try:
                answer = self.client.post("/v1/jobs", a_job(f"{self.name}-{number % 50}"))
            except OSError:
                return
            if answer.status == 202:
                self.accepted.append(answer.json["id"])
        self.client.close()


class BackupTest(CellctlTest):
    def setUp(self):
        super().setUp()
        self.file = os.path.join(self.directory, "backup.db")

    def left_over(self):
        return [name for name in os.listdir(self.directory) + os.listdir(self.daemon.data)
                if "partial" in name]

    def restore(self, name="restored", **changes):
        """A celld whose data directory contains only the backup."""
        directory = os.path.join(self.directory, name)
        os.makedirs(os.path.join(directory, "data"))
        shutil.copy(self.file, os.path.join(directory, "data", "celld.db"))
        daemon = Daemon(a_config(self.provider, **changes), directory).start()
        self.addCleanup(lambda: daemon.running() and daemon.stop())
        return daemon

    def fill(self, jobs=120):
        """Stores more than socket buffers hold."""
        for number in range(jobs):
            self.submit(a_job(f"later-{number}", delay_ms=3_600_000, parameters=A_TEXT))

    def take_slowly(self):
        """A client that reads the status of the response and then stops reading."""
        taker = socket.socket()
        self.addCleanup(taker.close)
        taker.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        taker.settimeout(DEADLINE_S)
        taker.connect((self.daemon.host, self.daemon.port))
        taker.sendall(f"GET {PATH} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        line = b""
        while len(line) < len(OK_LINE) and (piece := taker.recv(len(OK_LINE) - len(line))):
            line += piece
        self.assertEqual(line, OK_LINE)
        return taker


class Backup(BackupTest):
    def test_a_backup_under_load_has_every_job_accepted_before_it_and_all_end_after_a_restore(self):
        self.start(defaults={"pool": {"size": 8}, "timeout_ms": 20000})
        self.provider.always("/dns", slow(0.2))
        keyed = self.submit(a_job("keyed"), **{"Idempotency-Key": "k-1"})
        submitters = [Submitter(self.daemon.client(), f"s{i}") for i in range(3)]
        wait_until(lambda: all(len(each.accepted) > 100 for each in submitters), "a backlog")
        wait_until(lambda: self.provider.running(), "calls are in flight")
        before = [job for each in submitters for job in list(each.accepted)]
        self.cellctl("backup", self.file)
        accepted = sum(len(each.accepted) for each in submitters)
        wait_until(lambda: sum(len(each.accepted) for each in submitters) > accepted,
                   "celld continues to accept jobs")
        self.daemon.kill()  # The machine is lost.
        for each in submitters:
            each.going = False
            each.join(DEADLINE_S)
        self.assertEqual(query(self.file, "PRAGMA integrity_check"), [("ok",)])
        states = dict(query(self.file, "SELECT state, count(*) FROM jobs_for_people GROUP BY 1"))
        self.assertGreater(states.get("queued", 0), 0, states)
        old_epoch, = query(self.file, "SELECT value FROM settings WHERE name = 'epoch'")[0]

        self.provider.rules.clear()
        client = self.restore().client()

        def unfinished():
            return client.get("/v1/cells/*/*").json["queue"]
        wait_until(lambda: sum(unfinished()[each] for each in ("queued", "running", "retrying")) == 0,
                   "every job of the backup has ended")
        # A cell counts a job as ended shortly before the end is on disk.
        wait_until(lambda: client.get("/v1/jobs?state=running").json["items"] == [],
                   "every end is on disk")
        for job in [keyed, *before]:
            self.assertEqual(client.get(f"/v1/jobs/{job}").json["state"], "succeeded", job)
        again = client.post("/v1/jobs", a_job("keyed"), **{"Idempotency-Key": "k-1"})
        self.assertEqual((again.status, again.json["id"]), (200, keyed))
        database = os.path.join(self.directory, "restored", "data", "celld.db")
        new_epoch, = query(database, "SELECT value FROM settings WHERE name = 'epoch'")[0]
        self.assertGreater(new_epoch, old_epoch)
        # A job that ran twice was called with the same key.
        self.assertEqual({call.key for call in self.provider.calls_of()} -
                         {f"{call.body['job']}.dns" for call in self.provider.calls_of()}, set())

    def test_restoring_a_backup_twice_repeats_no_lease(self):
        self.start()
        self.cellctl("backup", self.file)
        epochs = []
        for name in ("first", "second"):
            daemon = self.restore(name)
            self.assertEqual(daemon.stop(), 0)
            [(epoch,)] = query(os.path.join(daemon.data, "celld.db"),
                               "SELECT value FROM settings WHERE name = 'epoch'")
            epochs.append(epoch)
            # An epoch is at least the second of the start.
            wait_until(lambda after=epoch: time.time() >= after + 1, "the next second")
        self.assertLess(epochs[0], epochs[1])

    def test_a_backup_announces_its_length_its_digest_and_its_file_name(self):
        self.start()
        self.fill(20)
        for _ in range(2):
            got = self.client.get(PATH)
            self.assertEqual(got.status, 200)
            self.assertEqual(got.headers["content-type"], "application/vnd.sqlite3")
            self.assertEqual(int(got.headers["content-length"]), len(got.body))
            digest = base64.b64encode(hashlib.sha256(got.body).digest()).decode()
            self.assertEqual(got.headers["repr-digest"], f"sha-256=:{digest}:")
            self.assertEqual(got.headers["content-disposition"],
                             'attachment; filename="celld.db"')
            self.assertEqual(got.headers["cache-control"], "no-store")
        head = self.client.request("HEAD", PATH)
        self.assertEqual((head.status, head.body), (200, b""))
        self.assertEqual(self.left_over(), [])
        wait_until(lambda: self.client.get(PATH).status == 200, "another backup succeeds")

    def test_one_backup_is_made_at_a_time_and_a_disconnect_frees_the_place(self):
        self.start(limits={"write_timeout_ms": 60000})
        self.fill()
        taker = self.take_slowly()
        refused = self.client.get(PATH)
        self.assert_problem(refused, 409, "backup-under-way")
        self.assertGreaterEqual(int(refused.headers["retry-after"]), 1)
        self.assertIn("(409)", self.run_cellctl("backup", self.file, code=REFUSED).stderr)
        self.assertEqual(self.submit(a_job()) and self.left_over(), [])
        taker.close()
        got = wait_until(lambda: (a := self.client.get(PATH)).status == 200 and a,
                         "another backup succeeds")
        self.assertGreater(len(got.body), 10_000_000)

    def test_a_client_that_stops_reading_loses_its_backup(self):
        self.start(limits={"write_timeout_ms": 300})
        self.fill()
        self.take_slowly()
        wait_until(lambda: self.client.get(PATH).status == 200, "another backup succeeds")

    def test_a_slow_client_costs_no_memory_and_gets_the_whole_backup(self):
        self.start(limits={"write_timeout_ms": 60000})
        self.fill(300)

        def resident():
            with open(f"/proc/{self.daemon.process.pid}/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * 4096
        self.assertEqual(self.client.get(PATH).status, 200)
        before = resident()

        def check_growth():
            if not os.environ.get("CELLD_SANITIZE"):  # Sanitizers delay the release of memory.
                self.assertLess(resident() - before, 16 << 20)  # The store's cache may grow.
        taker = self.take_slowly()
        check_growth()
        with taker.makefile("rb") as stream:
            headers = http.client.parse_headers(stream)
            body = stream.read(int(headers["Content-Length"]))
        self.assertGreaterEqual(len(body), 30_000_000)
        self.assertEqual(len(body), int(headers["Content-Length"]))
        digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
        self.assertEqual(headers["Repr-Digest"], f"sha-256=:{digest}:")
        check_growth()

    def test_a_copy_that_cannot_be_written_is_reported_and_celld_continues(self):
        self.start()
        os.mkdir(os.path.join(self.daemon.data, PARTIAL))
        refused = self.client.get(PATH)
        self.assert_problem(refused, 503, "backup-failed")
        self.assertIn("exists", refused.json["detail"])
        self.assertIn("(503)", self.run_cellctl("backup", self.file, code=UNAVAILABLE).stderr)
        self.assertFalse(os.path.exists(self.file))
        self.assertEqual(self.wait_for_end(self.submit(a_job()))["state"], "succeeded")
        os.rmdir(os.path.join(self.daemon.data, PARTIAL))
        self.assertEqual(self.client.get(PATH).status, 200)

    def test_celld_shuts_down_in_the_middle_of_a_backup(self):
        self.start(limits={"write_timeout_ms": 60000})
        self.fill()
        taker = self.take_slowly()
        self.assertEqual(self.daemon.stop(), 0)
        received = 0
        with contextlib.suppress(ConnectionError):
            while piece := taker.recv(1 << 20):
                received += len(piece)
        self.assertLess(received, 12_000_000)
        self.assertEqual(self.left_over(), [])

    def test_a_token_bound_to_a_customer_gets_no_backup(self):
        self.start(auth={"tokens": [entry("acme", ("admin", "read"), "acme"),
                                    entry("admin", ("admin",)), entry("read", ("read",))]})
        for name in ("acme", "read"):
            for method in ("GET", "HEAD"):
                answer = self.client.request(method, PATH, headers=bearer(name))
                self.assertEqual(answer.status, 403, answer)
        self.assert_problem(self.client.request("GET", PATH, headers=bearer("acme")), 403,
                            "missing-scope")
        self.assertEqual(self.client.request("GET", PATH, headers=bearer("admin")).status, 200)


class BackupFiles(BackupTest):
    """cellctl backup and the files it writes."""

    def test_cellctl_writes_a_private_file_and_replaces_one_only_with_force(self):
        self.start()
        self.assertRegex(self.cellctl("backup", self.file), rf"\A{self.file}: \d+ bytes\n\Z")
        self.assertEqual(os.stat(self.file).st_mode & 0o777, 0o600)
        self.assertEqual(query(self.file, "PRAGMA integrity_check"), [("ok",)])
        size = os.path.getsize(self.file)
        self.fill(20)
        done = self.run_cellctl("backup", self.file, code=USAGE)
        self.assertIn("already exists", done.stderr)
        self.assertEqual(os.path.getsize(self.file), size)
        said = self.cellctl_json("backup", "--force", self.file)
        self.assertEqual((said["file"], said["bytes"]), (self.file, os.path.getsize(self.file)))
        self.assertGreater(said["bytes"], size)
        self.assertEqual(self.left_over(), [])

    def test_cellctl_writes_a_backup_to_standard_output(self):
        self.start()
        with open(self.file, "wb") as file:
            process = self.begin("backup", "-")
            file.write(process.stdout.read())
        self.assertEqual(process.wait(DEADLINE_S), OK)
        self.assertEqual(query(self.file, "PRAGMA integrity_check"), [("ok",)])

    def test_a_backup_that_cannot_be_written_exits_with_7(self):
        self.start()
        done = self.run_cellctl("backup", os.path.join(self.directory, "no", "such", "file"), code=7)
        self.assertIn("No such file", done.stderr)

    def test_a_backup_beyond_the_limit_on_file_sizes_exits_with_7_and_leaves_nothing(self):
        self.start()
        done = subprocess.run(["sh", "-c", 'ulimit -f 8; exec "$@"', "sh", binary(), "backup",
                               self.file], env=self.environment(), capture_output=True,
                              timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, OUTPUT, done)
        self.assertIn(b"File too large", done.stderr)
        self.assertEqual(self.left_over(), [])

    def test_a_backup_that_does_not_match_its_digest_is_discarded(self):
        kind = {"Content-Type": "application/vnd.sqlite3"}
        wrong = {**kind, "Repr-Digest": "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"}
        for headers in (kind, wrong):
            url, _ = self.canned((200, headers, b"SQLite format 3\0"))
            done = self.run_cellctl("backup", self.file, code=UNAVAILABLE, CELLD_URL=url)
            self.assertIn("failed verification", done.stderr)
            self.assertEqual(os.listdir(self.directory), [])

    def begin_to_send(self, then):
        """The URL of a server that sends each client the start of a backup and calls `then`."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        connection.recv(4096)
                        connection.sendall(
                            b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nSQLite")
                        then()
        threading.Thread(target=serve, daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    def test_a_truncated_backup_is_discarded(self):
        url = self.begin_to_send(lambda: None)
        self.run_cellctl("backup", self.file, code=UNAVAILABLE, CELLD_URL=url)
        self.assertEqual(os.listdir(self.directory), [])

    def test_a_backup_that_is_interrupted_leaves_nothing(self):
        gone = threading.Semaphore(0)
        url = self.begin_to_send(lambda: gone.acquire(timeout=DEADLINE_S))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # The test runner may ignore the signal, and child processes inherit that.
            before = signal.signal(number, signal.SIG_DFL)
            process = self.begin("backup", self.file, CELLD_URL=url)
            signal.signal(number, before)
            wait_until(lambda: os.path.exists(self.file + ".partial"), "some bytes are written")
            process.send_signal(number)
            self.assertEqual(process.wait(DEADLINE_S), -number, "the signal ends cellctl")
            self.assertEqual(os.listdir(self.directory), [])
            gone.release()

    def test_a_backup_outlives_a_signal_that_was_ignored_when_it_began(self):
        gone = threading.Semaphore(0)
        url = self.begin_to_send(lambda: gone.acquire(timeout=DEADLINE_S))
        hang_up = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        process = self.begin("backup", self.file, CELLD_URL=url)
        signal.signal(signal.SIGHUP, hang_up)
        wait_until(lambda: os.path.exists(self.file + ".partial"), "some bytes are written")
        process.send_signal(signal.SIGHUP)
        gone.release()  # A signal that came before these last bytes is handled before them.
        self.assertEqual(process.wait(DEADLINE_S), UNAVAILABLE)


if __name__ == "__main__":
    unittest.main()
