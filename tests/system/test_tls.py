"""TLS: serving, replacing certificates, and client certificates."""

import json
import os
import signal
import socket
import ssl
import subprocess
import unittest

from daemon import DEADLINE_S, EndToEnd, a_config, a_job, stays, wait_until
from secure_daemon import Authority, SecureDaemon

class Tls(EndToEnd):
    def setUp(self):
        super().setUp()
        self.authority = Authority(self.directory, "authority")
        self.certificate, self.key = self.authority.issue("celld")

    def trusting(self, authority, certificate=None):
        """A client's SSL context: its authority, and the (certificate, key) it presents."""
        context = ssl.create_default_context(cafile=authority.certificate)
        context.verify_flags |= ssl.VERIFY_X509_STRICT  # The default since Python 3.13.
        if certificate is not None:
            context.load_cert_chain(*certificate)
        return context

    def start_tls(self, **changes):
        tls = {"certificate": self.certificate, "key": self.key} | changes.pop("tls", {})
        config = a_config(self.provider, listen={"host": "127.0.0.1", "port": 0, "tls": tls},
                          **changes)
        self.daemon = SecureDaemon(config, self.directory)
        self.daemon.context = self.trusting(self.authority)
        self.daemon.start()
        self.client = self.daemon.client()
        self.addCleanup(self.end)
        return self.client

    def connect(self, context, session=None):
        """A TLS connection after one successful request."""
        raw = socket.create_connection((self.daemon.host, self.daemon.port), DEADLINE_S)
        self.addCleanup(raw.close)
        secure = context.wrap_socket(raw, server_hostname=self.daemon.host, session=session)
        self.addCleanup(secure.close)
        secure.sendall(b"GET /livez HTTP/1.1\r\nHost: celld\r\n\r\n")
        if not secure.recv(4096):
            raise ConnectionError("closed")
        return secure

    def serial(self, context):
        return self.connect(context).getpeercert()["serialNumber"]

    def refused(self, context):
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            self.connect(context)

    def log_has(self, text):
        return wait_until(lambda: text in self.daemon.log(), f"the log contains {text!r}")

    def send_sighup(self, text):
        self.daemon.signal(signal.SIGHUP)
        self.log_has(text)

    # --- Serving ---------------------------------------------------------------------------------

    def test_jobs_run_over_an_encrypted_connection(self):
        client = self.start_tls()
        answer = client.post("/v1/jobs", a_job(), Prefer="wait=30")
        self.assertEqual((answer.status, answer.json["state"]), (200, "succeeded"), answer)
        big = a_job("big", parameters={"text": "x" * 900_000})
        answer = client.post("/v1/jobs", big, Prefer="wait=30")
        self.assertEqual((answer.status, answer.json["state"]), (200, "succeeded"))
        self.assertEqual(len(client.get("/v1/jobs").json["items"]), 2)
        self.assertEqual(self.daemon.stop(), 0)

    def test_curl_talks_to_celld(self):
        self.start_tls()
        url = f"https://{self.daemon.host}:{self.daemon.port}/readyz"
        for version in ("--tlsv1.2", "--tlsv1.3"):
            with self.subTest(version=version):
                done = subprocess.run(
                    ["curl", "--silent", "--show-error", version, "--cacert",
                     self.authority.certificate, url],
                    capture_output=True, text=True, timeout=DEADLINE_S, check=False)
                self.assertEqual((done.returncode, json.loads(done.stdout or "0")),
                                 (0, {"status": "ready"}), done)
        done = subprocess.run(["curl", "--silent", url], capture_output=True, timeout=DEADLINE_S,
                              check=False)
        self.assertEqual(done.returncode, 60, "an unknown authority is not trusted")

    def test_pages_from_celld_itself_are_accepted_under_tls(self):
        client = self.start_tls()
        own = f"https://{self.daemon.host}:{self.daemon.port}"
        self.assertEqual(client.request("GET", "/v1/jobs", None, {"Origin": own}).status, 200)
        self.assert_problem(client.request("GET", "/v1/jobs", None,
                                           {"Origin": "https://evil.example"}), 403)

    def test_a_plaintext_client_does_not_disturb_other_connections(self):
        self.start_tls()
        with socket.create_connection((self.daemon.host, self.daemon.port), DEADLINE_S) as plain:
            plain.sendall(b"GET /livez HTTP/1.1\r\nHost: celld\r\n\r\n")
            try:
                self.assertNotIn(b"200", plain.recv(4096))
            except ConnectionResetError:
                pass
        self.assertEqual(self.client.get("/livez").status, 200)

    # --- Starting --------------------------------------------------------------------------------

    def test_an_unusable_certificate_is_named_and_exits_with_2(self):
        other_key = self.authority.issue("other")[1]
        garbage = os.path.join(self.directory, "garbage.pem")
        with open(garbage, "w", encoding="utf-8") as file:
            file.write("no certificate")
        missing = os.path.join(self.directory, "missing.pem")
        good = {"certificate": self.certificate, "key": self.key}
        path = os.path.join(self.directory, "celld.json")
        for changes, named in (({"certificate": missing}, missing), ({"key": missing}, missing),
                               ({"certificate": garbage}, garbage), ({"key": garbage}, garbage),
                               ({"key": other_key}, other_key),
                               ({"key": self.certificate}, self.certificate),
                               ({"client_ca": missing}, missing), ({"client_ca": garbage}, garbage)):
            listen = {"host": "127.0.0.1", "port": 0, "tls": good | changes}
            with open(path, "w", encoding="utf-8") as file:
                json.dump(a_config(self.provider, listen=listen), file)
            for arguments in ([], ["--check"]):
                with self.subTest(changes=changes, arguments=arguments):
                    done = subprocess.run(
                        [os.environ["CELLD_BINARY"], "--config", path, *arguments], text=True,
                        cwd=self.directory, capture_output=True, timeout=DEADLINE_S, check=False)
                    self.assertEqual((done.returncode, done.stdout), (2, ""), done)
                    self.assertIn("/listen/tls: " + named, done.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.directory, "data")))

    def test_paths_are_relative_to_the_working_directory(self):
        self.certificate, self.key = (os.path.relpath(path, self.directory)
                                      for path in (self.certificate, self.key))
        self.assertEqual(self.start_tls().get("/livez").status, 200)

    # --- Replacing certificates ------------------------------------------------------------------

    def replace(self, certificate):
        for source, target in zip(certificate, (self.certificate, self.key), strict=True):
            os.replace(source, target)

    def test_sighup_reloads_the_certificate(self):
        self.start_tls()
        trusting = self.trusting(self.authority)
        open_one = self.connect(trusting)
        before = self.serial(trusting)
        self.replace(self.authority.issue("next"))
        self.assertEqual(self.serial(trusting), before, "not before the reload")
        self.send_sighup("the configuration was reloaded")
        self.assertNotEqual(self.serial(trusting), before)
        open_one.sendall(b"GET /livez HTTP/1.1\r\nHost: celld\r\n\r\n")
        self.assertIn(b"200 OK", open_one.recv(4096), "an open connection continues")

    def test_an_expired_certificate_is_a_warning_at_a_start_and_at_a_reload(self):
        self.start_tls()
        self.assertNotIn("expired", self.daemon.log())
        self.replace(self.authority.issue("old", days=-1))
        self.send_sighup("the configuration was reloaded")
        self.assertRegex(self.daemon.log(),
                         r"warning.*the certificate expired at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
        self.assertEqual(self.daemon.stop(), 0)
        self.daemon.start()
        self.assertEqual(self.daemon.log().count("the certificate expired at"), 2)

    def test_sighup_with_a_bad_certificate_keeps_the_old_one(self):
        self.start_tls()
        trusting = self.trusting(self.authority)
        before = self.serial(trusting)
        with open(self.key, "rb") as file:
            good = file.read()
        with open(self.key, "wb") as file:
            file.write(b"half a key")
        self.send_sighup("/listen/tls: " + self.key)
        self.assertEqual(self.serial(trusting), before)
        self.assertEqual(self.client.get("/readyz").status, 200)
        with open(self.key, "wb") as file:
            file.write(good)
        self.send_sighup("the configuration was reloaded")
        self.assertEqual(self.serial(trusting), before)
        self.assertNotIn("half a key", self.daemon.log())

    def test_sighup_without_tls_keeps_serving_http(self):
        self.start()
        self.send_sighup("the configuration was reloaded")
        stays(lambda: self.client.get("/readyz").status == 200, "celld serves")

    def test_tls_that_is_to_go_at_the_next_start_needs_no_files_until_then(self):
        self.start_tls()
        with open(self.daemon.config_path, encoding="utf-8") as file:
            config = json.load(file)
        del config["listen"]["tls"]
        self.daemon.write_config(config)
        os.remove(self.certificate)
        self.send_sighup("/listen/tls differs in the file; the change takes effect")
        self.assertEqual(self.client.get("/readyz").status, 200)

    # --- Client certificates ---------------------------------------------------------------------

    def test_only_clients_with_a_certificate_of_the_authority_are_served(self):
        clients = Authority(self.directory, "clients")
        certificate = clients.issue("client")
        self.start_tls(tls={"client_ca": clients.certificate})
        self.connect(self.trusting(self.authority, certificate))
        self.refused(self.trusting(self.authority))
        self.refused(self.trusting(self.authority, self.authority.issue("stranger")))
        self.connect(self.trusting(self.authority, certificate))

    def test_a_client_with_a_certificate_may_resume_its_session(self):
        clients = Authority(self.directory, "clients")
        certificate = clients.issue("client")
        self.start_tls(tls={"client_ca": clients.certificate})
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = self.trusting(self.authority, certificate)
            context.maximum_version = version
            session = self.connect(context).session
            self.assertTrue(self.connect(context, session).session_reused, version)

    def test_sighup_reloads_the_client_authorities(self):
        old, new = Authority(self.directory, "old"), Authority(self.directory, "new")
        of_old, of_new = old.issue("client"), new.issue("client")
        self.start_tls(tls={"client_ca": old.certificate})
        self.connect(self.trusting(self.authority, of_old))
        self.refused(self.trusting(self.authority, of_new))
        os.replace(new.certificate, old.certificate)
        self.send_sighup("the configuration was reloaded")
        self.connect(self.trusting(self.authority, of_new))
        self.refused(self.trusting(self.authority, of_old))


if __name__ == "__main__":
    unittest.main()
