"""A provider that reads requests and never answers, cheap enough for hundreds of calls at once."""

import selectors
import socket
import threading
import time


class DeafProvider(threading.Thread):
    """`calls`: (came at, given up at) of each connection that celld has closed, by the wall
    clock."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.listener.setblocking(False)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/"
        self.calls = []
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.start()

    def run(self):
        while True:
            for key, _ in self.selector.select():
                if key.fileobj is self.listener:
                    connection, _ = self.listener.accept()
                    self.selector.register(connection, selectors.EVENT_READ, time.time())
                elif not self._read(key.fileobj):
                    self.calls.append((key.data, time.time()))
                    self.selector.unregister(key.fileobj)
                    key.fileobj.close()

    @staticmethod
    def _read(connection):
        try:
            return connection.recv(1 << 16)
        except ConnectionResetError:
            return b""
