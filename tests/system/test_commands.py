"""Services of type `command`: what they receive, how they end, and which process outlives which."""

import contextlib
import fcntl
import json
import os
import select
import signal
import stat
import subprocess
import threading
import time
import unittest

from daemon import DEADLINE_S, SLOWDOWN, Daemon, EndToEnd, a_config, a_job, stays, wait_until

# An attempt ends within 100 ms of its deadline; the rest is for a busy machine.
LATE_S = 0.6 * SLOWDOWN


def alive(pid):
    """Whether the process runs; a zombie does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return False


def parent_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return int(file.read().rpartition(")")[2].split()[1])


class Commands(EndToEnd):
    def path(self, name):
        return os.path.join(self.directory, name)

    def lines(self, name):
        """The complete lines of a file that a command writes."""
        try:
            with open(self.path(name), encoding="utf-8") as file:
                return [line[:-1] for line in file if line.endswith("\n")]
        except FileNotFoundError:
            return []

    def script(self, text, name="command"):
        """Writes a program, in which `$D` is the test's directory."""
        path = self.path(name)
        # Renamed into place: a file that is open for writing cannot be executed.
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nD={self.directory}\n{text}\n")
        os.chmod(path + ".new", stat.S_IRWXU)
        os.rename(path + ".new", path)
        return path

    def start_with(self, text, environment=None, **changes):
        service = {"type": "command", "argv": [self.script(text)], "env": environment or {}}
        return self.start(services={"dns": service}, **changes)

    def hanging(self):
        """A script that writes its pid and that of a child, neither of which ends by itself."""
        return ('trap "" TERM INT HUP; sleep 1000 & '
                'echo "$$ $!" >> $D/pids; while :; do wait; done')

    def running_pids(self, count=1):
        wait_until(lambda: len(self.lines("pids")) >= count, f"{count} commands run")
        return [int(pid) for line in self.lines("pids") for pid in line.split()]

    def assert_dead(self, pids, deadline_s=DEADLINE_S):
        wait_until(lambda: not any(alive(pid) for pid in pids), "all have ended", deadline_s)


