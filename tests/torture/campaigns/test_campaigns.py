"""The runner of the campaigns, with campaigns that are a few lines of Python."""

import dataclasses
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

import records
from campaign import Campaign
from daemon import wait_until
from runner import Commit, Interruption, Runner, commit_of, same_tree
from table import CAMPAIGNS

HERE = os.path.dirname(os.path.abspath(__file__))
COMMIT = Commit("aaaaaaa", True)
NEWER = Commit("bbbbbbb", True)

# What each fake is run with: `first`, `count`, `path` of the summary; `write` writes it.
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
        self.path = os.path.join(self.root, "campaigns.json")
        self.told = []

    def campaign(self, text, name="fake"):
        return fake(self.root, text, name)

    def runner(self, *campaigns, commit=COMMIT):
        return Runner(campaigns, self.root, self.path, commit, self.told.append)

    def run_once(self, *texts, commit=COMMIT):
        """One turn of each."""
        campaigns = [self.campaign(text, f"fake{i or ''}") for i, text in enumerate(texts)]
        return self.runner(*campaigns, commit=commit).run(0.001)

    def record(self, name="fake"):
        with open(self.path, encoding="utf-8") as file:
            return json.load(file)[name]

    def assert_told(self, *texts):
        told = "\n".join(self.told)
        for text in texts:
            self.assertIn(text, told)


class Counting(Campaigns):
    def test_a_campaign_goes_on_where_it_stopped_and_adds_up(self):
        self.assertTrue(self.run_once(GOOD))
        self.assertTrue(self.run_once("write(10 if first == 10 else 0)", commit=NEWER))
        record = self.record()
        self.assertEqual((record["done"], record["next"], record["failures"]), (20, 20, 0))
        self.assertEqual(record["figures"], {"jobs": 14})
        self.assertEqual(record["commits"],
                         [{"commit": "aaaaaaa", "clean": True, "units": 10},
                          {"commit": "bbbbbbb", "clean": True, "units": 10}])
        self.assert_told("20 of 100 units done (20.0 %)", "nothing failed")

    def test_who_needs_long_turns_gets_them_in_a_run_of_ten_times_that(self):
        for seconds, turn in (499, "45"), (500, "50"):
            campaigns = [self.campaign(GOOD, f"fake{i}") for i in range(11)]
            campaigns[0] = dataclasses.replace(campaigns[0], slice_whole_s=50)
            times = itertools.chain([0], itertools.repeat(seconds))
            Runner(campaigns, self.root, self.path, COMMIT, self.told.append,
                   lambda: next(times)).run(seconds)
            self.assertRegex("\n".join(self.told), f"fake0: units from [0-9]+ on, for {turn} s")
            self.assertNotRegex("\n".join(self.told), "fake1: units from [0-9]+ on, for 50 s")

    def test_campaigns_take_turns_until_the_time_is_over(self):
        looks = itertools.count()  # The clock goes on by a second whenever it is looked at.
        runner = Runner([self.campaign(GOOD), self.campaign(GOOD, "other")], self.root, self.path,
                        COMMIT, self.told.append, clock=lambda: next(looks))
        self.assertTrue(runner.run(6))
        self.assertEqual([self.record(name)["done"] for name in ("fake", "other")], [40, 30])
        self.assertIn("== fake: units from 10 on, for 3 s", self.told)
        self.assertIn("== fake: units from 30 on, for 1 s", self.told)

    def test_what_is_tried_is_told_before_it_is_tried(self):
        self.run_once(GOOD)
        self.assertIn("fake: something (P1); 0 of 100 units done", self.told[1])
        self.assertEqual(self.told[2], "== fake: units from 0 on, for 1 s")

    def test_a_program_that_is_not_built_is_missing(self):
        there = Campaign("a", "P1", "x", "units", 1, (), needs=("there",))
        with open(os.path.join(self.root, "there"), "w", encoding="utf-8"):
            pass
        gone = Campaign("b", "P1", "x", "units", 1, (), needs=("there", "gone"))
        self.assertEqual(self.runner(there, gone).missing(), [("b", "gone")])

    def test_the_table_names_programs_that_are_there_or_are_built(self):
        root = os.path.realpath(os.path.join(HERE, "..", "..", ".."))
        self.assertEqual(len({campaign.name for campaign in CAMPAIGNS}), len(CAMPAIGNS))
        for campaign in CAMPAIGNS:
            program, *arguments = campaign.command_line(12, 34, 56, "/summary")
            self.assertEqual(arguments[:8], ["--from", "12", "--count", "34", "--seconds", "56",
                                             "--summary", "/summary"], campaign)
            self.assertTrue(program in campaign.needs or
                            os.access(os.path.join(root, program), os.X_OK), program)


