"""Tests of the campaign runner, with fake campaigns of a few lines of Python each."""

import dataclasses
import importlib.machinery
import importlib.util
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import figures
import records
from campaign import Campaign
from daemon import wait_until
from runner import Commit, Interruption, Runner, commit_of, same_program
from table import CAMPAIGNS

HERE = os.path.dirname(os.path.abspath(__file__))
COMMIT = Commit("aaaaaaa", True)
NEWER = Commit("bbbbbbb", True)

# Precedes each fake: `first`, `count`, the summary's `path`, and `write`, which writes it.
PRELUDE = """
import json, os, signal, sys
first, count, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[4]
def write(units, failures=0, **more):
    with open(path, "w") as file:
        json.dump({"units": units, "failures": failures, "figures": {"jobs": 7}, **more}, file)
"""
GOOD = "print('all is well'); write(10)"
FAILS = """
failing = [n for n in range(first, first + min(count, 10)) if n == 3]
for n in failing: print("number", n, "went wrong")
write(min(count, 10), len(failing), failed=[{"from": n, "count": 1} for n in failing])
sys.exit(1 if failing else 0)
"""


def fake(root, text, name="fake"):
    path = os.path.join(root, name + ".py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(PRELUDE + text)
    return Campaign(name=name, promises="P1", what="something", unit="units", goal=100,
                    command=(sys.executable, path, "{from}", "{count}", "{seconds}", "{summary}"),
                    slice_min_s=1)


class Campaigns(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="celld-campaigns-")
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        self.path = os.path.join(self.root, "build", "campaigns.json")
        self.reported = []

    def campaign(self, text, name="fake"):
        return fake(self.root, text, name)

    def runner(self, *campaigns, commit=COMMIT):
        return Runner(campaigns, self.root, self.path, commit, self.reported.append)

    def run_once(self, *texts, commit=COMMIT):
        """One turn of each campaign."""
        campaigns = [self.campaign(text, f"fake{i or ''}") for i, text in enumerate(texts)]
        return self.runner(*campaigns, commit=commit).run(0.001)

    def record(self, name="fake"):
        with open(self.path, encoding="utf-8") as file:
            return json.load(file)[name]

    def assert_reported(self, *texts):
        reported = "\n".join(self.reported)
        for text in texts:
            self.assertIn(text, reported)


class Counting(Campaigns):
    def test_a_campaign_resumes_where_it_stopped_and_sums_its_figures(self):
        self.assertTrue(self.run_once(GOOD))
        self.assertTrue(self.run_once("write(10 if first == 10 else 0)", commit=NEWER))
        record = self.record()
        self.assertEqual((record["done"], record["next"], record["failures"]), (20, 20, 0))
        self.assertEqual(record["figures"], {"jobs": 14})
        self.assert_reported("20 of 100 units done (20.0 %)", "nothing failed")

    def test_units_failures_and_figures_are_also_recorded_by_commit(self):
        self.run_once(FAILS)
        self.run_once("write(10)", commit=Commit("aaaaaaa", False))
        self.run_once("write(20)", commit=NEWER)
        self.run_once("write(30)", commit=NEWER)
        commits = self.record()["commits"]
        for each in commits:
            self.assertGreaterEqual(each.pop("seconds"), 0)
        self.assertEqual(
            commits,
            [{"commit": "aaaaaaa", "clean": True, "units": 10, "failures": 1,
              "figures": {"jobs": 7}},
             {"commit": "aaaaaaa", "clean": False, "units": 10, "failures": 0,
              "figures": {"jobs": 7}},
             {"commit": "bbbbbbb", "clean": True, "units": 50, "failures": 0,
              "figures": {"jobs": 14}}])

    def test_a_campaign_gets_full_turns_in_a_run_ten_times_as_long(self):
        for seconds, turn in (499, "45"), (500, "50"):
            campaigns = [self.campaign(GOOD, f"fake{i}") for i in range(11)]
            campaigns[0] = dataclasses.replace(campaigns[0], slice_whole_s=50)
            times = itertools.chain([0], itertools.repeat(seconds))
            Runner(campaigns, self.root, self.path, COMMIT, self.reported.append,
                   lambda: next(times)).run(seconds)
            self.assertRegex("\n".join(self.reported), f"fake0: units from [0-9]+ on, for {turn} s")
            self.assertNotRegex("\n".join(self.reported), "fake1: units from [0-9]+ on, for 50 s")

    def test_campaigns_take_turns_until_the_time_is_up(self):
        seconds = itertools.count()  # Each look at the clock takes a second.
        runner = Runner([self.campaign(GOOD), self.campaign(GOOD, "other")], self.root, self.path,
                        COMMIT, self.reported.append, clock=lambda: next(seconds))
        self.assertTrue(runner.run(6))
        self.assertEqual([self.record(name)["done"] for name in ("fake", "other")], [40, 30])
        self.assertIn("== fake: units from 10 on, for 3 s", self.reported)
        self.assertIn("== fake: units from 30 on, for 1 s", self.reported)

    def test_each_turn_is_announced_before_it_starts(self):
        self.run_once(GOOD)
        self.assertIn("fake: something (P1); 0 of 100 units done", self.reported[1])
        self.assertEqual(self.reported[2], "== fake: units from 0 on, for 1 s")

    def test_a_program_that_is_not_built_is_reported_as_missing(self):
        there = Campaign("a", "P1", "x", "units", 1, (), needs=("there",))
        with open(os.path.join(self.root, "there"), "w", encoding="utf-8"):
            pass
        absent = Campaign("b", "P1", "x", "units", 1, (), needs=("there", "absent"))
        self.assertEqual(self.runner(there, absent).missing(), [("b", "absent")])

    def test_the_table_names_programs_that_exist_or_are_built(self):
        root = os.path.realpath(os.path.join(HERE, "..", "..", ".."))
        self.assertEqual(len({campaign.name for campaign in CAMPAIGNS}), len(CAMPAIGNS))
        for campaign in CAMPAIGNS:
            program, *arguments = campaign.command_line(12, 34, 56, "/summary")
            self.assertEqual(arguments[:8], ["--from", "12", "--count", "34", "--seconds", "56",
                                             "--summary", "/summary"], campaign)
            self.assertTrue(program in campaign.needs or
                            os.access(os.path.join(root, program), os.X_OK), program)


class Failing(Campaigns):
    def test_a_failure_is_reported_and_recorded_and_other_campaigns_continue(self):
        self.assertFalse(self.run_once(FAILS, GOOD))
        record = self.record()
        self.assertEqual((record["done"], record["next"], record["failures"]), (10, 10, 1))
        self.assertEqual(record["failing"], [{"from": 3, "count": 1, "why": "failed",
                                              "commit": "aaaaaaa", "clean": True}])
        self.assertEqual(self.record("fake1")["done"], 10)
        self.assert_reported("   | number 3 went wrong",
                             "FAILURE: fake: number 3 (units): failed",
                             "repeat: CELLD_BINARY=build/celld ", " 3 1 3600 ", "1 FAILURES:")

    def test_a_failure_without_a_unit_is_recorded_for_the_whole_slice(self):
        self.assertFalse(self.run_once("write(10, 1); sys.exit(1)"))
        [failing] = self.record()["failing"]
        self.assertEqual((failing["from"], failing["count"]), (0, 10))

    def test_an_open_failure_is_repeated_first_and_stays_open_while_it_fails(self):
        self.run_once(FAILS)
        self.assertFalse(self.run_once(FAILS, commit=NEWER))
        self.assert_reported("repeating what failed at aaaaaaa: number 3 (units)", "still fails")
        self.assertEqual(len(self.record()["failing"]), 1)
        self.assertEqual(self.record()["failures"], 1)

    def test_a_failure_is_closed_when_it_passes_on_another_version(self):
        self.run_once(FAILS)
        self.assertTrue(self.run_once("write(min(count, 10))", commit=NEWER))
        record = self.record()
        self.assertEqual((record["failing"], record["failures"], record["done"]), ([], 1, 20))

    def test_a_failure_that_passes_on_the_same_commit_stays_open(self):
        self.run_once(FAILS)
        self.assertFalse(self.run_once("write(min(count, 10))"))
        self.assertEqual(len(self.record()["failing"]), 1)
        self.assert_reported("3 failed at aaaaaaa and passes at aaaaaaa, which is the same program")

    def test_a_failure_that_passes_where_only_documentation_differs_stays_open(self):
        self.run_once(FAILS)
        with unittest.mock.patch("runner.same_program", return_value=True) as same:
            self.assertFalse(self.run_once("write(min(count, 10))", commit=NEWER))
        same.assert_called_once_with(self.root, "aaaaaaa", "bbbbbbb")
        self.assertEqual(len(self.record()["failing"]), 1)

    def test_a_failure_that_passes_with_uncommitted_changes_stays_open(self):
        self.run_once(FAILS)
        self.assertTrue(self.run_once("write(min(count, 10))", commit=Commit("bbbbbbb", False)))
        self.assertEqual(len(self.record()["failing"]), 1)
        self.assert_reported("stays open until it passes without any")


class Dying(Campaigns):
    def assert_dies(self, text, why):
        self.assertFalse(self.run_once(text))
        record = self.record()
        self.assertEqual((record["done"], record["next"], record["failures"]), (0, 0, 1))
        self.assertIn(why, record["failing"][0]["why"])
        self.assert_reported("FAILURE: fake: units from 0 on: ", why)

    def test_a_program_that_is_killed_is_a_failure(self):
        self.assert_dies("write(10); os.kill(os.getpid(), signal.SIGKILL)",
                         "SIGKILL ended the program")

    def test_a_program_without_a_summary_is_a_failure(self):
        self.assert_dies("", "the program left no summary")

    def test_a_program_that_tries_no_unit_is_a_failure(self):
        self.assert_dies("write(0)", "the program tried no unit")

    def test_a_program_that_cannot_be_started_is_a_failure(self):
        campaign = Campaign("fake", "P1", "x", "units", 1, ("/nothing",), slice_min_s=1)
        self.assertFalse(self.runner(campaign).run(0.001))
        self.assert_reported("the program could not be started: ")

    def test_a_program_that_fails_before_its_first_unit_ends_is_a_failure(self):
        failed = "[{'from': 0, 'count': 5}]"
        self.assertFalse(self.run_once(f"write(0, 1, failed={failed}); sys.exit(1)"))
        self.assertEqual(self.record()["failing"][0]["why"], "failed")

    def test_a_summary_that_is_not_json_is_a_failure(self):
        self.assert_dies("open(path, 'w').write('{')", "the summary is invalid: ")

    def test_a_summary_with_wrong_numbers_is_a_failure(self):
        self.assert_dies("write(-1)", "/units must be an integer of at least 0")

    def test_a_summary_with_wrong_figures_is_a_failure(self):
        self.assert_dies("write(1, figures={'jobs': '7'})", "/figures/jobs: must be an integer")

    def test_an_exit_code_that_hides_a_failure_is_a_failure(self):
        self.assert_dies("write(1, 1)", "the program exited with 0 after 1 failures")

    def test_a_program_that_does_not_end_is_a_failure(self):
        with unittest.mock.patch("runner.END_S", 1):
            self.assert_dies("import time; time.sleep(600)", "the program did not end in time")

    def test_a_failure_without_a_count_is_closed_by_a_run_that_passes(self):
        self.run_once("")
        self.assertTrue(self.run_once(GOOD, commit=NEWER))
        self.assertEqual(self.record()["failing"], [])


class Interrupted(Campaigns):
    DRIVER = """
import sys
import runner
from test_campaigns import COMMIT, GOOD, fake
runner.INTERRUPTED_S = 2
root, path, text = sys.argv[1:]
campaigns = [fake(root, GOOD, "good"), fake(root, text, "slow")]
this = runner.Runner(campaigns, root, path, COMMIT, lambda text: print(text, flush=True))
sys.exit({True: 0, False: 1, None: 130}[this.run(600)])
"""
    # Like the real programs. The test interrupts it within its third unit.
    PROGRAM = f"""
sys.argv[1:] = ["--from", sys.argv[1], "--seconds", "60", "--summary", path]
import time
import program
def work(outcome):
    for number in range(2):
        if number == FAILS:
            outcome.fail(number)
        outcome.add(1, {{"jobs": 7}})
    open('ready', 'w').close()
    time.sleep(600)
program.run(program.options("a fake"), work)
"""

    def interrupt(self, text, number=signal.SIGINT):
        """Sends the signal while the second campaign runs. Returns the output."""
        process = subprocess.Popen(
            [sys.executable, "-c", self.DRIVER, self.root, self.path, text], cwd=HERE,
            stdout=subprocess.PIPE, text=True)
        ready = os.path.join(self.root, "ready")
        wait_until(lambda: os.path.exists(ready), "the slow campaign runs")
        process.send_signal(number)
        output, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, output)
        self.assertIn("interrupted; the figures so far are saved", output)
        self.assertEqual(self.record("good")["done"], 10)
        return output

    def assert_kept(self, output, done, failing):
        record = self.record("slow")
        self.assertEqual((record["done"], record["next"], record["failures"]), (done, done, 1))
        self.assertEqual([(each["from"], each["count"]) for each in record["failing"]], [failing])
        self.assertIn("1 FAILURES:", output)

    def test_turns_before_an_interruption_stay_counted(self):
        output = self.interrupt("open('ready', 'w').close(); import time; time.sleep(600)")
        self.assertEqual((self.record("slow")["done"], self.record("slow")["failing"]), (0, []))
        self.assertIn("the program left no summary when interrupted", output)

    def test_an_interrupted_program_reports_its_units_and_failures_so_far(self):
        output = self.interrupt("FAILS = 1\n" + self.PROGRAM)
        self.assert_kept(output, done=2, failing=(1, 1))
        self.assertEqual(self.record("slow")["figures"], {"jobs": 14})

    def test_sigterm_interrupts_like_sigint(self):
        output = self.interrupt("FAILS = 1\n" + self.PROGRAM, signal.SIGTERM)
        self.assert_kept(output, done=2, failing=(1, 1))

    def test_an_interrupted_program_without_failures_is_counted(self):
        self.interrupt("FAILS = None\n" + self.PROGRAM)
        self.assertEqual((self.record("slow")["done"], self.record("slow")["failing"]), (2, []))

    def test_a_failure_is_kept_when_an_interrupted_program_has_to_be_killed(self):
        output = self.interrupt("FAILS = 1\n" + self.PROGRAM.replace(
            "open('ready'", "signal.signal(signal.SIGINT, signal.SIG_IGN); open('ready'"))
        self.assert_kept(output, done=1, failing=(1, 1))

    def test_an_interrupted_program_that_fails_without_a_summary_is_a_failure(self):
        output = self.interrupt("""
signal.signal(signal.SIGINT, lambda *_: sys.exit(1))
open('ready', 'w').close()
while True: signal.pause()
""")
        self.assertIn("the program left no summary; it exited with 1", output)
        self.assertEqual(len(self.record("slow")["failing"]), 1)

    def test_an_interrupted_program_that_exits_with_130_is_counted(self):
        output = self.interrupt("""
def end(*_):
    write(5, 1, failed=[{"from": 4, "count": 1}])
    sys.exit(130)
signal.signal(signal.SIGINT, end)
open('ready', 'w').close()
while True: signal.pause()
""")
        self.assert_kept(output, done=5, failing=(4, 1))

    def test_an_interruption_is_raised_only_where_it_is_awaited(self):
        with Interruption() as interruption:
            os.kill(os.getpid(), signal.SIGINT)
            self.assertEqual(interruption.received, 1)
            with self.assertRaises(KeyboardInterrupt), interruption.awaited():
                self.fail("the earlier signal was not raised")
            with self.assertRaises(KeyboardInterrupt), interruption.awaited(handled=1):
                os.kill(os.getpid(), signal.SIGTERM)
                signal.pause()
        self.assertEqual(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def test_an_interrupted_program_that_exits_with_0_is_counted(self):
        self.interrupt("""
signal.signal(signal.SIGINT, lambda *_: (write(5), sys.exit(0)))
open('ready', 'w').close()
while True: signal.pause()
""")
        self.assertEqual(self.record("slow")["done"], 5)


class Records(Campaigns):
    def assert_invalid(self, text, *parts):
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)
        with self.assertRaises(records.Invalid) as caught:
            records.load(self.path, [self.campaign(GOOD)])
        for part in (self.path, *parts):
            self.assertIn(part, str(caught.exception))

    def changed(self, change):
        self.run_once(GOOD)
        with open(self.path, encoding="utf-8") as file:
            everything = json.load(file)
        change(everything["fake"])
        return json.dumps(everything)

    def test_the_error_for_records_that_are_not_json_names_the_line(self):
        self.assert_invalid('{\n<<<<<<< HEAD\n}', "line 2")

    def test_the_error_for_records_of_the_wrong_shape_names_the_member(self):
        self.assert_invalid("[]", "must be an object")
        self.assert_invalid('{"fake": {}}', "/fake/what: must be a string")

    def test_the_error_for_a_wrong_number_names_it(self):
        self.assert_invalid(self.changed(lambda record: record.update(done=-1)),
                            "/fake/done: must be an integer of at least 0")

    def test_the_error_for_a_wrong_failure_names_it(self):
        self.assert_invalid(self.changed(lambda record: record["failing"].append({"from": 1})),
                            "/fake/failing/0/count: must be an integer of at least 1")

    def test_the_error_for_wrong_figures_of_a_commit_names_them(self):
        text = self.changed(lambda record: record["commits"][0]["figures"].update(jobs="7"))
        self.assert_invalid(text, "/fake/commits/0/figures/jobs: must be an integer of at least 0")

    def test_records_of_unknown_campaigns_are_kept(self):
        self.run_once(GOOD)
        self.assertTrue(self.runner(self.campaign(GOOD, "another")).run(0.001))
        self.assertEqual(self.record("fake")["done"], 10)


