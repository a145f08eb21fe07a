"""config/examples/powerdns-postgresql.json against Debian's servers: a zone and a database for each
customer, without an adapter."""

import json
import os
import signal

from daemon import DEADLINE_S, EndToEnd, wait_until
from servers import API_KEY, PASSWORD, PostgreSql, PowerDns

ROOT = os.environ.get("CELLD_SOURCE", os.path.join(os.path.dirname(__file__), "..", "..", ".."))
EXAMPLES = os.path.join(ROOT, "config", "examples")


def a_job(action, domain="Example.com", customer="acme", services=("dns", "database")):
    return {"customer": customer, "product": "hosting", "action": action,
            "entity": {"type": "domain", "id": domain}, "services": list(services),
            "parameters": {"nameservers": ["ns1.example.net."]} if action == "create" else {}}


class PowerDnsAndPostgreSql(EndToEnd):
    variables = {"PDNS_API_KEY": API_KEY, "PGPASSWORD": PASSWORD}

    @classmethod
    def setUpClass(cls):
        cls.dns = PowerDns(cls.addClassCleanup).start()
        cls.postgresql = PostgreSql(cls.addClassCleanup).start()
        cls.postgresql.make_role()

    def setUp(self):
        super().setUp()
        self.dns.go_on()
        self.dns.remove_zones()
        self.postgresql.go_on()
        self.postgresql.drop_databases()
        self.start(self.example())

    def example(self):
        """The example, with the addresses of these servers."""
        with open(os.path.join(EXAMPLES, "powerdns-postgresql.json"), encoding="utf-8") as file:
            config = json.load(file)
        config["services"]["dns"]["url"] = self.dns.url
        database = config["services"]["database"]
        self.assertEqual(database["argv"][-1], "/etc/celld/database.sql")
        database["argv"][-1] = os.path.join(EXAMPLES, "powerdns-postgresql", "database.sql")
        database["env"]["PGPORT"] = str(self.postgresql.port)
        database["env"]["PATH"] = f"{self.postgresql.programs}:/usr/bin:/bin"
        database["env"].update(self.postgresql.environment)
        return config

    def run_job(self, action):
        job = self.wait_for_end(self.submit(a_job(action)))
        self.assertEqual((job["state"], job["error"]), ("succeeded", None), job)
        return job

    def assert_there(self):
        self.assertEqual(self.dns.zones(), {"example.com.": "acme"})
        self.assertEqual(self.postgresql.databases(), {"acme/Example.com"})

    def wait_for_circuit(self, service, why):
        def is_open():
            circuit = self.client.get(f"/v1/services/{service}").json["circuit"]
            return why in (circuit["why"] or "")
        wait_until(is_open, f"the circuit of {service} is open: {why}", 3 * DEADLINE_S)

    def wait_for_step(self, job_id, index, state):
        wait_until(lambda: self.job(job_id)["steps"][index]["state"] == state,
                   f"step {index} is {state}")

    def test_a_zone_and_a_database_come_and_go_and_a_repeat_changes_nothing(self):
        made = self.run_job("create")
        self.assertEqual(made["properties"]["zone"], "example.com.")
        self.assertEqual(made["properties"]["database"], "acme/Example.com")
        self.assertIsInstance(made["properties"]["serial"], int)
        self.assert_there()
        serial = self.dns.ask("/zones/example.com.")["serial"]
        self.run_job("create")
        self.assert_there()
        self.assertEqual(self.dns.ask("/zones/example.com.")["serial"], serial)
        for _ in range(2):
            self.run_job("delete")
            self.assertEqual((self.dns.zones(), self.postgresql.databases()), ({}, set()))

    def test_a_job_that_powerdns_refuses_fails_with_its_words(self):
        job = self.wait_for_end(self.submit(a_job("create", "exa mple.com")))
        self.assertEqual((job["state"], job["error"]["code"]), ("failed", "provider_rejected"), job)
        self.assertIn("contains unsupported characters", job["error"]["message"])
        self.assertEqual((self.dns.zones(), self.postgresql.databases()), ({}, set()))

    def test_databases_of_two_customers_are_two_although_their_entities_are_named_alike(self):
        jobs = [self.submit(a_job(action, customer=customer, services=["database"]))
                for action, customer in (("create", "acme"), ("create", "bolt"), ("delete", "acme"))]
        for job_id in jobs:
            self.assertEqual(self.wait_for_end(job_id)["state"], "succeeded")
        self.assertEqual(self.postgresql.databases(), {"bolt/Example.com"})

    def test_a_database_whose_name_postgresql_would_cut_is_refused(self):
        job = self.wait_for_end(self.submit(
            a_job("create", "a" * 59, services=["database"])))
        self.assertEqual(job["state"], "failed", job)
        self.assertIn("would have more than 63 bytes", json.dumps(job["messages"]))
        self.assertEqual(self.postgresql.databases(), set())

    def test_while_a_server_is_down_its_jobs_wait_and_use_up_few_attempts(self):
        self.dns.kill()
        self.postgresql.kill()
        jobs = {"dns": [], "database": []}
        for number in range(4):
            for service, ids in jobs.items():
                domain = f"{number}.{service}.example"  # Of another line than the others.
                ids.append(self.submit(a_job("create", domain, services=[service])))
        for service in jobs:
            self.wait_for_circuit(service, "the probe failed")
        for ids in jobs.values():
            self.assertLessEqual(sum(self.job(job_id)["steps"][0]["attempts"] for job_id in ids), 8)
        self.dns.start()
        self.postgresql.start()
        for job_id in jobs["dns"] + jobs["database"]:
            self.assertEqual(self.wait_for_end(job_id, 3 * DEADLINE_S)["state"], "succeeded")

    def test_a_job_waits_for_a_killed_powerdns_and_completes_when_it_is_back(self):
        self.dns.signal(signal.SIGSTOP)
        job_id = self.submit(a_job("create"))
        self.wait_for_step(job_id, 0, "running")
        self.dns.kill()
        self.wait_for_step(job_id, 0, "retrying")
        self.dns.start()
        self.assertEqual(self.wait_for_end(job_id)["state"], "succeeded")
        self.assert_there()

    def test_a_job_waits_for_a_killed_postgresql_and_completes_when_it_is_back(self):
        self.postgresql.kill()
        job_id = self.submit(a_job("create"))
        self.wait_for_step(job_id, 1, "retrying")
        self.postgresql.start()
        self.assertEqual(self.wait_for_end(job_id)["state"], "succeeded")
        self.assert_there()

    def test_a_killed_celld_completes_its_job_at_powerdns_when_it_is_back(self):
        self.dns.signal(signal.SIGSTOP)
        job_id = self.submit(a_job("create"))
        self.wait_for_step(job_id, 0, "running")
        self.daemon.kill()
        self.dns.signal(signal.SIGCONT)  # It may now carry out what the dead celld sent.
        self.restart()
        self.assertEqual(self.wait_for_end(job_id)["state"], "succeeded")
        self.assert_there()

    def test_a_killed_celld_completes_its_job_at_postgresql_when_it_is_back(self):
        self.postgresql.signal(signal.SIGSTOP)
        job_id = self.submit(a_job("create"))
        self.wait_for_step(job_id, 1, "running")
        self.daemon.kill()
        self.postgresql.signal(signal.SIGCONT)
        self.restart()
        self.assertEqual(self.wait_for_end(job_id)["state"], "succeeded")
        self.assert_there()
