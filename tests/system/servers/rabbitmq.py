"""Debian's RabbitMQ with its management API, with a directory of its own and no service."""

import base64
import contextlib
import json
import os
import socket
import urllib.error
import urllib.parse
import urllib.request

from daemon import DEADLINE_S
from ports import free_port
from servers import DIRECT, PROBE_S, TOOLS, Server, find

USER, PASSWORD = "celld", "password-of-the-test"
ERL = """\
#!/bin/sh
# Debian's erl runs what is below /usr/lib/erlang, wherever it was unpacked.
export ROOTDIR='{erlang}' BINDIR='{runtime}' EMU=beam PROGNAME=erl
exec "$BINDIR/erlexec" "$@"
"""


class Names(Server):
    """Erlang's name server. RabbitMQ would start one that outlives it."""

    def __init__(self, add_cleanup):
        self.program, self.environment = find("usr/bin/epmd", "rabbitmq-server")
        super().__init__(add_cleanup)
        self.environment = {**self.environment, "ERL_EPMD_ADDRESS": "127.0.0.1",
                            "ERL_EPMD_PORT": str(self.port)}

    def start(self):
        self.spawn([self.program], self.environment)
        return self

    def answers(self):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port), DEADLINE_S).close()
            return True
        return False


class RabbitMq(Server):
    """`user` is an administrator with this password."""

    start_deadline_s = 4 * DEADLINE_S

    def __init__(self, add_cleanup, user=USER, password=PASSWORD):
        self.program, libraries = find("usr/lib/rabbitmq/bin/rabbitmq-server", "rabbitmq-server")
        runtime, _ = find("usr/lib/erlang/erts-*/bin", "rabbitmq-server")
        self.names = Names(add_cleanup).start()
        super().__init__(add_cleanup)
        self.user, self.password = user, password
        # Of an unpacked server, Erlang itself may be installed, and some of its libraries unpacked.
        self.libraries = {"ERL_LIBS": os.path.join(TOOLS, "rabbitmq-server/usr/lib/erlang/lib")
                          } if libraries else {}
        self.url = f"http://127.0.0.1:{self.port}/api"
        self.write_erl(runtime)
        self.write("plugins", "[rabbitmq_management].\n")
        self.write("rabbitmq.conf", f"""\
default_user = {user}
default_pass = {password}
default_user_tags.administrator = true
management.tcp.ip = 127.0.0.1
management.tcp.port = {self.port}
""")

    def write(self, name, text, mode=0o644):
        """A file that the server may read, whatever the umask."""
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)

    def write_erl(self, runtime):
        os.mkdir(os.path.join(self.directory, "bin"))
        os.chmod(os.path.join(self.directory, "bin"), 0o755)
        erlang = os.path.dirname(os.path.dirname(runtime))
        self.write("bin/erl", ERL.format(erlang=erlang, runtime=runtime), 0o755)

    def start(self):
        def below(name):
            return os.path.join(self.directory, name)
        self.spawn([self.program, "-noinput"], {
            **self.names.environment, **self.libraries,
            "HOME": self.directory,
            "PATH": f"{below('bin')}:/usr/bin:/bin",
            "RABBITMQ_ALLOW_INPUT": "1",  # Makes Erlang replace the shell.
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_LOGS": "-",
            # One thread, which sleeps when there is no work.
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none",
            "RABBITMQ_NODENAME": "celld-test@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(free_port()),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_MNESIA_BASE": below("data"),
            "RABBITMQ_LOG_BASE": below("logs"),
            "RABBITMQ_CONFIG_FILE": below("rabbitmq"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": below("plugins"),
        })
        return self

    def authorization(self):
        return "Basic " + base64.b64encode(f"{self.user}:{self.password}".encode()).decode()

    def ask(self, *segments, timeout_s=DEADLINE_S):
        """The answer to a GET; None: 404."""
        path = "".join("/" + urllib.parse.quote(segment, safe="") for segment in segments)
        request = urllib.request.Request(self.url + path,
                                         headers={"Authorization": self.authorization()})
        try:
            with DIRECT.open(request, timeout=timeout_s) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                if error.code != 404:
                    raise
            return None

    def answers(self):
        with contextlib.suppress(OSError):
            return self.ask("overview", timeout_s=PROBE_S) is not None
        return False
