"""A typical Python client: a session of requests.

usage: requests_client.py BASE_URL; exits with 0 if every check passes.
"""

import json
import sys

import requests

base = sys.argv[1]


def job(entity_id):
    return {"customer": "acme", "product": "dns", "action": "create",
            "entity": {"type": "zone", "id": entity_id}, "services": ["demo"]}


def keeps_its_connection(session):
    for i in range(50):
        assert session.get(f"{base}/livez", timeout=30).json() == {"status": "ok"}
        accepted = session.post(f"{base}/v1/jobs", json=job(f"requests-{i}"), timeout=30)
        assert accepted.status_code == 202, accepted.text
    pools = session.get_adapter(base).poolmanager.pools
    pool = pools[next(iter(pools.keys()))]
    assert (pool.num_connections, pool.num_requests) == (1, 100), pool.num_connections


def waits_for_a_job(session):
    ended = session.post(f"{base}/v1/jobs", json=job("requests-wait"),
                         headers={"Prefer": "wait=20"}, timeout=30)
    assert (ended.status_code, ended.json()["state"]) == (200, "succeeded"), ended.text


def reads_refusals_of_large_bodies(session):
    for size in ((1 << 20) + 1, 5 << 20):
        for _ in range(5):
            refused = session.post(f"{base}/v1/jobs", data=b" " * size, timeout=30,
                                   headers={"Content-Type": "application/json"})
            assert refused.status_code == 413, refused.text
            assert refused.json()["type"] == "/problems/content-too-large"


def sends_chunks(session):
    text = json.dumps(job("requests-chunked")).encode()
    pieces = (text[at:at + 10] for at in range(0, len(text), 10))
    accepted = session.post(f"{base}/v1/jobs", data=pieces, timeout=30,
                            headers={"Content-Type": "application/json"})
    assert accepted.status_code == 202, accepted.text


def takes_a_large_body(session):
    large = dict(job("requests-large"), parameters={"text": "x" * 1_000_000})
    accepted = session.post(f"{base}/v1/jobs", json=large, timeout=30)
    assert accepted.status_code == 202, accepted.text
    shown = session.get(f"{base}{accepted.headers['Location']}", timeout=30)
    assert len(shown.json()["parameters"]["text"]) == 1_000_000


def follows_events(session):
    with session.get(f"{base}/v1/events?customer=acme", stream=True, timeout=30) as stream:
        assert stream.headers["Content-Type"] == "text/event-stream"
        requests.post(f"{base}/v1/jobs", json=job("requests-followed"), timeout=30)
        for line in stream.iter_lines():
            if line.startswith(b"data:") and b"requests-followed" in line:
                if json.loads(line[5:])["state"] == "succeeded":
                    return
    raise AssertionError("the events ended")


with requests.Session() as shared:
    shared.trust_env = False
    keeps_its_connection(shared)
    waits_for_a_job(shared)
    sends_chunks(shared)
    takes_a_large_body(shared)
    reads_refusals_of_large_bodies(shared)
    follows_events(shared)
