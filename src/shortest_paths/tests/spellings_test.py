"""Tests graph files in odd spellings that occur in practice. A simulated user follows the advice of each message
literally. The user must get the correct distances in the end, or a refusal that states the reason. Started by
tests/cli/run.py."""

import gzip
import itertools
import math
import os
import random
import re

from kit import Case, content, gradus, read_npy

ROUNDS = 3
GRAPHS = 72
NO_EDGE = {"<i4": 2**31 - 1, "<i8": 2**63 - 1, "<f8": math.inf}

# Headings of the columns FROM, TO, WEIGHT and one other column, as programs write them.
HEADINGS = [
    ("source", "target", "weight", "id"),
    ("u", "v", "length", "key"),
    ("from", "to", "cost", "road"),
    ("from_stop_id", "to_stop_id", "min_transfer_time", "transfer_type"),
    ("Source", "Target", "Weight", "Label"),
    ("node_1", "node_2", "distance", "kind"),
    ("src", "dst", "km", "operator"),
]


def advice_in(message):
    """Returns the options that a message recommends, with their values, in order. A value in capitals is a
    placeholder that the message cannot fill in."""
    found = []
    for option, value in re.findall(r"(--[a-z]+)((?: [^\s;:]+)?)", message):
        value = value.strip().rstrip(",.:)")
        flags = ("--names", "--undirected", "--unweighted")
        if option not in flags and value.isupper():
            return found  # only the user knows which columns are FROM, TO and WEIGHT
        found.append((option, "" if option in flags else value))
    return found


def floyd_warshall(vertices, edges):
    """Reference implementation: returns the distances between vertices. Vertices are strings."""
    distance = {(v, w): 0 if v == w else math.inf for v in vertices for w in vertices}
    for v, w, length in edges:
        distance[v, w] = min(distance[v, w], length)
    for k, v, w in itertools.product(vertices, repeat=3):
        distance[v, w] = min(distance[v, w], distance[v, k] + distance[k, w])
    return distance


class Graph:
    """A random graph, and the form in which its file is written."""

    def __init__(self, seed):
        self.random = choose = random.Random(seed)
        n = choose.randint(3, 7)
        kind = choose.choice(["from 0", "from 1", "words"])
        self.vertices = [("v%d" if kind == "words" else "%d") % (i + (kind == "from 1")) for i in range(n)]
        if kind == "words" and choose.random() < 0.3:
            self.vertices[0] = "New York"
        self.decimals = choose.random() < 0.5
        self.comma = self.decimals and choose.random() < 0.5
        self.separator = choose.choice(";\t") if self.comma else choose.choice(",;\t ")
        pairs = [pair for pair in itertools.product(range(n), repeat=2) if pair[0] != pair[1]]
        chosen = choose.sample(pairs, min(len(pairs), choose.randint(n, 2 * n)))
        # Every vertex must occur. Vertices 0, 1 and n - 1 get edges here, and the next line adds an edge for each
        # vertex that still has none.
        chosen = [(0, 1), (n - 1, 0)] + [pair for pair in chosen if pair not in ((0, 1), (n - 1, 0))]
        chosen += [pair for v in range(n) for pair in [(v, (v + 1) % n)] if not any(v in pair for pair in chosen)]
        lengths = [choose.randint(1, 40) / (4 if self.decimals else 1) for _ in chosen]
        if self.decimals:
            lengths[0] = 2.5
        self.edges = [(self.vertices[v], self.vertices[w], length) for (v, w), length in zip(chosen, lengths)]
        self.header = choose.choice([None, *HEADINGS])
        # The order of the columns. Some orders contain an index column of pandas or another column. Others permute the
        # columns.
        self.order = choose.choice(["ftw", "ftw", "ftw", "wft", "tfw", "#ftw", "ftxw", "ftwx", "xftw", "rftw"])
        if self.order[0] in "r#" and not self.header:
            self.order = "ftw"
        self.mark = choose.random() < 0.2
        self.crlf = choose.random() < 0.2
        self.both_ways = choose.random() < 0.15
        self.packed = choose.random() < 0.2
        self.from_stdin = choose.random() < 0.3
        self.ending = {",": ".csv", ";": ".csv", "\t": choose.choice([".tsv", ".txt"]), " ": choose.choice([".txt", ".edges", ".cedge"])}[self.separator]

    def number(self, value):
        text = repr(value) if self.decimals else str(int(value))
        return text.replace(".", ",") if self.comma else text

    def field(self, text):
        return '"%s"' % text if not text or (" " in text and self.separator == " ") else text

    def text(self):
        lines = ["# Undirected graph: from a collection"] if self.both_ways else []
        if self.header:
            names = dict(zip("ftwx", self.header), **{"#": "", "r": None})
            lines.append(self.separator.join(self.field(names[column]) for column in self.order if names[column] is not None))
        for row, (v, w, length) in enumerate(self.edges):
            fields = {"f": v, "t": w, "w": self.number(length), "x": "abc"[row % 3], "#": str(row), "r": '"%d"' % (row + 1)}
            lines.append(self.separator.join(fields[column] if column == "r" else self.field(fields[column]) for column in self.order))
        return ("\ufeff" if self.mark else "") + ("\r\n" if self.crlf else "\n").join(lines + [""])

    def is_clear(self):
        """Returns True if the text identifies its columns."""
        return self.order == "ftw" or self.header is not None

    def distances(self):
        edges = self.edges + ([(w, v, length) for v, w, length in self.edges] if self.both_ways else [])
        return floyd_warshall(self.vertices, edges)


