"""The small mistakes that a mutant makes: one change of one place in one C++ file.

The operators work on tokens, and rely on the house format: a space on both sides of a binary
operator, none inside template brackets. Some changes do not compile; mutants.py gives those no
score.
"""

import re
from typing import NamedTuple

# The text that no operator changes: comments, strings, characters, directives, and assertions, which
# are not part of a release.
OPAQUE = re.compile(r'R"(\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\d)\'(?:\\.|[^\'\\\n])+\''
                    r"|//[^\n]*|/\*(?:.|\n)*?\*/|^[ \t]*#[^\n]*|\b(?:static_)?assert\([^;]*;",
                    re.MULTILINE)

SWAPS = {" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ",
         " != ": " == ", " && ": " || ", " || ": " && ", " + ": " - ", " - ": " + ",
         " += ": " -= ", " -= ": " += "}
SWAP = re.compile("|".join(map(re.escape, sorted(SWAPS, key=len, reverse=True))))
NUMBER = re.compile(r"(?<![\w.'])(\d[\d']*)(?![\w.'])")
BOOLEAN = re.compile(r"\b(true|false)\b")
CONDITION = re.compile(r"\bif \((?!const auto|auto|const )")
GUARD = re.compile(r"^[ \t]*(?:if \([^\n{}]*\) (?:return|continue|break|throw)\b[^;\n{}]*;)\n",
                   re.MULTILINE)
CALL = re.compile(r"^[ \t]*(?!return\b|co_|delete\b|throw\b|using\b|case\b|if\b|for\b|while\b|else\b)"
                  r"[A-Za-z_][\w.:>\-\[\]()*]*\((?:[^;\n{}]|\{[^;\n{}]*\})*\);\n", re.MULTILINE)
CONDITIONAL = re.compile(r"^[ \t]*if \([^\n{}]*\) (?!return\b|continue\b|break\b|throw\b|co_)"
                         r"[A-Za-z_+*-](?:[^;\n{}]|\{[^;\n{}]*\})*;\n", re.MULTILINE)
STEP = re.compile(r"^[ \t]*(?:\+\+|--)[\w.>\-\[\]()]+;\n", re.MULTILINE)
LOOP = re.compile(r"\bwhile (?=\()")
# A declaration has a type before its name.
ASSIGNMENT = re.compile(r"^[ \t]*[A-Za-z_*][\w.>\-\[\]()*]* [-+|&]?= [^;\n{}]*;\n", re.MULTILINE)
BOUND = re.compile(r"\bstd::(min|max)\b")
ARGUMENTS = re.compile(r"(?<=[\w>])(?<!min)(?<!max)\(([\w.:*&>\-]+), ([\w.:*&>\-]+)\)")
# In strings that hold SQL.
SQL = re.compile(r"\b(SELECT|WHERE|UPDATE|DELETE FROM|ORDER BY|INSERT INTO|AND)\b")
SQL_SWAPS = {" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " AND ": " OR ",
             " DESC": "", " IS NULL": " IS NOT NULL", " IS NOT NULL": " IS NULL", " = ": " != "}
SQL_SWAP = re.compile("|".join(map(re.escape, sorted(SQL_SWAPS, key=len, reverse=True))))
NEGATION = re.compile(r"(?<=[(\s])!(?=[\w(])")


class Mutation(NamedTuple):
    """`old` at `offset` of `path` becomes `new`."""
    path: str
    offset: int
    line: int
    kind: str
    old: str
    new: str
    context: str  # The line that it changes, and the next one.

    def applied_to(self, text):
        assert text.startswith(self.old, self.offset)
        return text[:self.offset] + self.new + text[self.offset + len(self.old):]

    def __str__(self):
        if self.old.count("\n") or not self.new:
            return f"{self.path}:{self.line}: {self.kind}: {self.old.strip()}"
        return (f"{self.path}:{self.line}: {self.kind}: {self.old.strip()} -> {self.new.strip()} "
                f"in `{self.context}`")


def closing(text, opening):
    """Where the parenthesis that opens at `opening` closes."""
    depth = 0
    for at in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return at
    raise ValueError("a parenthesis does not close")


def places(code):
    """(offset, kind, old, new) of each mutation of code whose opaque parts are blank."""
    for match in SWAP.finditer(code):
        yield match.start(), "swapped operator", match[0], SWAPS[match[0]]
    for match in NUMBER.finditer(code):
        value = int(match[1].replace("'", ""))
        yield match.start(), "off by one", match[1], str(value + 1)
    for match in BOOLEAN.finditer(code):
        yield match.start(), "flipped flag", match[1], "false" if match[1] == "true" else "true"
    for match in CONDITION.finditer(code):
        opening = match.end() - 1
        condition = code[opening:closing(code, opening) + 1]
        if ";" not in condition and condition.strip("( "):
            yield opening, "negated condition", condition, f"(!{condition})"
    for match in GUARD.finditer(code):
        yield match.start(), "missing check", match[0], ""
    for match in CALL.finditer(code):
        if match[0].count("(") == match[0].count(")"):
            yield match.start(), "dropped call", match[0], ""
    for match in CONDITIONAL.finditer(code):
        if match[0].count("(") == match[0].count(")"):
            yield match.start(), "dropped statement", match[0], ""
    for match in STEP.finditer(code):
        yield match.start(), "dropped step", match[0], ""
    for match in LOOP.finditer(code):
        yield match.start(), "loop run once", match[0], "if "
    for match in ASSIGNMENT.finditer(code):
        assigned = match[0].partition("= ")[0]
        if assigned.count("(") == assigned.count(")"):
            yield match.start(), "dropped assignment", match[0], ""
    for match in BOUND.finditer(code):
        other = "std::max" if match[1] == "min" else "std::min"
        yield match.start(), "other bound", match[0], other
    for match in ARGUMENTS.finditer(code):
        if match[1] != match[2]:
            yield match.start(), "swapped arguments", match[0], f"({match[2]}, {match[1]})"
    for match in NEGATION.finditer(code):
        yield match.start(), "dropped negation", "!", ""


def places_in_sql(text):
    """The same for SQL in string literals; an upsert's assignments are left alone."""
    for literal in OPAQUE.finditer(text):
        if '"' not in literal[0] or literal[0].startswith(("//", "/*")) or not SQL.search(literal[0]):
            continue
        for match in SQL_SWAP.finditer(literal[0]):
            yield literal.start() + match.start(), "changed SQL", match[0], SQL_SWAPS[match[0]]


def without_opaque(text):
    """The text with spaces in place of its opaque parts."""
    return OPAQUE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def mutations(path, text):
    """All mutations of a C++ file, in order of their place."""
    lines = text.split("\n")
    for offset, kind, old, new in sorted([*places(without_opaque(text)), *places_in_sql(text)]):
        original = text[offset:offset + len(old)]
        changed = new.replace(old, original) if old else new
        line = text.count("\n", 0, offset)
        context = " ".join(" ".join(lines[line:line + 2]).split())
        yield Mutation(path, offset, line + 1, kind, original, changed, context)
