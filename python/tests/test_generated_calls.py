"""Calls functions with generated arrays: each call returns a result or raises a documented error, and changes no input.

GRADUS_GENERATED_CALLS sets the number of calls. ./dev test --full makes many more calls, and repeats them under the
address sanitizer and the undefined-behaviour sanitizer.
"""

import inspect
import os

import gradus
import numpy as np
from hypothesis import HealthCheck, given, settings, strategies as st
from gradus._options import option_rows
from test_gpu_arrays import Said

CALLS = int(os.environ.get("GRADUS_GENERATED_CALLS", "200"))
TYPES = ["f4", "f8", ">f4", ">f8", "f2", "g", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4", "?", "c8", "c16", "O", "U3", "S2", "M8[s]"]
KINDS = st.one_of(st.sampled_from(["f4", "f8"]), st.sampled_from(TYPES))
VALUES = [0, 1, 1, 2, 3, -1, 0.5, 1e30, -1e30, 1e-300, np.inf, -np.inf, np.nan, 255, 2**31 - 1, 2**63 - 1]


@st.composite
def arrays(draw, most_dimensions=3):
    """Draws an array of any shape, strides and type, writable or read-only."""
    shape = draw(st.one_of(
        st.tuples(st.integers(0, 9), st.integers(0, 9)),
        st.tuples(*[st.just(draw(st.integers(1, 6)))] * 2),
        st.lists(st.integers(0, 4), max_size=most_dimensions).map(tuple),
    ))  # fmt: skip
    kind = np.dtype(draw(KINDS))
    tame = draw(st.booleans())
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    wide = tuple(3 * length + 2 for length in shape)
    if kind.kind in "OUSM":
        base = random.integers(0, 9, wide).astype(kind)
    else:
        numbers = random.integers(0, 2, wide) if tame else random.choice(np.array(VALUES), wide)
        with np.errstate(all="ignore"):
            base = numbers.astype(kind)
    steps = draw(st.tuples(*[st.integers(1, 3)] * len(shape)))
    array = base[(*(slice(0, step * length, step) for length, step in zip(shape, steps)), ...)]
    form = draw(st.sampled_from(["as it is", "compact", "fortran", "reversed", "turned", "repeated", "askew", "list", "on a GPU"]))
    if form == "compact":
        array = np.ascontiguousarray(array)
    elif form == "fortran":
        array = np.asfortranarray(array)
    elif form == "reversed":
        array = array[tuple(slice(None, None, -1) for _ in shape)]
    elif form == "turned":
        array = array.T
    elif form == "repeated" and array.size:
        array = np.broadcast_to(array.reshape(-1)[0], shape)
    elif form == "askew" and kind.kind in "fiu":
        raw = np.zeros(array.size * kind.itemsize + 1, np.uint8)
        askew = np.frombuffer(raw[1:].data, kind).reshape(array.shape)
        askew[...] = array
        array = askew
    elif form == "list":
        return array.tolist()
    elif form == "on a GPU" and kind.kind in Said.CODES:
        return Said(array, draw(st.integers(0, 1)))
    array = np.asarray(array)
    if draw(st.booleans()) and array.flags.owndata:
        array.flags.writeable = False
    return array


numbers = st.integers(-2, 9)
maybe = lambda strategy: st.one_of(st.none(), strategy)  # noqa: E731
sizes = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 3.0, 1e300, 1e-320, np.inf, np.nan])
places = st.fixed_dictionaries({}, optional={
    "threads": st.sampled_from([-1, 0, 1, 2]), "device": st.sampled_from(["auto", "cpu", "gpu:7", "cpuu"]),
    "memory_limit": st.sampled_from([1, 1000, 10**9]),
    "pinning": st.sampled_from(["none", "none", "compact", "other"]), "block_size": st.sampled_from([0, 32, -1]),
})  # fmt: skip

centroids = st.one_of(arrays(), st.builds(
    gradus.KMeansModel, arrays(), st.sampled_from(["euclidean", "cosine"]),
    st.builds(gradus.KMeansStandardization, arrays(1), arrays(1)),
))  # fmt: skip


def projection(points, most_points, memory_limit=None, **_):
    """Calls kmeans_projection(). The projection always runs on one CPU thread, so the function lacks some of the common
    arguments. They are dropped here."""
    return gradus.kmeans_projection(points, most_points=most_points, memory_limit=memory_limit)


def optimum(points, clusters, weights, memory_limit=None, **_):
    """Calls kmeans1d(), which lacks the same arguments."""
    return gradus.kmeans1d(points, clusters, weights=weights, memory_limit=memory_limit)


def certificate(result, points, labels, weights, inertia, effort, memory_limit=None, threads=None, **_):
    """Calls certify(), which lacks the arguments of devices."""
    return gradus.certify(result, points, labels, weights=weights, inertia=inertia, effort=effort, threads=threads, memory_limit=memory_limit)


