"""The faults that a test has found."""

import collections
import sys


class Faults:
    """Collects faults by kind. A report shows the first five of each kind."""

    def __init__(self):
        self.found = collections.defaultdict(list)

    def expect(self, condition, kind, *details):
        if not condition:
            self.found[kind].append(details)

    def add(self, others):
        for kind, all_details in others.found.items():
            self.found[kind] += all_details

    def report(self):
        """Prints the faults. Returns whether there are any."""
        for kind, all_details in self.found.items():
            print(f"FAULT: {kind}: {len(all_details)} times", file=sys.stderr)
            for details in all_details[:5]:
                print("   ", *(str(detail)[:1500] for detail in details), file=sys.stderr)
        return bool(self.found)