class Spellings(Case):
    def found(self, folder):
        """Reads the distances between named vertices."""
        dtype, (n, _), values = read_npy(os.path.join(folder, "distances.npy"))
        names = os.path.join(folder, "names.txt")
        summary = content(os.path.join(folder, "summary.json"), "r")
        base = re.search(r'"base": (\d|null)', summary)[1]
        called = content(names, "r").splitlines() if os.path.exists(names) else [str(v + int(base)) for v in range(n)]
        self.assertEqual(len(called), n)
        return {(v, w): math.inf if values[i * n + j] == NO_EDGE[dtype] else values[i * n + j]
                for i, v in enumerate(called) for j, w in enumerate(called)}

    def follow(self, path, stdin, folder):
        """Follows the recommended options. Returns the last result and these options."""
        options = []
        for _ in range(ROUNDS + 1):
            result = gradus("shortest-paths", path, "-o", folder, *options, stdin=stdin, text=False)
            message = result.stderr.decode()
            self.assertIn(result.returncode, (0, 2, 3), message)
            if result.returncode == 0:
                advice = [("--undirected", "")] if "--undirected takes" in message else []
            else:
                advice = advice_in(message)
            new = [option for option in advice if option[0] not in options]
            if not new:
                return result.returncode, message, options
            options += [word for word in new[0] if word]
        self.fail(f"no end after {options}: {message}")

    def test_advice_leads_to_the_right_distances(self):
        answers = refusals = 0
        for seed in range(GRAPHS):
            graph = Graph(seed)
            text = graph.text()
            data = text.encode()
            if graph.packed:
                data = gzip.compress(data)
            path = self.file("g%d%s" % (seed, graph.ending), data)
            known = graph.ending != ".cedge"
            if graph.packed and known:
                os.rename(path, path + ".gz")
                path += ".gz"
            from_stdin = graph.from_stdin or not known
            folder = self.path("out%d" % seed)
            with self.subTest(seed=seed, text=text[:200]):
                if not known:
                    self.refused(3, "shortest-paths", path, says=[".edges"])
                status, message, options = self.follow("-" if from_stdin else path, data if from_stdin else b"", folder)
                if status == 0:
                    answers += 1
                    if graph.is_clear():
                        self.assertEqual(self.found(folder), graph.distances(), (options, message))
                else:
                    refusals += 1
                    self.assertFalse(graph.is_clear(), (options, message))
                    self.assertIn("--columns FROM,TO,WEIGHT says which columns these are", message)
                    # Only the user knows which columns to read.
                    places = ",".join(str(graph.order.index(column) + 1) for column in "ftw")
                    result = gradus("shortest-paths", path if known else "-", "-o", folder, "--columns", places,
                                    *(["--undirected"] if graph.both_ways else []), stdin=b"" if known else data, text=False)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assertEqual(self.found(folder), graph.distances())
        self.assertGreater(answers, GRAPHS // 2)
        self.assertGreater(refusals, 2)

    def test_matrices(self):
        """Matrix Market files as graph collections write them."""
        edges = [("1", "2", 7), ("3", "1", 2), ("3", "2", 4), ("4", "3", 9)]
        entries = "".join("%s %s %d\n" % (w, v, length) if int(v) < int(w) else "%s %s %d\n" % (v, w, length) for v, w, length in edges)
        head = "%%MatrixMarket matrix coordinate {} {}\n% by hand\n4 4 4\n"
        both = edges + [(w, v, length) for v, w, length in edges]
        lower = [(max(v, w), min(v, w), length) for v, w, length in edges]
        for field, symmetry, meant in (("integer", "symmetric", both), ("real", "general", lower), ("pattern", "symmetric", both), ("pattern", "general", lower)):
            with self.subTest(field=field, symmetry=symmetry):
                path = self.file("m.mtx", head.format(field, symmetry) + entries)
                status, message, options = self.follow(path, b"", self.path("out"))
                self.assertEqual(status, 0, message)
                self.assertEqual(options, ["--columns", "1,2,3"] if field == "pattern" else [])
                self.assertEqual(self.found(self.path("out")), floyd_warshall("1234", meant))
