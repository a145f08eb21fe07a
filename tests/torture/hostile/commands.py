"""Commands that do not end, that leave processes, or that write too much: shell scripts."""

from hostility import (KILLED_IN_TIME, KILLED_TOO_LARGE, LARGE_BYTES, NOT_JSON, SUCCESS,
                       HostileBehaviour)

DEAF = 'trap "" TERM INT HUP QUIT PIPE; '
NEVER_END = DEAF + "while :; do sleep 1000; done"
# This many children, which ignore every signal but KILL.
CHILDREN = 'i=0; while [ $i -lt {} ]; do ({}) & i=$((i + 1)); done; '
# Bounded, so that a fault in celld cannot fill a machine.
GIGABYTES = "head -c 10G /dev/zero"


def by_signal(number):
    return ("provider_error", r"{} was killed by signal " + str(number) + r"\.")


COMMANDS = [HostileBehaviour(*row[:3], **(row[3] if len(row) > 3 else {})) for row in (
    # Commands that do not end.
    ("never-ends", NEVER_END, (KILLED_IN_TIME,)),
    ("never-ends-without-its-streams", "exec <&- >&- 2>&-; " + NEVER_END, (KILLED_IN_TIME,)),
    ("never-ends-with-children", CHILDREN.format(20, NEVER_END) + NEVER_END, (KILLED_IN_TIME,)),
    ("never-ends-with-zombies", CHILDREN.format(20, ":") + "exec sleep 1000", (KILLED_IN_TIME,)),
    ("forks-without-pause", "i=0; while [ $i -lt 3000 ]; do sleep 1000 & i=$((i + 1)); "
     "sleep 0.002; done; wait", (KILLED_IN_TIME,)),
    ("stops-itself", "kill -STOP $$; echo '{}'", (KILLED_IN_TIME,)),
    ("stops-its-group", CHILDREN.format(3, NEVER_END) + "kill -STOP 0; echo '{}'",
     (KILLED_IN_TIME,)),
    ("drips", "while :; do printf ' '; sleep 0.02; done", (KILLED_IN_TIME,)),
    ("drips-errors", "while :; do printf x >&2; sleep 0.02; done", (KILLED_IN_TIME,)),

    # Too much output.
    ("writes-ten-gigabytes", GIGABYTES, (KILLED_TOO_LARGE,)),
    ("writes-ten-gigabytes-deaf", DEAF + CHILDREN.format(3, GIGABYTES) + GIGABYTES,
     (KILLED_TOO_LARGE,)),
    ("writes-ten-gigabytes-of-errors", GIGABYTES + " >&2; echo '{}'", (KILLED_IN_TIME,)),
    ("writes-endless-lines-of-errors", "yes 'it went wrong' >&2", (KILLED_IN_TIME,)),
    ("lets-a-child-write", GIGABYTES + " & wait", (KILLED_TOO_LARGE,)),
    ("says-garbage", "head -c 100000 /dev/urandom; head -c 100000 /dev/urandom >&2", (NOT_JSON,)),
    ("says-nul", r"printf '{}\000'; printf 'a\000b\n' >&2", (NOT_JSON,)),

    # Processes left behind.
    ("leaves-children", CHILDREN.format(20, NEVER_END) + "echo '{}'", (SUCCESS,)),
    ("leaves-orphans", CHILDREN.format(5, f"({NEVER_END}) &") + "echo '{}'", (SUCCESS,)),
    ("leaves-children-that-write", CHILDREN.format(3, DEAF + "yes >&2") + "echo '{}'", (SUCCESS,)),
    ("leaves-stopped-children", CHILDREN.format(3, "sh -c 'kill -STOP $$'") + "sleep 0.1; "
     "echo '{}'", (SUCCESS,)),
    ("leaves-a-server", "setsid sleep 1000 & echo '{}'", (SUCCESS,)),
    ("leaves-a-server-and-never-ends", "setsid sleep 1000 & " + NEVER_END, (KILLED_IN_TIME,)),

    # Ways to end.
    ("crashes", "kill -SEGV $$", (by_signal(11),)),
    ("kills-its-group", CHILDREN.format(3, NEVER_END) + "kill -KILL 0", (by_signal(9),)),
    ("ends-unread", "exit 0", (SUCCESS,), {"parameter_bytes": LARGE_BYTES}),
    ("ends-with-a-failure", "echo '{\"message\": 3}'; exit 3",
     (("provider_rejected", r"{} ended with exit status 3\."),)),
    ("fails-for-now", "echo '{'; exit 75",
     (("provider_error", r"{} ended with exit status 75\."),)),
)]
