"""Tests the commands for locks: verify and bench. tests/cli/run.py runs this."""

import json

from kit import Case


# Returns the jobs that tests/cli/cli_test.py runs: see tests/cli/run.py.
def json_jobs(case):
    return {}  # there is no command that uses locks


NARROWED = {
    "gradus verify locks": "--variant clh_lock --case lock --threads 2",
    "gradus bench locks": "--variants clh_lock --sections 1000 --repeats 1",
    "gradus bench locks --variants std_mutex,ttas_lock,clh_lock,park_lock --threads 1,2,4,8 --critical 0,100 --outside 0,1000":
        "--sections 1000 --repeats 1",
    "gradus bench --experiment locks": "--scale 0.0001 --threads 1,2 --repeats 1",
    "gradus bench --experiment kmeans-locks": "--scale 0.0001 --threads 1,2 --repeats 1",
}
INPUTS = {}


class Locks(Case):
    def test_bench(self):
        answer = json.loads(self.succeed("bench", "locks", "--variants", "std_mutex,clh_lock", "--threads", "1,2", "--critical",
                                         "0,5", "--sections", 2000, "--repeats", 1, "--json").stdout)
        self.assertTrue(answer["right"])
        self.assertEqual([(group["critical"], group["outside"]) for group in answer["groups"]], [(0, 0), (5, 0)])
        for group in answer["groups"]:
            self.assertEqual([(row["variant"], row["threads"]) for row in group["rows"]],
                             [(name, threads) for name in ("std_mutex", "clh_lock") for threads in (1, 2)])

    def test_verify_says_what_it_means_for_locks(self):
        text = self.succeed("verify", "locks", "--variant", "park_lock", "--case", "lock", "--threads", "3").stdout
        self.assertIn("each case with 3 threads\n", text)
        self.assertIn("\ninvariants: ", text)
        for words in ("oracle", "block sizes", "ties"):
            self.assertNotIn(words, text)

    def test_verify(self):
        answer = json.loads(self.succeed("verify", "locks", "--variant", "park_lock", "--case", "lock", "--threads", "3",
                                         "--json").stdout)
        self.assertTrue(answer["right"])
