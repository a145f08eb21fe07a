"""Flags, environment variables, files and exit codes of celld."""

import contextlib
import json
import os
import resource
import signal
import socket
import sqlite3
import subprocess
import unittest

from daemon import DEADLINE_S, Client, Daemon, EndToEnd, a_config, a_job, wait_until
from ports import free_port


class CommandLine(EndToEnd):
    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.directory, "celld.json")
        self.data = os.path.join(self.directory, "data")
        self.write(a_config(self.provider))

    def write(self, config):
        with open(self.path, "wb") as file:
            file.write(config if isinstance(config, bytes) else json.dumps(config).encode())

    def run_celld(self, *arguments, **environment):
        env = {k: v for k, v in os.environ.items() if not k.startswith("CELLD_")}
        env.update(environment)
        return subprocess.run([os.environ["CELLD_BINARY"], *arguments], env=env, text=True,
                              cwd=self.directory, capture_output=True, timeout=DEADLINE_S,
                              check=False)

    def check(self, config):
        self.write(config)
        return self.run_celld("--config", self.path, "--check")

    def test_as_many_descriptors_are_allowed_as_the_system_lets_celld_have(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        self.start()
        self.assertEqual(resource.prlimit(self.daemon.process.pid, resource.RLIMIT_NOFILE),
                         (hard, hard))

    def test_check_accepts_a_valid_file_and_starts_nothing(self):
        done = self.run_celld("--config", self.path, "--check")
        self.assertEqual((done.returncode, done.stdout), (0, ""), done)
        self.assertFalse(os.path.exists(self.data))

    def test_check_reports_faults_of_the_machine_beside_those_of_the_file(self):
        done = self.check({
            "listen": {"tls": {"certificate": "/no/such.pem", "key": "/no/such.key"}},
            "services": {"run": {"type": "command", "argv": ["/no/such"]}},
            "cells": [{"customer": "*"}], "retention_ms": 1})
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        for pointer in ("/retention_ms", "/services/run/argv/0", "/listen/tls"):
            self.assertIn(f": {pointer}: ", done.stderr)

    def test_check_reports_every_fault_by_its_pointer_and_exits_with_2(self):
        done = self.check({
            "listen": {"host": "0.0.0.0", "port": 70000}, "store": {"type": "oracle"},
            "services": {"dns": {"type": "http", "url": "ftp://x", "what": 1},
                         "-bad-": {"type": "simulated"}, "none": {}, "odd": {"type": "magic"},
                         "env": {"type": "http", "url": "http://x/",
                                 "headers": {"A": "env:NOT_SET_ANYWHERE", "B b": "x"}}},
            "defaults": {"pool": {"size": 0}, "timeout_ms": -1, "retry": {"max_attempts": "x"}},
            "cells": [{"customer": "a/b"}, {"product": "mail", "per": ["planet"]}, {"nope": 1},
                      {"customer": "acme"}, {"customer": "acme"}],
            "shutdown_grace_ms": "soon", "unknown": True})
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        for pointer in ("/listen/host", "/listen/port", "/store/type", "/services/dns/url",
                        "/services/dns/what", "/services/-bad-", "/services/none/type",
                        "/services/odd/type", "/services/env/headers/A",
                        "/services/env/headers/B b", "/defaults/pool/size",
                        "/defaults/timeout_ms", "/defaults/retry/max_attempts",
                        "/cells/0/customer", "/cells/1/per/0", "/cells/2/nope", "/cells/4",
                        "/shutdown_grace_ms", "/unknown"):
            with self.subTest(pointer=pointer):
                self.assertRegex(done.stderr, f"(?m)(^|[ :]){pointer}(:|$| )")

    def test_a_file_that_is_not_a_configuration_exits_with_2(self):
        for text in (b"", b"{", b"[]", b"{}", b'{"services": {}, "services": {}}', b"\xff", b"null",
                     b'{"listen": 1}', b"[" * 100_000):
            with self.subTest(text=text[:40]):
                done = self.check(text)
                self.assertEqual(done.returncode, 2, done)
                self.assertTrue(done.stderr.strip())
                self.assertEqual(self.run_celld("--config", self.path).returncode, 2)

    def test_bad_arguments_exit_with_2(self):
        for arguments in ([], ["--config"], ["--config", self.path, "--what"],
                          ["--config", "/nowhere/celld.json"], ["--config", self.directory],
                          ["--config", self.path, "--listen", "nonsense"],
                          ["--config", self.path, "--listen", "127.0.0.1:99999"],
                          ["--config", self.path, "--listen", "0.0.0.0:0"],
                          ["--config", self.path, "--check", "--compact"],
                          ["--config", self.path, "extra"]):
            with self.subTest(arguments=arguments):
                self.assertEqual(self.run_celld(*arguments).returncode, 2)

    def test_the_environment_names_the_configuration_unless_a_flag_does(self):
        done = self.run_celld("--check", CELLD_CONFIG=self.path)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        done = self.run_celld("--check", "--config", self.path, CELLD_CONFIG="/nowhere/celld.json")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)

    def test_version_is_printed(self):
        done = self.run_celld("--version")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"\d+\.\d+\.\d+")

    def test_only_one_celld_can_hold_a_data_directory(self):
        self.start()
        second = self.run_celld("--config", self.path, "--listen", "127.0.0.1:0", "--data",
                                self.daemon.data)
        self.assertEqual((second.returncode, second.stdout), (3, ""), second)
        self.assertTrue(second.stderr.strip())
        self.assertEqual(self.client.get("/readyz").status, 200)
        self.wait_for_end(self.submit(a_job()))
        self.daemon.kill()
        self.restart()  # The lock does not outlive its holder.
        self.assertEqual(self.client.get("/readyz").status, 200)

    def test_an_unusable_data_directory_exits_with_3(self):
        a_file = os.path.join(self.directory, "file")
        with open(a_file, "w", encoding="utf-8") as file:
            file.write("x")
        no_database = os.path.join(self.directory, "other")
        os.mkdir(no_database)
        with open(os.path.join(no_database, "celld.db"), "wb") as file:
            file.write(b"this is no database" * 1000)
        a_directory = os.path.join(self.directory, "third")
        os.makedirs(os.path.join(a_directory, "celld.db"))
        cases = [a_file, no_database, a_directory, "/proc/celld", "/dev/null/x"]
        if os.geteuid() != 0:
            read_only = os.path.join(self.directory, "read-only")
            os.mkdir(read_only, 0o500)
            cases.append(read_only)
        for data in cases:
            with self.subTest(data=data):
                done = self.run_celld("--config", self.path, "--listen", "127.0.0.1:0", "--data",
                                      data)
                self.assertEqual((done.returncode, done.stdout), (3, ""), done)
                self.assertTrue(done.stderr.strip())

    def test_a_database_of_a_later_version_is_left_alone(self):
        self.start()
        self.daemon.stop()
        database = os.path.join(self.daemon.data, "celld.db")
        with sqlite3.connect(database) as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            self.assertGreater(version, 0)
            connection.execute(f"PRAGMA user_version = {version + 1000}")
        connection.close()
        done = self.run_celld("--config", self.path, "--listen", "127.0.0.1:0", "--data",
                              self.daemon.data)
        self.assertEqual(done.returncode, 3, done)

    def test_celld_serves_without_standard_descriptors(self):
        """What it opens must not get their numbers: it would read what it prints."""
        port = free_port()
        process = subprocess.Popen(
            ["bash", "-c", 'exec "$@" <&- >&- 2>&-', "bash", os.environ["CELLD_BINARY"],
             "--config", self.path, "--data", self.data, "--listen", f"127.0.0.1:{port}"])
        self.addCleanup(process.wait, DEADLINE_S)
        self.addCleanup(process.kill)

        def serves():
            with contextlib.suppress(OSError):
                return Client("127.0.0.1", port).get("/readyz").status == 200
            return False
        wait_until(serves, "celld serves")
        descriptors = f"/proc/{process.pid}/fd"
        self.assertEqual({os.readlink(f"{descriptors}/{number}") for number in (0, 1, 2)},
                         {"/dev/null"})
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(DEADLINE_S), 0)

    def test_a_port_in_use_exits_with_1(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            done = self.run_celld("--config", self.path, "--data", self.data, "--listen",
                                  f"127.0.0.1:{taken.getsockname()[1]}")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done)
        self.assertTrue(done.stderr.strip())

    def serves(self, arguments, environment, config):
        daemon = Daemon(config, self.directory, arguments, environment).start()
        try:
            self.assertEqual(daemon.client().get("/readyz").status, 200)
        finally:
            self.assertEqual(daemon.stop(), 0)
        return daemon

    def test_the_listen_flag_overrides_the_environment_which_overrides_the_file(self):
        in_file, in_environment, in_flag = free_port(), free_port(), free_port()
        config = a_config(self.provider, listen={"host": "127.0.0.1", "port": in_file})
        environment = {"CELLD_LISTEN": f"127.0.0.1:{in_environment}"}
        self.assertEqual(self.serves([], {}, config).port, in_file)
        self.assertEqual(self.serves([], environment, config).port, in_environment)
        flag = ["--listen", f"127.0.0.1:{in_flag}"]
        self.assertEqual(self.serves(flag, environment, config).port, in_flag)

    def test_the_data_flag_overrides_the_environment_which_overrides_the_default(self):
        config = a_config(self.provider, listen={"host": "127.0.0.1", "port": 0},
                          store={"type": "sqlite", "path": "jobs.db"})

        def database(name):
            return os.path.exists(os.path.join(self.directory, name, "jobs.db"))
        self.serves([], {}, config)
        self.assertTrue(database("data"), "./data")
        environment = {"CELLD_DATA": os.path.join(self.directory, "from-environment")}
        self.serves([], environment, config)
        self.assertTrue(database("from-environment"))
        self.assertFalse(database("from-flag"))
        self.serves(["--data", os.path.join(self.directory, "from-flag")], environment, config)
        self.assertTrue(database("from-flag"))

    def test_an_absolute_store_path_ignores_the_data_directory(self):
        path = os.path.join(self.directory, "elsewhere.db")
        config = a_config(self.provider, listen={"host": "127.0.0.1", "port": 0},
                          store={"type": "sqlite", "path": path})
        self.serves([], {}, config)
        self.assertTrue(os.path.exists(path))

    def test_two_daemons_with_one_database_do_not_both_start(self):
        path = os.path.join(self.directory, "elsewhere.db")
        self.start(store={"type": "sqlite", "path": path})
        epoch = self.epoch(path)
        config = a_config(self.provider, store={"type": "sqlite", "path": path})
        os.mkdir(os.path.join(self.directory, "other"))
        other = Daemon(config, os.path.join(self.directory, "other"))
        done = subprocess.run(other.command(), capture_output=True, text=True, check=False,
                              timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 3, done)
        self.assertIn(f"another celld holds {path}.lock", done.stderr)
        self.assertEqual(self.epoch(path), epoch, "the epoch of the first is untouched")
        self.assertEqual(self.wait_for_end(self.submit(a_job()))["state"], "succeeded")

    @staticmethod
    def epoch(path):
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            return database.execute("SELECT value FROM settings WHERE name = 'epoch'").fetchone()

    def test_another_process_can_read_the_database_while_celld_runs(self):
        self.start()
        self.wait_for_end(self.submit(a_job()))
        database = os.path.join(self.daemon.data, "celld.db")
        connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
        self.addCleanup(connection.close)
        self.assertEqual(connection.execute("PRAGMA integrity_check").fetchone(), ("ok",))

    def test_celld_serves_ipv6_and_prints_the_address(self):
        if not socket.has_ipv6:
            self.skipTest("no IPv6")
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError:
            self.skipTest("no IPv6 loopback")
        daemon = self.serves(["--listen", "[::1]:0"], {}, a_config(self.provider))
        self.assertEqual(daemon.host, "[::1]")


if __name__ == "__main__":
    unittest.main()
