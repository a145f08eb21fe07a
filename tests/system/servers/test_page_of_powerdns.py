"""The commands of docs/mappings.md for PowerDNS and PostgreSQL."""

import json
import os
import re

from page import ROOT, PageTest, commands, part
from servers import PostgreSql, PowerDns

EXAMPLE = "powerdns-postgresql"


class PageOfPowerDns(PowerDns):
    """PowerDNS with the settings of the page."""

    def __init__(self, add_cleanup):
        super().__init__(add_cleanup)
        self.lines = part(r"<<END\n(.*?)^END$", commands("sudo install -d -o pdns"))
        self.key = part(r"^api-key=(\S+)$", self.lines)

    def settings(self):
        return (self.lines.replace("/var/lib/powerdns", self.directory)
                .replace("8081", str(self.port)))


class Page(PageTest):
    def setUp(self):
        super().setUp()
        dns = PageOfPowerDns(self.addCleanup).start()
        self.dns, self.ports["8081"] = dns, str(dns.port)
        self.postgresql = PostgreSql(self.addCleanup).start()
        self.postgresql.make_role(part(r'-c "(CREATE ROLE .*?)"',
                                       commands("sudo -u postgres psql")))

    def write_configuration(self):
        config = json.loads(self.read_example(EXAMPLE + ".json"))
        database = config["services"]["database"]
        installed = part(r" (/etc/\S+)$", commands("sudo -u postgres psql"))
        self.assertEqual(database["argv"][-1], installed)
        database["argv"][-1] = os.path.join(ROOT, "config", "examples", EXAMPLE, "database.sql")
        database["env"].update(self.postgresql.environment, PGPORT=str(self.postgresql.port),
                               PATH=self.path("/usr/bin:/bin"))
        self.write_example(EXAMPLE + ".json", json.dumps(config))

    def path(self, rest):
        return f"{self.postgresql.programs}:{rest}"

    def test_the_commands_of_the_page_make_and_remove_a_zone_and_a_database(self):
        self.write_configuration()
        code, output = self.run_shell(
            commands("export PDNS_API_KEY=") + "kill %1\nwait\n", **self.postgresql.environment,
            PATH=self.path(os.environ["PATH"]), PGPORT=str(self.postgresql.port))
        self.assertEqual(code, 0, output)
        self.assertEqual(len(re.findall(r"^state +succeeded$", output, re.MULTILINE)), 2, output)
        self.assertIn('"name": "example.com."', output)
        self.assertRegex(output, r"(?m)^ acme/example\.com +\| celld ")
        self.assertEqual((self.dns.zones(), self.postgresql.databases()), ({}, set()))
