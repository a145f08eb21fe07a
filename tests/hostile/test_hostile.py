"""Each hostility once; campaign.py draws and varies them."""

import sys
import unittest

from answers import ANSWERS
from commands import COMMANDS
from connections import CONNECTIONS
from ground import Ground

AT_ONCE = 12


class Hostile(unittest.TestCase):
    def assert_withstood(self, hostilities):
        ground = Ground(hostilities)
        self.addCleanup(ground.close)
        ground.settle()
        faults = []
        for first in range(0, len(hostilities), AT_ONCE):
            faults += ground.meet(hostilities[first:first + AT_ONCE], "each once")
        faults += ground.end()
        print(f"most {ground.lateness}; memory +{ground.grown / (1 << 20):.1f} MB, "
              f"{ground.good_jobs} good jobs went on", file=sys.stderr)
        self.assertEqual(faults, [])

    def test_no_answer_of_an_http_provider_outlasts_its_deadline_or_harms_others(self):
        self.assert_withstood(ANSWERS)

    def test_no_connection_to_a_provider_outlasts_its_deadline_or_harms_others(self):
        self.assert_withstood(CONNECTIONS)

    def test_no_command_outlasts_its_deadline_leaves_anything_or_harms_others(self):
        self.assert_withstood(COMMANDS)


if __name__ == "__main__":
    unittest.main()
