"""The rate of calls at a service, judged by the calls that its provider noted.

A busy machine delays calls on their way to the provider, so two calls may arrive closer together
than celld began them. Only a span of time is certain, within which celld must have begun the call.
If a window of time contains the whole spans of more calls than the rate allows in it, celld began
too many, however late the provider noted them.
"""

import collections


def check_rate(faults, calls, rate_per_s, burst, lives):
    """`calls`: those of the service. `lives`: of each life of celld, a time before its start and one
    at which it was dead. A start does not remember the calls of earlier lives."""
    of_life = collections.defaultdict(list)
    for call in sorted(calls, key=lambda call: call.began_at):
        of_life[call.life].append(call)
    for life, made in of_life.items():
        excess, since, until = worst(spans_of(made, *lives[life - 1]), rate_per_s)
        within = [call for call in made if since <= call.began_at <= until]
        faults.expect(excess <= burst, "a rate was exceeded",
                      f"life {life}: {excess:.2f} calls beyond {rate_per_s} per second", within)


def worst(spans, rate_per_s):
    """(calls beyond the rate, since, until) of the window that has the most of them."""
    return max((count - (until - since) * rate_per_s, since, until)
               for since, _ in spans
               for count, until in enumerate(sorted(end for begin, end in spans if begin >= since),
                                             1))


def spans_of(calls, before_start, dead_at):
    """The earliest and the latest time at which celld began each of these calls of one life. A call
    begins after the end of the entity's last one, and before celld dies."""
    spans, over_at = [], {}
    for call in calls:
        until = min(call.began_at, dead_at)
        since = over_at.get(call.entity, before_start)
        spans.append((since if since <= until else before_start, until))
        if call.ended_at is not None:
            over_at[call.entity] = call.alive_at if call.broken else call.ended_at
    return spans
