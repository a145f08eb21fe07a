"""The audits find what is wrong: each of these tests tells a ledger a story and doctors its end."""

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
    """A ledger, told one note after the other, a second apart."""

    def __init__(self):
        self.ledger = Ledger()
        self.at = 0.0
        self.tell("began", life=LIFE)

    def tell(self, note, **members):
        self.at += 1.0
        self.ledger.enter({"note": note, "at": self.at, **members})
        return self

    def accept(self, job_id="j1", key="k1", **changes):
        self.tell("submitting", key=key, job=a_request(key, **changes))
        return self.tell("accepted", key=key, id=job_id)

    def command(self, what, status, job_id="j1"):
        self.tell("asking", id=job_id, what=what)
        return self.tell("told", id=job_id, what=what, status=status)

    def die(self, how="kill"):
        self.tell("struck", life=LIFE, how=how).tell("died", life=LIFE, how=how)
        return self.tell("began", life=LIFE + 1)


class Case(unittest.TestCase):
    def assert_found(self, story, *kinds):
        self.assertEqual(sorted(story.ledger.faults.found), sorted(kinds))

    def assert_standing(self, story, jobs, *kinds):
        """`jobs`: what celld has; exactly these kinds of faults are in it."""
        for job in jobs:
            story.tell("saw", job=job)
        story.ledger.check_standing({job["id"]: job for job in jobs})
        self.assert_found(story, *kinds)


class Standing(Case):
    def test_the_audit_finds_nothing_where_nothing_is_wrong(self):
        story = Story().accept().accept("j2", "k2").tell("saw", job=a_job(state="succeeded")).die()
        jobs = [a_job(state="succeeded"), a_job("j2", labels={"key": "k2"})]
        self.assert_standing(story, jobs)

    def test_the_audit_finds_an_accepted_job_that_is_lost(self):
        self.assert_standing(Story().accept().die(), [], "an accepted job is lost")

    def test_the_audit_lets_go_of_a_job_that_was_never_accepted(self):
        self.assert_standing(Story().tell("submitting", key="k1", job=a_request()).die(), [])

    def test_the_audit_finds_one_request_that_became_two_jobs(self):
        story = Story().accept().die()
        self.assert_standing(story, [a_job(), a_job("j2")], "one request became two jobs")

    def test_the_audit_finds_a_job_that_nobody_submitted(self):
        self.assert_standing(Story(), [a_job()], "a job that nobody submitted")

    def test_the_audit_finds_a_job_that_is_not_what_was_sent(self):
        self.assert_standing(Story().accept(), [a_job(customer="c1")], "a job is not what was sent")

    def test_the_audit_finds_a_job_that_ended_twice(self):
        story = Story().accept().tell("saw", job=a_job(state="succeeded")).die()
        self.assert_standing(story, [a_job(state="succeeded", finished_at="t2")],
                             "a job ended twice")

    def test_the_audit_finds_an_ended_job_that_changed(self):
        story = Story().accept().tell("saw", job=a_job(state="succeeded")).die()
        self.assert_standing(story, [a_job(state="succeeded", properties={})],
                             "an ended job changed")

    def test_the_audit_finds_an_ended_job_that_goes_on(self):
        story = Story().accept().tell("saw", job=a_job(state="failed")).die()
        self.assert_standing(story, [a_job()], "an ended job goes on")

    def test_the_audit_finds_a_step_that_had_succeeded_and_is_undone(self):
        running = a_job(state="running", steps=[{"service": "one", "state": "succeeded"}])
        story = Story().accept().tell("saw", job=running).die()
        self.assert_standing(story, [a_job()], "a step that had succeeded is undone")


