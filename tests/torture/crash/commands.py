"""The `command` service of the crash cycles: one script, which notes each begin and end.

It holds a lock for its entity as long as it or any process that it left behind lives; who finds
the lock taken notes an overlap. `parameters.outcome` says what it does, as for the HTTP provider:
`slow` takes long and leaves a child behind, `hang` ignores SIGTERM and never ends, nor does its
child.
"""

import os
import stat
import time

from calls import Call

TICK_S = 0.01  # What a shell can read a clock by without a process.

# Nothing but flock and sleep is a process of its own: a run takes a millisecond or two.
SCRIPT = r'''#!/bin/sh
member() {  # member NAME: the first text or number of that name in the document.
  value=${document#*\"$1\":}
  value=${value#\"}
  value=${value%%[\",\}]*}
}
note() {
  read -r now _ </proc/uptime
  echo "$1 $now $job $attempt $customer/$product $type $id $CRASH_LIFE" >>"$D/commands"
}
read -r document
member job; job=$value
member attempt; attempt=$value
member customer; customer=$value
member product; product=$value
member type; type=$value
member id; id=$value
member outcome; outcome=$value

exec 9>>"$D/locks/$customer-$product-$type-$id"
flock --nonblock 9 || note overlap
note begin
case $outcome in
  reject) note end; exit 1 ;;
  flaky) [ "$attempt" -gt 1 ] || { note end; exit 75; } ;;
  slow) sleep 1000 & sleep 0.2 ;;
  hang) trap '' TERM INT HUP; sleep 1000 & while :; do sleep 1000; done ;;
esac
note success
echo "{\"properties\": {\"tool\": \"$job\"}}"
'''


def install(directory):
    """The script's path."""
    os.mkdir(os.path.join(directory, "locks"))
    path = os.path.join(directory, "command")
    with open(path, "w", encoding="utf-8") as file:
        file.write(SCRIPT)
    os.chmod(path, stat.S_IRWXU)
    return path


def service(directory, run, life):
    return {"type": "command", "argv": [os.path.join(directory, "command")],
            "env": {"D": directory, "PATH": os.environ["PATH"], "CRASH_RUN": run,
                    "CRASH_LIFE": str(life)}}


def read_log(faults, directory):
    """The calls that the commands have noted, none longer than it was. One without an end counts as
    over at once: what it does to others, its lock says."""
    try:
        with open(os.path.join(directory, "commands"), encoding="utf-8") as file:
            lines = [line[:-1] for line in file if line.endswith("\n")]
    except FileNotFoundError:
        return []
    since_boot = time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()
    calls, under_way = [], {}
    for line in lines:
        note, now, job, attempt, cell, kind, entity, life = line.split()
        at = float(now) - since_boot
        if note == "overlap":
            faults.expect(False, "a command began while one for its entity had not gone", line)
        elif note == "begin":
            call = Call(job, "tool", int(attempt), cell, f"{cell}/{kind}/{entity}",
                        int(life), at + TICK_S, ended_at=at, broken=True)
            calls.append(call)
            under_way[job] = call
        else:
            call = under_way.pop(job)
            call.ended_at, call.broken, call.succeeded = at, False, note == "success"
    return calls
