"""Schedules submit their jobs on time, each due time once, whatever happens to celld."""

import datetime
import re
import time
import unittest

from daemon import EndToEnd, a_config, a_job, stays, wait_until
from provider import answer
from test_clock import HOUR_S, ShiftedClock


def a_schedule(**changes):
    schedule = {"every_ms": 1000, "job": a_job("scheduled"), "overlap": "allow"}
    schedule.update(changes)
    return {name: value for name, value in schedule.items() if value is not None}


def a_cron(cron, zone=None, **changes):
    return a_schedule(every_ms=None, cron=cron, time_zone=zone, **changes)


class ScheduleTest(EndToEnd):
    def put(self, name, schedule, status=201):
        put = self.client.put(f"/v1/schedules/{name}", schedule)
        self.assertEqual(put.status, status, put)
        return put.json

    def schedule(self, name):
        found = self.client.get(f"/v1/schedules/{name}")
        self.assertEqual(found.status, 200, found)
        return found.json

    def jobs(self, entity="scheduled"):
        return self.client.get("/v1/jobs", entity_id=entity, limit=1000).json["items"]

    def wait_for_fired(self, name, count):
        return wait_until(lambda: self.schedule(name)["fired"] >= count and self.schedule(name),
                          f"{name} has fired {count} times")

    def assert_each_time_once(self, entity="scheduled"):
        """No two jobs for one due time, and all of them a whole number of seconds apart."""
        times = [job["run_at"] for job in self.jobs(entity)]
        self.assertEqual(len(times), len(set(times)), times)
        self.assertEqual(len({at[-5:] for at in times}), 1, times)
        return times


