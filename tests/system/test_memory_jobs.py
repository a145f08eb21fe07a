"""Cells that keep their jobs in memory (`"durability": "memory"`)."""

import os
import re
import sqlite3
import time
import unittest

import provider
from daemon import EndToEnd, a_config, a_job, wait_until

MEMORY = {"customer": "mem", "product": "*", "durability": "memory"}
ANY = {"customer": "*", "product": "*"}
HOUR_MS = 3600000


def a_memory_job(entity_id="example.com", **changes):
    return a_job(entity_id, customer="mem", **changes)


class MemoryJobs(EndToEnd):
    def start(self, config=None, **changes):
        return super().start(config, **{"cells": [MEMORY, ANY], **changes})

    def database(self):
        return os.path.join(self.directory, "data", "celld.db")

    def stored_ids(self):
        """How many jobs the database has."""
        with sqlite3.connect(f"file:{self.database()}?mode=ro", uri=True) as database:
            return database.execute("SELECT count(*) FROM jobs").fetchone()[0]

    def written(self):
        """The bytes of the database and its log, and when they were written last."""
        return {suffix: (os.path.getsize(self.database() + suffix),
                         os.stat(self.database() + suffix).st_mtime_ns)
                for suffix in ("", "-wal")}

    def batch(self, batch_id):
        answer = self.client.get(f"/v1/batches/{batch_id}")
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def finished(self, batch_id):
        batch = self.batch(batch_id)
        return batch if batch["finished_at"] else None

    def states_if(self, batch_id, **wanted):
        """The jobs of the batch by state, once those that are named are as many."""
        states = self.batch(batch_id)["states"]
        return states if all(states[state] == n for state, n in wanted.items()) else None

    def lines_of_log(self, text):
        return [line for line in self.daemon.log().splitlines() if text in line]


def number_of(job_id):
    """The number that a job's id spells in Crockford's base 32."""
    number = 0
    for digit in job_id:
        number = 32 * number + "0123456789abcdefghjkmnpqrstvwxyz".index(digit)
    return number


