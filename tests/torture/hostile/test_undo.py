"""Providers that misbehave when a job that has failed is undone."""

import random
import unittest

from answers import ANSWERS
from daemon import ENDED, EndToEnd, wait_until
from hostility import SUCCESS
from mapped import MAPPED_ANSWERS, OF_MAPPINGS
from provider import Provider, answer, succeed

TIMEOUT_MS = 3000  # A busy machine uses up a part of it.
REFUSED = {"code": "no", "message": "No."}


def unmapped_service(url):
    return {"type": "http", "url": url + "/do", "undo": {"url": url + "/undo"}}


def mapped_service(behaviour, url):
    """Its undo makes the requests and polls that meet the behaviour."""
    return {"type": "http", "url": url + "/undo", "mapping": {
        **behaviour.mapping, "actions": {"create": {"method": "POST", "path": "/do"}},
        "undo": behaviour.mapping["actions"]}}


class Undo(EndToEnd):
    def provider_for(self, behaviour):
        """Each has a server of its own, so that late data from one never reaches another."""
        provider = Provider()
        self.addCleanup(provider.close)
        provider.always("/do", succeed())
        provider.always("/undo/do", succeed())
        provider.always("/undo", behaviour.act(random.Random(behaviour.name)))
        return provider

    def submit_job(self, behaviour):
        return self.submit({
            "customer": "hostile", "product": "any", "action": "create",
            "entity": {"type": "zone", "id": behaviour.name}, "on_failure": "compensate",
            "parameters": {"text": ""}, "services": [behaviour.name, "refuses"],
            "timeout_ms": TIMEOUT_MS, "retry": {"max_attempts": 1}})

    def ended(self, job_id):
        job = self.job(job_id)
        return job if job["state"] in ENDED else None

    def check_that_jobs_end(self, services):
        """`services` maps each behaviour to the service whose undo meets it."""
        self.provider.always("/refuses", answer(422, REFUSED))
        self.start({
            "services": {"refuses": {"type": "http", "url": self.provider.url + "/refuses",
                                     "undo": {}},
                         **{behaviour.name: service for behaviour, service in services.items()}},
            "cells": [{"pool": {"size": 128}}]})
        jobs = {behaviour: self.submit_job(behaviour) for behaviour in services}
        for behaviour, job_id in jobs.items():
            with self.subTest(behaviour=behaviour.name):
                job = wait_until(lambda job_id=job_id: self.ended(job_id), "the job ends")
                self.assertEqual((job["state"], job["error"]["code"]),
                                 ("failed", REFUSED["code"]), job)
                undone = SUCCESS in behaviour.ends
                self.assertIn(job["steps"][0]["state"],
                              ("undone", "undo_failed") if undone else ("undo_failed",), job)
                self.assertEqual(job["steps"][1]["state"], "failed", job)

    def test_no_answer_to_an_undo_keeps_a_job_from_ending_or_changes_how_it_ends(self):
        self.check_that_jobs_end({each: unmapped_service(self.provider_for(each).url)
                                  for each in ANSWERS})

    def test_no_answer_to_a_mapped_undo_keeps_a_job_from_ending_or_changes_how_it_ends(self):
        self.check_that_jobs_end({each: mapped_service(each, self.provider_for(each).url)
                                  for each in OF_MAPPINGS + MAPPED_ANSWERS})


if __name__ == "__main__":
    unittest.main()
