"""Providers that misbehave when a job that has failed is undone."""

import random
import unittest

from answers import ANSWERS
from daemon import ENDED, EndToEnd, wait_until
from hostility import SUCCESS
from provider import Provider, answer, succeed

TIMEOUT_MS = 3000  # Of which a busy machine takes a part.
REFUSED = {"code": "no", "message": "No."}


class Undo(EndToEnd):
    def setUp(self):
        super().setUp()
        # Each has a server of its own, so that late data from one never reaches another.
        self.providers = {each.name: Provider() for each in ANSWERS}
        for provider in self.providers.values():
            self.addCleanup(provider.close)

    def service(self, behaviour):
        url = self.providers[behaviour.name].url
        return {"type": "http", "url": url + "/do", "undo": {"url": url + "/undo"}}

    def submit_job(self, behaviour):
        return self.submit({
            "customer": "hostile", "product": "any", "action": "create",
            "entity": {"type": "zone", "id": behaviour.name}, "on_failure": "compensate",
            "services": [behaviour.name, "refuses"], "timeout_ms": TIMEOUT_MS,
            "retry": {"max_attempts": 1}})

    def ended(self, job_id):
        job = self.job(job_id)
        return job if job["state"] in ENDED else None

    def test_no_answer_to_an_undo_keeps_a_job_from_ending_or_changes_how_it_ends(self):
        self.provider.always("/refuses", answer(422, REFUSED))
        for behaviour in ANSWERS:
            provider = self.providers[behaviour.name]
            provider.always("/do", succeed())
            provider.always("/undo", behaviour.act(random.Random(behaviour.name)))
        self.start({
            "services": {"refuses": {"type": "http", "url": self.provider.url + "/refuses",
                                     "undo": {}},
                         **{each.name: self.service(each) for each in ANSWERS}},
            "cells": [{"pool": {"size": 64}}]})
        jobs = {behaviour: self.submit_job(behaviour) for behaviour in ANSWERS}
        for behaviour, job_id in jobs.items():
            with self.subTest(behaviour=behaviour.name):
                job = wait_until(lambda job_id=job_id: self.ended(job_id), "the job ends")
                self.assertEqual((job["state"], job["error"]["code"]),
                                 ("failed", REFUSED["code"]), job)
                undone = SUCCESS in behaviour.ends
                self.assertIn(job["steps"][0]["state"],
                              ("undone", "undo_failed") if undone else ("undo_failed",), job)
                self.assertEqual(job["steps"][1]["state"], "failed", job)


if __name__ == "__main__":
    unittest.main()
