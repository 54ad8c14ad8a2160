"""Tests `gradus kmeans --subspaces` and the codes of `gradus predict`. tests/cli/run.py runs this."""

import json
import os
import random

from kit import Case, content, gradus, read_npy, write_npy


class Codebooks(Case):
    def vectors(self, name="vectors.npy", rows=300, columns=6, dtype="<f4", seed=1):
        draw = random.Random(seed)
        values = [draw.randrange(40) if dtype == "|u1" else draw.gauss(0, 1) for _ in range(rows * columns)]
        return write_npy(self.path(name), dtype, (rows, columns), values)

    def group(self, vectors, group, subspaces):
        """Writes a group of columns to a separate file."""
        dtype, (rows, columns), values = read_npy(vectors)
        size = columns // subspaces
        part = [values[row * columns + group * size + column] for row in range(rows) for column in range(size)]
        return write_npy(self.path(f"group-{group}.npy"), dtype, (rows, size), part)

    def test_codebooks_are_the_centroids_of_separate_fits(self):
        for dtype, subspaces, clusters, words in (
            ("<f4", 3, 16, []), ("<f8", 2, 9, ["--restarts", 2]), ("|u1", 6, 5, ["--seed", 7]), ("<f4", 1, 270, []),
            ("<f4", 2, 8, ["--metric", "cosine"]), ("<f4", 3, 4, ["--balanced"]), ("<f4", 2, 8, ["--weights", self.weights(300)])
        ):  # fmt: skip
            with self.subTest(dtype=dtype, subspaces=subspaces, words=words):
                vectors = self.vectors(dtype=dtype)
                done = self.succeed("kmeans", vectors, "-k", clusters, "--subspaces", subspaces, *words, "-o", self.path("fit"))
                self.assertIn("wrote codebooks.npy, codes.npy, summary.json", done.stderr)
                kind, shape, codebooks = read_npy(self.path("fit/codebooks.npy"))
                self.assertEqual((kind, shape), ("<f4" if dtype == "|u1" else dtype, (subspaces, clusters, 6 // subspaces)))
                kind, shape, codes = read_npy(self.path("fit/codes.npy"))
                self.assertEqual((kind, shape), ("|u1" if clusters <= 256 else "<i4", (300, subspaces)))
                summary = json.loads(content(self.path("fit/summary.json")))
                self.assertEqual((summary["subspaces"], summary["k"], summary["d"]), (subspaces, clusters, 6))
                self.assertEqual(sorted(os.listdir(self.path("fit"))), ["codebooks.npy", "codes.npy", "summary.json"])
                for group in range(subspaces):
                    self.succeed("kmeans", self.group(vectors, group, subspaces), "-k", clusters, *words, "-o", self.path("one"))
                    size = clusters * 6 // subspaces
                    self.assertEqual(read_npy(self.path("one/centroids.npy"))[2], codebooks[group * size : (group + 1) * size])
                    self.assertEqual(read_npy(self.path("one/labels.npy"))[2], codes[group::subspaces])
                    one = json.loads(content(self.path("one/summary.json")))
                    self.assertEqual((one["inertia"], one["iterations"]), (summary["inertias"][group], summary["iterations"][group]))

    def weights(self, rows):
        return write_npy(self.path("weights.npy"), "<f4", (rows,), [row % 3 for row in range(rows)])

    def test_predict_encodes(self):
        vectors = self.vectors()
        for clusters in (20, 280):
            self.succeed("kmeans", vectors, "-k", clusters, "--subspaces", 2, "-o", self.path("fit"))
            self.succeed("predict", self.path("fit"), vectors, "-o", self.path("codes.npy"))
            self.assertEqual(content(self.path("codes.npy")), content(self.path("fit/codes.npy")))
        _, _, codes = read_npy(self.path("codes.npy"))
        rows = [codes[row * 2 : row * 2 + 2] for row in range(300)]
        text = "".join(f"{first},{second}\n" for first, second in rows)
        self.assertEqual(self.succeed("predict", self.path("fit"), vectors).stdout, text)
        self.succeed("predict", self.path("fit"), vectors, "-o", self.path("codes.csv"))
        self.assertEqual(content(self.path("codes.csv"), "r"), text)
        answer = json.loads(self.succeed("predict", self.path("fit"), vectors, "--json").stdout)
        self.assertEqual((answer["codes"], answer["subspaces"], answer["k"]), (rows, 2, 280))
        inertia = json.loads(content(self.path("fit/summary.json")))["inertia"]
        self.assertAlmostEqual(answer["inertia"], inertia, delta=1e-9 * inertia)

    def test_blocks_of_rows_give_the_same_codes(self):
        self.succeed("kmeans", self.vectors(), "-k", 20, "--subspaces", 2, "-o", self.path("fit"))
        many = self.vectors("many.npy", rows=40000)
        for name, words in (("whole.npy", []), ("blocks.npy", ["--memory-limit", "1500K", "--threads", 1])):
            self.succeed("predict", self.path("fit"), many, "-o", self.path(name), *words)
        self.assertEqual(content(self.path("whole.npy")), content(self.path("blocks.npy")))

    def test_the_record_repeats(self):
        self.succeed("kmeans", self.vectors(), "-k", 8, "--subspaces", 3, "-o", self.path("first"))
        self.succeed("kmeans", "--repeat", self.path("first"), "-o", self.path("again"))
        for name in ("codebooks.npy", "codes.npy"):
            self.assertEqual(content(self.path("first/" + name)), content(self.path("again/" + name)))

    def test_a_fit_replaces_codebooks_and_codebooks_a_fit(self):
        vectors = self.vectors()
        for words, there in (([], "labels.npy"), (["--subspaces", 2], "codes.npy"), ([], "labels.npy")):
            self.succeed("kmeans", vectors, "-k", 4, *words, "-o", self.path("fit"))
            names = os.listdir(self.path("fit"))
            self.assertIn(there, names)
            self.assertEqual(len(names), 3)

    def test_threads_do_not_change_the_files(self):
        vectors = self.vectors()
        for threads in (1, 2, 5):
            self.succeed("kmeans", vectors, "-k", 8, "--subspaces", 3, "--threads", threads, "-o", self.path(f"on-{threads}"))
        for name in ("codebooks.npy", "codes.npy"):
            self.assertEqual(len({content(self.path(f"on-{threads}/{name}")) for threads in (1, 2, 5)}), 1)

    def test_what_belongs_to_one_fit_is_refused(self):
        vectors = self.vectors()
        fit = ["kmeans", vectors, "-k", 4, "--subspaces", 2]
        self.refused(2, "kmeans", vectors, "-k", "2..4", "--subspaces", 2, says=["-k names several"])
        for words in (["--optimal"], ["--init", vectors], ["--checkpoint", self.path("c.npz")], ["--report", self.path("r.html")]):
            self.refused(2, *fit, *words, says=[words[0]])
        self.refused(2, *fit, "--standardize", says=["--standardize"])
        self.refused(2, *fit, "--gpus", "auto", says=["--gpus auto"])
        self.refused(2, "kmeans", vectors, "-k", 4, "--subspaces", 4, says=["--subspaces", "6 columns", "divisor of 6"])
        self.refused(3, "kmeans", vectors, "-k", 301, "--subspaces", 2, says=["301", "300 points"])
        dtype, shape, values = read_npy(vectors)
        values[6 * 17 + 4] = float("nan")
        bad = write_npy(self.path("bad.npy"), dtype, shape, values)
        self.refused(3, "kmeans", bad, "-k", 4, "--subspaces", 2, "-o", self.path("out"), says=["bad.npy", "subspace 1", "row 17"])
        self.assertFalse(os.path.exists(self.path("out")))

    def test_other_commands_refuse_codebooks(self):
        vectors = self.vectors()
        fit = self.path("fit")
        self.succeed("kmeans", vectors, "-k", 4, "--subspaces", 2, "-o", fit)
        for words in (["transform", fit, vectors], ["check", fit, vectors], ["kmeans", vectors, "-k", 4, "--init", fit]):
            self.refused(3, *words, says=["holds codebooks", "gradus predict"])
        self.refused(3, "predict", fit, self.vectors("other.npy", columns=4), says=["4 columns", "6 columns"])
        with open(self.path("fit/codebooks.npy"), "r+b") as file:
            file.truncate(150)
        self.refused(3, "predict", fit, vectors, says=["codebooks.npy"])
