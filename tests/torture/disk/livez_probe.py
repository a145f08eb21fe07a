"""Requests /livez on some ports. It is a process of its own, so that the work of the test does not
distort its times.

    livez_probe.py PORT...

Connects and prints a line. Then, for each number of seconds on its standard input, requests /livez
from one port after the other for this long, and prints the longest response time of each port in
seconds.
"""

import http.client
import sys
import time

GAP_S = 0.01


def ask(connection):
    begun = time.monotonic()
    connection.request("GET", "/livez")
    response = connection.getresponse()
    response.read()
    if response.status != 200:
        sys.exit(f"/livez answered {response.status}")
    return time.monotonic() - begun


def longest(connections, seconds):
    found = [0.0] * len(connections)
    until = time.monotonic() + seconds
    while not all(found) or time.monotonic() < until:
        found = [max(most, ask(connection)) for most, connection in zip(found, connections)]
        time.sleep(GAP_S)
    return found


def main():
    connections = [http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
                   for port in sys.argv[1:]]
    print(*longest(connections, 0), flush=True)
    for line in sys.stdin:
        print(*longest(connections, float(line)), flush=True)


if __name__ == "__main__":
    main()