class Figures(Campaigns):
    def table(self, *campaigns, commit=COMMIT, same=lambda name: False):
        everything = records.load(self.path, campaigns)
        return figures.table(campaigns, everything, commit, same)

    def test_the_table_has_the_figures_of_one_version(self):
        fake_one, other = self.campaign(GOOD), self.campaign(GOOD, "other")
        self.run_once(GOOD)
        self.run_once("write(1234, figures={'jobs': 5678, 'calls': 9})", commit=NEWER)
        self.assertEqual(self.table(fake_one, other, commit=NEWER), """\
At commit bbbbbbb:

| campaign | tried | goal | time | failures | still open |
|---|---|---|---|---|---|
| fake | 1,234 units: 9 calls, 5,678 jobs | 100 | 0 min | 0 | 0 |
| other | 0 units | 100 | 0 min | 0 | 0 |""")

    def test_the_table_counts_failures_of_the_version_and_all_that_are_open(self):
        self.run_once(FAILS)
        self.assertIn("| 1 | 1 |", self.table(self.campaign(FAILS)))
        self.run_once(FAILS, commit=NEWER)
        self.assertIn("| 0 | 1 |", self.table(self.campaign(FAILS), commit=NEWER))

    def test_commits_of_the_same_program_are_added_up(self):
        self.run_once(GOOD)
        self.run_once(GOOD, commit=NEWER)
        table = self.table(self.campaign(GOOD), commit=NEWER, same=lambda name: name == "aaaaaaa")
        self.assertIn("At commits aaaaaaa, bbbbbbb, which differ only in documentation:", table)
        self.assertIn("| 20 units: 14 jobs |", table)

    def test_runs_with_uncommitted_changes_do_not_count_for_their_commit(self):
        dirty = Commit("aaaaaaa", False)
        self.run_once(GOOD, commit=dirty)
        self.assertIn("No campaign has run at commit aaaaaaa.", self.table(self.campaign(GOOD)))
        table = self.table(self.campaign(GOOD), commit=dirty)
        self.assertIn("At commit aaaaaaa with uncommitted changes:", table)
        self.assertIn("| 10 units: 7 jobs |", table)

    def test_a_run_without_records_yet_has_an_empty_table(self):
        self.assertIn("| fake | 0 units | 100 | 0 min | 0 | 0 |", self.table(self.campaign(GOOD)))


