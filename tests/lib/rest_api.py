"""A REST API that behaves as each test requires, and records its requests."""

import contextlib
import http.server
import threading


class RestApi:
    """A REST API that records requests. `answer` is a function of (method, path, count of earlier
    requests with both), and returns (status, body), followed by any headers as (name, value)."""

    def __init__(self):
        self.requests = []
        self.answer = lambda method, path, count: (200, b"")
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # An answer in one piece: otherwise its end waits for an ACK.

            def handle_request(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                count = sum(1 for each in api.requests if each[:2] == (self.command, self.path))
                headers = {name.lower(): value for name, value in self.headers.items()}
                api.requests.append((self.command, self.path, headers, body))
                status, answer, *more = api.answer(self.command, self.path, count)
                self.send_response(status)
                for name, value in more:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                with contextlib.suppress(OSError):  # celld may have hung up.
                    self.wfile.write(answer)
                    self.wfile.flush()

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_request

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/api"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def lines(self):
        return [f"{method} {path}" for method, path, _, _ in self.requests]
