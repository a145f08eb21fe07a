"""Commands that do not end, do not end alone, or say too much. They are scripts of the shell."""

from hostility import (KILLED_IN_TIME, KILLED_TOO_LARGE, LARGE_BYTES, NOT_JSON, SUCCESS,
                       Hostility)

DEAF = 'trap "" TERM INT HUP QUIT PIPE; '
STAY = DEAF + "while :; do sleep 1000; done"
# Children that no signal but KILL moves, so many.
BROOD = 'i=0; while [ $i -lt {} ]; do ({}) & i=$((i + 1)); done; '
# Not without end, so that a fault of celld cannot fill a machine.
GIGABYTES = "head -c 10G /dev/zero"


def by_signal(number):
    return ("provider_error", r"{} was ended by signal " + str(number) + r"\.")


COMMANDS = [Hostility(*fields[:3], **(fields[3] if len(fields) > 3 else {})) for fields in (
    # What does not end.
    ("never-ends", STAY, (KILLED_IN_TIME,)),
    ("never-ends-without-its-streams", "exec <&- >&- 2>&-; " + STAY, (KILLED_IN_TIME,)),
    ("never-ends-with-children", BROOD.format(20, STAY) + STAY, (KILLED_IN_TIME,)),
    ("never-ends-with-zombies", BROOD.format(20, ":") + "exec sleep 1000", (KILLED_IN_TIME,)),
    ("forks-without-pause", "i=0; while [ $i -lt 3000 ]; do sleep 1000 & i=$((i + 1)); "
     "sleep 0.002; done; wait", (KILLED_IN_TIME,)),
    ("stops-itself", "kill -STOP $$; echo '{}'", (KILLED_IN_TIME,)),
    ("stops-its-group", BROOD.format(3, STAY) + "kill -STOP 0; echo '{}'", (KILLED_IN_TIME,)),
    ("drips", "while :; do printf ' '; sleep 0.02; done", (KILLED_IN_TIME,)),
    ("drips-errors", "while :; do printf x >&2; sleep 0.02; done", (KILLED_IN_TIME,)),

    # What says too much.
    ("writes-ten-gigabytes", GIGABYTES, (KILLED_TOO_LARGE,)),
    ("writes-ten-gigabytes-deaf", DEAF + BROOD.format(3, GIGABYTES) + GIGABYTES,
     (KILLED_TOO_LARGE,)),
    ("writes-ten-gigabytes-of-errors", GIGABYTES + " >&2; echo '{}'", (KILLED_IN_TIME,)),
    ("writes-endless-lines-of-errors", "yes 'it went wrong' >&2", (KILLED_IN_TIME,)),
    ("lets-a-child-write", GIGABYTES + " & wait", (KILLED_TOO_LARGE,)),
    ("says-garbage", "head -c 100000 /dev/urandom; head -c 100000 /dev/urandom >&2", (NOT_JSON,)),
    ("says-nul", r"printf '{}\000'; printf 'a\000b\n' >&2", (NOT_JSON,)),

    # What it leaves.
    ("leaves-children", BROOD.format(20, STAY) + "echo '{}'", (SUCCESS,)),
    ("leaves-orphans", BROOD.format(5, f"({STAY}) &") + "echo '{}'", (SUCCESS,)),
    ("leaves-children-that-write", BROOD.format(3, DEAF + "yes >&2") + "echo '{}'", (SUCCESS,)),
    ("leaves-stopped-children", BROOD.format(3, "sh -c 'kill -STOP $$'") + "sleep 0.1; "
     "echo '{}'", (SUCCESS,)),
    ("leaves-a-server", "setsid sleep 1000 & echo '{}'", (SUCCESS,)),
    ("leaves-a-server-and-never-ends", "setsid sleep 1000 & " + STAY, (KILLED_IN_TIME,)),

    # How it ends.
    ("crashes", "kill -SEGV $$", (by_signal(11),)),
    ("kills-its-group", BROOD.format(3, STAY) + "kill -KILL 0", (by_signal(9),)),
    ("ends-unread", "exit 0", (SUCCESS,), {"parameter_bytes": LARGE_BYTES}),
    ("ends-with-a-failure", "echo '{\"message\": 3}'; exit 3",
     (("provider_rejected", r"{} ended with exit status 3\."),)),
    ("fails-for-now", "echo '{'; exit 75",
     (("provider_error", r"{} ended with exit status 75\."),)),
)]
