"""Changing the configuration while celld runs: POST /v1/admin/reload and SIGHUP."""

import collections
import hashlib
import os
import signal
import threading
import unittest

from daemon import Daemon, EndToEnd, a_config, a_job, stays, wait_until

HOUR_MS = 3600000
ANY = {"customer": "*", "product": "*"}
ACME = {"customer": "acme", "product": "*"}
NOTHING = {"added": [], "changed": [], "removed": []}


def a_token(name, scopes=("submit", "read", "admin")):
    return {"name": name, "sha256": hashlib.sha256(name.encode()).hexdigest(),
            "scopes": list(scopes)}


class ReloadTest(EndToEnd):
    def ask(self, config, **headers):
        """The response to a reload with this configuration."""
        self.daemon.write_config(config)
        return self.client.request("POST", "/v1/admin/reload", None, headers)

    def reload(self, config=None, **changes):
        """The report of a reload, which must succeed."""
        answer = self.ask(config or a_config(self.provider, **changes))
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def start_from_file(self, config):
        """Starts celld with the address in the file, not on the command line."""
        self.daemon = Daemon(config, self.directory,
                             ["--data", os.path.join(self.directory, "data")])
        self.daemon.start()
        self.client = self.daemon.client()
        self.addCleanup(self.end)
        return self.client

    def wait_for_running(self, count, path="/dns"):
        wait_until(lambda: len(self.provider.running(path)) == count, f"{count} calls run")

    def wait_for_log(self, text):
        wait_until(lambda: text in self.daemon.log(), f"celld logs {text!r}")

    def assert_each_called_once(self, ids, path="/dns"):
        counts = collections.Counter(call.body["job"] for call in self.provider.calls_of(path))
        self.assertEqual({job_id: counts[job_id] for job_id in ids}, dict.fromkeys(ids, 1))


