#!/usr/bin/env python3
"""Plants the mistakes of bugs.py. They test the simulation.

With CELLD_PLANTED_BUGS, the build compiles a changed copy of each source that has such a mistake
and links the copies into one program, celld_simulation_with_bugs. Its option --plant names the bug
that it shows. The engine's own sources contain nothing of this.

  planted_bugs.py sources                   prints the sources that have bugs, one a line
  planted_bugs.py plant SOURCE ROOT OUTPUT  writes the changed copy of ROOT's SOURCE to OUTPUT
  planted_bugs.py lists OUTPUT              writes a source with all bugs, and with each pair of a bug
                                            and a check that must find it, to OUTPUT
  planted_bugs.py table                     prints the bugs as a table for the documentation
"""

import pathlib
import sys

from bugs import BUGS

HEADER = '#include "tests/torture/simulation/planted.hpp"\n'


def sources():
    return list(dict.fromkeys(bug.source for bug in BUGS))


def plant(source, root):
    text = (pathlib.Path(root) / source).read_text()
    for bug in BUGS:
        if bug.source != source:
            continue
        for before, after in bug.changes:
            if text.count(before) != 1:
                sys.exit(f"planted_bugs.py: {bug.name}: {source} no longer contains this text "
                         f"once, so the bug must be adapted:\n{before}")
            is_planted = f'::simulation::planted("{bug.name}")'
            text = text.replace(before, after.replace("BUG", is_planted))
    return HEADER + text


def lists():
    bugs = "".join(f'    "{bug.name}",\n' for bug in BUGS)
    controls = "".join(f'    {{"{bug.name}", "{check}", {bug.first_seed}}},\n'
                       for bug in BUGS for check in bug.checks)
    return (f"{HEADER}\nconst std::vector<std::string_view> simulation::planted_bugs = {{\n{bugs}}};\n"
            f"const std::vector<simulation::Control> simulation::controls = {{\n{controls}}};\n")


def write(text, path):
    output = pathlib.Path(path)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text)


def main(arguments):
    if arguments == ["sources"]:
        print("\n".join(sources()))
    elif arguments == ["table"]:
        for bug in BUGS:
            print(f"| `{bug.name}` | {bug.mistake} | {', '.join(bug.checks)} |")
    elif len(arguments) == 4 and arguments[0] == "plant":
        write(plant(arguments[1], arguments[2]), arguments[3])
    elif len(arguments) == 2 and arguments[0] == "lists":
        write(lists(), arguments[1])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
