import hashlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import gradus
import numpy as np
import pytest
from conftest import accepting_coinciding_points


def bits(result):
    parts = [result.labels.tobytes(), result.centroids.tobytes(), np.float64(result.inertia).tobytes()]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def exact_variants():
    return [row for row in gradus.variants("kmeans") if row.supported and row.contract == "same bits"]


def test_result_is_what_it_says(points):
    result = gradus.kmeans(points, 5, seed=3)
    assert result.centroids.dtype == np.float32 and result.centroids.shape == (5, 3)
    assert result.labels.dtype == np.int32 and result.labels.shape == (2000,)
    squares = ((points[:, None].astype(np.float64) - result.centroids) ** 2).sum(axis=2)
    assert (squares.argmin(axis=1) == result.labels).all()
    assert result.inertia == pytest.approx(squares.min(axis=1).sum(), rel=1e-12)
    assert (np.bincount(result.labels, minlength=5) == result.counts).all()
    assert len(result.history) == result.iterations and result.converged
    assert len(repr(result)) < 200 and "2000 points" in repr(result)
    with pytest.raises(AttributeError):
        result.inertia = 0
    assert bits(pickle.loads(pickle.dumps(result))) == bits(result)


@pytest.mark.parametrize("row", exact_variants(), ids=lambda row: row.name)
def test_every_exact_variant_has_the_same_bits(points, row):
    start = points[:7]
    expected = bits(gradus.kmeans(points, 7, init=start, variant=exact_variants()[-1].name, threads=1))
    for threads in (1, 2, 7):
        result = gradus.kmeans(points, 7, init=start, variant=row.name, threads=threads)
        assert result.variant == row.name
        assert bits(result) == expected


@pytest.mark.parametrize("options", [{}, {"weights": np.arange(2000) % 5}, {"standardize": True}, {"init": "random", "restarts": 2},
                                     {"metric": "cosine", "device": "cpu", "threads": 3}], ids=str)
def test_a_list_of_arrays(points, options):
    """The rows of the arrays are clustered together. The labels of each array are an array."""
    single, double = (gradus.kmeans(points.astype(dtype), 7, **options) for dtype in ("f4", "f8"))
    for cuts in ([0, 2000], [0, 700, 2000], [0, 1, 1, 1990, 2000]):
        parts = [points[first:end].copy() for first, end in zip(cuts, cuts[1:])]
        for given, one in ((parts, single), (tuple(parts), single), ([*parts[:-1], parts[-1].astype("f8")], double)):
            found = gradus.kmeans(given, 7, **options)
            assert [labels.dtype for labels in found.labels] == [np.int32] * len(parts)
            assert [len(labels) for labels in found.labels] == [len(part) for part in parts]
            assert np.concatenate(found.labels).tobytes() == one.labels.tobytes()
            assert (found.counts == one.counts).all() and (found.centroids == one.centroids).all()
            assert "2000 points" in repr(found)


def test_lists_that_are_refused(points):
    for given, more, error, words in [
        ([points, points[:, :2]], {}, gradus.InputError, "array 1 has 2 columns, but array 0 has 3"),
        ([points, points], {"stream": 7}, gradus.UsageError, "stream.*list of arrays"),
        ([points, points], {"gpus": "auto"}, gradus.UsageError, "gpus.*list of arrays"),
        ([points, points], {"gpus": [0, 0], "device": "cpu"}, gradus.UsageError, "gpus"),
        ([points[:2], points[:1]], {}, gradus.InputError, "5 clusters"),
        ([points, np.array([["a", "b", "c"]])], {}, gradus.InputError, "real numbers are needed"),
    ]:
        with pytest.raises(error, match=words):
            gradus.kmeans(given, 5, **more)
    table = gradus.kmeans([[1.0, 2.0], [3.0, 4.0], [5.0, 5.0]], 2)  # a list of rows is one array
    assert table.labels.shape == (3,)


def test_there_are_exact_variants():
    assert len(exact_variants()) >= 3


