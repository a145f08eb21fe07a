"""A call as its provider saw it: an HTTP request or the run of a command."""

import dataclasses
import time


@dataclasses.dataclass
class Call:
    """Times are from CLOCK_MONOTONIC, which all processes share."""
    job: str
    service: str
    attempt: int
    cell: str
    entity: str
    life: int                       # The life of celld that made the call, by its configuration.
    began_at: float
    ended_at: "float | None" = None  # Just before the answer left; None: never ended.
    broken: bool = False            # celld hung up before the answer.
    alive_at: float = 0.0           # If broken: when celld had certainly not hung up yet.
    succeeded: bool = False
    key: "str | None" = None        # The Idempotency-Key header; None for a command.
    undo: bool = False

    @property
    def over(self):
        """celld had hung up before the provider read the call."""
        return self.broken and self.ended_at == self.began_at


def began(document, life, key):
    entity = document["entity"]
    cell = document["customer"] + "/" + document["product"]
    return Call(document["job"], document["service"], document["attempt"], cell,
                f"{cell}/{entity['type']}/{entity['id']}", life, time.monotonic(), key=key,
                undo=document.get("undo", False))
