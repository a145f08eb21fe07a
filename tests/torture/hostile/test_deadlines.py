"""Not even one attempt in a hundred outlives its deadline."""

import unittest

from many_attempts import ManyAttempts


class Deadlines(ManyAttempts):
    def test_of_four_hundred_http_attempts_at_most_two_are_late(self):
        self.check_http_attempts()

    def test_of_two_hundred_commands_at_most_one_is_late(self):
        self.check_commands()


if __name__ == "__main__":
    unittest.main()