def batch(points, clusters, block_size=None, **named):
    """Calls kmeans_batch(), which lacks this argument."""
    return gradus.kmeans_batch(points, clusters, **named)


def encode(codebooks, points, memory_limit=None, threads=None, **_):
    """Calls kmeans_encode(), which lacks the same arguments, and others."""
    return gradus.kmeans_encode(codebooks, points, threads=threads, memory_limit=memory_limit)


def distribution(box, points, memory_limit=None, pinning=None, block_size=None, **named):
    """Calls radial_distribution(), which lacks some of the common arguments."""
    return gradus.radial_distribution((box, points), memory_limit=memory_limit, **named)


def scattering(box, points, memory_limit=None, threads=None, device=None, pinning=None, block_size=None, **named):
    """Calls structure_factor(), which lacks the arguments of devices."""
    return gradus.structure_factor((box, points), memory_limit=memory_limit, threads=threads, **named)


def pair_counts(points, block_size=None, **named):
    """Calls pair_counts(), which runs on the CPU and lacks this argument."""
    return gradus.pair_counts(points, **named)


def sky_points(ra, dec, distance, **_):
    """Calls sky_points(), which lacks all common arguments."""
    return gradus.sky_points(ra, dec, 1.0 if distance is None else distance)


CALLS_OF = {
    "kmeans": lambda draw: (gradus.kmeans, (draw(arrays()), draw(numbers)), {
        "init": draw(st.one_of(st.sampled_from(["k-means++", "k-means||", "random", "first", "other"]), arrays())),
        "weights": draw(maybe(arrays(1))), "max_iterations": draw(st.integers(0, 5)), "tolerance": draw(sizes),
        "seed": draw(st.integers(-1, 2**64)),
        **{row.name: draw(st.sampled_from(row.choices or [False, True])) for row in option_rows("kmeans").values()
           if row.kind in ("choice", "flag") and row.name != "init"}}),
    "kmeans1d": lambda draw: (optimum, (draw(arrays()), draw(numbers)), {
        "weights": draw(maybe(arrays(1)))}),
    "kmeans_batch": lambda draw: (batch, (draw(arrays()), draw(numbers)), {
        "init": draw(st.one_of(st.sampled_from(["k-means++", "random", "first", "other"]), arrays())),
        "weights": draw(maybe(arrays(2))), "subspaces": draw(maybe(numbers)), "standardize": draw(st.booleans()),
        "metric": draw(st.sampled_from(["euclidean", "cosine"])), "max_iterations": draw(st.integers(0, 5))}),
    "kmeans_encode": lambda draw: (encode, (draw(arrays()), draw(arrays())), {}),
    "choose_clusters": lambda draw: (gradus.choose_clusters, (draw(arrays()), draw(st.lists(numbers, max_size=3))), {
        "criterion": draw(st.sampled_from(["silhouette", "calinski-harabasz", "davies-bouldin", "other"])),
        "weights": draw(maybe(arrays(1))), "silhouette_points": draw(numbers), "standardize": draw(st.booleans()),
        "metric": draw(st.sampled_from(["euclidean", "cosine"]))}),
    "kmeans_projection": lambda draw: (projection, (draw(arrays()),), {"most_points": draw(numbers)}),
    "kmeans_predict": lambda draw: (gradus.kmeans_predict, (draw(centroids), draw(arrays())), {
        "weights": draw(maybe(arrays(1))), "out": draw(maybe(arrays(1)))}),
    "check": lambda draw: (gradus.check, (draw(centroids), draw(arrays()), draw(arrays(1))), {
        "weights": draw(maybe(arrays(1))), "tolerance": draw(sizes), "reference_rows": draw(numbers),
        "inertia": draw(maybe(sizes))}),
    "certify": lambda draw: (certificate, (draw(centroids), draw(arrays()), draw(arrays(1))), {
        "weights": draw(maybe(arrays(1))), "inertia": draw(maybe(sizes)), "effort": draw(sizes)}),
    "kmeans_transform": lambda draw: (gradus.kmeans_transform, (draw(centroids), draw(arrays())), {"out": draw(maybe(arrays()))}),
    "kmeans_initial_centroids": lambda draw: (gradus.kmeans_initial_centroids, (draw(arrays()), draw(numbers)), {}),
    "pair_histogram": lambda draw: (gradus.pair_histogram, (draw(arrays()),), {
        "bin_width": draw(maybe(sizes)), "bins": draw(maybe(numbers)), "cutoff": draw(maybe(sizes)),
        "edges": draw(maybe(st.lists(sizes, max_size=4))), "box": draw(maybe(st.lists(sizes, max_size=4))),
        "periodic": draw(st.sampled_from(["xyz", "xyz", "xy", "z", "none", "w"])), "fold": draw(st.booleans()),
        "dimensions": draw(st.sampled_from([None, None, "x", "xy", "xz", "xyz", ""])),
        "others": draw(maybe(arrays())), "weights": draw(maybe(arrays(1)))}),
    "pair_counts": lambda draw: (pair_counts, (draw(arrays()),), {
        "edges": draw(st.lists(sizes, max_size=4)), "kind": draw(st.sampled_from(["rp_pi", "rp_pi", "s_mu", "theta", "other"])),
        "pi_max": draw(maybe(sizes)), "pi_bins": draw(maybe(numbers)), "mu_bins": draw(maybe(numbers)),
        "second_edges": draw(maybe(st.lists(sizes, max_size=4))), "box": draw(maybe(st.lists(sizes, max_size=4))),
        "line_of_sight": draw(st.sampled_from([None, None, "x", "midpoint", "w"])), "others": draw(maybe(arrays())),
        "weights": draw(maybe(arrays(1))), "regions": draw(maybe(arrays(1)))}),
    "sky_points": lambda draw: (sky_points, (draw(arrays(1)), draw(arrays(1)), draw(maybe(arrays(1)))), {}),
    "radial_distribution": lambda draw: (distribution, (draw(maybe(arrays())), draw(arrays())), {
        "bin_width": draw(maybe(sizes)), "bins": draw(maybe(numbers)), "cutoff": draw(maybe(sizes)), "volume": draw(maybe(sizes)),
        "edges": draw(maybe(st.lists(sizes, max_size=4))), "dimensions": draw(st.sampled_from([None, None, "x", "xy", "xyz", ""])),
        "select": draw(maybe(arrays(1))), "other": draw(maybe(arrays(1))), "exclude_same": draw(maybe(st.one_of(arrays(1), arrays()))),
        "mass_centers": draw(maybe(arrays(1))), "masses": draw(maybe(arrays(1))), "blocks": draw(numbers)}),
    "structure_factor": lambda draw: (scattering, (draw(maybe(arrays())), draw(arrays())), {
        "q_max": draw(sizes), "q_width": draw(sizes), "select": draw(maybe(arrays(1))), "vectors_per_bin": draw(maybe(numbers)),
        "blocks": draw(numbers)}),
    "shortest_paths": lambda draw: (gradus.shortest_paths, (draw(arrays()),), {
        "directed": draw(st.booleans()), "unweighted": draw(st.booleans()), "predecessors": draw(st.booleans()), "no_edge": draw(maybe(sizes)),
        "sources": draw(maybe(st.lists(numbers, max_size=3)))}),
    "matmul": lambda draw: (gradus.matmul, (draw(arrays()), draw(arrays())), {
        "accuracy": draw(st.sampled_from(["strict", "strict", "split", "fast", "automatic"])), "out": draw(maybe(arrays())),
        "alpha": draw(sizes), "add": draw(maybe(arrays())), "beta": draw(maybe(sizes))}),
    "life": lambda draw: (gradus.life, (draw(arrays()), draw(numbers)), {
        "rule": draw(st.sampled_from(["B3/S23", "B0/S8", "B36/S23", "nonsense"])), "hashes": draw(st.booleans()),
        "boundary": draw(st.sampled_from(["dead", "torus", "plane"])), "until_stable": draw(st.booleans())}),
}  # fmt: skip


