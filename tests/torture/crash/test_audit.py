"""Tests of the audits. Each builds a ledger note by note and then plants a fault."""

import contextlib
import copy
import os
import shutil
import sqlite3
import subprocess
import tempfile
import time
import unittest
import unittest.mock

import audit
import commands
import journal
from calls import Call
from clients import INVALID, SETTLE_MS
from daemon import wait_until
from ledger import Ledger

LIFE = 1
WALL_AHEAD_S = 1000.0
POOLS = {"c0/*": 2}
DONE = {"service": "one", "state": "succeeded", "started_at": None}


def a_request(key="k1", outcome="ok", **changes):
    return {"customer": "c0", "services": ["one"], "labels": {"key": key},
            "parameters": {"outcome": outcome}, **changes}


def a_job(job_id="j1", state="queued", finished_at=None, **changes):
    ended = state in ("succeeded", "failed", "cancelled")
    step = {"service": "one", "started_at": None,
            "state": state if state in ("succeeded", "failed") else "waiting"}
    error = {"failed": {"code": "provider_rejected"}, "cancelled": {"code": "cancelled"}}
    job = {**a_request(), "id": job_id, "state": state, "cell": "c0/*", "cancel_requested": False,
           "steps": [step],
           "properties": {"one": job_id} if state == "succeeded" else {},
           "finished_at": (finished_at or "t1") if ended else None, "error": error.get(state)}
    return {**job, **changes}


def a_call(job="j1", began_at=6.0, ended_at=6.5, **changes):
    service = changes.get("service", "one")
    call = Call(job, service, 1, "c0/dns", "c0/dns/zone/e1", LIFE, began_at, ended_at,
                succeeded=True, key=f"{job}.{service}")
    for name, value in changes.items():
        setattr(call, name, value)
    return call


class Story:
    """Builds a ledger from notes, one second apart."""

    def __init__(self):
        self.ledger = Ledger()
        self.at = 0.0
        self.begin(LIFE)

    def begin(self, life):
        return self.note("began", life=life, wall_ahead_s=WALL_AHEAD_S).note("watching")

    def note(self, note, **members):
        self.at += 1.0
        return self.note_at(self.at, note, **members)

    def note_at(self, at, note, **members):
        """`at`: between the notes before and the next one."""
        self.ledger.enter({"note": note, "at": at, **members})
        return self

    def accept(self, job_id="j1", key="k1", **changes):
        self.note("submitting", key=key, job=a_request(key, **changes))
        return self.note("accepted", key=key, id=job_id)

    def command(self, what, status, job_id="j1"):
        self.note("requesting", id=job_id, what=what)
        return self.note("answered", id=job_id, what=what, status=status)

    def die(self, how="kill", interrupted=()):
        """`interrupted`: the jobs that the dead celld's database shows as running."""
        self.note("signalled", how=how).note("died", how=how)
        self.note("interrupted", jobs=list(interrupted))
        return self.begin(max(self.ledger.lives) + 1)


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
        running = a_job(state="running", steps=[DONE])
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
        story = Story().note("resizing", cell="c0/*", size=4).note("resized", cell="c0/*")
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

    def test_the_audit_accepts_an_end_by_a_provider_or_a_client(self):
        self.ends(Story().accept(), a_job(state="succeeded"))
        self.ends(Story().accept(outcome="reject"), a_job(state="failed"))
        self.ends(Story().accept().command("cancel", 200), a_job(state="cancelled"))

    def interrupted(self, *deaths):
        """A job that celld ended as interrupted, after deaths while the disk showed it as running
        with (epoch, step, earlier interruptions), or as not running (None)."""
        story = Story().accept()
        for death in deaths:
            story.die(interrupted=[["k1", *death]] if death else [])
        return story, a_job(state="failed", error={"code": "interrupted"})

    def test_the_audit_accepts_an_end_by_three_crashes_in_a_row_that_cut_the_job_short(self):
        self.ends(*self.interrupted((1, 0, 0), (2, 0, 1), (3, 0, 2)))
        # A celld was killed before it recorded the interruption, and one before the job started.
        self.ends(*self.interrupted((1, 0, 0), (2, 0, 1), (2, 0, 1), None, (5, 0, 2)))

    def test_the_audit_detects_an_end_that_fewer_than_three_crashes_in_a_row_explain(self):
        wrong = "a job's end contradicts its provider's answer"
        for deaths in ([None] * 4, [(1, 0, 0), (2, 0, 1)], [(1, 0, 0), (2, 0, 1), (2, 0, 1)],
                       [(1, 0, 0), (2, 0, 1), (3, 1, 0)], [(1, 0, 0), (2, 0, 1), (3, 1, 2)],
                       [(1, 0, 0), (2, 0, 0), (3, 0, 1)]):
            self.ends(*self.interrupted(*deaths), wrong)

    def test_the_audit_detects_an_end_by_crashes_of_which_one_was_before_a_retry(self):
        story, job = self.interrupted((1, 0, 0), (2, 0, 1))
        story.note("saw", job=a_job(state="failed")).command("retry", 202)
        story.die(interrupted=[["k1", 3, 0, 2]])
        self.ends(story, {**job, "finished_at": "t2"},
                  "a job's end contradicts its provider's answer")

    def test_the_audit_detects_missing_properties(self):
        self.ends(Story().accept(), a_job(state="succeeded", properties={}),
                  "properties are missing")

    def test_the_audit_detects_a_success_without_all_steps(self):
        steps = [{"service": "one", "state": "waiting"}]
        self.ends(Story().accept(), a_job(state="succeeded", steps=steps, properties={}),
                  "a job succeeded without all of its steps")