def test_the_program_has_the_same_bits(points, tmp_path):
    np.save(tmp_path / "points.npy", points)
    command = [sys.executable, "-m", "gradus", "kmeans", "points.npy", "-k", "6", "--seed", "11", "-o", "out", "--quiet"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    result = gradus.kmeans(points, 6, seed=11)
    assert (np.load(tmp_path / "out" / "labels.npy") == result.labels).all()
    assert np.load(tmp_path / "out" / "centroids.npy").tobytes() == result.centroids.tobytes()


def test_any_host_array_has_the_same_bits(points, tmp_path):
    expected = bits(gradus.kmeans(points, 4))
    wide = np.full((len(points), 5), np.nan, np.float32)
    wide[:, :3] = points
    np.save(tmp_path / "points.npy", points)
    frozen = points.copy()
    frozen.flags.writeable = False
    swapped = points.astype(points.dtype.newbyteorder())
    mapped = np.load(tmp_path / "points.npy", mmap_mode="r")
    for source in (wide[:, :3], np.asfortranarray(points), frozen, swapped, mapped, points[::-1][::-1]):
        assert bits(gradus.kmeans(source, 4)) == expected
    assert bits(gradus.kmeans(points.tolist(), 4)) == bits(gradus.kmeans(points.astype(np.float64), 4))


@pytest.mark.parametrize("layout", [{}, {"chunks": (33, 2), "compression": "gzip"}])
def test_datasets_of_h5py(points, tmp_path, layout):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "points.h5", "w") as file:
        data = file.create_dataset("train", data=points, **layout)
        expected = gradus.kmeans(points, 4, seed=1)
        assert bits(gradus.kmeans(data, 4, seed=1)) == bits(expected)
        assert (gradus.kmeans_predict(expected.centroids, data) == expected.labels).all()
        blocks = gradus.kmeans_batches(lambda: (data[row : row + 300] for row in range(0, len(data), 300)), 4, seed=1)
        assert blocks.counts.sum() == len(points)


def test_types_as_the_program_takes_them(points):
    small = np.rint(points * 50)
    for dtype, taken in [("i1", "f4"), ("u2", "f4"), ("f2", "f4"), ("i4", "f8"), ("i8", "f8"), ("f8", "f8"), ("?", "f4")]:
        source = (small > 0) if dtype == "?" else np.clip(small, 0, 100).astype(dtype)
        result = gradus.kmeans(source, 2, init="first", max_iterations=1)
        assert result.centroids.dtype == np.dtype(taken), dtype


def test_points_are_not_copied(points):
    from gradus import _arrays

    wide = np.zeros((10, 8), np.float64)
    for source in (points, wide[:, :3], wide[:, 2:7], wide[::2], wide[:, :1]):
        assert _arrays.matrix(source, "points") is source


def test_predict_and_transform(points):
    result = gradus.kmeans(points, 5)
    labels = gradus.kmeans_predict(result.centroids, points)
    assert labels.dtype == np.int32 and (labels == result.labels).all()
    out = np.empty(len(points), np.int32)
    assert gradus.kmeans_predict(result.centroids, points, out=out) is out and (out == labels).all()
    distances = gradus.kmeans_transform(result.centroids, points)
    expected = np.sqrt(((points[:, None].astype(np.float64) - result.centroids) ** 2).sum(axis=2))
    np.testing.assert_allclose(distances, expected, rtol=1e-6)


def test_weights(points):
    weights = np.random.default_rng(2).integers(0, 4, len(points))
    # The tolerance must be 0. Otherwise the two fits would use different limits: the limit depends on the variance of
    # the columns, which is computed without weights.
    plain = gradus.kmeans(np.repeat(points, weights, axis=0), 4, init=points[:4], tolerance=0)
    weighed = gradus.kmeans(points, 4, init=points[:4], weights=weights, tolerance=0)
    assert (np.repeat(weighed.labels, weights) == plain.labels).all()
    np.testing.assert_allclose(weighed.centroids, plain.centroids, rtol=1e-6)
    assert plain.inertia == pytest.approx(weighed.inertia, rel=1e-6)
    with pytest.raises(gradus.InputError, match="1999 weights for 2000 points"):
        gradus.kmeans(points, 4, weights=weights[:-1])


def test_weights_in_the_inertia_of_a_prediction(points):
    weights = np.random.default_rng(2).random(len(points), np.float32)
    result = gradus.kmeans(points, 4, weights=weights)
    labels, inertia = gradus.kmeans_predict(result.centroids, points, weights=weights, return_inertia=True)
    assert (labels == result.labels).all() and inertia == result.inertia
    assert gradus.kmeans_predict(result.centroids, points, return_inertia=True)[1] > 1.5 * inertia
    assert (gradus.kmeans_predict(result.centroids, points, weights=weights) == labels).all()
    with pytest.raises(gradus.InputError, match="1999 weights for 2000 points"):
        gradus.kmeans_predict(result.centroids, points, weights=weights[:-1])


