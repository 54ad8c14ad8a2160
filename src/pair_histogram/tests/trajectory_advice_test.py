"""Follows the advice in error messages about trajectories. The messages are about three kinds of files. In the first
kind, the box changes, so that a cutoff becomes too long. Files of the second kind end inside a frame. Files of the
third kind hold a layer, for which g must not be computed from spherical shells. The final counts must equal counts by
brute force. tests/cli/run.py runs this."""

import itertools
import json
import random

from advice import Input, follow
from kit import Case

TRAJECTORIES = 60


class TrajectoryInput(Input):
    def __init__(self, seed):
        self.random = choose = random.Random(seed)
        self.is_cut, self.is_layer = choose.random() < 0.5, choose.random() < 0.3
        self.count = choose.randint(2, 12)
        self.frames = []
        for _ in range(choose.randint(1, 5)):
            box = [round(choose.uniform(8, 12), 3) for _ in range(2)] + [1.0 if self.is_layer else round(choose.uniform(8, 12), 3)]
            points = [[round(choose.uniform(0, length), 3) for length in box] for _ in range(self.count)]
            for point in points if self.is_layer else ():
                point[2] = 0.0
            self.frames.append((box, points))

    def text(self):
        lines = []
        for box, points in self.frames:
            a, b, c = box
            lines += [str(self.count), f'Lattice="{a} 0 0 0 {b} 0 0 0 {c}" Properties=species:S:1:pos:R:3 pbc="T T T"']
            lines += ["A %s %s %s" % tuple(point) for point in points]
        if self.is_cut:
            lines.pop()
        return "\n".join(lines) + "\n"

    def command(self):
        more = ["--rdf"] if self.is_layer else ["--bins", "11"] if self.random.random() < 0.5 else []
        return ["--bin-width", "0.5", "--json", *more]

    def fits(self, advice, options):
        if advice.option == "--frames":
            return self.is_cut and len(self.frames) > 1
        if advice.option == "--dimensions":
            return self.is_layer and advice.value == "xy"
        return advice.option == "--cutoff" and "--cutoff" not in options

    def check(self, case, end):
        told = (self.text(), end.steps)
        whole = self.frames[:-1] if self.is_cut else self.frames
        if not whole:
            case.assertEqual(end.status, 3, told)
            return
        case.assertEqual(end.status, 0, told)
        answer = json.loads(end.stdout)
        edges, counts = answer["edges"], [0] * (len(answer["edges"]) - 1)
        for box, points in whole:
            for one, other in itertools.combinations(points, 2):
                apart = [min(abs(p - q), length - abs(p - q)) for p, q, length in zip(one, other, box)]
                distance = sum(step * step for step in apart[: 2 if self.is_layer else 3]) ** 0.5
                for place in range(len(counts)):
                    counts[place] += edges[place] <= distance < edges[place + 1]
        case.assertEqual(answer["counts"], counts, told)


class TrajectoryAdvice(Case):
    def test_following_it_leads_to_the_right_counts(self):
        for seed in range(TRAJECTORIES):
            with self.subTest(seed=seed):
                known = TrajectoryInput(seed)
                path = self.file("t.xyz", known.text())
                follow(self, known, "pair-histogram", path, *known.command(), seed=seed)
