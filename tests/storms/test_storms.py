"""Each storm for ten seconds; campaign.py has longer ones."""

import asyncio
import sys
import unittest

from storms import Overload, Reloads, Resizes

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


if __name__ == "__main__":
    unittest.main()
