"""The command `gradus life`, as a person uses it. tests/cli/run.py runs this."""

import json
import os

from kit import Case, content

GLIDER = "x = 3, y = 3, rule = B3/S23\nbob$2bo$3o!\n"


# What tests/cli/cli_test.py wants to know: see tests/cli/run.py.
def json_jobs(case):
    path = case.path("glider.rle")
    with open(path, "w") as file:
        file.write(GLIDER)
    return {"life": [path]}


NARROWED = {
    "gradus bench life": "--size 64 --repeats 1",
    "gradus bench life --size 1024,1000x37 --generations 100 --threads 1,2": "--variants sequential --repeats 1",
}
INPUTS = {
    "pattern.rle": "printf 'x = 3, y = 3, rule = B3/S23\\nbob$2bo$3o!\\n' > pattern.rle",
}


class Life(Case):
    def pattern(self, text=GLIDER, name="pattern.rle"):
        path = self.path(name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def test_a_glider_moves(self):
        result = self.succeed("life", self.pattern(), "--generations", 4)
        self.assertEqual(result.stdout, "#CXRLE Pos=0,0 Gen=4\nx = 3, y = 3, rule = B3/S23\nbo$2bo$3o!\n")
        output = self.path("later.rle")
        self.succeed("life", self.pattern(), "--generations", 400, "-o", output)
        self.assertEqual(content(output), b"#CXRLE Pos=99,99 Gen=400\nx = 3, y = 3, rule = B3/S23\nbo$2bo$3o!\n")
        back = self.succeed("life", output, "--generations", 4)
        self.assertEqual(back.stdout.splitlines()[0], "#CXRLE Pos=100,100 Gen=404")

    def test_boundaries(self):
        torus = self.succeed("life", self.pattern(), "--generations", 40, "--size", "10")
        self.assertEqual(torus.stdout, "#CXRLE Pos=-1,-1 Gen=40\nx = 3, y = 3, rule = B3/S23:T10,10\nbo$2bo$3o!\n")
        in_file = self.pattern(GLIDER.replace("B3/S23", "B3/S23:T10,10"), "torus.rle")
        self.assertEqual(self.succeed("life", in_file, "--generations", 40).stdout, torus.stdout)
        dead = self.succeed("life", self.pattern(), "--generations", 100, "--size", "10x8", "--boundary", "dead", "--json")
        answer = json.loads(dead.stdout)
        self.assertEqual((answer["population"], answer["width"], answer["height"]), (4, 10, 8))
        self.refused(2, "life", self.pattern(), "--size", "10", "--boundary", "plane", says=["--size"])
        self.refused(3, "life", self.pattern(), "--size", "2", says=["pattern.rle"])

    def test_rules_and_cycles(self):
        answer = json.loads(self.succeed("life", self.pattern(), "-g", 1000, "--size", 8, "--until-stable", "--json").stdout)
        self.assertEqual((answer["cycle"], answer["generations"]), ({"preperiod": 0, "period": 32}, 32))
        answer = json.loads(self.succeed("life", self.pattern(), "-g", 3, "--rule", "1357/1357", "--hashes", "--json").stdout)
        self.assertEqual((answer["rule"], len(answer["hashes"])), ("B1357/S1357", 4))
        for rule, says in (("B2-a/S12", "Hensel"), ("345/2/4", "Generations"), ("B3S", None), ("nothing", "--rule")):
            if says:
                self.refused(2, "life", self.pattern(), "--rule", rule, says=[says])
        self.refused(4, "life", self.pattern(), "--rule", "B03/S23", says=["even number"])
        self.succeed("life", self.pattern(), "--rule", "B03/S23", "-g", 2)

    def test_malformed_patterns(self):
        for text, says in (
            ("bob!\n", ":1:1: 'bob!' where a header"),
            ("", "empty"),
            ("#C nothing\n", ":2: the file ends without a header"),
            ("x = 3, y = 3\nbob$2bo$3o\n", ":3: the file ends without the '!'"),
            ("x = 3, y = 3\n4o!\n", ":2:1: a run up to cell 4 of its row; the header says that x = 3"),
            ("x = 3, y = 3\nbob$b3o!\n", ":2:6: a run up to cell 4"),
            ("x = 3, y = 1\n$o!\n", ":2:2: a live cell in row 2; the header says that y = 1"),
            ("x = 3, y = 1\n99999999999999999999o!\n", ":2:1: a run longer than 2^60"),
            ("x = 3, y = 1\n0o!\n", ":2:1: a run of 0"),
            ("x = 3, y = 9\n1152921504606846975$1152921504606846975$o!\n", "more than 2^60 rows"),
            ("x = 3, y = 1, rule = 345/2/4\no!\n", ":1:22: rule '345/2/4': more than two states (Generations)"),
            ("x = 3, y = 1, rule = B3/S2q\no!\n", ":1:22: "),
            ("x = 3, y = 1\nq!\n", ":2:1: 'q': a state of a rule with more than two"),
            ("x = 3, y = 1\n#!\n&!\n", ":3:1: '&' where a number, b, o, $ or ! is expected"),
            ("x = 1152921504606846976, y = 1\no!\n", ":1:5: the width x: '1152921504606846976' is out of range"),
            ("x = 576460752303423488, y = 1\n576460752303423488o!\n", "take more than"),
            ("x = 3, y = 3, rule = B3/S23:K64,64\no!\n", ":1:29: topology 'K64,64': a Klein bottle"),
            ("x = 3, y = 3, rule = B3/S23:T64+2,64\no!\n", "shifted or twisted"),
            ("x = 3, y = 3, rule = B3/S23:T0,64\no!\n", ":1:29: topology 'T0,64': a world without bounds"),
            ("x = 3, y = 3, rule = B3/S23:T64,6x\no!\n", ":1:33: the size of the topology: '6x' is no whole number"),
            ("x = -3, y = 3\no!\n", ":1:5: the width x: '-3' is out of range"),
            ("x = 3\no!\n", ":1: a header without x and y"),
            ("x = 3, y = 3, z = 3\no!\n", ":1:15: 'z' where a header"),
            ("#CXRLE Pos=1\nx = 3, y = 3\no!\n", ":1:12: Pos"),
        ):
            self.malformed(text, says)

    def malformed(self, text, says, name="pattern.rle"):
        """The file is refused with this message, and nothing is written."""
        with self.subTest(text):
            output = self.path("later.rle")
            self.refused(3, "life", self.pattern(text, name), "-o", output, says=[name if says != "empty" else "", says])
            self.assertFalse(os.path.exists(output))