class Lives(MemoryJobs):
    def test_ids_of_two_lives_differ_even_if_the_clock_is_set_back(self):
        """An id is a millisecond, and a place within it that begins elsewhere in each life. It repeats
        by chance once in 500,000 runs."""
        self.start()
        first = self.submit(a_memory_job("a"))
        self.daemon.kill()
        self.restart()
        second = self.submit(a_memory_job("b"))
        self.assertNotEqual(number_of(first) % 2**20, number_of(second) % 2**20)

    def test_a_job_runs_to_its_end_and_shows_how_it_is_kept(self):
        self.start()
        accepted = self.client.post("/v1/jobs", a_memory_job(services=["dns", "billing"]))
        self.assertEqual(accepted.status, 202, accepted)
        self.assertEqual(accepted.json["durability"], "memory")
        job = self.wait_for_end(accepted.json["id"])
        self.assertEqual((job["state"], job["durability"]), ("succeeded", "memory"))
        self.assertEqual(job["cell"], {"customer": "mem", "product": "*"})
        on_disk = self.wait_for_end(self.submit(a_job()))
        self.assertEqual((on_disk["state"], on_disk["durability"]), ("succeeded", "disk"))
        self.assertEqual(self.stored_ids(), 1)

    def test_nothing_about_a_job_in_memory_is_written_to_the_database(self):
        self.start()
        self.wait_for_end(self.submit(a_job()))
        before = wait_until(self.quiet, "the database is at rest")
        for i in range(50):
            self.submit(a_memory_job(str(i)))
        later = self.submit(a_memory_job("later", delay_ms=HOUR_MS))
        self.client.post(f"/v1/jobs/{later}/cancel", {})
        keyed = self.submit(a_memory_job("keyed"), **{"Idempotency-Key": "k"})
        self.wait_for_end(keyed)
        wait_until(lambda: self.cell("mem")["queue"]["queued"] == 0, "all jobs have run")
        self.assertEqual(self.written(), before)

    def quiet(self):
        before = self.written()
        time.sleep(0.3)
        return before if self.written() == before else None

    def test_lists_and_look_ups_find_jobs_of_both_kinds_newest_first(self):
        self.start()
        self.provider.hold("/dns")
        ids = [self.submit(a_memory_job(str(i)) if i % 3 == 0 else a_job(str(i)))
               for i in range(10)]
        listed, cursor = [], None
        while True:
            page = self.client.get("/v1/jobs", limit=3, **({"cursor": cursor} if cursor else {}))
            self.assertEqual(page.status, 200, page)
            listed += [job["id"] for job in page.json["items"]]
            cursor = page.json["next_cursor"]
            if cursor is None:
                break
        self.assertEqual(listed, ids[::-1])
        of_mem = self.client.get("/v1/jobs", customer="mem").json["items"]
        self.assertEqual([job["id"] for job in of_mem], ids[::-1][::3])
        self.assertTrue(all(self.job(job_id)["id"] == job_id for job_id in ids))

    def test_an_idempotency_key_belongs_to_one_job_of_either_kind(self):
        self.start(cells=[{**MEMORY, "product": "fast"}, ANY])
        key = {"Idempotency-Key": "k"}
        on_disk = self.submit(a_memory_job(), **key)
        other_body = a_memory_job(product="fast")
        self.assert_problem(self.client.post("/v1/jobs", other_body, **key), 422,
                            "idempotency-key-reused")
        in_memory = self.submit(other_body, **{"Idempotency-Key": "m"})
        self.assertEqual(self.job(in_memory)["durability"], "memory")
        again = self.client.post("/v1/jobs", other_body, **{"Idempotency-Key": "m"})
        self.assertEqual((again.status, again.json["id"]), (200, in_memory))
        self.assertEqual(again.headers["idempotent-replayed"], "true")
        self.assert_problem(self.client.post("/v1/jobs", a_memory_job(), **{"Idempotency-Key": "m"}),
                            422, "idempotency-key-reused")
        self.assertEqual(self.job(on_disk)["durability"], "disk")

    def test_jobs_of_one_entity_run_one_after_another(self):
        self.start()
        gate = self.provider.hold("/dns")
        ids = [self.submit(a_memory_job()) for _ in range(3)]
        wait_until(lambda: len(self.provider.running("/dns")) == 1, "one call runs")
        self.assertEqual([self.job(job_id)["state"] for job_id in ids],
                         ["running", "queued", "queued"])
        gate.let_all()
        for job_id in ids:
            self.assertEqual(self.wait_for_end(job_id)["state"], "succeeded")
        calls = [call.body["job"] for call in self.provider.calls_of("/dns")]
        self.assertEqual(calls, ids)

    def test_a_failed_job_can_be_retried(self):
        self.start()
        self.provider.always("/dns", provider.answer(400))
        job_id = self.submit(a_memory_job())
        self.assertEqual(self.wait_for_end(job_id)["state"], "failed")
        self.provider.always("/dns", provider.succeed())
        self.assertEqual(self.client.post(f"/v1/jobs/{job_id}/retry", {}).status, 202)
        self.assertEqual(self.wait_for_end(job_id)["state"], "succeeded")

    def test_a_job_runs_when_it_is_due_and_again_after_a_failure_that_may_pass(self):
        self.start()
        self.provider.on("/dns", [provider.answer(503), provider.succeed()])
        job = self.wait_for_end(self.submit(a_memory_job(delay_ms=50)))
        self.assertEqual((job["state"], job["attempt"]), ("succeeded", 2))

    def test_a_batch_counts_jobs_of_both_kinds(self):
        self.start()
        self.provider.hold("/dns")
        answer = self.client.post("/v1/batches", [a_job("a"), *map(a_memory_job, "bcd")])
        self.assertEqual((answer.status, answer.json["accepted"]), (202, 4), answer)
        batch = self.batch(answer.json["id"])
        self.assertEqual((batch["total"], batch["progress"], batch["finished_at"]), (4, 0, None))
        self.provider.release_all()
        batch = wait_until(lambda: self.finished(batch["id"]), "all jobs have ended")
        self.assertEqual((batch["states"]["succeeded"], batch["progress"]), (4, 1))
        self.assertEqual(self.client.get("/v1/batches").json["items"], [batch])

    def test_the_answer_to_a_batch_may_wait_for_its_jobs_in_memory(self):
        self.start()
        answer = self.client.post("/v1/batches", [a_memory_job("a"), a_memory_job("b")],
                                  Prefer="wait=20")
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(self.batch(answer.json["id"])["states"]["succeeded"], 2)

    def test_a_batch_of_jobs_in_memory_is_cancelled(self):
        self.start()
        jobs = [a_memory_job(str(i), delay_ms=HOUR_MS) for i in range(5)]
        batch_id = self.client.post("/v1/batches", jobs).json["id"]
        self.assertEqual(self.client.post(f"/v1/batches/{batch_id}/cancel", {}).status, 202)
        batch = wait_until(lambda: self.finished(batch_id), "all jobs are cancelled")
        self.assertEqual(batch["states"]["cancelled"], 5)