class Failing(Campaigns):
    def test_a_failure_is_told_and_kept_and_the_others_go_on(self):
        self.assertFalse(self.run_once(FAILS, GOOD))
        record = self.record()
        self.assertEqual((record["done"], record["next"], record["failures"]), (10, 10, 1))
        self.assertEqual(record["failing"], [{"from": 3, "count": 1, "why": "it fails",
                                              "commit": "aaaaaaa", "clean": True}])
        self.assertEqual(self.record("fake1")["done"], 10)
        self.assert_told("   | number 3 went wrong",
                         "FAILURE: fake: number 3 of the units: it fails",
                         "again: CELLD_BINARY=build/celld ", " 3 1 3600 ", "1 FAILURES:")

    def test_a_failure_without_a_unit_is_the_whole_slice(self):
        self.assertFalse(self.run_once("write(10, 1); sys.exit(1)"))
        [failing] = self.record()["failing"]
        self.assertEqual((failing["from"], failing["count"]), (0, 10))

    def test_an_open_failure_is_repeated_first_and_kept_while_it_fails(self):
        self.run_once(FAILS)
        self.assertFalse(self.run_once(FAILS, commit=NEWER))
        self.assert_told("again what failed at aaaaaaa: number 3 of the units", "it still fails")
        self.assertEqual(len(self.record()["failing"]), 1)
        self.assertEqual(self.record()["failures"], 1)

    def test_a_failure_is_closed_when_it_passes_on_another_commit(self):
        self.run_once(FAILS)
        self.assertTrue(self.run_once("write(min(count, 10))", commit=NEWER))
        record = self.record()
        self.assertEqual((record["failing"], record["failures"], record["done"]), ([], 1, 20))

    def test_a_failure_that_passes_on_the_same_commit_stays(self):
        self.run_once(FAILS)
        self.assertFalse(self.run_once("write(min(count, 10))"))
        self.assertEqual(len(self.record()["failing"]), 1)
        self.assert_told("3 failed at aaaaaaa, and passes now, at aaaaaaa, which is the same")

    def test_a_failure_that_passes_where_only_the_records_differ_stays(self):
        self.run_once(FAILS)
        with unittest.mock.patch("runner.same_tree", return_value=True) as same:
            self.assertFalse(self.run_once("write(min(count, 10))", commit=NEWER))
        same.assert_called_once_with(self.root, self.path, "aaaaaaa", "bbbbbbb")
        self.assertEqual(len(self.record()["failing"]), 1)

    def test_a_failure_that_passes_with_changes_beside_the_commit_stays(self):
        self.run_once(FAILS)
        self.assertTrue(self.run_once("write(min(count, 10))", commit=Commit("bbbbbbb", False)))
        self.assertEqual(len(self.record()["failing"]), 1)
        self.assert_told("it stays in the list until it passes on a commit without any")


