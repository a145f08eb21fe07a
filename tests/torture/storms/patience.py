"""Refused clients that retry once each, exactly when Retry-After says."""

import asyncio
import collections

from submitter import Submitter

TOO_LONG = 3  # Times the necessary wait.


def too_long(waits, needed_s):
    """The subset of `waits`, {seconds: how often}, far above the necessary wait."""
    return {wait_s: count for wait_s, count in waits.items() if wait_s > TOO_LONG * needed_s}


class Patience:
    """Keeps the `most` clients that were refused last."""

    def __init__(self, daemon, most=1_000_000):
        self.submitter = Submitter(daemon)
        self.waiting = collections.deque(maxlen=most)
        self.waits = collections.Counter()

    async def open(self):
        await self.submitter.open()
        self.loop = asyncio.get_running_loop()

    def refused(self, wait_s):
        if len(self.waiting) == self.waiting.maxlen:
            self.waiting[0][1].cancel()
        self.waiting.append((wait_s, self.loop.call_later(wait_s, self.submitter.submit_next)))

    async def all_retried(self):
        await asyncio.sleep(max((wait_s for wait_s, _ in self.waiting), default=0) + 0.1)

    async def close(self):
        """Cancels the retries that are still due."""
        for _, retry in self.waiting:
            retry.cancel()
        await self.submitter.quiet()
        await self.submitter.close()

    @property
    def accepted_share(self):
        return self.submitter.statuses[202] / max(1, self.submitter.sent)

    def __str__(self):
        return f"{self.submitter.statuses[202]} of {self.submitter.sent} retries accepted"
