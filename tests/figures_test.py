"""Tests bench/measure.py, which makes raw results, and docs/figures.py, which makes figures from these results. Also
tests which figures and which links to raw results the documents contain.

usage: figures_test.py FOLDER
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "bench"), str(ROOT / "tests")]
import figures  # noqa: E402
import measure  # noqa: E402
import prose  # noqa: E402
import tables  # noqa: E402

# Matches a measured time or speed in prose, such as 12 ms, 3.4× or 1.5 times as fast.
FIGURE = re.compile(r"\d[\d,.]*\s?(×|ms\b|µs\b|ns\b|s\b|GB/s|GFLOP|TFLOP|times (as|faster|the))")
GENERATED = re.compile(r"<!-- (ladder|summary) of .*?-->\n\n(\|[^\n]*\n)*", re.DOTALL)


def raw(commit="0123456789ab", **facts):
    return {"facts": {"commit": commit, "date": "2026-11-27", **facts}}


class State(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("src/toy/tests", "src/toy/files", "docs/results", "include/gradus/toy", "src/other"):
            (self.root / name).mkdir(parents=True)
        self.source = self.root / "src/toy/toy.cpp"
        self.source.write_text('int a = 1;  // one\nauto text = "one";\n')

    def digest(self):
        figures.digest.cache_clear()
        return figures.digest(self.root, "toy")

    def test_the_digest_is_of_code_alone(self):
        self.source.write_text('int a = 1;  // one\nauto text = "one message";\n')
        first = self.digest()
        self.source.write_text('int a = 1;\n\n/* more */ auto text = "another "\n  "message here";\n')
        for name in ("src/toy/README.md", "src/toy/tests/a.cpp", "src/toy/toy_test.cpp", "src/toy/files/a.cpp", "src/other/a.cpp"):
            (self.root / name).write_text("int b;\n")
        self.assertEqual(self.digest(), first)

    def test_every_change_of_code_changes_it(self):
        seen = {self.digest()}
        for name, text in (("src/toy/toy.cpp", "int a = 2;\n"), ("src/toy/new.cu", "int b;\n"), ("include/gradus/toy.hpp", "int c;\n"),
                           ("include/gradus/toy/c.hpp", "int c;\n"), ("src/toy/new.cu", 'asm("bar.sync 0;");\n'),
                           ("src/toy/new.cu", 'asm("bar.sync 1;");\n')):
            (self.root / name).write_text(text)
            seen.add(self.digest())
        self.assertEqual(len(seen), 7)

    def test_code_of_files_is_a_problem(self):
        def files_digest():
            figures.digest.cache_clear()
            return figures.digest(self.root, "files")
        for name in ("src/toy/files/a.cpp", "src/files/a.cpp", "cli/output.cpp", "src/files/a_test.cpp", "cli/other.cpp"):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text("int b;\n")
        seen = [files_digest()]
        for name in ("src/toy/files/a.cpp", "src/files/a.cpp", "cli/output.cpp", "src/files/a_test.cpp", "cli/other.cpp", "src/toy/toy.cpp"):
            (self.root / name).write_text("int c;\n")
            seen.append(files_digest())
        self.assertEqual(len(set(seen)), 4)
        self.assertEqual(len(set(seen[3:])), 1)

    def test_unmeasured_code_keeps_it(self):
        first = self.digest()
        for name in ("src/toy/batches/a.cpp", "include/gradus/toy_batches.hpp"):
            (self.root / name).parent.mkdir(exist_ok=True)
            (self.root / name).write_text("int b;\n")
        self.assertEqual(self.digest(), first)

    def test_of_the_api_only_the_measured_call_counts(self):
        api = self.root / "src/toy/api"
        api.mkdir()
        (api / "fit.cpp").write_text('#include "toy/api/run.hpp"\n')
        (api / "run.hpp").write_text("int b;\n")
        with unittest.mock.patch.dict(figures.MEASURED_CALL, toy="fit"):
            seen = {self.digest()}
            (api / "predict.cpp").write_text("int b;\n")
            self.assertEqual({self.digest()}, seen)
            for name, text in (("fit.cpp", '#include "toy/api/run.hpp"\nint a;\n'), ("run.hpp", "int c;\n"), ("run.cpp", "int c;\n")):
                (api / name).write_text(text)
                seen.add(self.digest())
        self.assertEqual(len(seen), 4)

    def test_every_measured_call_is_there(self):
        for problem, call in figures.MEASURED_CALL.items():
            self.assertTrue((ROOT / "src" / problem / "api" / f"{call}.cpp").is_file(), problem)

    def test_code_of_one_machine_counts_there_alone(self):
        def digests():
            figures.digest.cache_clear()
            return [figures.digest(self.root, "toy", machine) for machine in ("cpu", "gpu", None)]
        for name, counts in (("rungs/simd_a.cpp", "cpu"), ("rungs/sequential.cpp", "cpu"), ("assign/simd_rows.hpp", "cpu"), ("simd/a.cpp", "cpu"),
                             ("rungs/cuda_a.cu", "gpu"), ("means/a.cuh", "gpu"), ("rungs/cuda_a.cpp", "gpu"), ("gpu/a.hpp", "gpu"),
                             ("means/a.cpp", "cpu, gpu"), ("rungs.cpp", "cpu, gpu")):
            before = digests()
            path = self.root / "src/toy" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text("int b;\n")
            changed = [old != new for old, new in zip(before, digests())]
            self.assertEqual(changed, ["cpu" in counts, "gpu" in counts, True], name)

    def test_no_code_of_gpus_includes_code_of_cpus(self):
        for problem, _ in figures.PROBLEMS:
            room = ROOT / "src" / problem
            for path in room.rglob("*"):
                if path.suffix in prose.CPP and "tests" not in path.parts and figures.ONLY_ON["gpu"].match(str(path.relative_to(ROOT))):
                    for name in re.findall(rf'#include "({problem}/[^"]+)"', path.read_text()):
                        self.assertIsNone(figures.ONLY_ON["cpu"].match(name), path)

    def test_no_measured_code_includes_what_is_unmeasured(self):
        folders = "|".join(figures.UNMEASURED)
        doors = "|".join(f"{folder}/(?:{door})" for folder, door in figures.UNMEASURED.items() if door)
        included = re.compile(rf'#include [<"](?![^">]*\b(?:{doors})\.hpp)(?:[^">]*/)?(?:(?:{folders})/[^">]*|\w+_(?:{folders})\.hpp)[">]')
        self.assertTrue(any(included.search(path.read_text()) for path in (ROOT / "src").rglob("*.cpp")))
        for folder in ("src", "include", "bench", "cli"):
            for path in (ROOT / folder).rglob("*"):
                if path.suffix in prose.CPP and figures.is_measured(path.relative_to(ROOT)) and not path.stem.endswith("_test"):
                    self.assertIsNone(included.search(path.read_text()), path)

    def test_a_result_is_current_missing_or_stale(self):
        path = self.root / "docs/results/a.json"
        self.assertEqual(figures.state(self.root, "a", "toy"), "missing")
        path.write_text(json.dumps(raw(code=self.digest())))
        self.assertEqual(figures.state(self.root, "a", "toy"), "current")
        for result in (raw(code="other"), raw(), raw("0123456789ab-dirty", code=self.digest()), raw("unknown", code=self.digest()),
                       raw(code=self.digest(), draft=True), {"right": False, **raw(code=self.digest())},
                       {"facts": {"code": self.digest()}}):
            path.write_text(json.dumps(result))
            self.assertIn("stale", figures.state(self.root, "a", "toy"))
            self.assertIsNone(figures.current(self.root, "a", "toy"))


    def test_what_is_code_and_what_is_not(self):
        def digest(text):
            self.source.write_text(text)
            return self.digest()
        for before, after in (
                ("a = 1'000;  // it's one\nint b;", "a = 1'000;  // two\nint b;"), ("f();  // a \\\nint b = 1;\nint c;", "f();\nint c;"),
                ('f("one text");', 'f("another text");'), ("#if A  // one\nint b;\n#endif", "#if A\n\nint b;\n#endif"),
                ("int a;  // 'one\nint b;", "int a;  // \"two\nint b;")):
            self.assertEqual(digest(before), digest(after), before)
        for before, after in (
                ("a = 1'000; b = 1;", "a = 1'000; b = 2;"), ("x = '\"'; y = 1; z = '\"';", "x = '\"'; y = 2; z = '\"';"),
                ("f();  // a \\\nint b = 1;", "f();  // a\nint b = 1;"), ('#include "a.hpp"', '#include "b.hpp"'),
                ('#pragma GCC target("avx2")', '#pragma GCC target("avx512f")'), ('_Pragma("omp parallel for")', '_Pragma("omp for simd")'),
                ("#define A 1\nint b;", "#define A 1 int b;"), ('if (name == "openmp") f();', 'if (name == "cuda") f();'),
                ("c = '  ';", "c = ' ';"), ('f("a  b");', 'f("a b");'), ('auto s = R"(//)"; a = 1;', 'auto s = R"(//)"; a = 2;'),
                ('auto s = R"x()")x"; a = 1;', 'auto s = R"x()")x"; a = 2;'), ('f(R"( " )"); a = 1; g(" ");', 'f(R"( " )"); a = 2; g(" ");'),
                ("#if 0\ndon't\n#endif\nint a = 1; char c = 'x';", "#if 0\ndon't\n#endif\nint a = 2; char c = 'x';"),
                ("#if 0\nint a;\n#endif", "#if 1\nint a;\n#endif"), ('s = "\\\n// x"; a = 1;', 's = "\\\n// x"; a = 2;')):
            self.assertNotEqual(digest(before), digest(after), before)


class Measuring(unittest.TestCase):
    """Tests measurements with a program that writes a result. The result names a commit. Since that commit, the code of
    the repository has changed."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "src/toy").mkdir(parents=True)
        (self.root / "include").mkdir()
        (self.root / "include/a.hpp").write_text("int a;\n")
        (self.root / "src/toy/toy.cpp").write_text("int a = 1;\n")
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
        for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "a"]):
            subprocess.run([*git, *command], cwd=self.root, check=True)
        self.commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=self.root, check=True, capture_output=True, text=True).stdout.strip()
        figures.digest.cache_clear()
        self.measured = figures.digest(self.root, "toy")
        figures.digest.cache_clear()
        (self.root / "src/toy/toy.cpp").write_text("int a = 2;\n")
        self.options = types.SimpleNamespace(into=self.root, draft=False, scale=1)

    def measure(self, result, status=0):
        text = f"import json, sys; result = {result!r}\nif result: json.dump(result, open(sys.argv[1], 'w'))\nsys.exit({status})"
        with unittest.mock.patch.multiple(measure, ROOT=self.root, command_of=lambda *given: [sys.executable, "-c", text, str(given[-1])]):
            return measure.measure(self.options, ("a", "toy", "cpu", "program", ""))

    def kept(self, name="a.json"):
        path = self.root / name
        return json.loads(path.read_text()) if path.is_file() else None

    def test_the_digest_is_of_the_measured_commit(self):
        self.assertEqual(self.measure(raw(self.commit)), "")
        self.assertEqual(self.kept()["facts"]["code"], self.measured)
        self.assertNotEqual(figures.digest(self.root, "toy"), self.measured)

    def test_a_failed_run_leaves_the_result_before(self):
        self.measure(raw(self.commit))
        before = self.kept()
        for result, status in ((None, 1), (raw(self.commit, new=1), 3), (raw(self.commit + "-dirty"), 0), (raw("0123456789ab"), 0)):
            self.assertNotEqual(self.measure(result, status), "")
            self.assertEqual(self.kept(), before)
            self.assertEqual(self.kept("a.failed.json") is None, result is None)

    def test_a_draft_is_marked(self):
        self.options.scale = 0.1
        self.measure(raw(self.commit))
        self.assertTrue(self.kept()["facts"]["draft"])