class Dying(Campaigns):
    def assert_dies(self, text, why):
        self.assertFalse(self.run_once(text))
        record = self.record()
        self.assertEqual((record["done"], record["next"], record["failures"]), (0, 0, 1))
        self.assertIn(why, record["failing"][0]["why"])
        self.assert_told("FAILURE: fake: units from 0 on: ", why)

    def test_a_program_that_is_killed_is_a_failure(self):
        self.assert_dies("write(10); os.kill(os.getpid(), signal.SIGKILL)",
                         "it was ended by SIGKILL")

    def test_a_program_without_a_summary_is_a_failure(self):
        self.assert_dies("", "it left no summary")

    def test_a_program_that_tries_nothing_is_a_failure(self):
        self.assert_dies("write(0)", "it tried nothing")

    def test_a_program_that_cannot_be_started_is_a_failure(self):
        campaign = Campaign("fake", "P1", "x", "units", 1, ("/nothing",), slice_min_s=1)
        self.assertFalse(self.runner(campaign).run(0.001))
        self.assert_told("it cannot be started: ")

    def test_a_program_that_fails_before_it_has_done_a_unit_is_a_failure(self):
        failed = "[{'from': 0, 'count': 5}]"
        self.assertFalse(self.run_once(f"write(0, 1, failed={failed}); sys.exit(1)"))
        self.assertEqual(self.record()["failing"][0]["why"], "it fails")

    def test_a_summary_that_is_garbage_is_a_failure(self):
        self.assert_dies("open(path, 'w').write('{')", "its summary is unusable: ")

    def test_a_summary_with_wrong_numbers_is_a_failure(self):
        self.assert_dies("write(-1)", "/units must be an integer of at least 0")

    def test_a_summary_with_wrong_figures_is_a_failure(self):
        self.assert_dies("write(1, figures={'jobs': '7'})", "/figures/jobs: must be an integer")

    def test_an_exit_code_that_hides_a_failure_is_a_failure(self):
        self.assert_dies("write(1, 1)", "it exited with 0 after 1 failures")

    def test_a_program_that_does_not_end_is_a_failure(self):
        with unittest.mock.patch("runner.END_S", 1):
            self.assert_dies("import time; time.sleep(600)", "it did not end")

    def test_a_failure_that_has_no_count_is_closed_by_a_run_that_passes(self):
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
    # A program as the real ones are, to which something happens within its third unit.
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
        """Ctrl-C while the second campaign runs; returns what was said."""
        process = subprocess.Popen(
            [sys.executable, "-c", self.DRIVER, self.root, self.path, text], cwd=HERE,
            stdout=subprocess.PIPE, text=True)
        ready = os.path.join(self.root, "ready")
        wait_until(lambda: os.path.exists(ready), "the slow campaign runs")
        process.send_signal(number)
        output, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, output)
        self.assertIn("interrupted; what was counted is kept", output)
        self.assertEqual(self.record("good")["done"], 10)
        return output

    def assert_kept(self, output, done, failing):
        record = self.record("slow")
        self.assertEqual((record["done"], record["next"], record["failures"]), (done, done, 1))
        self.assertEqual([(each["from"], each["count"]) for each in record["failing"]], [failing])
        self.assertIn("1 FAILURES:", output)

    def test_what_was_counted_before_an_interruption_is_kept(self):
        output = self.interrupt("open('ready', 'w').close(); import time; time.sleep(600)")
        self.assertEqual((self.record("slow")["done"], self.record("slow")["failing"]), (0, []))
        self.assertIn("it left no summary when it was interrupted", output)

    def test_a_program_counts_and_keeps_what_it_found_before_it_was_interrupted(self):
        output = self.interrupt("FAILS = 1\n" + self.PROGRAM)
        self.assert_kept(output, done=2, failing=(1, 1))
        self.assertEqual(self.record("slow")["figures"], {"jobs": 14})

    def test_sigterm_interrupts_as_sigint_does(self):
        output = self.interrupt("FAILS = 1\n" + self.PROGRAM, signal.SIGTERM)
        self.assert_kept(output, done=2, failing=(1, 1))

    def test_a_program_without_failures_is_counted_when_it_is_interrupted(self):
        self.interrupt("FAILS = None\n" + self.PROGRAM)
        self.assertEqual((self.record("slow")["done"], self.record("slow")["failing"]), (2, []))

    def test_a_failure_is_kept_of_a_program_that_has_to_be_killed_when_interrupted(self):
        output = self.interrupt("FAILS = 1\n" + self.PROGRAM.replace(
            "open('ready'", "signal.signal(signal.SIGINT, signal.SIG_IGN); open('ready'"))
        self.assert_kept(output, done=1, failing=(1, 1))

    def test_a_failure_without_a_summary_is_kept_of_a_program_that_is_interrupted(self):
        output = self.interrupt("""
signal.signal(signal.SIGINT, lambda *_: sys.exit(1))
open('ready', 'w').close()
while True: signal.pause()
""")
        self.assertIn("it left no summary, and it exited with 1", output)
        self.assertEqual(len(self.record("slow")["failing"]), 1)

    def test_a_program_that_leaves_its_summary_with_130_is_counted(self):
        output = self.interrupt("""
def end(*_):
    write(5, 1, failed=[{"from": 4, "count": 1}])
    sys.exit(130)
signal.signal(signal.SIGINT, end)
open('ready', 'w').close()
while True: signal.pause()
""")
        self.assert_kept(output, done=5, failing=(4, 1))

    def test_an_interruption_waits_until_it_is_waited_for(self):
        with Interruption() as interruption:
            os.kill(os.getpid(), signal.SIGINT)
            self.assertEqual(interruption.came, 1)
            with self.assertRaises(KeyboardInterrupt), interruption.awaited():
                self.fail("it has come before")
            with self.assertRaises(KeyboardInterrupt), interruption.awaited(known=1):
                os.kill(os.getpid(), signal.SIGTERM)
                signal.pause()
        self.assertEqual(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def test_a_program_that_ends_well_when_interrupted_is_counted(self):
        self.interrupt("""
signal.signal(signal.SIGINT, lambda *_: (write(5), sys.exit(0)))
open('ready', 'w').close()
while True: signal.pause()
""")
        self.assertEqual(self.record("slow")["done"], 5)


class Records(Campaigns):
    def assert_invalid(self, text, *parts):
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

    def test_records_that_are_no_json_say_where(self):
        self.assert_invalid('{\n<<<<<<< HEAD\n}', "line 2")

    def test_records_of_the_wrong_shape_say_what_and_where(self):
        self.assert_invalid("[]", "must be an object")
        self.assert_invalid('{"fake": {}}', "/fake/what: must be a string")

    def test_records_with_a_wrong_number_say_which(self):
        self.assert_invalid(self.changed(lambda record: record.update(done=-1)),
                            "/fake/done: must be an integer of at least 0")

    def test_records_with_a_wrong_failure_say_which(self):
        self.assert_invalid(self.changed(lambda record: record["failing"].append({"from": 1})),
                            "/fake/failing/0/count: must be an integer of at least 1")

    def test_records_of_unknown_campaigns_are_kept(self):
        self.run_once(GOOD)
        self.assertTrue(self.runner(self.campaign(GOOD, "another")).run(0.001))
        self.assertEqual(self.record("fake")["done"], 10)

    def git(self, *arguments):
        subprocess.run(["git", "-C", self.root, "-c", "user.name=a", "-c", "user.email=a@b",
                        *arguments], check=True, capture_output=True)

    def commit(self):
        self.git("add", ".")
        self.git("commit", "--allow-empty", "-m", "another")
        return commit_of(self.root, self.path).name

    @unittest.skipUnless(shutil.which("git"), "counts are kept where there is git")
    def test_commits_are_the_same_when_only_the_records_differ(self):
        self.git("init")
        self.campaign(GOOD)
        first = self.commit()
        records.save(self.path, {})
        second = self.commit()
        self.campaign(FAILS)
        third = self.commit()
        self.assertNotEqual(first, second)
        self.assertTrue(same_tree(self.root, self.path, first, second))
        self.assertFalse(same_tree(self.root, self.path, second, third))
        self.assertFalse(same_tree(self.root, self.path, "1234567", third))

    @unittest.skipUnless(shutil.which("git"), "counts are kept where there is git")
    def test_a_commit_has_changes_when_more_than_the_records_is_changed(self):
        self.git("init")
        self.git("commit", "--allow-empty", "-m", "first")
        records.save(self.path, {})
        clean = commit_of(self.root, self.path)
        self.assertTrue(clean.clean)
        self.assertRegex(str(clean), "^[0-9a-f]{7,}$")
        self.campaign(GOOD)
        self.assertEqual(str(commit_of(self.root, self.path)), f"{clean.name} with changes")

    def test_where_there_is_no_commit_the_error_says_so(self):
        with self.assertRaisesRegex(records.Invalid, "counts are kept by commit, and git says: "):
            commit_of(self.root, self.path)


if __name__ == "__main__":
    unittest.main()
