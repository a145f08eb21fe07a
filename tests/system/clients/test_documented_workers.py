"""The workers of docs/workers.md, as they stand in the page."""

import os
import re
import subprocess
import unittest

from daemon import EndToEnd, a_config, a_job

PAGE = os.path.join(os.environ["CELLD_SOURCE"], "docs", "workers.md")


class DocumentedWorkers(EndToEnd):
    def run_worker(self, language, file, command, changes=()):
        """Starts the program of the page, with these texts of it replaced."""
        with open(PAGE, encoding="utf-8") as page:
            [text] = re.findall(rf"(?ms)^```{language}$\n(.*?)^```$", page.read())
        for old, new in changes:
            self.assertEqual(text.count(old), 1, old)
            text = text.replace(old, new)
        path = os.path.join(self.directory, file)
        with open(path, "w", encoding="utf-8") as program:
            program.write(text)
        url = f"http://{self.daemon.host}:{self.daemon.port}"
        worker = subprocess.Popen([command, path], env={**os.environ, "CELLD_URL": url},
                                  stdout=subprocess.DEVNULL)
        self.addCleanup(worker.wait)
        self.addCleanup(worker.kill)

    def check(self, language, file, command, *_):
        self.start(a_config(self.provider, services={"vm": {"type": "pull"}}))
        self.run_worker(language, file, command)
        job = self.wait_for_end(self.submit(a_job(services=["vm"])))
        self.assertEqual((job["state"], job["properties"]),
                         ("succeeded", {"address": "192.0.2.17"}), job)

    def check_refused(self, language, file, command, address, large):
        self.start(a_config(self.provider, services={"vm": {"type": "pull"}}))
        self.run_worker(language, file, command, [(address, large)])
        job = self.wait_for_end(self.submit(a_job(services=["vm"], retry={"max_attempts": 1})))
        self.assertEqual((job["state"], job["error"]["code"]), ("failed", "create_failed"), job)

    PYTHON = ("python", "worker.py", "/usr/bin/python3", '"192.0.2.17"', '"x" * 300000')
    JAVASCRIPT = ("js", "worker.mjs", "node", '"192.0.2.17"', '"x".repeat(300000)')

    def test_the_python_worker_of_the_page_does_a_job(self):
        self.check(*self.PYTHON)

    def test_the_python_worker_of_the_page_fails_a_job_whose_report_is_refused(self):
        self.check_refused(*self.PYTHON)

    def test_the_javascript_worker_of_the_page_does_a_job(self):
        self.check(*self.JAVASCRIPT)

    def test_the_javascript_worker_of_the_page_fails_a_job_whose_report_is_refused(self):
        self.check_refused(*self.JAVASCRIPT)


if __name__ == "__main__":
    unittest.main()