class Cells(ReloadTest):
    def test_a_reload_without_a_change_changes_nothing(self):
        self.start()
        self.assertEqual(self.reload(),
                         {"changed": {"cells": NOTHING, "services": NOTHING, "settings": []},
                          "masked": [], "restart_required": []})

    def test_reloaded_cell_settings_take_effect_at_once(self):
        self.start(cells=[{"pool": {"size": 1}}])
        gate = self.provider.hold("/dns")
        ids = [self.submit(a_job(str(i))) for i in range(3)]
        self.wait_for_running(1)
        report = self.reload(cells=[{"pool": {"size": 3}, "queue": {"max_jobs": 3}}])
        self.assertEqual(report["changed"]["cells"], NOTHING | {"changed": [ANY]})
        self.wait_for_running(3)
        self.assertEqual(self.cell()["quota"]["pool"], {"size": 3, "weight": 1})
        self.assert_problem(self.client.post("/v1/jobs", a_job("3")), 429, "queue-full")
        self.reload(cells=[{"pool": {"size": 1}}])
        self.assertEqual(len(self.provider.running("/dns")), 3, "a shrink interrupts nothing")
        self.assertEqual(self.cell()["pool"]["target"], 1)
        gate.let_all()
        for job_id in ids:
            self.assertEqual(self.wait_for_end(job_id)["state"], "succeeded")
        self.assert_each_called_once(ids)

    def test_waiting_jobs_of_a_removed_cell_run_elsewhere_and_running_ones_finish(self):
        self.start(cells=[{"customer": "acme", "pool": {"size": 1}}, {}])
        gate = self.provider.hold("/dns")
        running = self.submit(a_job("0"))
        self.wait_for_running(1)
        waiting = [self.submit(a_job(str(i))) for i in (1, 2)]
        later = self.submit(a_job("3", delay_ms=HOUR_MS))
        report = self.reload(cells=[{}])
        self.assertEqual(report["changed"]["cells"], NOTHING | {"removed": [ACME]})
        self.wait_for_running(3)
        for job_id in (*waiting, later):
            self.assertEqual(self.job(job_id)["cell"], ANY)
        self.assertEqual(self.job(running)["state"], "running")
        self.assertEqual(self.cell()["queue"]["scheduled"], 1)
        gate.let_all()
        for job_id in (running, *waiting):
            self.assertEqual(self.wait_for_end(job_id)["state"], "succeeded")
        self.assert_each_called_once([running, *waiting])
        wait_until(lambda: self.client.get("/v1/cells/acme/*").status == 404, "the cell is removed")
        wait_until(lambda: self.cell()["queue"]["running"] == 0, "no job runs")

    def test_the_next_step_of_a_job_runs_in_the_cell_that_now_serves_it(self):
        self.start(cells=[{"customer": "acme"}, {}])
        gate = self.provider.hold("/dns")
        job_id = self.submit(a_job(services=["dns", "billing"]))
        self.wait_for_running(1)
        self.reload(cells=[{}])
        gate.let_all()
        job = self.wait_for_end(job_id)
        self.assertEqual((job["state"], job["cell"]), ("succeeded", ANY))
        self.assert_each_called_once([job_id])
        self.assert_each_called_once([job_id], "/billing")

    def test_a_cell_for_a_new_customer_takes_jobs_at_once(self):
        self.start(cells=[{"customer": "acme"}])
        self.assert_problem(self.client.post("/v1/jobs", a_job(customer="bolt")), 422, "no-cell")
        report = self.reload(cells=[{"customer": "acme"}, {"customer": "bolt"}])
        bolt = {"customer": "bolt", "product": "*"}
        self.assertEqual(report["changed"]["cells"], NOTHING | {"added": [bolt]})
        job = self.wait_for_end(self.submit(a_job(customer="bolt")))
        self.assertEqual((job["state"], job["cell"]), ("succeeded", bolt))

    def test_waiting_jobs_move_to_a_new_cell_of_their_own(self):
        self.start(cells=[{"pool": {"size": 1}}])
        self.provider.hold("/dns")
        self.submit(a_job("0", customer="bolt"))
        self.wait_for_running(1)
        waiting = self.submit(a_job("1"))
        self.reload(cells=[{"customer": "acme"}, {"pool": {"size": 1}}])
        self.wait_for_running(2)
        self.assertEqual(self.job(waiting)["cell"], ACME)

    def test_jobs_without_a_cell_wait_for_one(self):
        self.start(cells=[{"customer": "acme", "pool": {"size": 1}}, {"customer": "bolt"}])
        gate = self.provider.hold("/dns")
        running = self.submit(a_job("0"))
        self.wait_for_running(1)
        waiting = self.submit(a_job("1"))
        self.reload(cells=[{"customer": "bolt"}])
        self.assert_problem(self.client.post("/v1/jobs", a_job("2")), 422, "no-cell")
        gate.let_all()
        self.assertEqual(self.wait_for_end(running)["state"], "succeeded")
        stays(lambda: self.job(waiting)["state"] == "queued", "the job waits")
        self.reload(cells=[{"customer": "bolt"}, {}])
        job = self.wait_for_end(waiting)
        self.assertEqual((job["state"], job["cell"]), ("succeeded", ANY))
        self.assert_each_called_once([running, waiting])

    def test_a_job_has_a_cell_at_all_times(self):
        one, two = ([{"customer": "acme"}, {}], [{}])
        self.start(cells=one)
        for i in range(100):
            self.submit(a_job(str(i), delay_ms=HOUR_MS))
        done, looks, faults = threading.Event(), [], []

        def look():
            client = self.daemon.client()
            while not done.is_set():
                try:  # The client checks every response against the OpenAPI document.
                    looks.append(client.get("/v1/jobs", limit=50).status)
                except Exception as fault:  # pylint: disable=broad-except
                    faults.append(fault)
            client.close()
        looking = threading.Thread(target=look)
        looking.start()
        try:
            for i in range(20):
                before = len(looks) + len(faults)
                self.reload(cells=(two, one)[i % 2])
                wait_until(lambda before=before: len(looks) + len(faults) > before, "a look")
        finally:
            done.set()
            looking.join()
        self.assertEqual((faults, set(looks)), ([], {200}))

    def test_a_pause_stays_with_its_cell_and_does_not_follow_the_jobs(self):
        self.start(cells=[{"customer": "acme"}, {}])
        self.client.request("POST", "/v1/admin/cells/acme/*/pause")
        job_id = self.submit(a_job())
        self.reload(cells=[{}])
        self.assertEqual(self.wait_for_end(job_id)["state"], "succeeded")
        self.reload(cells=[{"customer": "acme"}, {}])
        self.assertEqual(self.cell("acme")["state"], "paused")

    def test_a_template_is_added_and_removed_with_its_cells(self):
        own = {"customer": "acme", "product": "dns"}
        template = {"product": "dns", "per": ["customer"], "pool": {"size": 1}}
        self.start(cells=[template, {}])
        self.provider.hold("/dns")
        self.submit(a_job("0"))
        self.wait_for_running(1)
        waiting = self.submit(a_job("1"))
        self.assertEqual(self.job(waiting)["cell"], own)
        self.reload(cells=[{}])
        self.wait_for_running(2)
        self.assertEqual(self.job(waiting)["cell"], ANY)
        later = self.submit(a_job("2", delay_ms=HOUR_MS))
        self.reload(cells=[template, {}])
        self.assertEqual(self.job(later)["cell"], own)

    def test_an_override_masks_the_configured_size_until_it_is_deleted(self):
        self.start(cells=[{"pool": {"size": 2}}])
        self.client.put("/v1/admin/cells/*/*/pool", {"size": 5})
        report = self.reload(cells=[{"pool": {"size": 3}}])
        self.assertEqual(report["masked"], [{"cell": ANY, "setting": "pool.size", "configured": 3,
                                             "in_force": 5}])
        cell = self.cell()
        self.assertEqual((cell["pool"]["target"], cell["quota"]["pool"]["size"]), (5, 3))
        self.assertEqual(self.client.delete("/v1/admin/cells/*/*/pool").status, 202)
        self.assertEqual(self.cell()["pool"]["target"], 3)
        self.assertEqual(self.reload(cells=[{"pool": {"size": 3}}])["masked"], [])


