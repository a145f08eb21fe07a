"""run_page fails when a command of a page fails, and only then."""

import os
import subprocess
import tempfile
import unittest

RUN_PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run_page")


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

    def test_a_block_without_a_tag_is_a_fault(self):
        code, output = self.run_page("```\nls\n```\n")
        self.assertNotEqual(code, 0)
        self.assertIn("has no tag", output)

    def test_a_daemon_in_the_foreground_serves_the_next_block(self):
        code, output = self.run_page(
            "```sh\nbuild/celld --config config/celld.json\n```\n\n"
            "```sh\ncurl -fs http://127.0.0.1:8080/livez && echo lives\n```\n")
        self.assertEqual(code, 0, output)
        self.assertIn("lives\n", output)


if __name__ == "__main__":
    unittest.main()
