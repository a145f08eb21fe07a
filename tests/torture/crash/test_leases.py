"""The audit of leases finds what it is for."""

import unittest

from leases import Leases


def a_lease(name, job="j", expires_in_ms=1000):
    return {"lease": name, "expires_in_ms": expires_in_ms,
            "job": {"id": job, "parameters": {"outcome": "ok"}}}


def job(state):
    return {"j": {"id": "j", "steps": [{"service": "work", "state": state}]}}


class LeasesTest(unittest.TestCase):
    def setUp(self):
        self.leases = Leases()
        self.assertEqual(self.leases.grant(a_lease("a"), 1.0, 1.1)[0], "complete")

    def found(self, state="succeeded"):
        return list(self.leases.audit(job(state)).found)

    def complete(self, name):
        self.leases.sent(name)
        self.leases.answered(name, 200)

    def test_a_lease_that_expired_may_be_followed_by_another(self):
        self.leases.grant(a_lease("b"), 1.9, 2.0)
        self.complete("b")
        self.assertEqual(self.found(), [])

    def test_a_lease_before_the_last_one_has_expired_is_found(self):
        self.leases.grant(a_lease("b"), 1.8, 1.9)
        self.assertEqual(self.found(), ["two leases of one job at once"])

    def test_a_lease_that_is_listed_after_a_restart_has_a_fresh_timeout(self):
        self.assertIsNotNone(self.leases.grant(a_lease("a"), 1.8, 1.9))
        self.leases.grant(a_lease("b"), 2.1, 2.2)
        self.assertEqual(self.found(), ["two leases of one job at once"])

    def test_a_lease_after_an_acknowledged_success_is_found(self):
        self.complete("a")
        self.leases.grant(a_lease("b"), 5.0, 5.1)
        self.assertEqual(self.found(), ["a step was leased again after its success"])

    def test_a_lost_success_is_found(self):
        self.complete("a")
        self.assertEqual(self.found("failed"), ["an acknowledged report is lost"])

    def test_a_success_that_was_not_acknowledged_may_be_lost(self):
        self.leases.sent("a")
        self.assertIsNotNone(self.leases.grant(a_lease("a"), 3.0, 3.1))
        self.assertEqual(self.found("failed"), [])


if __name__ == "__main__":
    unittest.main()