class Services(ReloadTest):
    def services(self):
        answer = self.client.get("/v1/services")
        self.assertEqual(answer.status, 200, answer)
        return {each["service"]: each for each in answer.json["items"]}

    def test_the_services_are_listed_with_their_calls_in_flight(self):
        self.start(services={"dns": {"type": "http", "url": self.provider.url + "/dns"},
                             "demo": {"type": "simulated"}})
        gate = self.provider.hold("/dns")
        job_id = self.submit(a_job())
        self.wait_for_running(1)
        wait_until(lambda: self.services()["dns"]["in_flight"] == 1, "a call is in flight")
        self.assertEqual({name: each["type"] for name, each in self.services().items()},
                         {"dns": "http", "demo": "simulated"})
        gate.let_all()
        self.wait_for_end(job_id)
        wait_until(lambda: self.services()["dns"]["in_flight"] == 0, "no call is in flight")

    def test_a_reload_that_removes_a_needed_service_is_refused_whole(self):
        self.start(cells=[{"customer": "acme"}, {}])
        ids = [self.submit(a_job(str(i), services=["dns", "billing"], delay_ms=HOUR_MS))
               for i in range(2)]
        before = self.client.get("/v1/admin/config").json
        without = a_config(self.provider, cells=[{}], retention_ms=5000)
        del without["services"]["billing"]
        refused = self.ask(without)
        self.assert_problem(refused, 422, "invalid-configuration")
        self.assertEqual(refused.json["errors"], [
            {"pointer": "/services/billing",
             "detail": "cannot be removed: 2 unfinished jobs need it"}])
        self.assertEqual(self.client.get("/v1/admin/config").json, before)
        self.assertEqual(self.client.get("/v1/cells/acme/*").status, 200)
        self.assertEqual({self.job(job_id)["cell"]["customer"] for job_id in ids}, {"acme"})
        job_id = self.submit(a_job("now", services=["billing"]))
        self.assertEqual(self.wait_for_end(job_id)["state"], "succeeded", "it still takes jobs")

        for each in ids:
            self.client.request("POST", f"/v1/jobs/{each}/cancel")
        report = self.reload(without)
        self.assertEqual(report["changed"]["services"], NOTHING | {"removed": ["billing"]})
        self.assertEqual(list(self.services()), ["dns"])
        gone = self.client.post("/v1/jobs", a_job(services=["billing"]))
        self.assert_problem(gone, 422, "invalid-request")

    def test_a_new_service_takes_jobs_at_once(self):
        config = a_config(self.provider)
        config["services"]["mail"] = {"type": "http", "url": self.provider.url + "/mail"}
        self.start()
        self.assertEqual(self.reload(config)["changed"]["services"],
                         NOTHING | {"added": ["mail"]})
        job_id = self.submit(a_job(services=["mail"]))
        self.assertEqual(self.wait_for_end(job_id)["state"], "succeeded")
        self.assert_each_called_once([job_id], "/mail")

    def test_jobs_held_for_a_service_run_once_it_is_configured(self):
        self.start()
        self.client.post("/v1/admin/cells/*/*/pause", {})
        job_id = self.submit(a_job(services=["billing"]))
        self.assertEqual(self.daemon.stop(), 0)
        config = a_config(self.provider)
        del config["services"]["billing"]
        self.restart(config)
        self.assertEqual(self.client.post("/v1/admin/cells/*/*/resume", {}).status, 200)
        stays(lambda: self.job(job_id)["state"] == "queued", "the job is held")
        self.reload()
        self.assertEqual(self.wait_for_end(job_id)["state"], "succeeded")
        self.assert_each_called_once([job_id], "/billing")

    def test_a_changed_service_gets_new_calls_and_calls_in_flight_finish_as_begun(self):
        self.start()
        gate = self.provider.hold("/dns")
        before = self.submit(a_job("0"))
        self.wait_for_running(1)
        config = a_config(self.provider)
        config["services"]["dns"] = {"type": "http", "url": self.provider.url + "/dns2",
                                     "headers": {"X-Key": "new"}}
        self.assertEqual(self.reload(config)["changed"]["services"],
                         NOTHING | {"changed": ["dns"]})
        after = self.submit(a_job("1"))
        self.assertEqual(self.wait_for_end(after)["state"], "succeeded")
        [call] = self.provider.calls_of("/dns2")
        self.assertEqual((call.body["job"], call.headers["x-key"]), (after, "new"))
        self.assertEqual(self.job(before)["state"], "running")
        gate.let_all()
        self.assertEqual(self.wait_for_end(before)["state"], "succeeded")
        self.assert_each_called_once([before])


