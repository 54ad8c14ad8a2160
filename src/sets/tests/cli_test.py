"""Tests the commands for concurrent sets: list, verify and bench. tests/cli/run.py runs this."""

import json
import os

from kit import DATA, Case


# Returns the jobs that tests/cli/cli_test.py runs: see tests/cli/run.py.
def json_jobs(case):
    return {}  # there is no command that uses sets


NARROWED = {
    "gradus bench sets": "--variants lazy_list_epoch --operations 1000 --repeats 1",
    "gradus bench sets --size 1024 --mix 80/10/10,0/50/50 --threads 1,2":
        "--variants lazy_list_epoch --operations 1000 --repeats 1",
}
INPUTS = {}


class Sets(Case):
    def bench(self, *options, operations=2000):
        return self.succeed("bench", "sets", "--repeats", 1, "--operations", operations, "--json", *options)

    def test_bench(self):
        answer = json.loads(self.bench("--size", "50,60", "--mix", "100/0/0,20/40/40", "--threads", "1,3", "--variants",
                                       "sequential,lock_free_list_hazard_pointers").stdout)
        self.assertTrue(answer["right"])
        self.assertEqual([(group["size"], group["range"], group["mix"]) for group in answer["groups"]],
                         [(size, 2 * size, mix) for size in (50, 60) for mix in ("100/0/0", "20/40/40")])
        for group in answer["groups"]:
            self.assertEqual([row["threads"] for row in group["rows"]], [1, 1, 3])
            self.assertIn("linearizable", group["verified"])
            for row in group["rows"]:
                self.assertGreater(row["operations_per_second"], 0)
                self.assertEqual(row["leaked_bytes"], 0)
                self.assertGreater(row["share_answered_yes"], 0.2)

    def test_the_experiment_judges_claims_about_two_variants(self):
        """Runs the experiment with small shapes. Each of its claims must be judged on several shapes."""
        with open(os.path.join(os.path.dirname(DATA), "experiments", "sets.json"), encoding="utf-8") as file:
            experiment = json.load(file)
        labels = {shape["label"] for shape in experiment["shapes"]}
        self.assertEqual(len(labels), 8)
        for shape in experiment["shapes"]:
            shape.update(size=20, operations=1000)
        path = self.file("small.json", json.dumps(experiment))
        answer = json.loads(self.succeed("bench", "--experiment", path, "--threads", "1", "--repeats", 1, "--json").stdout)
        self.assertTrue(answer["right"])
        claims = [claim for claim in answer["claims"] if claim["claim"] == "faster_than"]
        self.assertEqual(len(claims), sum(claim["claim"] == "faster_than" for claim in experiment["claims"]))
        self.assertGreater(len(claims), 0)
        for claim in claims:
            self.assertIn(claim["than"], ("coarse_list", "fine_list", "lock_free_list_leak", "optimistic_list_leak"))
            self.assertIn(len(claim["inputs"]), (2, 8))
            self.assertLessEqual({finding["label"] for finding in claim["inputs"]}, labels)

    def test_garbage(self):
        """If garbage is never freed, it grows with the number of operations. With hazard pointers it does not grow."""
        rows = json.loads(self.bench("--size", 50, "--mix", "0/50/50", "--threads", "2", "--variants",
                                     "lazy_list_leak,lazy_list_hazard_pointers",
                                     operations=100000).stdout)["groups"][0]["rows"]
        self.assertGreater(rows[0]["peak_garbage_bytes"], 10 * rows[1]["peak_garbage_bytes"])
        self.assertGreater(rows[1]["peak_garbage_bytes"], 0)

    def test_wrong_axes(self):
        for mix in ("80/10", "80/10/20", "80/10/10/0", "a/b/c", "-10/60/50", "100", ""):
            self.refused(2, "bench", "sets", "--mix", mix, says=["mix"])
        self.refused(2, "bench", "sets", "--size", 0, says=["size"])
        self.refused(2, "bench", "sets", "--variants", "lazy_list_epok", says=["lazy_list_epoch"])

    def test_a_long_list_is_refused_with_a_better_one(self):
        answer = json.loads(self.bench("--size", 1000000, "--variants", "lazy_list_epoch").stdout)
        self.assertIn("skip list", answer["groups"][0]["rows"][0]["trouble"])
