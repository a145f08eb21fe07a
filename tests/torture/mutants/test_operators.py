"""Each operator makes its mistake, and none changes text that is not code."""

import unittest

from operators import mutations


def made(text):
    return {(mutation.kind, mutation.applied_to(text)) for mutation in mutations("a.cpp", text)}


class Operators(unittest.TestCase):
    def assert_made(self, text, kind, *changed):
        found = {new for each, new in made(text) if each == kind}
        self.assertEqual(found, set(changed))

    def test_an_operator_is_swapped_but_no_template_bracket(self):
        self.assert_made("bool b = x < y;", "swapped operator", "bool b = x <= y;")
        self.assert_made("vector<int> v = a && b;", "swapped operator", "vector<int> v = a || b;")

    def test_a_number_is_off_by_one(self):
        self.assert_made("int n = 1'000;", "off by one", "int n = 1001;")
        self.assert_made("int32_t n = x1;", "off by one")

    def test_a_flag_is_flipped(self):
        self.assert_made("bool b = true;", "flipped flag", "bool b = false;")

    def test_a_condition_is_negated_with_all_its_parentheses(self):
        self.assert_made("if (f(x)) g();", "negated condition", "if (!(f(x))) g();")
        self.assert_made("if (const auto x = f(); x) g();", "negated condition")

    def test_a_check_is_missing(self):
        text = "void f() {\n  if (x) return;\n  g();\n}\n"
        self.assert_made(text, "missing check", "void f() {\n  g();\n}\n")

    def test_a_call_is_dropped(self):
        text = "void f() {\n  x.erase(a);\n}\n"
        self.assert_made(text, "dropped call", "void f() {\n}\n")
        self.assert_made("  return f(x);\n", "dropped call")
        self.assert_made("  send(a, Stop{key, {}});\n", "dropped call")
        self.assert_made("  send(a, Stop{key});\n", "dropped call", "")
        self.assert_made("  each([&] { f(); });\n", "dropped call")

    def test_a_statement_with_a_condition_is_dropped_but_no_check(self):
        self.assert_made("  if (f(x)) send(a, Stop{key});\n", "dropped statement", "")
        self.assert_made("  if (x) ++count;\n", "dropped statement", "")
        for text in ("  if (x) return f();\n", "  if (x) {\n", "  if (x)\n    f();\n"):
            self.assert_made(text, "dropped statement")

    def test_a_step_of_a_counter_is_dropped(self):
        self.assert_made("  ++x_->count;\n", "dropped step", "")
        self.assert_made("  for (;; ++i) f();\n", "dropped step")

    def test_a_loop_runs_once(self):
        self.assert_made("  while (f(x)) g();\n", "loop run once", "  if (f(x)) g();\n")

    def test_an_assignment_is_dropped_but_no_declaration(self):
        text = "void f() {\n  x_->bytes[0] = 0;\n}\n"
        self.assert_made(text, "dropped assignment", "void f() {\n}\n")
        self.assert_made("  total -= size;\n", "dropped assignment", "")
        for text in ("  int n = 1;\n", "  auto& x = y;\n", "  return a == b;\n", "  f(a = b);\n"):
            self.assert_made(text, "dropped assignment")

    def test_a_lower_bound_becomes_an_upper_one(self):
        self.assert_made("x = std::min<int>(a, b);", "other bound", "x = std::max<int>(a, b);")
        self.assert_made("x = std::max_element(a, b);", "other bound")

    def test_arguments_are_swapped(self):
        self.assert_made("f(a, b);", "swapped arguments", "f(b, a);")
        self.assert_made("std::min(a, b);", "swapped arguments")

    def test_a_negation_is_dropped(self):
        self.assert_made("return (!a);", "dropped negation", "return (a);")

    def test_sql_in_a_string_is_changed(self):
        self.assert_made('f("SELECT a FROM b WHERE c < ? ");', "changed SQL",
                         'f("SELECT a FROM b WHERE c <= ? ");')

    def test_comments_strings_and_directives_stay_as_they_are(self):
        for text in ("// x < y 1 true", '"x < y 1 true"', "/* a && b */", "#if 1 < 2",
                     'R"(a == b)"', "static_assert(a == b);",
                     "assert(x > 0);"):
            self.assertEqual(made(text), set(), text)

    def test_a_changed_piece_keeps_the_strings_within_it(self):
        self.assert_made('if (x == "a b") g();', "negated condition",
                         'if (!(x == "a b")) g();')


if __name__ == "__main__":
    unittest.main()
