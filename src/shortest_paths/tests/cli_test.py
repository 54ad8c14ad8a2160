"""Tests the command `gradus shortest-paths` as the user runs it. tests/cli/run.py runs this file."""

import gzip
import importlib.util
import json
import os
import re
import subprocess
import sys
import unittest

from kit import Case, CompletionCase, content, read_npy, write_npy

NONE = 2**31 - 1
ROADS = [NONE, 5, 2, NONE, NONE, NONE, NONE, 1, NONE, 2, NONE, 9, NONE, NONE, NONE, NONE]


# Returns the jobs that tests/cli/cli_test.py runs: see tests/cli/run.py.
def json_jobs(case):
    return {"shortest-paths": [write_npy(case.path("roads.npy"), "<i4", (4, 4), ROADS), "-o", case.path("paths")]}


def repeated_jobs(case):
    matrix = write_npy(case.path("matrix.npy"), "<i4", (4, 4), ROADS)
    roads = case.file("roads.csv", "from,to,km\nRome,Oslo,2000.5\nOslo,Bern,5900\nBern,Rome,1\n")
    return {"shortest-paths": [
        ([matrix], ""), ([matrix, "--predecessors", "--sources", "2,0"], ""), ([matrix, "--from", 0, "--to", 3], None),
        ([matrix, "--no-edge", 2, "--undirected", "--unweighted", "--variant", "openmp_tiled", "--tile", 2], ""),
        ([matrix, "--no-edge", "-1"], ""),
        ([roads, "--undirected", "--predecessors"], ""), ([roads, "--sources", "Oslo", "--from", "Oslo", "--to", "Rome"], ""),
        ([roads, "--columns", "to,from,km", "--dtype", "f64"], ""),
    ]}


