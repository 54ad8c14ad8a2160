"""Tests of the program's errors: their fields in --json, and their messages. tests/cli/run.py runs this file."""

import gzip
import json
import math
import pathlib
import re

from kit import Case, gradus, write_npy

NONE = 2147483647
TABLE = json.loads((pathlib.Path(__file__).parent / "provoked.json").read_text(encoding="utf-8"))


class Errors(Case):
    def rows(self, name, *values, columns=2, dtype="<f8"):
        return write_npy(self.path(name), dtype, (len(values) // columns, columns), values)

    def fit(self, *values, more=(), clusters=2):
        return "kmeans", self.rows("p.npy", *(values or (1, 1, 2, 2, 3, 3))), "-k", clusters, *more

    def count(self, *values, more=(), columns=2, bins=2):
        points = self.rows("p.npy", *(values or (1, 1, 2, 2, 3, 3)), columns=columns)
        return "pair-histogram", points, "--bin-width", 1, "--bins", bins, *more

    def paths(self, *values, dtype="<i4"):
        return "shortest-paths", self.rows("g.npy", *values, columns=3, dtype=dtype)

    def provocations(self):
        """Returns a pair for each error. The first element of a pair is a function that writes the input and returns
        the command. The second element is the name of the file that the error must name, or None if the error names no
        file."""
        return {
            "a point that is not a number": (lambda: self.fit(1, 1, math.nan, 2, 3, 3), "p.npy"),
            "more clusters than points": (lambda: self.fit(clusters=9), "p.npy"),
            "fewer different points than clusters": (lambda: self.fit(1, 1, 1, 1, 1, 1), "p.npy"),
            "a row without a direction": (lambda: self.fit(1, 1, 0, 0, 3, 1, more=("--metric", "cosine")), "p.npy"),
            "a negative weight": (lambda: self.fit(more=("--weights", self.file("w.csv", "1\n1\n-1\n"))), "w.csv"),
            "two weights for three points": (lambda: self.fit(more=("--weights", self.file("w2.csv", "1\n1\n"))), "w2.csv"),
            "an unknown variant": (lambda: self.fit(more=("--variant", "nonsense")), None),
            "no memory": (lambda: self.fit(more=("--memory-limit", 1)), None),
            "an empty cluster": (lambda: (
                "kmeans", self.rows("p.npy", 0, 1, columns=1), "-k", 2, "--empty", "error", "--init",
                self.rows("c.npy", 0, 9, columns=1)), None),
            "a point outside of the box": (lambda: self.count(1, 1, 2, 2, 3, 7, more=("--box", "5,5")), "p.npy"),
            "bins that reach too far": (lambda: self.count(bins=4, more=("--box", "5,5")), None),
            "an origin without a box": (lambda: self.count(more=("--box-origin", "0,0")), None),
            "a flat cell": (lambda: self.count(1, 1, 1, 2, 2, 2, columns=3, more=("--box", "5,0,0,0,5,0,5,5,1e-9")), None),
            "a distance beyond int32": (lambda: self.paths(0, 2000000000, NONE, NONE, 0, 2000000000, NONE, NONE, 0), "g.npy"),
            "a negative cycle": (lambda: self.paths(0, 1, NONE, -2, 0, NONE, NONE, NONE, 0), "g.npy"),
            "a weight that is not a number": (lambda: self.paths(0, math.nan, 1, 1, 0, 1, 1, 1, 0, dtype="<f8"), "g.npy"),
        }

    def answer(self, status, *command):
        result = gradus(*command, "--json")
        self.assertEqual(result.returncode, status, result.stderr)
        answer = json.loads(result.stdout)
        self.assertEqual((answer["exit_status"], f"gradus: {answer['error']}\n"), (status, result.stderr))
        self.assertIsNone(re.search(r"::|\b[a-z_]+=[A-Z\"]", answer["error"]), answer["error"])
        return answer

    def test_fields(self):
        provocations = self.provocations()
        self.assertEqual(provocations.keys(), {row["name"] for row in TABLE})
        for row in TABLE:
            with self.subTest(row["name"]):
                command, file = provocations[row["name"]]
                answer = self.answer(row["status"], *command())
                fields = ("code", "argument", "row", "column", "value", "allowed")
                self.assertEqual({key: answer.get(key) for key in fields if key in row or key in ("row", "column")},
                                 {key: row.get(key) for key in fields if key in row or key in ("row", "column")}, answer)
                self.assertEqual(answer.get("file"), file and self.path(file))
                if "remedy" in row:
                    self.assertEqual(answer["remedy"], row["remedy"]["program"])

    def test_fields_of_files(self):
        table = "x,y\n1,2\n3,nonsense\n"
        packed = gzip.compress(b"2\n\nA 0 0 0\nA 1 0 0\n" * 50)
        for name, text, command, fields in [
            ("a.csv", table, ("kmeans", "a.csv", "-k", 2), {"row": 3, "column": 2, "value": "nonsense"}),
            ("a.edges", "0 1 2\n1 2 z\n", ("shortest-paths", "a.edges"), {"row": 2}),
            ("a.rle", "x = 3, y = 3\nbo$zzz!\n", ("life", "a.rle", "-g", 1), {"row": 2}),
            ("a.xyz", "2\n\nA 0 0 0\nA 1 0\n", ("pair-histogram", "a.xyz", "--bin-width", 1), {"row": 4}),
            ("a.npy", b"\x93NUMPY\x01\x00\x10\x00{'descr': 3}    \n", ("kmeans", "a.npy", "-k", 2), {"byte": 20}),
            ("b.xyz.gz", packed[:30] + b"damage" + packed[36:], ("pair-histogram", "b.xyz.gz", "--bin-width", 1), {}),
        ]:
            with self.subTest(name):
                self.file(name, text)
                answer = self.answer(3, command[0], self.path(command[1]), *command[2:])
                self.assertEqual((answer["code"], answer["file"]), ("file_format", self.path(name)), answer)
                self.assertEqual({key: answer.get(key) for key in fields}, fields)
        answer = self.answer(3, "kmeans", self.path("none.npy"), "-k", 2)
        self.assertEqual((answer["code"], answer["file"]), ("cannot_read", self.path("none.npy")))

    def test_fields_of_options(self):
        points = self.points()
        for option, value, code in [("-k", "0", "out_of_range"), ("--empty", "kepe", "unknown_choice"), ("--threads", "x", "out_of_range")]:
            with self.subTest(option):
                answer = self.answer(2, "kmeans", points, "-k", 2, option, value) if option != "-k" else \
                    self.answer(2, "kmeans", points, option, value)
                self.assertEqual((answer["code"], answer["value"]), (code, value))
                self.assertTrue(answer["allowed"])
                self.assertIn(answer["argument"], ("clusters", "k", "empty", "threads"))

    def test_rows_count_in_their_file(self):
        for number, values in enumerate(((1, 1, 2, 2), (3, 3, 4, math.inf))):
            self.rows(f"part{number}.npy", *values)
        answer = self.answer(3, "kmeans", self.path("part0.npy"), self.path("part1.npy"), "-k", 2)
        self.assertEqual((answer["file"], answer["row"], answer["column"]), (self.path("part1.npy"), 1, 1))
        self.assertIn("part1.npy' (row 1 there): the value in row 3, column 1", answer["error"])
