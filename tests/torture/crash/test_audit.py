"""Tests of the audits. Each builds a ledger note by note and then plants a fault."""

import contextlib
import copy
import os
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

import audit
import commands
import journal
from calls import Call
from clients import INVALID
from daemon import wait_until
from ledger import Ledger

LIFE = 1
POOLS = {"c0/*": 2}


def a_request(key="k1", outcome="ok", **changes):
    return {"customer": "c0", "services": ["one"], "labels": {"key": key},
            "parameters": {"outcome": outcome}, **changes}


def a_job(job_id="j1", state="queued", finished_at=None, **changes):
    ended = state in ("succeeded", "failed", "cancelled")
    step = state if state in ("succeeded", "failed") else "waiting"
    error = {"failed": {"code": "provider_rejected"}, "cancelled": {"code": "cancelled"}}
    job = {**a_request(), "id": job_id, "state": state, "cell": "c0/*", "cancel_requested": False,
           "steps": [{"service": "one", "state": step}],
           "properties": {"one": job_id} if state == "succeeded" else {},
           "finished_at": (finished_at or "t1") if ended else None, "error": error.get(state)}
    return {**job, **changes}


def a_call(job="j1", began_at=1.0, ended_at=1.5, **changes):
    call = Call(job, "one", 1, "c0/dns", "c0/dns/zone/e1", LIFE, began_at, ended_at,
                succeeded=True)
    for name, value in changes.items():
        setattr(call, name, value)
    return call


class Story:
    """Builds a ledger from notes, one second apart."""

    def __init__(self):
        self.ledger = Ledger()
        self.at = 0.0
        self.note("began", life=LIFE)

    def note(self, note, **members):
        self.at += 1.0
        self.ledger.enter({"note": note, "at": self.at, **members})
        return self

    def accept(self, job_id="j1", key="k1", **changes):
        self.note("submitting", key=key, job=a_request(key, **changes))
        return self.note("accepted", key=key, id=job_id)

    def command(self, what, status, job_id="j1"):
        self.note("requesting", id=job_id, what=what)
        return self.note("answered", id=job_id, what=what, status=status)

    def die(self, how="kill"):
        self.note("signalled", life=LIFE, how=how).note("died", life=LIFE, how=how)
        return self.note("began", life=LIFE + 1)


class Case(unittest.TestCase):
    def assert_found(self, story, *kinds):
        self.assertEqual(sorted(story.ledger.faults.found), sorted(kinds))

    def assert_state(self, story, jobs, *kinds):
        """`jobs`: what celld shows. The audit must find exactly these kinds of faults in it."""
        for job in jobs:
            story.note("saw", job=job)
        story.ledger.check_state({job["id"]: job for job in jobs})
        self.assert_found(story, *kinds)


class State(Case):
    def test_the_audit_finds_no_fault_in_a_correct_state(self):
        story = Story().accept().accept("j2", "k2").note("saw", job=a_job(state="succeeded")).die()
        jobs = [a_job(state="succeeded"), a_job("j2", labels={"key": "k2"})]
        self.assert_state(story, jobs)

    def test_the_audit_detects_a_lost_accepted_job(self):
        self.assert_state(Story().accept().die(), [], "an accepted job is lost")

    def test_the_audit_ignores_a_missing_job_that_was_never_accepted(self):
        self.assert_state(Story().note("submitting", key="k1", job=a_request()).die(), [])

    def test_the_audit_detects_one_request_that_became_two_jobs(self):
        story = Story().accept().die()
        self.assert_state(story, [a_job(), a_job("j2")], "one request became two jobs")

    def test_the_audit_detects_a_job_that_no_client_submitted(self):
        self.assert_state(Story(), [a_job()], "a job that no client submitted")

    def test_the_audit_detects_a_job_that_differs_from_its_submission(self):
        self.assert_state(Story().accept(), [a_job(customer="c1")],
                          "a job differs from its submission")

    def test_the_audit_detects_a_job_that_ended_twice(self):
        story = Story().accept().note("saw", job=a_job(state="succeeded")).die()
        self.assert_state(story, [a_job(state="succeeded", finished_at="t2")],
                          "a job ended twice")

    def test_the_audit_detects_an_ended_job_that_changed(self):
        story = Story().accept().note("saw", job=a_job(state="succeeded")).die()
        self.assert_state(story, [a_job(state="succeeded", properties={})],
                          "an ended job changed")

    def test_the_audit_detects_an_ended_job_that_is_unfinished_again(self):
        story = Story().accept().note("saw", job=a_job(state="failed")).die()
        self.assert_state(story, [a_job()], "an ended job is unfinished again")

    def test_the_audit_detects_a_succeeded_step_that_is_undone(self):
        running = a_job(state="running", steps=[{"service": "one", "state": "succeeded"}])
        story = Story().accept().note("saw", job=running).die()
        self.assert_state(story, [a_job()], "a succeeded step is undone")


