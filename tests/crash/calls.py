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


def cell_of(document):
    return document["customer"] + "/" + document["product"]


def entity_of(document):
    entity = document["entity"]
    return f"{cell_of(document)}/{entity['type']}/{entity['id']}"


def began(document, life):
    return Call(document["job"], document["service"], document["attempt"], cell_of(document),
                entity_of(document), life, time.monotonic())
