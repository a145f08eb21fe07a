"""Lists: filters, pages and cursors; and the members of a cell."""

import unittest

from daemon import EndToEnd, a_config, a_job, stays, wait_until
from provider import answer, succeed


class Jobs(EndToEnd):
    def listed(self, **query):
        page = self.client.get("/v1/jobs", **query)
        self.assertEqual(page.status, 200, page)
        self.assertEqual(sorted(page.json), ["items", "next_cursor"])
        return [job["id"] for job in page.json["items"]]

    def all_pages(self, **query):
        """The ids on all pages, and the number of pages."""
        found, pages, cursor = [], 0, {}
        while True:
            page = self.client.get("/v1/jobs", **query, **cursor)
            self.assertEqual(page.status, 200, page)
            found += [job["id"] for job in page.json["items"]]
            pages += 1
            if page.json["next_cursor"] is None:
                return found, pages
            self.assertTrue(page.json["items"], "an empty page before the last one")
            self.assertLess(pages, 1000)
            cursor = {"cursor": page.json["next_cursor"]}

    def test_a_page_ends_at_eight_mebibytes_of_text_however_little_memory_that_takes(self):
        """A control character takes one byte in memory and six in JSON."""
        self.start()
        messages = [{"severity": "info", "text": "\u0001" * 4096}] * 20
        self.provider.always("/dns", succeed(messages=messages))
        jobs = [self.submit(a_job(str(number))) for number in range(40)]
        for job in jobs:
            self.wait_for_end(job)
        page = self.client.get("/v1/jobs", limit=1000)
        one = len(self.client.get(f"/v1/jobs/{jobs[0]}").body)
        self.assertGreater(40 * one, 16 << 20)
        self.assertLess(len(page.body), (8 << 20) + 4 * one)
        self.assertEqual(self.all_pages(limit=1000)[0], sorted(jobs, reverse=True))

    def test_an_empty_list_is_a_list(self):
        client = self.start()
        self.assertEqual(client.get("/v1/jobs").json, {"items": [], "next_cursor": None})

    def test_each_filter_selects_the_matching_jobs(self):
        self.start()
        self.provider.rules["/dns"] = lambda call: (
            answer(400) if call.body["entity"]["id"] == "bad" else succeed())
        jobs = {
            "plain": a_job(),
            "bolt": a_job(customer="bolt"),
            "mail": a_job(product="mail"),
            "billing": a_job(services=["billing"]),
            "box": a_job(entity={"type": "box", "id": "b o/x?&é"}),
            "bad": a_job("bad"),
            "later": a_job("later", delay_ms=3600000),
            "labelled": a_job("l", labels={"ticket": "T-1", "a.b c": "x=y"}),
            "half": a_job("h", labels={"ticket": "T-1"}),
        }
        ids = {name: self.submit(job) for name, job in jobs.items()}
        for name, job_id in ids.items():
            self.wait_for_state(job_id, {"later": "scheduled", "bad": "failed"}.get(
                name, "succeeded"))
        everything = set(jobs)
        for query, names in (
                ({}, everything),
                ({"customer": "bolt"}, {"bolt"}),
                ({"customer": "unknown"}, set()),
                ({"product": "mail"}, {"mail"}),
                ({"state": "scheduled"}, {"later"}),
                ({"state": "failed"}, {"bad"}),
                ({"state": "succeeded"}, everything - {"later", "bad"}),
                ({"state": "running"}, set()),
                ({"state": "compensating"}, set()),
                ({"service": "billing"}, {"billing"}),
                ({"service": "dns"}, everything - {"billing"}),
                ({"entity_type": "box"}, {"box"}),
                ({"entity_id": "b o/x?&é"}, {"box"}),
                ({"entity_type": "zone", "entity_id": "bad"}, {"bad"}),
                ({"label.ticket": "T-1"}, {"labelled", "half"}),
                ({"label.ticket": "T-1", "label.a.b c": "x=y"}, {"labelled"}),
                ({"label.ticket": "T-2"}, set()),
                ({"customer": "acme", "product": "dns", "state": "failed"}, {"bad"}),
                ({"created_after": "2020-01-01T00:00:00.000Z"}, everything),
                ({"created_before": "2020-01-01T00:00:00.000Z"}, set()),
                ({"created_after": "2120-01-01T00:00:00.000Z"}, set()),
                ({"created_before": "2120-01-01T00:00:00.000Z"}, everything)):
            with self.subTest(query=query):
                self.assertEqual(set(self.listed(**query)), {ids[name] for name in names})

    def test_a_list_can_be_split_by_creation_time(self):
        self.start()

        def created():
            self.submit(a_job("x"))
            jobs = self.client.get("/v1/jobs", limit=1000).json["items"]
            return jobs if len({job["created_at"] for job in jobs}) > 3 else None
        jobs = wait_until(created, "jobs have several creation times")
        cut = sorted(job["created_at"] for job in jobs)[len(jobs) // 2]
        after = set(self.listed(created_after=cut, limit=1000))
        before = set(self.listed(created_before=cut, limit=1000))
        self.assertFalse(after & before, "no job is both before and after")
        for job in jobs:
            if job["created_at"] != cut:
                self.assertIn(job["id"], after if job["created_at"] > cut else before)

    def test_the_newest_job_comes_first(self):
        self.start()
        ids = [self.submit(a_job(str(i))) for i in range(10)]
        self.assertEqual(self.listed(), ids[::-1])

    def test_a_page_has_fifty_jobs_by_default(self):
        self.start()
        ids = [self.submit(a_job(str(i))) for i in range(60)][::-1]
        self.assertEqual(self.listed(), ids[:50])
        self.assertEqual(self.listed(limit=1), ids[:1])
        self.assertEqual(self.listed(limit=1000), ids)

    def test_cursors_visit_every_job_once(self):
        self.start()
        ids = [self.submit(a_job(str(i), customer=f"c{i % 3}")) for i in range(61)]
        for limit in (1, 7, 60, 61, 62):
            with self.subTest(limit=limit):
                self.assertEqual(self.all_pages(limit=limit)[0], ids[::-1])
        found, pages = self.all_pages(limit=6, customer="c1")
        self.assertEqual((found, pages), (ids[1::3][::-1], 4))

    def test_new_jobs_do_not_disturb_paging(self):
        self.start()
        ids = [self.submit(a_job(str(i))) for i in range(20)]
        page = self.client.get("/v1/jobs", limit=10).json
        self.submit(a_job("new"))
        rest = self.client.get("/v1/jobs", limit=10, cursor=page["next_cursor"]).json
        self.assertEqual([j["id"] for j in page["items"] + rest["items"]], ids[::-1])

    def test_a_page_is_limited_to_eight_megabytes(self):
        self.start()
        self.provider.hold("/dns")
        parameters = {"text": "x" * 900_000}
        ids = [self.submit(a_job(str(i), parameters=parameters)) for i in range(20)]
        page = self.client.get("/v1/jobs", limit=1000)
        self.assertEqual(page.status, 200)
        self.assertLess(len(page.body), 10 << 20)
        self.assertIsNotNone(page.json["next_cursor"])
        found, pages = self.all_pages(limit=1000)
        self.assertEqual(found, ids[::-1])
        self.assertGreater(pages, 1)

    def test_ended_jobs_are_listed_the_same_after_a_restart(self):
        self.start()
        for i in range(5):
            self.wait_for_end(self.submit(a_job(str(i))))
        before = self.client.get("/v1/jobs").json
        self.assertEqual(self.daemon.stop(), 0)
        self.restart()
        self.assertEqual(self.client.get("/v1/jobs").json, before)


class Cells(EndToEnd):
    def test_pages_list_every_cell_once(self):
        cells = [{"customer": f"c{i}"} for i in range(7)] + [{"product": "dns"}, {}]
        client = self.start(cells=cells)
        found, cursor = [], {}
        while cursor is not None:
            page = client.get("/v1/cells", limit=2, **cursor)
            self.assertEqual(page.status, 200, page)
            self.assertLessEqual(len(page.json["items"]), 2)
            found += [(cell["customer"], cell["product"]) for cell in page.json["items"]]
            cursor = page.json["next_cursor"] and {"cursor": page.json["next_cursor"]}
        self.assertEqual(sorted(found),
                         sorted([(f"c{i}", "*") for i in range(7)] + [("*", "dns"), ("*", "*")]))

    def test_a_cell_shows_its_pool_queue_and_rates(self):
        client = self.start(cells=[{"customer": "acme", "pool": {"size": 2},
                                    "queue": {"max_jobs": 50}}, {}])
        gate = self.provider.hold("/dns")
        for i in range(5):
            self.submit(a_job(str(i)))
        self.submit(a_job("later", delay_ms=3600000))
        wait_until(lambda: len(self.provider.running()) == 2, "both workers are busy")

        def old_enough():
            cell = self.cell("acme")
            return cell if cell["queue"]["oldest_queued_ms"] > 20 else None
        cell = wait_until(old_enough, "the age of the oldest queued job grows")
        self.assertEqual(cell["pool"],
                         {"target": 2, "ready": 0, "busy": 2, "retiring": 0, "borrowed": 0,
                          "lent": 0})
        queue = cell["queue"]
        self.assertEqual([queue[name] for name in ("queued", "scheduled", "retrying", "running",
                                                   "max_jobs")], [3, 1, 0, 2, 50])
        self.assertEqual((cell["state"], cell["overrides"]), ("active", {}))
        self.assertEqual(sorted(cell["rates"]), ["finished_per_s", "submitted_per_s"])
        self.assertEqual(cell["quota"]["queue"]["max_jobs"], 50)
        gate.let_all()
        wait_until(lambda: self.cell("acme")["pool"]["ready"] == 2, "all jobs have run")
        cell = self.cell("acme")
        self.assertEqual((cell["pool"]["busy"], cell["queue"]["queued"],
                          cell["queue"]["running"], cell["queue"]["oldest_queued_ms"]),
                         (0, 0, 0, 0))
        wait_until(lambda: self.cell("acme")["rates"]["finished_per_s"] > 0, "a rate is shown")

    def test_a_cell_that_is_not_configured_is_404(self):
        client = self.start(cells=[{"customer": "acme"}])
        for key in ("acme/dns", "*/*", "unknown/*", "acme/%01", "a%2Fb/*", "-/-", "a" * 64 + "/*"):
            with self.subTest(key=key):
                self.assert_problem(client.get(f"/v1/cells/{key}"), 404)

    def test_each_customer_of_a_template_has_its_own_cell(self):
        client = self.start(a_config(self.provider, cells=[
            {"product": "mail", "per": ["customer"], "pool": {"size": 1}}, {}]))
        gate = self.provider.hold("/dns")
        first = self.submit(a_job("1", customer="acme", product="mail"))
        self.submit(a_job("2", customer="acme", product="mail"))
        self.submit(a_job("3", customer="bolt", product="mail"))
        wait_until(lambda: len(self.provider.running()) == 2, "one job of each customer runs")
        stays(lambda: len(self.provider.calls_of()) == 2, "one job of each customer runs")
        self.assertEqual(self.job(first)["cell"], {"customer": "acme", "product": "mail"})
        keys = [(c["customer"], c["product"]) for c in client.get("/v1/cells").json["items"]]
        self.assertIn(("acme", "mail"), keys)
        self.assertIn(("bolt", "mail"), keys)
        self.assertEqual(self.cell("acme", "mail")["pool"]["target"], 1)
        gate.let_all()
        self.wait_for_end(first)


if __name__ == "__main__":
    unittest.main()