class Running(Commands):
    def test_a_command_receives_the_document_and_answers_with_the_result(self):
        self.start_with("cat > $D/document; echo to >&2; echo people >&2; "
                        """echo '{"properties": {"made": [1, "x"]}}'""")
        job_id = self.submit(a_job(parameters={"ttl": 300}))
        job = self.wait_for_end(job_id)
        self.assertEqual((job["state"], job["attempt"]), ("succeeded", 1), job)
        self.assertEqual(job["properties"], {"made": [1, "x"]})
        self.assertEqual([(m["severity"], m["service"], m["text"]) for m in job["messages"]],
                         [("info", "dns", "to"), ("info", "dns", "people")])
        with open(self.path("document"), encoding="utf-8") as file:
            self.assertEqual(json.load(file), {
                "job": job_id, "attempt": 1, "customer": "acme", "product": "dns",
                "action": "create", "entity": a_job()["entity"], "service": "dns",
                "parameters": {"ttl": 300}, "properties": {}})

    def test_a_command_has_its_environment_and_nothing_of_celld(self):
        with open(self.path("secret"), "w", encoding="utf-8") as file:
            file.write("s3cret-word\n")
        self.start_with("/usr/bin/env > $D/env; ls /proc/self/fd > $D/fds; echo $PASSWORD >&2",
                        {"PASSWORD": "file:" + self.path("secret"), "A": "b"})
        job = self.wait_for_end(self.submit(a_job()))
        self.assertEqual(job["state"], "succeeded", job)
        self.assertEqual([m["text"] for m in job["messages"]], ["***"])
        self.assertEqual({line for line in self.lines("env")
                          if line.partition("=")[0] not in ("PWD", "_", "OLDPWD", "SHLVL")},
                         {"PASSWORD=s3cret-word", "A=b"})
        # The last one is the directory that ls reads.
        self.assertEqual(len(self.lines("fds")), 4, self.lines("fds"))
        self.assertNotIn("s3cret-word", self.daemon.log())

    def test_exit_75_is_retried_and_any_other_is_not(self):
        self.start_with('echo x >> $D/runs; [ $(wc -l < $D/runs) -ge 3 ] || exit 75; exit 0')
        job = self.wait_for_end(self.submit(a_job()))
        self.assertEqual((job["state"], job["attempt"]), ("succeeded", 3), job)
        self.script("""echo '{"code": "exists", "message": "there is one"}'; exit 1""")
        job = self.wait_for_end(self.submit(a_job()))
        self.assertEqual((job["state"], job["attempt"]), ("failed", 1), job)
        self.assertEqual(job["error"],
                         {"code": "exists", "message": "there is one", "service": "dns"})

    def test_output_that_is_not_an_answer_is_retried(self):
        self.start_with("echo done")
        job = self.wait_for_end(self.submit(a_job(retry={"max_attempts": 2})))
        self.assertEqual((job["state"], job["attempt"]), ("failed", 2), job)
        self.assertEqual(job["error"]["code"], "invalid_response")

    def test_a_missing_program_is_retried_and_reported(self):
        self.start_with("echo '{}'")
        os.remove(self.path("command"))
        job = self.wait_for_end(self.submit(a_job(retry={"max_attempts": 2})))
        self.assertEqual((job["state"], job["attempt"]), ("failed", 2), job)
        self.assertEqual(job["error"]["code"], "communications_error")
        self.assertIn("No such file", job["error"]["message"])

    def test_a_program_that_does_not_exist_is_a_fault_at_the_start(self):
        Daemon(a_config(self.provider, services={
            "gone": {"type": "command", "argv": [self.path("nothing")]},
            "text": {"type": "command", "argv": ["/etc/passwd"]}}), self.directory)
        for more in ["--check"], ["--data", self.path("data")]:
            done = subprocess.run(
                [os.environ["CELLD_BINARY"], "--config", self.path("celld.json"), *more],
                capture_output=True, text=True, timeout=DEADLINE_S, check=False)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn("/services/gone/argv/0: ", done.stderr)
            self.assertIn("/services/text/argv/0: ", done.stderr)

    def test_a_command_that_hangs_is_killed_at_its_deadline_with_its_children(self):
        self.start_with(self.hanging())
        job_id = self.submit(a_job(timeout_ms=500, retry={"max_attempts": 2}))
        pids = self.running_pids(1)
        started_at = time.monotonic()
        self.assert_dead(pids)
        self.assert_in_time("the attempt", time.monotonic() - started_at, 0.5 + LATE_S)
        job = self.wait_for_end(job_id)
        self.assertEqual((job["state"], job["error"]["code"]), ("failed", "timeout"), job)
        self.assertEqual(job["attempt"], 2)
        self.assertFalse(any(alive(pid) for pid in self.running_pids(2)))
        self.assertEqual(self.cell()["pool"]["busy"], 0)

    def test_a_cancelled_command_is_killed(self):
        self.start_with(self.hanging())
        job_id = self.submit(a_job())
        pids = self.running_pids()
        self.assertEqual(self.client.post(f"/v1/jobs/{job_id}/cancel", {}).status, 200)
        self.assertEqual(self.wait_for_end(job_id)["state"], "cancelled")
        self.assertFalse(any(alive(pid) for pid in pids))