class Replays(ReloadTest):
    """Replays of a submission that the present configuration would refuse."""

    def post(self, job, key="k-1", **headers):
        return self.client.post("/v1/jobs", job, **{"Idempotency-Key": key}, **headers)

    def check_replay(self, job, refusal, config):
        first = self.post(job)
        self.assertEqual(first.status, 202, first)
        self.wait_for_end(first.json["id"])
        self.reload(config)
        again = self.post(job)
        self.assertEqual((again.status, again.json.get("id")), (200, first.json["id"]), again)
        self.assertEqual(again.headers["idempotent-replayed"], "true")
        for _ in range(2):  # celld keeps nothing of a refused submission.
            fresh = self.post(job, "k-2")
            self.assert_problem(fresh, 422, refusal)
            self.assertEqual(fresh.json, self.client.post("/v1/jobs", job).json)
        other = self.post(job | {"priority": 6})
        self.assert_problem(other, 422, "idempotency-key-reused")
        faulty = self.post(job | {"priority": 0})
        self.assert_problem(faulty, 422, "invalid-request")
        self.assertIn("/priority", faulty.pointers)
        self.reload()
        self.assertEqual(self.post(job, "k-2").status, 202)

    def test_a_submission_is_replayed_when_its_timeout_has_become_too_long(self):
        self.start()
        self.check_replay(a_job(timeout_ms=60000), "invalid-request", a_config(
            self.provider, cells=[{"timeout_ms": 1000, "timeout_max_ms": 1000}]))

    def test_a_submission_is_replayed_when_its_cell_is_removed(self):
        self.start()
        self.check_replay(a_job(), "no-cell",
                          a_config(self.provider, cells=[{"customer": "bolt"}]))

    def test_a_submission_is_replayed_when_its_service_is_removed(self):
        self.start()
        without = a_config(self.provider)
        del without["services"]["billing"]
        self.check_replay(a_job(services=["dns", "billing"]), "invalid-request", without)

    def test_a_submission_is_replayed_when_all_three_have_changed(self):
        self.start()
        without = a_config(self.provider, cells=[{"customer": "bolt"}])
        del without["services"]["billing"]
        self.check_replay(a_job(services=["billing"], timeout_ms=60000), "invalid-request", without)

    def test_a_replay_that_waits_for_the_end_is_answered_at_the_end(self):
        self.start()
        gate = self.provider.hold("/dns")
        first = self.post(a_job())
        self.wait_for_running(1)
        self.reload(cells=[{"customer": "bolt"}])
        answers = []
        client = self.daemon.client()
        thread = threading.Thread(target=lambda: answers.append(client.post(
            "/v1/jobs", a_job(), **{"Idempotency-Key": "k-1", "Prefer": "wait=30"})))
        thread.start()
        stays(lambda: not answers, "the waiting client has no response")
        gate.let_all()
        thread.join()
        client.close()
        self.assertEqual((answers[0].status, answers[0].json["id"], answers[0].json["state"]),
                         (200, first.json["id"], "succeeded"))