class Bounds(MemoryJobs):
    def test_the_oldest_ended_jobs_make_room_for_new_ones(self):
        self.start(cells=[{**MEMORY, "queue": {"max_bytes": 65536}}, ANY])
        ids = [self.submit(a_memory_job(str(i), parameters={"text": "x" * 4000}))
               for i in range(5)]
        for job_id in ids:
            self.wait_for_end(job_id)
        for i in range(20):
            ids.append(self.submit(a_memory_job(f"n{i}", parameters={"text": "x" * 4000})))
            self.wait_for_end(ids[-1])
        self.assertEqual(self.client.get(f"/v1/jobs/{ids[0]}").status, 404)
        self.assertEqual(self.job(ids[-1])["state"], "succeeded")

    def test_a_cell_whose_unfinished_jobs_fill_its_memory_is_full(self):
        self.start(cells=[{**MEMORY, "queue": {"max_bytes": 65536}}, ANY])
        self.provider.hold("/dns")
        answer = self.fill()
        problem = answer.json
        self.assertEqual((problem["quota"], problem["limit"]), ("queue.max_bytes", 65536))
        self.assertEqual(problem["cell"], {"customer": "mem", "product": "*"})
        self.assertTrue(0 < problem["depth"] <= 65536, problem)
        self.submit(a_job("on disk"))

    def test_a_job_that_is_larger_than_the_memory_is_refused_for_good(self):
        self.start(cells=[{**MEMORY, "queue": {"max_bytes": 65536}}, ANY])
        self.wait_for_end(self.submit(a_memory_job("ends")))
        for size in 70_000, 65_000:  # The second one would fit without what celld adds.
            text = {"text": "x" * size}
            answer = self.client.post("/v1/jobs", a_memory_job("large", parameters=text))
            self.assert_problem(answer, 422)
            self.assertNotIn("Retry-After", answer.headers)
            lines = [a_memory_job("a"), a_memory_job("large", parameters=text), a_memory_job("b")]
            batch = self.client.post("/v1/batches", lines).json
            self.assertEqual((batch["accepted"], batch["rejected"], batch["errors"][0]["status"]),
                             (2, 1, 422), batch)

    def test_a_job_that_is_larger_than_its_customers_quota_is_refused_for_good(self):
        quota = {"customers": {"quota": {"max_bytes": 65536}}}
        self.start(cells=[{**MEMORY, **quota}, ANY])
        answer = self.client.post("/v1/jobs", a_memory_job(parameters={"text": "x" * 70_000}))
        self.assert_problem(answer, 422)

    def test_all_jobs_in_memory_have_one_bound_which_a_reload_changes(self):
        cells = [{**MEMORY, "per": ["product"]}, ANY]
        self.start(cells=cells, capacity={"memory_max_bytes": 65536})
        self.provider.hold("/dns")
        answer = self.fill()
        problem = answer.json
        self.assertEqual((problem["quota"], problem["limit"]),
                         ("capacity.memory_max_bytes", 65536))
        self.daemon.write_config(a_config(self.provider, cells=cells,
                                          capacity={"memory_max_bytes": 1 << 20}))
        report = self.client.post("/v1/admin/reload", {})
        self.assertEqual(report.status, 200, report)
        self.assertEqual(report.json["changed"]["settings"], ["/capacity"])
        self.submit(a_memory_job("more", product="p1"))

    def test_the_metrics_tell_the_memory_that_jobs_take(self):
        self.start(retention_ms=1000)
        job_id = self.submit(a_memory_job(delay_ms=HOUR_MS))
        self.assertGreater(self.job_memory_bytes(), 1000)
        self.assertEqual(self.client.post(f"/v1/jobs/{job_id}/cancel", {}).status, 200)
        wait_until(lambda: self.job_memory_bytes() == 0, "retention has removed the job")

    def job_memory_bytes(self):
        found, = re.findall(r"^celld_job_memory_bytes (\d+)$",
                            self.client.get("/metrics").body.decode(), re.MULTILINE)
        return int(found)

    def fill(self):
        """Submits jobs, whose calls are held, until one is refused. Returns the refusal."""
        for i in range(100):
            answer = self.client.post(
                "/v1/jobs", a_memory_job(str(i), product=f"p{i % 3}",
                                         parameters={"text": "x" * 2000}))
            if answer.status != 202:
                self.assert_problem(answer, 429, "queue-full")
                self.assertTrue(1 <= int(answer.headers["retry-after"]) <= 3600)
                return answer
        self.fail("100 jobs fit")


