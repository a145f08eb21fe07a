"""The links and paths in the documentation lead to files and headings that exist."""

import glob
import os
import re
import unittest

ROOT = os.environ["CELLD_SOURCE"]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*?) *$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
PATH = re.compile(r"`((?:\.ci|cells|cmake|config|docs|packaging|scripts|src|tests)/[\w./-]+)`")


def pages():
    found = []
    for pattern in ("*.md", "cells/**/*.md", "docs/**/*.md"):
        found += glob.glob(pattern, root_dir=ROOT, recursive=True)
    return sorted(found)


def text_of(page):
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        return FENCE.sub("", file.read())


def anchor(heading):
    """The anchor that GitHub makes for a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


class Links(unittest.TestCase):
    def faults(self, page):
        text = text_of(page)
        for target in LINK.findall(text):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, fragment = target.partition("#")
            file = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            if not os.path.exists(os.path.join(ROOT, file)):
                yield f"{page}: no file {target}"
            elif fragment and file.endswith(".md") and \
                    fragment not in map(anchor, HEADING.findall(text_of(file))):
                yield f"{page}: no heading {target}"
        for path in PATH.findall(text):
            if not glob.glob(os.path.join(ROOT, path.rstrip("."))):
                yield f"{page}: no file {path}"

    def test_each_link_and_each_path_leads_somewhere(self):
        self.assertGreater(len(pages()), 10)
        self.assertEqual([fault for page in pages() for fault in self.faults(page)], [])


if __name__ == "__main__":
    unittest.main()
