"""The sizes that a pool may have had, given the resizes that a client sent and the answers."""


def sizes_in_force(resizes, first, since, until):
    """The sizes between two times. `resizes`: [sent at, answered at or None, size], in the order in
    which one client sent them. `first`: the size before."""
    sizes, possible = set(), [(float("-inf"), first)]
    for sent_at, answered_at, size in resizes:
        if answered_at is not None:
            # Once this resize is answered, no earlier size is in force.
            sizes |= {s for at, s in possible if at <= until and answered_at >= since}
            possible = []
        possible.append((sent_at, size))
    return sizes | {s for at, s in possible if at <= until}
