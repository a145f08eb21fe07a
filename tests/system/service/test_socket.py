"""celld with an inherited listening socket."""

import fcntl
import os
import shutil
import socket
import subprocess
import tempfile
import unittest

from daemon import DEADLINE_S, Daemon, a_config, a_job
from provider import Provider
from service import Service, listening_socket


class Socket(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="celld-service-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.provider = Provider()
        self.addCleanup(self.provider.close)

    def service(self, listening, **changes):
        service = Service(a_config(self.provider, **changes), self.directory, listening)
        self.addCleanup(service.forget)
        self.addCleanup(lambda: service.running() and service.kill())
        return service

    def refusal(self, descriptors, arguments=(), count=None, **changes):
        """What celld prints about these sockets before it exits with 2."""
        daemon = Daemon(a_config(self.provider, **changes), self.directory)
        moves = "".join(f" {3 + i}<&{d}-" for i, d in enumerate(descriptors))
        count = len(descriptors) if count is None else count
        script = f'exec{moves}; export LISTEN_PID=$$ LISTEN_FDS={count}; exec "$@"'
        ended = subprocess.run(
            ["bash", "-c", script, "bash", os.environ["CELLD_BINARY"], "--config",
             daemon.config_path, "--data", daemon.data, *arguments],
            pass_fds=descriptors, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
            text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(ended.returncode, 2, ended.stderr)
        return ended.stderr

    def duplicate(self, sock):
        """A copy with a number above those that celld inherits."""
        self.addCleanup(sock.close)
        copy = fcntl.fcntl(sock.fileno(), fcntl.F_DUPFD, 10)
        self.addCleanup(os.close, copy)
        return copy

    def test_celld_serves_an_inherited_socket(self):
        for host, kind in (("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)):
            with self.subTest(host), listening_socket(host, kind) as listening:
                service = self.service(listening, listen={"host": "127.0.0.1", "port": 1})
                service.start()
                self.assertEqual((service.host.strip("[]"), service.port),
                                 listening.getsockname()[:2])
                self.assertEqual(service.client().post("/v1/jobs", a_job()).status, 202)
                self.assertEqual(service.stop(), 0)
                shutil.rmtree(self.directory)
                os.mkdir(self.directory)

    def test_who_connected_before_the_start_is_served(self):
        with listening_socket() as listening:
            early = socket.create_connection(listening.getsockname(), timeout=DEADLINE_S)
            early.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            service = self.service(listening).start()
            self.assertTrue(early.recv(100).startswith(b"HTTP/1.1 200 "))
            early.close()
            self.assertEqual(service.stop(), 0)

    def test_a_socket_for_another_process_is_left_alone(self):
        with listening_socket() as listening:
            service = self.service(None)
            service.environment.update(LISTEN_PID="1", LISTEN_FDS="1")
            service.start()
            self.assertNotEqual(service.port, listening.getsockname()[1])
            self.assertEqual(service.stop(), 0)

    def test_anything_but_a_listening_tcp_socket_is_refused(self):
        idle = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        local = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        local.bind(os.path.join(self.directory, "local"))
        local.listen()
        for sock in (idle, datagrams, local):
            with self.subTest(sock):
                self.assertEqual(self.refusal([self.duplicate(sock)]),
                                 "celld: LISTEN_FDS: descriptor 3 is not a listening TCP socket\n")
        with open(os.devnull, "rb") as file:
            self.assertIn("not a listening TCP socket", self.refusal([self.duplicate(file)]))

    def test_two_sockets_are_refused(self):
        said = self.refusal([self.duplicate(listening_socket()) for _ in range(2)])
        self.assertEqual(said, "celld: LISTEN_FDS: celld serves one socket but was passed 2\n")

    def test_a_number_of_sockets_that_is_none_is_refused(self):
        said = self.refusal([], ["--check"], count="one")
        self.assertEqual(said, "celld: LISTEN_FDS: Invalid argument\n")

    def test_a_socket_and_an_address_exclude_each_other(self):
        said = self.refusal([self.duplicate(listening_socket())], ["--listen", "127.0.0.1:0"])
        self.assertIn("--listen or CELLD_LISTEN: celld was passed a socket that listens on "
                      "127.0.0.1:", said)

    def test_without_tokens_the_socket_has_to_be_on_loopback(self):
        said = self.refusal([self.duplicate(listening_socket("0.0.0.0"))])
        self.assertRegex(said, r"/listen/host: the socket of LISTEN_FDS: .0\.0\.0\.0:\d+. must be "
                               "a loopback address")


if __name__ == "__main__":
    unittest.main()
