"""Each storm for ten seconds; campaign.py has longer ones. And what judges them is judged."""

import asyncio
import random
import sys
import unittest

import goodput
from field import LATENCY_S, POOL
from goodput import GAP_S_MAX, GOODPUT_MIN, Job
from patience import too_long
from resizes import in_force
from storms import STORMS, Overload, Reloads, Resizes, length

SECONDS = 10


class Storms(unittest.TestCase):
    def assert_weathered(self, kind):
        storm = kind(0)
        self.addCleanup(storm.close)
        faults = asyncio.run(storm.whole(SECONDS))
        print(storm.report(), file=sys.stderr)
        self.assertEqual(faults, [])

    def test_goodput_stays_while_a_pool_is_resized_a_hundred_times_a_second(self):
        self.assert_weathered(Resizes)

    def test_goodput_stays_while_every_other_reload_is_invalid(self):
        self.assert_weathered(Reloads)

    def test_goodput_stays_while_ten_times_as_many_jobs_come_as_fit(self):
        self.assert_weathered(Overload)


def work(workers, began_at, ended_at, pauses=()):
    """The jobs of so many workers, each of which begins one after the other, but none in a pause:
    (from, until)."""
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
    """With jobs that are made up, from 0 to 20 s; the storm is from 10 to 20 s."""

    PAUSES = [(at, at + 1) for at in (10.5, 12.5, 14.5, 16.5)]

    def part(self, jobs, sizes=((0.0, POOL),)):
        """(goodput, use of the workers) of the storm, as a part of that before."""
        ends = sorted(job.ended_at for job in jobs)
        rates = [goodput.rate(ends, began_at, began_at + 10) for began_at in (0, 10)]
        uses = [goodput.use(jobs, ends, sizes, LATENCY_S, began_at, began_at + 10)
                for began_at in (0, 10)]
        return rates[1] / rates[0], uses[1] / uses[0]

    def test_a_steady_celld_has_all_of_its_goodput(self):
        for part in self.part(work(POOL, -1, 21)):
            self.assertAlmostEqual(part, 1, places=2)

    def test_a_celld_that_stands_still_for_a_third_of_the_time_has_too_little(self):
        """Also when it does so every now and then, which the middle second does not show."""
        for pauses in ([(12, 15.5)], self.PAUSES):
            for part in self.part(work(POOL, -1, 21, pauses)):
                self.assertLess(part, GOODPUT_MIN)

    def test_workers_that_come_beside_the_pool_do_not_hide_what_is_lost(self):
        jobs = work(POOL, -1, 21, self.PAUSES) + work(POOL // 3, 10, 19.5)
        rate, use = self.part(jobs)
        self.assertGreater(rate, GOODPUT_MIN)
        self.assertLess(use, GOODPUT_MIN)
        _, use = self.part(work(POOL, -1, 21) + work(POOL // 3, 10, 19.5))
        self.assertAlmostEqual(use, 1, places=1)

    def test_a_smaller_pool_is_used_whole_and_a_greater_one_must_be_used(self):
        jobs = work(POOL // 2, -1, 21)
        self.assertAlmostEqual(self.part(jobs, ((0.0, POOL // 2),))[1], 1, places=2)
        self.assertLess(self.part(jobs, ((0.0, POOL // 2), (10.0, POOL)))[1], GOODPUT_MIN)

    def test_the_longest_gap_reaches_from_one_end_to_the_next_or_to_the_end_of_the_storm(self):
        self.assertEqual(goodput.longest_gap_s([9, 11, 14, 15], 10, 17), 3)
        self.assertEqual(goodput.longest_gap_s([9, 11, 12, 18], 10, 17), 5)
        self.assertEqual(goodput.longest_gap_s([], 10, 17), 7)
        ends = sorted(job.ended_at for job in work(POOL, -1, 21, [(12, 12 + GAP_S_MAX)]))
        self.assertGreater(goodput.longest_gap_s(ends, 10, 20), GAP_S_MAX)

    def test_goodput_is_normal_once_as_much_is_done_as_before(self):
        def recovery_s(pause_s):
            jobs = work(POOL, -1, 30, [(19.5, 19.5 + pause_s)])
            return goodput.recovery_s(sorted(job.ended_at for job in jobs), 20, 27,
                                      GOODPUT_MIN * POOL / LATENCY_S)
        self.assertEqual(recovery_s(0), 0)
        self.assertAlmostEqual(recovery_s(3), 2.6, delta=0.5)
        self.assertIsNone(recovery_s(5.5))

    def test_a_size_is_in_force_until_one_that_was_sent_after_its_answer_is_answered(self):
        resizes = [(0, 0, 150), (1, 3, 10), (2, 4, 20), (5, 6, 30)]
        marks = [(0.5,), (2.5,), (3.5,), (7,)]
        self.assertEqual([sizes for _, sizes in in_force(resizes, marks, 0)],
                         [[150], [150, 10, 20], [10, 20], [30]])

    def test_each_moment_has_a_size_however_resizes_overlap(self):
        chance = random.Random(0)
        for _ in range(100):
            sent = sorted(chance.uniform(0, 10) for _ in range(50))
            resizes = [(0, 0, 150)] + [(at, at + chance.uniform(0, 1), 1) for at in sent]
            marks = [(at / 10,) for at in range(120)]
            self.assertTrue(all(sizes for _, sizes in in_force(resizes, marks, 0)))

    def test_a_wait_is_too_long_when_it_is_thrice_what_is_needed(self):
        self.assertEqual(too_long({1: 5, 2: 6, 4: 7, 5: 1, 30: 2}, 1.5), {5: 1, 30: 2})

    def test_after_a_storm_of_any_length_comes_one_of_another_kind(self):
        for seconds in (1, 9, 10, 75, 598, 600):
            self.assertGreaterEqual(length(seconds), seconds)
            self.assertLess(length(seconds), seconds + len(STORMS))
            self.assertEqual(length(seconds) % len(STORMS), 1)
            self.assertEqual(length(length(seconds)), length(seconds))


if __name__ == "__main__":
    unittest.main()
