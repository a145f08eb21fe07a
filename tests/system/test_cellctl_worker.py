"""`cellctl worker`: a command for each leased job, and what happens when something goes wrong."""

import fcntl
import json
import os
import resource
import signal
import socket
import struct
import subprocess
import threading
import time
import unittest

from cellctl import (FAILED, NOT_FOUND, OK, REFUSED, UNAVAILABLE, USAGE, Canned, CellctlTest,
                     binary)
from daemon import DEADLINE_S, a_job, stays, wait_until

SERVICES = {"vm": {"type": "pull"}, "demo": {"type": "simulated"}}


def alive(pid):
    """Whether the process runs; a zombie does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return False


class Forgetful(Canned):
    """Holds a lease of the worker, until it is reported. Its first answers to heartbeats and reports
    say nothing, as those of a proxy may."""

    LEASE = {"lease": "L1", "job": {"id": "1m84w5wj00000"}, "service": "vm", "attempt": 1,
             "expires_in_ms": 60_000}

    def response(self):
        path = self.path.partition("?")[0]
        first = sum(seen.startswith(path) for seen, _, _ in self.requests) == 1
        document = {}
        if path == "/v1/leases":
            document = {"items": [self.LEASE] if first else []}
        elif path == "/v1/services/vm/leases":
            document = {"leases": []}
        elif path == "/v1/leases/report" and not first:
            document = {"results": [{"lease": "L1", "status": 200}]}
        elif path == "/v1/leases/L1/heartbeat" and not first:
            document = {"expires_in_ms": 60_000, "cancel": False}
        return 200, {"Content-Type": "application/json"}, json.dumps(document).encode()


class Detour(Forgetful):
    """The first heartbeat and the first report reach a proxy that does not find celld."""

    def response(self):
        path = self.path.partition("?")[0]
        first = sum(seen.startswith(path) for seen, _, _ in self.requests) == 1
        if first and path in ("/v1/leases/report", "/v1/leases/L1/heartbeat"):
            return 404, {"Content-Type": "text/plain"}, b"404 page not found"
        return super().response()


class Statusless(Forgetful):
    """The answer to the first report names the lease, and does not say what became of it."""

    def response(self):
        path = self.path.partition("?")[0]
        first = sum(seen.startswith(path) for seen, _, _ in self.requests) == 1
        if first and path == "/v1/leases/report":
            return 200, {"Content-Type": "application/json"}, b'{"results": [{"lease": "L1"}]}'
        return super().response()


class Strict(Forgetful):
    """Refuses each heartbeat that says something."""

    def response(self):
        if self.path == "/v1/leases/L1/heartbeat" and self.requests[-1][2] != b"{}":
            return 422, {"Content-Type": "application/problem+json"}, b'{"title": "No"}'
        return super().response()


class Picky(Forgetful):
    """Finds two faults in the first report."""

    def response(self):
        first = sum(path == "/v1/leases/report" for path, _, _ in self.requests) == 1
        if not first or self.path != "/v1/leases/report":
            return super().response()
        faults = [{"pointer": "/code", "detail": "is odd"},
                  {"pointer": "/message", "detail": "is long"}]
        document = {"results": [{"lease": "L1", "status": 422, "errors": faults}]}
        return 200, {"Content-Type": "application/json"}, json.dumps(document).encode()


class Overloaded(Canned):
    """Turns every client away."""

    def response(self):
        return 503, {"Content-Type": "text/plain", "Retry-After": "42"}, b"overloaded"


class Late(Canned):
    """The request for leases did not arrive in time."""

    def response(self):
        return 408, {"Content-Type": "text/plain", "Retry-After": "42"}, b"too slow"


class Limited(Canned):
    """Lets no client ask again before tomorrow."""

    def response(self):
        return 429, {"Content-Type": "text/plain", "Retry-After": "86400"}, b"too many requests"


class Idle(Canned):
    """Answers at once that it has no leases, and keeps the times at which it was asked for some."""

    times = []

    def response(self):
        if self.path == "/v1/services/vm/leases":
            self.times.append(time.monotonic())
        return 200, {"Content-Type": "application/json"}, b'{"items": [], "leases": []}'


class LostAnswer(Forgetful):
    """Grants its lease in an answer that a proxy loses."""

    def response(self):
        path = self.path.partition("?")[0]
        asked = [seen for seen, _, _ in self.requests if seen == "/v1/services/vm/leases"]
        document = {"leases": []}
        if path == "/v1/services/vm/leases" and len(asked) == 1:
            return 502, {"Content-Type": "text/plain"}, b"502 bad gateway"
        if path == "/v1/leases":
            document = {"items": [self.LEASE] if asked else []}
        elif path == "/v1/leases/report":
            document = {"results": [{"lease": "L1", "status": 200}]}
        return 200, {"Content-Type": "application/json"}, json.dumps(document).encode()


class Holding(LostAnswer):
    """Holds the request for leases until `released`, and grants it a lease then."""

    released = None

    def response(self):
        if self.path == "/v1/services/vm/leases":
            self.released.wait(DEADLINE_S)
            return 200, {}, b""
        return super().response()


class Flaky(Canned):
    """Answers only the fifth request."""

    def response(self):
        if len(self.requests) == 5:
            return 200, {"Content-Type": "application/json"}, b'{"items": []}'
        return 503, {}, b"overloaded"


class Pages(Forgetful):
    """Has two leases of the worker, each on a page of its own."""

    def response(self):
        path, _, query = self.path.partition("?")
        document = {"leases": []}
        if path == "/v1/leases":
            document = {"items": [self.LEASE], "next_cursor": "second"}
            if "cursor=second" in query:
                document = {"items": [{**self.LEASE, "lease": "L2"}], "next_cursor": None}
        elif path == "/v1/leases/report":
            document = {"results": [{"lease": each["lease"], "status": 200}
                                    for each in json.loads(self.requests[-1][2])]}
        return 200, {"Content-Type": "application/json"}, json.dumps(document).encode()


class Worker(CellctlTest):
    def start(self, config=None, **changes):
        super().start(config, **{"services": SERVICES, **changes})

    def path(self, name):
        return os.path.join(self.directory, name)

    def lines(self, name):
        """The complete lines of a file that a command writes."""
        try:
            with open(self.path(name), encoding="utf-8") as file:
                return [line[:-1] for line in file if line.endswith("\n")]
        except FileNotFoundError:
            return []

    def submit_vm(self, entity="a", **changes):
        return self.submit(a_job(entity, **{"services": ["vm"], **changes}))

    def work(self, command, *arguments, name="host-1", log=None, service="vm", **environment):
        """A worker whose command runs in the test's directory. Its log is NAME.log or LOG.log."""
        with open(self.path((log or name) + ".log"), "ab") as log:
            process = subprocess.Popen(
                [binary(), "worker", "--service", service, "--exec", command, "--name", name,
                 *arguments],
                env=self.environment(**environment), cwd=self.directory, stderr=log,
                stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)

        def end():
            process.kill()
            process.wait(DEADLINE_S)
        self.addCleanup(end)
        return process

    def log(self, name="host-1"):
        with open(self.path(name + ".log"), encoding="utf-8") as file:
            return file.read()

    def await_log(self, text, name="host-1"):
        wait_until(lambda: text in self.log(name), f"{name} logs {text!r}")

    def end_of(self, process, code=OK):
        self.assertEqual(process.wait(DEADLINE_S), code, self.log())

    def stop(self, process, code=OK):
        process.send_signal(signal.SIGTERM)
        self.end_of(process, code)

    def pids(self, count=1):
        """The process ids that commands have written to `pids`."""
        wait_until(lambda: len(self.lines("pids")) >= count, f"{count} commands have started")
        return [int(line) for line in self.lines("pids")]

    def hanging(self, then="exit 0"):
        """A command that hangs until `go` exists, with a child in its process group."""
        return ("sleep 1000 & echo $! >>pids; echo $$ >>pids; "
                f"until [ -e go ]; do sleep 0.02; done; kill $!; {then}")

    def go(self):
        with open(self.path("go"), "w", encoding="utf-8"):
            pass

    # --- What a command receives, and what becomes of its result --------------------------------

    def test_answers_that_say_nothing_about_a_lease_do_not_end_it(self):
        self.outlast(Forgetful)

    def test_a_404_that_is_not_from_celld_does_not_end_a_lease(self):
        self.outlast(Detour)

    def test_an_answer_without_the_status_of_a_report_does_not_end_its_lease(self):
        self.outlast(Statusless)

    def test_a_message_that_celld_refuses_is_not_sent_again(self):
        url, requests = self.serve(Strict)
        worker = self.work("echo message no >&2; until [ -e go ]; do sleep 0.05; done",
                           CELLD_URL=url)

        def beats():
            return [body for path, _, body in requests if path == "/v1/leases/L1/heartbeat"]
        self.await_log("celld refused a message or the progress: No (422)")
        wait_until(lambda: len(beats()) >= 2, "another heartbeat follows")
        self.assertEqual(beats()[:2], [b'{"message":"no"}', b"{}"])
        self.go()
        self.await_log("succeeded in")
        self.stop(worker)
        self.assertNotIn("no longer knows", self.log())

    def test_every_fault_of_a_report_that_celld_refuses_is_logged(self):
        worker = self.work("true", CELLD_URL=self.serve(Picky)[0])
        self.await_log("celld refused its report: /code is odd; /message is long\n")
        self.stop(worker)

    def test_workers_without_a_name_have_different_ones(self):
        url, _ = self.serve(Idle, times=[])
        said = {self.a_line(self.begin("worker", "--service", "vm", "--exec", "true", "--url",
                                       url).stderr) for _ in range(2)}
        self.assertEqual(len(said), 2, said)
        for line in said:
            self.assertRegex(line, r"^cellctl: worker \S+ runs up to 1 jobs of vm at a time")

    def test_a_worker_that_is_turned_away_waits_as_long_as_celld_says(self):
        worker = self.work("true", CELLD_URL=self.serve(Overloaded)[0])
        self.await_log("trying again in 42s")
        self.stop(worker)

    def test_a_worker_whose_request_was_late_asks_again(self):
        worker = self.work("true", CELLD_URL=self.serve(Late)[0])
        self.await_log("trying again in 42s")
        self.stop(worker)

    def test_a_worker_waits_at_most_five_minutes_however_long_celld_asks_for(self):
        worker = self.work("true", CELLD_URL=self.serve(Limited)[0])
        self.await_log("trying again in 5m\n")
        self.stop(worker)

    def test_a_worker_pauses_between_requests_if_celld_does_not_hold_them(self):
        times = []
        worker = self.work("true", CELLD_URL=self.serve(Idle, times=times)[0])
        wait_until(lambda: len(times) >= 3, "the worker asks for leases again")
        self.stop(worker)
        # The second answer came after the first request, and half a second or more before the third.
        self.assertGreater(times[2] - times[0], 0.49)

    def test_an_answer_ends_a_row_of_longer_and_longer_pauses(self):
        worker = self.work("true", CELLD_URL=self.serve(Flaky)[0])
        wait_until(lambda: self.log().count("trying again in ") >= 5, "the fifth pause")
        self.assertRegex(self.log().split("trying again in ")[5], r"\A\d+ms\n")  # Below a second.
        self.assertEqual(self.log().count("celld answers again\n"), 1)
        self.stop(worker)

    def test_a_request_for_leases_may_take_longer_than_others(self):
        self.start()
        worker = self.work("true", "--request-timeout", "1s")
        waits = 'celld_lease_requests_waiting{service="vm"} 1'
        wait_until(lambda: waits in self.client.request("GET", "/metrics").body.decode(),
                   "the worker waits")
        time.sleep(1.5)
        self.assertEqual(self.wait_for_end(self.submit_vm())["state"], "succeeded")
        self.stop(worker)
        self.assertNotIn("trying again", self.log())

    def test_a_worker_may_open_as_many_files_as_the_system_allows(self):
        self.start()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, hard), hard))
        worker = self.work("true")
        self.await_log("runs up to")
        self.assertEqual(resource.prlimit(worker.pid, resource.RLIMIT_NOFILE), (hard, hard))
        self.stop(worker)

    def test_a_lease_whose_answer_was_lost_is_taken_up(self):
        url, requests = self.serve(LostAnswer)
        worker = self.work("true", CELLD_URL=url)
        wait_until(lambda: "/v1/leases/report" in [request[0] for request in requests],
                   "the lease is reported")
        self.stop(worker)

    def test_a_lease_that_was_granted_just_when_the_worker_stopped_is_taken_up(self):
        released = threading.Event()
        url, requests = self.serve(Holding, released=released)
        self.addCleanup(released.set)
        worker = self.work("true", CELLD_URL=url)

        def asked(path):
            return any(request[0] == path for request in requests)
        wait_until(lambda: asked("/v1/services/vm/leases"), "the worker asks for leases")
        worker.send_signal(signal.SIGTERM)
        self.await_log("stopping: no command is running")
        released.set()
        self.end_of(worker)
        self.assertTrue(asked("/v1/leases/report"), self.log())

    def test_the_leases_of_every_page_are_taken_up(self):
        url, requests = self.serve(Pages)
        worker = self.work("true", "--concurrency", "2", CELLD_URL=url)

        def reported():
            return {each["lease"] for path, _, body in requests if path == "/v1/leases/report"
                    for each in json.loads(body)}
        wait_until(lambda: reported() == {"L1", "L2"}, "both leases are reported")
        self.stop(worker)

    def outlast(self, server):
        """A lease of this server gets its second heartbeat and its second report."""
        url, requests = self.serve(server)
        worker = self.work("echo 'progress 50%' >&2; until [ -e go ]; do sleep 0.05; done",
                           CELLD_URL=url)

        def seen(path):
            return sum(request[0] == path for request in requests)
        wait_until(lambda: seen("/v1/leases/L1/heartbeat") == 2, "the heartbeat comes again")
        self.await_log("heartbeats and reports cannot be delivered")
        open(self.path("go"), "w", encoding="utf-8").close()
        wait_until(lambda: seen("/v1/leases/report") == 2, "the report comes again")
        self.stop(worker)
        self.assertIn("succeeded", self.log())
        for said in ("cannot be delivered: ", "are delivered again\n"):
            self.assertEqual(self.log().count(f"heartbeats and reports {said}"), 2, self.log())
        self.assertNotIn("ending the command", self.log())
        self.assertNotIn("no longer knows", self.log())

    def test_a_command_gets_the_document_and_its_output_is_the_result(self):
        self.start()
        job = self.submit(a_job("a", services=["demo", "vm"], parameters={"size": 3}))
        self.work("cat >document; printenv >environment; pwd >directory; "
                  "echo '{\"properties\": {\"ip\": \"192.0.2.1\"}}'", CELLD_TOKEN="secret",
                  CITY="Rome")
        ended = self.wait_for_end(job)
        self.assertEqual((ended["state"], ended["properties"]),
                         ("succeeded", {"demo": {"simulated": True}, "ip": "192.0.2.1"}))
        with open(self.path("document"), encoding="utf-8") as file:
            self.assertEqual(json.load(file), {
                "job": job, "attempt": 1, "customer": "acme", "product": "dns",
                "action": "create", "entity": {"type": "zone", "id": "a"}, "service": "vm",
                "parameters": {"size": 3}, "properties": {"demo": {"simulated": True}}})
        environment = self.lines("environment")
        self.assertIn(f"CELLD_IDEMPOTENCY_KEY={job}.vm", environment)
        self.assertIn("CELLD_WORKER=host-1", environment)
        self.assertIn("CITY=Rome", environment)
        self.assertNotIn("secret", "".join(environment))
        self.assertEqual(self.lines("directory"), [os.path.realpath(self.directory)])

    def test_the_document_is_that_of_a_command_provider(self):
        provider = {"type": "command", "argv": ["/usr/bin/tee", self.path("provider")]}
        self.start(services={**SERVICES, "db": provider})
        job = {"parameters": {"f": 1.5, "s": "ü\"", "n": None, "l": [1, {}]},
               "entity": {"type": "zone", "subtype": "primary", "id": "x"}}
        self.wait_for_end(self.submit(a_job("a", services=["db"], **job)))
        self.submit(a_job("a", services=["vm"], **job))
        self.work("cat >worker.new; mv worker.new worker")
        wait_until(lambda: os.path.exists(self.path("worker")), "the command has run")
        documents = []
        for name in ("provider", "worker"):
            with open(self.path(name), encoding="utf-8") as file:
                documents.append(json.load(file))
        for document in documents:
            document.pop("job")
            document.pop("service")
        self.assertEqual(*documents)

    def test_progress_and_messages_show_while_the_command_runs(self):
        self.start()
        job = self.submit_vm()
        self.work("echo first >&2; echo progress 40% >&2; echo message formatted >&2; "
                  "until [ -e go ]; do sleep 0.02; done; echo last >&2")
        wait_until(lambda: self.job(job)["steps"][0]["progress"] == 0.4, "the progress shows")
        wait_until(lambda: [each["text"] for each in self.job(job)["messages"]] == ["formatted"],
                   "the message shows")
        self.go()
        ended = self.wait_for_end(job)
        self.assertEqual([(each["severity"], each["text"]) for each in ended["messages"]],
                         [("info", "formatted"), ("info", "first"), ("info", "last")])

    def test_the_exit_status_decides_whether_a_job_is_retried(self):
        self.start()
        refused = self.submit_vm("refused", parameters={"exit": 1})
        later = self.submit_vm("later", parameters={"exit": 75})
        self.work("status=$(sed 's/.*\"exit\":\\([0-9]*\\).*/\\1/'); echo why >&2; "
                  "echo '{\"code\": \"no_space\", \"message\": \"the disk is full\"}'; "
                  "exit $status", "--concurrency", "2")
        job = self.wait_for_end(refused)
        self.assertEqual((job["state"], job["attempt"]), ("failed", 1))
        self.assertEqual(job["error"], {"code": "no_space", "message": "the disk is full",
                                        "service": "vm"})
        self.assertIn("why", [each["text"] for each in job["messages"]])
        job = self.wait_for_end(later)
        self.assertEqual((job["state"], job["attempt"]), ("failed", 3))
        self.assertEqual(job["error"]["code"], "provider_error")

    def test_broken_output_fails_the_attempt(self):
        self.start()
        jobs = {self.submit_vm("text"): "echo hello", self.submit_vm("list"): "echo '[1]'",
                self.submit_vm("long"): "head -c 2000000 /dev/zero",
                self.submit_vm("bytes"): "printf '\\377\\000{}'"}
        script = "document=$(cat)\n" + "\n".join(
            f"case $document in *{job}*) {command};; esac" for job, command in jobs.items())
        self.work(script, "--concurrency", "4")
        for job in jobs:
            ended = self.wait_for_end(job)
            self.assertEqual((ended["state"], ended["attempt"], ended["error"]["code"]),
                             ("failed", 3, "invalid_response"), ended)

    def test_a_report_that_celld_cannot_read_holds_back_no_other(self):
        self.start(limits={"max_body_bytes": 65536})
        large, small = self.submit_vm("large"), self.submit_vm("small")
        self.work(f"case $(cat) in *{large}*) values=60000;; *) values=1;; esac; echo >>started; "
                  "until [ $(wc -l <started) -ge 2 ]; do sleep 0.02; done; "
                  "printf '{\"properties\":{\"x\":[0'; yes ,0 | head -n $values; printf ']}}'",
                  "--concurrency", "2")
        self.assertEqual(self.wait_for_end(small)["state"], "succeeded")
        ended = self.wait_for_end(large)
        self.assertEqual((ended["state"], ended["attempt"], ended["error"]["code"]),
                         ("failed", 3, "invalid_response"), ended)
        self.assertRegex(ended["error"]["message"], "^celld refused the worker's report: .*413")
        self.assertRegex(self.log(), "celld refused its report: .*413")

    def test_a_result_may_have_as_many_values_as_fit_into_the_properties(self):
        self.start()
        job = self.submit_vm()
        self.work("printf '{\"properties\":{\"x\":[0'; yes ,0 | head -n 60000; printf ']}}'")
        self.assertEqual(len(self.wait_for_end(job)["properties"]["x"]), 60001)

    def test_a_worker_whose_requests_are_all_answered_does_not_say_that_celld_answers_again(self):
        self.start()
        jobs = [self.submit_vm(f"e{number}") for number in range(3)]
        worker = self.work("true")
        for job in jobs:
            self.assertEqual(self.wait_for_end(job)["state"], "succeeded")
        self.stop(worker)
        self.assertNotIn("answers again", self.log())

    def test_a_command_that_cannot_be_found_is_retried_and_slows_the_worker_down(self):
        self.start()
        jobs = [self.submit_vm(f"e{number}") for number in range(3)]
        worker = self.work("./missing")
        self.await_log("communications_error")
        self.assertIn(self.job(jobs[0])["state"], ("retrying", "queued", "running"))
        stays(lambda: self.log().count(" starts\n") <= 2, "the backlog does not fail in one burst")
        # The program arrives.
        with open(self.path("missing"), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n")
        os.chmod(self.path("missing"), 0o755)
        for job in jobs:
            self.assertEqual(self.wait_for_end(job)["state"], "succeeded")
        self.stop(worker)

    # --- Ends -----------------------------------------------------------------------------------

    def test_a_cancelled_job_ends_its_command(self):
        self.start(defaults={"timeout_ms": 1000})
        job = self.submit_vm()
        self.work("trap 'echo ended >>ends; exit 1' TERM; " + self.hanging())
        pids = self.pids(2)
        self.client.post(f"/v1/jobs/{job}/cancel", {})
        self.assertEqual(self.wait_for_end(job)["state"], "cancelled")
        self.assertEqual(self.lines("ends"), ["ended"])
        wait_until(lambda: not any(map(alive, pids)), "the whole process group has ended")

    def test_a_command_that_ignores_its_cancellation_is_killed(self):
        self.start(defaults={"timeout_ms": 1000})
        job = self.submit_vm()
        self.work("trap '' TERM; " + self.hanging(), "--grace", "200ms")
        pids = self.pids(2)
        self.client.post(f"/v1/jobs/{job}/cancel", {})
        self.assertEqual(self.wait_for_end(job)["state"], "cancelled")
        wait_until(lambda: not any(map(alive, pids)), "the whole process group has ended")

    def test_a_lost_lease_ends_its_command(self):
        self.start()
        job = self.submit_vm(timeout_ms=600)
        worker = self.work(self.hanging(), "--grace", "50ms")
        pids = self.pids(2)
        worker.send_signal(signal.SIGSTOP)  # No heartbeat: the lease expires.
        wait_until(lambda: self.job(job)["state"] != "running", "the attempt has ended")
        lease, = self.client.post("/v1/services/vm/leases",
                                  {"worker": "other", "wait_ms": 20_000}).json["leases"]
        worker.send_signal(signal.SIGCONT)
        wait_until(lambda: not any(map(alive, pids)), "the process group has ended")
        self.assertEqual(self.client.post(f"/v1/leases/{lease['lease']}/complete", {}).status, 200)
        self.assertEqual(self.job(job)["state"], "succeeded")

    def test_a_worker_without_celld_ends_its_command_at_the_deadline(self):
        self.start()
        self.submit_vm(timeout_ms=1500)
        self.work(self.hanging(), "--grace", "100ms")
        pids = self.pids(2)
        self.daemon.signal(signal.SIGSTOP)
        begun = time.monotonic()
        wait_until(lambda: not any(map(alive, pids)), "the process group has ended")
        self.assert_in_time("the end of the command", time.monotonic() - begun, 2.0)
        self.daemon.signal(signal.SIGCONT)

    def test_a_heartbeat_without_an_answer_is_given_up_after_five_seconds(self):
        self.start(defaults={"timeout_ms": 60_000})
        self.submit_vm()
        self.work("echo $$ >>pids; until [ -e go ]; do echo 'progress 50%' >&2; sleep 0.2; done")
        self.pids()
        self.daemon.signal(signal.SIGSTOP)
        try:
            self.await_log("no complete response within 5.0s")
        finally:
            self.daemon.signal(signal.SIGCONT)

    def test_a_worker_whose_log_is_not_read_keeps_its_leases(self):
        self.start(cells=[{"customer": "*", "product": "*", "timeout_ms": 3000}])
        unread, full = os.pipe()
        self.addCleanup(os.close, unread)
        os.write(full, bytes(fcntl.fcntl(full, fcntl.F_SETPIPE_SZ, 4096)))
        worker = subprocess.Popen(
            [binary(), "worker", "--service", "vm", "--exec", "sleep 6; echo >>ended"],
            env=self.environment(), cwd=self.directory, stderr=full)
        self.addCleanup(worker.kill)
        os.close(full)
        job = self.submit_vm()
        self.assertEqual(self.wait_for_end(job)["state"], "succeeded")
        self.assertEqual(self.lines("ended"), [""])
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(DEADLINE_S), OK)

    def test_a_connection_that_breaks_in_its_tls_handshake_is_made_again(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            worker = self.work("true", CELLD_URL=f"https://127.0.0.1:{server.getsockname()[1]}")
            server.settimeout(DEADLINE_S)
            for is_reset in (False, True, True, False):
                connection = server.accept()[0]
                with connection:
                    connection.recv(1 << 16)
                    linger = struct.pack("ii", is_reset, 0)
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.stop(worker)
        self.assertIn("the connection broke or timed out in the TLS handshake; trying again in",
                      self.log())

    def test_heartbeats_keep_a_command_that_takes_longer_than_the_timeout(self):
        self.start()

        def ends(timeout_s):
            job = self.submit_vm(timeout_ms=int(1000 * timeout_s))
            worker = self.work(f"sleep {3 * timeout_s}")
            ended = self.wait_for_end(job)
            self.stop(worker)
            return ended["state"], ended["attempt"]
        # A busy machine may be too slow for a short timeout.
        self.assertIn(("succeeded", 1), map(ends, (0.6, 2, 6)))

    # --- Stops ----------------------------------------------------------------------------------

    def test_a_first_signal_lets_the_command_finish_and_leases_no_more(self):
        self.start()
        jobs = [self.submit_vm("a"), self.submit_vm("b")]
        worker = self.work(self.hanging())
        self.pids(2)
        worker.send_signal(signal.SIGTERM)
        self.await_log("stopping: 1 running")
        self.assertEqual(self.job(jobs[0])["state"], "running")
        self.go()
        self.end_of(worker)
        self.assertEqual([self.job(job)["state"] for job in jobs], ["succeeded", "queued"])

    def test_a_second_signal_ends_the_command_and_gives_the_job_back(self):
        self.start()
        job = self.submit_vm()
        worker = self.work(self.hanging())
        pids = self.pids(2)
        for number in signal.SIGINT, signal.SIGTERM:
            worker.send_signal(number)
            time.sleep(0.05)
        self.end_of(worker, FAILED)
        self.assertFalse(any(map(alive, pids)))
        self.assertIn(self.job(job)["state"], ("retrying", "queued"))
        self.assertEqual([each["text"] for each in self.job(job)["messages"]][-1:],
                         ["The worker was stopped, and ended the command."])

    def test_an_idle_worker_stops_at_once(self):
        self.start()
        worker = self.work("true")
        job = self.submit_vm()
        self.wait_for_end(job)
        stays(lambda: worker.poll() is None, "it waits for more jobs")
        begun = time.monotonic()
        self.stop(worker)
        self.assert_in_time("the stop", time.monotonic() - begun, 1.0)
        # Until celld has noticed that the worker is gone, it leases it a job, and takes it back.
        none = b'\ncelld_lease_requests_waiting{service="vm"} 0\n'
        wait_until(lambda: none in self.client.get("/metrics").body, "no worker waits")
        again = self.submit_vm("b")
        stays(lambda: self.job(again)["state"] == "queued", "nothing was leased")

    def test_a_killed_worker_takes_its_commands_along_and_takes_its_leases_up_again(self):
        self.start(defaults={"timeout_ms": 60_000})
        job = self.submit_vm()
        worker = self.work(self.hanging())
        pids = self.pids(2)
        worker.kill()
        worker.wait(DEADLINE_S)
        wait_until(lambda: not any(map(alive, pids)), "the process group has ended")
        self.assertEqual(self.job(job)["state"], "running")
        self.go()
        self.work(self.hanging())
        ended = self.wait_for_end(job)
        self.assertEqual((ended["state"], ended["attempt"]), ("succeeded", 1))
        self.assertEqual(len(self.lines("pids")), 4)

    def test_a_worker_that_has_more_leases_than_room_keeps_them_all(self):
        self.start(defaults={"timeout_ms": 8000, "retry": {"max_attempts": 1}})
        jobs = [self.submit_vm(f"e{number}") for number in range(4)]
        worker = self.work(self.hanging(), "--concurrency", "4")
        self.pids(8)
        worker.kill()
        worker.wait(DEADLINE_S)
        self.work("echo begins >>order; sleep 2.5; echo ends >>order", "--concurrency", "1")
        for job in jobs:
            ended = self.wait_for_end(job)
            self.assertEqual((ended["state"], ended["attempt"]), ("succeeded", 1), ended)
        self.assertEqual(self.lines("order"), ["begins", "ends"] * 4)

    def test_a_worker_leaves_alone_the_leases_that_its_host_has_for_another_service(self):
        self.start(services={**SERVICES, "db": {"type": "pull"}})
        self.submit(a_job("a", services=["db"]))
        leases = self.client.post("/v1/services/db/leases", {"worker": "host-1"}).json["leases"]
        self.assertEqual(len(leases), 1)
        self.work("echo $CELLD_IDEMPOTENCY_KEY >>done")
        job = self.submit_vm("b")
        self.wait_for_end(job)
        self.assertEqual(self.lines("done"), [f"{job}.vm"])

    def assert_take_turns(self, **environment):
        """Of two workers of one name, the second begins when the first has ended."""
        self.submit_vm()
        first = self.work(self.hanging())
        self.pids(2)
        second = self.work(self.hanging(), log="second", **environment)
        self.await_log("waiting for another worker with this name", "second")
        self.assertEqual(len(self.lines("pids")), 2)
        self.go()
        self.stop(first)
        self.await_log("runs up to 1 jobs", "second")
        self.stop(second)

    def test_two_workers_of_one_name_do_not_run_at_once(self):
        self.start(defaults={"timeout_ms": 60_000})
        self.assert_take_turns()

    def test_workers_of_one_name_wait_for_each_other_however_they_name_this_machine(self):
        self.start(defaults={"timeout_ms": 60_000})
        self.assert_take_turns(CELLD_URL=f"http://LOCALHOST:{self.daemon.port}")

    def test_workers_of_two_services_may_have_one_name(self):
        self.start(services={**SERVICES, "db": {"type": "pull"}})
        workers = [self.work("true"), self.work("true", service="db", log="second")]
        for log in ("host-1", "second"):
            self.await_log("runs up to", log)
        self.assertNotIn("waiting for another worker", self.log("second"))
        for worker in workers:
            self.stop(worker)

    def test_workers_of_two_celld_behind_one_address_may_have_one_name(self):
        url, _ = self.serve(Idle, times=[])
        workers = [self.work("true", CELLD_URL=url),
                   self.work("true", log="second", CELLD_URL=f"{url}/other")]
        for log in ("host-1", "second"):
            self.await_log("runs up to", log)
        self.assertNotIn("waiting for another worker", self.log("second"))
        for worker in workers:
            self.stop(worker)

    # --- Celld and its cells --------------------------------------------------------------------

    def test_three_workers_one_killed_and_celld_restarted_lose_nothing(self):
        self.keep_port()
        self.start(defaults={"timeout_ms": 1500, "pool": {"size": 6},
                             "retry": {"max_attempts": 10, "backoff_ms": 10}})
        command = "echo $CELLD_IDEMPOTENCY_KEY >>done; sleep 0.05"
        workers = [self.work(command, "--concurrency", "2", name=f"host-{number}")
                   for number in range(3)]
        jobs = [self.submit_vm(f"e{number}") for number in range(60)]
        wait_until(lambda: len(self.lines("done")) > 5, "the work has begun")
        workers[0].kill()
        wait_until(lambda: len(self.lines("done")) > 15, "the others continue")
        self.daemon.kill()
        time.sleep(0.3)
        self.restart()
        for job in jobs:
            self.assertEqual(self.wait_for_end(job)["state"], "succeeded")
        self.assertEqual(set(self.lines("done")), {f"{job}.vm" for job in jobs})
        for worker in workers[1:]:
            self.stop(worker)

    def test_a_result_is_delivered_once_celld_is_back(self):
        self.keep_port()
        self.start(defaults={"timeout_ms": 60_000})
        job = self.submit_vm()
        self.work(self.hanging("echo done >>ends"))
        self.pids(2)
        self.daemon.kill()
        self.go()
        wait_until(lambda: self.lines("ends"), "the command ends while celld is away")
        self.restart()
        ended = self.wait_for_end(job)
        self.assertEqual((ended["state"], ended["attempt"]), ("succeeded", 1))

    def test_a_worker_that_stops_while_celld_is_away_says_what_is_lost(self):
        self.start(defaults={"timeout_ms": 4000})
        self.submit_vm()
        worker = self.work(self.hanging())
        self.pids(2)
        self.daemon.kill()
        self.go()
        self.await_log("succeeded in")
        self.stop(worker, UNAVAILABLE)
        self.assertIn("its report could not be delivered", self.log())

    def test_a_pool_is_resized_beneath_a_worker(self):
        self.start(defaults={"pool": {"size": 4}, "timeout_ms": 60_000})
        jobs = [self.submit_vm(f"e{number}") for number in range(12)]
        worker = self.work("echo $$ >>pids; n=$(wc -l <pids); "
                           "until [ -e go ] || [ -e go.$$ ]; do sleep 0.02; done",
                           "--concurrency", "4")
        pids = self.pids(4)
        self.client.put("/v1/admin/cells/*/*/pool", {"size": 1})
        stays(lambda: all(map(alive, pids)), "a shrink interrupts nothing")

        def finish(pid):
            with open(self.path(f"go.{pid}"), "w", encoding="utf-8"):
                pass
        for pid in pids:
            finish(pid)
        fifth = self.pids(5)[4]
        stays(lambda: len(self.lines("pids")) == 5, "one job runs at a time")
        self.client.put("/v1/admin/cells/*/*/pool", {"size": 4})
        self.assertEqual(self.pids(8)[4], fifth)
        stays(lambda: len(self.lines("pids")) == 8, "four jobs run at a time")
        self.go()
        for job in jobs:
            self.assertEqual(self.wait_for_end(job)["state"], "succeeded")
        self.stop(worker)

    # --- The command line -----------------------------------------------------------------------

    def test_a_worker_that_celld_refuses_says_why(self):
        self.start()
        done = self.run_cellctl("worker", "--service", "none", "--exec", "true", code=NOT_FOUND)
        self.assertIn("404", done.stderr)
        done = self.run_cellctl("worker", "--service", "demo", "--exec", "true", code=NOT_FOUND)
        self.assertIn("404", done.stderr)

    def test_a_worker_without_a_token_of_its_service_is_refused(self):
        token, entry = self.a_token("work", "--services", "vm")
        self.start(auth={"tokens": [entry]})
        done = self.run_cellctl("worker", "--service", "vm", "--exec", "true", code=REFUSED)
        self.assertIn("401", done.stderr)
        worker = self.work("true", CELLD_TOKEN=token)
        self.await_log("runs up to")
        stays(lambda: worker.poll() is None, "the token suffices")
        self.stop(worker)

    def a_token(self, scopes, *arguments):
        done = subprocess.run([os.environ["CELLD_BINARY"], "token", "--scopes", scopes, "--json",
                               *arguments], capture_output=True, check=True, timeout=DEADLINE_S)
        made = json.loads(done.stdout)
        return made["token"], made["entry"]

    def test_wrong_arguments_are_usage_errors(self):
        for arguments in ((), ("--service", "vm"), ("--exec", "true"),
                          ("--service", "vm", "--exec", ""),
                          ("--service", "vm", "--exec", "true", "--concurrency", "0"),
                          ("--service", "vm", "--exec", "true", "--concurrency", "1001"),
                          ("--service", "vm", "--exec", "true", "--concurrency", "x"),
                          ("--service", "vm", "--exec", "true", "--name", ""),
                          ("--service", "vm", "--exec", "true", "--name", "x" * 256),
                          ("--service", "vm", "--exec", "true", "--grace", "soon")):
            with self.subTest(arguments=arguments):
                self.run_cellctl("worker", *arguments, code=USAGE)

    def test_a_quiet_worker_prints_only_failures(self):
        self.start()
        worker = self.work("grep -q '\"id\":\"good\"'", "--quiet")
        self.assertEqual(self.wait_for_end(self.submit_vm("good"))["state"], "succeeded")
        self.assertEqual(self.wait_for_end(self.submit_vm("bad"))["state"], "failed")
        self.stop(worker)
        lines = self.log().splitlines()
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("provider_rejected", lines[0])

    def test_only_cellctl_runs_its_supervisor(self):
        done = subprocess.run([binary(), "supervise-commands"], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=DEADLINE_S, check=False)
        self.assertEqual((done.returncode, done.stdout), (USAGE, b""), done)


if __name__ == "__main__":
    unittest.main()