class Stops(MemoryJobs):
    def test_a_crash_forgets_jobs_in_memory_and_their_keys_and_keeps_those_on_disk(self):
        self.start()
        self.provider.hold("/dns")
        key = {"Idempotency-Key": "k"}
        on_disk = [self.submit(a_job(str(i))) for i in range(3)]
        in_memory = [self.submit(a_memory_job(str(i))) for i in range(3)]
        keyed = self.submit(a_memory_job("keyed"), **key)
        self.daemon.kill()
        self.provider.release_all()
        self.restart()
        for job_id in (*in_memory, keyed):
            self.assert_problem(self.client.get(f"/v1/jobs/{job_id}"), 404)
        for job_id in on_disk:
            self.assertEqual(self.wait_for_end(job_id)["state"], "succeeded")
        self.assertEqual(self.cell("mem")["queue"]["queued"], 0)
        again = self.submit(a_memory_job("keyed"), **key)
        self.assertNotEqual(again, keyed)
        self.assertEqual(self.wait_for_end(again)["state"], "succeeded")

    def test_a_crash_forgets_the_unfinished_jobs_of_a_batch(self):
        self.start()
        jobs = [a_memory_job(str(i), delay_ms=HOUR_MS if i < 3 else 0) for i in range(10)]
        batch_id = self.client.post("/v1/batches", [*jobs, a_job("on disk")]).json["id"]
        states = wait_until(lambda: self.states_if(batch_id, succeeded=8), "eight jobs have ended")
        self.assertEqual(states["scheduled"], 3)
        self.daemon.kill()
        self.restart()
        batch = self.batch(batch_id)
        self.assertIsNotNone(batch["finished_at"])
        self.assertEqual((batch["total"], batch["progress"]), (11, 1))
        # The database was told of all jobs when the batch was closed, but not of each end.
        self.assertGreaterEqual(batch["states"]["forgotten"], 3)
        self.assertEqual(batch["states"]["forgotten"] + batch["states"]["succeeded"], 11)
        self.assertEqual(self.daemon.stop(), 0)
        self.restart()
        self.assertEqual(self.batch(batch_id), batch)

    def test_a_batch_whose_jobs_in_memory_have_ended_is_the_same_after_a_crash(self):
        self.start()
        batch_id = self.client.post("/v1/batches", [*map(a_memory_job, "abc")]).json["id"]
        batch = wait_until(lambda: self.finished(batch_id), "all jobs have ended")
        wait_until(lambda: self.noted(batch_id), "the database knows")
        self.daemon.kill()
        self.restart()
        self.assertEqual(self.batch(batch_id), batch)

    def noted(self, batch_id):
        """Whether the database counts no job as unfinished."""
        with sqlite3.connect(f"file:{self.database()}?mode=ro", uri=True) as database:
            row = database.execute("SELECT scheduled + queued + running + retrying FROM batches")
            return row.fetchone()[0] == 0

    def test_a_batch_goes_with_its_last_job_in_memory(self):
        self.start(retention_ms=1000)
        batch_id = self.client.post("/v1/batches", [*map(a_memory_job, "abc")]).json["id"]
        wait_until(lambda: self.client.get(f"/v1/batches/{batch_id}").status == 404,
                   "retention has removed the batch")

    def test_a_crash_forgets_leases_of_jobs_in_memory(self):
        services = {"vm": {"type": "pull"}}
        self.start(services=services)
        self.submit(a_memory_job(services=["vm"]))
        kept = self.submit(a_job(services=["vm"]))
        answer = self.client.post("/v1/services/vm/leases", {"worker": "w", "max": 2})
        leases = {lease["job"]["id"]: lease["lease"] for lease in answer.json["leases"]}
        self.assertEqual(len(leases), 2)
        self.daemon.kill()
        self.restart()
        for job_id, lease in leases.items():
            ended = self.client.post(f"/v1/leases/{lease}/complete", {})
            if job_id == kept:
                self.assertEqual(ended.status, 200, ended)
            else:
                self.assert_problem(ended, 409, "lease-lost")

    def test_a_shutdown_forgets_what_has_not_ended_by_default(self):
        self.start()
        job_id = self.submit(a_memory_job(delay_ms=HOUR_MS))
        self.assertEqual(self.daemon.stop(), 0)
        self.restart()
        self.assert_problem(self.client.get(f"/v1/jobs/{job_id}"), 404)

    def test_a_shutdown_forgets_or_keeps_the_jobs_of_a_batch(self):
        self.start(retention_ms=5000, cells=[
            {**MEMORY, "on_stop": "keep"}, {**MEMORY, "customer": "loose"}, ANY])
        batch_id = self.client.post("/v1/batches", [
            a_memory_job("later", delay_ms=HOUR_MS),
            a_job("loose", customer="loose", delay_ms=HOUR_MS),
            a_memory_job("ended"), a_job("on disk")]).json["id"]
        wait_until(lambda: self.states_if(batch_id, succeeded=2), "two jobs have ended")
        for _ in range(2):
            self.assertEqual(self.daemon.stop(), 0)
            self.restart()
            states = self.batch(batch_id)["states"]
            self.assertEqual({state: count for state, count in states.items() if count},
                             {"scheduled": 1, "succeeded": 2, "forgotten": 1})
        self.assertEqual(self.client.post(f"/v1/batches/{batch_id}/cancel", {}).status, 202)
        batch = wait_until(lambda: self.finished(batch_id), "the kept job is cancelled")
        self.assertEqual((batch["states"]["cancelled"], batch["total"]), (1, 4))
        wait_until(lambda: self.client.get(f"/v1/batches/{batch_id}").status == 404,
                   "the batch is removed like any other")

    def test_a_shutdown_keeps_what_has_not_ended_if_the_cell_says_so(self):
        self.start(cells=[{**MEMORY, "on_stop": "keep"}, {**MEMORY, "customer": "loose"}, ANY],
                   services={"vm": {"type": "pull"}, "dns": a_config(self.provider)["services"]["dns"]})
        later = self.submit(a_memory_job("later", delay_ms=HOUR_MS))
        keyed = self.submit(a_memory_job("keyed", services=["vm"]), **{"Idempotency-Key": "k"})
        loose = self.submit(a_job("loose", customer="loose", delay_ms=HOUR_MS))
        ended = self.submit(a_memory_job("ended"))
        self.wait_for_end(ended)
        lease = self.client.post("/v1/services/vm/leases", {"worker": "w"}).json["leases"][0]
        self.assertEqual(self.daemon.stop(), 0)
        self.assertTrue(os.path.exists(self.database() + ".kept"))
        self.restart()
        self.assertFalse(os.path.exists(self.database() + ".kept"))
        job = self.job(later)
        self.assertEqual((job["state"], job["durability"]), ("scheduled", "memory"))
        for job_id in (loose, ended):
            self.assert_problem(self.client.get(f"/v1/jobs/{job_id}"), 404)
        again = self.client.post("/v1/jobs", a_memory_job("keyed", services=["vm"]),
                                 **{"Idempotency-Key": "k"})
        self.assertEqual((again.status, again.json["id"]), (200, keyed))
        done = self.client.post(f"/v1/leases/{lease['lease']}/complete", {})
        self.assertEqual(done.status, 200, done)
        self.assertEqual(self.wait_for_end(keyed)["state"], "succeeded")
        self.assertEqual(self.stored_ids(), 0)
        self.daemon.kill()
        self.restart()
        self.assert_problem(self.client.get(f"/v1/jobs/{later}"), 404)


