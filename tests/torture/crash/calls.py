"""One call of a provider, as the provider saw it: an HTTP request, or the run of a command."""

import dataclasses
import time


@dataclasses.dataclass
class Call:
    """Times are of CLOCK_MONOTONIC, which all processes share."""
    job: str
    service: str
    attempt: int
    cell: str
    entity: str
    life: int                       # Which celld made it: what its configuration says.
    began_at: float
    ended_at: "float | None" = None  # Before the answer left; None: it never did.
    broken: bool = False            # celld went away before the answer.
    succeeded: bool = False
    key: "str | None" = None        # The Idempotency-Key; a command gets none.


def began(document, life, key):
    entity = document["entity"]
    cell = document["customer"] + "/" + document["product"]
    return Call(document["job"], document["service"], document["attempt"], cell,
                f"{cell}/{entity['type']}/{entity['id']}", life, time.monotonic(), key=key)
