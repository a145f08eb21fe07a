"""How far the campaigns have come: docs/campaigns.json.

By campaign: `what`, `unit` and `goal`, for people; `done`, the units of all runs; `next`, the first
unit of the next run; `seconds`; `figures`, added up; `failures`, all that there ever were;
`failing`, those that have not been repeated with success on another commit; and `commits`, which
did how many units, with or without changes beside the commit.
"""

import json
import os

NUMBERS = ("done", "next", "seconds", "failures")


class Invalid(Exception):
    """The file cannot be used; says where and why."""


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
                isinstance(each.get("clean"), bool) and is_count(each.get("units")),
                f"{where}/{index}", "must have `commit`, `clean` and `units`")


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
    """By name, those of `campaigns` at least. Raises Invalid."""
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
    """Whole or not at all."""
    text = json.dumps(records, indent=1, sort_keys=True) + "\n"
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


def add(record, summary, seconds, commit):
    """Counts a slice that began at `next`."""
    record["done"] += summary["units"]
    record["next"] += summary["units"]
    record["seconds"] += round(seconds)
    for name, value in summary["figures"].items():
        record["figures"][name] = record["figures"].get(name, 0) + value
    for each in record["commits"]:
        if (each["commit"], each["clean"]) == (commit.name, commit.clean):
            each["units"] += summary["units"]
            return
    record["commits"].append({"commit": commit.name, "clean": commit.clean,
                              "units": summary["units"]})


def add_failure(record, first, count, why, commit):
    """Counts it, and keeps it to be repeated."""
    record["failures"] += 1
    known = [each for each in record["failing"] if (each["from"], each["count"]) == (first, count)]
    if not known:
        record["failing"].append({"from": first, "count": count, "why": why,
                                  "commit": commit.name, "clean": commit.clean})