@settings(max_examples=CALLS, deadline=None, suppress_health_check=list(HealthCheck), derandomize=CALLS < 1000, database=None)
@given(st.data())
def test_results_or_documented_errors(data):
    name = data.draw(st.sampled_from(sorted(CALLS_OF)))
    function, positional, named = CALLS_OF[name](data.draw)
    named.update(data.draw(places))
    read = [array for array in (*positional, *map(named.get, ("weights", "others", "add", "init"))) if isinstance(array, np.ndarray)]
    before = [array.copy() for array in read]
    try:
        function(*positional, **named)
    except gradus.Error as error:
        assert len(str(error)) > 10
    for array, kept in zip(read, before):
        assert array.tobytes() == kept.tobytes()


def test_all_functions_of_arrays_are_called():
    functions = {name for name in gradus.__all__ if callable(getattr(gradus, name)) and name.islower()}
    assert functions - {"gpus", "info", "problems", "variants", "kmeans_batches", "kmeans_memory", "read_catalogue", "repeat"} == set(CALLS_OF)


def test_help_has_no_marks():
    for function in (gradus.kmeans, gradus.kmeans1d, gradus.kmeans_batch, gradus.KMeans):
        text = inspect.getdoc(function)
        assert "\nempty : " in text or function is gradus.kmeans1d
        assert "<options" not in text and "</options" not in text