class Settings(ReloadTest):
    def test_replaced_tokens_take_effect_at_once(self):
        config = a_config(self.provider, auth={"tokens": [a_token("old")]})
        self.start(config)
        old, new = ({"Authorization": "Bearer " + name} for name in ("old", "new"))
        self.assertEqual(self.client.request("GET", "/v1/jobs", None, old).status, 200)
        self.assertEqual(self.client.request("GET", "/v1/jobs", None, new).status, 401)
        report = self.ask(config | {"auth": {"tokens": [a_token("new")]}}, **old)
        self.assertEqual((report.status, report.json["changed"]["settings"]), (200, ["/auth"]))
        self.assertEqual(self.client.request("GET", "/v1/jobs", None, old).status, 401)
        self.assertEqual(self.client.request("GET", "/v1/jobs", None, new).status, 200)

    def test_a_shorter_retention_removes_ended_jobs(self):
        self.start()
        job_id = self.submit(a_job())
        self.wait_for_end(job_id)
        report = self.reload(retention_ms=1000)
        self.assertEqual(report["changed"]["settings"], ["/retention_ms"])
        self.assertEqual(self.client.get("/v1/admin/config").json["retention_ms"], 1000)
        wait_until(lambda: self.client.get(f"/v1/jobs/{job_id}").status == 404,
                   "the job is removed")

    def test_settings_that_need_a_restart_are_named_and_stay(self):
        config = a_config(self.provider, listen={"port": 0})
        self.start_from_file(config)
        different = config | {"listen": {"port": 1}, "limits": {"max_connections": 20},
                              "store": {"path": "other.db"}, "shutdown_grace_ms": 9000}
        report = self.reload(different)
        self.assertEqual(report["restart_required"], ["/limits", "/listen/port", "/store"])
        self.assertEqual(report["changed"]["settings"], ["/shutdown_grace_ms"])
        self.wait_for_log("/listen/port differs in the file; the change takes effect")
        shown = self.client.get("/v1/admin/config").json
        self.assertEqual((shown["listen"]["port"], shown["store"]["path"],
                          shown["shutdown_grace_ms"]), (0, "celld.db", 9000))
        self.assertEqual(self.reload(different)["restart_required"], report["restart_required"],
                         "every reload reports the difference")
        self.assertEqual(self.reload(config)["restart_required"], [])

    def test_tokens_cannot_be_removed_while_celld_listens_beyond_loopback(self):
        config = a_config(self.provider, listen={"host": "0.0.0.0", "port": 0},
                          auth={"tokens": [a_token("one")]})
        self.start_from_file(config)
        one = {"Authorization": "Bearer one"}
        without = {name: value for name, value in config.items() if name != "auth"}
        refused = self.ask(without | {"listen": {"port": 0}}, **one)
        self.assert_problem(refused, 422, "invalid-configuration")
        self.assertEqual(refused.pointers, ["/auth"])
        self.assertEqual(self.client.get("/v1/jobs").status, 401)

    def test_no_secret_is_shown(self):
        config = a_config(self.provider, auth={"tokens": [a_token("one")]})
        config["services"]["dns"] |= {"headers": {"X-Plain": "plain-secret", "X-Env": "env:KEY"}}
        config["services"]["dns"]["url"] += "?key=query-secret"
        self.daemon = Daemon(config, self.directory, environment={"KEY": "env-secret"})
        self.client = self.daemon.start().client()
        self.addCleanup(self.end)
        shown = self.client.request("GET", "/v1/admin/config", None,
                                    {"Authorization": "Bearer one"})
        self.assertEqual(shown.status, 200, shown)
        self.assertNotIn(b"secret", shown.body)
        self.assertNotIn(a_token("one")["sha256"].encode(), shown.body)
        self.assertEqual(shown.json["services"]["dns"]["headers"],
                         {"X-Plain": "***", "X-Env": "env:KEY"})