NARROWED = {
    "gradus bench shortest-paths": "--variants sequential --vertices 100 --repeats 1",
    "gradus bench shortest-paths --vertices 20000 --degree 5 --sources 100 --variants openmp_dijkstra": "--repeats 1",
    "gradus bench shortest-paths --vertices 1024 --tile 64 --threads 1,2": "--variants simd_tiled --repeats 1",
}
INPUTS = {
    "roads.gr": "gradus generate road-grid --rows 6 --columns 7 -o roads.gr",
    "flights.csv": "printf 'from,to,km\nRome,Oslo,2000\nOslo,New York,5900\n' > flights.csv",
    "streets.csv": "printf 'u,v,key,length\n1,2,0,3.5\n2,3,0,4.5\n' > streets.csv",
    "transfers.txt": "printf 'from_stop_id,to_stop_id,transfer_type,min_transfer_time\nS1,S2,2,120\nS2,S3,2,60\n' > transfers.txt",
    "temporal.edges": "printf '1 2 5 1262304000\n2 3 1 1262304001\n' > temporal.edges",
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
        self.assertEqual(answer["n"], 4)
        answer = json.loads(self.succeed("shortest-paths", self.roads(), "--sources", "0", "--from", 0, "--to", 3,
                                         "--json").stdout)
        self.assertEqual((answer["reachable_pairs"], answer["longest"], answer["sources"]), (3, 5, [0]))
        for number in ("4", "9"):
            self.refused(2, "shortest-paths", self.roads(), "--from", number, "--to", 0, says=["--from", "4 vertices"])
        self.refused(2, "shortest-paths", self.roads(), "--from", 0, says=["--to"])

    def test_bench_of_lists_and_sources(self):
        def groups(*options):
            answer = json.loads(self.succeed("bench", "shortest-paths", "--repeats", 1, "--json", *options).stdout)
            self.assertTrue(answer["right"])
            return answer["groups"]

        few = ["--variants", "openmp_dijkstra,openmp_tiled", "--predecessors", "yes", "--sources", 7]
        measured = groups("--vertices", "250,300", "--degree", "3.5,0", "--dtype", "i32,f64", *few)
        self.assertEqual([(one["vertices"], one["edges"], one["dtype"]) for one in measured],
                         [(n, m, dtype) for n, all_edges in ((250, 875), (300, 1050)) for m in (all_edges, 0) for dtype in ("i32", "f64")])
        for one in measured:
            self.assertEqual((one["form"], one["sources"], one["density"]), ("list", 7, None))
            self.assertEqual([row["variant"] for row in one["rows"] if row["edges_per_second"] >= 0],
                             ["openmp_dijkstra", "openmp_tiled"])
        (matrix,) = groups("--vertices", 250, "--density", 0.1, *few)
        self.assertEqual((matrix["form"], matrix["sources"], matrix["density"]), ("matrix", 7, 0.1))
        bench = ["bench", "shortest-paths", "--vertices", 5]
        self.refused(2, *bench, "--degree", 4.1, says=["degree", "at most 4"])
        self.refused(2, *bench, "--degree", -1, says=["--degree"])
        self.refused(2, *bench, "--sources", 6, says=["sources", "5 vertices"])
        self.refused(2, *bench, "--degree", 1, "--density", 0.5, says=["--density has no effect", "--degree"])

    def test_claims_of_an_experiment(self):
        def claim(kind, **what):
            return {"variant": "openmp_tiled", "claim": kind, **what}

        path = self.path("tiles.json")
        with open(path, "w") as file:
            json.dump({"name": "tiles", "problem": "shortest_paths", "title": "tiles", "source": "none",
                       "shapes": [{"label": str(tile), "vertices": 300, "tile": tile} for tile in (1, 64)],
                       "runs": [{"variants": ["openmp_tiled"], "threads": [1]}],
                       "claims": [claim("best_at", tile=64), claim("best_at", tile=1),
                                  claim("scales_to", threads=4096), claim("stops_at", threads=1)]}, file)
        shown = self.succeed("bench", "--experiment", path, "--repeats", 3, "--json", self.path("raw.json")).stdout
        self.assertNotIn("published, and here", shown)
        with open(self.path("raw.json")) as file:
            judged = json.load(file)["claims"]
        verdicts = ["confirmed", "refuted", "not decided here", "not decided here"]
        self.assertEqual([one["verdict"] for one in judged], verdicts)
        texts = ["best at tile 64", "best at tile 1", "scales to 4096 threads", "stops at 1 threads"]
        for text, verdict in zip(texts, verdicts):
            self.assertIn(f"claim: openmp_tiled {text}: {verdict}", shown)
        (finding,) = judged[1]["inputs"]
        self.assertEqual((finding["label"], finding["verdict"]), ("1, 64", "refuted"))
        self.assertGreater(finding["seconds"]["1"], 1.1 * finding["seconds"]["64"])
        self.assertEqual(json.loads(self.succeed("bench", "--experiment", path, "--repeats", 1, "--json", "--scale",
                                                 0.5).stdout)["claims"][0]["rule"], judged[0]["rule"])

    def test_the_published_experiment(self):
        answer = json.loads(self.succeed("bench", "--experiment", "floyd-warshall-openmp", "--scale", 1e-5, "--repeats",
                                         1, "--threads", "1,2", "--json").stdout)
        self.assertTrue(answer["right"])
        shapes = [(n, tile) for n in (22, 44, 88) for tile in (32, 64, 128, 256)]
        self.assertEqual([(group["vertices"], group["tile"]) for group in answer["groups"]], shapes)
        self.assertEqual([(claim["variant"], claim["claim"], len(claim["inputs"])) for claim in answer["claims"]],
                         [("openmp_recursive", "stops_at", 12), ("openmp_tiled", "scales_to", 12),
                          ("openmp_tiled", "best_at", 3)])

    def test_report(self):
        self.succeed("generate", "road-grid", "--rows", 9, "--columns", 11, "-o", self.path("roads.gr"), "--quiet")
        page, out = self.path("page.html"), self.path("out")
        self.succeed("shortest-paths", self.path("roads.gr"), "--report", page, "-o", out, "--quiet")
        shape, _, distances = read_npy(os.path.join(out, "distances.npy"))[:3]
        charts = self.charts_of(page)
        n = 99
        between = [value for place, value in enumerate(distances) if place // n != place % n]
        rows = charts.pop("distances of 9,702 pairs")[1:]
        bounds = [[int(word) for word in row[0].split(" to ")] for row in rows]
        self.assertEqual((bounds[0][0], bounds[-1][-1]), (min(between), max(between)))
        self.assertEqual([sum(bound[0] <= value <= bound[-1] for value in between) for bound in bounds], [int(row[1]) for row in rows])
        # The longest route is the shortest route between the two vertices that are farthest apart.
        farthest = max((place for place in range(n * n) if place // n != place % n), key=lambda place: (distances[place], -place))
        title, rows = next((title, rows) for title, rows in charts.items() if title.startswith("the shortest route"))
        self.assertEqual(title, f"the shortest route from {farthest // n + 1} to {farthest % n + 1}")
        self.assertEqual([int(row[1]) for row in rows[1:]], [distances[farthest // n * n + int(row[0]) - 1] for row in rows[1:]])
        self.assertEqual(rows[-1], [str(farthest % n + 1), str(max(between))])
        # If a route is requested, the summary includes the distances from the route's first vertex.
        answer = json.loads(self.succeed("shortest-paths", self.path("roads.gr"), "--from", 3, "--to", 90, "--report", page, "--json").stdout)
        charts = self.charts_of(page)
        self.assertIn("distances of 98 pairs", charts)
        self.assertEqual([int(row[0]) for row in charts["the shortest route from 3 to 90"][1:]], answer["route"]["vertices"])
        self.assertEqual(int(charts["the shortest route from 3 to 90"][-1][1]), answer["route"]["distance"])
        # In this graph, weights are real numbers, and there is no route from c to a.
        edges = self.file("edges.csv", "a,b,-1.5\nb,c,2.25\nd,c,1\n")
        self.succeed("shortest-paths", edges, "--from", "c", "--to", "a", "--report", page, "--quiet")
        self.assertIn("there is no route from c to a", content(page, "r"))
        self.succeed("shortest-paths", edges, "--report", page, "--quiet")
        charts = self.charts_of(page)
        self.assertEqual(sum(int(row[1]) for row in charts["distances of 4 pairs"][1:]), 4)
        self.assertEqual(charts["the shortest route from b to c"][1:], [["b", "0"], ["c", "2.25"]])
        self.refused_to_overwrite([edges], "shortest-paths", edges, "--report", edges)

    def test_files(self):
        folder = self.path("paths")
        self.succeed("shortest-paths", self.roads(), "-o", folder)
        self.assertEqual(sorted(os.listdir(folder)), ["distances.npy", "summary.json"])
        self.succeed("shortest-paths", self.roads(), "-o", folder, "--predecessors")
        self.assertEqual(sorted(os.listdir(folder)), ["distances.npy", "predecessors.npy", "summary.json"])
        with open(os.path.join(folder, "summary.json")) as file:
            self.assertEqual(json.load(file)["problem"], "shortest_paths")

    def test_the_greatest_number_of_a_narrow_type_is_no_edge(self):
        for dtype, none in (("|i1", 127), ("|u1", 255), ("<i2", 32767), ("<u2", 65535), ("<u4", 2**32 - 1)):
            roads = self.roads(dtype, [none if value == NONE else value for value in ROADS])
            lines = self.succeed("shortest-paths", roads, "--from", 3, "--to", 0).stdout.splitlines()
            self.assertEqual(lines[0], "there is no route from 3 to 0", dtype)

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

    def test_a_matrix_of_zeros_is_asked_about(self):
        roads = self.roads(values=[0 if value == NONE else value for value in ROADS[:4]] + 12 * [0])
        self.assertIn("--no-edge 0 takes them for none", self.succeed("shortest-paths", roads).stderr)
        self.assertEqual(self.succeed("shortest-paths", roads, "--no-edge", 0).stderr.count("--no-edge"), 0)

    def test_an_adjacency_matrix(self):
        rows = write_npy(self.path("linked.npy"), "|b1", (3, 3), [0, 1, 0, 0, 0, 1, 0, 0, 0])
        result = self.succeed("shortest-paths", rows, "--from", 0, "--to", 2)
        self.assertEqual(result.stdout.splitlines()[0], "2: 0 1 2")
        back = self.succeed("shortest-paths", rows, "--from", 2, "--to", 0)
        self.assertEqual(back.stdout.splitlines()[0], "there is no route from 2 to 0")

    def test_what_has_no_answer(self):
        values = list(ROADS)
        values[4] = -6
        self.refused(3, "shortest-paths", self.roads(values=values), says=["roads.npy", "negative cycle, 0 -> 1 -> 0 (vertices counted from 0), of"])
        values[4] = NONE
        values[1] = values[2] = values[7] = values[9] = 2**31 - 2
        self.refused(3, "shortest-paths", self.roads(values=values), says=["from vertex 0 to vertex 3", "int64"])

    def test_what_is_no_graph(self):
        wide = write_npy(self.path("wide.npy"), "<i4", (2, 3), [1] * 6)
        self.refused(3, "shortest-paths", wide, says=["wide.npy", "2 x 3"])
        line = write_npy(self.path("line.npy"), "<i4", (3,), [1] * 3)
        self.refused(3, "shortest-paths", line, says=["line.npy", "one dimension"])
        self.refused(3, "shortest-paths", self.file("graph.dat", "1 2 3\n"), says=["graph.dat", "list of edges", ".edges"])
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


GR = "c roads\np sp 5 6\na 1 2 4\na 2 3 1\na 1 3 9\na 3 4 2\na 4 5 7\na 2 5 30\n"
MTX = "%%MatrixMarket matrix coordinate integer general\n5 5 6\n1 2 4\n2 3 1\n1 3 9\n3 4 2\n4 5 7\n2 5 30\n"
LIST = "1,2,4\n2,3,1\n1,3,9\n3,4,2\n4,5,7\n2,5,30\n"
NAMED = 'from,to,km\nRome,Oslo,2000\nOslo,"New York, NY",5900\n'


class GraphFiles(Case):
    """Tests graphs that are given by their edges."""

    def route(self, *arguments, **options):
        result = self.succeed("shortest-paths", *arguments, **options)
        return result.stdout.splitlines()[0]

    def test_every_format_gives_the_same(self):
        for name, text in (("g.gr", GR), ("g.mtx", MTX), ("g.csv", LIST), ("g.txt", LIST.replace(",", " ")),
                           ("g.tsv", LIST.replace(",", "\t")), ("g.edges", LIST.replace(",", ";")),
                           ("anything", GR), ("other", MTX)):
            graph = self.file(name, text)
            packed = self.file(name + ".gz", gzip.compress(text.encode()))
            for path in (graph, packed):
                self.assertEqual(self.route(path, "--from", 1, "--to", 5), "14: 1 2 3 4 5")
                self.assertEqual(self.route(path, "--from", 5, "--to", 1), "there is no route from 5 to 1")

    def test_standard_input(self):
        for text in (GR, MTX, LIST):
            self.assertEqual(self.route("-", "--from", 1, "--to", 5, stdin=text), "14: 1 2 3 4 5")
        packed = self.succeed("shortest-paths", "-", "--from", 1, "--to", 5, stdin=gzip.compress(GR.encode()), text=False)
        self.assertEqual(packed.stdout.splitlines()[0], b"14: 1 2 3 4 5")

    def test_summary(self):
        answer = json.loads(self.succeed("shortest-paths", self.file("g.gr", GR), "--json").stdout)
        self.assertEqual([answer[key] for key in ("n", "edges", "format", "undirected", "base", "dtype")],
                         [5, 6, "DIMACS", False, 1, "i32"])
        self.assertEqual((answer["reachable_pairs"], answer["longest"]), (10, 14))
        self.assertNotIn("sources", answer)
        answer = json.loads(self.succeed("shortest-paths", self.file("g.csv", NAMED), "--from", "Rome", "--to",
                                         "New York, NY", "--json").stdout)
        self.assertEqual(answer["route"], {"from": "Rome", "to": "New York, NY", "distance": 7900,
                                           "vertices": ["Rome", "Oslo", "New York, NY"]})
        self.assertEqual((answer["format"], answer["base"]), ("edge list", None))

    def test_names(self):
        graph = self.file("g.csv", NAMED)
        self.assertEqual(self.route(graph, "--from", "Rome", "--to", "New York, NY"), "7900: Rome -> Oslo -> New York, NY")
        out = self.path("out")
        self.succeed("shortest-paths", graph, "-o", out, "--predecessors")
        self.assertEqual(sorted(os.listdir(out)), ["distances.npy", "names.txt", "predecessors.npy", "summary.json"])
        self.assertEqual(content(os.path.join(out, "names.txt"), "r").splitlines(), ["Rome", "Oslo", "New York, NY"])
        none = 2**31 - 1
        self.assertEqual(read_npy(os.path.join(out, "distances.npy")),
                         ("<i4", (3, 3), [0, 2000, 7900, none, 0, 5900, none, none, 0]))
        self.succeed("shortest-paths", self.file("g.gr", GR), "-o", out)  # the file has no names
        self.assertEqual(sorted(os.listdir(out)), ["distances.npy", "summary.json"])
        self.refused(2, "shortest-paths", graph, "--from", "Roma", "--to", "Oslo", says=["--from", "no vertex", "'Roma'"])
        self.refused(3, "shortest-paths", graph, "--base", 0, says=["--base 0", "names"])
        numbers = self.file("n.txt", "1 99999999999\n99999999999 7\n")
        self.refused(3, "shortest-paths", numbers, says=["n.txt:1", "99999999999"])
        self.assertEqual(self.route(numbers, "--names", "--from", 1, "--to", 7), "2: 1 -> 99999999999 -> 7")

    def test_sources(self):
        graph = self.file("g.gr", GR)
        out = self.path("out")
        self.succeed("shortest-paths", graph, "--sources", "3,1", "-o", out, "--predecessors")
        none = 2**31 - 1
        self.assertEqual(read_npy(os.path.join(out, "distances.npy")),
                         ("<i4", (2, 5), [none, none, 0, 2, 9, 0, 4, 5, 7, 14]))
        self.assertEqual(read_npy(os.path.join(out, "predecessors.npy")),
                         ("<i4", (2, 5), [-1, -1, -1, 2, 3, -1, 0, 1, 2, 3]))
        self.assertEqual(json.loads(content(os.path.join(out, "summary.json")))["sources"], [3, 1])
        self.assertEqual(self.route(graph, "--sources", "3,1", "--from", 1, "--to", 5), "14: 1 2 3 4 5")
        self.refused(2, "shortest-paths", graph, "--sources", "3,6", says=["--sources 6", "5 vertices", "from 1"])
        self.refused(2, "shortest-paths", graph, "--sources", "3,,1", says=["--sources", "empty"])
        self.refused(2, "shortest-paths", graph, "--sources", "3", "--from", 1, "--to", 5, says=["--from", "--sources"])

    def test_directions_and_lengths(self):
        graph = self.file("g.gr", GR)
        self.assertEqual(self.route(graph, "--undirected", "--from", 5, "--to", 1), "14: 5 4 3 2 1")
        self.assertEqual(self.route(graph, "--unweighted", "--from", 1, "--to", 5), "2: 1 2 5")
        self.assertEqual(self.route(graph, "--no-edge", 1, "--from", 1, "--to", 5), "18: 1 3 4 5")
        symmetric = self.file("s.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n")
        self.assertEqual(self.route(symmetric, "--from", 1, "--to", 3), "2: 1 2 3")
        self.assertEqual(self.route(symmetric, "--from", 3, "--to", 1), "2: 3 2 1")

    def test_types(self):
        far = self.file("far.txt", "1 2 2147483000\n2 3 2147483000\n")
        self.refused(3, "shortest-paths", far, "--base", 1, says=["from vertex 1 to vertex 3", "4294966000", "--dtype i64"])
        self.assertEqual(self.route(far, "--dtype", "i64", "--from", 1, "--to", 3), "4294966000: 1 2 3")
        decimals = self.file("d.txt", "1 2 0.5\n2 3 2\n")
        self.assertEqual(self.route(decimals, "--from", 1, "--to", 3), "2.5: 1 2 3")
        self.refused(3, "shortest-paths", decimals, "--base", 1, "--dtype", "i64", says=["d.txt", "i64", "f64"])
        self.assertEqual(self.route(far, "--dtype", "f64", "--from", 1, "--to", 3), "4294966000: 1 2 3")

    def test_the_base(self):
        zero = self.file("zero.txt", "0 1\n1 2\n")
        result = self.succeed("shortest-paths", zero, "--from", 0, "--to", 2)
        self.assertEqual(result.stdout.splitlines()[0], "2: 0 1 2")
        self.assertIn("a vertex is 0", result.stderr)
        one = self.file("one.txt", "1 2\n2 3\n")
        result = self.succeed("shortest-paths", one, "--json")
        self.assertIn("no vertex is 0", result.stderr)
        self.assertEqual((json.loads(result.stdout)["n"], json.loads(result.stdout)["base"]), (3, 1))
        result = self.succeed("shortest-paths", one, "--base", 0, "--json")
        self.assertEqual(result.stderr, "")
        self.assertEqual((json.loads(result.stdout)["n"], json.loads(result.stdout)["base"]), (4, 0))
        self.refused(3, "shortest-paths", zero, "--base", 1, says=["zero.txt:1", "no vertex 0"])
        self.refused(2, "shortest-paths", one, "--base", 2, says=["--base"])

    def test_options_without_effect(self):
        graph = self.file("g.gr", GR)
        matrix = write_npy(self.path("m.npy"), "<i4", (1, 1), [0])
        for path in (graph, matrix):
            for option in (["--base", 0], ["--names"], ["--header", "no"], ["--columns", "1,2"], ["--decimal", "comma"],
                           ["--thousands", "point"]):
                self.refused(2, "shortest-paths", path, *option, says=[option[0], "no effect"])
        self.refused(2, "shortest-paths", matrix, "--dtype", "i64", says=["--dtype", "no effect"])

    def test_negative_cycles_are_named_as_in_the_file(self):
        self.refused(3, "shortest-paths", self.file("c.gr", "p sp 3 3\na 1 2 1\na 2 3 1\na 3 2 -2\n"),
                     says=["c.gr", "negative cycle", " 2 -> 3 -> 2,", "length -1"])
        self.refused(3, "shortest-paths", self.file("c.csv", "Rome,Oslo,-3\nOslo,Rome,2\n"),
                     says=["c.csv': the graph has a negative cycle, Rome -> Oslo -> Rome, of length -1;"])

    def test_a_distance_that_does_not_fit_names_its_ends_as_in_the_file(self):
        far = "Rome,Oslo,2000000000\nOslo,New York,2000000000\n"
        says = ["c.csv': the distance from vertex Rome to vertex New York is 4000000000, which int32", "--dtype i64"]
        self.refused(3, "shortest-paths", self.file("c.csv", far), says=says)
        self.refused(3, "shortest-paths", self.file("c.csv", far), "--from", "Rome", "--to", "New York", says=says)
        # Some names are numbers, and one name looks like a message.
        self.refused(3, "shortest-paths", self.file("c.csv", far.replace("Rome", "7").replace("Oslo", "negative cycle 1 -> 2")),
                     says=["from vertex 7 to vertex New York is"])
        self.refused(3, "shortest-paths", self.file("d.gr", "p sp 3 2\na 3 1 2000000000\na 1 2 2000000000\n"),
                     says=["d.gr': the distance from vertex 3 to vertex 2 is 4000000000"])

    def test_broken_files(self):
        market = "%%MatrixMarket matrix coordinate integer general\n"
        for name, text, words in [
            ("a.gr", "a 1 2 3\n", ["a.gr:1", "before the line"]),
            ("b.gr", GR + "p sp 5 6\n", ["b.gr:9", "second line"]),
            ("c.gr", GR[:-9], ["c.gr", "after 5 of the 6 edges"]),
            ("d.gr", GR + "a 1 2 3\n", ["d.gr:9", "more edges"]),
            ("e.gr", GR.replace("a 4 5", "a 4 6"), ["e.gr:7", "no vertex 6", "1 to 5"]),
            ("f.gr", GR.replace("30", "9223372036854775808"), ["f.gr:8", "int64"]),
            ("g.gr", GR.replace("30", "1e400"), ["g.gr:8", "too large"]),
            ("h.gr", GR.replace("30", "nan"), ["h.gr:8", "not a finite number"]),
            ("i.gr", "p sp 2147483648 0\n", ["i.gr:1", "2147483648"]),
            ("j.gr", "p sp -1 0\n", ["j.gr:1", "-1"]),
            ("k.gr", "p sp 9 999999999999999999\na 1 2 3\n", ["k.gr:3", "after 1 of the 999999999999999999"]),
            ("l.gr", "", ["l.gr", "empty"]),
            ("m.gr.gz", gzip.compress(GR.encode())[:-9], ["m.gr.gz", "cut off"]),
            ("n.gr.gz", gzip.compress(GR.encode()) + b"rest", ["n.gr.gz", "follows"]),
            ("a.mtx", market + "2 3 1\n1 2 3\n", ["a.mtx:2", "square"]),
            ("b.mtx", market + "2 2 2\n1 2 3\n", ["b.mtx", "after 1 of the 2"]),
            ("c.mtx", market + "2 2 1\n1 2 3\n" + market, ["c.mtx:4", "second line"]),
            ("d.mtx", market.replace("integer", "complex"), ["d.mtx:1", "complex"]),
            ("e.mtx", market + "2147483647 2147483647 999999999999999999\n", ["e.mtx", "after 0 of the"]),
            ("a.csv", "1,2,3\n1,2\n", ["a.csv:2", "weight"]),
            ("b.csv", "1,2\nx,3\n", ["b.csv:2", "'x'", "--names"]),
            ("c.csv", "1,2,3,4\n", ["c.csv:1", "4 fields"]),
            ("d.csv", "# only\n", ["d.csv:2", "without an edge"]),
            ("e.csv", "1,2,3\n-4,2,3\n", ["e.csv:2", "no vertex -4"]),
        ]:
            self.refused(3, "shortest-paths", self.file(name, text), says=words)
        self.refused(3, "shortest-paths", self.path("missing.gr"), says=["missing.gr"])

    def test_tables_of_edges(self):
        """For files of OSMnx, GTFS, pandas and graph collections, the message of the refusal names the option that
        helps or the reason why no option helps."""
        for name, text, says, columns, ends, route in [
            ("osmnx.csv", "u,v,key,length\n1,2,0,3.5\n2,3,0,4.5\n", "say --columns u,v,length", "u,v,length", (1, 3), "8: 1 2 3"),
            ("transfers.txt", "from_stop_id,to_stop_id,transfer_type,min_transfer_time\nS1,S2,2,120\nS2,S3,2,60\n",
             "say --columns from_stop_id,to_stop_id,min_transfer_time", "1,2,4", ("S1", "S3"), "180: S1 -> S2 -> S3"),
            ("pandas.csv", ",source,target,weight\n0,1,2,3.5\n1,2,3,4.5\n", "say --columns source,target,weight",
             "source,target,weight", (1, 3), "8: 1 2 3"),
            ("order.csv", "weight,source,target\n3,1,2\n4,2,3\n", "say --columns source,target,weight", "source,target,weight", (1, 3), "7: 1 2 3"),
            ("numbered.edges", "0 0 1 0.5\n1 1 2 0.25\n", "--columns FROM,TO,WEIGHT says which columns these are, by number from 1", "2,3,4",
             (0, 2), "0.75: 0 1 2"),
        ]:
            path = self.file(name, text)
            self.refused(3, "shortest-paths", path, says=[name, says])
            for graph, options in ((path, {}), ("-", {"stdin": text})):
                self.assertEqual(self.route(graph, "--columns", columns, "--from", ends[0], "--to", ends[1], **options), route)
        comma = self.file("comma.csv", "source;target;weight\n1;2;3,5\n2;3;4,5\n")
        self.assertEqual(self.route(comma, "--from", 1, "--to", 3), "8: 1 2 3")
        self.assertIn("--decimal comma says so", self.succeed("shortest-paths", comma).stderr)
        self.assertEqual(self.route(comma, "--decimal", "comma", "--from", 1, "--to", 3), "8: 1 2 3")
        self.refused(3, "shortest-paths", self.file("numbered.cedge", "0 1 0.5\n"), says=["looks like a list of edges", ".edges", "'-'"])
        self.refused(2, "shortest-paths", comma, "--columns", "1", says=["FROM,TO or FROM,TO,WEIGHT"])
        pattern = self.file("p.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2 7\n")
        self.refused(3, "shortest-paths", pattern, says=["p.mtx:3", "'7'", "--columns 1,2,3", "--columns 1,2 leaves"])
        self.assertEqual(self.route(pattern, "--columns", "1,2,3", "--from", 1, "--to", 2), "7: 1 2")
        self.assertEqual(self.route(pattern, "--columns", "1,2", "--from", 1, "--to", 2), "1: 1 2")

    def test_a_third_column_that_names_no_weight(self):
        for header, rows, pair, all_three, ends, hops, route in [
            ("from_stop_id,to_stop_id,transfer_type", "S1,S2,2\nS2,S3,0\n", "from_stop_id,to_stop_id",
             "from_stop_id,to_stop_id,transfer_type", ("S1", "S3"), "2: S1 -> S2 -> S3", "2: S1 -> S2 -> S3"),
            ("u,v,osmid", "1,2,70\n2,3,80\n", "u,v", "u,v,osmid", (1, 3), "2: 1 2 3", "150: 1 2 3"),
            ("source,target,edge_key", "1,2,70\n2,3,80\n", "source,target", "source,target,edge_key", (1, 3), "2: 1 2 3", "150: 1 2 3"),
        ]:
            path = self.file("third.csv", header + "\n" + rows)
            self.refused(3, "shortest-paths", path, says=["third.csv:1", "which names no weight", f"--columns {pair} if", f"--columns {all_three} if"])
            self.assertEqual(self.route(path, "--columns", pair, "--from", ends[0], "--to", ends[1]), hops)
            self.assertEqual(self.route(path, "--columns", all_three, "--from", ends[0], "--to", ends[1]), route)

    @unittest.skipUnless(importlib.util.find_spec("networkx"), "needs networkx")
    def test_conversions_by_networkx(self):
        """Runs the command that the message recommends, unchanged."""
        graphml = ('<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">%s<graph edgedefault="directed">'
                   '<node id="a"/><node id="b"/><node id="c"/>%s</graph></graphml>')
        plain = '<edge source="a" target="b"/><edge source="b" target="c"/>'
        key = '<key id="w" for="edge" attr.name="weight" attr.type="int"/>'
        weighted = plain.replace("/>", '><data key="w">5</data></edge>')
        link = '"%s": [{"source": "a", "target": "b", "weight": 5}, {"source": "b", "target": "c", "weight": 5}]'
        nodes = '{"directed": true, "multigraph": false, "graph": {}, "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}], %s}'
        gml = "graph [ directed 1\n%s edge [ source 1 target 2 weight 5 ]\n edge [ source 2 target 3 weight 5 ] ]\n"
        for name, text, ends, route in [
            ("plain.graphml", graphml % ("", plain), ("a", "c"), "2: a -> b -> c"),
            ("weighted.graphml", graphml % (key, weighted), ("a", "c"), "10: a -> b -> c"),
            ("links.json", nodes % (link % "links"), ("a", "c"), "10: a -> b -> c"),
            ("edges.json", nodes % (link % "edges"), ("a", "c"), "10: a -> b -> c"),
            ("igraph.gml", gml % "".join(f"node [ id {v} ]\n" for v in (1, 2, 3)), (1, 3), "10: 1 2 3"),
            ("labels.gml", gml % "".join(f'node [ id {v} label "v{v}" ]\n' for v in (1, 2, 3)), ("v1", "v3"), "10: v1 -> v2 -> v3"),
        ]:
            with self.subTest(name=name):
                message = self.refused(3, "shortest-paths", self.file(name, text), says=["which is not read here", "python3 -c"]).stderr
                code = re.search(r'python3 -c "([^"]*)"', message)[1]
                subprocess.run([sys.executable, "-c", code], check=True)
                self.assertEqual(self.route(self.path(name.split(".")[0] + ".csv"), "--from", ends[0], "--to", ends[1]), route)
        broken = self.file("broken.graphml", "<graphml>")
        message = self.refused(3, "shortest-paths", broken, says=["python3 -c"]).stderr
        code = re.search(r'python3 -c "([^"]*)"', message)[1]
        self.assertNotEqual(subprocess.run([sys.executable, "-c", code], stderr=subprocess.DEVNULL).returncode, 0)
        self.assertFalse(os.path.exists(self.path("broken.csv")))

    def test_lists_with_the_names_of_konect_and_igraph(self):
        self.assertEqual(self.route(self.file("out.roads", "% asym positive\n% 2 3 3\n1 2 5\n2 3 6\n"), "--from", 1, "--to", 3), "11: 1 2 3")
        self.assertEqual(self.route(self.file("g.ncol", "a b 5\nb c 6\n"), "--from", "a", "--to", "c"), "11: a -> b -> c")
        self.refused(3, "shortest-paths", self.file("out.films", "% bip weighted\n1 1 5\n"), says=["bipartite"])
        self.refused(3, "shortest-paths", self.file("out.text", "% symbols\n1 2\n"), says=["looks like a list of edges"])

    def test_directions_of_gephi_and_konect(self):
        head = "Source,Target,Type,Id,Label,Weight\n"
        both = self.file("both.csv", head + "1,2,Undirected,0,,5\n2,3,Undirected,1,,6\n")
        self.refused(3, "shortest-paths", both, says=["say --columns Source,Target,Weight"])
        options = ["--columns", "Source,Target,Weight", "--from", 3, "--to", 1]
        self.assertIn("--undirected takes each edge both ways", self.succeed("shortest-paths", both, *options).stderr)
        self.assertEqual(self.route(both, "--undirected", *options), "11: 3 2 1")
        mixed = self.file("mixed.csv", head + "1,2,Directed,0,,5\n2,3,Undirected,1,,6\n")
        self.refused(3, "shortest-paths", mixed, *options, says=["mixed.csv:3: 'Undirected', but the edge of line 2 is 'Directed'"])
        self.refused(3, "shortest-paths", self.file("bip.txt", "% bip weighted\n1 1 5\n2 1 3\n"), says=["bip.txt:1", "bipartite", "awk"])

    def test_numbers_as_names_of_columns(self):
        path = self.file("pandas.csv", "0,1,2\n0,1,5\n1,2,6\n")
        self.assertIn("pandas.csv:1: the first line, '0,1,2', is read as an edge; if it names the columns, say --header yes",
                      self.succeed("shortest-paths", path).stderr)
        self.assertEqual(self.route(path, "--header", "yes", "--from", 0, "--to", 2), "11: 0 1 2")
        index = self.file("index.csv", ",0,1\n0,5,6\n1,6,7\n")
        self.refused(3, "shortest-paths", index, says=["column 1 has no name", "say --columns 2,3"])
        self.assertEqual(self.route(index, "--columns", "2,3", "--from", 5, "--to", 7), "2: 5 6 7")

    def test_a_byte_order_mark(self):
        for text in (GR, MTX, LIST):
            marked = b"\xef\xbb\xbf" + text.encode()
            for data in (marked, gzip.compress(marked)):
                path = self.file("marked.bin" if text != LIST else "marked.csv", data)
                self.assertEqual(self.route(path, "--from", 1, "--to", 5), "14: 1 2 3 4 5")
                result = self.succeed("shortest-paths", "-", "--from", 1, "--to", 5, stdin=data, text=False)
                self.assertEqual(result.stdout.splitlines()[0], b"14: 1 2 3 4 5")

    def test_a_header_line(self):
        plain = self.file("h.csv", "home,work\nwork,shop\n")
        self.assertIn("is read as an edge", self.succeed("shortest-paths", plain).stderr)
        for header, n in (("yes", 2), ("no", 3)):
            result = self.succeed("shortest-paths", plain, "--header", header, "--json")
            self.assertEqual((json.loads(result.stdout)["n"], result.stderr), (n, ""))


class GenerateGraphs(Case):
    def edges(self, name):
        return [tuple(map(int, line.split()[1:])) for line in content(self.path(name), "r").splitlines() if line[0] == "a"]

    def test_road_grid(self):
        self.succeed("generate", "road-grid", "--rows", 4, "--columns", 3, "--lengths", "5,9", "-o", self.path("g.gr"))
        self.assertTrue(content(self.path("g.gr"), "r").startswith("p sp 12 34\n"))
        edges = self.edges("g.gr")
        self.assertEqual(len(edges), 34)
        lengths = {(one, other): length for one, other, length in edges}
        self.assertEqual(len(lengths), 34)
        for (one, other), length in lengths.items():
            self.assertEqual(lengths[other, one], length)
            self.assertTrue(5 <= length <= 9)
            across, down = abs((one - 1) % 3 - (other - 1) % 3), abs((one - 1) // 3 - (other - 1) // 3)
            self.assertEqual(across + down, 1)

    def test_the_same_on_every_machine(self):
        self.succeed("generate", "road-grid", "--rows", 3, "--columns", 2, "-o", self.path("g.gr"))
        self.assertEqual(self.edges("g.gr")[:4], [(1, 2, 741), (1, 3, 82), (2, 1, 741), (2, 4, 318)])
        contents = set()
        for seed in (0, 0, 1, 18446744073709551615):
            self.succeed("generate", "random-graph", "--vertices", 9, "--edges", 20, "--seed", seed, "-o", self.path("g.gr"))
            contents.add(content(self.path("g.gr")))
        self.assertEqual(len(contents), 3)

    def test_random_graph(self):
        self.succeed("generate", "random-graph", "--vertices", 7, "--edges", 42, "--weights", "-3,3", "-o", self.path("g.gr"))
        edges = self.edges("g.gr")
        self.assertEqual(len({edge[:2] for edge in edges}), 42)
        self.assertTrue(all(one != other and 1 <= one <= 7 and 1 <= other <= 7 for one, other, _ in edges))
        self.assertTrue(all(-3 <= weight <= 3 for _, _, weight in edges))
        answer = json.loads(self.succeed("generate", "random-graph", "--vertices", 100, "--density", 0.25, "--json", "-o",
                                         self.path("g.mtx")).stdout)
        self.assertEqual((answer["kind"], answer["n"], answer["edges"]), ("random-graph", 100, 2475))

    def test_climbs_make_no_negative_cycle(self):
        self.succeed("generate", "random-graph", "--vertices", 50, "--density", 0.5, "--climbs", "-o", self.path("g.gr"))
        self.assertLess(min(weight for _, _, weight in self.edges("g.gr")), 0)
        self.succeed("shortest-paths", self.path("g.gr"))

    def test_every_format_is_the_same_graph(self):
        answers = set()
        for ending in ("gr", "mtx", "csv", "npy"):
            name = self.path("g." + ending)
            self.succeed("generate", "random-graph", "--vertices", 40, "--edges", 300, "--climbs", "-o", name)
            answer = json.loads(self.succeed("shortest-paths", name, "--json").stdout)
            answers.add((answer["n"], answer["reachable_pairs"], answer["longest"]))
        self.assertEqual(len(answers), 1)

    def test_refusals(self):
        out = ["-o", self.path("x.gr")]
        for arguments, says in [
            (["road-grid", "--rows", 3, *out], ["--columns"]),
            (["road-grid", "--rows", 2**31 - 1, "--columns", 2, *out], ["2147483647"]),
            (["road-grid", "--rows", 3, "--columns", 3, "--lengths", "-1,4", *out], ["--lengths"]),
            (["road-grid", "--rows", 3, "--columns", 3, "--lengths", "5,4", *out], ["--lengths", "'5,4'"]),
            (["road-grid", "--rows", 3, "--columns", 3, "--lengths", "5", *out], ["--lengths", "1,1000"]),
            (["road-grid", "--rows", 3, "--columns", 3, "--edges", 4, *out], ["--edges has no effect", "random-graph"]),
            (["road-grid", "--rows", 3, "--columns", 3, "-n", 4, *out], ["--points has no effect", "road-grid"]),
            (["uniform", "-n", 4, "--rows", 3, "-o", self.path("x.npy")], ["--rows has no effect"]),
            (["random-graph", "--edges", 3, *out], ["--vertices"]),
            (["random-graph", "--vertices", 3, *out], ["--edges", "--density"]),
            (["random-graph", "--vertices", 3, "--edges", 3, "--density", 0.5, *out], ["one of the two"]),
            (["random-graph", "--vertices", 3, "--edges", 7, *out], ["--edges 7", "at most 6"]),
            (["random-graph", "--vertices", 3, "--edges", 2, "--weights", "-1,4", "--climbs", *out], ["--climbs"]),
            (["random-graph", "--vertices", 3, "--edges", 2, "-o", self.path("x.txt")], [".gr", ".mtx", ".csv", ".npy"]),
        ]:
            self.refused(2, "generate", *arguments, says=says)
        self.assertEqual(os.listdir(self.folder), [])

    def test_more_than_the_disk_holds(self):
        self.refused(1, "generate", "road-grid", "--rows", 40000, "--columns", 50000, "-o", self.path("huge.gr"),
                     says=["huge.gr", "are needed"])
        self.refused(1, "generate", "random-graph", "--vertices", 10**8, "--edges", 1, "-o", self.path("huge.npy"),
                     says=["huge.npy", "are needed"])
        self.assertEqual(os.listdir(self.folder), [])


class GraphTools(CompletionCase):
    def test_completion(self):
        self.assertEqual(self.complete("gradus", "generate", "r"), ["road-grid", "random-graph"])
        self.assertEqual(self.complete("gradus", "shortest-paths", "--dtype", ""), ["i32", "i64", "f64"])

