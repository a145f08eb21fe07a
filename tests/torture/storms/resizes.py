"""The sizes that a pool may have had while several administrators resized it concurrently."""


def superseded(resizes):
    """For each (sent at, answered at, size): (sent at, size, superseded at), in the order of
    sending. A resize is certainly superseded once another that was sent after its answer has been
    answered too."""
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
    """Yields each of `marks`, sorted tuples that begin with a time, with the sizes that may have
    been in force then, give or take the slack."""
    sizes, following, now = superseded(resizes), 0, []
    for mark in marks:
        while following < len(sizes) and sizes[following][0] <= mark[0] + slack_s:
            now.append(sizes[following])
            following += 1
        now = [each for each in now if each[2] >= mark[0] - slack_s]
        yield mark, [size for _, size, _ in now]