class Schedules(ScheduleTest):
    def test_a_schedule_submits_its_job_at_each_due_time(self):
        self.start()
        made = self.put("second", a_schedule(job=a_job("scheduled", labels={"a": "b"})))
        self.assertEqual((made["name"], made["every_ms"], made["configured"], made["last_job"]),
                         ("second", 1000, False, None))
        after = self.wait_for_fired("second", 3)
        times = self.assert_each_time_once()
        self.assertEqual(min(times), made["next_run_at"])
        self.assertGreater(after["next_run_at"], max(times))
        job = self.wait_for_end(after["last_job"])
        self.assertEqual((job["state"], job["labels"]), ("succeeded", {"a": "b"}))
        self.assertEqual((after["missed"], after["skipped"]), (0, 0))

    def test_each_due_time_fires_once_across_kills(self):
        self.start()
        self.put("second", a_schedule(catch_up="all"))
        for kill in range(8):
            self.wait_for_fired("second", kill + 1)
            time.sleep(0.1 * kill)
            self.daemon.kill()
            self.restart()
        end = time.monotonic()
        self.wait_for_fired("second", 10)
        schedule = self.schedule("second")
        times = sorted(self.assert_each_time_once())
        first, last = (datetime.datetime.fromisoformat(at[:-1]) for at in (times[0], times[-1]))
        self.assertEqual(len(times), round((last - first).total_seconds()) + 1,
                         f"a due time is missing after {time.monotonic() - end} s: {times}")
        self.assertEqual(schedule["missed"], 0)

    def test_a_time_is_skipped_while_the_last_job_runs(self):
        self.start()
        gate = self.provider.hold("/dns")
        self.put("busy", a_schedule(overlap="skip"))
        wait_until(lambda: self.schedule("busy")["skipped"] >= 2, "times are skipped")
        self.assertEqual(len(self.jobs()), 1)
        gate.let_all()
        self.wait_for_fired("busy", 2)

    def test_a_refused_job_is_tried_again_and_then_missed(self):
        self.start()
        self.client.post("/v1/admin/cells/*/*/drain", {})
        self.put("refused", a_schedule(every_ms=3000))
        wait_until(lambda: self.schedule("refused")["missed"] >= 1, "a time is missed")
        self.assertEqual(self.jobs(), [])
        self.client.post("/v1/admin/cells/*/*/resume", {})
        self.wait_for_fired("refused", 1)
        missed, = re.findall(r'^celld_schedule_times_total\{outcome="missed"\} (\d+)$',
                             self.client.get("/metrics").body.decode(), re.MULTILINE)
        self.assertGreaterEqual(int(missed), 1)

    def test_a_paused_schedule_waits_and_then_goes_on(self):
        self.start()
        paused = self.put("pausable", a_schedule(paused=True))
        self.assertIsNone(paused["next_run_at"])
        stays(lambda: self.jobs() == [], "nothing is submitted", 1.5)
        self.put("pausable", a_schedule(), 200)
        self.assertEqual(self.wait_for_fired("pausable", 1)["missed"], 0)

    def test_a_deleted_schedule_leaves_its_jobs(self):
        self.start()
        self.put("short", a_schedule())
        self.wait_for_fired("short", 1)
        deleted = self.client.delete("/v1/schedules/short")
        self.assertEqual((deleted.status, deleted.json["name"]), (200, "short"))
        self.assert_problem(self.client.get("/v1/schedules/short"), 404)
        self.assert_problem(self.client.delete("/v1/schedules/short"), 404)
        self.assertGreaterEqual(len(self.jobs()), 1)

    def test_schedules_are_listed_in_pages(self):
        self.start()
        for name in ("c", "a", "b"):
            self.put(name, a_schedule(every_ms=3_600_000))
        page = self.client.get("/v1/schedules", limit=2).json
        self.assertEqual([item["name"] for item in page["items"]], ["a", "b"])
        rest = self.client.get("/v1/schedules", limit=2, cursor=page["next_cursor"]).json
        self.assertEqual([item["name"] for item in rest["items"]], ["c"])
        self.assertIsNone(rest["next_cursor"])
        self.assert_problem(self.client.get("/v1/schedules", cursor="/"), 422)

    def test_all_the_faults_of_a_schedule_are_listed(self):
        self.start()
        wrong = self.client.put("/v1/schedules/wrong", {
            "cron": "60 * * 13 *", "every_ms": 1, "time_zone": "Mars/Base", "overlap": "x",
            "catch_up": 1, "paused": "no", "next_run_at": None, "last_job": "x", "fired": 1,
            "extra": 1, "job": {**a_job(services=["none"], customer="a/b"), "run_at": "x",
                                "delay_ms": 1, "idempotency_key": "k", "priority": 0, "more": 1}})
        self.assert_problem(wrong, 422, "invalid-request")
        self.assertEqual(wrong.pointers, [
            "", "/catch_up", "/cron", "/cron", "/every_ms", "/extra", "/fired", "/job/customer",
            "/job/delay_ms", "/job/idempotency_key", "/job/more", "/job/priority", "/job/run_at",
            "/job/services/0", "/last_job", "/next_run_at", "/overlap", "/paused", "/time_zone"])
        for faulty, pointers in (
                ({}, ["", "/job"]), ({"job": a_job()}, [""]),
                (a_schedule(time_zone="UTC"), ["/time_zone"]),
                (a_cron("0 0 30 2 *"), ["/cron"]), (a_cron("0 0 1 1 *", "/etc"), ["/time_zone"]),
                (a_cron("0 0 1 1 *", "Europe/Nowhere"), ["/time_zone"]),
                (a_schedule(job=a_job(timeout_ms=604_800_000)), ["/job/timeout_ms"]),
                (a_schedule(job=a_job(parameters={"x": "y" * 65_536})), ["/job/parameters"])):
            with self.subTest(faulty=str(faulty)[:200]):
                refused = self.client.put("/v1/schedules/wrong", faulty)
                self.assert_problem(refused, 422, "invalid-request")
                self.assertEqual(refused.pointers, pointers)
        self.assert_problem(self.client.put("/v1/schedules/.x", a_schedule()), 422)
        self.assert_problem(self.client.put("/v1/schedules/x", b"{"), 400)
        self.assertEqual(self.client.get("/v1/schedules").json["items"], [])

    def test_a_job_without_a_cell_is_a_fault(self):
        self.start(a_config(self.provider, cells=[{"customer": "acme"}]))
        refused = self.client.put("/v1/schedules/x", a_schedule(job=a_job(customer="bolt")))
        self.assertEqual((refused.status, refused.pointers), (422, ["/job"]))

    def test_jobs_in_memory_may_be_scheduled(self):
        self.start(a_config(self.provider, cells=[{"durability": "memory"}]))
        self.put("memory", a_schedule())
        self.wait_for_fired("memory", 2)
        self.daemon.kill()
        self.restart()
        self.wait_for_fired("memory", 3)
        self.assert_each_time_once()