class Commands(Case):
    def test_the_audit_finds_an_answered_cancellation_that_is_lost(self):
        story = Story().accept().command("cancel", 200).die()
        self.assert_standing(story, [a_job()], "an answered cancellation is lost")

    def test_the_audit_takes_a_cancellation_that_is_under_way(self):
        story = Story().accept().command("cancel", 200).die()
        self.assert_standing(story, [a_job(state="running", cancel_requested=True)])

    def test_the_audit_finds_a_job_that_had_ended_when_its_cancellation_was_refused(self):
        story = Story().accept().command("cancel", 409).die()
        self.assert_standing(
            story, [a_job()],
            "a job goes on that had ended when its cancellation was refused")

    def test_the_audit_finds_an_answered_retry_that_is_lost(self):
        failed = a_job(state="failed")
        story = Story().accept().tell("saw", job=failed).command("retry", 202).die()
        self.assert_standing(story, [failed], "an answered retry is lost")

    def test_the_audit_takes_a_retry_without_an_answer_either_way(self):
        failed = a_job(state="failed")
        for after in failed, a_job(), a_job(state="succeeded", finished_at="t2"):
            story = Story().accept().tell("saw", job=failed)
            story.tell("asking", id="j1", what="retry").die()
            self.assert_standing(story, [after])

    def test_the_audit_finds_a_second_end_that_no_retry_explains(self):
        story = Story().accept().tell("saw", job=a_job(state="failed")).command("retry", 202)
        story.tell("saw", job=a_job(state="failed", finished_at="t2")).die()
        self.assert_standing(story, [a_job(state="succeeded", finished_at="t3")],
                             "a job ended twice")

    def test_the_audit_finds_an_answered_resize_that_is_lost(self):
        story = Story().tell("resizing", cell="c0/*", size=4).tell("resized", cell="c0/*", size=4)
        story.tell("resizing", cell="c0/*", size=5).die()
        for target, lost in (4, False), (5, False), (2, True):
            ledger = copy.deepcopy(story.ledger)
            audit.audit_sizes(ledger, {"c0/*": target}, POOLS, story.at)
            self.assertEqual("an answered resize is lost" in ledger.faults.found, lost, target)


class Ends(Case):
    def ends(self, story, job, *kinds):
        story.tell("saw", job=job)
        story.ledger.check_ends({"j1": job})
        self.assert_found(story, *kinds)

    def test_the_audit_finds_an_end_that_no_provider_gave(self):
        wrong = "a job did not end as its provider answered"
        self.ends(Story().accept(), a_job(state="failed"), wrong)
        self.ends(Story().accept(outcome="reject"), a_job(state="succeeded"), wrong)
        self.ends(Story().accept(), a_job(state="cancelled"), wrong)
        interrupted = a_job(state="failed", error={"code": "interrupted"})
        self.ends(Story().accept().die(), interrupted, wrong)
        self.ends(Story().accept().die().tell("saw", job=interrupted).die().die(), interrupted,
                  wrong)

    def test_the_audit_takes_what_a_provider_a_client_or_three_crashes_ended(self):
        self.ends(Story().accept(), a_job(state="succeeded"))
        self.ends(Story().accept(outcome="reject"), a_job(state="failed"))
        self.ends(Story().accept().command("cancel", 200), a_job(state="cancelled"))
        interrupted = a_job(state="failed", error={"code": "interrupted"})
        self.ends(Story().accept().die().die().die(), interrupted)

    def test_the_audit_finds_properties_that_are_missing(self):
        self.ends(Story().accept(), a_job(state="succeeded", properties={}),
                  "properties are missing")

    def test_the_audit_finds_a_success_without_all_steps(self):
        steps = [{"service": "one", "state": "waiting"}]
        self.ends(Story().accept(), a_job(state="succeeded", steps=steps, properties={}),
                  "a job succeeded without all of its steps")


