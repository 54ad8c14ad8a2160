"""A pytest plugin: runs scikit-learn's tests on gradus.cluster."""

import gradus
import sklearn.cluster

for name in ("BisectingKMeans", "KMeans", "MiniBatchKMeans", "k_means", "kmeans_plusplus"):
    setattr(sklearn.cluster, name, getattr(gradus, name))