class Commands(Case):
    def test_the_audit_detects_a_lost_acknowledged_cancellation(self):
        story = Story().accept().command("cancel", 200).die()
        self.assert_state(story, [a_job()], "an acknowledged cancellation is lost")

    def test_the_audit_accepts_a_cancellation_in_progress(self):
        story = Story().accept().command("cancel", 200).die()
        self.assert_state(story, [a_job(state="running", cancel_requested=True)])

    def test_the_audit_detects_an_unfinished_job_whose_cancellation_was_refused_as_too_late(self):
        story = Story().accept().command("cancel", 409).die()
        self.assert_state(
            story, [a_job()],
            "a job is unfinished whose cancellation was refused as too late")

    def test_the_audit_detects_a_lost_acknowledged_retry(self):
        failed = a_job(state="failed")
        story = Story().accept().note("saw", job=failed).command("retry", 202).die()
        self.assert_state(story, [failed], "an acknowledged retry is lost")

    def test_the_audit_accepts_either_result_of_an_unanswered_retry(self):
        failed = a_job(state="failed")
        for after in failed, a_job(), a_job(state="succeeded", finished_at="t2"):
            story = Story().accept().note("saw", job=failed)
            story.note("requesting", id="j1", what="retry").die()
            self.assert_state(story, [after])

    def test_the_audit_detects_a_second_end_that_no_retry_explains(self):
        story = Story().accept().note("saw", job=a_job(state="failed")).command("retry", 202)
        story.note("saw", job=a_job(state="failed", finished_at="t2")).die()
        self.assert_state(story, [a_job(state="succeeded", finished_at="t3")],
                          "a job ended twice")

    def test_the_audit_detects_a_lost_acknowledged_resize(self):
        story = Story().note("resizing", cell="c0/*", size=4).note("resized", cell="c0/*", size=4)
        story.note("resizing", cell="c0/*", size=5).die()
        for target, lost in (4, False), (5, False), (2, True):
            ledger = copy.deepcopy(story.ledger)
            audit.audit_sizes(ledger, {"c0/*": target}, POOLS, story.at)
            self.assertEqual("an acknowledged resize is lost" in ledger.faults.found, lost, target)


class Ends(Case):
    def ends(self, story, job, *kinds):
        story.note("saw", job=job)
        story.ledger.check_ends({"j1": job})
        self.assert_found(story, *kinds)

    def test_the_audit_detects_an_end_that_contradicts_the_provider(self):
        wrong = "a job's end contradicts its provider's answer"
        self.ends(Story().accept(), a_job(state="failed"), wrong)
        self.ends(Story().accept(outcome="reject"), a_job(state="succeeded"), wrong)
        self.ends(Story().accept(), a_job(state="cancelled"), wrong)
        interrupted = a_job(state="failed", error={"code": "interrupted"})
        self.ends(Story().accept().die(), interrupted, wrong)
        self.ends(Story().accept().die().note("saw", job=interrupted).die().die(), interrupted,
                  wrong)

    def test_the_audit_accepts_an_end_by_a_provider_a_client_or_three_crashes(self):
        self.ends(Story().accept(), a_job(state="succeeded"))
        self.ends(Story().accept(outcome="reject"), a_job(state="failed"))
        self.ends(Story().accept().command("cancel", 200), a_job(state="cancelled"))
        interrupted = a_job(state="failed", error={"code": "interrupted"})
        self.ends(Story().accept().die().die().die(), interrupted)

    def test_the_audit_detects_missing_properties(self):
        self.ends(Story().accept(), a_job(state="succeeded", properties={}),
                  "properties are missing")

    def test_the_audit_detects_a_success_without_all_steps(self):
        steps = [{"service": "one", "state": "waiting"}]
        self.ends(Story().accept(), a_job(state="succeeded", steps=steps, properties={}),
                  "a job succeeded without all of its steps")


