"""Debian's servers, each with a directory of its own and no service: PowerDNS and PostgreSQL.

scripts/test unpacks the packages that the machine does not have into build/tools. Without them, a
test is skipped.
"""

import contextlib
import glob
import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.request

from daemon import DEADLINE_S, wait_until
from ports import free_port

TOOLS = os.path.join(os.path.dirname(os.environ["CELLD_BINARY"]), "tools")
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
API_KEY = "key-of-the-test"
PASSWORD = "password-of-the-test"
PROBE_S = DEADLINE_S / 6  # A server that is starting may never answer its first client.
MAKE_ROLE = f"CREATE ROLE celld LOGIN CREATEDB PASSWORD '{PASSWORD}'"


def find(pattern, package):
    """(path, environment) of a file that is installed or unpacked."""
    for root in ("/", os.path.join(TOOLS, package)):
        found = sorted(glob.glob(os.path.join(root, pattern)))
        if found:
            libraries = glob.glob(os.path.join(root, "usr/lib/*-linux-gnu"))
            return found[-1], {} if root == "/" else {"LD_LIBRARY_PATH": ":".join(libraries)}
    raise unittest.SkipTest(f"{pattern} is not there; scripts/test downloads {package}")


def unprivileged():
    """Options of subprocess for a server that refuses to run as root."""
    return {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}


class Server:
    """A program in a scratch directory, which can be killed and started again. `add_cleanup` is a
    test's, or that of a class of tests that share the server."""

    start_deadline_s = DEADLINE_S

    def __init__(self, add_cleanup):
        self.port = free_port()
        self.process = None
        # Not the test's own directory, which only root may enter.
        self.directory = tempfile.mkdtemp(prefix="celld-server-")
        add_cleanup(shutil.rmtree, self.directory, ignore_errors=True)
        add_cleanup(self.kill)
        if unprivileged():
            shutil.chown(self.directory, "nobody")

    def spawn(self, command, environment):
        with open(os.path.join(self.directory, "log"), "ab") as log:
            self.process = subprocess.Popen(
                command, env={**os.environ, **environment}, cwd=self.directory, stdout=log,
                stderr=log, stdin=subprocess.DEVNULL, start_new_session=True, **unprivileged())
        wait_until(self.serves, f"{command[0]} serves", self.start_deadline_s)

    def serves(self):
        if self.process.poll() is not None:
            with open(os.path.join(self.directory, "log"), encoding="utf-8") as log:
                raise AssertionError(f"the server ended:\n{log.read()}")
        return self.answers()

    def signal(self, number):
        os.killpg(self.process.pid, number)

    def go_on(self):
        """Starts the server if it does not run, and wakes it if it was stopped."""
        if self.process is None or self.process.poll() is not None:
            self.start()
        self.signal(signal.SIGCONT)

    def kill(self):
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            self.signal(signal.SIGKILL)
        self.process.wait(DEADLINE_S)


class PowerDns(Server):
    """PowerDNS Authoritative with SQLite and its HTTP API."""

    def __init__(self, add_cleanup):
        self.program, self.environment = find("usr/sbin/pdns_server", "pdns-server")
        self.module, _ = find("usr/lib/*/pdns/libgsqlite3backend.so", "pdns-server")
        schema, _ = find("usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql", "pdns-server")
        super().__init__(add_cleanup)
        self.key = API_KEY
        self.url = f"http://127.0.0.1:{self.port}/api/v1/servers/localhost"
        self.database = os.path.join(self.directory, "pdns.sqlite3")
        with open(schema, encoding="utf-8") as file:
            subprocess.run(["sqlite3", self.database], stdin=file, check=True, **unprivileged())

    def settings(self):
        return f"""\
launch=gsqlite3
gsqlite3-database={self.database}
api=yes
api-key={self.key}
webserver-address=127.0.0.1
webserver-port={self.port}
"""

    def start(self):
        with open(os.path.join(self.directory, "pdns.conf"), "w", encoding="utf-8") as file:
            file.write(self.settings())
        self.spawn([
            self.program, f"--config-dir={self.directory}", "--daemon=no", "--guardian=no",
            "--disable-syslog", f"--module-dir={os.path.dirname(self.module)}",
            f"--socket-dir={self.directory}", "--local-address=127.0.0.1",
            f"--local-port={free_port()}"], self.environment)
        return self

    def open(self, path, method="GET", timeout_s=DEADLINE_S):
        request = urllib.request.Request(self.url + path, headers={"X-API-Key": self.key},
                                         method=method)
        return DIRECT.open(request, timeout=timeout_s)

    def ask(self, path):
        with self.open(path) as response:
            return json.load(response)

    def answers(self):
        with contextlib.suppress(OSError), self.open("", timeout_s=PROBE_S):
            return True
        return False

    def zones(self):
        return {zone["name"]: zone["account"] for zone in self.ask("/zones")}

    def remove_zones(self):
        for zone in self.zones():
            self.open(f"/zones/{zone}", "DELETE").close()


class PostgreSql(Server):
    def __init__(self, add_cleanup):
        postgres, self.environment = find("usr/lib/postgresql/*/bin/postgres", "postgresql")
        self.programs = os.path.dirname(postgres)
        super().__init__(add_cleanup)
        self.data = os.path.join(self.directory, "data")
        subprocess.run(
            [os.path.join(self.programs, "initdb"), "--pgdata", self.data, "--username=postgres",
             "--auth-local=trust", "--auth-host=scram-sha-256", "--no-sync", "--encoding=UTF8",
             "--locale=C"],
            env={**os.environ, **self.environment}, cwd=self.directory, stdout=subprocess.DEVNULL,
            check=True, **unprivileged())

    def start(self):
        self.spawn([os.path.join(self.programs, "postgres"), "-D", self.data, "-p", str(self.port),
                    "-k", self.directory, "-h", "127.0.0.1"], self.environment)
        return self

    def query(self, sql):
        """The lines of an answer; nothing if the server does not answer."""
        ended = subprocess.run(
            [os.path.join(self.programs, "psql"), "-XqAt", "-h", self.directory, "-p",
             str(self.port), "-U", "postgres", "-c", sql], env={**os.environ, **self.environment},
            capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        return ended.stdout.splitlines() if ended.returncode == 0 else None

    def answers(self):
        return self.query("SELECT 1") == ["1"]

    def make_role(self, sql=MAKE_ROLE):
        assert self.query(sql) == []

    def databases(self):
        return set(self.query("SELECT datname FROM pg_database WHERE NOT datistemplate "
                              "AND datname <> 'postgres'"))

    def drop_databases(self):
        for name in self.databases():
            assert self.query(f'DROP DATABASE "{name}" WITH (FORCE)') == []
