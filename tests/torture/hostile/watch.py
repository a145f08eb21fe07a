"""Looks all the while at what celld holds for each service, as the kernel knows it."""

import threading
import time

import leftovers

PAUSE_S = 0.025
PROCESSES_EVERY = 4  # Looks: these take longer, and their bound is wider.


class Watch(threading.Thread):
    """`held_at`: when each service was last seen to have a connection or a process. What is missed
    between two looks, or by a busy machine, makes that earlier, never later."""

    def __init__(self, ports, directory):
        super().__init__(daemon=True)
        self.ports = ports
        self.directory = directory
        self.groups = {}
        self.held_at = {}
        self.ending = threading.Event()
        self.start()

    def run(self):
        looks = 0
        while not self.ending.is_set():
            self._note(leftovers.connected, self.ports)
            if looks % PROCESSES_EVERY == 0:
                self._note(leftovers.at_work, self.directory, self.groups)
            looks += 1
            self.ending.wait(PAUSE_S)

    def _note(self, look, *where):
        at = time.time()
        self.held_at.update(dict.fromkeys(look(*where), at))

    def end(self):
        self.ending.set()
        self.join()