class Calls(Case):
    def assert_calls(self, story, calls, *kinds):
        audit.audit_calls(story.ledger, calls, POOLS)
        self.assert_found(story, *kinds)

    def test_the_audit_detects_a_call_for_an_unknown_job(self):
        self.assert_calls(Story(), [a_call()], "a call for an unknown job")

    def test_the_audit_detects_two_calls_for_one_entity_at_once(self):
        story = Story().accept().accept("j2", "k2")
        self.assert_calls(story, [a_call(), a_call("j2", 1.4, 1.6)],
                          "two calls for one entity at once")

    def test_the_audit_allows_for_providers_that_notice_an_abort_late(self):
        for late, kinds in (0.5, []), (1.5, ["two calls for one entity at once"]):
            story = Story().accept().accept("j2", "k2")
            aborted = a_call(ended_at=2.0 + late * audit.HUNG_UP_S, broken=True, succeeded=False)
            self.assert_calls(story, [aborted, a_call("j2", 2.0, 2.1)], *kinds)

    def test_the_audit_ends_all_calls_with_their_celld(self):
        story = Story().accept().accept("j2", "k2").die()
        self.assert_calls(story, [a_call(ended_at=99.0, broken=True, succeeded=False),
                                  a_call("j2", 90.0, 91.0, life=LIFE + 1)])

    def test_the_audit_detects_an_exceeded_pool_size(self):
        story = Story()
        for number in "123":
            story.accept("j" + number, "k" + number)
        self.assert_calls(story, [a_call("j" + number, entity=number) for number in "123"],
                          "a pool's size was exceeded")

    def test_the_audit_detects_a_call_for_a_job_that_had_ended(self):
        story = Story().accept().note("saw", job=a_job(state="failed"))
        self.assert_calls(story, [a_call(began_at=9.0, ended_at=9.1)],
                          "a call for a job that had ended")

    def test_the_audit_detects_a_second_call_after_a_success(self):
        running = a_job(state="running", steps=[{"service": "one", "state": "succeeded"}])
        story = Story().accept().note("saw", job=running)
        self.assert_calls(story, [a_call(), a_call(began_at=9.0, ended_at=9.1)],
                          "a call for a step that had succeeded",
                          "a step was called again after its success")

    def test_the_audit_detects_a_second_call_in_the_same_life_even_shortly_before_a_crash(self):
        story = Story().accept().die()
        self.assert_calls(story, [a_call(began_at=3.0, ended_at=3.9),
                                  a_call(began_at=3.95, ended_at=3.98)],
                          "a step was called again after its success")

    def test_the_audit_accepts_a_second_call_after_a_success_lost_in_a_crash(self):
        story = Story().accept().die()
        self.assert_calls(story, [a_call(began_at=3.0, ended_at=3.9),
                                  a_call(began_at=9.0, ended_at=9.1, life=LIFE + 1)])

    def test_the_audit_detects_a_second_call_after_a_success_that_a_stop_should_have_kept(self):
        for ended_at, kinds in (3.9, ["a step was called again after its success"]), (4.1, []):
            story = Story().accept().die("stop")
            calls = [a_call(began_at=2.0, ended_at=ended_at, key="j1.one"),
                     a_call(began_at=9.0, ended_at=9.1, life=LIFE + 1, key="j1.one")]
            self.assert_calls(story, calls, *kinds)

    def test_the_audit_accepts_a_second_call_after_a_stop_that_a_kill_cut_short(self):
        story = Story().accept().note("signalled", life=LIFE, how="stop")
        story.note("died", life=LIFE, how="kill").note("began", life=LIFE + 1)
        self.assert_calls(story, [a_call(began_at=3.0, ended_at=3.9),
                                  a_call(began_at=9.0, ended_at=9.1, life=LIFE + 1)])

    def test_the_audit_detects_a_second_call_after_a_success_long_before_a_crash(self):
        story = Story().accept().die()
        long_before = story.at - 2 * audit.ON_THE_WAY_S - 2
        self.assert_calls(story, [a_call(began_at=long_before, ended_at=long_before),
                                  a_call(began_at=9.0, ended_at=9.1, life=LIFE + 1)],
                          "a step was called again after its success")

    def test_the_audit_accepts_a_second_call_after_a_cancellation_during_the_first(self):
        found = ["a step was called again after its success"]
        for times, kinds in (0.5, []), (-0.5, []), (2, found), (-2, found):
            story = Story().accept().note("requesting", id="j1", what="cancel")
            ended_at = story.at - times * audit.ON_THE_WAY_S
            self.assert_calls(story, [a_call(began_at=ended_at, ended_at=ended_at),
                                      a_call(began_at=99.0, ended_at=99.1)], *kinds)

    def test_the_audit_detects_a_call_with_another_key(self):
        found = ["a call with another step's idempotency key"]
        for key, kinds in ("j1.one", []), ("j1.two", found):
            self.assert_calls(Story().accept(), [a_call(key=key)], *kinds)

    def test_the_audit_detects_a_step_that_succeeded_without_a_call(self):
        story = Story().accept().note("saw", job=a_job(state="succeeded"))
        self.assert_calls(story, [], "a step succeeded without a call")


