"""Samples what celld holds for each service, according to the kernel."""

import threading
import time

import leftovers

PAUSE_S = 0.025
PROCESSES_EVERY = 4  # Samples: processes take longer to list, and their bound is wider.


class Watch(threading.Thread):
    """`held_at`: when each service was last seen with a connection or a process. If a sample
    misses a change, or is late on a busy machine, this time is too early, never too late."""

    def __init__(self, ports, directory):
        super().__init__(daemon=True)
        self.ports = ports
        self.directory = directory
        self.groups = {}
        self.held_at = {}
        self.ending = threading.Event()
        self.start()

    def run(self):
        samples = 0
        while not self.ending.is_set():
            self._note(leftovers.connected, self.ports)
            if samples % PROCESSES_EVERY == 0:
                self._note(leftovers.at_work, self.directory, self.groups)
            samples += 1
            self.ending.wait(PAUSE_S)

    def _note(self, list_held, *where):
        at = time.time()
        self.held_at.update(dict.fromkeys(list_held(*where), at))

    def end(self):
        self.ending.set()
        self.join()