class Configured(ScheduleTest):
    def configured(self, **schedules):
        return a_config(self.provider, schedules=schedules)

    def test_the_configuration_has_schedules_that_clients_cannot_change(self):
        hourly = a_schedule(every_ms=3_600_000)
        self.start(self.configured(hourly=hourly))
        self.assertTrue(self.schedule("hourly")["configured"])
        self.assert_problem(self.client.put("/v1/schedules/hourly", hourly), 409,
                            "schedule-configured")
        self.assert_problem(self.client.delete("/v1/schedules/hourly"), 409, "schedule-configured")
        shown = self.client.get("/v1/admin/config").json["schedules"]["hourly"]
        self.assertEqual((shown["every_ms"], shown["catch_up"]), (3_600_000, "one"))

    def test_a_reload_adds_changes_and_removes_schedules(self):
        hourly = a_schedule(every_ms=3_600_000)
        self.start(self.configured(kept=hourly, changed=hourly, gone=hourly))
        kept = self.schedule("kept")["next_run_at"]
        self.daemon.write_config(self.configured(kept=hourly, changed=a_schedule(every_ms=60_000),
                                                 new=a_cron("0 0 1 1 *")))
        reloaded = self.client.post("/v1/admin/reload", {})
        self.assertEqual(reloaded.status, 200, reloaded)
        self.assertEqual(reloaded.json["changed"]["settings"],
                         ["/schedules/changed", "/schedules/gone", "/schedules/new"])
        self.assertEqual(self.schedule("kept")["next_run_at"], kept)
        self.assertEqual(self.schedule("changed")["every_ms"], 60_000)
        self.assertEqual(self.schedule("new")["time_zone"], "UTC")
        self.assert_problem(self.client.get("/v1/schedules/gone"), 404)
        self.daemon.write_config(self.configured(kept=a_cron("* * * *", job=a_job(services=["x"]))))
        refused = self.client.post("/v1/admin/reload", {})
        self.assert_problem(refused, 422)
        self.assertEqual(refused.pointers,
                         ["/schedules/kept/cron", "/schedules/kept/job/services/0"])
        self.assertTrue(self.schedule("new")["configured"])

    def test_a_configured_schedule_fires_once_across_kills(self):
        self.start(self.configured(second=a_schedule()))
        for kill in range(3):
            self.wait_for_fired("second", kill + 1)
            self.daemon.kill()
            self.restart()
        self.wait_for_fired("second", 4)
        self.assert_each_time_once()


class WallClock(ShiftedClock, ScheduleTest):
    def test_after_a_stop_the_policy_says_what_fires(self):
        self.start()
        policies = ("none", "one", "all")
        for policy in policies:
            self.put(policy, a_schedule(every_ms=HOUR_S * 1000, job=a_job(policy),
                                        catch_up=policy))
        self.daemon.kill()
        self.jump_to(2 * HOUR_S + 60)
        self.restart()

        def outcomes():
            """(jobs, missed times) of each policy."""
            return {policy: (len(self.jobs(policy)), self.schedule(policy)["missed"])
                    for policy in policies}
        wait_until(lambda: sum(map(sum, outcomes().values())) >= 6, "all have caught up")
        self.assertEqual(outcomes(), {"none": (0, 2), "one": (1, 1), "all": (2, 0)})

    def test_a_clock_set_back_fires_nothing_again_and_one_set_ahead_is_noticed(self):
        self.start()
        self.put("hourly", a_schedule(every_ms=HOUR_S * 1000))
        self.jump_to(HOUR_S + 5)
        self.wait_for_fired("hourly", 1)
        self.jump_to(0)
        stays(lambda: len(self.jobs()) == 1, "nothing fires again", 2.5)
        self.jump_to(HOUR_S + 5)
        stays(lambda: len(self.jobs()) == 1, "nothing fires again", 1.5)
        self.jump_to(2 * HOUR_S + 5)
        self.wait_for_fired("hourly", 2)

    def test_a_schedule_follows_the_clocks_of_its_time_zone(self):
        self.start()
        self.put("nightly", a_cron("30 2 * * *", "Europe/Berlin"))
        due = datetime.datetime.fromisoformat(
            self.schedule("nightly")["next_run_at"].replace("Z", "+00:00"))
        now = datetime.datetime.now(datetime.timezone.utc)
        self.jump_to(round((due - now).total_seconds()) + 2)
        self.wait_for_fired("nightly", 1)
        self.assertIn(due.hour, (0, 1))
        self.assertEqual(due.minute, 30)


class Bound(ScheduleTest):
    def test_a_failing_provider_does_not_stop_a_schedule(self):
        self.start()
        self.provider.always("/dns", answer(400, b"no"))
        self.put("failing", a_schedule(overlap="skip"))
        self.wait_for_fired("failing", 2)
        states = {job["state"] for job in self.jobs()}
        self.assertIn("failed", states)


if __name__ == "__main__":
    unittest.main()