class Directory(Case):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="celld-crash-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.directory, name)


class Database(Directory):
    """The part of celld's schema that the audit reads, with one succeeded job."""

    def database(self, more=""):
        with contextlib.closing(sqlite3.connect(self.path("celld.db"))) as database:
            database.executescript("""
                CREATE TABLE jobs (id INTEGER PRIMARY KEY, cell, origin, state, entity_type,
                                   entity_id);
                CREATE TABLE job_labels (name, value, job);
                CREATE TABLE idempotency_keys (key, job);
                CREATE TABLE routes (cell, origin, scheduled, queued, running, retrying,
                                     compensating);
                CREATE VIEW jobs_for_people AS SELECT id, CASE state WHEN 1 THEN 'queued'
                  WHEN 2 THEN 'running' WHEN 5 THEN 'succeeded' END AS state FROM jobs;
                INSERT INTO jobs VALUES (1, 1, 1, 5, 'zone', 'e');
                INSERT INTO job_labels VALUES ('key', 'k1', 1);
                INSERT INTO idempotency_keys VALUES ('k1', 1);
                INSERT INTO routes VALUES (1, 1, 0, 0, 0, 0, 0);""" + more)

    def assert_database(self, more, *kinds):
        self.database(more)
        story = Story().accept()
        audit.audit_database(story.ledger, self.path("celld.db"), {"j1": a_job(state="succeeded")},
                             whole=True)
        self.assert_found(story, *kinds)

    def test_the_audit_finds_no_fault_in_a_correct_database(self):
        self.assert_database("")

    def test_the_audit_detects_a_lost_row(self):
        self.assert_database("DELETE FROM job_labels;", "an accepted job is not in the database",
                             "requests and job rows do not correspond",
                             "database and API disagree")

    def test_the_audit_detects_a_lost_idempotency_key(self):
        self.assert_database("DELETE FROM idempotency_keys;", "an idempotency key is lost")

    def test_the_audit_detects_an_end_that_is_not_in_the_database(self):
        self.assert_database("UPDATE jobs SET state = 1; UPDATE routes SET queued = 1;",
                             "database and API disagree")

    def test_the_audit_detects_wrong_counts(self):
        self.assert_database("UPDATE routes SET running = 1;", "a cell's stored counts are wrong")

    def test_the_audit_detects_two_running_jobs_of_an_entity(self):
        self.assert_database("""INSERT INTO jobs VALUES (2, 1, 1, 2, 'zone', 'e'),
                                                        (3, 1, 1, 2, 'zone', 'e');
                                INSERT INTO job_labels VALUES ('key', 'k2', 2), ('key', 'k3', 3);
                                UPDATE routes SET running = 2;""",
                             "two jobs of an entity are running in the database")