class CallsCase(Case):
    def assert_calls(self, story, calls, *kinds):
        audit.audit_calls(story.ledger, calls, POOLS)
        self.assert_found(story, *kinds)


class Calls(CallsCase):
    def test_the_audit_detects_a_call_for_an_unknown_job(self):
        self.assert_calls(Story(), [a_call()], "a call for an unknown job")

    def test_the_audit_detects_a_call_with_another_key(self):
        found = ["a call with another step's idempotency key"]
        for key, kinds in ("j1.one", []), ("j1.two", found):
            self.assert_calls(Story().accept(), [a_call(key=key)], *kinds)

    def test_the_audit_detects_a_step_that_succeeded_without_a_call(self):
        story = Story().accept().note("saw", job=a_job(state="succeeded"))
        self.assert_calls(story, [], "a step succeeded without a call")


class Entities(CallsCase):
    """j1 and j2 are about the same entity."""

    def assert_overlap(self, story, calls, overlap):
        self.assert_calls(story, calls, *["two calls for one entity at once"] * overlap)

    def test_the_audit_detects_two_calls_for_one_entity_at_once(self):
        for began_at, overlap in (6.499, True), (6.5, False):
            story = Story().accept().accept("j2", "k2")
            self.assert_overlap(story, [a_call(), a_call("j2", began_at, 7.0)], overlap)

    def test_the_audit_detects_a_call_during_one_that_began_before_a_shorter_one(self):
        story = Story().accept().accept("j2", "k2")
        calls = [a_call(ended_at=9.0), a_call("j2", 6.1, 6.2), a_call("j2", 8.0, 8.1)]
        audit.audit_calls(story.ledger, calls, POOLS)
        self.assertEqual(len(story.ledger.faults.found["two calls for one entity at once"]), 2)

    def test_the_audit_allows_for_a_hang_up_that_is_noted_after_a_command_began(self):
        for key, alive_at, overlap in (("j2.one", 6.1, True), (None, 6.3, True),
                                       (None, 6.1, False)):
            story = Story().accept().accept("j2", "k2").command("cancel", 200)
            self.assert_overlap(story, [
                a_call(ended_at=9.5, alive_at=alive_at, broken=True, succeeded=False),
                a_call("j2", 6.2, 6.3, key=key)], overlap)

    def test_the_audit_detects_a_call_while_a_call_of_the_life_before_is_under_way(self):
        for died_at, overlap in (12.001, True), (11.999, False):
            story = Story().accept().accept("j2", "k2").note("signalled", how="kill")
            story.note_at(died_at, "died", how="kill").begin(LIFE + 1)
            self.assert_overlap(story, [a_call(ended_at=99.0, broken=True, succeeded=False),
                                        a_call("j2", 12.0, 13.0, life=LIFE + 1)], overlap)

    def test_the_audit_detects_a_call_for_an_entity_that_is_settling(self):
        for late_s, kinds in (0.0, []), (-0.003, ["a call for an entity that was settling"]):
            story = Story().accept().accept("j2", "k2").command("cancel", 200)
            cut_short = a_call(service="two", ended_at=8.405, alive_at=8.4, broken=True,
                               succeeded=False)
            settled_at = 8.4 + SETTLE_MS["two"] / 1000
            self.assert_calls(story, [cut_short, a_call("j2", settled_at + late_s, 9.9)], *kinds)


