"""The description of a campaign."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Campaign:
    """A program that tries numbered units for as long as it may run.

    `command` has placeholders: {from}, the number of the first unit; {count} and {seconds}, the
    limits, of which the first that is reached ends the program; {summary}, the file that the
    program writes when it ends. The summary is a JSON object with `units` (how many were tried,
    failed ones included), `failures`, `figures` (names and integers, summed over all runs) and,
    where the program knows them, `failed`: a list of {"from", "count"}, each of which repeats one
    failure. The program exits with 0, or with 1 after failures.
    """
    name: str
    promises: str         # As numbered in docs/reliability.md.
    what: str             # A noun phrase: what is tried.
    unit: str             # Plural.
    goal: int             # Units.
    command: tuple
    needs: tuple = ()     # Files that must exist, relative to the tree's root.
    slice_min_s: int = 5  # A shorter turn would complete no unit.
    slice_whole_s: int = 0  # The length of a full turn; used in runs at least ten times as long.

    def command_line(self, first, count, seconds, summary):
        places = {"from": first, "count": count, "seconds": seconds,
                  "summary": summary}
        return [argument.format(**places) for argument in self.command]
