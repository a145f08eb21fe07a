"""A celld that serves TLS, and a certificate authority for it and its clients."""

import http.client
import os
import re
import subprocess

from daemon import DEADLINE_S, Client, Daemon

A_KEY = ("ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=DEADLINE_S)


class Authority:
    """A certificate authority in its own directory."""

    def __init__(self, directory, name):
        self.directory = os.path.join(directory, name)
        os.mkdir(self.directory)
        self.key, self.certificate = self.path("ca.key"), self.path("ca.pem")
        openssl("req", "-x509", "-newkey", *A_KEY, "-nodes", "-days", "2", "-subj",
                f"/CN={name}", "-addext", "keyUsage=critical,keyCertSign", "-keyout", self.key,
                "-out", self.certificate)

    def path(self, name):
        return os.path.join(self.directory, name)

    def issue(self, name, host="IP:127.0.0.1", days=2):
        """Issues a certificate for a host, expired if `days` is negative; returns its path and its
        key's."""
        key, request = self.path(name + ".key"), self.path(name + ".csr")
        certificate, extensions = self.path(name + ".pem"), self.path(name + ".ext")
        with open(extensions, "w", encoding="utf-8") as file:
            file.write(f"subjectAltName={host}\nsubjectKeyIdentifier=hash\n"
                       "authorityKeyIdentifier=keyid\n")
        openssl("req", "-newkey", *A_KEY, "-nodes", "-subj", f"/CN={name}", "-keyout", key, "-out",
                request)
        openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key,
                "-CAcreateserial", "-days", str(days), "-extfile", extensions, "-out", certificate)
        return certificate, key


class SecureDaemon(Daemon):
    """A celld that serves TLS; `context` is the SSL context of its clients."""

    context = None

    def start(self):
        """As Daemon.start, but expects an https URL."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("CELLD_")}
        with open(self.stderr_path, "ab") as log:
            self.process = subprocess.Popen(self.command(), stdout=subprocess.PIPE, stderr=log,
                                            stdin=subprocess.DEVNULL, env=environment,
                                            cwd=self.directory)
        line = self.process.stdout.readline().decode()
        place = re.fullmatch(r"celld listening on https://(.+):(\d+)\n", line)
        if place is None:
            self.kill()
            raise AssertionError(f"celld does not serve https; it printed {line!r}\n{self.log()}")
        self.host, self.port = place[1], int(place[2])
        return self

    def client(self, timeout_s=70.0):
        client = Client(self.host, self.port, timeout_s)
        client.connection = http.client.HTTPSConnection(self.host, self.port, timeout=timeout_s,
                                                        context=self.context)
        return client
