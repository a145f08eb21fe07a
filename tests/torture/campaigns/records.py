"""The campaigns' records in build/campaigns.json, which stays on this machine.

The file maps a campaign's name to its record. `what`, `unit` and `goal` describe the campaign.
`done`, `seconds`, `failures` and `figures` are totals over all runs, and `next` is the first unit
of the next run. `failing` lists the failures that have not yet passed on another version of the
program. `commits` has `units`, `seconds`, `failures` and `figures` for each commit, separately for
runs with uncommitted changes (`clean` is false).
"""

import json
import os

NUMBERS = ("done", "next", "seconds", "failures")
NUMBERS_OF_COMMIT = ("units", "seconds", "failures")


class Invalid(Exception):
    """The file is unusable. The text says where and why."""


def _expect(condition, where, what):
    if not condition:
        raise Invalid(f"{where}: {what}")


def is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def check_figures(figures, where):
    _expect(isinstance(figures, dict), where, "must be an object")
    for name, value in figures.items():
        _expect(is_count(value), f"{where}/{name}", "must be an integer of at least 0")


def check_ranges(ranges, where):
    _expect(isinstance(ranges, list), where, "must be an array")
    for index, each in enumerate(ranges):
        _expect(isinstance(each, dict), f"{where}/{index}", "must be an object")
        _expect(is_count(each.get("from")), f"{where}/{index}/from",
                "must be an integer of at least 0")
        _expect(is_count(each.get("count")) and each["count"] > 0, f"{where}/{index}/count",
                "must be an integer of at least 1")


def _check_commits(commits, where):
    _expect(isinstance(commits, list), where, "must be an array")
    for index, each in enumerate(commits):
        _expect(isinstance(each, dict) and isinstance(each.get("commit"), str) and
                isinstance(each.get("clean"), bool), f"{where}/{index}",
                "must have `commit` and `clean`")
        for name in NUMBERS_OF_COMMIT:
            _expect(is_count(each.get(name)), f"{where}/{index}/{name}",
                    "must be an integer of at least 0")
        check_figures(each.get("figures"), f"{where}/{index}/figures")


def _check_failing(failing, where):
    check_ranges(failing, where)
    for index, each in enumerate(failing):
        _expect(isinstance(each.get("commit"), str) and isinstance(each.get("clean"), bool) and
                isinstance(each.get("why"), str), f"{where}/{index}",
                "must have `commit`, `clean` and `why`")


def _check_record(record, where):
    _expect(isinstance(record, dict), where, "must be an object")
    for name in ("what", "unit"):
        _expect(isinstance(record.get(name), str), f"{where}/{name}", "must be a string")
    for name in ("goal", *NUMBERS):
        _expect(is_count(record.get(name)), f"{where}/{name}", "must be an integer of at least 0")
    check_figures(record.get("figures"), f"{where}/figures")
    _check_failing(record.get("failing"), f"{where}/failing")
    _check_commits(record.get("commits"), f"{where}/commits")


def load(path, campaigns):
    """The records by name, with an empty one for each of `campaigns` that has none yet. Raises
    Invalid."""
    try:
        with open(path, encoding="utf-8") as file:
            records = json.load(file)
    except FileNotFoundError:
        records = {}
    except (OSError, ValueError) as error:
        raise Invalid(f"{path}: {error}") from None
    _expect(isinstance(records, dict), path, "must be an object")
    for name, record in records.items():
        _check_record(record, f"{path}: /{name}")
    for campaign in campaigns:
        record = records.setdefault(campaign.name, {
            **dict.fromkeys(NUMBERS, 0), "figures": {}, "failing": [], "commits": []})
        record.update(what=campaign.what, unit=campaign.unit, goal=campaign.goal)
    return records


def save(path, records):
    """Replaces the file atomically."""
    text = json.dumps(records, indent=1, sort_keys=True) + "\n"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


def _of_commit(record, commit):
    """The entry of `commit`, added if it is missing."""
    for each in record["commits"]:
        if (each["commit"], each["clean"]) == (commit.name, commit.clean):
            return each
    record["commits"].append({"commit": commit.name, "clean": commit.clean,
                              **dict.fromkeys(NUMBERS_OF_COMMIT, 0), "figures": {}})
    return record["commits"][-1]


def _sum(into, figures):
    for name, value in figures.items():
        into[name] = into.get(name, 0) + value


def add(record, summary, seconds, commit):
    """Counts a slice that began at `next`. Its failures are counted by add_failure()."""
    entry = _of_commit(record, commit)
    record["done"] += summary["units"]
    record["next"] += summary["units"]
    entry["units"] += summary["units"]
    for part in record, entry:
        part["seconds"] += round(seconds)
        _sum(part["figures"], summary["figures"])


def add_failure(record, first, count, why, commit):
    """Counts the failure, and keeps it to be repeated."""
    record["failures"] += 1
    _of_commit(record, commit)["failures"] += 1
    known = [each for each in record["failing"] if (each["from"], each["count"]) == (first, count)]
    if not known:
        record["failing"].append({"from": first, "count": count, "why": why,
                                  "commit": commit.name, "clean": commit.clean})


def of_version(record, is_part):
    """The entries of `commits` for which `is_part(commit, clean)` holds, added up: `units`,
    `seconds`, `failures`, `figures`, and the names of the commits."""
    total = {**dict.fromkeys(NUMBERS_OF_COMMIT, 0), "figures": {}, "names": []}
    for each in record["commits"]:
        if is_part(each["commit"], each["clean"]):
            for name in NUMBERS_OF_COMMIT:
                total[name] += each[name]
            _sum(total["figures"], each["figures"])
            total["names"].append(each["commit"])
    return total
