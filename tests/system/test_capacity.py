"""Cells that borrow from each other, and the capacity of the daemon."""

import subprocess
import unittest

from daemon import EndToEnd, a_config, a_job, stays, wait_until

CELLS = [{"customer": "acme", "pool": {"size": 2, "burst": 6}},
         {"customer": "bolt", "pool": {"size": 3}},
         {"customer": "core", "pool": {"size": 1}}]


class Capacity(EndToEnd):
    def submit_many(self, customer, count):
        return [self.submit(a_job(f"{customer}-{n}", customer=customer)) for n in range(count)]

    def running(self, customer):
        return self.cell(customer)["queue"]["running"]

    def wait_for_running(self, **counts):
        wait_until(lambda: {name: self.running(name) for name in counts} == counts,
                   f"{counts} run")

    def pools(self):
        """The pools of all cells, from one list."""
        return {cell["customer"]: cell["pool"]
                for cell in self.client.get("/v1/cells", limit=100).json["items"]}

    def assert_balanced(self):
        pools = self.pools().values()
        self.assertEqual(sum(pool["borrowed"] for pool in pools),
                         sum(pool["lent"] for pool in pools), pools)

    def put(self, customer, body):
        return self.client.put(f"/v1/admin/cells/{customer}/*/pool", body)

    def assert_refused(self, answer, pointer):
        self.assert_problem(answer, 422, "invalid-request")
        self.assertEqual(answer.pointers, [pointer])

    def test_a_cell_borrows_what_others_leave_idle_and_gives_it_back(self):
        self.start(cells=CELLS)
        gate = self.provider.hold("/dns")
        self.submit_many("acme", 10)
        self.wait_for_running(acme=6)
        self.assertEqual(self.pools()["acme"],
                         {"target": 2, "ready": 0, "busy": 6, "retiring": 0, "borrowed": 4,
                          "lent": 0})
        self.assert_balanced()
        ids = self.submit_many("bolt", 3)
        stays(lambda: self.running("acme") == 6, "no job is interrupted")
        gate.let(4)
        self.wait_for_running(acme=3, bolt=3)
        self.assert_balanced()
        gate.let_all()
        for each in ids:
            self.assertEqual(self.wait_for_end(each)["state"], "succeeded")
        wait_until(lambda: sum(pool["lent"] for pool in self.pools().values()) == 0,
                   "everything is given back")
        self.assertEqual(self.provider.peak(lambda call: 0), {0: 6})

    def test_size_burst_and_weight_are_changed_live_and_survive(self):
        config = a_config(self.provider, cells=CELLS, capacity={"running_max": 8})
        self.start(config)
        self.assert_refused(self.put("acme", {"size": 5}), "/size")
        self.assert_refused(self.put("acme", {"burst": 1}), "/burst")
        self.assert_refused(self.put("bolt", {"size": 4, "burst": 3}), "/burst")
        self.assert_refused(self.put("acme", {}), "")
        answer = self.put("acme", {"size": 4, "burst": 7, "weight": 3})
        self.assertEqual(answer.status, 202, answer)
        overrides = {"pool.size": 4, "pool.burst": 7, "pool.weight": 3}
        self.assertEqual(answer.json["overrides"], overrides)
        self.daemon.kill()
        self.restart()
        self.assertEqual(self.cell("acme")["overrides"], overrides)
        self.assertEqual(self.cell("acme")["pool"]["target"], 4)
        self.daemon.write_config(config | {"capacity": {"running_max": 6}})
        report = self.client.request("POST", "/v1/admin/reload").json
        self.assertEqual(report["masked"], [
            {"cell": {"customer": "acme", "product": "*"}, "setting": "pool." + name,
             "configured": configured, "in_force": in_force}
            for name, configured, in_force in (("size", 2, 2), ("burst", 6, 7), ("weight", 1, 3))])
        self.assertEqual(self.cell("acme")["pool"]["short_by"], 2)
        answer = self.client.delete("/v1/admin/cells/acme/*/pool")
        self.assertEqual(answer.json["overrides"], {})
        self.assertNotIn("short_by", answer.json["pool"])

    def test_the_capacity_must_have_room_for_all_sizes(self):
        config = a_config(self.provider, cells=CELLS)
        self.start(config)
        self.daemon.write_config(config | {"capacity": {"running_max": 5}})
        answer = self.client.request("POST", "/v1/admin/reload")
        self.assert_problem(answer, 422, "invalid-configuration")
        self.assertEqual(answer.pointers, ["/capacity/running_max"])
        done = subprocess.run([*self.daemon.command(), "--check"], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("/capacity/running_max", done.stderr)

    def test_a_reload_changes_the_capacity(self):
        cells = [{"per": ["customer"], "pool": {"size": 2}}]
        self.start(cells=cells, capacity={"running_max": 4})
        gate = self.provider.hold("/dns")
        for customer in ("acme", "bolt"):
            self.submit_many(customer, 2)
            wait_until(lambda customer=customer: self.running(customer) == 2, "both jobs run")
        for running_max, short_by in ((3, 1), (4, None)):
            self.daemon.write_config(
                a_config(self.provider, cells=cells, capacity={"running_max": running_max}))
            self.assertEqual(self.client.request("POST", "/v1/admin/reload").status, 200)
            wait_until(lambda short_by=short_by:
                       self.cell("bolt")["pool"].get("short_by") == short_by,
                       f"bolt is short by {short_by}")
        gate.let_all()

    def test_instances_of_a_template_are_guaranteed_what_there_is(self):
        self.start(cells=[{"per": ["customer"], "pool": {"size": 2}}],
                   capacity={"running_max": 3})
        gate = self.provider.hold("/dns")
        self.submit_many("acme", 2)
        wait_until(lambda: len(gate.waiting) == 2, "both jobs of acme are called")
        self.submit_many("bolt", 2)
        self.wait_for_running(acme=2, bolt=1)
        self.assertEqual(self.cell("bolt")["pool"]["short_by"], 1)
        gate.let(1)
        self.wait_for_running(acme=1, bolt=2)
        gate.let_all()


if __name__ == "__main__":
    unittest.main()
