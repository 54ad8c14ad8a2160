"""Compares `gradus life` with Golly's program `bgolly` on Golly's pattern collection, generation by generation. Both
programs must compute the same cells at the same coordinates. Run by tests/cli/run.py.

Both programs write Macrocell. A reader that shares no code with the project compares the files.
"""

import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

import kit
from kit import Case

BGOLLY = os.environ.get("GRADUS_BGOLLY") or shutil.which("bgolly")
PATTERNS = pathlib.Path(os.environ.get("GRADUS_GOLLY_PATTERNS") or "/usr/share/golly/Patterns")
ENDINGS = (".rle", ".mc", ".lif", ".cells", ".mcl")
GENERATIONS = (0, 1, 37, 1024)
SECONDS = 60  # seconds per program; slower patterns are counted separately

# The reasons for which Gradus refuses patterns, in the words of its error messages.
REASONS = ("Larger than Life", "rules of a table", "Generations", "von Neumann", "hexagonal", "Hensel", "MAP", "one dimension",
           "without bounds in one direction", "Klein bottle", "cross-surface", "sphere", "shifted or twisted", "MCell",
           "even number of generations")


def text_of(path):
    data = path.read_bytes()
    return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("latin1")


def is_two_state(text):
    """Returns true if the file names a B/S rule or no rule. A file without a rule means B3/S23."""
    if text.startswith("#MCell"):
        return False
    rules = re.findall(r"^(?:x\s*=.*rule\s*=|#[rR])\s*([^\s,]+)", text, re.MULTILINE)
    return all(re.fullmatch(r"(?i)B?[0-8]*/?S?[0-8]*|S[0-8]*/B[0-8]*", rule.split(":")[0]) for rule in rules[:1])


class Squares:
    """Squares of cells from any number of files; equal squares share a number."""

    def __init__(self):
        self.known = {}

    def square(self, level, *parts):
        if not any(parts):
            return 0
        return self.known.setdefault((level, *parts), len(self.known) + 1)

    def of_file(self, path):
        """Returns the smallest root around the centre as a pair (level, four quarters), or None for an empty plane."""
        numbers, levels, parts, top = [0], [0], {0: (0, 0, 0, 0)}, 0
        for line in text_of(path).splitlines()[1:]:
            if not line or line[0] == "#":
                continue
            if line[0] in ".*$":
                rows = [sum(1 << x for x, cell in enumerate(row) if cell == "*") for row in line.split("$")]
                level, quarters = 3, tuple((rows + [0] * 8)[:8])
            else:
                level, *indices = map(int, line.split())
                quarters = tuple(numbers[index] for index in indices)
            number = self.square(level, *quarters)
            numbers.append(number)
            levels.append(level)
            parts[number] = quarters
            top = number
        if top == 0:
            return None
        level, quarters = levels[-1], parts[top]
        while level > 4:
            inner = [parts[quarter] for quarter in quarters]
            if any(part for number, quarter in enumerate(inner) for place, part in enumerate(quarter) if place != 3 - number):
                break
            quarters = tuple(inner[number][3 - number] for number in range(4))
            level -= 1
        return level, quarters


class GollyCollection(Case):
    def bgolly(self, path, generations, output):
        subprocess.run([BGOLLY, "-h", "-q", "-q", "-M", "2000", "-i", str(max(generations, 1)), "-m", str(generations), "-o", output, path],
                       capture_output=True, timeout=SECONDS, check=True)

    def same_population(self, path, generations):
        """Compares only populations. bgolly writes no coordinates for B0 rules, because its HashLife refuses such
        rules."""
        theirs = subprocess.run([BGOLLY, "-i", str(max(generations, 1)), "-m", str(generations), path],
                                capture_output=True, text=True, timeout=SECONDS, check=True)
        ours = subprocess.run([kit.GRADUS, "life", path, "-g", str(generations), "--json"], capture_output=True, text=True,
                              timeout=SECONDS, check=True)
        return f"{generations}: {json.loads(ours.stdout)['population']}" in theirs.stdout.replace(",", "").splitlines()

    def outcome(self, path):
        """Compares all generations. Returns "agrees", "refused", "slow", or a description of the difference."""
        two_states = is_two_state(text_of(path))
        agreed, refused = 0, 0
        for generations in GENERATIONS:
            ours, theirs = self.path("ours.mc"), self.path("theirs.mc")
            try:
                result = subprocess.run([kit.GRADUS, "life", path, "-g", str(generations), "-o", ours], capture_output=True,
                                        text=True, timeout=SECONDS)
                if result.returncode != 0:
                    if result.returncode not in (3, 4) or not any(reason in result.stderr for reason in REASONS):
                        return f"refused without a reason: {result.stderr.strip()}"
                    refused += 1
                    continue
                if not two_states:
                    return "accepted, although its rule is not B/S"
                self.bgolly(path, generations, theirs)
            except subprocess.CalledProcessError:
                if not self.same_population(path, generations):
                    return f"another population at generation {generations}"
                agreed += 1
                continue
            except subprocess.TimeoutExpired:
                return "slow"
            squares = Squares()
            if squares.of_file(pathlib.Path(ours)) != squares.of_file(pathlib.Path(theirs)):
                return f"other cells at generation {generations}"
            agreed += 1
        # A B0 rule is refused in odd generations, in which the whole plane is alive.
        return "agrees" if agreed > 0 else "refused"

    @unittest.skipUnless(BGOLLY, "bgolly is not installed")
    @unittest.skipUnless(PATTERNS.is_dir(), f"{PATTERNS} is not there")
    def test_all_patterns(self):
        counts, wrong = {}, []
        for path in sorted(PATTERNS.rglob("*")):
            if not path.is_file() or not path.name.removesuffix(".gz").endswith(ENDINGS):
                continue
            outcome = self.outcome(path)
            if outcome in ("agrees", "refused", "slow"):
                counts[outcome] = counts.get(outcome, 0) + 1
                if outcome == "slow":
                    print(f"{path.relative_to(PATTERNS)}: more than {SECONDS} s", flush=True)
            else:
                wrong.append(f"{path.relative_to(PATTERNS)}: {outcome}")
                print(wrong[-1], flush=True)
        print(f"Golly's collection: {counts}, wrong: {len(wrong)}", flush=True)
        self.assertEqual(wrong, [])
        self.assertGreater(counts.get("agrees", 0), 100)
