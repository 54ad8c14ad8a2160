"""The command `gradus shortest-paths`, as a person uses it. tests/cli/run.py runs this."""

import json
import os

from kit import Case, read_npy, write_npy


# What tests/cli/cli_test.py wants to know: see tests/cli/run.py.
def json_jobs(case):
    return {"shortest-paths": [write_npy(case.path("graph.npy"), "<f4", (2, 2), [0, 1, 2, 0])]}


NARROWED = {}
INPUTS = {
    "roads.npy": "gradus generate uniform -n 20 -d 20 -o roads.npy",
    "adjacency.npy": "gradus generate uniform -n 20 -d 20 -o adjacency.npy",
}


class ShortestPaths(Case):
    def test_outputs(self):
        inf = float("inf")
        graph = write_npy(self.path("graph.npy"), "<f8", (3, 3), [0, 1, 5, inf, 0, 2, inf, inf, 0])
        out = self.path("out")
        self.succeed("shortest-paths", graph, "-o", out)
        self.assertEqual(read_npy(os.path.join(out, "distances.npy")), ("<f8", (3, 3), [0, 1, 3, inf, 0, 2, inf, inf, 0]))
        with open(os.path.join(out, "summary.json")) as file:
            self.assertIn("variant", json.load(file))