class Processes(Directory):
    def run_command(self, outcome, job="j1"):
        command = commands.service(self.directory, "a-run", LIFE)
        process = subprocess.Popen(command["argv"], env=command["env"], stdin=subprocess.PIPE,
                                   stdout=subprocess.DEVNULL, start_new_session=True)
        document = ('{"job":"%s","attempt":1,"customer":"c0","product":"dns","action":"create",'
                    '"entity":{"type":"zone","id":"e1"},"parameters":{"outcome":"%s"}}')
        process.stdin.write((document % (job, outcome)).encode())
        process.stdin.close()
        return process

    def end(self, process):
        os.killpg(process.pid, 9)
        process.wait()

    def log(self, story):
        return commands.read_log(story.ledger.faults, self.directory)

    def test_the_audit_detects_a_command_that_outlived_its_celld(self):
        commands.install(self.directory)
        story = Story()
        process = self.run_command("hang")
        self.addCleanup(self.end, process)
        wait_until(lambda: self.log(story), "the command has begun")
        processes = audit.processes_of("a-run")
        audit.audit_processes(story.ledger, processes, LIFE)
        self.assert_found(story)
        audit.audit_processes(story.ledger, processes, LIFE + 1)
        self.assert_found(story, "a process outlived its celld")
        self.assertEqual(audit.processes_of("another-run"), [])

    def test_a_command_detects_a_child_that_another_for_its_entity_left_behind(self):
        commands.install(self.directory)
        story = Story()
        process = self.run_command("slow")
        self.addCleanup(self.end, process)
        process.wait()
        self.assertEqual([(call.job, call.succeeded) for call in self.log(story)], [("j1", True)])
        self.assert_found(story)
        self.run_command("ok", "j2").wait()
        self.assertEqual(len(self.log(story)), 2)
        self.assert_found(story, "a command began while another for its entity was alive")

    def test_celld_refuses_each_invalid_configuration(self):
        for number, text in enumerate(INVALID):
            with open(self.path(f"{number}.json"), "w", encoding="utf-8") as file:
                file.write(text)
            done = subprocess.run([os.environ["CELLD_BINARY"], "--check", "--config", file.name],
                                  stderr=subprocess.DEVNULL, check=False)
            self.assertEqual(done.returncode, 2, text)


class Journals(Directory):
    def test_a_journal_that_is_read_back_gives_the_same_ledger(self):
        written = journal.Journal(self.path("journal"))
        written.note("began", life=LIFE)
        for number in "12":
            written.note("submitting", key="k" + number, job=a_request("k" + number))
        written.note("accepted", key="k1", id="j1")
        written.note("saw", job=a_job("j2", labels={"key": "k2"}))  # Seen before its 202.
        written.note("requesting", id="j2", what="cancel")
        written.note("saw", job=a_job(state="succeeded"))
        written.note("saw", job=a_job(state="succeeded"))
        written.close()
        read = journal.read(self.path("journal"))
        self.assertEqual(read.entries, written.ledger.entries)
        with open(self.path("journal"), encoding="utf-8") as file:
            self.assertEqual(len(file.readlines()), 7)
        read.check_state({})
        self.assertIn("an accepted job is lost", read.faults.found)


if __name__ == "__main__":
    unittest.main()