@pytest.mark.parametrize("init", ["k-means++", "k-means||", "random", "first"])
@pytest.mark.parametrize("weighted", [False, True])
def test_initial_centroids_begin_the_fit(points, init, weighted):
    weights = np.arange(len(points)) % 3 if weighted else None
    first = gradus.kmeans_initial_centroids(points, 7, init=init, weights=weights, seed=5)
    assert first.rows.dtype == np.int64 and len(set(first.rows)) == 7
    assert first.centroids.dtype == points.dtype and (first.centroids == points[first.rows]).all()
    assert not weighted or init == "first" or (weights[first.rows] > 0).all()
    fit = gradus.kmeans(points, 7, init=init, weights=weights, seed=5)
    assert bits(gradus.kmeans(points, 7, init=first.centroids, weights=weights)) == bits(fit)


def test_initial_centroids_that_are_given_have_no_rows(points):
    first = gradus.kmeans_initial_centroids(points, 3, init=points[:3])
    assert len(first.rows) == 0 and (first.centroids == points[:3]).all()


@pytest.mark.parametrize("init", ["k-means++", "k-means||", "random", "first"])
def test_fewer_different_points_than_clusters(init):
    points = np.repeat(np.array([[0.0, 1], [5, 5], [9, 2]]), [4, 3, 5], axis=0)
    with pytest.raises(gradus.InputError, match="only 3 different points"):
        gradus.kmeans(points, 6, init=init)
    accepting = accepting_coinciding_points()
    result = gradus.kmeans(points, 6, init=init, **accepting)
    assert result.converged and result.inertia == 0
    assert sorted(result.counts) == [0, 0, 0, 3, 4, 5]
    assert len(np.unique(result.centroids, axis=0)) == 3
    first = gradus.kmeans_initial_centroids(points, 6, init=init, **accepting)
    assert (first.centroids == points[first.rows]).all()


def test_options_of_single_variants(points):
    whole = gradus.kmeans(points, 5, variant="openmp_locked", threads=1)
    found = gradus.kmeans(points, 5, variant="openmp_locked", threads=1, variant_options={"lock": "ticket_lock", "locked": "point"})
    assert bits(found) == bits(whole)
    for options, words in [({"lock": "clh"}, "did you mean 'clh_lock'"), ({"lok": "clh_lock"}, "did you mean 'lock'")]:
        with pytest.raises(gradus.UsageError, match=words):
            gradus.kmeans(points, 5, variant="openmp_locked", variant_options=options)
    with pytest.raises(gradus.UsageError, match="'sequential' does not have the option lock.*'openmp_locked'"):
        gradus.kmeans(points, 5, variant="sequential", variant_options={"lock": "clh_lock"})
    with pytest.raises(gradus.UsageError, match="variant_options: 'lock'; names and values"):
        gradus.kmeans(points, 5, variant="openmp_locked", variant_options="lock")


def test_memory_that_does_not_suffice(points):
    with pytest.raises(gradus.OutOfMemoryError, match="needs .* allows only 100 bytes") as caught:
        gradus.kmeans(points, 3, memory_limit=100)
    assert isinstance(caught.value, MemoryError) and isinstance(caught.value, gradus.Error)
    with pytest.raises(MemoryError):
        gradus.kmeans_initial_centroids(points, 3, memory_limit=100)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_says_what_works(points):
    code = '''
import os, sys, gradus, numpy
points = numpy.random.rand(200000, 8)
gradus.kmeans(points, 8, threads=2)
child = os.fork()
if child == 0:
    try:
        gradus.kmeans(points, 8, threads=2)
    except gradus.UnsupportedError as error:
        os._exit(7 if "'spawn'" in str(error) and "'forkserver'" in str(error) else 8)
    os._exit(9)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
'''
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 7


def test_memory():
    small, large = (gradus.kmeans_memory(n, 8, 4).host for n in (1000, 1000000))
    assert 0 < small < large


