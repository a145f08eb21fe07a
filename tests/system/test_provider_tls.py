"""Providers over https: celld calls only those whose certificate it can check.

celld trusts the machine's authorities. Each celld here runs in a mount namespace of its own, in
which the file of these authorities is the test's.
"""

import os
import shutil
import ssl
import subprocess
import unittest

from daemon import Daemon, EndToEnd, a_job, wait_until
from provider import Provider, raw, response
from secure_daemon import Authority

AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
IN_NAMESPACE = ["unshare", "--mount", "--map-root-user", "sh", "-c",
                f'mount --bind "$0" {AUTHORITIES} && exec "$@"']


class SecureProvider(Provider):
    """Serves TLS with the certificate that was presented last, one call per connection."""

    def __init__(self, certificate):
        self.present(certificate)
        super().__init__()
        self.url = self.url.replace("http:", "https:")
        self.always("/", raw(response(200, b"{}")))

    def present(self, certificate):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(*certificate)

    def _serve(self, connection):
        try:
            secure = self.context.wrap_socket(connection, server_side=True)
        except OSError:
            connection.close()
        else:
            super()._serve(secure)


class TrustingDaemon(Daemon):
    """A celld that trusts the authorities of its own file."""

    authorities = None

    def command(self):
        return [*IN_NAMESPACE, self.authorities, *super().command()]


class ProviderTls(EndToEnd):
    def setUp(self):
        super().setUp()
        self.authority = Authority(self.directory, "authority")
        self.authorities = os.path.join(self.directory, "authorities.pem")
        shutil.copy(self.authority.certificate, self.authorities)
        done = subprocess.run([*IN_NAMESPACE, self.authorities, "true"], capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            self.skipTest("this user cannot mount a file: " + done.stderr.strip())

    def secure_provider(self, certificate):
        provider = SecureProvider(certificate)
        self.addCleanup(provider.close)
        return provider

    def start_calling(self, **providers):
        services = {name: {"type": "http", "url": provider.url + "/"}
                    for name, provider in providers.items()}
        self.daemon = TrustingDaemon(
            {"services": services, "cells": [{"customer": "*"}],
             "defaults": {"retry": {"max_attempts": 1, "backoff_ms": 20, "backoff_max_ms": 100}}},
            self.directory)
        self.daemon.authorities = self.authorities
        self.daemon.start()
        self.client = self.daemon.client()
        self.addCleanup(self.end)

    def outcome(self, service, **changes):
        job = self.wait_for_end(self.submit(a_job(service, services=[service], **changes)))
        return job["state"], job["error"] and job["error"]["code"], (job["error"] or
                                                                     {"message": ""})["message"]

    def test_a_certificate_that_celld_cannot_check_is_refused_and_nothing_is_sent(self):
        stranger = Authority(self.directory, "stranger")
        cases = {
            "own": ((stranger.certificate, stranger.key),
                     "its certificate is not valid (self-signed certificate)"),
            "stranger": (stranger.issue("stranger"),
                         "its certificate is not valid (unable to get local issuer certificate)"),
            "expired": (self.authority.issue("expired", days=-1),
                        "its certificate is not valid (certificate has expired)"),
            "host": (self.authority.issue("host", host="IP:127.0.0.2,DNS:dns.example.com"),
                     "its certificate is for another host"),
        }
        providers = {name: self.secure_provider(certificate)
                     for name, (certificate, _) in cases.items()}
        good = self.secure_provider(self.authority.issue("good"))
        self.start_calling(good=good, **providers)
        self.assertEqual(self.outcome("good")[0], "succeeded")
        for name, (_, reason) in cases.items():
            with self.subTest(name):
                self.assertEqual(self.outcome(name),
                                 ("failed", "communications_error",
                                  f"{name} could not be reached: {reason}."))
                self.assertEqual(providers[name].calls_of(), [])

    def test_a_job_waits_for_a_renewed_certificate_and_then_succeeds(self):
        provider = self.secure_provider(self.authority.issue("expired", days=-1))
        self.start_calling(dns=provider)
        job = self.submit(a_job(retry={"max_attempts": 1000}))
        wait_until(lambda: self.job(job)["attempt"] > 2, "celld tries again")
        self.assertEqual(provider.calls_of(), [])
        provider.present(self.authority.issue("renewed"))
        self.assertEqual(self.wait_for_end(job)["state"], "succeeded")

    def test_replaced_authorities_are_noticed_while_calls_are_in_flight(self):
        old = self.secure_provider(self.authority.issue("old"))
        other = Authority(self.directory, "other")
        new = self.secure_provider(other.issue("new"))
        gate = self.provider.hold("/")
        self.start_calling(old=old, new=new, busy=self.provider)
        in_flight = self.submit(a_job("busy", services=["busy"]))
        wait_until(self.provider.running, "a call is in flight")
        self.assertEqual(self.outcome("old")[0], "succeeded")
        job = self.submit(a_job("waits", services=["new"], retry={"max_attempts": 1000}))
        wait_until(lambda: self.job(job)["attempt"] > 2, "celld tries again")
        self.assertEqual(new.calls_of(), [])
        shutil.copyfile(other.certificate, self.authorities)  # In place: the file is mounted.
        self.assertEqual(self.wait_for_end(job)["state"], "succeeded")
        self.assertEqual(self.outcome("old")[:2], ("failed", "communications_error"))
        gate.let_all()
        self.assertEqual(self.wait_for_end(in_flight)["state"], "succeeded")

    def test_celld_does_not_read_all_authorities_for_each_connection(self):
        """That would take its only thread for HTTP calls some 20 ms each time."""
        with open(self.authorities, "a", encoding="utf-8") as file, \
                open(AUTHORITIES, encoding="utf-8") as real:
            file.write(real.read())
        provider = self.secure_provider(self.authority.issue("good"))
        self.start_calling(dns=provider)
        self.outcome("dns")
        before = self.bytes_read()
        for number in range(20):
            self.assertEqual(self.outcome("dns", labels={"n": str(number)})[0], "succeeded")
        self.assertLess(self.bytes_read() - before, 5 * os.path.getsize(self.authorities))

    def bytes_read(self):
        with open(f"/proc/{self.daemon.process.pid}/io", encoding="ascii") as file:
            return int(file.readline().removeprefix("rchar:"))


if __name__ == "__main__":
    unittest.main()
