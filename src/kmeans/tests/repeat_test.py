"""Tests that repeat runs from the records in their files summary.json. tests/cli/run.py runs this."""

import json
import os
import shutil

from kit import Case, content

# Options whose values are numbers. The shortest text of a number must restore all bits of the number.
# test_every_choice() adds all enumerators.
RUNS = [
    ["-k", 4],
    ["-k", 3, "--init", "random", "--seed", 2**64 - 1, "--restarts", 3],
    ["-k", 5, "--init", "k-means||", "--tolerance", "0.1"],
    ["-k", 3, "--init", "first", "--tolerance", "1e-300", "--changed", "0.30000000000000004"],
    ["-k", 4, "--standardize", "--max-iterations", 2],
    ["-k", "2..5", "--choose", "davies-bouldin"],
    ["-k", 6, "--quality-moves", 5],
    ["-k", 4, "--dtype", "f64", "--variant", "sequential", "--tolerance", "0"],
]


class Repeated(Case):
    def files(self, folder):
        """Returns the contents of the files of a result, without the parts of the summary that depend on time and place."""
        found = {name: content(os.path.join(folder, name)) for name in os.listdir(folder)}
        summary = json.loads(found.pop("summary.json"))
        for fit in [*summary["history"], *summary.get("choice", {}).get("fits", [])]:
            del fit["seconds"]
        for name in ("seconds", "command", "directory", "input", "files"):
            summary.pop(name)
        found.pop("choice.csv", None)  # choice.csv contains seconds
        return found, summary

    def summary(self, *words):
        return json.loads(self.succeed("kmeans", *words, "--json").stdout)

    def run_twice(self, *words):
        first, again = self.path("first"), self.path("again")
        self.succeed("kmeans", *words, "-o", first)
        self.succeed("kmeans", "--repeat", os.path.join(first, "summary.json"), "-o", again)
        self.assertEqual(self.files(first), self.files(again))
        return first

    def test_all_options_lead_to_the_same_bytes(self):
        points = self.points()
        for options in RUNS:
            with self.subTest(options=options):
                first = self.run_twice(points, *options)
                for folder in (first, self.path("again")):
                    shutil.rmtree(folder)

    def test_a_budget_of_time_is_repeated_by_its_number_of_moves(self):
        first = self.run_twice(self.points(), "-k", 6, "--quality")
        summary = json.loads(content(os.path.join(first, "summary.json")))
        self.assertEqual([summary["options"][name] for name in ("quality", "quality_moves")],
                         [False, summary["quality_moves"]])
        self.assertNotIn("--quality", summary["command"])
        again = self.summary("--repeat", first, "--quality-moves", 3)
        self.assertEqual(again["quality_moves"], 3)
        self.assertEqual(self.summary("--repeat", first, "--quality")["options"]["quality"], False)

    def test_moves_that_are_refused(self):
        points = self.points()
        for words, status, text in [
            (["-k", 3, "--quality", "--quality-moves", 2], 2, "--quality-moves"),
            (["-k", "2..3", "--quality"], 2, "--quality-moves"),
            (["-k", 3, "--quality-moves", -1], 2, "--quality-moves"),
            (["-k", 3, "--quality-moves", 2, "--balanced"], 4, "--quality-moves 2"),
            (["-k", 3, "--quality", "--size-max", 100], 4, "--quality"),
            (["-k", 3, "--quality", "--empty", "error"], 4, "--empty error"),
            (["-k", 3, "--quality", "--device", "gpu"], 4, "--quality"),
            (["-k", 3, "--quality", "--variant", "openmp_reduce"], 4, "--quality"),
        ]:
            with self.subTest(words=words):
                self.refused(status, "kmeans", points, *words, says=[text])

    def test_every_choice(self):
        points = self.points()
        (problem,) = json.loads(self.succeed("list", "kmeans", "--json").stdout)
        choices = [(row["name"], name) for row in problem["options"] for name in row["choices"] if name != "given"]
        self.assertGreater(len(choices), 10)
        for option, name in choices:
            with self.subTest(option=option, name=name):
                first = self.run_twice(points, "-k", 3, "--" + option.replace("_", "-"), name)
                recorded = json.loads(content(os.path.join(first, "summary.json")))["options"]
                self.assertEqual(recorded[option], name)
                for folder in (first, self.path("again")):
                    shutil.rmtree(folder)

    def test_the_record_is_complete(self):
        first = self.run_twice(self.points(), "-k", 4)
        summary = json.loads(content(os.path.join(first, "summary.json")))
        words = summary["command"]
        self.assertEqual(words[:2], ["gradus", "kmeans"])
        values = {word.split("=")[0][2:].replace("-", "_"): word.split("=")[1] for word in words if "=" in word}
        self.assertEqual((summary["options"]["tolerance"], values["tolerance"]), (1e-4, "0.0001"))
        for name, value in summary["options"].items():
            self.assertTrue(value is False or values[name] == value or float(values[name]) == value, name)
        again = self.succeed(*words[1:], "--json")  # these words are a valid command line
        self.assertEqual(json.loads(again.stdout)["inertia"], summary["inertia"])

    def test_aliases_are_recorded_by_the_canonical_name(self):
        points = self.points()
        for name in ("k-means||", "k-means-parallel", "k-means_parallel"):
            summary = self.summary(points, "-k", 3, "--init", name)
            self.assertEqual((summary["init"], summary["options"]["init"]), ("k-means-parallel",) * 2)

    def test_weights_and_centroids_come_from_their_files(self):
        table = self.file("t.csv", "id,x,y,w\n" + "".join(f"r{n},{n % 7},{n % 5},{n % 3 + 1}\n" for n in range(60)))
        self.run_twice(table, "-k", 3, "--id-column", "id", "--weight-column", "w")
        shutil.rmtree(self.path("again"))
        first = self.path("first")
        fit, again = self.path("from_fit"), self.path("fit_again")
        self.succeed("kmeans", table, "-k", 3, "--drop-columns", "id,w", "--init", first, "-o", fit)
        self.succeed("kmeans", "--repeat", fit, "-o", again)
        self.assertEqual(self.files(fit), self.files(again))

    def test_other_options_replace_those_of_the_record(self):
        points, first = self.points(), self.path("first")
        self.succeed("kmeans", points, "-k", 4, "--seed", 3, "--threads", 1, "-o", first)
        expected = self.summary(points, "-k", 2, "--seed", 3, "--init", "random")
        again = self.summary("--repeat", first, "-k", 2, "--init", "random")
        self.assertEqual([again[key] for key in ("k", "seed", "init", "inertia")],
                         [expected[key] for key in ("k", "seed", "init", "inertia")])
        self.assertEqual(self.summary("--repeat", first, "--init", "first")["init"], "first")  # ignores the --seed
                                                                                               # of the record
        self.refused(2, "kmeans", "--repeat", first, "--init", "first", "--seed", 3, says=["--seed has no effect"])
        other = self.file("other.csv", "1,2\n3,4\n5,6\n7,9\n9,9\n")
        self.assertEqual(self.summary(other, "--repeat", first)["n"], 5)
        self.assertNotIn("--threads=1", again["command"])

    def test_recorded_options_without_effect_are_left_out(self):
        points, first = self.points(), self.path("first")
        self.succeed("kmeans", points, "-k", 3, "--init-rows", 20, "--restarts", 4, "--seed", 5, "-o", first)
        expected, again = self.summary(points, "-k", 3, "--init", "first"), self.summary("--repeat", first, "--init", "first")
        for key in ("options", "restarts", "seed", "inertia"):
            self.assertEqual(again[key], expected[key], key)
        self.assertEqual([word for word in again["command"] if "seed" in word or "rows" in word or "restarts" in word],
                         [word for word in expected["command"] if "restarts" in word])
        again = self.summary("--repeat", first, "--init", "random")
        self.assertEqual([again["options"][key] for key in ("init_rows", "restarts", "seed")], [20, 4, 5])

    def test_given_options_push_out_recorded_ones_that_exclude_them(self):
        table = self.file("t.csv", "x,y,z,w\n" + "".join(f"{n % 7},{n % 5},{n % 4},{n % 3 + 1}\n" for n in range(60)))
        weights = self.file("w.csv", "".join(f"{n % 3 + 1}\n" for n in range(60)))
        first = self.path("first")
        for recorded, given, expected in (
                (["--columns", "x,y"], ["--drop-columns", "x,w"], ["--drop-columns", "x,w"]),
                (["--drop-columns", "w"], ["--columns", "y,z"], ["--columns", "y,z"]),
                (["--weights", weights, "--columns", "x,y,z"], ["--weight-column", "w"], ["--weight-column", "w", "--columns", "x,y,z"]),
                (["--weight-column", "w"], ["--weights", weights, "--columns", "1-3"], ["--weights", weights, "--columns", "1-3"]),
                (["--weights", weights, "--columns", "x,y"], ["--weight-column", "w", "--drop-columns", "x"],
                 ["--weight-column", "w", "--drop-columns", "x"])):
            with self.subTest(recorded=recorded, given=given):
                self.succeed("kmeans", table, "-k", 3, *recorded, "-o", first)
                again, fresh = self.summary("--repeat", first, *given), self.summary(table, "-k", 3, *expected)
                self.assertEqual([again[key] for key in ("inertia", "columns", "weighted")],
                                 [fresh[key] for key in ("inertia", "columns", "weighted")])
                self.assertEqual(sorted(again["command"]), sorted(fresh["command"]))
                shutil.rmtree(first)

    def test_given_limits_of_size_push_out_recorded_ones(self):
        points, first = self.points(), self.path("first")
        for recorded, given in ((["--balanced"], ["--size-max", 60]), (["--size-min", 3, "--size-max", 60], ["--balanced"])):
            self.succeed("kmeans", points, "-k", 4, *recorded, "-o", first)
            again, fresh = self.summary("--repeat", first, *given), self.summary(points, "-k", 4, *given)
            self.assertEqual([again[key] for key in ("options", "counts", "command")], [fresh[key] for key in ("options", "counts", "command")])
            shutil.rmtree(first)

    def test_another_variant_leaves_out_the_options_of_the_recorded_one(self):
        points, first = self.points(), self.path("first")
        self.succeed("kmeans", points, "-k", 3, "--variant", "openmp_locked", "--lock", "tas_lock", "-o", first)
        again = self.summary("--repeat", first, "--variant", "sequential")
        self.assertEqual(again["variant"], "sequential")
        self.assertNotIn("--lock", " ".join(again["command"]))
        self.assertIn("--lock=tas_lock", self.summary("--repeat", first)["command"])

    def test_it_runs_from_elsewhere(self):
        folder, out = self.path("data"), self.path("data/out")
        os.makedirs(folder)
        shutil.copy(self.points(), os.path.join(folder, "p.npy"))
        self.succeed("kmeans", "p.npy", "-k", 3, "-o", "out", cwd=folder)
        self.succeed("kmeans", "--repeat", out, "-o", self.path("again"))
        self.assertEqual(self.files(out), self.files(self.path("again")))

    def test_a_pattern_is_looked_up_here_first(self):
        there, here = self.path("there"), self.path("here")
        for folder in (there, here):
            os.makedirs(folder)
        for part, rows in enumerate(("1,2\n3,4\n9,9\n", "5,6\n7,9\n")):
            with open(os.path.join(there, f"part-{part}.csv"), "w", encoding="utf-8") as file:
                file.write(rows)
        self.succeed("kmeans", "part-*.csv", "-k", 2, "-o", "out", cwd=there)
        for part in range(2):
            shutil.move(os.path.join(there, f"part-{part}.csv"), here)
        self.succeed("kmeans", "--repeat", os.path.join(there, "out"), "-o", "again", cwd=here)
        self.assertEqual(self.files(os.path.join(there, "out")), self.files(os.path.join(here, "again")))

    def test_another_file_leaves_the_rest_compared(self):
        rows = "1.5,2\n3,4\n5,6\n7,9\n"
        points, first = self.file("points.csv", rows), self.path("first")
        weights = [self.file(name, "1\n2\n3\n4\n") for name in ("w.csv", "other.csv")]
        self.succeed("kmeans", points, "-k", 2, "--weights", weights[0], "-o", first)
        self.file("points.csv", rows.replace("5,6", "6,6"))
        self.refused(3, "kmeans", "--repeat", first, "--weights", weights[1], says=[points, "has changed"])

    def test_what_cannot_be_repeated(self):
        points, first = self.points(), self.path("first")
        self.succeed("kmeans", points, "-k", 4, "-o", first)
        record = os.path.join(first, "summary.json")
        self.refused(2, "matmul", "--repeat", record, says=["record of 'gradus kmeans'"])
        self.refused(3, "kmeans", "--repeat", self.path("none.json"), says=["--repeat", "none.json"])
        self.refused(3, "kmeans", "--repeat", self.file("x.json", "[1, 2]"), says=["x.json", "no summary"])
        self.refused(3, "kmeans", "--repeat", self.file("y.json", '{"problem": "kmeans"}'), says=["does not say how to repeat"])
        self.refused(2, "kmeans", "--repeat", says=["--repeat", "missing"])
        changed = bytearray(content(points))
        changed[-2] ^= 1
        with open(points, "wb") as file:
            file.write(changed)
        self.refused(3, "kmeans", "--repeat", record, says=[points, "has changed", "hash"])
        os.remove(points)
        self.refused(3, "kmeans", "--repeat", record, says=[points])
        piped = self.path("piped")
        self.succeed("kmeans", "-", "-k", 2, "-o", piped, stdin="1,2\n3,4\n5,6\n")
        self.refused(3, "kmeans", "--repeat", piped, says=["standard input", "INPUT"])