BAD = [
    (lambda x: gradus.kmeans(x, 0), gradus.UsageError, "clusters"),
    (lambda x: gradus.kmeans(x, 3, variant="sequentail"), gradus.UsageError, "did you mean 'sequential'"),
    (lambda x: gradus.kmeans(x, 3, init="randm"), gradus.UsageError, "did you mean 'random'"),
    (lambda x: gradus.kmeans(x, 3, init="given"), gradus.UsageError, "array"),
    (lambda x: gradus.kmeans(x, 3, empty="kep"), gradus.UsageError, "did you mean 'keep'"),
    (lambda x: gradus.kmeans_initial_centroids(x, 3, init="given"), gradus.UsageError, "array"),
    (lambda x: gradus.kmeans_initial_centroids(x, 0), gradus.UsageError, "clusters"),
    (lambda x: gradus.kmeans_initial_centroids(x, 3, seed=-1), gradus.UsageError, "seed"),
    (lambda x: gradus.kmeans(x, 3, metric="cosin"), gradus.UsageError, "did you mean 'cosine'"),
    (lambda x: gradus.kmeans(x, 3, pinning="compct"), gradus.UsageError, "did you mean 'compact'"),
    (lambda x: gradus.kmeans(x, 3, device="cpuu"), gradus.UsageError, "did you mean 'cpu'"),
    (lambda x: gradus.kmeans(x, 3, device="gpu:-1"), gradus.UsageError, "gpu:-1"),
    (lambda x: gradus.kmeans(x, 3, device="gpu:99"), gradus.UnsupportedError, "GPU"),
    (lambda x: gradus.kmeans(x, 3, gpus="al"), gradus.UsageError, "'al' is not 'all'"),
    (lambda x: gradus.kmeans(x, 3, gpus=0), gradus.UsageError, "gpus: 0; 1 is the minimum"),
    (lambda x: gradus.kmeans(x, 3, gpus=[]), gradus.UsageError, "the list is empty"),
    (lambda x: gradus.kmeans(x, 3, gpus=[0, -1]), gradus.UsageError, "-1 is no index of a GPU"),
    (lambda x: gradus.kmeans(x, 3, gpus=2**40), gradus.UsageError, "gpus: 1099511627776 is out of range"),
    (lambda x: gradus.kmeans(x, 3, gpus=1.5), gradus.UsageError, "gpus: 1.5; 'all', 'auto', a number or a list"),
    (lambda x: gradus.kmeans(x, 3, gpus=True), gradus.UsageError, "gpus: True; 'all', 'auto', a number or a list"),
    (lambda x: gradus.kmeans(x, 3, gpus=["0"]), gradus.UsageError, "'all', 'auto', a number or a list"),
    (lambda x: gradus.kmeans(x, 3, gpus=2, device="cpu"), gradus.UsageError, "`device` is 'cpu'; leave out one"),
    (lambda x: gradus.kmeans(x, 3, gpus=[0, 1], device="gpu:0"), gradus.UsageError, "`device` is 'gpu:0'; leave out one"),
    (lambda x: gradus.kmeans(x, 3, gpus=99), gradus.UnsupportedError, "GPU"),
    (lambda x: gradus.kmeans(x, 3, gpus=[0, 99]), gradus.UnsupportedError, "GPU"),
    (lambda x: gradus.choose_clusters(x, [2, 3], gpus=99), gradus.UnsupportedError, "GPU"),
    (lambda x: gradus.kmeans_predict(x[:2], x, gpus=99), gradus.UnsupportedError, "GPU"),
    (lambda x: gradus.kmeans_transform(x[:2], x, gpus=99), gradus.UnsupportedError, "GPU"),
    (lambda x: gradus.kmeans_initial_centroids(x, 3, gpus=99), gradus.UnsupportedError, "GPU"),
    (lambda x: gradus.pair_histogram(x[:, :3], bin_width=1, bins=2, gpus=[0, 99]), gradus.UnsupportedError, "GPU"),
    (lambda x: gradus.KMeans(3, gpus=99).fit(x), gradus.UnsupportedError, "GPU"),
    (lambda x: gradus.kmeans(x, 3, threads=0), gradus.UsageError, "threads"),
    (lambda x: gradus.kmeans(x, 3, seed=-1), gradus.UsageError, "seed"),
    (lambda x: gradus.kmeans(x, 3, seed=2**64), gradus.UsageError, "seed"),
    (lambda x: gradus.kmeans(x, 3, max_iterations=2**40), gradus.UsageError, "max_iterations"),
    (lambda x: gradus.kmeans(x, 3, progress=1), gradus.UsageError, "progress"),
    (lambda x: gradus.kmeans(x[0], 3), gradus.UsageError, r"\(3,\)"),
    (lambda x: gradus.kmeans(x[None], 3), gradus.UsageError, "two dimensions"),
    (lambda x: gradus.kmeans(x[:0], 3), gradus.Error, "points"),
    (lambda x: gradus.kmeans(x * 1j, 3), gradus.InputError, "complex64"),
    (lambda x: gradus.kmeans(x.astype(object), 3), gradus.InputError, "object"),
    (lambda x: gradus.kmeans(x.astype(str), 3), gradus.InputError, "<U"),
    (lambda x: gradus.kmeans([[1.0, 2.0], [1.0]], 1), gradus.InputError, "numbers"),
    (lambda x: gradus.kmeans(np.where(x == x[4, 2], np.inf, x), 3), gradus.InputError, "row 4, column 2"),
    (lambda x: gradus.kmeans(np.where(x == x[4, 2], np.nan, x), 3), gradus.InputError, "row 4, column 2"),
    (lambda x: gradus.kmeans(x, 3, init=x[:2]), gradus.InputError, "2 x 3"),
    (lambda x: gradus.kmeans(x, 3, weights=-np.ones(len(x))), gradus.InputError, "weight"),
    (lambda x: gradus.kmeans(x, 3, weights=np.ones((len(x), 1))), gradus.UsageError, "weights"),
    (lambda x: gradus.kmeans_predict(x[:2, :2], x), gradus.InputError, "2 x 2"),
    (lambda x: gradus.kmeans_predict(x[:2], x, out=np.empty(3, np.int32)), gradus.UsageError, "shape"),
    (lambda x: gradus.kmeans_predict(x[:2], x, out=np.empty(len(x), np.int64)), gradus.UsageError, "int32"),
    (lambda x: gradus.kmeans_predict(x[:2], x, out=np.empty(2 * len(x), np.int32)[::2]), gradus.UsageError, "not contiguous"),
    (lambda x: gradus.kmeans_predict(x[:2], x, out=np.broadcast_to(np.int32(0), len(x))), gradus.UsageError, "not contiguous"),
    (lambda x: gradus.kmeans_predict(x[:2], x, out=[0] * len(x)), gradus.UsageError, "list"),
    (lambda x: gradus.kmeans_predict(x[:2], x, out=x.reshape(-1)[: len(x)].view(np.int32)), gradus.UsageError, "overlap"),
    (lambda x: gradus.variants("kmean"), gradus.UsageError, "did you mean 'kmeans'"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(BAD)))
