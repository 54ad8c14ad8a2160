"""Compares the criteria of Gradus with the criteria of scikit-learn for the same labels, on twenty data sets. `gradus
kmeans -k 2..9` uses these criteria to choose the number of clusters."""

import json

from common import REPOSITORY, print_table, run_program, uniform
from kmeans import blobs, pixels

BOUND = 1e-9  # relative tolerance
# tolerances for data sets on which scikit-learn computes in single precision, or subtracts squares that are much larger
# than the distances
WIDER = {"blobs, f32": 1e-4, "uniform, f32": 1e-4, "far from zero": 1e-5}


def data_sets():
    """Yields the name and the points of each data set."""
    import numpy

    for seed, (rows, columns, groups, spread) in enumerate([(300, 2, 3, 1.0), (1000, 2, 5, 0.5), (1000, 3, 4, 2.0),
                                                            (2000, 8, 6, 1.0), (500, 64, 3, 3.0), (3000, 16, 9, 1.5)]):
        yield f"blobs {seed}", blobs(rows, columns, "f8", groups, spread)
    for rows, columns in ((200, 1), (500, 2), (1000, 5), (800, 30), (2500, 4)):
        yield f"uniform {rows} x {columns}", uniform(rows, columns, "f8")
    yield "digits", numpy.load(REPOSITORY / "data" / "digits.npy").astype("f8")
    yield "pixels", pixels(2000, "f8")
    yield "far from zero", blobs(1500, 3, "f8", 4, 1.0) + 1e5
    # The scale is not smaller, because scikit-learn treats distances below 1e-8 as zero.
    yield "small", blobs(700, 4, "f8", 3, 1.0) * 1e-4
    yield "columns of other scales", blobs(900, 3, "f8", 3, 1.0) * [1.0, 1e3, 1e-3]
    yield "every point twice", numpy.repeat(uniform(400, 3, "f8"), 2, axis=0)
    yield "lattice", numpy.stack(numpy.meshgrid(range(30), range(20)), -1).reshape(-1, 2).astype("f8")
    yield "blobs, f32", blobs(1200, 6, "f4", 4, 1.0)
    yield "uniform, f32", uniform(900, 10, "f4")


def theirs(points, labels):
    from sklearn import metrics

    return {"silhouette": float(metrics.silhouette_score(points, labels)),
            "calinski_harabasz": float(metrics.calinski_harabasz_score(points, labels)),
            "davies_bouldin": float(metrics.davies_bouldin_score(points, labels))}


def run(options, folder):
    import numpy

    results = []
    for name, points in data_sets():
        numpy.save(folder / "points.npy", points)
        ended = run_program([str(options.gradus), "kmeans", str(folder / "points.npy"), "-k", "2..9", "-o",
                             str(folder / "out"), "--threads", str(options.threads), "--json"])
        summary = json.loads(ended.output)
        ours = next(fit for fit in summary["choice"]["fits"] if fit["k"] == summary["k"])
        baseline = theirs(points, numpy.load(folder / "out" / "labels.npy"))
        difference = {key: abs(ours[key] - value) / max(abs(value), 1e-300) for key, value in baseline.items()}
        bound = WIDER.get(name, BOUND)
        results.append({"name": name, "n": len(points), "d": points.shape[1], "k": summary["k"], "dtype": summary["dtype"],
                        "Gradus": {key: ours[key] for key in baseline}, "scikit-learn": baseline, "difference": difference,
                        "bound": bound, "agrees": all(value <= bound for value in difference.values())})
    print_table(["points", "shape", "K", "silhouette", "Calinski-Harabasz", "Davies-Bouldin", "differ by at most", ""],
                [[r["name"], f"{r['n']} x {r['d']} {r['dtype']}", str(r["k"]), f"{r['Gradus']['silhouette']:.6f}",
                  f"{r['Gradus']['calinski_harabasz']:.6g}", f"{r['Gradus']['davies_bouldin']:.6f}",
                  f"{max(r['difference'].values()):.1e}", "agrees" if r["agrees"] else "DISAGREES"] for r in results])
    return {"criteria": results}, all(result["agrees"] for result in results)
