"""run_page fails when a command of a page fails, and only then. Each block that it does not run is
listed here."""

import glob
import os
import re
import subprocess
import tempfile
import unittest

RUN_PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run_page")
ROOT = os.environ["CELLD_SOURCE"]

# The blocks that no test of the pages runs: by page, the first command of each, and why not.
NOT_RUN = {
    "CONTRIBUTING.md": [
        ("cmake -B build && cmake --build build", "compiles the tree")],
    "docs/cellctl.md": [
        ("build/cellctl worker --service send", "works until it is stopped; the newsletter page "
         "runs workers")],
    "docs/mappings.md": [
        ("sudo apt-get install rabbi", "installs a server"),
        ("build/celld --config confi", "needs the server; a test with a server of its own runs it"),
        ("sudo apt-get install pdns-server", "installs servers"),
        ("sudo install -d -o pdns", "configures the machine"),
        ("sudo -u postgres psql", "configures the machine"),
        ("export PDNS_API_KEY=", "needs the servers; a test with servers of its own runs it")],
    "docs/operations/logs.md": [
        ("journalctl -u celld", "needs systemd")],
    "docs/operations/running.md": [
        ("apt install ./build-package/", "needs root"),
        ("systemctl restart celld.socket", "needs systemd"),
        ("systemctl reset-failed", "needs systemd")],
    "docs/operations/upgrading.md": [
        ("apt install ./celld_NEW", "needs root")],
    "docs/testing.md": [
        ("tests/torture/hostile/campaign.py", "takes minutes, and needs the fuzzers"),
        ("tests/torture/mutants/mutants.py", "compiles the tree again")],
}
MARKED = re.compile(r"^<!-- not run: (.*?) -->\n\n?```\w*\n(.*)$", re.MULTILINE)


def pages():
    found = []
    for pattern in ("*.md", "cells/**/*.md", "docs/**/*.md"):
        found += glob.glob(pattern, root_dir=ROOT, recursive=True)
    return sorted(found)


class RunPage(unittest.TestCase):
    def run_page(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".md", encoding="utf-8") as page:
            page.write(text)
            page.flush()
            done = subprocess.run([RUN_PAGE, page.name], capture_output=True, text=True,
                                  check=False)
        return done.returncode, done.stdout + done.stderr

    def test_a_failing_command_fails_the_page_and_is_located(self):
        code, output = self.run_page("# T\n\n```sh\ntrue\n```\n\n```sh\nfalse\necho reached\n```\n")
        self.assertNotEqual(code, 0)
        self.assertIn(".md:8\n", output)
        self.assertNotIn("reached", output.splitlines())

    def test_commands_that_succeed_run_in_one_shell(self):
        code, output = self.run_page("```sh\nx=1\n```\n\n```sh\necho \"x is $x\"\nls build\n```\n")
        self.assertEqual(code, 0, output)
        self.assertIn("x is 1\n", output)
        self.assertIn("celld\n", output)

    def test_a_block_with_a_reason_is_reported_and_not_run(self):
        code, output = self.run_page("<!-- not run: too long -->\n```sh\nfalse\n```\n")
        self.assertEqual(code, 0, output)
        self.assertIn("not judged: ", output)
        self.assertIn("too long", output)

    def test_a_block_runs_only_where_the_program_that_it_needs_is_there(self):
        for program, is_there in (("sh", True), ("build/celld", True), ("no-such-program", False),
                                  ("build/no-such-program", False)):
            with self.subTest(program=program):
                code, output = self.run_page(f"<!-- needs {program} -->\n```sh\nfalse\n```\n")
                self.assertEqual(code == 0, not is_there, output)
                self.assertEqual(f"there is no {program}" in output, not is_there, output)

    def test_a_block_without_a_known_tag_is_a_fault(self):
        for block, fault in (("```\nls\n```\n", "has no tag"),
                             ("```bash\nls\n```\n", "'bash' of a block is not known"),
                             ("~~~sh\nls\n~~~\n", "does not begin with ```"),
                             ("- x\n\n  ```sh\n  ls\n  ```\n", "does not begin with ```")):
            with self.subTest(block=block):
                code, output = self.run_page(block)
                self.assertNotEqual(code, 0)
                self.assertIn(fault, output)

    def test_a_daemon_in_the_foreground_serves_the_next_block(self):
        code, output = self.run_page(
            "```sh\nbuild/celld --config config/celld.json\n```\n\n"
            "```sh\ncurl -fs http://127.0.0.1:8080/livez && echo lives\n```\n")
        self.assertEqual(code, 0, output)
        self.assertIn("lives\n", output)


class Pages(unittest.TestCase):
    def test_every_block_that_is_not_run_is_listed_above(self):
        found = {}
        for page in pages():
            with open(os.path.join(ROOT, page), encoding="utf-8") as file:
                marked = MARKED.findall(file.read())
            if marked:
                found[page] = marked
        for page in sorted({*found, *NOT_RUN}):
            with self.subTest(page=page):
                listed = NOT_RUN.get(page, [])
                self.assertEqual([reason for reason, _ in found.get(page, [])],
                                 [reason for _, reason in listed])
                for (_, command), (beginning, _) in zip(found.get(page, []), listed):
                    self.assertTrue(command.startswith(beginning), command)

    def test_only_pages_that_are_run_have_blocks_of_code(self):
        for directory, folders, files in os.walk(ROOT):
            folders[:] = [name for name in folders
                          if not name.startswith((".", "build", "data", "node_modules"))]
            for name in files:
                path = os.path.relpath(os.path.join(directory, name), ROOT)
                if not name.endswith(".md") or path in pages():
                    continue
                with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                    self.assertNotIn("```", file.read(), path)


if __name__ == "__main__":
    unittest.main()