class Calls(Case):
    def assert_calls(self, story, calls, *kinds):
        audit.audit_calls(story.ledger, calls, POOLS)
        self.assert_found(story, *kinds)

    def test_the_audit_finds_a_call_for_a_job_that_is_not_there(self):
        self.assert_calls(Story(), [a_call()], "a call for a job that is not there")

    def test_the_audit_finds_two_calls_for_one_entity_at_once(self):
        story = Story().accept().accept("j2", "k2")
        self.assert_calls(story, [a_call(), a_call("j2", 1.4, 1.6)],
                          "two calls for one entity at once")

    def test_the_audit_knows_that_providers_hear_late_of_a_call_that_was_given_up(self):
        for late, kinds in (0.5, []), (1.5, ["two calls for one entity at once"]):
            story = Story().accept().accept("j2", "k2")
            given_up = a_call(ended_at=2.0 + late * audit.HUNG_UP_S, broken=True, succeeded=False)
            self.assert_calls(story, [given_up, a_call("j2", 2.0, 2.1)], *kinds)

    def test_the_audit_knows_that_calls_end_with_their_celld(self):
        story = Story().accept().accept("j2", "k2").die()
        self.assert_calls(story, [a_call(ended_at=99.0, broken=True, succeeded=False),
                                  a_call("j2", 90.0, 91.0, life=LIFE + 1)])

    def test_the_audit_finds_a_pool_that_was_passed(self):
        story = Story()
        for number in "123":
            story.accept("j" + number, "k" + number)
        self.assert_calls(story, [a_call("j" + number, entity=number) for number in "123"],
                          "a pool was passed")

    def test_the_audit_finds_a_call_for_a_job_that_had_ended(self):
        story = Story().accept().tell("saw", job=a_job(state="failed"))
        self.assert_calls(story, [a_call(began_at=9.0, ended_at=9.1)],
                          "a call for a job that had ended")

    def test_the_audit_finds_a_second_call_after_a_success(self):
        running = a_job(state="running", steps=[{"service": "one", "state": "succeeded"}])
        story = Story().accept().tell("saw", job=running)
        self.assert_calls(story, [a_call(), a_call(began_at=9.0, ended_at=9.1)],
                          "a call for a step that had succeeded",
                          "a step was called again after its success")

    def test_the_audit_finds_a_second_call_in_the_same_life_though_a_crash_came_soon(self):
        story = Story().accept().die()
        self.assert_calls(story, [a_call(began_at=3.0, ended_at=3.9),
                                  a_call(began_at=3.95, ended_at=3.98)],
                          "a step was called again after its success")

    def test_the_audit_takes_a_second_call_after_a_success_that_a_crash_swallowed(self):
        story = Story().accept().die()
        self.assert_calls(story, [a_call(began_at=3.0, ended_at=3.9),
                                  a_call(began_at=9.0, ended_at=9.1, life=LIFE + 1)])

    def test_the_audit_finds_a_second_call_after_a_success_that_a_stop_swallowed(self):
        for ended_at, kinds in (3.9, ["a step was called again after its success"]), (4.1, []):
            story = Story().accept().die("stop")
            calls = [a_call(began_at=2.0, ended_at=ended_at, key="j1.one"),
                     a_call(began_at=9.0, ended_at=9.1, life=LIFE + 1, key="j1.one")]
            self.assert_calls(story, calls, *kinds)

    def test_the_audit_takes_a_second_call_of_a_life_that_was_stopped_and_then_killed(self):
        story = Story().accept().tell("struck", life=LIFE, how="stop")
        story.tell("died", life=LIFE, how="kill").tell("began", life=LIFE + 1)
        self.assert_calls(story, [a_call(began_at=3.0, ended_at=3.9),
                                  a_call(began_at=9.0, ended_at=9.1, life=LIFE + 1)])

    def test_the_audit_finds_a_second_call_after_a_success_long_before_a_crash(self):
        story = Story().accept().die()
        long_before = story.at - 2 * audit.ON_THE_WAY_S - 2
        self.assert_calls(story, [a_call(began_at=long_before, ended_at=long_before),
                                  a_call(began_at=9.0, ended_at=9.1, life=LIFE + 1)],
                          "a step was called again after its success")

    def test_a_cancellation_excuses_a_second_call_when_it_was_asked_for_about_the_first(self):
        found = ["a step was called again after its success"]
        for times, kinds in (0.5, []), (-0.5, []), (2, found), (-2, found):
            story = Story().accept().tell("asking", id="j1", what="cancel")
            ended_at = story.at - times * audit.ON_THE_WAY_S
            self.assert_calls(story, [a_call(began_at=ended_at, ended_at=ended_at),
                                      a_call(began_at=99.0, ended_at=99.1)], *kinds)

    def test_the_audit_finds_a_call_with_another_key(self):
        for key, kinds in ("j1.one", []), ("j1.two", ["a call with another step's idempotency key"]):
            self.assert_calls(Story().accept(), [a_call(key=key)], *kinds)

    def test_the_audit_finds_a_step_that_succeeded_without_a_call(self):
        story = Story().accept().tell("saw", job=a_job(state="succeeded"))
        self.assert_calls(story, [], "a step succeeded without a call")