class Versions(Campaigns):
    def git(self, *arguments):
        subprocess.run(["git", "-C", self.root, "-c", "user.name=a", "-c", "user.email=a@b",
                        *arguments], check=True, capture_output=True)

    def write(self, name):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write("changed")

    def commit(self):
        self.git("add", ".")
        self.git("commit", "--allow-empty", "-m", "another")
        return commit_of(self.root).name

    @unittest.skipUnless(shutil.which("git"), "git is not installed")
    def test_commits_that_differ_only_in_documentation_are_the_same_program(self):
        self.git("init")
        self.campaign(GOOD)
        first = self.commit()
        for name in "README.md", "cells/README.md", "docs/celld.svg":
            self.write(name)
        second = self.commit()
        self.campaign(FAILS)
        third = self.commit()
        self.assertNotEqual(first, second)
        self.assertTrue(same_program(self.root, first, second))
        self.assertFalse(same_program(self.root, second, third))
        self.assertFalse(same_program(self.root, "1234567", third))

    @unittest.skipUnless(shutil.which("git"), "git is not installed")
    def test_a_commit_is_clean_until_more_than_documentation_changes(self):
        self.git("init")
        self.git("commit", "--allow-empty", "-m", "first")
        self.write("docs/evidence.md")
        clean = commit_of(self.root)
        self.assertTrue(clean.clean)
        self.assertRegex(str(clean), "^[0-9a-f]{7,}$")
        self.campaign(GOOD)
        self.assertEqual(str(commit_of(self.root)), f"{clean.name} with uncommitted changes")

    def test_the_error_for_a_tree_without_git_says_why(self):
        with self.assertRaisesRegex(records.Invalid, "belong to a commit, but git failed: "):
            commit_of(self.root)


class Locking(Campaigns):
    def test_a_second_run_in_the_same_tree_is_refused(self):
        loader = importlib.machinery.SourceFileLoader("run", os.path.join(HERE, "run"))
        run = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
        loader.exec_module(run)
        with run.alone(self.root):
            with self.assertRaisesRegex(SystemExit, "another run is in progress"):
                with run.alone(self.root):
                    self.fail("two runs at once")
        with run.alone(self.root):
            pass


if __name__ == "__main__":
    unittest.main()