class Faults(ReloadTest):
    def test_every_fault_of_the_file_is_reported_and_nothing_changes(self):
        self.start()
        before = self.client.get("/v1/admin/config").json
        faulty = a_config(self.provider, cells=[{"pool": {"size": 0}}, {"x": 1}], retention_ms=1,
                          shutdown_grace_ms=5000)
        faulty["services"]["make"] = {"type": "command", "argv": ["make"]}
        refused = self.ask(faulty)
        self.assert_problem(refused, 422, "invalid-configuration")
        self.assertEqual(refused.pointers, ["/cells/0/pool/size", "/cells/1", "/cells/1/x",
                                            "/retention_ms", "/services/make/argv/0"])
        absent = a_config(self.provider)
        absent["services"]["make"] = {"type": "command", "argv": ["/no/such/program"]}
        self.assertEqual(self.ask(absent).pointers, ["/services/make/argv/0"])
        with open(self.daemon.config_path, "w", encoding="utf-8") as file:
            file.write('{"services": {')
        for _ in range(2):
            unreadable = self.client.request("POST", "/v1/admin/reload")
            self.assert_problem(unreadable, 422, "invalid-configuration")
            self.assertEqual(unreadable.pointers, [""])
            if os.path.exists(self.daemon.config_path):
                os.remove(self.daemon.config_path)
        self.assertEqual(self.client.get("/v1/admin/config").json, before)
        self.assertEqual(self.wait_for_end(self.submit(a_job()))["state"], "succeeded")

    def test_sighup_does_what_a_post_does(self):
        self.start(cells=[{"customer": "acme"}])
        self.client.put("/v1/admin/cells/acme/*/pool", {"size": 5})
        self.daemon.write_config(a_config(self.provider, cells=[{"x": 1}, {"y": 1}]))
        self.daemon.signal(signal.SIGHUP)
        self.wait_for_log("the configuration is unchanged")
        for pointer in ("/cells/0/x", "/cells/1/y"):
            self.assertIn(f"celld.json: {pointer}: ", self.daemon.log())
        self.assert_problem(self.client.post("/v1/jobs", a_job(customer="bolt")), 422, "no-cell")
        self.daemon.write_config(a_config(self.provider, cells=[{"customer": "acme"}, {}]))
        self.daemon.signal(signal.SIGHUP)
        self.wait_for_log("the configuration was reloaded")
        self.wait_for_log("a value set by an administrator stays in force")
        self.assertIn('"setting":"pool.size","in_force":"5","configured":"4"', self.daemon.log())
        self.wait_for_end(self.submit(a_job(customer="bolt")))