class Ends(Commands):
    def alone(self):
        """A script that must not run twice at once: it would write to `twice`."""
        return ('exec 9>> $D/turn; flock -n 9 || { echo x >> $D/twice; exit 1; }; '
                '[ ! -e $D/go ] || { echo "{}"; exit; }; ' + self.hanging())

    def go(self):
        with open(self.path("go"), "w", encoding="utf-8"):
            pass

    def resume(self, pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)

    def supervisor(self):
        return parent_of(self.running_pids()[0])

    def test_nothing_of_a_command_outlives_a_killed_celld(self):
        self.start_with(self.alone())
        job_id = self.submit(a_job(retry={"max_attempts": 1}))
        pids = self.running_pids()
        supervisor = self.supervisor()
        killed_at = time.monotonic()
        self.daemon.kill()
        self.assert_dead([*pids, supervisor])
        self.assert_in_time("the end of the command", time.monotonic() - killed_at, LATE_S)
        self.go()
        self.restart()
        job = self.wait_for_end(job_id)
        self.assertEqual((job["state"], job["attempt"]), ("succeeded", 1), job)
        self.assertEqual(self.lines("twice"), [])

    def test_a_job_runs_again_after_a_kill_and_never_twice_at_a_time(self):
        self.start_with(self.alone())
        job_id = self.submit(a_job(retry={"max_attempts": 1}))
        for kills in range(1, 3):
            self.running_pids(kills)
            # A claim reaches the disk no later than a job accepted after it.
            self.submit(a_job(f"barrier {kills}", delay_ms=3_600_000))
            self.daemon.kill()
            self.restart()
        self.running_pids(3)
        self.assertEqual(self.lines("twice"), [])
        self.assertEqual(self.client.post(f"/v1/jobs/{job_id}/cancel", {}).status, 200)
        self.assertEqual(self.wait_for_end(job_id)["state"], "cancelled")
        self.assert_dead(self.running_pids(3))

    def test_celld_starts_no_job_while_commands_of_an_earlier_celld_run(self):
        self.start_with(self.alone())
        job_id = self.submit(a_job())
        pids = self.running_pids()
        supervisor = self.supervisor()
        os.kill(supervisor, signal.SIGSTOP)
        try:
            self.daemon.kill()
            self.client.close()
            starting = threading.Thread(target=self.daemon.start)
            starting.start()
            wait_until(lambda: "waiting for the commands" in self.daemon.log(), "celld waits")
            stays(lambda: starting.is_alive() and all(alive(pid) for pid in pids), "celld waits on")
            self.assertEqual(len(self.lines("pids")), 1)
        finally:
            os.kill(supervisor, signal.SIGCONT)
        self.go()
        starting.join(DEADLINE_S)
        self.client = self.daemon.client()
        self.assertEqual(self.wait_for_end(job_id)["state"], "succeeded")
        self.assertEqual(self.lines("twice"), [])
        self.assert_dead(pids)

    def test_a_killed_supervisor_takes_its_commands_along_and_is_replaced(self):
        self.start_with(self.alone())
        job_id = self.submit(a_job())
        pids = self.running_pids()
        self.go()
        os.kill(self.supervisor(), signal.SIGKILL)
        self.assert_dead(pids)
        job = self.wait_for_end(job_id)
        self.assertEqual((job["state"], job["attempt"]), ("succeeded", 2), job)
        self.assertEqual(self.lines("twice"), [])
        self.assertTrue(self.daemon.running())

    def test_a_command_that_outlasts_the_grace_is_killed_and_its_job_handed_back(self):
        self.start_with(self.alone(), shutdown_grace_ms=300)
        job_id = self.submit(a_job(retry={"max_attempts": 1}))
        pids = self.running_pids()
        supervisor = self.supervisor()
        self.assertEqual(self.daemon.stop(), 0)
        self.assertFalse(any(alive(pid) for pid in [*pids, supervisor]))
        self.go()
        self.restart()
        job = self.wait_for_end(job_id)
        self.assertEqual((job["state"], job["attempt"]), ("succeeded", 1), job)

    def test_a_supervisor_that_does_not_answer_does_not_prevent_a_shutdown(self):
        self.start_with(self.alone(), shutdown_grace_ms=300)
        job_id = self.submit(a_job(retry={"max_attempts": 1}))
        pids = self.running_pids()
        supervisor = self.supervisor()
        os.kill(supervisor, signal.SIGSTOP)
        self.addCleanup(self.assert_dead, [*pids, supervisor])
        self.addCleanup(self.resume, supervisor)
        stopped_at = time.monotonic()
        self.assertEqual(self.daemon.stop(), 0)
        self.assert_in_time("the shutdown", time.monotonic() - stopped_at, 20 * SLOWDOWN)
        warning, = [line for line in map(json.loads, self.daemon.log().splitlines())
                    if "calls have not ended" in line["message"]]
        self.assertEqual((warning["cell"], warning["calls"]), ("*/*", 1), warning)
        self.assertTrue(all(alive(pid) for pid in pids))
        self.go()
        with open(os.path.join(self.daemon.data, "celld.db.supervisor.lock"), encoding="utf-8") as lock:
            with self.assertRaises(BlockingIOError, msg="the next celld has to wait"):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.resume(supervisor)
        self.restart()
        job = self.wait_for_end(job_id)
        self.assertEqual((job["state"], job["attempt"]), ("succeeded", 1), job)
        self.assertEqual(self.lines("twice"), [])

    def test_the_supervisor_keeps_no_descriptor_of_celld_but_the_lock_of_its_commands(self):
        self.start_with(self.alone())
        job_id = self.submit(a_job())
        self.running_pids()
        supervisor = self.supervisor()
        held = {int(fd): os.readlink(f"/proc/{supervisor}/fd/{fd}")
                for fd in os.listdir(f"/proc/{supervisor}/fd")}
        self.assertEqual((held.pop(1), held.pop(2)), ("/dev/null", "/dev/null"))
        self.assertEqual(held.pop(3), os.path.join(self.daemon.data, "celld.db.supervisor.lock"))
        # The sockets to celld and to its only command.
        self.assertEqual(sorted(target.partition(":")[0] for target in held.values()),
                         ["anon_inode", "socket", "socket"], held)
        self.assertEqual(os.getsid(supervisor), supervisor)
        self.client.post(f"/v1/jobs/{job_id}/cancel", {})
        self.wait_for_end(job_id)

    def test_the_commands_of_a_database_keep_every_celld_from_it_whatever_its_data_directory(self):
        path = self.path("elsewhere.db")
        config = a_config(self.provider, store={"type": "sqlite", "path": path})
        daemon = Daemon(config, self.directory)
        with open(f"{path}.supervisor.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            daemon.spawn()
            self.addCleanup(lambda: daemon.running() and daemon.kill())
            wait_until(lambda: "waiting for the commands of an earlier celld" in daemon.log(),
                       "celld says that it waits")
            served, _, _ = select.select([daemon.process.stdout], [], [], 0.3)
            self.assertEqual(served, [], daemon.log())
            self.assertTrue(daemon.running(), daemon.log())
        self.assertIn(b"listening", daemon.process.stdout.readline())
        self.assertEqual(daemon.stop(), 0)

    def test_only_celld_runs_its_supervisor(self):
        done = subprocess.run([os.environ["CELLD_BINARY"], "supervise-commands"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=DEADLINE_S, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)

    def test_a_terminal_interrupt_of_celld_lets_its_commands_finish(self):
        self.start_with('echo "$$ $$" >> $D/pids; '
                        'until [ -e $D/go ]; do sleep 0.05; done; echo "{}"')
        job_id = self.submit(a_job())
        self.running_pids()
        supervisor = self.supervisor()
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            os.kill(supervisor, number)
        self.daemon.signal(signal.SIGINT)
        wait_until(lambda: self.client.get("/readyz").status == 503, "celld shuts down")
        self.go()
        self.assertEqual(self.daemon.wait(), 0)
        self.restart()
        job = self.job(job_id)
        self.assertEqual((job["state"], job["attempt"]), ("succeeded", 1), job)


if __name__ == "__main__":
    unittest.main()
