"""The command `gradus shortest-paths`, as a person uses it. tests/cli/run.py runs this."""

import json
import os

from kit import Case, read_npy, write_npy

NONE = 2**31 - 1
ROADS = [NONE, 5, 2, NONE, NONE, NONE, NONE, 1, NONE, 2, NONE, 9, NONE, NONE, NONE, NONE]


# What tests/cli/cli_test.py wants to know: see tests/cli/run.py.
def json_jobs(case):
    return {"shortest-paths": [write_npy(case.path("roads.npy"), "<i4", (4, 4), ROADS), "-o", case.path("paths")]}


NARROWED = {
    "gradus bench shortest-paths": "--variants sequential --vertices 100 --repeats 1",
    "gradus bench shortest-paths --vertices 1024 --tile 64 --threads 1,2": "--variants simd_tiled --repeats 1",
}
INPUTS = {
    "roads.npy": "gradus generate uniform -n 40 -d 40 --low 1 -o roads.npy",
    "adjacency.npy": "gradus generate uniform -n 40 -d 40 -o adjacency.npy",
}


class ShortestPaths(Case):
    def roads(self, dtype="<i4", values=None):
        return write_npy(self.path("roads.npy"), dtype, (4, 4), ROADS if values is None else values)

    def test_a_route(self):
        result = self.succeed("shortest-paths", self.roads(), "--from", 0, "--to", 3)
        self.assertEqual(result.stdout.splitlines()[0], "5: 0 2 1 3")
        back = self.succeed("shortest-paths", self.roads(), "--from", 3, "--to", 0)
        self.assertEqual(back.stdout.splitlines()[0], "there is no route from 3 to 0")
        answer = json.loads(self.succeed("shortest-paths", self.roads(), "--from", 0, "--to", 3, "--json").stdout)
        self.assertEqual(answer["route"], {"from": 0, "to": 3, "distance": 5, "vertices": [0, 2, 1, 3]})
        self.assertEqual((answer["n"], answer["reachable_pairs"], answer["longest"]), (4, 6, 5))
        for number in ("4", "9"):
            self.refused(2, "shortest-paths", self.roads(), "--from", number, "--to", 0, says=["--from", "4 vertices"])
        self.refused(2, "shortest-paths", self.roads(), "--from", 0, says=["--to"])

    def test_files(self):
        folder = self.path("paths")
        self.succeed("shortest-paths", self.roads(), "-o", folder)
        self.assertEqual(sorted(os.listdir(folder)), ["distances.npy", "summary.json"])
        self.succeed("shortest-paths", self.roads(), "-o", folder, "--predecessors")
        self.assertEqual(sorted(os.listdir(folder)), ["distances.npy", "predecessors.npy", "summary.json"])
        with open(os.path.join(folder, "summary.json")) as file:
            self.assertEqual(json.load(file)["problem"], "shortest_paths")

    def test_types(self):
        for dtype, none in (("<i4", NONE), ("<i8", 2**63 - 1), ("<f4", float("inf")), ("<f8", float("inf"))):
            roads = self.roads(dtype, [none if value == NONE else value for value in ROADS])
            first = self.succeed("shortest-paths", roads, "--from", 0, "--to", 3).stdout.splitlines()[0]
            self.assertEqual(first, "5: 0 2 1 3")

    def test_no_edge(self):
        roads = self.roads(values=[0 if value == NONE else value for value in ROADS])
        line = self.succeed("shortest-paths", roads, "--no-edge", 0, "--from", 0, "--to", 3).stdout.splitlines()[0]
        self.assertEqual(line, "5: 0 2 1 3")
        self.refused(2, "shortest-paths", roads, "--no-edge", 0.5, says=["0.5", "int32"])

    def test_what_has_no_answer(self):
        values = list(ROADS)
        values[4] = -6
        self.refused(3, "shortest-paths", self.roads(values=values), says=["roads.npy", "negative cycle", "0 -> 1 -> 0"])
        values[4] = NONE
        values[1] = values[2] = values[7] = values[9] = 2**31 - 2
        self.refused(3, "shortest-paths", self.roads(values=values), says=["from vertex 0 to vertex 3", "int64"])

    def test_what_is_no_graph(self):
        wide = write_npy(self.path("wide.npy"), "<i4", (2, 3), [1] * 6)
        self.refused(3, "shortest-paths", wide, says=["wide.npy", "2 x 3"])
        line = write_npy(self.path("line.npy"), "<i4", (3,), [1] * 3)
        self.refused(3, "shortest-paths", line, says=["line.npy", "one dimension"])
        self.refused(3, "shortest-paths", self.file("graph.gr", "p sp 1 0\n"), says=["graph.gr", ".npy"])
        bad = self.roads("<f8", [float("nan")] + [1.0] * 15)
        self.refused(3, "shortest-paths", bad, says=["roads.npy", "NaN", "row 0, column 0"])

    def test_outputs(self):
        inf = float("inf")
        graph = write_npy(self.path("graph.npy"), "<f8", (3, 3), [0, 1, 5, inf, 0, 2, inf, inf, 0])
        out = self.path("out")
        self.succeed("shortest-paths", graph, "-o", out)
        self.assertEqual(read_npy(os.path.join(out, "distances.npy")), ("<f8", (3, 3), [0, 1, 3, inf, 0, 2, inf, inf, 0]))
        with open(os.path.join(out, "summary.json")) as file:
            self.assertIn("variant", json.load(file))