class Comparisons(unittest.TestCase):
    def test_numbers_keep_their_size(self):
        for value, text in ((123.4, "123×"), (9.96, "10×"), (1.996, "2.0×"), (1.05, "1.05×"), (1, "1.00×"), (0.9996, "0.999×"),
                            (0.996, "0.996×"), (0.93, "0.93×"), (0.0042, "0.00420×")):
            self.assertEqual(figures.times(value), text)
        for value, text in ((1234.5, "1230 s"), (0.9999, "1.00 s"), (0.99951, "1.00 s"), (0.5, "500 ms"), (9.996e-4, "1.00 ms"),
                            (2.5e-6, "2.50 µs"), (4e-10, "0.400 ns")):
            number, unit = text.split()
            self.assertEqual((figures.seconds_text(value), tables.time_text(value)), (f"{float(number):g} {unit}", text))
        self.assertEqual([tables.number_text(value) for value in (0.0042, 0.5, 0.999, 2, 1234)], ["0.00420", "0.50", "0.999", "2.00", "1230"])

    def test_the_fastest_other_library_counts(self):
        line = {"name": "job", "gradus_variant": "v", "samples": {"Gradus": [2.0, 1.0, 3.0], "A": {"seconds": [8.0]}, "B": [4.0]}}
        found, = figures.compared_samples([line, {"name": "ours alone", "samples": {"Gradus": [1.0], "sequential": [2.0]}}])
        self.assertEqual((found.job, found.ours, found.other, found.ratio), ("job", "v", "B", 2.0))
        self.assertEqual(figures.against([found]), "2.0× B")

    def test_a_loss_is_shown(self):
        rows = [{"subject": "gradus fast_set", "median": 3.0}, {"subject": "gradus slow_set", "median": 6.0}, {"subject": "libcds Set", "median": 1.5}]
        found, = figures.compared_rows([{"name": "job", "rows": rows}])
        self.assertEqual((found.ours, found.other, found.ratio), ("fast_set", "libcds Set", 0.5))
        self.assertEqual(figures.against([found, found]), "0.50× (0.50× to 0.50×) libcds")

    def test_a_variant_within_a_tolerance_does_not_count(self):
        rows = [{"variant": name, "contract": contract, "phases": {"multiply": seconds, "read": 9.0}} for name, contract, seconds in
                (("cuda_pipelined", "same bits", 2.0), ("cuda_tensor_split", "tolerance", 0.5), ("cublas", "tolerance", 1.0))]
        found, = figures.compared_variants([{"m": 8, "n": 8, "k": 8, "dtype": "f32", "rows": [*rows, {"variant": "cublas_emulated"}]}])
        self.assertEqual((found.ours, found.other, found.ratio), ("cuda_pipelined", "cublas", 0.5))

    def test_shapes_are_one_job(self):
        shapes = [{"samples": {"Gradus": [1.0], "NumPy": [2.0]}}, {"samples": {"Gradus": [1.0], "NumPy": [8.0]}}]
        found, = figures.compared_shapes([{"name": "everyday", "dtype": "f32", "shapes": shapes}])
        self.assertAlmostEqual(found.ratio, 4.0)


    def test_file_rates_are_shares_of_ceilings(self):
        times = [{"threads": 1, "seconds": 0.02}, {"threads": 2, "seconds": 0.01}]
        row = {"kind": "graph", "format": "Toy", "ending": ".toy", "content": "toys", "bytes": 4e6,
               "read": {"ceiling": {"seconds": 0.005}, "times": times}}
        result = {"facts": {"commit": "0123456789ab", "date": "2026-11-27T", "machine": {"cores": 2, "processor": "Toy"}},
                  "rows": [row, {**row, "write": {"ceiling": {"seconds": 0.02}, "times": times}}]}
        with unittest.mock.patch.object(figures, "current", lambda *_: result):
            lines = [line for line in figures.file_rates("").splitlines() if line.startswith("| graph")]
        self.assertEqual(lines, ["| graph | Toy `.toy` | toys | 200 (25 %) | 400 (50 %) |  |  |",
                                 "| graph | Toy `.toy` | toys | 200 (25 %) | 400 (50 %) | 200 (100 %) | 400 (200 %) |"])
        with unittest.mock.patch.object(figures, "current", lambda *_: None):
            self.assertEqual(figures.file_rates(""), "")


