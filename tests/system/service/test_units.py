"""The systemd units and the manual pages, as `cmake --install` installs them."""

import glob
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

SOURCE = os.environ["CELLD_SOURCE"]
BUILD = os.path.dirname(os.environ["CELLD_BINARY"])
# scripts/test unpacks systemd here where it is not installed: its package enables services.
UNPACKED = os.path.join(BUILD, "tools", "systemd")


def systemd_analyze(*arguments):
    environment = dict(os.environ)
    path = shutil.which("systemd-analyze")
    if path is None:
        libraries = glob.glob(f"{UNPACKED}/**/libsystemd-core-*.so", recursive=True)
        path = shutil.which("systemd-analyze", path=f"{UNPACKED}/usr/bin:{UNPACKED}/bin")
        environment["SYSTEMD_UNIT_PATH"] = ":".join(
            glob.glob(f"{UNPACKED}/usr/lib/systemd/system") + glob.glob(f"{UNPACKED}/lib/systemd/system"))
        environment["LD_LIBRARY_PATH"] = ":".join(map(os.path.dirname, libraries))
    if path is None:
        raise unittest.SkipTest("systemd-analyze is not there; scripts/test downloads it")
    works = subprocess.run([path, "--version"], capture_output=True, text=True, check=False,
                           env=environment)
    if works.returncode != 0:
        raise unittest.SkipTest(f"systemd-analyze does not run here: {works.stderr.strip()}")
    return subprocess.run([path, *arguments], capture_output=True, text=True, check=False,
                          timeout=500, env=environment)


def run(*command, **environment):
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500,
                          env={**os.environ, **environment})
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


class Installed(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="celld-install-")
        self.addCleanup(shutil.rmtree, self.root)
        run("cmake", "--install", BUILD, "--prefix", "/usr", DESTDIR=self.root)

    def path(self, *parts):
        return os.path.join(self.root, "usr", *parts)

    def text(self, *parts):
        with open(self.path(*parts), encoding="utf-8") as file:
            return file.read()

    def page(self, name):
        """The text of a manual page, without markup."""
        section = name[-1]
        text = self.text("share", "man", f"man{section}", name)
        text = re.sub(r"^\.\w+ ?", "", text.replace("\\-", "-"), flags=re.M)
        return re.sub(r'[" ,]+', " ", text)

    def assert_words(self, words, page):
        """The page has each of these, and not only as a part of a longer word."""
        self.assertTrue(words)
        for word in words:
            self.assertRegex(page, rf"(?<![\w-]){re.escape(word)}(?![\w-])")

    def test_the_service_is_hardened(self):
        for unit in ("celld.service", "celld.socket"):
            shutil.copy(self.path("lib/systemd/system", unit), self.root)
        done = systemd_analyze("security", "--offline=true", "--threshold=20",
                               os.path.join(self.root, "celld.service"))
        self.assertEqual(done.returncode, 0, done)

    def test_systemd_accepts_the_units(self):
        service = self.text("lib/systemd/system/celld.service")
        # The program is not where systemd-analyze looks for it, but in this directory.
        self.assertIn("\nExecStart=/usr/sbin/celld --config ", service)
        self.assertTrue(os.access(self.path("sbin/celld"), os.X_OK))
        with open(os.path.join(self.root, "celld.service"), "w", encoding="utf-8") as file:
            file.write(service.replace("=/usr/sbin/celld ", f"={self.path('sbin/celld')} "))
        shutil.copy(self.path("lib/systemd/system/celld.socket"), self.root)
        done = systemd_analyze("verify", "--man=no", os.path.join(self.root, "celld.service"),
                               os.path.join(self.root, "celld.socket"))
        about_celld = [line for line in done.stderr.splitlines() if "celld" in line]
        self.assertEqual((done.returncode, about_celld), (0, []), done.stderr)

    def test_the_commands_of_a_service_are_not_stopped_before_celld(self):
        service = self.text("lib/systemd/system/celld.service").splitlines()
        self.assertIn("KillMode=mixed", service)
        self.assertIn("OOMPolicy=continue", service)

    def test_the_manual_pages_have_every_flag_command_and_member(self):
        flags = re.findall(r"--[a-z-]+", run(os.environ["CELLD_BINARY"], "--help"))
        self.assert_words(flags, self.page("celld.8"))
        cellctl = self.page("cellctl.1")
        shown = run(self.path("bin/cellctl"), "--help")
        self.assert_words(re.findall(r"--[a-z-]+", shown.partition("Exit codes")[0]), cellctl)
        commands = re.findall(r"^  ([a-z]+(?: [a-z]+)?)  ", shown, flags=re.M)
        self.assertGreater(len(commands), 15)
        self.assert_words(commands, cellctl)
        schema = json.loads(self.text("share/doc/celld/config/celld.schema.json"))
        self.assert_words(schema["properties"], self.page("celld.json.5"))


if __name__ == "__main__":
    unittest.main()