class LateCalls(CallsCase):
    def test_the_audit_detects_a_call_for_a_job_that_had_ended(self):
        story = Story().accept().note("saw", job=a_job(state="failed"))
        seen_at = story.at
        for began_at, kinds in (seen_at, ["a call for a job that had ended"]), (seen_at - .001, []):
            self.assert_calls(copy.deepcopy(story), [a_call(began_at=began_at, ended_at=9.1)],
                              *kinds)

    def test_the_audit_detects_a_call_for_an_ended_job_that_celld_hung_up_on(self):
        for ended_at, kinds in (9.1, ["a call for a job that had ended"]), (9.0, []):
            story = Story().accept().command("cancel", 200)
            story.note("saw", job=a_job(state="cancelled"))
            self.assert_calls(story, [a_call(began_at=9.0, ended_at=ended_at, broken=True,
                                             succeeded=False)], *kinds)

    def test_the_audit_detects_a_second_call_after_a_success(self):
        running = a_job(state="running", steps=[DONE])
        story = Story().accept().note("saw", job=running)
        self.assert_calls(story, [a_call(ended_at=5.5), a_call(began_at=9.0, ended_at=9.1)],
                          "a call for a step that had succeeded",
                          "a step was called again after its success")


class BrokenCalls(CallsCase):
    def assert_explained(self, story, explained, **changes):
        call = a_call(broken=True, succeeded=False, **{"ended_at": 8.0, **changes})
        self.assert_calls(story, [call], *["a call was cut short"] * (not explained))

    def test_the_audit_detects_a_call_that_was_cut_short_without_a_reason(self):
        self.assert_explained(Story().accept(), False)

    def test_the_audit_accepts_a_call_that_a_signal_cut_short(self):
        for signalled_at, explained in (8.0, True), (8.001, False):
            story = Story().accept().note_at(signalled_at, "signalled", how="stop")
            self.assert_explained(story, explained)

    def test_the_audit_accepts_a_call_that_a_cancellation_cut_short(self):
        for sent_at, answered_at, explained in ((8.0, 8.1, True), (8.001, 8.1, False),
                                                (4.0, 4.2, False), (4.0, None, True)):
            story = Story().accept().note_at(sent_at, "requesting", id="j1", what="cancel")
            if answered_at is not None:
                story.note_at(answered_at, "answered", id="j1", what="cancel", status=200)
            story.ledger.by_id["j1"].submitted_at = 4.5
            self.assert_explained(story, explained)

    def test_the_audit_accepts_a_call_that_its_deadline_cut_short(self):
        for timeout_ms, explained in (3000, True), (3001, False):
            story = Story()
            story.note("submitting", key="k1", job=a_request(timeout_ms=timeout_ms))
            story.ledger.entries["k1"].submitted_at = 5.0
            story.note("accepted", key="k1", id="j1")
            self.assert_explained(story, explained)