def test_bad_input(points, number):
    call, kind, text = BAD[number]
    with pytest.raises(kind, match=text):
        call(points)


def test_errors_are_the_built_in_ones_too():
    kinds = [(gradus.Error, RuntimeError), (gradus.UsageError, ValueError), (gradus.InputError, ValueError)]
    kinds += [(gradus.UnsupportedError, NotImplementedError), (gradus.OutOfMemoryError, MemoryError)]
    for ours, built_in in kinds:
        assert issubclass(ours, built_in) and issubclass(ours, gradus.Error)
        assert str(pickle.loads(pickle.dumps(ours("text")))) == "text"


def test_progress_is_called_and_its_exception_comes_out(points):
    expected = bits(gradus.kmeans(points, 5))
    seen = []
    gradus.kmeans(points, 5, progress=lambda *step: seen.append(step))
    assert seen and all(isinstance(phase, str) and done <= total for phase, done, total, _ in seen)

    def stop(*_):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        gradus.kmeans(points, 5, progress=stop)
    assert bits(gradus.kmeans(points, 5)) == expected


def test_progress_of_predictions_and_distances(points):
    for call in (gradus.kmeans_predict, gradus.kmeans_transform):
        seen = []
        call(points[:5], points, progress=lambda *step: seen.append(step))
        assert seen and all(0 <= done <= total == len(points) for _, done, total, _ in seen)


def test_interrupt_ends_a_prediction():
    code = '''
import os, signal, threading, time, gradus, numpy
points = numpy.random.default_rng(0).random((3000000, 16), numpy.float32)
threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
begin = time.monotonic()
try:
    for _ in range(1000):
        gradus.kmeans_predict(points[:4000], points, device="cpu")
except KeyboardInterrupt:
    print(time.monotonic() - begin)
'''
    got = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert float(got.stdout) < 5, got.stderr


def long_fit():
    points = np.random.default_rng(0).random((400000, 16), np.float32)
    return gradus.kmeans(points, 256, tolerance=0, max_iterations=100000, device="cpu")


