"""Tests `gradus kmeans --init hierarchical` and `--bisecting`. tests/cli/run.py runs this."""

import json
import os

from kit import Case, content, read_npy, write_npy


class ManyClusters(Case):
    def blobs(self):
        self.succeed("generate", "blobs", "-n", 900, "-d", 3, "--clusters", 20, "-o", self.path("points.npy"))
        return self.path("points.npy")

    def files(self, name, *words):
        self.succeed("kmeans", *words, "-o", self.path(name))
        return [content(os.path.join(self.path(name), file)) for file in ("centroids.npy", "labels.npy")]

    def summary(self, name):
        return json.loads(content(os.path.join(self.path(name), "summary.json")))

    def test_hierarchical_centroids(self):
        points = self.blobs()
        words = [points, "-k", 60, "--init", "hierarchical"]
        one = self.files("one", *words, "--threads", 1)
        self.assertEqual(one, self.files("two", *words, "--threads", 2))
        self.assertEqual(self.summary("one")["init"], "hierarchical")
        self.assertEqual(one, self.files("again", "--repeat", self.path("one")))
        self.succeed("check", self.path("one"), points)
        self.assertNotEqual(one, self.files("seed", *words, "--seed", 3))
        self.refused(2, "kmeans", *words, "--init-rows", 100, says=["--init-rows 100", "--init hierarchical"])
        self.refused(2, "kmeans", points, "--init", "hierarchica", "-k", 2, says=["hierarchical"])

    def test_bisecting(self):
        points = self.blobs()
        for split in ("biggest-inertia", "largest-cluster"):
            words = [points, "-k", 16, "--bisecting", split]
            one = self.files("one", *words, "--threads", 1, "--init", "random")
            self.assertEqual(one, self.files("two", *words, "--threads", 2, "--init", "random"))
            self.assertEqual(one, self.files("again", "--repeat", self.path("one")))
            summary = self.summary("one")
            labels = list(read_npy(os.path.join(self.path("one"), "labels.npy"))[2])
            self.assertEqual(summary["counts"], [labels.count(cluster) for cluster in range(16)])
            self.assertEqual((summary["bisecting"], summary["iterations"]), (split, 0))
        self.refused(4, "check", self.path("one"), points, says=["summary.json", "--bisecting"])

    def test_refusals_of_bisecting(self):
        points = self.blobs()
        words = [points, "-k", 4, "--bisecting", "largest-cluster"]
        for others in (["--metric", "cosine"], ["--balanced"], ["--standardize"], ["--init-rows", 50]):
            self.refused(2, "kmeans", *words, *others, says=[others[0], "--bisecting"])
        self.refused(2, "kmeans", points, "-k", "2..4", *words[3:], says=["-k names several"])
        self.refused(2, "kmeans", *words, "--optimal", says=["--optimal", "--bisecting"])
        self.refused(2, "kmeans", *words, "--checkpoint", self.path("c.npz"), says=["--checkpoint"])
        self.refused(2, "kmeans", *words, "--init", points, says=["--init", "--bisecting"])
        self.refused(2, "kmeans", points, "-k", 4, "--bisecting", "smallest", says=["biggest-inertia"])
        same = self.path("same.npy")
        write_npy(same, "<f8", (5, 1), [1, 1, 2, 2, 3])
        self.refused(3, "kmeans", same, "-k", 4, *words[3:], says=["only 3 different points"])
