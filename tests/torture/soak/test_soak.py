"""A short soak; soak.py runs for hours."""

import sys
import unittest

from soak import Soak

SECONDS = 6.0


class Soaks(unittest.TestCase):
    def test_memory_descriptors_threads_and_files_end_where_they_were(self):
        soak = Soak(0)
        self.addCleanup(soak.load.close)
        self.assertEqual(soak.warm_up() + soak.unit(SECONDS), [])
        print(f"{soak.load.jobs} jobs, memory {soak.grown / (1 << 20):+.1f} MB", file=sys.stderr)
        self.assertEqual(soak.load.close(), 0)


if __name__ == "__main__":
    unittest.main()