class Changes(MemoryJobs):
    def reload(self, cells):
        self.daemon.write_config(a_config(self.provider, cells=cells))
        return self.client.post("/v1/admin/reload", {})

    def test_a_reload_that_changes_how_unfinished_jobs_are_kept_is_refused_with_their_number(self):
        self.start()
        in_memory = [self.submit(a_memory_job(str(i), delay_ms=HOUR_MS)) for i in range(2)]
        on_disk = self.submit(a_job("x", delay_ms=HOUR_MS))
        answer = self.reload([{**MEMORY, "durability": "disk"}, {**ANY, "durability": "memory"}])
        self.assert_problem(answer, 422, "invalid-configuration")
        self.assertEqual(
            [(each["pointer"], each["detail"]) for each in answer.json["errors"]],
            [("/cells/0/durability",
              'cannot be "disk": 2 unfinished jobs are kept in memory'),
             ("/cells/1/durability",
              'cannot be "memory": 1 unfinished job is kept on disk')])
        self.assertEqual(self.cell("mem")["quota"]["durability"], "memory")
        for job_id in (*in_memory, on_disk):
            self.assertEqual(self.client.post(f"/v1/jobs/{job_id}/cancel", {}).status, 200)
        self.assertEqual(self.reload([{**MEMORY, "durability": "disk"}, ANY]).status, 200)
        self.assertEqual(self.job(self.submit(a_memory_job()))["durability"], "disk")

    def test_a_job_that_waits_for_a_service_runs_once_a_reload_brings_it(self):
        self.start()
        self.provider.always("/billing", provider.answer(400))
        job_id = self.submit(a_memory_job(services=["billing"]))
        self.assertEqual(self.wait_for_end(job_id)["state"], "failed")
        self.provider.always("/billing", provider.succeed())
        config = a_config(self.provider, cells=[MEMORY, ANY])
        services = dict(config["services"])
        for names in (["dns"], ["dns", "billing"]):
            config["services"] = {name: services[name] for name in names}
            self.daemon.write_config(config)
            self.assertEqual(self.client.post("/v1/admin/reload", {}).status, 200)
            if "billing" not in names:
                answer = self.client.post(f"/v1/jobs/{job_id}/retry", {})
                self.assertEqual((answer.status, answer.json["state"]), (202, "queued"))
        self.assertEqual(self.wait_for_end(job_id)["state"], "succeeded")

    def test_a_reload_that_moves_jobs_to_a_cell_of_the_other_kind_is_refused(self):
        self.start()
        self.submit(a_memory_job(delay_ms=HOUR_MS))
        answer = self.reload([ANY])
        self.assert_problem(answer, 422, "invalid-configuration")
        self.assertEqual(answer.pointers, ["/cells/0/durability"])

    def test_a_job_that_a_reload_moves_is_found_by_workers_outside(self):
        services = {"vm": {"type": "pull"}}
        self.start(services=services)
        job_id = self.submit(a_memory_job(services=["vm"]))
        moved = a_config(self.provider, services=services,
                         cells=[{**MEMORY, "product": "dns"}, MEMORY, ANY])
        self.daemon.write_config(moved)
        self.assertEqual(self.client.post("/v1/admin/reload", {}).status, 200)
        self.assertEqual(self.job(job_id)["cell"], {"customer": "mem", "product": "dns"})
        answer = self.client.post("/v1/services/vm/leases", {"worker": "w", "wait_ms": 1000})
        self.assertEqual([lease["job"]["id"] for lease in answer.json["leases"]], [job_id])

    def test_an_ended_job_of_the_other_kind_is_not_retried(self):
        self.start()
        self.provider.always("/dns", provider.answer(400))
        job_id = self.submit(a_memory_job())
        self.assertEqual(self.wait_for_end(job_id)["state"], "failed")
        self.assertEqual(self.reload([ANY]).status, 200)
        answer = self.client.post(f"/v1/jobs/{job_id}/retry", {})
        self.assert_problem(answer, 409, "not-retryable")
        self.assertEqual(self.job(job_id)["state"], "failed")

    def test_a_start_does_not_turn_jobs_on_disk_into_jobs_in_memory(self):
        self.start(cells=[ANY])
        ids = [self.submit(a_memory_job(product=product, delay_ms=HOUR_MS))
               for product in ("dns", "web")]
        self.assertEqual(self.daemon.stop(), 0)
        self.daemon.write_config(a_config(self.provider, cells=[MEMORY, ANY]))
        self.daemon.spawn()
        self.assertEqual(self.daemon.wait(), 2)
        self.assertTrue(self.lines_of_log("2 unfinished jobs are kept on disk"),
                        self.daemon.log())
        self.restart(a_config(self.provider, cells=[ANY]))
        for job_id in ids:
            self.assertEqual(self.job(job_id)["state"], "scheduled")

    def test_a_start_does_not_drop_kept_jobs_that_have_no_place(self):
        keep = {**MEMORY, "on_stop": "keep"}
        self.start(cells=[keep, ANY])
        job_id = self.submit(a_memory_job(delay_ms=HOUR_MS))
        self.assertEqual(self.daemon.stop(), 0)
        self.daemon.write_config(a_config(self.provider, cells=[ANY]))
        self.daemon.spawn()
        self.assertEqual(self.daemon.wait(), 2)
        self.assertTrue(self.lines_of_log("1 unfinished job is kept in memory"), self.daemon.log())
        self.restart(a_config(self.provider, cells=[keep, ANY]))
        self.assertEqual(self.job(job_id)["state"], "scheduled")

    def test_a_start_does_not_drop_kept_jobs_that_no_cell_matches(self):
        keep = {**MEMORY, "on_stop": "keep"}
        self.start(cells=[keep, ANY])
        job_id = self.submit(a_memory_job(delay_ms=HOUR_MS))
        self.assertEqual(self.daemon.stop(), 0)
        self.daemon.write_config(a_config(self.provider, cells=[{**ANY, "customer": "acme"}]))
        self.daemon.spawn()
        self.assertEqual(self.daemon.wait(), 2)
        self.assertTrue(self.lines_of_log("has no cell for 1 unfinished job that"),
                        self.daemon.log())
        self.assertTrue(self.lines_of_log("the first is of mem/dns"), self.daemon.log())
        self.restart(a_config(self.provider, cells=[keep, ANY]))
        self.assertEqual(self.job(job_id)["state"], "scheduled")

    def test_a_shutdown_says_how_many_jobs_without_a_cell_it_forgets(self):
        self.start(cells=[{**MEMORY, "on_stop": "keep"}, {**ANY, "customer": "acme"}])
        self.submit(a_memory_job(delay_ms=HOUR_MS))
        self.assertEqual(self.reload([{**ANY, "customer": "acme"}]).status, 200)
        self.assertEqual(self.daemon.stop(), 0)
        line, = self.lines_of_log("no cell matches them")
        self.assertIn('"jobs":1}', line)


if __name__ == "__main__":
    unittest.main()
