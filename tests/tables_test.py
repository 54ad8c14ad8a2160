"""Checks that the tables in the documents equal the tables that docs/tables.py writes from the ladders' rows and from
raw results.

usage: tables_test.py FOLDER PROGRAM"""
import ast
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "docs"))
import figures  # noqa: E402
import tables  # noqa: E402


def row(name, backend="openmp"):
    return {"name": name, "summary": f"the idea of {name}", "change": "a | b", "contract": "same bits",
            "device": "gpu" if backend == "cuda" else "cpu"}


def option(name, kind="integer", **facts):
    return {"name": name, "kind": kind, "help": f"what {name} does", "placeholder": "", "choices": [], "default": 5, "calls": "",
            "scikit_learn": "", **facts}


def measurement(variant, threads, seconds):
    return {"variant": variant, "threads": threads, "seconds": {"median": seconds}, "phases": {"pack": 1e-3, "run": seconds}}


class Written(unittest.TestCase):
    ROWS = [row("sequential"), row("openmp_toy"), row("cuda_toy", "cuda")]

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for path in ("src/toy", "docs/results"):
            (self.root / path).mkdir(parents=True)
        for name in ("sequential.cpp", "openmp_toy.cpp", "cuda_toy.cu"):
            (self.root / "src/toy" / name).write_text(f"// {pathlib.Path(name).stem}: an idea\n")
        groups = [{"n": 8, "rows": [measurement("sequential", 1, 4.0)]},
                  {"n": 10, "rows": [measurement("sequential", 1, 2.0), measurement("openmp_toy", 1, 3.0),
                                     measurement("openmp_toy", 2, 1.0), measurement("openmp_toy", 2, 0.5),
                                     measurement("cuda_toy", 2, 0.01)]}]
        facts = {"commit": "0123456789ab", "code": figures.digest(self.root, "toy")}
        (self.root / "docs/results/toy.json").write_text(json.dumps({"facts": facts, "groups": groups}))
        self.document = self.root / "src/toy/README.md"

    @staticmethod
    def rows(ladder):
        return {"ladders": {"toy": ladder},
                "formats": {"graph": [{"name": "Toy", "endings": ".toy .t", "rules": "toys"}]}}

    def write(self, options, table="| x |\n|---|\n"):
        self.document.write_text(f"# Toy\n\n<!-- ladder of toy{options} -->\n\n{table}\nThe end.\n", encoding="utf-8")

    def table(self, options):
        self.write(options)
        text = tables.out_of_date(self.root, self.rows(self.ROWS))[self.document]
        self.assertTrue(text.startswith("# Toy\n\n") and text.endswith("|\n\nThe end.\n"))
        return [line.split(" | ") for line in text.splitlines() if line.startswith("|")]

    def test_names_and_ideas_come_from_the_rows(self):
        lines = self.table("")
        self.assertEqual([line[0] for line in lines[2:]], ["| `sequential`", "| `openmp_toy`", "| `cuda_toy`"])
        self.assertEqual(lines[2][1], "the idea of sequential |")

    def test_links_go_to_the_files_and_bars_are_escaped(self):
        line = self.table(' {"columns": ["file", "change"]}')[4]
        self.assertEqual(line, ["| [`cuda_toy`](cuda_toy.cu)", "a \\| b |"])

    def measured(self, **column):
        options = {"columns": ["variant"], "measured": [{"title": "t", "results": ["toy.json"], **column}]}
        lines = self.table(" " + json.dumps(options))
        return [line[1].removesuffix(" |").strip() for line in lines[2:]]

    def test_times_are_those_of_the_most_threads_with_the_gain_over_the_rung_before(self):
        self.assertEqual(self.measured(where={"n": 10}), ["2.00 s", "500 ms, 4.00×", "10.0 ms, 50.0×"])

    def test_times_are_of_what_is_asked_for(self):
        self.assertEqual(self.measured(where={"n": 10}, per="n"), ["200 ms", "50.0 ms, 4.00×", "1.00 ms, 50.0×"])
        self.assertEqual(self.measured(where={"n": 10}, threads=1), ["2.00 s", "3.00 s, 0.67×", ""])
        self.assertEqual(self.measured(where={"n": 10}, device="gpu"), ["", "", "10.0 ms"])
        self.assertEqual(self.measured(where={"n": 10}, **{"except": ["openmp_toy"]}), ["2.00 s", "", "10.0 ms, 200×"])
        self.assertEqual(self.measured(where={"n": 10}, value=["phases.pack", "phases.run"], device="gpu"),
                         ["", "", "11.0 ms"])
        self.assertEqual(self.measured(where={"n": 8}), ["4.00 s", "", ""])

    def test_the_gain_is_over_the_row_above_in_the_table(self):
        options = {"columns": ["variant"], "only": ["sequential", "cuda_toy"],
                   "measured": [{"title": "t", "results": ["toy.json"], "where": {"n": 10}}]}
        lines = self.table(" " + json.dumps(options))
        self.assertEqual([line[1].removesuffix(" |") for line in lines[2:]], ["2.00 s", "10.0 ms, 200×"])

    def test_a_result_of_other_code_is_left_out(self):
        self.assertNotEqual(self.measured(), ["", "", ""])
        (self.root / "src/toy/cuda_toy.cu").write_text("// cuda_toy: another idea\n")
        figures.digest.cache_clear()
        self.assertNotEqual(self.measured(), ["", "", ""])
        (self.root / "src/toy/cuda_toy.cu").write_text("// cuda_toy: an idea\nint code;\n")
        figures.digest.cache_clear()
        self.assertEqual(self.measured(), ["", "", ""])

    def test_what_was_not_measured_is_left_out(self):
        (self.root / "docs/results/toy.json").unlink()
        self.assertEqual(self.measured(), ["", "", ""])

    def test_a_drift_is_a_complaint(self):
        self.write("")
        self.document.write_text(tables.out_of_date(self.root, self.rows(self.ROWS))[self.document], encoding="utf-8")
        self.assertEqual(tables.complaints(self.root, self.rows(self.ROWS)), [])
        self.assertEqual(tables.complaints(self.root, {"ladders": {}, "formats": {}}), [])
        for rows in (self.ROWS[1:], self.ROWS[::-1], [{**self.ROWS[0], "summary": "another"}, *self.ROWS[1:]]):
            self.assertEqual(len(tables.complaints(self.root, self.rows(rows))), 1)

    def test_a_readme_without_a_ladder_is_a_complaint(self):
        self.document.write_text("# Toy\n", encoding="utf-8")
        self.assertEqual(tables.complaints(self.root, self.rows(self.ROWS)), ["src/toy/README.md has no ladder of toy"])

    def test_formats_are_listed_by_their_endings(self):
        self.write("", "| x |\n|---|\n\n<!-- formats of graph -->\n\n| old |\n")
        text = tables.out_of_date(self.root, self.rows(self.ROWS))[self.document]
        self.assertTrue(text.endswith("-->\n\n| graph | rules |\n|---|---|\n| `.toy`, `.t` | toys |\n\nThe end.\n"))

    OPTIONS = [option("size"), option("mean_of", "choice", choices=["one", "all"], default="all", calls="toy_memory"),
               option("dry", "flag", default=False, scikit_learn="true")]

    def test_options_are_listed_as_each_front_end_spells_them(self):
        rows = {**self.rows(self.ROWS), "options": {"toy": self.OPTIONS}}
        rows["ladders"]["toy"] = [*self.ROWS[:2], {**self.ROWS[2], "options": [option("file", "text", placeholder="FILE", default="")]}]
        self.write("", "| x |\n|---|\n\n<!-- options of toy, but size -->\n\n| old |\n\n<!-- arguments of toy -->\n\n"
                       "\n<!-- variant options of toy -->\n\n")
        text = tables.out_of_date(self.root, rows)[self.document]
        self.assertIn("| option | meaning | default |\n|---|---|---|\n| `--mean-of one\\|all` | what mean_of does | all |\n"
                      "| `--dry` | what dry does |  |\n\n", text)
        self.assertIn('| `size` | int | `5` | what size does |\n| `mean_of` | "one" or "all" | `"all"` |', text)
        self.assertIn("| `--file FILE` | `cuda_toy` | what file does |  |\n", text)
        with self.assertRaisesRegex(LookupError, "no siez"):
            tables.option_tables.in_document("<!-- options of toy, but siez -->\n\n", rows)

    def test_lines_of_python_are_written_between_the_markers(self):
        old = '''def toy(
    # <options of toy as arguments, but dry>
    size: str = "old",
    # </options>
    # <options of toy for toy_memory as arguments>
    # </options>
    last: int,
):
    """Adds.

    .. <options of toy for toy_memory as text>
    .. </options>
    """
    {
        # <options of toy as scikit_learn>
        # </options>
    }
'''
        new = old.replace('    size: str = "old",\n', '    size: int = 5,\n    mean_of: str = "all",\n')
        new = new.replace("toy_memory as arguments>\n", 'toy_memory as arguments>\n    mean_of: str = "all",\n')
        new = new.replace("as text>\n", 'as text>\n    mean_of : "one" or "all"; what mean_of does\n')
        new = new.replace("as scikit_learn>\n", 'as scikit_learn>\n        "dry": "true",\n')
        self.assertEqual(tables.option_tables.in_python(old, {"toy": self.OPTIONS}), new)
        self.assertEqual(tables.option_tables.in_python(new, {"toy": self.OPTIONS}), new)

    def test_a_ladder_of_some_rows(self):
        self.assertEqual([line[0] for line in self.table(' {"only": ["openmp_toy"]}')][2:], ["| `openmp_toy`"])

    def test_the_summary_has_a_row_for_each_problem(self):
        rows = [{"problem": "toy", "name": "toys", "gives": "x", "guarantee": "y", "baselines": "z"}]
        (self.root / "docs/problems.json").write_text(json.dumps(rows))
        document = self.root / "README.md"
        document.write_text("# Toy\n\n<!-- summary of benchmarks -->\n\nold\n\n<!-- end -->\n\nThe end.\n")
        written = tables.out_of_date(self.root, self.rows(self.ROWS))[document]
        self.assertIn("| [toys](src/toy/README.md) | x | y | z |\n\n<!-- end -->\n\nThe end.\n", written)
        document.write_text(written)
        self.assertNotIn(document, tables.out_of_date(self.root, self.rows(self.ROWS)))

    def test_numbers_have_three_digits(self):
        for seconds, text in ((1.25, "1.25 s"), (12.34, "12.3 s"), (1234, "1230 s"), (0.9999, "1.00 s"),
                              (2.5e-5, "25.0 µs"), (4.06e-9, "4.06 ns"), (4e-10, "0.400 ns")):
            self.assertEqual(tables.time_text(seconds), text)


