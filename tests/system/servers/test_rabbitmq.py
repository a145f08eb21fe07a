"""config/examples/rabbitmq.json against Debian's server: a virtual host, a user and permissions,
without an adapter."""

import json
import os

from daemon import DEADLINE_S, EndToEnd, wait_until
from page import ROOT
from rabbitmq import RabbitMq

NAME = "acme/a b/100 %"
HASH = "kIdlQ1cQmeZOuaT6TjAlLJqx8r57caphc+d8w955th7dHJ4s"  # Of "sesame".


class RabbitMqByMapping(EndToEnd):
    def setUp(self):
        super().setUp()
        self.rabbitmq = RabbitMq(self.addCleanup)

    def example(self):
        with open(os.path.join(ROOT, "config", "examples", "rabbitmq.json"),
                  encoding="utf-8") as file:
            config = json.load(file)
        config["services"]["rabbitmq"]["url"] = self.rabbitmq.url
        config["services"]["rabbitmq"]["circuit"]["open_ms"] = 200
        return config

    def submit_job(self, action, **parameters):
        if action == "create":
            parameters.setdefault("password_hash", HASH)
        return self.submit({"customer": "acme", "product": "messaging", "action": action,
                            "entity": {"type": "vhost", "id": NAME.partition("/")[2]},
                            "services": ["rabbitmq"], "parameters": parameters})

    def run_job(self, action, **parameters):
        job = self.wait_for_end(self.submit_job(action, **parameters), 3 * DEADLINE_S)
        self.assertEqual((job["state"], job["error"]), ("succeeded", None), job)

    def wait_for_circuit(self, why):
        def is_open():
            circuit = self.client.get("/v1/services/rabbitmq").json["circuit"]
            return why in (circuit["why"] or "")
        wait_until(is_open, f"the circuit is open: {why}", 3 * DEADLINE_S)

    def there(self):
        """Whether the virtual host is there, the hash of the user's password, and the user's
        permissions."""
        user = self.rabbitmq.ask("users", NAME)
        return (self.rabbitmq.ask("vhosts", NAME) is not None, user and user["password_hash"],
                self.rabbitmq.ask("permissions", NAME, NAME))

    def wait_for_rabbitmq_and_credentials(self):
        """A job that celld accepts before RabbitMQ runs, and before celld has its credentials."""
        self.variables = {"RABBITMQ_AUTHORIZATION": "Basic eDp5"}
        self.start(self.example())
        job_id = self.submit_job("create", read="q")
        self.wait_for_circuit("probe")
        self.rabbitmq.start()
        self.wait_for_circuit("401")
        self.assertEqual(self.daemon.stop(), 0)
        self.daemon.environment = {"RABBITMQ_AUTHORIZATION": self.rabbitmq.authorization()}
        self.restart()
        self.assertEqual(self.wait_for_end(job_id, 3 * DEADLINE_S)["state"], "succeeded")

    def test_a_virtual_host_comes_and_goes_and_a_repeat_changes_nothing(self):
        self.wait_for_rabbitmq_and_credentials()
        permissions = {"user": NAME, "vhost": NAME, "configure": ".*", "write": ".*", "read": "q"}
        for _ in range(2):
            self.assertEqual(self.there(), (True, HASH, permissions))
            self.run_job("create", read="q")
        for _ in range(2):
            self.run_job("delete")
            self.assertEqual(self.there(), (False, None, None))
        job = self.wait_for_end(self.submit_job("create", configure="("), 3 * DEADLINE_S)
        self.assertEqual((job["state"], job["error"]["code"]), ("failed", "invalid_regexp"), job)
