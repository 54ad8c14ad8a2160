"""Tests a whole road map on the command line, which takes minutes and gigabytes of memory and disk. Started by
tests/cli/run.py."""

import csv
import heapq
import json
import os
import struct

from kit import Case

ROWS, COLUMNS = 125, 160
N = ROWS * COLUMNS


def read_roads(path):
    """Reads an edge list with a header and returns, for each vertex, the (end, length) pairs of its edges.
    Vertices count from 0."""
    roads = [[] for _ in range(N)]
    with open(path, newline="") as file:
        for road in csv.DictReader(file):
            roads[int(road["from"]) - 1].append((int(road["to"]) - 1, int(road["weight"])))
    return roads


def distances_from(roads, source):
    """The textbook's Dijkstra algorithm."""
    distances = [None] * len(roads)
    waiting = [(0, source)]
    while waiting:
        distance, vertex = heapq.heappop(waiting)
        if distances[vertex] is not None:
            continue
        distances[vertex] = distance
        for end, length in roads[vertex]:
            if distances[end] is None:
                heapq.heappush(waiting, (distance + length, end))
    return distances


def row_of(path, dtype, row):
    """Reads one row of an N x N .npy file of int32."""
    with open(path, "rb") as file:
        start = file.read(10)
        assert start[:8] == b"\x93NUMPY\x01\x00"
        (length,) = struct.unpack_from("<H", start, 8)
        header = file.read(length).decode("latin1")
        assert f"'descr': '{dtype}'" in header and f"({N}, {N})" in header, header
        assert os.path.getsize(path) == 10 + length + 4 * N * N
        file.seek(10 + length + 4 * N * row)
        return list(struct.unpack(f"<{N}i", file.read(4 * N)))


class RoadGrid(Case):
    def test_all_routes_from_a_file_to_files(self):
        graph = self.path("roads.csv")
        self.succeed("generate", "road-grid", "--rows", ROWS, "--columns", COLUMNS, "-o", graph)
        start, end = 1, N  # from corner to corner, as the file numbers the vertices
        result = self.succeed("shortest-paths", graph, "-o", self.path("paths"), "--predecessors", "--from", start, "--to", end)
        self.assertRegex(result.stderr, r"20,000 x 20,000 distances: about [0-9]+ bytes \([0-9.]+ GiB\) of memory beyond the graph")

        roads = read_roads(graph)
        self.assertEqual(len(roads), N)
        with open(self.path("paths/summary.json")) as file:
            summary = json.load(file)
        self.assertEqual((summary["n"], summary["reachable_pairs"]), (N, N * (N - 1)))
        self.assertGreater(summary["memory_bytes"], 2 * 4 * N * N)

        distance, _, vertices = result.stdout.splitlines()[0].partition(": ")
        route = [int(vertex) - 1 for vertex in vertices.split()]
        self.assertEqual((route[0], route[-1]), (start - 1, end - 1))
        length = sum(dict(roads[here])[there] for here, there in zip(route, route[1:]))
        self.assertEqual(length, int(distance))
        self.assertEqual(summary["route"]["vertices"], [vertex + 1 for vertex in route])

        for source in (start - 1, 7777, N - 1):
            expected = distances_from(roads, source)
            self.assertEqual(row_of(self.path("paths/distances.npy"), "<i4", source), expected)
            before = [-1] * N
            for vertex in range(N - 1, -1, -1):  # in descending order, so that the lowest is written last
                for neighbour, length in roads[vertex]:
                    if neighbour != source and expected[vertex] + length == expected[neighbour]:
                        before[neighbour] = vertex
            self.assertEqual(row_of(self.path("paths/predecessors.npy"), "<i4", source), before)
            if source == start - 1:
                self.assertEqual(int(distance), expected[end - 1])