class Tables(unittest.TestCase):
    root, program = None, None

    def test_the_documents_agree_with_the_rows_and_the_results(self):
        rows = tables.rows_of(self.program)
        self.assertTrue(rows["ladders"] and all(rows["ladders"].values()) and all(rows["formats"].values()))
        self.assertEqual(tables.complaints(self.root, rows), [])

    def test_a_new_option_is_written_everywhere(self):
        rows = tables.rows_of(self.program)
        rows["options"]["kmeans"].append(option("batch", calls="KMeans kmeans_memory"))
        written = {str(path.relative_to(self.root)): text for path, text in tables.out_of_date(self.root, rows).items()}
        self.assertEqual(sorted(written),
                         ["docs/reference/kmeans.md", "python/gradus/_kmeans.py", "python/gradus/_kmeans_batch.py",
                          "python/gradus/cluster.py"])
        self.assertIn("| `--batch N` | what batch does | 5 |\n", written["docs/reference/kmeans.md"])
        self.assertIn("| `batch` | int | `5` | what batch does |\n", written["docs/reference/kmeans.md"])

        def calls_with_it(file):
            functions = [node for node in ast.walk(ast.parse(written[file])) if isinstance(node, ast.FunctionDef)]
            return {one.name for one in functions if "batch" in [argument.arg for argument in one.args.kwonlyargs]}
        self.assertEqual(calls_with_it("python/gradus/_kmeans.py"), {"kmeans", "choose_clusters", "kmeans_memory"})
        self.assertEqual(calls_with_it("python/gradus/_kmeans_batch.py"), {"kmeans_batch"})
        self.assertEqual(calls_with_it("python/gradus/cluster.py"), {"__init__"})


if __name__ == "__main__":
    Tables.root, Tables.program = pathlib.Path(sys.argv.pop(1)), sys.argv.pop(1)
    unittest.main()
