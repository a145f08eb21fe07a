"""Tokens of tests: their texts, and their entries in a configuration."""

import hashlib

SCOPES = ("submit", "read", "work", "admin")
# A token may be any text that RFC 6750 allows; these are easy to find in a log.
TOKENS = {scope: f"secret-token-of-{scope}" for scope in SCOPES}
TOKENS |= {"acme": "secret-token-of-acme", "bolt": "secret-token-of-bolt",
           "unknown": "secret-token-that-is-not-configured"}


def sha256(token):
    return hashlib.sha256(token.encode()).hexdigest()


def entry(name, scopes, customer=None):
    made = {"name": name, "sha256": sha256(TOKENS[name]), "scopes": list(scopes)}
    if customer is not None:
        made["customer"] = customer
    return made


def the_auth():
    return {"tokens": [entry(scope, [scope]) for scope in SCOPES] +
            [entry("acme", SCOPES, "acme"), entry("bolt", SCOPES, "bolt")]}


def bearer(name):
    return {"Authorization": f"Bearer {TOKENS[name]}"}
