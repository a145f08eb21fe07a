"""Asks /livez of a port as a process of its own: nobody else's work is in its times.

    livez_probe.py PORT

Connects and prints a line; then, for each number of seconds on its standard input, asks for so long
and prints the median time of an answer.
"""

import http.client
import statistics
import sys
import time

GAP_S = 0.01


def median(connection, seconds):
    times = []
    until = time.monotonic() + seconds
    while not times or time.monotonic() < until:
        begun = time.monotonic()
        connection.request("GET", "/livez")
        response = connection.getresponse()
        response.read()
        times.append(time.monotonic() - begun)
        if response.status != 200:
            sys.exit(f"/livez answered {response.status}")
        time.sleep(GAP_S)
    return statistics.median(times)


def main():
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=60)
    print(median(connection, 0), flush=True)
    for line in sys.stdin:
        print(median(connection, float(line)), flush=True)


if __name__ == "__main__":
    main()
