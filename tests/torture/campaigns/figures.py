"""The results of the campaigns for the present version of the program, as a table for
docs/evidence.md.
"""

import records

HEAD = ("| campaign | tried | goal | time | failures | still open |\n"
        "|---|---|---|---|---|---|")


def table(campaigns, everything, commit, same):
    """Markdown. `everything`: all records, by campaign. `same(name)`: whether the commit of that
    name is the same version as `commit`."""
    def is_part(name, clean):
        # Nothing but the commit identifies uncommitted changes.
        return clean == commit.clean and (name == commit.name or (clean and same(name)))

    names, rows = [], []
    for campaign in campaigns:
        record = everything[campaign.name]
        total = records.of_version(record, is_part)
        names += [name for name in total["names"] if name not in names]
        rows.append(_row(campaign, total, len(record["failing"])))
    return "\n".join([_heading(names, commit), "", HEAD, *rows])


def _heading(names, commit):
    if not names:
        return f"No campaign has run at commit {commit}."
    changes = "" if commit.clean else " with uncommitted changes"
    if len(names) == 1:
        return f"At commit {names[0]}{changes}:"
    return f"At commits {', '.join(names)}, which differ only in documentation:"


def _row(campaign, total, still_open):
    tried = f"{total['units']:,} {campaign.unit}"
    if total["figures"]:
        tried += ": " + ", ".join(f"{value:,} {name}"
                                  for name, value in sorted(total["figures"].items()))
    return (f"| {campaign.name} | {tried} | {campaign.goal:,} | {total['seconds'] / 60:,.0f} min | "
            f"{total['failures']} | {still_open} |")
