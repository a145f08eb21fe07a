"""The database file: what celld indexes in it, `celld --compact`, and a file that another program
made."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import unittest

from daemon import EndToEnd, a_job, wait_until

LARGE = 500_000
SALVAGE = """{ sqlite3 "$1" .dump
  sqlite3 "$1" 'PRAGMA user_version' | sed 's/^/PRAGMA user_version = /'
  echo ';PRAGMA application_id = 0x43454c44;'; } | sqlite3 "$2"
"""  # As in docs/operations/backup.md.


class Compact(EndToEnd):
    def compact(self):
        return subprocess.run([*self.daemon.command(), "--compact"], capture_output=True, text=True,
                              check=False)

    def database(self):
        return os.path.join(self.daemon.data, "celld.db")

    def bytes_on_disk(self):
        """Of the database with its write-ahead log, which may hold what a stopped celld wrote last."""
        files = (self.database(), self.database() + "-wal")
        return sum(os.path.getsize(file) for file in files if os.path.exists(file))

    def indexed_id(self):
        """The indexes in the file have all jobs up to this one; celld has the others in memory."""
        with contextlib.closing(sqlite3.connect(f"file:{self.database()}?mode=ro", uri=True)) as file:
            return file.execute("SELECT value FROM settings WHERE name = 'indexed_id'").fetchone()[0]

    def test_as_many_jobs_are_indexed_in_memory_as_the_configuration_says(self):
        self.start(store={"recent_jobs": 100})
        for number in range(40):
            self.submit(a_job(str(number), delay_ms=10**9))
        self.assertEqual(self.indexed_id(), 0)
        for number in range(40, 60):
            self.submit(a_job(str(number), delay_ms=10**9))
        wait_until(self.indexed_id, "the oldest jobs are indexed in the file")

    def test_a_compacted_database_is_smaller_and_keeps_its_jobs(self):
        self.start(retention_ms=1000)
        kept = self.submit(a_job("kept", delay_ms=10**9))
        removed = self.submit(a_job("large", parameters={"text": "x" * LARGE}))
        wait_until(lambda: self.client.get(f"/v1/jobs/{removed}").status == 404, "it is removed")
        self.assertEqual(self.daemon.stop(), 0)
        before = self.bytes_on_disk()
        done = self.compact()
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertLess(self.bytes_on_disk(), before - LARGE // 2)
        self.restart()
        self.assertEqual(self.job(kept)["state"], "scheduled")

    def test_a_database_that_is_not_there_is_not_made(self):
        self.start()
        self.assertEqual(self.daemon.stop(), 0)
        missing = os.path.join(self.directory, "none")
        done = subprocess.run([os.environ["CELLD_BINARY"], "--config", self.daemon.config_path,
                               "--compact", "--data", missing],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 3)
        self.assertIn("there is no database " + missing, done.stderr)
        self.assertFalse(os.path.exists(missing))

    def test_a_database_in_use_is_not_compacted(self):
        self.start()
        done = self.compact()
        self.assertEqual(done.returncode, 3)
        self.assertIn("celld: ", done.stderr)

    @unittest.skipIf(shutil.which("sqlite3") is None, "sqlite3 is not installed")
    def test_jobs_salvaged_with_sqlite3_are_served_again(self):
        self.start()
        job = self.submit(a_job("salvaged", delay_ms=10**9, parameters={"text": "x" * 10_000}))
        whole = self.job(job)
        self.assertEqual(self.daemon.stop(), 0)
        damaged = self.daemon.data + "-damaged"
        os.rename(self.daemon.data, damaged)
        os.mkdir(self.daemon.data)
        subprocess.run(["sh", "-ec", SALVAGE, "sh", os.path.join(damaged, "celld.db"),
                        self.database()], check=True)
        self.restart()
        self.assertEqual(self.job(job), whole)
        self.assertEqual(self.client.get("/v1/admin/backup").status, 200)


if __name__ == "__main__":
    unittest.main()
