"""Commands of docs/mappings.md, as a reader would copy them, with servers of the test."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from daemon import DEADLINE_S
from ports import free_port

ROOT = os.environ.get("CELLD_SOURCE", os.path.join(os.path.dirname(__file__), "..", "..", ".."))
BUILD = os.path.dirname(os.environ["CELLD_BINARY"])


def commands(beginning):
    """The only block of the page that begins so."""
    with open(os.path.join(ROOT, "docs", "mappings.md"), encoding="utf-8") as file:
        blocks = re.findall(r"^```sh\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)
    block, = [each for each in blocks if each.startswith(beginning)]
    return block


def part(pattern, block):
    return re.search(pattern, block, re.MULTILINE | re.DOTALL)[1]


class PageTest(unittest.TestCase):
    """A directory with a link to the build, as the page's commands expect it."""

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="celld-page-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        os.symlink(BUILD, os.path.join(self.directory, "build"))
        os.makedirs(os.path.join(self.directory, "config", "examples"))
        self.ports = {"8080": str(free_port())}  # By the port that the page names.

    def with_ports(self, text):
        return re.sub("|".join(self.ports), lambda port: self.ports[port[0]], text)

    def read_example(self, name):
        with open(os.path.join(ROOT, "config", "examples", name), encoding="utf-8") as file:
            return self.with_ports(file.read())

    def write_example(self, name, text):
        path = os.path.join(self.directory, "config", "examples", name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def run_shell(self, script, **variables):
        """(exit code, output). Ends what the script has left in the background."""
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("CELLD_")}
        environment.update(variables, CELLD_LISTEN=f"127.0.0.1:{self.ports['8080']}",
                           CELLD_URL=f"http://127.0.0.1:{self.ports['8080']}")
        shell = subprocess.Popen(["bash", "-e", "-c", self.with_ports(script)], cwd=self.directory,
                                 env=environment, text=True, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 start_new_session=True)
        try:
            output, _ = shell.communicate(timeout=DEADLINE_S)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)
        return shell.returncode, output
