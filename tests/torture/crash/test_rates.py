"""The check of rates finds calls that came too fast, and blames celld for nothing else."""

import dataclasses
import unittest

from calls import Call
from faults import Faults
from rates import check_rate

RATE_PER_S, BURST = 10, 3
INTERVAL_S = 1 / RATE_PER_S
STARTED_AT = 100.0
LATENCY_S = 0.001
FOREVER = float("inf")


def a_call(began_at, entity="e", **changes):
    return Call("j", "rated", 1, "c/rated", entity, changes.pop("life", 1), began_at,
                **{"ended_at": began_at + LATENCY_S, "succeeded": True, **changes})


def paced(count, interval_s=INTERVAL_S, burst=BURST, entities=1):
    """What the provider notes if celld begins `burst` calls at its start and then one in each
    interval, and no call is delayed."""
    return [a_call(STARTED_AT + (number + 1) * LATENCY_S * 2 +
                   max(0, number + 1 - burst) * interval_s, f"e{number % entities}")
            for number in range(count)]


class RatesTest(unittest.TestCase):
    def found(self, calls, *lives):
        faults = Faults()
        check_rate(faults, calls, RATE_PER_S, BURST, lives or [(STARTED_AT, FOREVER)])
        return list(faults.found)

    def assert_found(self, calls, *lives):
        self.assertEqual(self.found(calls, *lives), ["a rate was exceeded"])

    def assert_not_found(self, calls, *lives):
        self.assertEqual(self.found(calls, *lives), [])

    def test_calls_that_keep_to_the_rate_are_no_fault(self):
        self.assert_not_found(paced(40))
        self.assert_not_found(paced(40, entities=4))

    def test_a_celld_that_ignores_the_rate_is_found(self):
        self.assert_found(paced(10, interval_s=LATENCY_S * 2))

    def test_a_rate_that_is_half_again_too_high_is_found(self):
        self.assert_found(paced(20, interval_s=INTERVAL_S / 1.5))
        self.assert_found(paced(40, interval_s=INTERVAL_S / 1.5, entities=4))

    def test_a_burst_that_is_one_too_large_is_found(self):
        self.assert_found(paced(BURST + 1, burst=BURST + 1))

    def test_calls_that_the_provider_notes_late_are_no_fault(self):
        """The provider was stalled for a second, and then noted all calls at once. Each is for
        another entity, so celld may have begun it at any time since its start."""
        calls = [a_call(STARTED_AT + 1.0 + number / 1e5, f"e{number}")
                 for number in range(BURST + RATE_PER_S)]
        self.assert_not_found(calls)
        self.assert_found(calls + [a_call(STARTED_AT + 1.001, "another")])

    def test_calls_for_one_entity_that_the_provider_notes_at_once_began_at_once(self):
        calls = [a_call(STARTED_AT + 50 + number * LATENCY_S * 2) for number in range(BURST + 2)]
        self.assert_not_found(calls[:-1])
        self.assert_found(calls)

    def test_each_start_of_celld_has_a_whole_burst(self):
        again_at = STARTED_AT + 0.05
        calls = paced(BURST) + [
            dataclasses.replace(call, life=2, began_at=call.began_at + 0.05,
                                ended_at=call.ended_at + 0.05) for call in paced(BURST)]
        self.assert_not_found(calls, (STARTED_AT, again_at), (again_at, FOREVER))
        one_life = [dataclasses.replace(call, life=1) for call in calls]
        self.assert_found(one_life)

    def test_a_call_that_the_provider_notes_after_the_death_of_celld_began_before_it(self):
        calls = paced(BURST + 1, burst=BURST + 1, entities=10)
        late = [dataclasses.replace(call, began_at=call.began_at + 5, ended_at=call.began_at + 5,
                                    broken=True) for call in calls]
        self.assert_found(late, (STARTED_AT, STARTED_AT + 0.02))
        self.assert_not_found(late, (STARTED_AT, FOREVER))

    def test_a_call_may_begin_before_the_provider_knows_that_celld_hung_up_on_the_last_one(self):
        first = a_call(STARTED_AT + 1.0, ended_at=STARTED_AT + 2.0, alive_at=STARTED_AT + 1.0,
                       broken=True)
        calls = [a_call(STARTED_AT + 2.0 + number * LATENCY_S * 2) for number in range(BURST + 2)]
        self.assert_not_found([first, *calls[:-1]])
        self.assert_found([first, *calls])


if __name__ == "__main__":
    unittest.main()
