"""scikit-learn's side of kmeans_calls.py: whole k-means calls in one process, with the protocol of kmeans_calls.cpp.
Needs only scikit-learn and its dependencies."""

import json
import sys
import time
import warnings


def call(points, request):
    import numpy
    from sklearn.cluster import KMeans

    init = "k-means++" if request["first"] is None else numpy.load(request["first"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ignores the warning that the fit has not converged
        start = time.perf_counter()
        fit = KMeans(request["clusters"], init=init, n_init=1, max_iter=request["max_iterations"],
                     tol=request["tolerance"], random_state=request["seed"]).fit(points)
        seconds = time.perf_counter() - start
    if request["output"] is not None:
        numpy.save(request["output"] + "labels.npy", fit.labels_)
        numpy.save(request["output"] + "centroids.npy", fit.cluster_centers_)
    return {"seconds": seconds, "iterations": int(fit.n_iter_), "inertia": float(fit.inertia_)}


def main():
    import numpy
    import sklearn.cluster  # noqa: F401: imported here, so that the first call does not include the import

    points = None
    for line in sys.stdin:
        request = json.loads(line)
        if "load" in request:
            points = None  # frees the previous points before the new points are read
            points = numpy.load(request["load"])
            answer = {}
        else:
            answer = call(points, request)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
