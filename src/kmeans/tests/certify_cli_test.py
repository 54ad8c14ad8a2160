"""`gradus kmeans --certify` and `gradus check --certify`. tests/cli/run.py runs this."""

import json
import math
import os
import random

from kit import Case, content, gradus, write_npy


class CertifyTest(Case):
    def setUp(self):
        super().setUp()
        draw = random.Random(7)
        self.rows = [[draw.gauss(40 * (row % 3 == column), 1) for column in range(3)] for row in range(300)]
        self.points = self.array("x.npy", self.rows)

    def array(self, name, rows, dtype="<f8"):
        return write_npy(self.path(name), dtype, (len(rows), len(rows[0])), [value for row in rows for value in row])

    def test_summary_text_and_check_state_one_bound(self):
        folder = self.path("out")
        answer = self.succeed("kmeans", self.points, "-k", 3, "--restarts", 5, "--certify", "-o", folder)
        self.assertIn("certificate: no clustering into 3 clusters is better, but for rounding errors", answer.stdout)
        summary = json.loads(content(os.path.join(folder, "summary.json")))
        certificate = summary["certificate"]
        self.assertEqual((certificate["method"], certificate["confidence"]), ("groups", 1))
        self.assertLessEqual(certificate["bound"], summary["inertia"])
        self.assertEqual(certificate["gap"], 1 - certificate["bound"] / summary["inertia"])
        checked = json.loads(self.succeed("check", folder, self.points, "--certify", "--json").stdout)
        for key in ("bound", "gap", "method"):
            self.assertEqual(checked["certificate"][key], certificate[key])
        self.assertIn("certificate: no clustering", self.succeed("check", folder, self.points, "--certify").stdout)
        self.assertNotIn("certificate", json.loads(self.succeed("check", folder, self.points, "--json").stdout))

    def test_gap_in_percent(self):
        text = self.succeed("kmeans", self.points, "-k", 2, "--certify").stdout
        gap = json.loads(self.succeed("kmeans", self.points, "-k", 2, "--certify", "--json").stdout)["certificate"]["gap"]
        self.assertGreater(gap, 1e-4)
        self.assertIn(f"into 2 clusters is better by more than {math.ceil(gap * 1e4) / 100:.2f} %", text)

    def test_effort_changes_the_bound_of_two_columns(self):
        plane = self.array("plane.npy", [row[:2] for row in self.rows] + [[row[1], 40 - row[0]] for row in self.rows])
        bounds = []
        for effort in ("1", "100"):
            folder = self.path(effort)
            self.succeed("kmeans", plane, "-k", 3, "--certify", "--certify-effort", effort, "-o", folder, "--quiet")
            summary = os.path.join(folder, "summary.json")
            bounds.append(json.loads(content(summary))["certificate"]["bound"])
            again = self.succeed("kmeans", "--repeat", summary, "--json").stdout
            self.assertEqual(json.loads(again)["certificate"]["bound"], bounds[-1])
            checked = self.succeed("check", folder, plane, "--certify", "--certify-effort", effort, "--json").stdout
            self.assertEqual(json.loads(checked)["certificate"]["bound"], bounds[-1])
        self.assertGreater(bounds[1], bounds[0])
        answer = gradus("kmeans", plane, "-k", 3, "--certify-effort", 2)
        self.assertEqual(answer.returncode, 2)
        self.assertIn("no effect", answer.stderr)

    def test_repeated_run_certifies_again(self):
        folder = self.path("first")
        self.succeed("kmeans", self.points, "-k", 3, "--certify", "-o", folder, "--quiet")
        again = json.loads(self.succeed("kmeans", "--repeat", os.path.join(folder, "summary.json"), "--json").stdout)
        first = json.loads(content(os.path.join(folder, "summary.json")))
        self.assertEqual(again["certificate"]["bound"], first["certificate"]["bound"])

    def test_one_column_bytes_weights_and_several_k(self):
        column = self.array("c.npy", [[row[0]] for row in self.rows])
        best = json.loads(self.succeed("kmeans", column, "-k", 2, "--optimal", "--certify", "--json").stdout)
        self.assertEqual(best["certificate"]["method"], "one-column")
        self.assertLess(best["certificate"]["gap"], 1e-12)
        bytes_ = self.array("b.npy", [[int(abs(value)) for value in row] for row in self.rows], "|u1")
        weights = self.file("w.csv", "".join("%d\n" % (row % 4) for row in range(300)))
        for words in ([bytes_, "-k", 3, "--restarts", 4], [self.points, "-k", 3, "--restarts", 4, "--weights", weights],
                      [self.points, "-k", "2..4", "--restarts", 4], [self.points, "-k", 3, "--restarts", 4, "--standardize"]):
            found = json.loads(self.succeed("kmeans", *words, "--certify", "--json").stdout)
            self.assertLess(found["certificate"]["gap"], 0.05, words)
        found = json.loads(self.succeed("kmeans", self.points, "-k", 3, "--metric", "cosine", "--certify", "--json").stdout)
        self.assertLessEqual(found["certificate"]["bound"], found["inertia"])

    def test_memory_is_checked_before_the_fit(self):
        rows = self.array("many.npy", [[float(row % 7), 1.0, 2.0, float(row % 3)] for row in range(20000)])
        answer = gradus("kmeans", rows, "-k", 3, "--certify", "--memory-limit", "600K", "-o", self.path("no"))
        self.assertEqual((answer.returncode, os.path.exists(self.path("no"))), (1, False), answer.stderr)
        self.assertIn("without --certify it may need less", answer.stderr)
        self.succeed("kmeans", rows, "-k", 3, "--memory-limit", "600K", "--quiet")