class Directory(Case):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="celld-crash-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.directory, name)


class Database(Directory):
    """What the audit reads of celld's schema, with one job that succeeded."""

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

    def test_the_audit_finds_nothing_wrong_in_a_good_database(self):
        self.assert_database("")

    def test_the_audit_finds_a_row_that_is_lost(self):
        self.assert_database("DELETE FROM job_labels;", "an accepted job is not in the database",
                             "a request has two rows, or a row no request",
                             "database and API disagree")

    def test_the_audit_finds_an_idempotency_key_that_is_lost(self):
        self.assert_database("DELETE FROM idempotency_keys;", "an idempotency key is lost")

    def test_the_audit_finds_an_end_that_is_not_in_the_database(self):
        self.assert_database("UPDATE jobs SET state = 1; UPDATE routes SET queued = 1;",
                             "database and API disagree")

    def test_the_audit_finds_counts_that_are_wrong(self):
        self.assert_database("UPDATE routes SET running = 1;", "the counts of a cell are wrong")

    def test_the_audit_finds_two_running_jobs_of_an_entity(self):
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

    def test_the_audit_finds_a_command_that_outlived_its_celld(self):
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

    def test_a_command_notices_that_another_for_its_entity_has_left_a_child(self):
        commands.install(self.directory)
        story = Story()
        process = self.run_command("slow")
        self.addCleanup(self.end, process)
        process.wait()
        self.assertEqual([(call.job, call.succeeded) for call in self.log(story)], [("j1", True)])
        self.assert_found(story)
        self.run_command("ok", "j2").wait()
        self.assertEqual(len(self.log(story)), 2)
        self.assert_found(story, "a command began while one for its entity had not gone")

    def test_what_celld_has_to_refuse_is_refused(self):
        for number, text in enumerate(INVALID):
            with open(self.path(f"{number}.json"), "w", encoding="utf-8") as file:
                file.write(text)
            done = subprocess.run([os.environ["CELLD_BINARY"], "--check", "--config", file.name],
                                  stderr=subprocess.DEVNULL, check=False)
            self.assertEqual(done.returncode, 2, text)


class Journals(Directory):
    def test_a_journal_reads_as_it_was_written(self):
        written = journal.Journal(self.path("journal"))
        written.note("began", life=LIFE)
        for number in "12":
            written.note("submitting", key="k" + number, job=a_request("k" + number))
        written.note("accepted", key="k1", id="j1")
        written.note("saw", job=a_job("j2", labels={"key": "k2"}))  # Before its own answer.
        written.note("asking", id="j2", what="cancel")
        written.note("saw", job=a_job(state="succeeded"))
        written.note("saw", job=a_job(state="succeeded"))
        written.close()
        read = journal.read(self.path("journal"))
        self.assertEqual(read.entries, written.ledger.entries)
        with open(self.path("journal"), encoding="utf-8") as file:
            self.assertEqual(len(file.readlines()), 7)
        read.check_standing({})
        self.assertIn("an accepted job is lost", read.faults.found)


if __name__ == "__main__":
    unittest.main()