def test_interrupt_ends_a_fit():
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        long_fit()
    timer.join()
    assert time.monotonic() - begin < 20


def test_threads_of_the_environment(points):
    code = "import gradus, numpy; print(gradus.kmeans(numpy.random.rand(100000, 8), 8).threads)"
    got = subprocess.run([sys.executable, "-c", code], env={**os.environ, "OMP_NUM_THREADS": "1"}, check=True,
                         capture_output=True, text=True, timeout=60)  # fmt: skip
    assert got.stdout.strip() == "1"


def test_many_threads_at_once(points):
    expected = bits(gradus.kmeans(points, 5))
    results = []

    def work():
        for _ in range(10):
            results.append(bits(gradus.kmeans(points, 5, threads=2)))

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert results == [expected] * 80


def test_import_is_light():
    code = "import sys, gradus; print([name for name in ('sklearn', 'torch', 'pandas') if name in sys.modules])"
    got = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert got.stdout.strip() == "[]"


def test_the_ladders():
    assert "kmeans" in gradus.problems() and "locks" in gradus.problems()
    for problem in gradus.problems():
        rows = gradus.variants(problem)
        assert rows and all(row.supported or row.reason for row in rows)
    assert gradus.info()["version"] == gradus.__version__


def test_a_masked_array_is_refused(points):
    with pytest.raises(gradus.InputError, match="masked array.*compress_rows"):
        gradus.kmeans(np.ma.masked_less(points, 1), 3)


def test_data_frames_with_columns_of_their_own_types(points):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(points.astype(np.float64), columns=["a", "b", "c"])
    frame["b"] = (100 * frame["b"]).round()
    expected = gradus.kmeans(frame.to_numpy(), 3)
    own = frame.convert_dtypes()
    assert own["b"].dtype == "Int64" and bits(gradus.kmeans(own, 3)) == bits(expected)
    own.loc[7, "b"] = pandas.NA
    with pytest.raises(gradus.InputError, match="row 7, column 1"):
        gradus.kmeans(own, 3)
    own["name"] = "x"
    with pytest.raises(gradus.InputError, match="no numbers in the columns 'name'"):
        gradus.kmeans(own, 3)


def compare_stored(rows, same, weights=None):
    """Compares the calls on points of 8 or 16 bits with the calls on the same points in float32."""
    for metric in ("euclidean", "cosine"):
        for standardize in (False, True):
            options = {"metric": metric, "standardize": standardize, "device": "cpu", "weights": weights, "max_iterations": 5}
            found, expected = (gradus.kmeans(points, 6, **options) for points in (rows, same))
            assert found.centroids.tobytes() == expected.centroids.tobytes()
            assert found.labels.tobytes() == expected.labels.tobytes()
            for points, model in ((rows, found), (same, expected)):
                labels, inertia = gradus.kmeans_predict(model, points, weights=weights, return_inertia=True, device="cpu")
                assert (labels.tobytes(), inertia) == (expected.labels.tobytes(), expected.inertia)
            distances = gradus.kmeans_transform(expected, same, device="cpu")
            assert distances.dtype == np.float32
            assert gradus.kmeans_transform(found, rows, device="cpu").tobytes() == distances.tobytes()
            out = np.empty_like(distances)
            assert gradus.kmeans_transform(found, rows, out=out, device="cpu") is out
            assert out.tobytes() == distances.tobytes()
            options["silhouette_points"] = 100
            found, expected = (gradus.choose_clusters(points, (2, 3, 5), **options) for points in (rows, same))
            without_time = [[candidate._replace(seconds=0) for candidate in choice.candidates] for choice in (found, expected)]
            assert without_time[0] == without_time[1] and found.clusters == expected.clusters
            assert found.result.labels.tobytes() == expected.result.labels.tobytes()


