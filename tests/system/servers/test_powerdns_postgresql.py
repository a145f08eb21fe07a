"""config/examples/powerdns-postgresql.json against Debian's servers: a zone and a database for each
customer, without an adapter."""

import json
import os
import signal

from daemon import EndToEnd, wait_until
from servers import API_KEY, PASSWORD, PostgreSql, PowerDns

ROOT = os.environ.get("CELLD_SOURCE", os.path.join(os.path.dirname(__file__), "..", "..", ".."))
EXAMPLES = os.path.join(ROOT, "config", "examples")


def a_job(action, domain="Example.com"):
    return {"customer": "acme", "product": "hosting", "action": action,
            "entity": {"type": "domain", "id": domain}, "services": ["dns", "database"],
            "parameters": {"nameservers": ["ns1.example.net."]} if action == "create" else {}}


class PowerDnsAndPostgreSql(EndToEnd):
    variables = {"PDNS_API_KEY": API_KEY, "PGPASSWORD": PASSWORD}

    def setUp(self):
        super().setUp()
        self.dns = PowerDns(self)
        self.postgresql = PostgreSql(self)
        self.dns.start()
        self.postgresql.start().make_role()
        self.start(self.example())

    def example(self):
        """The example, with the addresses of these servers, and less patience."""
        with open(os.path.join(EXAMPLES, "powerdns-postgresql.json"), encoding="utf-8") as file:
            config = json.load(file)
        config["services"]["dns"]["url"] = self.dns.url
        database = config["services"]["database"]
        self.assertEqual(database["argv"][-1], "/etc/celld/database.sql")
        database["argv"][-1] = os.path.join(EXAMPLES, "powerdns-postgresql", "database.sql")
        database["env"]["PGPORT"] = str(self.postgresql.port)
        database["env"]["PATH"] = f"{self.postgresql.programs}:/usr/bin:/bin"
        database["env"].update(self.postgresql.environment)
        database["settle_ms"] = 100
        config["defaults"]["retry"]["backoff_max_ms"] = 500
        return config

    def run_job(self, action):
        job = self.wait_for_end(self.submit(a_job(action)))
        self.assertEqual((job["state"], job["error"]), ("succeeded", None), job)
        return job

    def assert_there(self):
        self.assertEqual(self.dns.zones(), {"example.com.": "acme"})
        self.assertEqual(self.postgresql.databases(), {"Example.com"})

    def wait_for_step(self, job_id, index, state):
        wait_until(lambda: self.job(job_id)["steps"][index]["state"] == state,
                   f"step {index} is {state}")

    def test_a_zone_and_a_database_come_and_go_and_a_repeat_changes_nothing(self):
        made = self.run_job("create")
        self.assertEqual(made["properties"]["zone"], "example.com.")
        self.assertEqual(made["properties"]["database"], "Example.com")
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
