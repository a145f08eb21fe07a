"""run_tests.py reports each test of a file, and fails if one of them does."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

from daemon import DEADLINE_S

HERE = os.path.dirname(os.path.abspath(__file__))
# Indented, so that python_tests.cmake does not count these as tests of this file.
MODULE = textwrap.dedent("""
    import os, signal, unittest

    class Mixed(unittest.TestCase):
        def test_a_word_is_printed(self):
            print("a word", os.getcwd(), signal.getsignal(signal.SIGINT))

        def test_b_fails(self):
            self.fail("a fault")

        def test_c_raises(self):
            raise ValueError("an error")

        def test_d_is_skipped(self):
            self.skipTest("a reason")

        def test_e_fails_in_a_part(self):
            for part in (1, 2, 3):
                with self.subTest(part=part):
                    self.assertEqual(part, 2)

        def test_f_passes_in_parts(self):
            with self.subTest(part=1):
                pass

    class Good(unittest.TestCase):
        def test_works(self):
            pass

    class Broken(Good):
        @classmethod
        def setUpClass(cls):
            raise ValueError("no beginning")

    class Left(Good):
        @classmethod
        def setUpClass(cls):
            raise unittest.SkipTest("no server")

    class Empty(unittest.TestCase):
        pass
""")


class RunTests(unittest.TestCase):
    def setUp(self):
        self.directory = os.path.realpath(tempfile.mkdtemp(prefix="celld-tests-"))
        self.addCleanup(shutil.rmtree, self.directory)
        with open(os.path.join(self.directory, "small.py"), "w", encoding="utf-8") as file:
            file.write(MODULE)

    def run_tests(self, *names, **environment):
        """Of the whole module, or of a class. Its exit code, and its output with all times as 0."""
        done = subprocess.run(
            [sys.executable, os.path.join(HERE, "run_tests.py"), ".".join(["small", *names])],
            cwd=self.directory, env=dict(os.environ, **environment), stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=DEADLINE_S)
        return done.returncode, re.sub(r"\d+\.\d\d s: ", "0 s: ", done.stdout)

    def test_each_test_has_a_line_with_its_outcome_after_what_it_printed(self):
        code, output = self.run_tests("Mixed")
        self.assertEqual(code, 1)
        self.assertTrue(output.startswith(
            f"a word {self.directory} <built-in function default_int_handler>\n"
            "passed 0 s: a word is printed\n"), output)
        self.assertRegex(output, r"\nAssertionError: a fault\n\nFAILED 0 s: b fails\n")
        self.assertRegex(output, r"\nValueError: an error\n\nFAILED 0 s: c raises\n")
        self.assertIn("\nnot judged: a reason\nskipped 0 s: d is skipped\n", output)
        self.assertRegex(output, r"(?s)\(part=1\).*\nAssertionError: 1 != 2\n.*\(part=3\).*"
                                 r"\nAssertionError: 3 != 2\n\nFAILED 0 s: e fails in a part\n")
        self.assertTrue(output.endswith("\npassed 0 s: f passes in parts\n"), output)

    def test_all_classes_of_a_file_run(self):
        code, output = self.run_tests()
        self.assertEqual(code, 1)
        for text in ("ValueError: no beginning\n", "not judged: no server\n",
                     "\npassed 0 s: works\n", "\npassed 0 s: f passes in parts\n"):
            self.assertIn(text, output)

    def test_a_class_whose_tests_pass_passes(self):
        self.assertEqual(self.run_tests("Good"), (0, "passed 0 s: works\n"))

    def test_a_class_that_cannot_begin_fails(self):
        code, output = self.run_tests("Broken")
        self.assertEqual(code, 1)
        self.assertIn("ValueError: no beginning", output)

    def test_a_class_that_does_not_begin_is_not_judged(self):
        self.assertEqual(self.run_tests("Left"), (0, "not judged: no server\n"))

    def test_a_class_without_tests_fails(self):
        self.assertEqual(self.run_tests("Empty"), (1, "small.Empty has no tests\n"))
        self.assertEqual(self.run_tests("Unknown")[0], 1)

    def test_the_first_failure_ends_the_run_if_that_is_asked_for(self):
        code, output = self.run_tests("Mixed", CELLD_FAIL_FAST="1")
        self.assertEqual(code, 1)
        self.assertTrue(output.endswith("FAILED 0 s: b fails\n"), output)
        code, output = self.run_tests(CELLD_FAIL_FAST="1")
        self.assertEqual((code, output.count("Traceback")), (1, 1), output)


if __name__ == "__main__":
    unittest.main()
