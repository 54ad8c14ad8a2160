"""Tests the command `gradus life` as users run it. Run by tests/cli/run.py."""

import fcntl
import gzip
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from kit import DATA, GRADUS, Case, InterruptCase, content

GLIDER = "x = 3, y = 3, rule = B3/S23\nbob$2bo$3o!\n"


# Returns the jobs that tests/cli/cli_test.py runs: see tests/cli/run.py.
def json_jobs(case):
    path = case.path("glider.rle")
    with open(path, "w") as file:
        file.write(GLIDER)
    return {"life": [path]}


def repeated_jobs(case):
    plain = case.file("plain.rle", GLIDER)
    torus = case.file("torus.rle", GLIDER.replace("B3/S23", "B36/S23:T10,12"))
    jobs = [[], ["-g", "1e2"], ["--rule", "HighLife"], ["--rule", "B3/S23:T64,48", "-g", 30, "--hashes"], ["--size", "9x7"],
            ["--boundary", "dead", "--size", 20, "--generations", 50, "--until-stable"], ["--until-stable", "--boundary", "torus"],
            ["--variant", "sequential", "--boundary", "torus"]]
    return {"life": [([pattern, *words], ending) for pattern in (plain, torus) for words in jobs for ending in (None, ".rle")]
            + [([plain, "-g", 6, "--scale", 3, "--every", 2, "--delay", 50], ".gif")]}


NARROWED = {
    "gradus bench life": "--size 64 --repeats 1",
    "gradus bench life --size 1024,1000x37 --generations 100 --threads 1,2": "--variants openmp_bit_sliced --repeats 1",
}
INPUTS = {
    "pattern.rle": "printf 'x = 3, y = 3, rule = B3/S23\\nbob$2bo$3o!\\n' > pattern.rle",
    "glider.rle": "printf 'x = 3, y = 3, rule = B3/S23\\nbob$2bo$3o!\\n' > glider.rle",
    "soup.rle": "printf 'x = 7, y = 3, rule = B3/S23\\nbo$3bo$2o2b3o!\\n' > soup.rle",
}