class Measurements(unittest.TestCase):
    def test_each_experiment_is_measured(self):
        rows = {row[0]: row for row in measure.MEASUREMENTS}
        for path in sorted((ROOT / "experiments").glob("*.json")):
            with self.subTest(experiment=path.stem):
                _, problem, machine, program, arguments = rows[f"experiment-{path.stem}"]
                self.assertEqual(problem, json.loads(path.read_text(encoding="utf-8"))["problem"])
                self.assertIn(machine, ("cpu", "gpu"))
                self.assertTrue(arguments.startswith(f"--experiment {path.stem} "))
                options = types.SimpleNamespace(gradus="gradus", cores=16, scale=1)
                self.assertEqual(measure.command_of(options, problem, program, arguments, "a.json"),
                                 ["gradus", "bench", *arguments.split(), "--json", "a.json", "--quiet"])

    def test_other_commands_name_the_problem(self):
        options = types.SimpleNamespace(gradus="gradus", cores=16, scale=1)
        self.assertEqual(measure.command_of(options, "shortest_paths", measure.BENCH, "--threads 1,{all}", "a.json"),
                         ["gradus", "bench", "shortest-paths", "--threads", "1,16", "--json", "a.json", "--quiet"])
        self.assertEqual(measure.command_of(types.SimpleNamespace(gradus="build/gradus", cores=16, scale=0.5), "files", measure.FILES,
                                            "--scale {scale} --rounds 5", "a.json"),
                         ["build/file_rates", "--scale", "0.5", "--rounds", "5", "--json", "a.json"])


