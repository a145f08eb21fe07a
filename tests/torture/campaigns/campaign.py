"""What a campaign is."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Campaign:
    """A program that tries something in numbered units, for as long as it is let.

    `command` has places for {from} (the first unit's number), {count}, {seconds} (it ends at
    whichever comes first) and {summary}: the file that the program writes at its end, a JSON object
    with `units` (how many it did, those that failed included), `failures`, `figures` (names and
    integers, added up over all runs) and, if it knows them, `failed`: a list of {"from", "count"}
    that repeat one failure each. It exits with 0, or with 1 when there were failures.
    """
    name: str
    promises: str        # Of docs/reliability.md.
    what: str            # In plain words, after "tries: ".
    unit: str            # Plural.
    goal: int            # Units.
    command: tuple
    needs: tuple = ()    # Files that have to be there, below the tree's root.
    slice_min_s: int = 5  # Less time than that would try nothing.
    slice_whole_s: int = 0  # So much is wanted for a turn, if a run is ten times as long.

    def command_line(self, first, count, seconds, summary):
        places = {"from": first, "count": count, "seconds": seconds,
                  "summary": summary}
        return [argument.format(**places) for argument in self.command]