class Life(Case):
    def pattern(self, text=GLIDER, name="pattern.rle"):
        path = self.path(name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def test_a_glider_moves(self):
        result = self.succeed("life", self.pattern(), "--generations", 4)
        self.assertEqual(result.stdout, "#CXRLE Pos=1,1 Gen=4\nx = 3, y = 3, rule = B3/S23\nbo$2bo$3o!\n")
        output = self.path("later.rle")
        self.succeed("life", self.pattern(), "--generations", 400, "-o", output)
        self.assertEqual(content(output), b"#CXRLE Pos=100,100 Gen=400\nx = 3, y = 3, rule = B3/S23\nbo$2bo$3o!\n")
        back = self.succeed("life", output, "--generations", 4)
        self.assertEqual(back.stdout.splitlines()[0], "#CXRLE Pos=101,101 Gen=404")

    def test_boundaries(self):
        torus = self.succeed("life", self.pattern(), "--generations", 40, "--size", "10")
        self.assertEqual(torus.stdout, "#CXRLE Pos=-1,-1 Gen=40\nx = 3, y = 3, rule = B3/S23:T10,10\nbo$2bo$3o!\n")
        in_file = self.pattern(GLIDER.replace("B3/S23", "B3/S23:T10,10"), "torus.rle")
        self.assertEqual(self.succeed("life", in_file, "--generations", 40).stdout, torus.stdout)
        dead = self.succeed("life", self.pattern(), "--generations", 100, "--size", "10x8", "--boundary", "dead", "--json")
        answer = json.loads(dead.stdout)
        self.assertEqual((answer["population"], answer["width"], answer["height"]), (4, 10, 8))
        self.refused(2, "life", self.pattern(), "--size", "10", "--boundary", "plane", says=["--size"])
        self.refused(3, "life", self.pattern(), "--size", "2", says=["pattern.rle", "live cells are in columns -1 to 1", "; 3 x 3 would hold"])
        self.succeed("life", self.pattern(), "-g", 0, "--size", "3x3")
        for size in ("20x", "x20"):
            self.refused(2, "life", self.pattern(), "--size", size, says=["--size: '" + size + "'", "WxH"])

    def test_rules_and_cycles(self):
        answer = json.loads(self.succeed("life", self.pattern(), "-g", 1000, "--size", 8, "--until-stable", "--json").stdout)
        self.assertEqual((answer["cycle"], answer["generations"]), ({"preperiod": 0, "period": 32}, 32))
        answer = json.loads(self.succeed("life", self.pattern(), "-g", 3, "--rule", "1357/1357", "--hashes", "--json").stdout)
        self.assertEqual((answer["rule"], len(answer["hashes"])), ("B1357/S1357", 4))
        # Without a number of generations, the command searches until it finds a cycle.
        answer = json.loads(self.succeed("life", os.path.join(DATA, "life", "pulsar.rle"), "--until-stable", "--json").stdout)
        self.assertEqual((answer["cycle"], answer["generations"]), ({"preperiod": 0, "period": 3}, 3))
        answer = json.loads(self.succeed("life", self.pattern(), "--size", 8, "--until-stable", "--json").stdout)
        self.assertEqual((answer["cycle"], answer["generations"]), ({"preperiod": 0, "period": 32}, 32))
        for rule, says in (("B2-a/S12", "Hensel"), ("345/2/4", "Generations"), ("B3S", None), ("nothing", "--rule")):
            if says:
                self.refused(2, "life", self.pattern(), "--rule", rule, says=[says])
        self.refused(4, "life", self.pattern(), "--rule", "B03/S23", says=["even number"])
        self.refused(4, "life", self.pattern(), "--rule", "B0/S8", "-g", 2, says=["ask for --boundary torus"])
        self.succeed("life", self.pattern(), "--rule", "B03/S23", "-g", 2)

    def test_malformed_patterns(self):
        for text, says in (
            ("", "empty"),
            ("#C nothing\n", ":2: the file ends without a header"),
            ("x = 3, y = 3\nbob$2bo$3o\n", ":3: the file ends without the '!'"),
            ("x = 3, y = 3\n4o!\n", ":2:1: a run up to cell 4 of its row; the header says that x = 3"),
            ("x = 3, y = 3\nbob$b3o!\n", ":2:6: a run up to cell 4"),
            ("x = 3, y = 1\n$o!\n", ":2:2: a run in row 2; the header says that y = 1"),
            ("x = 3, y = 1\n$3b!\n", ":2:2: a run in row 2; the header says that y = 1"),
            ("x = 3, y = 1\n3o$$!\n", ":2:4: the end of row 2; the header says that y = 1"),
            ("x = 3, y = 1\n3o3!\n", ":2:3: a number before '!'"),
            ("3o$b", ":2: the file ends without the '!'"),
            ("x = 3, y = 1\n99999999999999999999o!\n", ":2:1: a run longer than 2^62"),
            ("x = 3, y = 1\n0o!\n", ":2:1: a run of 0"),
            ("4611686018427387904$4611686018427387904$o!\n", ":1:21: more than 2^62 rows"),
            ("x = 3, y = 9\n4611686018427387904$o!\n", ":2:1: the end of row 4611686018427387904; the header"),
            ("4611686018427387904b4611686018427387904bo!\n", ":1:21: a row of more than 2^62 cells"),
            ("#CXRLE Pos=4611686018427387904,0\nx = 1, y = 1\no!\n", "reaches further than 2^62"),
            ("#P 1\nx = 1, y = 1\no!\n", ":1:5: the line ends where y is expected"),
            ("#CXRLE Pos=0,0 Gen=18446744073709551616\nx = 1, y = 1\no!\n", ":1:20: the generation"),
            ("#CXRLE Pos=0,0 Gen=18446744073709551615\nx = 1, y = 1\no!\n", "1 more are beyond 2^64 - 1"),
            ("x = 3, y = 1, rule = 345/2/4\no!\n", ":1:22: rule '345/2/4': more than two states (Generations)"),
            ("x = 3, y = 1, rule = B3/S2q\no!\n", ":1:22: "),
            ("x = 3, y = 1\nq!\n", ":2:1: 'q': a state of a rule with more than two"),
            ("x = 3, y = 1\n#!\n&!\n", ":3:1: '&' where a number, b, o, $ or ! is expected"),
            ("x = 4611686018427387905, y = 1\no!\n", ":1:5: the width x: '4611686018427387905' is out of range"),
            ("x = 3, y = 3, rule = B3/S23:K64,64\no!\n", ":1:29: topology 'K64,64': a Klein bottle"),
            ("x = 3, y = 3, rule = B3/S23:T64+2,64\no!\n", "shifted or twisted"),
            ("x = 3, y = 3, rule = B3/S23:T0,64\no!\n", ":1:29: topology 'T0,64': a world without bounds"),
            ("x = 3, y = 3, rule = B3/S23:T64,6x\no!\n", ":1:33: the size of the topology: '6x' is not an integer"),
            ("x = -3, y = 3\no!\n", ":1:5: the width x: '-3' is out of range"),
            ("x = 3\no!\n", ":1: a header without x and y"),
            ("x = 3, y = 3, z = 3\no!\n", ":1:15: 'z' where a header"),
            ("#CXRLE Pos=1\nx = 3, y = 3\no!\n", ":1:12: Pos"),
        ):
            self.malformed(text, says)

    def test_what_takes_too_much_memory(self):
        """The file is well-formed but its grid is too large. So the exit status must be the status of run-time
        failures."""
        huge = self.pattern("x = 576460752303423488, y = 1\n576460752303423488o!\n")
        self.refused(1, "life", huge, says=["pattern.rle:2:1:", "take more than"])

    def test_rules_by_name_and_topology(self):
        def rule(*arguments):
            return json.loads(self.succeed("life", self.pattern(), "--json", *arguments).stdout)

        for name, wanted in (("Life", "B3/S23"), ("highlife", "B36/S23"), ("Seeds", "B2/S"),
                             ("Day & Night", "B3678/S34678"), ("B33/S23", "B3/S23")):
            self.assertEqual(rule("--rule", name)["rule"], wanted)
        torus = rule("--rule", "HighLife:T40,30", "-g", 4)
        self.assertEqual([torus[key] for key in ("rule", "boundary", "width", "height")], ["B36/S23", "torus", 40, 30])
        self.assertEqual(rule("--rule", "B3/S23:P8", "--size", "9x7")["width"], 9)
        self.assertEqual(rule("--rule", "B3/S23:P8", "--boundary", "plane")["boundary"], "plane")
        self.refused(2, "life", self.pattern(), "--rule", "Lief", says=["no rule of this name", "HighLife"])
        self.refused(2, "life", self.pattern(), "--rule", "B3/S23:K8,8", says=["--rule: topology 'K8,8'", "Klein"])
        self.refused(2, "bench", "life", "--rule", "B3/S23:T8", says=["name boundary and size apart"])

    def test_generations_in_all_their_forms(self):
        def generations(text):
            return json.loads(self.succeed("life", self.pattern(), "--json", "-g", text).stdout)["generations"]

        self.assertEqual([generations(text) for text in ("2^40", "1e6", "0", "25e2", "9223372036854775807", "2^62")],
                         [2**40, 10**6, 0, 2500, 2**63 - 1, 2**62])
        for text in ("2^63", "1e19", "-1", "1.5e3", "2^", "^3", "1e", "9223372036854775808", "1e6x", "2^2^2", "2^999999999999"):
            self.refused(2, "life", self.pattern(), "-g=" + text, says=["from 0 to 2^63 - 1, such as 1000, 2^30 or 1e6"])

    def test_far_places_read_back(self):
        """Checks that the command can read what it writes, for coordinates up to 2^62 and generations up to 2^64 -
        1."""
        for text in ("#CXRLE Pos=4611686018427387000,-4611686018427387904 Gen=18446744073709551000\n"
                     "x = 3, y = 3, rule = B3/S23\nbo$2bo$3o!\n",
                     "#CXRLE Pos=-4611686018427387904,0 Gen=9223372036854775808\n"
                     "x = 4611686018427387904, y = 1, rule = B3/S23\no4611686018427387902bo!\n"):
            for variant in ("hashlife", "bit_sliced")[:1 if "902b" in text else 2]:
                self.assertEqual(self.succeed("life", self.pattern(text), "-g", 0, "--variant", variant).stdout, text)

    def test_the_place_of_older_programs(self):
        for mark in "PR":
            text = f"#{mark} -5 7\nx = 3, y = 3\nbo$2bo$3o!\n"
            self.assertEqual(self.succeed("life", self.pattern(text), "-g", 0).stdout,
                             "#CXRLE Pos=-5,7\nx = 3, y = 3, rule = B3/S23\nbo$2bo$3o!\n")
        text = "#CXRLE Pos=1,2\n#P -5 7\nx = 3, y = 3\nbo$2bo$3o!\n"
        self.assertEqual(self.succeed("life", self.pattern(text), "-g", 0).stdout.splitlines()[0], "#CXRLE Pos=1,2")

    def test_places_are_those_of_golly(self):
        """Checks the cells of three generations. bgolly 3.3 computes the same cells at the same coordinates, as
        golly_cli_test.py checks."""
        glider = {0: "1 0, 2 1, 0 2, 1 2, 2 2", 1: "0 1, 2 1, 1 2, 2 2, 1 3", 37: "9 10, 11 10, 10 11, 11 11, 10 12"}
        for name, text, wanted in (
            ("plane.rle", "x = 5, y = 4\nbo$2bo$3o!\n", glider),
            ("rows.cells", "!Name: glider\n.O\n..O\nOOO\n", glider),
            ("fits.rle", "x = 5, y = 4, rule = B3/S23:T20,13\n$bo$2bo$3o!\n",
             {0: "-1 -1, 0 0, -2 1, -1 1, 0 1", 1: "-2 0, 0 0, -1 1, 0 1, -1 2", 37: "7 -4, 9 -4, 8 -3, 9 -3, 8 -2"}),
            ("wide.rle", "x = 22, y = 1, rule = B3/S23:P20,20\n2b3o!\n",
             {0: "-8 -10, -7 -10, -6 -10", 1: "-7 -10, -7 -9", 37: ""}),
            ("high.rle", "x = 3, y = 30, rule = B3/S23:T21,20\n3o!\n",
             {0: "-10 -10, -9 -10, -8 -10", 1: "-9 -10, -9 -9, -9 9", 37: "-9 -10, -9 -9, -9 9"}),
            ("placed.rle", "#CXRLE Pos=-9,-10\nx = 3, y = 1, rule = B3/S23:T20,20\n3o!\n",
             {0: "-9 -10, -8 -10, -7 -10", 1: "-8 -10, -8 -9, -8 9", 37: "-8 -10, -8 -9, -8 9"}),
            ("tree.mc", "[M2] (golly 3.3)\n#R B3/S23\n.......*$.......*$.......*$\n$$$$$.......*$.......*$.......*$\n4 1 0 0 2\n5 0 3 0 3\n",
             {0: "7 -15, 7 -14, 7 -13, 15 -2, 15 -1, 15 0, 7 1, 7 2, 7 3, 15 14, 15 15, 15 16",
              1: "6 -14, 7 -14, 8 -14, 14 -1, 15 -1, 16 -1, 6 2, 7 2, 8 2, 14 15, 15 15, 16 15"}),
            ("blocks.lif", "#Life 1.05\n#R 23/36\n#P\n***\n#P -20 7\n.*\n..*\n***\n",
             {0: "0 0, 1 0, 2 0, -19 7, -18 8, -20 9, -19 9, -18 9", 37: "1 -1, 1 0, 1 1, -11 17, -9 17, -10 18, -9 18, -10 19"}),
            ("list.lif", "#Life 1.06\n-3 -2\n-2 -2\n-1 -2\n5 5\n", {0: "-3 -2, -2 -2, -1 -2, 5 5", 1: "-2 -3, -2 -2, -2 -1"}),
        ):
            for generations, cells in wanted.items():
                for by_way in ("", "tree.mc", "runs.rle"):
                    with self.subTest(name=name, generations=generations, by_way=by_way):
                        path, rest = self.pattern(text, name), generations
                        if by_way:  # the file written after half of the generations is read again
                            self.succeed("life", path, "-g", rest // 2, "-o", self.path("half-" + by_way), "--quiet")
                            path, rest = self.path("half-" + by_way), rest - rest // 2
                        self.succeed("life", path, "-g", rest, "-o", self.path("out.lif"), "--quiet")
                        self.assertEqual(content(self.path("out.lif"), "r"), "".join(line + "\n" for line in ["#Life 1.06", *filter(None, cells.split(", "))]))

    def test_runs_without_a_header(self):
        for text in (".A$2.A$3A!\n", "bo$2bo$3o! made by me\n"):
            for name in ("pattern.rle", "pattern"):
                self.assertEqual(self.succeed("life", self.pattern(text, name), "-g", 0).stdout,
                                 "#CXRLE Pos=0,0\nx = 3, y = 3, rule = B3/S23\nbo$2bo$3o!\n")
        for name in ("pattern.rle", "pattern"):
            self.assertEqual(self.succeed("life", self.pattern("#C as pasted\nbo$2bo\n$3o!\n", name), "-g", 0).stdout,
                             "#CXRLE Pos=0,0\n#C as pasted\nx = 3, y = 3, rule = B3/S23\nbo$2bo$3o!\n")

    def malformed(self, text, says, name="pattern.rle"):
        """Checks that the file is refused with this message and that nothing is written."""
        with self.subTest(text):
            output = self.path("later.rle")
            if os.path.exists(output):
                os.remove(output)
            self.refused(3, "life", self.pattern(text, name), "-o", output, says=[name if says != "empty" else "", says])
            self.assertFalse(os.path.exists(output))


class LifeFiles(Case):
    def pattern(self, text, name):
        return self.file(name, text)

    def population(self, *arguments):
        return json.loads(self.succeed("life", *arguments, "--json").stdout)["population"]

    def test_classic_patterns(self):
        rows = re.findall(r"^\| `(\w+\.rle)` \|.*\| (\d+) \| (\d+) → (\d+) \|$",
                          content(os.path.join(DATA, "README.md"), "r"), re.M)
        self.assertEqual(sorted(row[0] for row in rows), sorted(os.listdir(os.path.join(DATA, "life"))))
        self.assertGreaterEqual(len(rows), 18)
        for name, first, generation, later in rows:
            with self.subTest(name):
                path = os.path.join(DATA, "life", name)
                self.assertEqual(self.population(path, "-g", 0), int(first))
                self.assertEqual(self.population(path, "-g", generation), int(later))

    def test_every_format_in_and_out(self):
        soup = self.path("soup.rle")
        self.succeed("generate", "life-soup", "--size", "70x50", "--density", 0.35, "--seed", 4, "-o", soup)
        truth = self.succeed("life", soup, "-g", 20).stdout.splitlines()
        self.assertGreater(len(truth), 10)
        for name in ("a.rle", "a.mc", "a.rle.gz", "a.mc.gz"):
            self.succeed("life", soup, "-g", 0, "-o", self.path(name))
            self.assertEqual(self.succeed("life", self.path(name), "-g", 20).stdout.splitlines(), truth, name)
        for name in ("a.cells", "a.pbm", "a.pgm", "a.png", "a.cells.gz"):
            self.succeed("life", soup, "-g", 0, "-o", self.path(name))
            self.assertEqual(self.succeed("life", self.path(name), "-g", 20).stdout.splitlines()[1:], truth[1:], name)
        with open(self.path("a.mc")) as file:
            result = subprocess.run([GRADUS, "life", "-", "-g", "20"], stdin=file, capture_output=True, text=True)
        self.assertEqual(result.stdout.splitlines(), truth)
        self.assertEqual(gzip.open(self.path("a.mc.gz")).read(), content(self.path("a.mc")))
        older = self.pattern("#Life 1.05\n#D two parts\n#R 23/36\n#P -1 -1\n.*\n..*\n***\n#P 9 9\n**\n", "older.lif")
        self.assertEqual(self.succeed("life", older, "-g", 0).stdout,
                         "#CXRLE Pos=-1,-1\n#C two parts\nx = 12, y = 11, rule = B36/S23\nbo$2bo$3o8$10b2o!\n")
        self.succeed("life", soup, "-g", 0, "-o", self.path("b.lif"))
        self.assertEqual(self.succeed("life", self.path("b.lif"), "-g", 20).stdout.splitlines(), truth)
        lif = self.pattern("#Life 1.06\n0 -1\n1 0\n-1 1\n0 1\n1 1\n", "a.lif")
        self.assertEqual(self.succeed("life", lif, "-g", 4).stdout.splitlines()[0], "#CXRLE Pos=0,0 Gen=4")
        self.refused(2, "life", soup, "-o", self.path("a.txt"), says=["should end in .rle"])
        self.refused(2, "life", soup, "-o", soup, says=["would be overwritten"])

    def test_hashlife_goes_far(self):
        gun = os.path.join(DATA, "life", "gosper_gun.rle")
        far = self.path("far.mc")
        answer = json.loads(self.succeed("life", gun, "-g", 2**40, "-o", far, "--json").stdout)
        self.assertEqual((answer["variant"], answer["population"]), ("hashlife", 183251938004))
        self.assertEqual(self.population(far, "-g", 14, "-o", self.path("more.mc")), 183251938001)
        self.refused(1, "life", far, "-o", self.path("far.rle"), says=["Macrocell"])
        self.refused(1, "life", far, "-g", 0, "-o", self.path("far.png"), says=["far.png"])
        self.assertIsNone(json.loads(self.succeed("life", far, "-g", 0, "--json").stdout)["rle"])
        for wish in ("--hashes", "--until-stable"):
            self.refused(1, "life", far, wish, says=["no memory holds", "without them 'hashlife' takes it"])
        self.refused(4, "life", gun, "--variant", "hashlife", "--hashes", says=["hashes"])
        self.refused(1, "life", gun, "-g", 2**40, "--variant", "hashlife", "--memory-limit", "100K", says=["memory"])

    def test_animation_and_frames(self):
        gun = os.path.join(DATA, "life", "gosper_gun.rle")
        film = self.path("film.gif")
        answer = json.loads(self.succeed("life", gun, "-g", 60, "--every", 7, "--scale", 2, "-o", film, "--json").stdout)
        self.assertEqual((answer["frames"], answer["population"]), (10, 46))
        data = content(film)
        self.assertEqual((data[:6], struct.unpack("<HH", data[6:10])), (b"GIF89a", (2 * 36, 2 * 20)))
        self.assertEqual(data.count(b"\x21\xf9\x04"), 10)
        folder = self.path("frames")
        self.succeed("life", gun, "-g", 12, "--every", 6, "--boundary", "torus", "--size", "40x30", "--frames", folder)
        self.assertEqual(sorted(os.listdir(folder)), ["00.pgm", "06.pgm", "12.pgm"])
        once = self.path("once.pgm")
        self.succeed("life", gun, "-g", 12, "--boundary", "torus", "--size", "40x30", "-o", once)
        self.assertEqual(content(once), content(os.path.join(folder, "12.pgm")))
        by_tree = self.path("tree.gif")
        self.succeed("life", gun, "-g", 60, "--every", 7, "--scale", 2, "-o", by_tree, "--variant", "hashlife")
        self.assertEqual(content(by_tree), data)
        self.refused(1, "life", os.path.join(DATA, "life", "breeder.rle"), "-o", self.path("b.gif"), says=["too far apart", " cells; from 1 to "])
        self.assertFalse(os.path.exists(self.path("b.gif")))
        self.refused(2, "life", gun, "--every", 2, says=["--every"])
        self.refused(2, "life", gun, "--scale", 2, says=["--scale"])
        self.refused(2, "life", gun, "--until-stable", "-o", film, says=["--until-stable"])
        # The folder is refused, because it contains frames of another run. The names of these frames have a different
        # number of digits, so the new frames would not replace them.
        self.refused(2, "life", gun, "-g", 3, "--frames", folder, says=["--frames", folder, "pgm"])
        self.assertEqual(sorted(os.listdir(folder)), ["00.pgm", "06.pgm", "12.pgm"])

    def test_report(self):
        gun, page, last = os.path.join(DATA, "life", "gosper_gun.rle"), self.path("page.html"), self.path("last.png")
        self.succeed("life", gun, "-g", 40, "--every", 15, "--boundary", "torus", "--size", "50x40", "--report", page, "-o", last, "--quiet")
        rows = self.charts_of(page)["population by generation"]
        job = ("--boundary", "torus", "--size", "50x40", "--json")
        expected = [["generation", "population"]] + [
            [str(g), str(json.loads(self.succeed("life", gun, "-g", g, *job).stdout)["population"])] for g in (0, 15, 30, 40)]
        self.assertEqual(rows, expected)
        first = self.path("first.png")
        self.succeed("life", gun, "-g", 0, "--boundary", "torus", "--size", "50x40", "-o", first, "--quiet")
        self.assertEqual(self.pictures_of(page), {"generation 0: 50 x 40 cells": content(first), "generation 40: 50 x 40 cells": content(last)})
        # Tests reports of trees, and of cells that are too far apart for a picture.
        answer = json.loads(self.succeed("life", gun, "-g", 2**30, "--report", page, "--json").stdout)
        self.assertLess(len(answer["history"]), 600)
        self.assertEqual(answer["history"][-1], {"generation": 2**30, "population": answer["population"]})
        self.assertEqual(list(self.pictures_of(page)), ["generation 0: 36 x 9 cells"])
        self.assertIn("the cells are too far apart for a picture", content(page, "r"))
        # If a pattern is larger than its picture, shades show the share of live cells. The second report shows a
        # pattern without a live cell.
        self.succeed("life", gun, "-g", 3000, "--report", page, "--quiet")
        self.assertRegex(list(self.pictures_of(page))[1], r"^generation 3000: \d{3} x \d{3} cells, 2 x 2 to a pixel$")
        self.succeed("life", self.file("none.rle", "x = 0, y = 0\n!\n"), "--report", page, "--quiet")
        self.assertIn("generation 1: no live cell", content(page, "r"))
        self.refused(2, "life", gun, "--report", page, "--until-stable", says=["--until-stable", "--report"])
        self.refused_to_overwrite([first], "life", first, "--report", first)

    def test_soups(self):
        def cells(*options):
            path = self.path("soup.cells")
            self.succeed("generate", "life-soup", "--seed", 9, "-o", path, *options)
            text = content(path, "r").splitlines()
            return {(x, y) for y, line in enumerate(text) for x, letter in enumerate(line) if letter == "O"}

        small, large = cells("--size", "40x30", "--density", 1), cells("--size", 30, "--density", 0)
        self.assertEqual((len(small), len(large)), (1200, 0))
        side = 30
        turn = lambda found: {(side - 1 - y, x) for x, y in found}
        mirror = lambda found: {(side - 1 - x, y) for x, y in found}
        swap = lambda found: {(y, x) for x, y in found}
        same = {"C1": [], "C2": [lambda f: turn(turn(f))], "C4": [turn], "D2|": [mirror], "D2x": [swap],
                "D2-": [lambda f: turn(turn(mirror(f)))], "D4+": [mirror, lambda f: turn(turn(f))],
                "D4x": [swap, lambda f: turn(turn(f))], "D8": [turn, mirror]}
        for symmetry, images in same.items():
            # The live cells must reach all edges of the grid. Otherwise the centre of their bounding box would not be
            # the centre of the grid.
            found = cells("--size", side, "--density", 0.6, "--symmetry", symmetry)
            self.assertEqual((max(x for x, y in found), max(y for x, y in found)), (side - 1, side - 1), symmetry)
            for image in images:
                self.assertEqual(image(found), found, symmetry)
            others = [name for name, images in same.items() if images and all(i(found) == found for i in images)]
            self.assertEqual(symmetry in others or symmetry == "C1", True)
            self.assertEqual("D8" in others, symmetry == "D8")
        text = self.succeed("generate", "life-soup", "--size", "40x30", "--seed", 9, "-o", "-").stdout
        self.succeed("generate", "life-soup", "--size", "40x30", "--seed", 9, "-o", self.path("same.rle"))
        self.assertEqual(text, content(self.path("same.rle"), "r"))
        self.refused_as_json(2, "generate", "life-soup", "-o", "-")
        self.refused(2, "generate", "life-soup", "--size", "3x4", "--symmetry", "C4", "-o", self.path("s.rle"), says=["square"])
        self.refused(2, "generate", "uniform", "--density", "0.5", "-n", 5, "-o", self.path("u.npy"), says=["--density"])

    def test_malformed_files(self):
        for name, text, says in (
            ("a.mc", "[M2]\n*$\n4 1 2 0 0\n", "a.mc:3:5: a quarter: '2' is out of range"),
            ("a.mc", "[M2]\n4 1 0 0 0\n", "a.mc:2:3: a quarter"),
            ("a.mc", "[M2]\n*$\n5 1 0 0 0\n", "a.mc:3:3: quarter 1 has level 3"),
            ("a.mc", "[M2]\n1 0 1 2 3\n", "more than two states"),
            ("a.mc", "[M2]\n#C cut\n", "a.mc:2: the file ends without a rule (#R B3/S23) or a square of cells"),
            ("a.mc", "[M2]\n*$\n4 1 0 0 0\n.*$\n", "a.mc:4: the file ends with square 3 of level 3"),
            ("a.mc", "[M2]\n#R B3/S23V\n", "a.mc:2:4: rule"),
            ("a.cells", ".O\n.Q\n", "a.cells:2:2: 'Q'"),
            ("a.lif", "#Life 1.05\n*q\n", "a.lif:2:2: 'q'"),
            ("a.lif", "#Life 1.05\n#P 1 x\n", "a.lif:2:6: y: 'x'"),
            ("a.lif", "#Life 1.05\n#R 3/4/5\n", "a.lif:2:4: rule '3/4/5'"),
            ("a.lif", "#Life 1.06\n1 x\n", "a.lif:2:3: y: 'x'"),
            ("a.pbm", "P1\n3 1\n0 1 7\n", "a.pbm:3:5: '7'"),
            ("a.pgm", "P5\n3 3\n255\nxx", "the file ends in row 1 of 3"),
            ("a.png", "\x89PNG", "PNG"),
            ("a.xyz", "nothing\n", "what kind of pattern"),
            ("a.rle", "", "empty"),
        ):
            with self.subTest(text):
                output = self.path("later.mc")
                self.refused(3, "life", self.pattern(text, name), "-o", output, says=[says])
                self.assertFalse(os.path.exists(output))
        packed = self.path("b.rle.gz")
        with open(packed, "wb") as file:
            file.write(gzip.compress(b"x = 1, y = 1\no!\n")[:-9])
        self.refused(3, "life", packed, says=["cut off"])


class LifeStops(InterruptCase):
    def test_frames_of_a_run_that_did_not_finish(self):
        """Checks that neither the frames nor the folders of an interrupted run remain."""
        soup, interrupted = self.path("soup.rle"), os.path.join(self.path("of"), "interrupted")
        self.succeed("generate", "life-soup", "--size", "300", "-o", soup)
        def some_frames(job):
            self.wait_until(job, lambda: os.path.isdir(interrupted) and len(os.listdir(interrupted)) > 2)
        self.stops_soon("life", soup, "-g", 10**6, "--boundary", "torus", "--frames", interrupted, when=some_frames)
        self.refused(4, "life", soup, "-g", 1, "--rule", "B03/S23", "--frames", interrupted, says=["even number"])
        self.assertFalse(os.path.exists(self.path("of")))


class LifeView(Case):
    """Tests the live view in a pseudo-terminal."""

    def watch(self, keys, *arguments, size=(24, 80)):
        """Runs the live view and sends events to it. An event is a pair. The first element of the pair is a delay in
        seconds. The second element is bytes, a signal or a size. Returns the output, the status, and the terminal
        settings before and after."""
        master, slave = pty.openpty()
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        before = termios.tcgetattr(slave)
        job = subprocess.Popen([GRADUS, "life", *map(str, arguments), "--view"], stdin=slave, stdout=slave, stderr=slave,
                               start_new_session=True, env=dict(os.environ, TERM="xterm"),
                               preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        seen = b""

        def read(until):
            nonlocal seen
            while time.monotonic() < until:
                if select.select([master], [], [], 0.02)[0]:
                    seen += os.read(master, 65536)

        end = time.monotonic() + 20
        while b"generation" not in seen and job.poll() is None and time.monotonic() < end:
            read(time.monotonic() + 0.05)
        for wait, what in keys:
            read(time.monotonic() + wait)
            if isinstance(what, bytes):
                os.write(master, what)
            elif isinstance(what, tuple):
                fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", *what, 0, 0))
            else:
                job.send_signal(what)
        while job.poll() is None and time.monotonic() < end:
            read(time.monotonic() + 0.05)
        read(time.monotonic() + 0.1)
        status = job.wait()
        after = termios.tcgetattr(slave)
        os.close(master)
        os.close(slave)
        self.assertIn(b"\x1b[?1049h", seen)
        # The final output restores the previous screen with its cursor.
        self.assertGreater(seen.rfind(b"\x1b[?25h\x1b[?1049l"), seen.rfind(b"\x1b[H"))
        self.assertEqual(before, after)
        frames = seen.decode(errors="replace").split("\x1b[?1049l")[0].split("\x1b[H")[1:]
        return frames, status, seen

    def test_keys(self):
        blinker = os.path.join(DATA, "life", "blinker.rle")
        frames, status, _ = self.watch([(0.2, b" "), (0.3, b"s"), (0.2, b"s"), (0.2, b"?"), (0.2, b"]"), (0.1, b"s"),
                                        (0.2, b"\x1b[C"), (0.1, b"q")], blinker)
        self.assertEqual(status, 0)
        lines = [frame.splitlines() for frame in frames]
        self.assertEqual({len(frame) for frame in lines}, {24})
        shown = ["".join(frame[:-1]) for frame in lines]
        # A horizontal blinker appears as half blocks, a vertical blinker as a full block.
        self.assertTrue(any("▀▀▀" in frame or "▄▄▄" in frame for frame in shown))
        self.assertTrue(any("█" in frame for frame in shown))
        self.assertTrue(any("paused" in frame[-1] for frame in lines))
        self.assertTrue(any("arrows" in frame[-1] for frame in lines))
        generations = [int(match) for match in re.findall(r"generation (\d+)", "".join(frames))]
        self.assertEqual(generations, sorted(generations))
        steps = [b - a for a, b in zip(generations, generations[1:])]
        self.assertEqual(max(steps), 2)  # two generations per frame, also in the last step

    def test_every_way_out_restores_the_terminal(self):
        gun = os.path.join(DATA, "life", "gosper_gun.rle")
        for way, wanted in ((b"q", 0), (b"\x1b", 0), (b"\x03", 130), (signal.SIGINT, 130), (signal.SIGTERM, 130)):
            with self.subTest(way):
                _, status, _ = self.watch([(0.3, way)], gun)
                self.assertEqual(status, wanted)
        # In odd generations the whole plane is alive. The command reports this as an error.
        _, status, seen = self.watch([], gun, "--rule", "B03/S23")
        self.assertEqual(status, 4)
        self.assertIn("no pattern file can say", seen.decode(errors="replace"))

    def test_the_window_may_change(self):
        acorn = os.path.join(DATA, "life", "acorn.rle")
        frames, status, _ = self.watch([(0.3, (10, 30)), (0.4, (3, 5)), (0.4, (40, 100)), (0.4, b"f"), (0.1, b"q")], acorn)
        self.assertEqual(status, 0)
        self.assertLessEqual({24, 10, 3, 40}, {len(frame.splitlines()) for frame in frames})

    def test_off_a_terminal(self):
        gun = os.path.join(DATA, "life", "gosper_gun.rle")
        self.refused(2, "life", gun, "--view", says=["needs a terminal", "film.gif"])
        self.refused(2, "life", "-", "--view", says=["standard input"])
        for option, name in (("-o", "out.rle"), ("-o", "out.gif"), ("--frames", "frames")):
            self.refused(2, "life", gun, "--view", option, self.path(name), says=["has no effect", "--view"])
            self.assertFalse(os.path.exists(self.path(name)))

    def test_a_pause_after_so_many_generations(self):
        blinker = os.path.join(DATA, "life", "blinker.rle")
        frames, _, _ = self.watch([(1.2, b"s"), (0.3, b"?"), (0.2, b"q")], blinker, "-g", 5, "--every", 2)
        generations = [int(match) for match in re.findall(r"generation (\d+)", "".join(frames))]
        self.assertEqual(sorted(set(generations)), [0, 2, 4, 5, 7])
        self.assertIn("20/s", frames[0])
        # The line that explains the keys fits in 80 columns.
        self.assertIn("q quit", frames[-1].splitlines()[-1])
