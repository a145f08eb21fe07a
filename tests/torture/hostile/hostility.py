"""One hostile behaviour, and how an attempt that meets it must end."""

import dataclasses
import re

# The messages of interpret() in src/providers; {} is the service. At its deadline, an attempt is
# ended by its provider or, if the provider is slower, by its dispatcher. On a busy machine the
# attempt may not have reached its service by then.
OUT_OF_TIME = ("timeout", r"{} did not answer in time\.|{} could not be reached in time\.|"
                          r"the attempt had not ended after \d+ ms")
NOT_REACHED = ("communications_error", r"{} could not be reached: .+\.")
BROKEN = ("communications_error",
          r"The connection to {} ended before its answer was complete(: .+)?\.")
NOT_HTTP = ("invalid_response", r"{} answered with something that is not HTTP\.")
TOO_LARGE = ("invalid_response", r"{} answered with more than celld accepts "
                                 r"\(64 KiB of headers, 1 MiB of body\)\.")
NOT_JSON = ("invalid_response",
            r"{} answered with a (compressed body \(gzip\)|"
            r"body that (is not a JSON object|cannot be read: .+))\.")
KILLED_IN_TIME = ("timeout", r"{} did not finish in time and was killed\.|"
                             r"the attempt had not ended after \d+ ms")
KILLED_TOO_LARGE = ("invalid_response",
                    r"{} wrote more output than celld accepts \(1 MiB\) and was killed\.")
SUCCESS = (None, "")
# After these ends, celld closes the connection.
GIVEN_UP = (OUT_OF_TIME, NOT_REACHED, BROKEN, NOT_HTTP, TOO_LARGE)

POLL_INTERVAL_MS = 100
LARGE_BYTES = 300_000  # Size of a job's parameters: more than a socket or a pipe can buffer.


@dataclasses.dataclass(frozen=True)
class HostileBehaviour:
    """`act` is what the provider does. For an answer, it makes a behaviour of tests/lib/provider.py
    from a Random; for a connection, it makes a function of the connection from a Random; for a
    command, it is the text of a shell script. `ends` holds the correct ends, as (code, text)."""

    name: str
    act: object
    ends: tuple
    parameter_bytes: int = 0     # Size of the job's parameters.
    tls: bool = False            # The service's URL is https.
    mapping: "dict | None" = dataclasses.field(default=None, compare=False)  # Of the service.

    @property
    def timeout_ms(self):
        """Short if time ends the attempt; otherwise long enough for a slow machine."""
        return 600 if any(code == "timeout" for code, _ in self.ends) else 20_000

    @property
    def polls_max(self):
        """Each poll but the last comes an interval after the answer to the one before."""
        return self.timeout_ms // POLL_INTERVAL_MS + 1 if self.mapping else 0

    def fault(self, job):
        """What is wrong with the end of the job; None when nothing is."""
        state = "failed" if job["error"] else "succeeded"
        if job["state"] == state and self._ended_as(job, self.ends):
            return None
        return f"ended {job['state']} with {job['error']}, not as one of {self.ends}"

    def given_up(self, job):
        """Whether the call was aborted or failed without an answer."""
        return self._ended_as(job, GIVEN_UP)

    def _ended_as(self, job, ends):
        error = job["error"]
        got = (error["code"], error["message"]) if error else SUCCESS
        return any(got[0] == code and
                   re.fullmatch(text.replace("{}", re.escape(self.name)), got[1] or "")
                   for code, text in ends)


def status(number, what=""):
    return "invalid_response", (r"{} answered with HTTP status " + str(number) +
                                r", which is neither a success nor an error\.") + what
