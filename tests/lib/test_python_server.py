"""Tests in processes that python_server.py forks pass and fail as those that run by themselves."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest

from daemon import DEADLINE_S, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
# Indented, so that ctest does not take its methods for tests of this file.
MODULE = textwrap.dedent("""
    import os, signal, time, unittest

    class Small(unittest.TestCase):
        def test_pass(self):
            print(os.environ["WORD"], os.getcwd(), signal.getsignal(signal.SIGINT))

        def test_fail(self):
            self.fail()

        def test_skip(self):
            self.skipTest("a reason")

        def test_die(self):
            os.kill(os.getpid(), signal.SIGKILL)

        def test_hang(self):
            with open("pid", "w") as file:
                file.write(str(os.getpid()))
            time.sleep(1000)
""")


class PythonServer(unittest.TestCase):
    def setUp(self):
        self.directory = os.path.realpath(tempfile.mkdtemp(prefix="celld-server-"))
        self.addCleanup(shutil.rmtree, self.directory)
        with open(os.path.join(self.directory, "small.py"), "w", encoding="utf-8") as file:
            file.write(MODULE)
        self.socket = os.path.join(self.directory, "socket")

    def start_server(self):
        server = subprocess.Popen([sys.executable, os.path.join(HERE, "python_server.py"),
                                   self.socket], stdin=subprocess.PIPE)
        self.addCleanup(server.wait, DEADLINE_S)
        self.addCleanup(server.stdin.close)
        wait_until(lambda: os.path.exists(self.socket), "the server listens")

    def begin(self, name):
        environment = dict(os.environ, CELLD_PYTHON_SERVER=self.socket, WORD="a word")
        return subprocess.Popen(
            [os.environ["RUN_PYTHON_TEST"], sys.executable, "small.Small.test_" + name],
            cwd=self.directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True)

    def run_test(self, name):
        process = self.begin(name)
        output, _ = process.communicate(timeout=DEADLINE_S)
        return process.returncode, output

    def check_outcomes(self):
        code, output = self.run_test("pass")
        self.assertEqual(code, 0)
        self.assertIn(f"a word {self.directory} <built-in function default_int_handler>", output)
        self.assertRegex(output, r"\nRan 1 test [^\n]*\n\nOK\n")
        code, output = self.run_test("fail")
        self.assertEqual(code, 1)
        self.assertIn("AssertionError", output)
        code, output = self.run_test("skip")
        self.assertEqual(code, 0)
        self.assertIn("OK (skipped=1)", output)
        self.assertNotEqual(self.run_test("die")[0], 0)

    def test_a_server_runs_tests_in_the_directory_and_environment_of_their_clients(self):
        self.start_server()
        self.check_outcomes()

    def test_without_a_server_tests_run_by_themselves(self):
        self.check_outcomes()

    def test_a_test_dies_with_its_client_and_the_server_goes_on(self):
        self.start_server()
        client = self.begin("hang")
        path = os.path.join(self.directory, "pid")
        wait_until(lambda: os.path.exists(path) and os.path.getsize(path) > 0, "the test runs")
        with open(path, encoding="ascii") as file:
            pid = int(file.read())
        client.send_signal(signal.SIGKILL)
        client.communicate(timeout=DEADLINE_S)
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "the test is killed")
        self.assertEqual(self.run_test("pass")[0], 0)


if __name__ == "__main__":
    unittest.main()