# Matches a link to a raw result: relative to the root of the repository, or in Markdown relative to a folder below it.
RAW_LINK = re.compile(r"docs/results/([\w.-]+\.(?:json|txt))|\]\((?:\.\./)*results/([\w.-]+\.(?:json|txt))\)")
# Files that may name raw results which do not exist: tests that make results, and raw results with their command lines.
WITHOUT_LINKS = ("tests/figures_test.py", "tests/tables_test.py", "docs/results/", "docs/decisions/measurements/")


def links_to_results(text):
    return [match[1] or match[2] for match in RAW_LINK.finditer(text)]


class Documents(unittest.TestCase):
    def test_each_raw_result_is_a_measurement_at_a_clean_commit(self):
        names = {row[0]: row[1] for row in measure.MEASUREMENTS}
        self.assertEqual(len(names), len(measure.MEASUREMENTS))
        for path in sorted((ROOT / "docs/results").glob("*")):
            with self.subTest(result=path.name):
                self.assertIn(path.stem, names, "no row of bench/measure.py makes it: measure it again or delete it")
                self.assertTrue(figures.is_clean(json.loads(path.read_text(encoding="utf-8"))["facts"]["commit"]))

    def test_readme_has_no_figure_of_its_own(self):
        for name in ("README.md", *(f"src/{problem}/README.md" for problem, _ in figures.PROBLEMS)):
            with self.subTest(document=name):
                text = GENERATED.sub("", (ROOT / name).read_text(encoding="utf-8"))
                found = [FIGURE.search(passage.text)[0] for passage in prose.of_markdown(text) if FIGURE.search(passage.text)]
                self.assertEqual(found, [])

    def test_links_to_raw_results_lead_to_measurements(self):
        measured = {f"{row[0]}.json" for row in measure.MEASUREMENTS}
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for name in listed.split("\0"):
            path = ROOT / name
            if not path.is_file() or name.startswith(WITHOUT_LINKS):
                continue
            try:
                text = GENERATED.sub("", path.read_text(encoding="utf-8"))  # the test `tables` checks generated blocks
            except UnicodeDecodeError:
                continue
            with self.subTest(file=name):
                broken = [link for link in links_to_results(text) if link not in measured and not (ROOT / "docs/results" / link).is_file()]
                self.assertEqual(broken, [])

    def test_links_to_raw_results_are_found(self):
        text = "[a](../../docs/results/a-1.json) [b](results/b.txt) `docs/results/c.json` (docs/results/) [d](measurements/d.txt)"
        self.assertEqual(links_to_results(text), ["a-1.json", "b.txt", "c.json"])


if __name__ == "__main__":
    unittest.main()
