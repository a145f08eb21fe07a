#!/usr/bin/env python3
"""Runs the tests that are written in Python, each in a process of its own.

    python_server.py SOCKET

A thousand tests would each start an interpreter and load the same modules of Python's library. Here
one interpreter loads them, and forks for each test. run_python_test.cpp is the client: it sends its
standard streams, the name of a test, its directory and its environment, and receives the exit code.
When a client goes away, because ctest gave up on its test, the server kills the test. The server
ends when its standard input does.
"""

import asyncio  # noqa: F401
import contextlib
import gc
import http.server  # noqa: F401
import os
import selectors
import signal
import socket
import sqlite3  # noqa: F401
import ssl  # noqa: F401
import sys
import threading
import unittest
import unittest.mock  # noqa: F401

# The bytecode of these modules belongs in the directory that each test names, not beside them.
sys.dont_write_bytecode = True
import machine  # noqa: E402,F401
import openapi_document  # noqa: E402,F401
import provider  # noqa: E402,F401

STREAMS = 3
END = b"\0\0"  # Of a request; its parts end with one zero.


class Run:
    """One test: its client's connection, and the process once it was forked."""

    def __init__(self, connection):
        self.connection = connection
        self.streams, self.request = [], bytearray()
        self.process = self.ended = None

    def receive(self):
        """Returns whether the client is still there."""
        try:
            data, streams, _, _ = socket.recv_fds(self.connection, 1 << 16, STREAMS)
        except ConnectionError:
            return False
        self.streams += streams
        self.request += data
        return bool(data)

    def is_complete(self):
        return self.request.endswith(END)

    def close_streams(self):
        for each in self.streams:
            os.close(each)
        self.streams = []

    def close(self):
        self.close_streams()
        if self.ended is not None:
            os.close(self.ended)
        self.connection.close()


class Server:
    def __init__(self, path):
        os.close(os.pidfd_open(os.getpid()))  # Without a server, tests run by themselves.
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(path)
        self.listener.listen(64)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.selector.register(sys.stdin, selectors.EVENT_READ)
        self.runs = set()

    def serve(self):
        """Returns in the process of each test, with the request. In the server, returns None at the
        end of the standard input."""
        while True:
            for key, _ in self.selector.select():
                run, request = key.data, None
                if key.fileobj is sys.stdin:
                    return None
                if key.fileobj is self.listener:
                    self.accept()
                elif run not in self.runs:
                    continue  # It ended with the event before.
                elif key.fd == run.ended:
                    self.report(run)
                elif run.process is not None:  # A client sends nothing meanwhile: it has gone.
                    self.selector.unregister(run.connection)
                    os.kill(run.process, signal.SIGKILL)
                elif not run.receive():
                    self.forget(run)
                elif run.is_complete():
                    request = self.start(run)
                if request is not None:
                    return request

    def accept(self):
        run = Run(self.listener.accept()[0])
        self.runs.add(run)
        self.selector.register(run.connection, selectors.EVENT_READ, run)

    def start(self, run):
        """Forks. Returns the parts of the request in the new process, and None in the server."""
        run.process = os.fork()
        if run.process == 0:
            for number, stream in enumerate(run.streams):
                os.dup2(stream, number)
            for each in self.runs:
                each.close()
            self.selector.close()
            self.listener.close()
            return [os.fsdecode(part) for part in bytes(run.request[:-len(END)]).split(b"\0")]
        run.close_streams()
        run.ended = os.pidfd_open(run.process)
        self.selector.register(run.ended, selectors.EVENT_READ, run)
        return None

    def report(self, run):
        _, status = os.waitpid(run.process, 0)
        code = os.waitstatus_to_exitcode(status)
        self.selector.unregister(run.ended)
        with contextlib.suppress(OSError):  # The client may be gone.
            run.connection.sendall(bytes([code if code >= 0 else 128 - code]))
        self.forget(run)

    def forget(self, run):
        with contextlib.suppress(KeyError):
            self.selector.unregister(run.connection)
        run.close()
        self.runs.remove(run)


def run_test(request):
    """Runs a test as `python3 -m unittest -v NAME` would in this directory and environment."""
    name, directory, *environment = request
    # A shell starts its background processes without these two signals.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(entry.split("=", 1) for entry in environment)
    sys.path[0] = directory
    sys.path[1:1] = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.pycache_prefix = os.environ.get("PYTHONPYCACHEPREFIX")
    sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in os.environ
    tests = unittest.defaultTestLoader.loadTestsFromName(name)
    succeeded = unittest.TextTestRunner(verbosity=2).run(tests).wasSuccessful()
    for thread in threading.enumerate():
        if not thread.daemon and thread is not threading.current_thread():
            thread.join()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0 if succeeded else 1)  # The end of an interpreter would copy every page that it shares with the server.


def main():
    _, path = sys.argv
    gc.freeze()  # A collection would copy every page that it looks into.
    request = Server(path).serve()
    if request is not None:
        run_test(request)


if __name__ == "__main__":
    main()
