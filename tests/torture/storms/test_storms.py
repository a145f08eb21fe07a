"""All storms at the same time, for three seconds each (campaign.py runs longer ones, one by one), and
tests of the functions that judge them."""

import asyncio
import concurrent.futures
import multiprocessing
import random
import sys
import unittest

import goodput
from field import LATENCY_S, POOL
from goodput import GAP_S_MAX, GOODPUT_MIN, Job
from patience import too_long
from resizes import in_force
from storms import STORMS, Overload, Reloads, Resizes, length

SECONDS = 3


def withstand(kind):
    """The faults that a storm found."""
    storm = kind(0)
    try:
        faults = asyncio.run(storm.whole(SECONDS))
        print(storm.report(), file=sys.stderr)
        return faults
    finally:
        storm.close()


class Storms(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        pool = concurrent.futures.ProcessPoolExecutor(
            len(STORMS), mp_context=multiprocessing.get_context("fork"))
        cls.addClassCleanup(pool.shutdown)
        cls.storms = {kind: pool.submit(withstand, kind) for kind in STORMS}

    def assert_withstood(self, kind):
        self.assertEqual(self.storms[kind].result(), [])

    def test_goodput_holds_while_a_pool_is_resized_a_hundred_times_a_second(self):
        self.assert_withstood(Resizes)

    def test_goodput_holds_while_every_other_reload_is_invalid(self):
        self.assert_withstood(Reloads)

    def test_goodput_holds_under_ten_times_as_many_jobs_as_celld_can_run(self):
        self.assert_withstood(Overload)


def work(workers, began_at, ended_at, pauses=()):
    """The jobs of `workers` workers, each of which runs one job after another and starts none
    during a pause (from, until)."""
    jobs = []
    for worker in range(workers):
        at = began_at + LATENCY_S * worker / workers
        while at < ended_at:
            for pause in pauses:
                if pause[0] <= at < pause[1]:
                    at = pause[1]
            jobs.append(Job("succeeded", 1, at, at + LATENCY_S))
            at += LATENCY_S
    return jobs


class Judging(unittest.TestCase):
    """Made-up jobs from 0 to 20 s, with a storm from 10 to 20 s."""

    PAUSES = [(at, at + 1) for at in (10.5, 12.5, 14.5, 16.5)]

    def part(self, jobs, sizes=((0.0, POOL),)):
        """(goodput, use of the workers) in the storm, relative to before."""
        ends = sorted(job.ended_at for job in jobs)
        rates = [goodput.rate(ends, began_at, began_at + 10) for began_at in (0, 10)]
        uses = [goodput.use(jobs, ends, sizes, LATENCY_S, began_at, began_at + 10)
                for began_at in (0, 10)]
        return rates[1] / rates[0], uses[1] / uses[0]

    def test_a_steady_celld_keeps_its_goodput(self):
        for part in self.part(work(POOL, -1, 21)):
            self.assertAlmostEqual(part, 1, places=2)

    def test_a_celld_that_stalls_for_a_third_of_the_time_has_too_little_goodput(self):
        """In one pause or in several short ones."""
        for pauses in ([(12, 15.5)], self.PAUSES):
            for part in self.part(work(POOL, -1, 21, pauses)):
                self.assertLess(part, GOODPUT_MIN)

    def test_workers_beyond_the_pool_do_not_hide_lost_goodput(self):
        jobs = work(POOL, -1, 21, self.PAUSES) + work(POOL // 3, 10, 19.5)
        rate, use = self.part(jobs)
        self.assertGreater(rate, GOODPUT_MIN)
        self.assertLess(use, GOODPUT_MIN)
        _, use = self.part(work(POOL, -1, 21) + work(POOL // 3, 10, 19.5))
        self.assertAlmostEqual(use, 1, places=1)

    def test_use_is_relative_to_the_size_of_the_pool_at_the_time(self):
        jobs = work(POOL // 2, -1, 21)
        self.assertAlmostEqual(self.part(jobs, ((0.0, POOL // 2),))[1], 1, places=2)
        self.assertLess(self.part(jobs, ((0.0, POOL // 2), (10.0, POOL)))[1], GOODPUT_MIN)

    def test_the_longest_gap_includes_those_at_both_ends_of_the_storm(self):
        self.assertEqual(goodput.longest_gap_s([9, 11, 14, 15], 10, 17), 3)
        self.assertEqual(goodput.longest_gap_s([9, 11, 12, 18], 10, 17), 5)
        self.assertEqual(goodput.longest_gap_s([], 10, 17), 7)
        ends = sorted(job.ended_at for job in work(POOL, -1, 21, [(12, 12 + GAP_S_MAX)]))
        self.assertGreater(goodput.longest_gap_s(ends, 10, 20), GAP_S_MAX)

    def test_goodput_has_recovered_once_it_is_as_high_as_before(self):
        def recovery_s(pause_s):
            jobs = work(POOL, -1, 30, [(19.5, 19.5 + pause_s)])
            return goodput.recovery_s(sorted(job.ended_at for job in jobs), 20, 27,
                                      GOODPUT_MIN * POOL / LATENCY_S)
        self.assertEqual(recovery_s(0), 0)
        self.assertAlmostEqual(recovery_s(3), 2.6, delta=0.5)
        self.assertIsNone(recovery_s(5.5))

    def test_a_size_may_be_in_force_until_a_later_resize_is_answered(self):
        resizes = [(0, 0, 150), (1, 3, 10), (2, 4, 20), (5, 6, 30)]
        marks = [(0.5,), (2.5,), (3.5,), (7,)]
        self.assertEqual([sizes for _, sizes in in_force(resizes, marks, 0)],
                         [[150], [150, 10, 20], [10, 20], [30]])

    def test_some_size_is_in_force_at_each_moment_however_resizes_overlap(self):
        chance = random.Random(0)
        for _ in range(100):
            sent = sorted(chance.uniform(0, 10) for _ in range(50))
            resizes = [(0, 0, 150)] + [(at, at + chance.uniform(0, 1), 1) for at in sent]
            marks = [(at / 10,) for at in range(120)]
            self.assertTrue(all(sizes for _, sizes in in_force(resizes, marks, 0)))

    def test_a_wait_is_too_long_above_three_times_the_necessary_one(self):
        self.assertEqual(too_long({1: 5, 2: 6, 4: 7, 5: 1, 30: 2}, 1.5), {5: 1, 30: 2})

    def test_a_storm_of_any_length_is_followed_by_one_of_another_kind(self):
        for seconds in (1, 9, 10, 75, 598, 600):
            self.assertGreaterEqual(length(seconds), seconds)
            self.assertLess(length(seconds), seconds + len(STORMS))
            self.assertEqual(length(seconds) % len(STORMS), 1)
            self.assertEqual(length(length(seconds)), length(seconds))


if __name__ == "__main__":
    unittest.main()