class Pools(CallsCase):
    """Three calls from 6.0, 6.1 and 6.2 on, in a pool of two."""

    def assert_exceeded(self, story, exceeded, **changes):
        calls = [a_call(f"j{n}", 5.9 + n / 10, 9.0, entity=f"e{n}", **changes) for n in (1, 2, 3)]
        self.assert_calls(story, calls, *["a pool's size was exceeded"] * exceeded)

    def three_jobs(self, submitted_at, started_at=None):
        """Jobs of three entities. `started_at`: what celld says about the third."""
        story = Story()
        for n in (1, 2, 3):
            story.accept(f"j{n}", f"k{n}")
            story.ledger.entries[f"k{n}"].submitted_at = submitted_at
        if started_at is not None:
            wall = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(started_at + WALL_AHEAD_S))
            step = {**DONE, "started_at": f"{wall}.{round(started_at % 1 * 1000):03}Z"}
            story.note_at(99.0, "saw", job=a_job("j3", "succeeded", labels={"key": "k3"},
                                                 steps=[step]))
        return story

    def resized(self, story, sent_at, answered_at, size):
        story.note_at(sent_at, "resizing", cell="c0/*", size=size)
        return story.note_at(answered_at, "resized", cell="c0/*") if answered_at else story

    def test_the_audit_detects_an_exceeded_pool_size(self):
        self.assert_exceeded(self.three_jobs(5.0), True)

    def test_the_audit_counts_the_calls_of_a_killed_celld_until_its_death(self):
        for died_at, exceeded in (6.1999, False), (6.2001, True):
            story = self.three_jobs(5.0).note_at(6.05, "signalled", how="kill")
            story.note_at(died_at, "died", how="kill").begin(LIFE + 1)
            self.assert_exceeded(story, exceeded)

    def test_the_audit_accepts_a_growth_that_was_sent_before_the_call(self):
        for sent_at, exceeded in (6.2, False), (6.201, True):
            self.assert_exceeded(self.resized(self.three_jobs(5.0), sent_at, 7.0, 3), exceeded)

    def test_the_audit_detects_a_call_decided_after_a_shrink_was_answered(self):
        def story(**members):
            grown = self.resized(self.three_jobs(**members), 1.0, 1.1, 3)
            return self.resized(grown, 5.1, 5.5, 2)
        self.assert_exceeded(story(submitted_at=5.499), False)
        self.assert_exceeded(story(submitted_at=5.501), True)
        # Of three calls, one was decided last: it suffices to know when one of them was.
        self.assert_exceeded(story(submitted_at=5.0, started_at=5.499), False)
        self.assert_exceeded(story(submitted_at=5.0, started_at=5.501), True)
        # A start after the call belongs to a later attempt.
        self.assert_exceeded(story(submitted_at=5.0, started_at=7.0), False)

    def test_the_audit_knows_the_decision_from_the_calls_before_for_the_entity(self):
        for ended_at, broken, exceeded in (5.499, False, False), (5.501, False, True), \
                (5.501, True, False):
            story = self.resized(self.three_jobs(5.0), 1.0, 1.1, 3)
            self.resized(story, 5.1, 5.5, 2).note("signalled", how="stop")
            story.ledger.life.signalled = 5.0
            calls = [a_call(f"j{n}", 5.9 + n / 10, 9.0, entity=f"e{n}") for n in (1, 2, 3)]
            calls.append(a_call("j2", 5.4, ended_at, entity="e2", succeeded=False, broken=broken,
                                alive_at=5.45))
            self.assert_calls(story, calls, *["a pool's size was exceeded"] * exceeded)

    def test_the_audit_knows_the_size_that_a_celld_shows_at_its_start(self):
        story = self.resized(self.three_jobs(5.0), 1.0, None, 3)
        self.assert_exceeded(copy.deepcopy(story), False)
        self.assert_exceeded(story.note_at(4.9, "size", cell="c0/*", size=2), True)


