"""Checks that ./dev new-variant can add a rung to each room, and that the new rung compiles and is listed. Also checks
that ./dev new-problem writes a room that compiles.

usage: templates_test.py FOLDER COMPILER..."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "templates"))
import new_problem  # noqa: E402
import new_variant  # noqa: E402


class TemplateCase(unittest.TestCase):
    root, compiler = None, None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.copy = pathlib.Path(folder.name)

    def compile(self, path):
        folders = [option for folder in (self.copy / "src", self.copy / "include", self.copy, self.root / "src",
                                         self.root / "include", self.root) for option in ("-I", folder)]
        subprocess.run([*self.compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas",
                        "-Wno-unused-function", f'-DGRADUS_SOURCE_DIR="{self.root}"', *folders, "-x", "c++", path],
                       check=True)


class NewProblem(TemplateCase):
    def test_all_units_of_a_new_room_compile(self):
        files = new_problem.add(self.copy, "array-sum")
        names = [str(path.relative_to(self.copy)) for path in files]
        for name in ("include/gradus/array_sum.hpp", "src/array_sum/problem.hpp", "src/array_sum/tests/array_sum_test.cpp",
                     "bench/array_sum.cpp", "cli/array_sum.cpp"):
            self.assertIn(name, names)
        for path in files:
            self.assertNotIn("skeleton", path.read_text(encoding="utf-8").lower())
            if path.suffix == ".cpp":
                self.compile(path)
        new_variant.add(self.copy, "array_sum", "openmp_toy")

    def test_what_cannot_be_is_refused(self):
        new_problem.add(self.copy, "sorting")
        for name, reason in (("sorting", "there is a folder src/sorting already"), ("Sort", "no name of a problem"),
                             ("sort2", "no name of a problem")):
            with self.subTest(name=name), self.assertRaisesRegex(new_problem.Refused, reason):
                new_problem.add(self.copy, name)


class NewVariant(TemplateCase):
    def setUp(self):
        super().setUp()
        shutil.copytree(self.root / "src", self.copy / "src")
        self.problems = sorted(path.parent.name for path in self.copy.glob("src/*/problem.hpp"))
        self.assertGreater(len(self.problems), 1)

    def test_a_rung_of_each_room_compiles_and_is_listed(self):
        for problem in self.problems:
            with self.subTest(problem=problem):
                before = new_variant.rungs_in(new_variant.list_of(self.copy, problem).read_text())
                path, table = new_variant.add(self.copy, problem, "openmp_toy")
                rungs = new_variant.rungs_in(table.read_text())
                self.assertEqual([name for name in rungs if name != "openmp_toy"], before)
                self.assertEqual(rungs.count("openmp_toy"), 1)
                text = path.read_text()
                self.assertTrue(text.startswith("// openmp_toy: "))
                row = text[text.index("openmp_toy_rung{"):]
                for field in ('.name = "openmp_toy"', ".summary = ", ".change = "):
                    self.assertEqual(row.count(field), 1)
                self.compile(path)

    def test_a_gpu_rung_is_listed_without_cuda(self):
        path, table = new_variant.add(self.copy, "life", "cuda_toy", "cuda_shared")
        self.assertEqual(path.name, "cuda_toy.cu")
        rungs = new_variant.rungs_in(table.read_text())
        self.assertEqual(rungs[rungs.index("cuda_shared") + 1], "cuda_toy")
        self.compile(path)

    def test_the_last_rung_may_be_followed(self):
        last = new_variant.rungs_in(new_variant.list_of(self.copy, "life").read_text())[-1]
        _, table = new_variant.add(self.copy, "life", "cuda_toy", last)
        self.assertRegex(table.read_text(), rf"  RUNG\({last}\) \\\n  RUNG\(cuda_toy\)\n")

    def test_two_files_are_touched(self):
        def texts():
            return {path: path.read_bytes() for path in self.copy.rglob("*") if path.is_file()}
        before = texts()
        new_variant.add(self.copy, "kmeans", "openmp_toy")
        self.assertEqual(len([path for path, text in texts().items() if before.get(path) != text]), 2)

    def test_what_cannot_be_is_refused(self):
        for arguments, reason in ((("sorting", "openmp_toy"), "there is no problem sorting"),
                                  (("life", "hashlife"), "has hashlife already"),
                                  (("life", "toy2"), "no name of a variant"),
                                  (("life", "openmp_toy", "openmp_none"), "no rung openmp_none")):
            with self.subTest(arguments=arguments), self.assertRaisesRegex(new_variant.Refused, reason):
                new_variant.add(self.copy, *arguments)


if __name__ == "__main__":
    TemplateCase.root = pathlib.Path(sys.argv.pop(1))
    TemplateCase.compiler = [sys.argv.pop(1) for _ in sys.argv[1:]]
    unittest.main()
