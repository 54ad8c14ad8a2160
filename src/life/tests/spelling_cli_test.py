"""Tests patterns in all spellings that files use. Some of the files are damaged. The test follows each remedy in an
error message literally, up to three times. In the end, it must get the correct cells at the correct places. Run by
tests/cli/run.py."""

import gzip
import random
import re

from kit import Case, gradus

COUNT = 60
ENDS = ("\n", "\r\n", "\r")


def later(cells, generations, boundary, width, height):
    """Computes B3/S23 cell by cell."""
    left, top = -(width // 2), -(height // 2)
    for _ in range(generations):
        counts = {}
        for x, y in cells:
            for dx, dy in ((i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)):
                place = (x + dx, y + dy)
                if boundary == "torus":
                    place = ((place[0] - left) % width + left, (place[1] - top) % height + top)
                elif boundary == "dead" and not (left <= place[0] < left + width and top <= place[1] < top + height):
                    continue
                counts[place] = counts.get(place, 0) + 1
        cells = {place for place, count in counts.items() if count == 3 or (count == 2 and place in cells)}
    return cells


class Pattern:
    """A rectangle of cells, the file that spells them, and the faults of this file."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.width, self.height = self.draw.randint(1, 12), self.draw.randint(1, 9)
        self.cells = {(x, y) for x in range(self.width) for y in range(self.height) if self.draw.random() < 0.5}
        self.place, self.boundary, self.size = None, "plane", (0, 0)
        self.kind = self.draw.choice(("rle", "rle", "rle", "cells", "lif105", "lif106", "mc", "pbm"))
        self.lines = getattr(self, "spell_" + self.kind)()

    def rows(self, dead, alive):
        return ["".join(alive if (x, y) in self.cells else dead for x in range(self.width)) for y in range(self.height)]

    def world(self, rule):
        """Returns the rule, sometimes followed by a topology that is too small for the pattern."""
        if self.draw.random() < 0.5:
            return rule
        letter, self.boundary = self.draw.choice((("T", "torus"), ("p", "dead")))
        self.size = (self.draw.randint(2, 20), self.draw.randint(2, 20))
        return f"{rule}:{letter}{self.size[0]},{self.size[1]}"

    def spell_rle(self):
        lines = self.draw.choice(([], ["#N a pattern", "#C x = 1"]))
        self.has_header = self.draw.random() < 0.7
        if self.draw.random() < 0.4:
            self.place = (self.draw.randint(-9, 9), self.draw.randint(-9, 9))
            lines = [f"#CXRLE Pos={self.place[0]},{self.place[1]} Gen=0", *lines]
        if self.has_header:
            shown = (self.width, self.height)
            if self.draw.random() < 0.2:  # the header states an incorrect size
                shown = (max(self.width - 2, 0), max(self.height - 1, 0))
            rule = self.world(self.draw.choice(("B3/S23", "b3s23", "23/3", "S23/B3", "B3_S23", "B3/23")))
            lines.append(f"x = {shown[0]}, y = {shown[1]}, rule = {rule}")
        dead, alive = self.draw.choice(("bo", ".A", ".o"))
        runs = [run for row in self.rows(dead, alive) for run in (re.sub(r"(.)\1+", lambda m: f"{len(m[0])}{m[1]}", row), "$")]
        runs[-1] = self.draw.choice(("!", "!", "!", "! made by hand", ""))
        if self.draw.random() < 0.5:
            return [*lines, "".join(runs)]
        return [*lines, *(a + b for a, b in zip(runs[::2], runs[1::2]))]

    def spell_cells(self):
        return ["!Name: a pattern", *self.rows(".", self.draw.choice("O*"))]

    def spell_lif105(self):
        lines = ["#Life 1.05", "#D a pattern", self.draw.choice(("#N", "#R 23/3", "#R B3/S23"))]
        self.place = self.draw.choice(((0, 0), (-4, 7)))
        return [*lines, "#P" if self.place == (0, 0) else "#P -4 7", *self.rows(".", "*")]

    def spell_lif106(self):
        self.place = (-3, 11)
        return ["#Life 1.06", *(f"{x - 3} {y + 11}" for x, y in self.cells)]

    def spell_mc(self):
        """Writes one square of 32 x 32 cells. As in Golly, the centre is a corner of cell (0, 1)."""
        self.place = (-16, -15)
        leaves = {}
        for x, y in self.cells:
            leaves.setdefault((x // 8, y // 8), set()).add((x % 8, y % 8))
        lines = ["[M2] (golly 3.3)", "#R " + self.world("B3/S23")]
        numbers = {}
        for number, (place, cells) in enumerate(leaves.items(), 1):
            lines.append("".join("".join("*" if (x, y) in cells else "." for x in range(8)) + "$" for y in range(8)))
            numbers[place] = number
        quarters = [numbers.get((x, y), 0) for y in (0, 1) for x in (0, 1)]
        if leaves:
            lines += ["4 " + " ".join(map(str, quarters)), f"5 {len(leaves) + 1} 0 0 0"]
        return lines

    def spell_pbm(self):
        return ["P1", "# a pattern", f"{self.width} {self.height}", *self.rows("0", "1")]

    def encoded(self):
        text = self.draw.choice(ENDS if self.kind != "pbm" else ENDS[:2])
        text = text.join(self.lines) + text * self.draw.randint(0, 1)
        mark = b"\xef\xbb\xbf" if self.kind != "pbm" and self.draw.random() < 0.2 else b""
        data = mark + text.encode()
        return gzip.compress(data) if self.draw.random() < 0.2 else data

    def placed(self):
        """Returns the cells at their places. In a bounded world they are centred if they fit. Otherwise their first
        cell is the first cell of the world."""
        left, top = self.place or (0, 0)
        if self.place is None and self.boundary != "plane":
            fits = self.width <= self.size[0] and self.height <= self.size[1]
            width, height = (self.width, self.height) if fits else self.size
            left, top = -(width // 2), -(height // 2)
        return {(x + left, y + top) for x, y in self.cells}

    def follow(self, message):
        """Corrects the file as the message suggests. Returns false if the message suggests nothing."""
        if match := re.search(r"the header says that ([xy]) = (\d+); correct that number", message):
            right = {"x": self.width, "y": self.height}[match[1]]
            self.lines = [re.sub(rf"{match[1]} = {match[2]},", f"{match[1]} = {right},", line) if line.startswith("x") else line
                          for line in self.lines]
        elif "add a '!'" in message:
            self.lines.append("!")
        elif match := re.search(r"; (\d+) x (\d+) would hold them", message):
            self.size = (int(match[1]), int(match[2]))
        else:
            return False
        return True


class LifeSpellings(Case):
    def test_all(self):
        followed = 0
        for seed in range(COUNT):
            pattern = Pattern(seed)
            with self.subTest(seed=seed, kind=pattern.kind, lines=pattern.lines):
                generations = pattern.draw.choice((0, 1, 3))
                given = pattern.size
                for _ in range(4):
                    path = self.file(f"pattern-{seed}." + pattern.kind[:3].rstrip("1"), pattern.encoded())
                    size = [] if pattern.size == given else ["--size", "{}x{}".format(*pattern.size)]
                    result = gradus("life", path, "-g", generations, "-o", self.path("out.lif"), *size)
                    if result.returncode == 0:
                        break
                    self.assertEqual(result.returncode, 3, result.stderr)
                    self.assertTrue(pattern.follow(result.stderr), result.stderr)
                    followed += 1
                self.assertEqual(result.returncode, 0, result.stderr)
                expected = later(pattern.placed(), generations, pattern.boundary, *pattern.size)
                with open(self.path("out.lif")) as file:
                    found = {tuple(map(int, line.split())) for line in file.read().splitlines()[1:]}
                self.assertEqual(found, expected)
        self.assertGreater(followed, 10)
