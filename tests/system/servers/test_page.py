"""The commands of docs/mappings.md for PowerDNS and PostgreSQL, as a reader would copy them.

What they configure the machine with goes to servers of the test instead.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from daemon import DEADLINE_S
from ports import free_port
from servers import PostgreSql, PowerDns

ROOT = os.environ.get("CELLD_SOURCE", os.path.join(os.path.dirname(__file__), "..", "..", ".."))
BUILD = os.path.dirname(os.environ["CELLD_BINARY"])
EXAMPLE = os.path.join("config", "examples", "powerdns-postgresql")


def commands(beginning):
    """The only block of the page that begins so."""
    with open(os.path.join(ROOT, "docs", "mappings.md"), encoding="utf-8") as file:
        blocks = re.findall(r"^```sh\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)
    block, = [each for each in blocks if each.startswith(beginning)]
    return block


def part(pattern, block):
    return re.search(pattern, block, re.MULTILINE | re.DOTALL)[1]


class PageOfPowerDns(PowerDns):
    """PowerDNS with the settings of the page."""

    def __init__(self, test):
        super().__init__(test)
        self.lines = part(r"<<END\n(.*?)^END$", commands("sudo install -d -o pdns"))
        self.key = part(r"^api-key=(\S+)$", self.lines)

    def settings(self):
        return (self.lines.replace("/var/lib/powerdns", self.directory)
                .replace("8081", str(self.port)))


class Page(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="celld-page-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.dns = PageOfPowerDns(self).start()
        self.postgresql = PostgreSql(self).start()
        self.postgresql.make_role(part(r'-c "(CREATE ROLE .*?)"',
                                       commands("sudo -u postgres psql")))
        self.port = free_port()

    def write_example(self):
        os.symlink(BUILD, os.path.join(self.directory, "build"))
        with open(os.path.join(ROOT, EXAMPLE + ".json"), encoding="utf-8") as file:
            config = json.loads(self.with_ports(file.read()))
        database = config["services"]["database"]
        installed = part(r" (/etc/\S+)$", commands("sudo -u postgres psql"))
        self.assertEqual(database["argv"][-1], installed)
        database["argv"][-1] = os.path.join(ROOT, EXAMPLE, "database.sql")
        database["env"].update(self.postgresql.environment, PGPORT=str(self.postgresql.port),
                               PATH=self.path("/usr/bin:/bin"))
        os.makedirs(os.path.join(self.directory, os.path.dirname(EXAMPLE)))
        with open(os.path.join(self.directory, EXAMPLE + ".json"), "w", encoding="utf-8") as file:
            json.dump(config, file)

    def with_ports(self, text):
        return text.replace("8081", str(self.dns.port)).replace("8080", str(self.port))

    def path(self, rest):
        return f"{self.postgresql.programs}:{rest}"

    def run_shell(self, script):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("CELLD_")}
        environment.update(
            self.postgresql.environment, PATH=self.path(os.environ["PATH"]),
            PGPORT=str(self.postgresql.port), CELLD_LISTEN=f"127.0.0.1:{self.port}",
            CELLD_URL=f"http://127.0.0.1:{self.port}")
        shell = subprocess.Popen(["bash", "-e", "-c", script], cwd=self.directory,
                                 env=environment, text=True, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 start_new_session=True)
        try:
            output, _ = shell.communicate(timeout=DEADLINE_S)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)
        return shell.returncode, output

    def test_the_commands_of_the_page_make_and_remove_a_zone_and_a_database(self):
        self.write_example()
        script = self.with_ports(commands("export PDNS_API_KEY="))
        code, output = self.run_shell(script + "kill %1\nwait\n")
        self.assertEqual(code, 0, output)
        self.assertEqual(len(re.findall(r"^state +succeeded$", output, re.MULTILINE)), 2, output)
        self.assertIn('"name": "example.com."', output)
        self.assertRegex(output, r"(?m)^ acme/example\.com +\| celld ")
        self.assertEqual((self.dns.zones(), self.postgresql.databases()), ({}, set()))
