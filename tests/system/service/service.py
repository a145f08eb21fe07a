"""A celld under a service manager played by the test, which passes it a listening socket and
receives its notifications."""

import fcntl
import os
import socket
import time

from daemon import DEADLINE_S, Daemon

# Moves the socket to descriptor 3; LISTEN_PID is the process that becomes celld.
HAND_OVER = 'exec 3<&"$0"-; export LISTEN_PID=$$ LISTEN_FDS=1; exec "$@"'


def listening_socket(host="127.0.0.1", kind=socket.AF_INET):
    listening = socket.socket(kind, socket.SOCK_STREAM)
    listening.bind((host, 0))
    listening.listen(1024)
    return listening


class Service(Daemon):
    """With a `listening` socket, celld serves that socket, and so does the next process after
    it."""

    def __init__(self, config, directory, listening=None, environment=None):
        arguments = ["--data", os.path.join(directory, "data")]
        if listening is None:
            arguments += ["--listen", "127.0.0.1:0"]
        super().__init__(config, directory, arguments, environment)
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        path = os.path.join(directory, "notify")
        self.manager.bind(path)
        self.environment["NOTIFY_SOCKET"] = path
        if listening is not None:
            # Any descriptor but 3, where HAND_OVER puts it.
            self.pass_fds = (fcntl.fcntl(listening.fileno(), fcntl.F_DUPFD, 10),)

    def command(self):
        if not self.pass_fds:
            return super().command()
        return ["bash", "-c", HAND_OVER, str(self.pass_fds[0]), *super().command()]

    def receive(self, wanted, deadline_s=DEADLINE_S):
        """The next message with the line `wanted`, as a dictionary; skips other messages."""
        give_up_at = time.monotonic() + deadline_s
        skipped = []
        while True:
            self.manager.settimeout(max(0.001, give_up_at - time.monotonic()))
            try:
                lines = self.manager.recv(65536).decode().splitlines()
            except TimeoutError:
                raise AssertionError(f"no {wanted} within {deadline_s} s, only {skipped}\n"
                                     f"{self.log()}") from None
            if wanted in lines:
                return dict(line.split("=", 1) for line in lines)
            skipped.append(lines)

    def forget(self):
        """Closes what this test process holds."""
        self.manager.close()
        for descriptor in self.pass_fds:
            os.close(descriptor)
        self.pass_fds = ()
