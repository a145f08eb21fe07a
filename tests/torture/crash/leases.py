"""What a worker outside celld saw of its leases, and an audit of that.

The worker's notes outlive celld, as the worker does. An acknowledged report is on disk: its step is
never leased again. Two leases of one job are never live at once.
"""

import dataclasses

from faults import Faults

SERVICE = "work"
# The worker measures from its request, and celld from the answer.
ROUNDING_S = 0.005


@dataclasses.dataclass
class Lease:
    job: str
    name: str
    asked_at: float      # Just before the request that it answers.
    granted_at: float    # When the worker had the answer.
    expires_at: float    # At the earliest, unless it is reported.
    report: "tuple | None" = None    # (action, body), the same each time; none: it hangs.
    sent: bool = False
    answered: bool = False
    acknowledged: bool = False


class Leases:
    def __init__(self):
        self.by_name = {}
        self.failed = set()  # Jobs that are to fail once, and have.

    def grant(self, lease, asked_at, now):
        """A lease in an answer. Returns the report that is due for it; None: none is."""
        name, expires_at = lease["lease"], asked_at + lease["expires_in_ms"] / 1000
        known = self.by_name.get(name)
        if known is None:
            known = Lease(lease["job"]["id"], name, asked_at, now, expires_at,
                          self._report(lease))
            self.by_name[name] = known
        known.expires_at = max(known.expires_at, expires_at)
        return None if known.answered else known.report

    def _report(self, lease):
        """What the job asks for."""
        job = lease["job"]
        outcome = job["parameters"]["outcome"]
        if outcome == "hang":
            return None
        if outcome == "reject":
            return "fail", {"code": "provider_rejected", "message": "no", "retryable": False}
        if outcome in ("flaky", "busy") and job["id"] not in self.failed:
            self.failed.add(job["id"])
            return "fail", {"code": "not_now", "message": "later", "retryable": True}
        return "complete", {"properties": {SERVICE: job["id"]}}

    def sent(self, name):
        self.by_name[name].sent = True

    def answered(self, name, status):
        lease = self.by_name[name]
        lease.answered, lease.acknowledged = True, status == 200

    def audit(self, jobs):
        """`jobs`: all of celld's jobs, by id, when all have ended. Returns the faults."""
        faults = Faults()
        of_job = {}
        for lease in sorted(self.by_name.values(), key=lambda each: each.granted_at):
            before = of_job.get(lease.job)
            if before is not None:
                self._compare(faults, before, lease)
            if before is None or not self._has_succeeded(before):
                of_job[lease.job] = lease
        for lease in of_job.values():
            if self._has_succeeded(lease):
                states = {step["service"]: step["state"] for step in jobs[lease.job]["steps"]}
                faults.expect(states[SERVICE] == "succeeded", "an acknowledged report is lost",
                              lease, jobs[lease.job])
        return faults

    @staticmethod
    def _has_succeeded(lease):
        return lease.acknowledged and lease.report[0] == "complete"

    def _compare(self, faults, before, lease):
        faults.expect(not self._has_succeeded(before), "a step was leased again after its success",
                      before, lease)
        over = before.sent or lease.granted_at >= before.expires_at - ROUNDING_S
        faults.expect(over, "two leases of one job at once", before, lease)