def test_moves():
    wide = np.random.default_rng(5).integers(0, 200, (600, 3)).astype(np.float32)
    plain = gradus.kmeans(wide, 30, device="cpu")
    moved = gradus.kmeans(wide, 30, quality_moves=10, device="cpu")
    assert moved.inertia <= plain.inertia and (plain.quality_moves, moved.quality_moves) == (0, 10)
    assert gradus.check(moved, wide).passed
    for points in (wide.astype(np.uint8), wide.astype(np.float16)):
        assert bits(gradus.kmeans(points, 30, quality_moves=10, device="cpu")) == bits(moved)
    timed = gradus.kmeans(wide, 30, quality=True, device="cpu")
    assert bits(gradus.kmeans(wide, 30, quality_moves=timed.quality_moves, device="cpu")) == bits(timed)
    model = gradus.KMeans(30, random_state=0, quality_moves=10, device="cpu").fit(wide)
    assert model.inertia_ == moved.inertia
    with pytest.raises(gradus.UnsupportedError, match="quality_moves"):
        gradus.kmeans(wide, 30, quality_moves=10, balanced=True)
    with pytest.raises(gradus.UsageError, match="quality"):
        gradus.kmeans(wide, 30, quality_moves=10, quality=True)


@pytest.mark.parametrize("name", ["uint8", "int8", "float16", "bfloat16"])
def test_calls_on_points_of_8_and_16_bits(name):
    dtype = np.dtype(pytest.importorskip("ml_dtypes").bfloat16 if name == "bfloat16" else name)
    points = np.random.default_rng(4).integers(1, 100, (400, 12)).astype(dtype)
    wide = points.astype(np.float32)
    compare_stored(points, wide)
    compare_stored(points[:, 3:9], wide[:, 3:9], np.arange(400, dtype=np.float32) % 7)
    model = gradus.KMeansModel(wide[:5])
    large = np.tile(points, (500, 1))
    limit = 2 * large.size  # half of a copy in float32
    gradus.kmeans_predict(model, large, memory_limit=limit + 4 * len(large), device="cpu")
    gradus.kmeans_transform(model, large, out=np.empty((len(large), 5), np.float32), memory_limit=limit, device="cpu")
    with pytest.raises(gradus.OutOfMemoryError):
        gradus.kmeans_predict(model, large, memory_limit=limit, device="cpu", variant="sequential")


@pytest.mark.parametrize("name", ["uint8", "int8", "float16", "bfloat16"])
def test_points_of_8_and_16_bits_are_used_as_they_are(name):
    dtype = np.dtype(pytest.importorskip("ml_dtypes").bfloat16 if name == "bfloat16" else name)
    points = np.random.default_rng(3).integers(0, 100, (3000, 40)).astype(dtype)
    wide = points.astype(np.float32)
    weights = np.arange(3000, dtype=np.float32) % 7
    for rows, same in ((points, wide), (points[:, 3:30], wide[:, 3:30]), (np.asfortranarray(points), wide)):
        found = gradus.kmeans(rows, 20, weights=weights, device="cpu")
        expected = gradus.kmeans(np.ascontiguousarray(same), 20, weights=weights, device="cpu")
        assert found.centroids.dtype == np.float32
        assert found.centroids.tobytes() == expected.centroids.tobytes()
        assert found.labels.tobytes() == expected.labels.tobytes()
        assert found.inertia == expected.inertia
        first = gradus.kmeans_initial_centroids(rows, 20, device="cpu")
        assert (first.rows == gradus.kmeans_initial_centroids(same, 20, device="cpu").rows).all()
    estimate = {"dtype": dtype, "init": "random", "device": "cpu"}
    copied = gradus.kmeans_memory(300000, 40, 20, variant="sequential", **estimate)  # a variant that reads a copy in float32
    assert gradus.kmeans_memory(300000, 40, 20, **estimate).host < copied.host
    limit = gradus.kmeans_memory(3000, 40, 20, **estimate).host
    gradus.kmeans(points, 20, init="random", memory_limit=limit, device="cpu")


@pytest.mark.parametrize("name", ["uint8", "int8", "float16", "bfloat16"])
def test_tensors_of_8_and_16_bits_are_used_as_they_are(name):
    torch = pytest.importorskip("torch")
    points = torch.arange(6000).reshape(300, 20).remainder(101).to(getattr(torch, name))
    for rows in (points, points[:, 2:9], points.T.contiguous().T):
        found = gradus.kmeans(rows, 9, device="cpu")
        expected = gradus.kmeans(rows.float().contiguous(), 9, device="cpu")
        assert found.centroids.tobytes() == expected.centroids.tobytes()
        assert found.labels.tobytes() == expected.labels.tobytes()
    compare_stored(points + 1, (points + 1).float())


def test_halves_that_are_not_finite_are_refused():
    points = np.ones((500, 8), np.float16)
    points[77, 5] = np.inf
    with pytest.raises(gradus.InputError, match="row 77, column 5"):
        gradus.kmeans(points, 1, device="cpu")
