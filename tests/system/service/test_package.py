"""The contents of the Debian package of the programs under test. `scripts/check --package` installs
it."""

import glob
import os
import re
import shutil
import subprocess
import tempfile
import unittest

SOURCE = os.environ["CELLD_SOURCE"]
BUILD = os.path.dirname(os.environ["CELLD_BINARY"])


# The package that is published is compressed more, which takes longer than all the rest.
QUICK = {"DPKG_DEB_COMPRESSOR_TYPE": "gzip", "DPKG_DEB_COMPRESSOR_LEVEL": "1"}


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500,
                          env={**os.environ, **QUICK})
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


@unittest.skipIf(os.environ.get("CELLD_SANITIZE"), "instrumented programs are not packaged")
class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("dh") or not shutil.which("dpkg-buildpackage"):
            raise unittest.SkipTest("debhelper is not installed; scripts/test installs it")
        cls.directory = tempfile.mkdtemp(prefix="celld-package-")
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        said = run(os.path.join(SOURCE, "scripts/package"), "--from", BUILD,
                   "--output", cls.directory)
        [cls.package] = glob.glob(cls.directory + "/*.deb")
        assert said.splitlines()[-1] == cls.package, said
        run("dpkg-deb", "--raw-extract", cls.package, cls.directory + "/celld")

    def text(self, path):
        with open(f"{self.directory}/celld/{path}", encoding="utf-8") as file:
            return file.read()

    def field(self, name):
        return run("dpkg-deb", "--field", self.package, name).strip()

    def test_the_package_is_complete(self):
        # One test, because each test would build the package again.
        for check in (self.check_content, self.check_upgrade, self.check_configuration):
            with self.subTest(check.__name__):
                check()

    def check_content(self):
        version = run(os.environ["CELLD_BINARY"], "--version").split()[1]
        with open("/etc/os-release", encoding="utf-8") as file:
            release = re.search(r'^VERSION_ID="(\d+)"$', file.read(), re.M).group(1)
        self.assertEqual(self.field("Version"), f"{version}-1~deb{release}")
        depends = [name.split()[0] for name in self.field("Depends").split(", ")]
        self.assertIn("adduser", depends)
        for library in ("libc6", "libcaf-core", "libcpp-httplib", "libcurl4", "libsqlite3-0",
                        "libssl3", "libsystemd0", "libuv1"):
            self.assertTrue([name for name in depends if name.startswith(library)],
                            (library, depends))
        self.assertEqual(self.text("DEBIAN/conffiles"), "/etc/celld/celld.json\n")
        for path in ("usr/sbin/celld", "usr/bin/cellctl",
                     "usr/share/bash-completion/completions/cellctl",
                     "usr/share/zsh/vendor-completions/_cellctl",
                     "usr/share/fish/vendor_completions.d/cellctl.fish",
                     "usr/share/man/man8/celld.8.gz", "usr/share/man/man1/cellctl.1.gz",
                     "usr/share/man/man5/celld.json.5.gz", "usr/share/doc/celld/copyright",
                     "usr/share/doc/celld/changelog.Debian.gz",
                     "usr/share/doc/celld/docs/operations/README.md",
                     "usr/share/doc/celld/config/celld.schema.json",
                     "usr/share/doc/celld/config/grafana/celld.json",
                     "usr/share/doc/celld/config/prometheus/celld.rules.yml"):
            self.assertTrue(os.path.isfile(f"{self.directory}/celld/{path}"), path)
        for unit in ("celld.service", "celld.socket"):
            [_] = glob.glob(f"{self.directory}/celld/**/systemd/system/{unit}", recursive=True)

    def check_upgrade(self):
        """An upgrade restarts the service and leaves the socket open."""
        after = self.text("DEBIAN/postinst")
        self.assertIn("_dh_action=restart", after)
        self.assertIn("deb-systemd-invoke $_dh_action 'celld.service' ", after)
        self.assertIn("deb-systemd-invoke start 'celld.socket' ", after)
        for line in self.text("DEBIAN/prerm").splitlines():
            if line.startswith("if "):
                self.assertIn('[ "$1" = remove ]', line)

    def check_configuration(self):
        run(os.environ["CELLD_BINARY"], "--check", "--config",
            self.directory + "/celld/etc/celld/celld.json")


if __name__ == "__main__":
    unittest.main()
