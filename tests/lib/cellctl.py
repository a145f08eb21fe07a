"""cellctl under test."""

import contextlib
import http.server
import json
import os
import select
import subprocess
import threading
import time

from daemon import DEADLINE_S, SLOWDOWN, EndToEnd, wait_until
from ports import free_port

OK, FAILED, USAGE, REFUSED, NOT_FOUND, UNAVAILABLE, NOT_ENDED, OUTPUT = range(8)


def binary():
    beside = os.path.join(os.path.dirname(os.environ["CELLD_BINARY"]), "cellctl")
    return os.environ.get("CELLCTL_BINARY", beside)


class Canned(http.server.BaseHTTPRequestHandler):
    """Sends the responses of `script` (status, headers, body) in order, and repeats the last."""

    script = []
    requests = []

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def response(self):
        return self.script[min(len(self.requests), len(self.script)) - 1]

    def do_POST(self):
        self.requests.append((self.path, dict(self.headers), self.body()))
        status, headers, text = self.response()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        with contextlib.suppress(BrokenPipeError):  # The client may have gone.
            self.wfile.write(text)

    do_GET = do_POST

    def log_message(self, *_):
        pass


class CellctlTest(EndToEnd):
    def environment(self, **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith("CELLD_")}
        env.pop("NO_COLOR", None)
        if self.daemon and self.daemon.port:
            env["CELLD_URL"] = f"http://{self.daemon.host}:{self.daemon.port}"
        return {**env, **more}

    def keep_port(self):
        """To be called before `start`: celld serves at one port, also after a restart."""
        self.arguments = ["--listen", f"127.0.0.1:{free_port()}",
                          "--data", os.path.join(self.directory, "data")]

    def run_cellctl(self, *arguments, code=OK, stdin=None, **environment):
        done = subprocess.run([binary(), *arguments], env=self.environment(**environment),
                              cwd=self.directory, capture_output=True, timeout=DEADLINE_S,
                              input=stdin if stdin is not None else b"", check=False)
        done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
        self.assertEqual(done.returncode, code, done)
        return done

    def cellctl(self, *arguments, **options):
        """Standard output of a run that prints nothing to standard error."""
        done = self.run_cellctl(*arguments, **options)
        self.assertEqual(done.stderr, "", done)
        return done.stdout

    def cellctl_json(self, *arguments, **options):
        return json.loads(self.cellctl(*arguments, "--json", **options))

    def begin(self, *arguments, stdin=None, **environment):
        """A cellctl that runs in the background."""
        process = subprocess.Popen([binary(), *arguments], env=self.environment(**environment),
                                   stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   cwd=self.directory, bufsize=0)

        def end():
            process.kill()
            process.wait(DEADLINE_S)
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    stream.close()
        self.addCleanup(end)
        return process

    def a_line(self, stream):
        """The next line of the stream; fails if none arrives in time."""
        readable, _, _ = select.select([stream], [], [], DEADLINE_S)
        self.assertTrue(readable, "a line arrives in time")
        return stream.readline().decode()

    def await_streams(self, count):
        """Waits until `count` clients follow events and have received the first bytes."""
        gauge = f"\ncelld_http_event_streams {count}\n".encode()
        wait_until(lambda: gauge in self.client.get("/metrics").body, f"{count} follow events")
        time.sleep(0.2 * SLOWDOWN)

    def canned(self, *script):
        """The URL of a server other than celld, and the list of its requests."""
        return self.serve(Canned, script=script)

    def serve(self, kind, **members):
        """As `canned`, with a handler of this kind."""
        handler = type("Script", (kind,), {"requests": [], **members})
        server = http.server.HTTPServer(("127.0.0.1", 0), handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        self.addCleanup(thread.join, DEADLINE_S)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}", handler.requests

    def a_submit(self, *more):
        return ("submit", "--customer", "acme", "--product", "dns", "--action", "create",
                "--service", "dns", "--entity", "zone/example.com", *more)
