"""Tests Skeleton on the command line: verify and bench. tests/cli/run.py runs this file."""

import json

from kit import Case


# Definitions that tests/cli/cli_test.py needs for each problem: see tests/cli/run.py.
def json_jobs(case):
    return {}  # no separate command


NARROWED = {
    "gradus verify skeleton": "--case one --threads 2",
    "gradus bench skeleton": "--values 1000 --repeats 1",
}
INPUTS = {}


class Skeleton(Case):
    def test_verify(self):
        self.assertTrue(json.loads(self.succeed("verify", "skeleton", "--json").stdout)["right"])

    def test_bench(self):
        answer = json.loads(self.succeed("bench", "skeleton", "--values", 1000, "--repeats", 1, "--json").stdout)
        self.assertTrue(answer["right"])
        self.assertEqual([group["values"] for group in answer["groups"]], [1000])
