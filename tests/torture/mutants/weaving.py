"""Many mutants in one program: a body of a function for each mutation, and a switch between them.

    int f(int x) {
      return x < 3;
    }

becomes, for a mutation with the number 7,

    int f(int x) {
    if (celld_mutant == 7) {
      return x <= 3;
    } else {
      return x < 3;
    }
    }

so that one build serves all of them: MUTANT_NUMBER=7 in the environment of a program makes the
mistake, and without the variable the program is the product. `#line` names a mutant in what the
compiler says about it. (The idea is from R. H. Untch, A. J. Offutt and M. J. Harrold, "Mutation
analysis using mutant schemata", ISSTA 1993.)
"""

import collections
import re

from operators import without_opaque

VARIABLE = "MUTANT_NUMBER"  # The tests give celld no variable that begins with CELLD_.
SWITCH = f"""#ifndef CELLD_MUTANT_SWITCH
#define CELLD_MUTANT_SWITCH
#include <cstdlib>
inline const int celld_mutant = [] {{
  const char* text = std::getenv("{VARIABLE}");
  return text == nullptr ? -1 : std::atoi(text);
}}();
#endif
// GCC takes the text after #line for a header's.
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
"""
MUTANT = re.compile(r"\bmutant-(\d+):")
SCOPE = re.compile(r"^\s*(?:inline )?(?:namespace|class|struct|union|enum|extern)\b"
                   r"(?!.*\) *\w* *$)", re.DOTALL)
# What stands before the body of a function; a constant expression cannot depend on the environment.
SIGNATURE = re.compile(r"\)\s*(?:const\b|noexcept\b|override\b|final\b|mutable\b|&+"
                       r"|->[^;{}=]*|\s)*$")
CONSTANT = re.compile(r"\bconst(?:expr|eval)\b")


def bodies(code):
    """(begin, end) of the bodies of all functions of code whose opaque parts are blank, without
    their braces. A function within another one belongs to the latter."""
    found, opened = [], []  # `opened` holds for each open brace: where, and whether it is a body.
    since = 0  # Where the text begins that says what the next brace opens.
    for match in re.finditer(r"[{};]", code):
        at = match.start()
        if match[0] == "{":
            before = code[since:at]
            inside = any(body for _, body in opened)
            body = (not inside and bool(SIGNATURE.search(before)) and not SCOPE.match(before) and
                    not CONSTANT.search(before.partition("(")[0]))
            opened.append((at, body))
        elif match[0] == "}":
            began_at, body = opened.pop()
            if body:
                found.append((began_at + 1, at))
        since = at + 1
    return found


def woven(path, text, numbered):
    """(the text with all mutants of `numbered` that lie within the body of a function, the numbers
    of the others). `numbered` is {number: mutation}."""
    all_bodies = bodies(without_opaque(text))
    by_body, others = collections.defaultdict(list), set()
    for number, mutation in numbered.items():
        end = mutation.offset + len(mutation.old)
        body = next((each for each in all_bodies
                     if each[0] <= mutation.offset and end <= each[1]), None)
        if body is None:
            others.add(number)
        else:
            by_body[body].append(number)
    pieces, at = [SWITCH, f'#line 1 "{path}"\n'], 0
    for (begin, end), numbers in sorted(by_body.items()):
        pieces.append(text[at:begin])
        for number in numbers:
            mutation = numbered[number]
            changed = text[begin:mutation.offset] + mutation.new + text[
                mutation.offset + len(mutation.old):end]
            pieces.append(f"\nif (celld_mutant == {number}) {{\n"
                          f'#line 1 "mutant-{number}"\n{changed}\n}} else ')
        first, last = (text.count("\n", 0, place) + 1 for place in (begin, end))
        pieces.append(f'{{\n#line {first} "{path}"\n{text[begin:end]}}}\n#line {last} "{path}"\n')
        at = end
    pieces.append(text[at:])
    return "".join(pieces), others
