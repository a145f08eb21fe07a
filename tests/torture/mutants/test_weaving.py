"""Mutants that are woven into one program make their mistakes one at a time."""

import os
import shutil
import subprocess
import tempfile
import unittest

from operators import mutations
from weaving import MUTANT, VARIABLE, woven

PROGRAM = """#include <cstdio>
namespace {
constexpr int limit = 3;
constexpr bool is_large(int x) { return x > 7; }
struct Gauge {
  explicit Gauge(int start) : value_(start + 1) {
    if (value_ > limit) value_ = limit;
  }
  int value() const { return value_ - 1; }
  int value_;
};
auto twice = [](int x) { return x + x; };
int sum(const Gauge& gauge) {
  int total = 0;
  for (int i = 0; i < gauge.value(); ++i) {
    total += twice(i);
  }
  return total;
}
void print(int x) {
  if (is_large(x)) return;
  std::printf("%d", x);
}
}  // namespace
int main() { print(sum(Gauge{4})); }
"""


def numbered(text):
    return dict(enumerate(mutations("a.cpp", text)))


class Weaving(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="celld-weaving-")
        self.addCleanup(shutil.rmtree, self.directory)
        self.program = os.path.join(self.directory, "a")

    def compiled(self, text):
        """The compiler's words; empty if it found no error."""
        source = os.path.join(self.directory, "a.cpp")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        return subprocess.run(["c++", "-std=c++20", "-o", self.program, source],
                              stderr=subprocess.PIPE, text=True, check=False).stderr

    def printed(self, **environment):
        return subprocess.run([self.program], env={**os.environ, **environment},
                              stdout=subprocess.PIPE, text=True, check=True).stdout

    def test_a_program_makes_the_mistake_that_its_environment_names_and_no_other(self):
        every = numbered(PROGRAM)
        text, others = woven("a.cpp", PROGRAM, every)
        self.assertEqual(self.compiled(text), "")
        together = {number: self.printed(**{VARIABLE: str(number)})
                    for number in every if number not in others}
        self.assertEqual(self.printed(), "2")
        self.assertGreater(len(set(together.values())), 3)
        for number, result in list(together.items())[::3]:
            self.assertEqual(self.compiled(every[number].applied_to(PROGRAM)), "")
            self.assertEqual(self.printed(), result, every[number])

    def test_mutations_where_no_switch_can_stand_are_left_to_their_own_builds(self):
        every = numbered(PROGRAM)
        _, others = woven("a.cpp", PROGRAM, every)
        self.assertEqual({every[number].line for number in others}, {3, 4, 6})

    def test_the_compiler_names_the_mutants_that_do_not_compile(self):
        text = "int f(const char* s) {\n  s = s + 1;\n  return *s + 1;\n}\nint main() {}\n"
        every = {number: each for number, each in numbered(text).items() if " + " in each.old}
        every[5] = every[0]._replace(new=" * ")
        said = self.compiled(woven("a.cpp", text, every)[0])
        self.assertEqual({match[1] for match in MUTANT.finditer(said)}, {"5"})

    def test_the_compiler_names_the_lines_of_the_product(self):
        text = "int f(int x) {\n  return x + 1;\n}\nint g() {\n  return f(1) + 1;\n}\nint wrong = y;\n"
        said = self.compiled(woven("a.cpp", text, numbered(text))[0])
        self.assertIn("a.cpp:7:", said)


if __name__ == "__main__":
    unittest.main()
