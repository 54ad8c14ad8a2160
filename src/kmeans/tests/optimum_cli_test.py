"""Tests `gradus kmeans --optimal` against all partitions in fractions. tests/cli/run.py runs this."""

import itertools
import json
import os
import random
import struct
from fractions import Fraction

from kit import Case, content, gradus, read_npy, write_npy


def cost(values, weights):
    total = sum(weights)
    mean = sum(map(lambda value, weight: value * weight, values, weights)) / total
    return sum(weight * (value - mean) ** 2 for value, weight in zip(values, weights))


def best_borders(groups, clusters):
    """Returns the least borders of the best partitions. `groups` maps each value to its weight."""
    values, weights = zip(*sorted(groups.items()))
    costs = {}
    for borders in itertools.combinations(range(1, len(values)), clusters - 1):
        ends = [0, *borders, len(values)]
        costs[borders] = sum(cost(values[a:b], weights[a:b]) for a, b in itertools.pairwise(ends))
    least = min(costs.values())
    return [values[0], *(values[index] for index in min(borders for borders in costs if costs[borders] == least))], least


def any_double(draw):
    """Returns a double with any bits, at most 2^500."""
    while True:
        (value,) = struct.unpack("<d", struct.pack("<Q", draw.getrandbits(64)))
        if abs(value) <= 2.0**500:
            return value


KINDS = [
    lambda draw: float(draw.randrange(12)),
    lambda draw: draw.gauss(0, 1),
    any_double,
    lambda draw: 1e15 + draw.randrange(9) / 8,
    lambda draw: draw.choice([1.0, 2.0, 3.0, -1e300**0.5, 1e150, 5e-324, 1e-323, -0.0, 0.0]),
    lambda draw: draw.choice([-1, 1]) * 2.0 ** draw.randrange(-1074, 500),
    lambda draw: 1 + draw.randrange(8) * 2.0**-52,
]
WEIGHTS = [
    lambda draw: float(draw.randrange(4)),
    lambda draw: draw.choice([0.0, 0.1, 0.2, 0.3, 1e-300, 1e100]),
    lambda draw: 2.0 ** draw.randrange(-1074, 400),
]


class Optimum(Case):
    def check(self, seed):
        draw = random.Random(seed)
        many = draw.randrange(1, 9)
        values = [KINDS[seed % len(KINDS)](draw) for _ in range(many)]
        weights = None
        if seed % 2:
            weights = [WEIGHTS[seed // 2 % len(WEIGHTS)](draw) for _ in range(many)]
            weights[0] = weights[0] or 1.0
        groups = {}
        for value, weight in zip(values, weights or [1] * many):
            if weight > 0:
                groups[Fraction(value)] = groups.get(Fraction(value), 0) + Fraction(weight)
        clusters = draw.randrange(1, len(groups) + 1)
        points = self.path("points.npy")
        write_npy(points, "<f8", (many, 1), values)
        words = [points, "-k", clusters, "--optimal", "-o", self.path("best"), "--json"]
        if weights:
            write_npy(self.path("weights.npy"), "<f8", (many,), weights)
            words += ["--weights", self.path("weights.npy")]
        answer = gradus("kmeans", *words)
        told = (seed, values, weights, clusters)
        if "beyond the range of double" in answer.stderr:
            return False
        self.assertEqual(answer.returncode, 0, (told, answer.stderr))
        starts, _ = best_borders(groups, clusters)
        labels = [int(label) for label in read_npy(self.path("best/labels.npy"))[2]]
        centroids = [float(value) for value in read_npy(self.path("best/centroids.npy"))[2]]
        for value, weight, label in zip(values, weights or [1] * many, labels):
            if weight > 0:
                self.assertEqual(label, sum(start <= Fraction(value) for start in starts) - 1, told)
            else:
                self.assertEqual(label, min(range(clusters), key=lambda one: ((value - centroids[one]) * (value - centroids[one]), one)), told)
        for cluster, centroid in enumerate(centroids):
            own = {value: weight for value, weight in groups.items()
                   if sum(start <= value for start in starts) - 1 == cluster}
            mean = sum(value * weight for value, weight in own.items()) / sum(own.values())
            self.assertEqual(centroid, float(mean), told)
        return True

    def test_it_is_the_best_of_all_partitions(self):
        cases = int(os.environ.get("GRADUS_OPTIMUM_CASES", 210))
        done = sum(self.check(seed) for seed in range(cases))
        self.assertGreater(done, cases * 0.9)

    def test_the_record_repeats(self):
        points = self.points("one.npy", d=1)
        self.succeed("kmeans", points, "-k", 3, "--optimal", "-o", self.path("first"))
        self.succeed("kmeans", "--repeat", self.path("first"), "-o", self.path("again"))
        first, again = (json.loads(content(self.path(name + "/summary.json"))) for name in ("first", "again"))
        self.assertTrue(first["optimal"] and again["optimal"])
        self.assertEqual((first["inertia"], first["counts"]), (again["inertia"], again["counts"]))

    def test_what_has_no_effect_is_refused(self):
        points = self.points("one.npy", d=1)
        for words in (["--init", "random"], ["--seed", 1], ["--restarts", 2], ["--max-iterations", 5], ["--tolerance", 0],
                      ["--changed", 0.5], ["--empty", "keep"], ["--metric", "cosine"], ["--standardize"],
                      ["--init-rows", 50]):
            with self.subTest(words=words):
                self.refused(2, "kmeans", points, "-k", 3, "--optimal", *words, says=[words[0], "--optimal"])
        self.refused(2, "kmeans", points, "-k", "2..4", "--optimal", says=["-k names several"])
        self.refused(2, "kmeans", points, "-k", 2, "--optimal", "--checkpoint", self.path("c.npz"), says=["--checkpoint"])
        self.refused(4, "kmeans", points, "-k", 2, "--optimal", "--variant", "sequential", says=["no variants"])
        self.refused(3, "kmeans", self.points(), "-k", 2, "--optimal", says=["3 columns", "one column"])

    def test_a_fit_of_one_column_recommends_it(self):
        done = self.succeed("kmeans", self.points("one.npy", d=1), "-k", 3)
        self.assertIn("--optimal", done.stderr)
        self.assertNotIn("--optimal", self.succeed("kmeans", self.points(), "-k", 3).stderr)