class Repetitions(CallsCase):
    """A call that succeeded at 20.0, and another one for the same step later."""

    SEEN_AFTER_S = 0.05  # Between the end of the later call and a client that sees its result.

    def setUp(self):
        self.later = []

    def assert_repeated(self, story, found, command=False, **again):
        calls = self.seen_calls() + self.later + [
            a_call(began_at=19.0, ended_at=20.0),
            a_call(began_at=90.0, ended_at=90.1, **{"life": LIFE + 1, **again})]
        if command:
            for call in calls:
                call.key = None
        self.assert_calls(story, calls, *["a step was called again after its success"] * found)

    def seen_calls(self):
        return [a_call("seen", 6.0 + n, 6.1 + n, entity="seen", service=f"s{n}") for n in range(3)]

    def measured(self, took_s=0.1):
        return self.measured_in(Story().accept().accept("seen", "k2"), took_s)

    def measured_in(self, story, took_s=0.1):
        """A client saw results `took_s`, or less, after the providers' answers."""
        for n, less_s in enumerate((0.03, 0.0, 0.05)):
            steps = [{**DONE, "service": f"s{i}"} for i in range(n + 1)]
            story.note_at(6.1 + n + took_s - less_s, "saw",
                          job=a_job("seen", "running", labels={"key": "k2"}, steps=steps))
        return story

    def see_later(self, story, ended_at, seen_at=None):
        """A client sees the result of another call, which ended at this time."""
        self.later = [a_call("seen", 20.0, ended_at, entity="seen", service="s9")]
        story.ledger.by_id["seen"].steps_done["s9"] = seen_at or ended_at + self.SEEN_AFTER_S

    def killed(self, story, later_at, how="kill", seen_at=None):
        """The last result that a client sees before the signal at 25.0 is of a call that ended at
        `later_at`."""
        self.see_later(story, later_at, seen_at)
        story.note_at(25.0, "signalled", how=how).note_at(30.0, "died", how=how)
        return story.begin(LIFE + 1)

    def recorded_at(self, took_s=0.1):
        return 20.0 + took_s + audit.ON_THE_WAY_MORE_S

    def test_the_audit_accepts_a_second_call_after_a_success_lost_in_a_crash(self):
        """Results are lost no longer than results were seen to take in the round."""
        for took_s in 0.1, 0.2:
            for more_s, found in (-0.001, False), (0.001, True):
                story = self.killed(self.measured(took_s), self.recorded_at(took_s) + more_s)
                self.assert_repeated(story, found)

    def test_the_audit_never_allows_for_results_that_take_longer_than_a_second(self):
        with unittest.mock.patch.object(audit, "ON_THE_WAY_MAX_S", 1.0):  # As without a sanitizer.
            for more_s, found in (-0.001, False), (0.001, True):
                story = self.killed(self.measured(0.99), 20.0 + audit.ON_THE_WAY_MAX_S + more_s)
                self.assert_repeated(story, found)

    def test_the_audit_allows_for_results_until_that_of_a_later_call_is_seen(self):
        for command, how, more_s, seen_at, found in ((False, "kill", 0.001, 25.1, False),
                                                     (True, "kill", -0.001, 20.2, False),
                                                     (True, "kill", 0.001, 20.2, True),
                                                     (True, "kill", 0.001, 25.1, False),
                                                     (True, "stop", -0.001, 20.2, False),
                                                     (True, "stop", 0.001, 20.2, True)):
            story = self.killed(self.measured(), self.recorded_at() + more_s, how, seen_at)
            self.assert_repeated(story, found, command=command)

    def test_results_seen_in_another_life_or_before_a_client_watched_measure_nothing(self):
        story = self.killed(self.measured(), self.recorded_at(0.05))
        story.ledger.lives[LIFE].watched = 99.0
        self.assert_repeated(story, True)
        story = Story().accept().accept("seen", "k2")
        story.ledger.life.signalled = 6.0
        on_the_way = audit.OnTheWay(self.measured_in(story).ledger, self.seen_calls())
        self.assertEqual(on_the_way.slowest_s, {True: 0.0, False: 0.0})

    def test_the_audit_detects_a_second_call_in_the_same_life_even_shortly_before_a_crash(self):
        self.assert_repeated(self.killed(self.measured(), 20.0), True, life=LIFE)

    def test_the_audit_detects_a_second_call_after_a_success_that_a_stop_should_have_kept(self):
        for stopped_at, found in (20.0, False), (20.001, True):
            story = self.measured().note_at(stopped_at, "signalled", how="stop")
            story.note_at(30.0, "died", how="stop").begin(LIFE + 1)
            self.assert_repeated(story, found)

    def test_the_audit_accepts_a_second_call_after_a_stop_that_a_kill_cut_short(self):
        for stopped_at, later_at, found in ((20.0, 24.9, False),
                                            (20.001, self.recorded_at() - 0.001, False),
                                            (20.001, self.recorded_at() + 0.001, True)):
            story = self.measured().note_at(stopped_at, "signalled", how="stop")
            self.assert_repeated(self.killed(story, later_at), found)

    def cancelled(self, sent_at, answered_at, status=200, reopened=True):
        story = self.measured()
        self.see_later(story, self.recorded_at())
        story.note_at(sent_at, "requesting", id="j1", what="cancel")
        if answered_at is not None:
            story.note_at(answered_at, "answered", id="j1", what="cancel", status=status)
        if reopened:
            story.note_at(40.0, "requesting", id="j1", what="retry")
        story.ledger.by_id["j1"].submitted_at = 18.0
        return story

    def test_the_audit_accepts_a_second_call_after_a_cancellation_during_the_first(self):
        recorded_at = self.recorded_at() + self.SEEN_AFTER_S
        for found, story in (
                (False, self.cancelled(19.5, 19.6)), (False, self.cancelled(19.5, None)),
                (False, self.cancelled(recorded_at - 0.001, 21.0)),
                (True, self.cancelled(recorded_at + 0.001, 21.0)),
                (False, self.cancelled(17.0, 18.001)), (True, self.cancelled(17.0, 17.999)),
                (True, self.cancelled(19.5, 19.6, status=409)),
                (True, self.cancelled(19.5, 19.6, reopened=False))):
            self.assert_repeated(story, found, life=LIFE)


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
                CREATE TABLE jobs (id INTEGER PRIMARY KEY, cell, origin, state, place, turn,
                                   entity_type, entity_id, lease_epoch, step, interruptions);
                CREATE TABLE job_labels (name, value, job);
                CREATE TABLE idempotency_keys (key, job);
                CREATE TABLE route_counts (cell, origin, scheduled, queued, running, retrying,
                                     compensating, settling, runnable, lanes, stored);
                CREATE VIEW jobs_for_people AS SELECT id, CASE state WHEN 1 THEN 'queued'
                  WHEN 2 THEN 'running' WHEN 5 THEN 'succeeded' END AS state FROM jobs;
                INSERT INTO jobs VALUES (1, 1, 1, 5, NULL, NULL, 'zone', 'e', 1, 1, 0);
                INSERT INTO job_labels VALUES ('key', 'k1', 1);
                INSERT INTO idempotency_keys VALUES ('k1', 1);
                INSERT INTO route_counts VALUES (1, 1, 0, 0, 0, 0, 0, 0, 0, NULL, 1);""" + more)

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
        self.assert_database("UPDATE jobs SET state = 1, place = 1, turn = 11; "
                             "UPDATE route_counts SET queued = 1;",
                             "database and API disagree")

    def test_the_audit_detects_a_wrong_count_of_each_kind(self):
        for count in ("scheduled", "queued", "running", "retrying", "compensating", "settling",
                      "runnable"):
            self.assert_database(f"UPDATE route_counts SET {count} = 1;",
                                 "a cell's stored counts are wrong")
            os.unlink(self.path("celld.db"))

    def test_the_audit_counts_settling_and_runnable_jobs(self):
        self.assert_database("""UPDATE jobs SET place = 1, turn = 15;
                                INSERT INTO jobs VALUES
                                  (2, 1, 1, 1, 2, 5, 'zone', 'f', NULL, 0, 0);
                                INSERT INTO job_labels VALUES ('key', 'k2', 2);
                                UPDATE route_counts SET settling = 1, queued = 1, runnable = 1,
                                  stored = 2;""")

    def test_the_audit_detects_a_wrong_count_of_stored_jobs(self):
        for wrong in ("UPDATE route_counts SET stored = 2;", "DELETE FROM route_counts;"):
            self.assert_database(wrong, "a cell's stored jobs are miscounted")
            os.unlink(self.path("celld.db"))

    TWO_JOBS = """INSERT INTO jobs VALUES (2, 1, 1, 2, 2, {}, 'zone', 'e', 7, 1, 2),
                                          (3, 1, 1, {}, 3, {}, 'zone', 'e', NULL, 0, 0);
                  INSERT INTO job_labels VALUES ('key', 'k2', 2), ('key', 'k3', 3);
                  UPDATE route_counts SET running = {}, queued = {}, runnable = {}, stored = 3;"""

    def test_the_audit_detects_two_jobs_of_an_entity_that_may_run(self):
        found = "two jobs of an entity may run in the database"
        self.assert_database(self.TWO_JOBS.format(12, 2, 12, 2, 0, 0), found)
        os.unlink(self.path("celld.db"))
        self.assert_database(self.TWO_JOBS.format(12, 1, 5, 1, 1, 1), found)
        os.unlink(self.path("celld.db"))
        self.assert_database(self.TWO_JOBS.format(12, 1, 11, 1, 1, 0))

    def test_the_running_jobs_of_a_dead_celld_are_interrupted(self):
        self.database(self.TWO_JOBS.format(12, 1, 11, 1, 1, 0))
        self.assertEqual(audit.read_interrupted(self.path("celld.db")), [["k2", 7, 1, 2]])


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
        written.note("began", life=LIFE, wall_ahead_s=WALL_AHEAD_S)
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