class UnderLoad(ReloadTest):
    RELOADS = 20

    def configurations(self):
        one = a_config(self.provider, cells=[
            {"customer": "acme", "pool": {"size": 3}}, {"product": "mail", "per": ["customer"]}, {}])
        two = a_config(self.provider, cells=[{"customer": "bolt"}, {"pool": {"size": 8}}],
                       retention_ms=HOUR_MS)
        two["services"]["dns"] = {"type": "http", "url": self.provider.url + "/dns?two",
                                  "settle_ms": 10}
        return one, two

    def post_until(self, done, number, ids, refusals):
        client = self.daemon.client()
        count = 0
        while not done.is_set():
            job = a_job(f"{number}-{count}", customer=("acme", "bolt", "crab")[count % 3],
                        product=("dns", "mail")[count % 2], services=["dns", "billing"])
            answer = client.post("/v1/jobs", job)
            if answer.status != 202:
                refusals.append(answer)
            else:
                ids.append(answer.json["id"])
            count += 1
            done.wait(0.005)  # Without a pause, the provider would not keep up.
        client.close()

    def test_reloads_under_load_lose_no_request_and_no_job(self):
        configurations = self.configurations()
        self.start(configurations[0])
        done, ids, refusals = threading.Event(), [], []
        threads = [threading.Thread(target=self.post_until, args=(done, i, ids, refusals))
                   for i in range(3)]
        for thread in threads:
            thread.start()
        try:
            for i in range(self.RELOADS):
                seen = len(ids)
                self.reload(configurations[(i + 1) % 2])
                wait_until(lambda seen=seen: len(ids) >= seen + 6 or refusals, "jobs arrive")
        finally:
            done.set()
            for thread in threads:
                thread.join()
        self.assertEqual(refusals, [])
        self.assertGreater(len(ids), self.RELOADS * 6 - 1)
        for job_id in ids:
            job = self.wait_for_end(job_id)
            self.assertEqual((job["state"], [step["attempts"] for step in job["steps"]]),
                             ("succeeded", [1, 1]), job)
        calls = collections.Counter(call.key for call in self.provider.calls_of())
        self.assertEqual(calls, {f"{job_id}.{service}": 1 for job_id in ids
                                 for service in ("dns", "billing")})
        wait_until(lambda: all(cell["queue"][name] == 0
                               for cell in self.client.get("/v1/cells").json["items"]
                               for name in ("queued", "scheduled", "retrying", "running")),
                   "no cell counts a job")

    def test_a_crash_right_after_a_reload_loses_nothing(self):
        self.start(cells=[{"customer": "acme", "pool": {"size": 2}}, {"pool": {"size": 2}}])
        gate = self.provider.hold("/dns")
        ids = [self.submit(a_job(str(i))) for i in range(40)]
        ids += [self.submit(a_job(f"later-{i}", delay_ms=50)) for i in range(5)]
        self.wait_for_running(2)
        config = a_config(self.provider, cells=[{"pool": {"size": 4}}])
        self.daemon.write_config(config)
        self.daemon.signal(signal.SIGHUP)
        self.wait_for_log("the configuration was reloaded")
        self.daemon.kill()
        gate.let_all()
        self.restart()
        for job_id in ids:
            job = self.wait_for_end(job_id)
            self.assertEqual((job["state"], job["cell"]), ("succeeded", ANY))
        self.assertEqual(self.cell()["queue"]["running"], 0)

    def test_a_crash_during_a_reload_loses_nothing(self):
        self.start(cells=[{"customer": "acme", "pool": {"size": 1}}, {}])
        gate = self.provider.hold("/dns")
        ids = [self.submit(a_job(str(i))) for i in range(100)]
        self.daemon.write_config(a_config(self.provider, cells=[{}]))
        self.daemon.signal(signal.SIGHUP)  # The kill comes before, during or after the reload.
        self.daemon.kill()
        gate.let_all()
        self.restart()
        self.assertEqual([self.wait_for_end(each)["state"] for each in ids],
                         ["succeeded"] * len(ids))


if __name__ == "__main__":
    unittest.main()
