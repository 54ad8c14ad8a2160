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
        for text, says in (("bob!\n", "header"), ("x = 3, y = 3\nbob$2bo$3o\n", "'!'"), ("x = 3, y = 3\n4o!\n", "columns"),
                           ("x = 3, y = 1\n$o!\n", "rows"), ("x = 3, y = 1\n99999999999999999999o!\n", "64 bits"),
                           ("x = 3, y = 1, rule = 345/2/4\no!\n", "Generations"), ("x = 3, y = 1\nq!\n", "'q'"),
                           ("x = 281474976710656, y = 281474976710656\no!\n", "2^40"),
                           ("x = 3, y = 3, rule = B3/S23:K64,64\no!\n", "topology"),
                           ("x = -3, y = 3\no!\n", "width")):
            with self.subTest(text):
                self.refused(3, "life", self.pattern(text), says=[says])
        self.assertFalse(os.path.exists(self.path("later.rle")))
