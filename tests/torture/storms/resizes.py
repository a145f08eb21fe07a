"""Which sizes a pool may have had, when several administrators resize it at once."""


def superseded(resizes):
    """(sent at, size, when another had surely come after it) of each (sent at, answered at, size):
    another that was sent after this one was answered, and answered itself. In the order of sending.
    """
    by_answer = sorted(resizes, key=lambda resize: resize[1], reverse=True)
    later = sorted(resizes, key=lambda resize: resize[0], reverse=True)
    found, first, at = [], float("inf"), 0
    for sent, answered, size in by_answer:
        while at < len(later) and later[at][0] > answered:
            first = min(first, later[at][1])
            at += 1
        found.append((sent, size, first))
    return sorted(found)


def in_force(resizes, marks, slack_s):
    """Yields each of `marks`, tuples that begin with a time and are in order, and the sizes that
    may have been in force then, give or take the slack."""
    sizes, coming, now = superseded(resizes), 0, []
    for mark in marks:
        while coming < len(sizes) and sizes[coming][0] <= mark[0] + slack_s:
            now.append(sizes[coming])
            coming += 1
        now = [each for each in now if each[2] >= mark[0] - slack_s]
        yield mark, [size for _, size, _ in now]
