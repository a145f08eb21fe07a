"""The `command` service of the crash cycles: one script that logs when each run begins and ends.

The script and the processes it leaves behind hold a lock on the job's entity. A run that finds the
lock taken logs an overlap. `parameters.outcome` means the same as for the HTTP provider, except
that `slow` also leaves a child behind, and `hang` ignores SIGTERM and, like its child, never ends.
"""

import os
import stat
import time

from calls import Call

TICK_S = 0.01  # Resolution of /proc/uptime, the clock a shell can read without a process.

# Only flock and sleep are processes of their own, so a run takes a millisecond or two.
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
    """Writes the script. Returns its path."""
    os.mkdir(os.path.join(directory, "locks"))
    path = os.path.join(directory, "command")
    with open(path, "w", encoding="utf-8") as file:
        file.write(SCRIPT)
    os.chmod(path, stat.S_IRWXU)
    return path


def is_command(arguments):
    """Whether a process with these arguments is a command, and not a child of one."""
    return arguments.startswith("/bin/sh ")


def service(directory, run, life):
    return {"type": "command", "argv": [os.path.join(directory, "command")],
            "env": {"D": directory, "PATH": os.environ["PATH"], "CRASH_RUN": run,
                    "CRASH_LIFE": str(life)}}


def read_log(faults, directory):
    """The calls that the commands logged, never longer than they were. A call without a logged end
    counts as ended at once: its lock detects overlaps."""
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
            faults.expect(False, "a command began while another for its entity was alive", line)
        elif note == "begin":
            call = Call(job, "tool", int(attempt), cell, f"{cell}/{kind}/{entity}",
                        int(life), at + TICK_S, ended_at=at, broken=True)
            calls.append(call)
            under_way[job] = call
        else:
            call = under_way.pop(job)
            call.ended_at, call.broken, call.succeeded = at, False, note == "success"
    return calls
