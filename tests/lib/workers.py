"""Processes that share the units of a program, one chunk at a time."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time

LOOK_S = 0.05
MORE_S = 120    # Extra time for a chunk that was begun in time.
GIVE_UP_S = 20  # Time for the clean-up of an interrupted process.
FAILED_MAX = 3  # After this many failures no chunk begins.


class Chunk:
    """A process that runs the same program for a part of its units."""

    def __init__(self, first, count, seconds, directory):
        self.first, self.count = first, count
        self.path = os.path.join(directory, str(first))
        with open(self.path + ".log", "w", encoding="utf-8") as log:
            # If an option is given twice, the second counts.
            self.process = subprocess.Popen(
                [sys.executable, *sys.argv, "--from", str(first), "--count", str(count),
                 "--seconds", str(seconds), "--workers", "1", "--summary", self.path],
                stdout=log, stderr=subprocess.STDOUT)

    def outcome(self, interrupted):
        """The outcome of an ended process: (units, failed ranges, figures). Prints its output."""
        with open(self.path + ".log", encoding="utf-8", errors="replace") as log:
            print(log.read(), end="", flush=True)
        try:
            with open(self.path, encoding="utf-8") as file:
                found = json.load(file)
        except (FileNotFoundError, ValueError):
            found = None
        code = self.process.returncode
        if found is not None and (interrupted or code == (1 if found["failures"] else 0)):
            return found["units"], found["failed"], found["figures"]
        if interrupted:
            return 0, [], {}
        print(f"FAILURE: units {self.first} to {self.first + self.count - 1}: their process ended "
              f"with {code}", flush=True)
        return self.count, [{"from": self.first, "count": self.count}], {}


class Shares:
    def __init__(self, options, chunk, outcome, interrupted):
        self.options, self.chunk, self.outcome = options, chunk, outcome
        self.interrupted = interrupted
        self.ends_at = time.monotonic() + options.seconds
        self.next = options.first
        self.running, self.ended = [], {}

    def run(self):
        """Runs the units. Only those before the first untried one count, so that the completed
        range has no gaps. No chunk begins after the time limit or an interruption. When
        interrupted, this method raises KeyboardInterrupt after the processes have ended: an
        exception at any other point could orphan a process, or leave the lock of its Popen held."""
        with tempfile.TemporaryDirectory(prefix="celld-units-") as directory:
            try:
                while self._begin(directory) or self.running:
                    self._look()
                    if self.interrupted():
                        self._end_early()
                        raise KeyboardInterrupt
            finally:
                self._kill()

    def _begin(self, directory):
        """Begins chunks while there are free workers; returns whether more may follow."""
        end = self.options.first + self.options.count
        while (self.next < end and time.monotonic() < self.ends_at
               and len(self.outcome.failed) < FAILED_MAX and not self.interrupted()):
            if len(self.running) == self.options.workers:
                return True
            count = min(self.chunk - self.next % self.chunk, end - self.next)
            seconds = self.ends_at - time.monotonic() + MORE_S
            self.running.append(Chunk(self.next, count, seconds, directory))
            self.next += count
        return False

    def _look(self, interrupted=False):
        time.sleep(LOOK_S)
        for chunk in [each for each in self.running if each.process.poll() is not None]:
            units, failed, figures = chunk.outcome(interrupted)
            for each in failed:
                self.outcome.fail(each["from"], each["count"])
            self.running.remove(chunk)
            self.ended[chunk.first] = units, figures
        while (at := self.options.first + self.outcome.units) in self.ended:
            self.outcome.add(*self.ended.pop(at))

    def _end_early(self):
        self._look()  # Collects processes that ended before the interruption.
        for chunk in self.running:
            chunk.process.send_signal(signal.SIGINT)
        give_up_at = time.monotonic() + GIVE_UP_S
        while self.running:
            if time.monotonic() > give_up_at:
                self._kill()
            self._look(interrupted=True)

    def _kill(self):
        for chunk in self.running:
            chunk.process.kill()
            chunk.process.wait()
