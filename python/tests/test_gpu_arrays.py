"""Arrays on a GPU. Inputs are read in place, and results are arrays of the same library on the same GPU.

Tests that need a GPU or another library are skipped if it is missing. The remaining tests run on every machine. They
use host arrays that claim to be on a GPU (class Said), and test the decisions of the Python layer.
"""

import hashlib
import json
import pickle
import threading
import time
from inspect import signature

import gradus
import numpy as np
import pytest
from conftest import accepting_coinciding_points
from gradus import _arrays, _core, _gpu

WHY_NO_GPU = gradus.info()["why_no_gpu"]
LIBRARIES = ("torch", "cupy", "jax")


def need_gpu(name):
    if WHY_NO_GPU:
        pytest.skip(WHY_NO_GPU)
    return pytest.importorskip(name)


class Torch:
    def __init__(self):
        self.torch = need_gpu("torch")

    def there(self, host):
        return self.torch.from_numpy(np.ascontiguousarray(host)).cuda()

    def here(self, array):
        assert isinstance(array, self.torch.Tensor) and array.device.type == "cuda"
        return array.cpu().numpy()

    def address(self, array):
        return array.data_ptr()


class CuPy:
    def __init__(self):
        self.cupy = need_gpu("cupy")

    def there(self, host):
        return self.cupy.asarray(host)

    def here(self, array):
        assert isinstance(array, self.cupy.ndarray)
        return array.get()

    def address(self, array):
        return array.data.ptr


class Jax:
    def __init__(self):
        self.jax = need_gpu("jax")
        self.jax.config.update("jax_enable_x64", True)
        if self.jax.default_backend() != "gpu":
            pytest.skip("JAX sees no GPU")

    def there(self, host):
        return self.jax.device_put(host, self.jax.devices("gpu")[0])

    def here(self, array):
        assert isinstance(array, self.jax.Array) and next(iter(array.devices())).platform == "gpu"
        return np.asarray(array)

    def address(self, array):
        return array.unsafe_buffer_pointer()


MAKE = {"torch": Torch, "cupy": CuPy, "jax": Jax}


@pytest.fixture(params=LIBRARIES)
def library(request):
    return MAKE[request.param]()


@pytest.fixture
def torch():
    return need_gpu("torch")


def test_an_array_for_each_gpu(library, points):
    """The arrays of a list are used in place, and the labels of each array are on the GPU of the array."""
    one = gradus.kmeans(points, 7, device="cpu")
    parts = [library.there(points[:700]), library.there(points[700:])]
    for gpus in (None, [0, 0]):
        found = gradus.kmeans(parts, 7, gpus=gpus)
        assert np.concatenate([library.here(labels) for labels in found.labels]).tobytes() == one.labels.tobytes()
        assert library.here(found.centroids).tobytes() == one.centroids.tobytes()
    with pytest.raises(gradus.UsageError, match="some are in host memory"):
        gradus.kmeans([parts[0], points[700:]], 7)
    mixed = gradus.kmeans([parts[0], points[700:]], 7, gpus=[0, 0])
    assert isinstance(mixed.labels[1], np.ndarray) and (mixed.counts == one.counts).all()


def bits(labels, centroids, inertia):
    parts = [labels.tobytes(), centroids.tobytes(), np.float64(inertia).tobytes()]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def problems():
    random = np.random.default_rng(5)

    def points(rows, columns, dtype=np.float32):
        middle = random.normal(size=(1, columns)) * random.integers(0, 9, (rows, 1))
        return (middle + random.normal(size=(rows, columns))).astype(dtype)

    small = points(2000, 3)
    repeated = np.repeat(points(4, 3), 50, axis=0)
    return {
        "small": (small, 5, {}),
        "double": (points(3000, 8, np.float64), 7, {"seed": 3}),
        "cosine": (points(1500, 5), 6, {"metric": "cosine"}),
        "weights": (points(2500, 4), 5, {"weights": random.random(2500).astype(np.float32)}),
        "weights, double": (points(1000, 4, np.float64), 4, {"weights": random.integers(0, 3, 1000).astype(float)}),
        "k-means||": (points(5000, 6), 20, {"init": "k-means||", "seed": 9}),
        "restarts": (small, 9, {"init": "random", "restarts": 3}),
        "given": (small, 4, {"init": small[10:14].copy(), "tolerance": 0.0}),
        "many columns": (points(800, 200), 10, {"init": "first"}),
        "rows apart": (points(2000, 8)[:, 1:6], 6, {}),
        "half": (points(2000, 16, np.float16), 8, {}),
        "fewer distinct": (repeated, 6, accepting_coinciding_points()),
    }


PROBLEMS = problems()


def sources():
    yield "NumPy", lambda points, folder: points, lambda array: array

    def mapped(points, folder):
        base = points.base if points.base is not None and points.base.ndim == 2 else points
        np.save(folder / "points.npy", base)
        whole = np.load(folder / "points.npy", mmap_mode="r")
        return whole if base is points else whole[:, 1:6]

    yield "a memory map", mapped, lambda array: array
    yield "a data frame", lambda points, folder: pytest.importorskip("pandas").DataFrame(points), lambda array: array
    yield "a tensor in host memory", lambda points, folder: pytest.importorskip("torch").from_numpy(points), np.asarray


@pytest.mark.parametrize("name", PROBLEMS)
def test_same_bits_from_every_library(name, tmp_path):
    """Labels, centroids and inertia have the same bits for arrays of every library."""
    points, clusters, options = PROBLEMS[name]
    expected = gradus.kmeans(points, clusters, **options)
    wanted = bits(expected.labels, expected.centroids, expected.inertia)
    for source, make, back in sources():
        try:
            array = make(points, tmp_path)
        except pytest.skip.Exception:
            continue
        found = gradus.kmeans(array, clusters, **options)
        assert bits(back(found.labels), back(found.centroids), found.inertia) == wanted, source


@pytest.mark.parametrize("name", PROBLEMS)
def test_same_bits_on_a_gpu(name, library):
    points, clusters, options = PROBLEMS[name]
    expected = gradus.kmeans(points, clusters, device="cpu", **options)
    array = library.there(points)
    if name == "rows apart" and not isinstance(library, Jax):  # JAX arrays are always contiguous
        array = library.there(points.base)[:, 1:6]
        assert not _arrays.matrix(array, "points").is_c_contiguous()
    there = {key: library.there(value) if isinstance(value, np.ndarray) else value for key, value in options.items()}
    for chosen in (options, there):
        found = gradus.kmeans(array, clusters, **chosen)
        labels, centroids = library.here(found.labels), library.here(found.centroids)
        assert labels.dtype == np.int32 and centroids.dtype == expected.centroids.dtype
        assert bits(labels, centroids, found.inertia) == bits(expected.labels, expected.centroids, expected.inertia)
        assert (found.counts == expected.counts).all() and "NVIDIA" in found.report.device

    metric = options.get("metric", "euclidean")
    # the centroids of the fit on the CPU, and then of the fit on the GPU
    for means in (expected.centroids, found.centroids):
        labels, inertia = gradus.kmeans_predict(
            means, array, weights=there.get("weights"), metric=metric, return_inertia=True
        )
        assert (library.here(labels) == expected.labels).all() and inertia == expected.inertia
        distances = library.here(gradus.kmeans_transform(means, array, metric=metric))
        usual = gradus.kmeans_transform(expected.centroids, points, metric=metric, device="cpu")
        assert distances.tobytes() == usual.tobytes() and distances.dtype == usual.dtype
        # The points are in host memory, but the centroids may be on the GPU.
        there_too = gradus.kmeans_predict(means, points, metric=metric)
        assert isinstance(there_too, np.ndarray) and (there_too == expected.labels).all()

    first = {key: options[key] for key in signature(gradus.kmeans_initial_centroids).parameters if key in options}
    usual, chosen = (gradus.kmeans_initial_centroids(rows, clusters, **first) for rows in (points, array))
    assert library.here(chosen.centroids).tobytes() == usual.centroids.tobytes()
    assert (library.here(chosen.rows) == usual.rows).all()
    assert pickle.loads(pickle.dumps(found)).inertia == found.inertia


def test_used_where_they_lie(library):
    points = np.random.default_rng(0).random((100, 8), np.float32)
    for host in (points, points.astype(np.float64)):
        array = library.there(host)
        taken = _arrays.matrix(array, "points")
        assert taken.address == library.address(array) and taken.shape == (100, 8) and taken.strides == (8, 1)
        assert _core.array_facts(taken)[:3] == (taken.address, taken.shape, taken.strides)
        if isinstance(library, Jax):
            continue
        part = array[::2, 1:4]
        taken = _arrays.matrix(part, "points")
        assert taken.address == library.address(part) and taken.strides == (16, 1)
        for copied in (array.T, part.T):
            assert _arrays.matrix(copied, "points").address != library.address(copied)
            host_side = np.ascontiguousarray(library.here(copied))
            assert library.here(gradus.kmeans(copied, 3).labels).tolist() == gradus.kmeans(host_side, 3).labels.tolist()


def test_types_on_a_gpu(library):
    values = np.clip(np.rint(np.random.default_rng(1).normal(size=(600, 4)) * 40), -120, 120)
    expected = {dtype: gradus.kmeans(values.astype(dtype), 4) for dtype in (np.float32, np.float64)}
    rows = [("int8", "f4"), ("uint8", "f4"), ("float16", "f4"), ("int16", "f4"), ("int32", "f8"), ("int64", "f8")]
    for dtype, taken in rows:
        source = np.abs(values) if dtype == "uint8" else values
        usual = gradus.kmeans(source.astype(dtype), 4)
        found = gradus.kmeans(library.there(source.astype(dtype)), 4)
        assert found.centroids.dtype == library.there(np.zeros(1, taken)).dtype, dtype
        assert bits(library.here(found.labels), library.here(found.centroids), found.inertia) == bits(
            usual.labels, usual.centroids, usual.inertia
        ), dtype
    assert expected[np.float32].centroids.dtype == np.float32


def test_nothing_is_rounded_on_a_gpu(library):
    points = library.there(np.float32([[1], [2], [4], [8]]))
    whole = np.array([[1], [2], [2**53 + 1], [8]])
    tenth = np.array([1, 2, 0.1, 8])
    for call, says in (
        (lambda: gradus.kmeans(library.there(whole), 2), "points: .*row 2, column 0.*9007199254740993"),
        (lambda: gradus.KMeans(2).fit(library.there(whole)), "X: .*row 2, column 0.*9007199254740993"),
        (lambda: gradus.kmeans(points, 2, weights=library.there(tenth)), "weights: .*place 2 .*0.1, which is not exactly a float32"),
        (lambda: gradus.kmeans(points, 2, weights=library.there(whole[:, 0])), "weights: .*float32"),
        (lambda: gradus.kmeans_predict(library.there(tenth[:, None]), points), "centroids: .*row 2, column 0"),
        (lambda: gradus.pair_histogram(points, others=library.there(tenth[:, None]), bin_width=1, bins=2), "others: .*0.1"),
    ):
        with pytest.raises(gradus.InputError, match=says):
            call()
    assert gradus.kmeans(points, 2, weights=library.there(np.array([1, 2, 0.5, 8]))).iterations > 0
    assert gradus.kmeans(library.there(whole - 1), 2).iterations > 0


def test_bfloat16(torch):
    values = torch.randn(700, 12).to(torch.bfloat16)
    expected = gradus.kmeans(values.float().numpy(), 5)
    for source in (values, values.cuda()):  # bfloat16 is converted to float32 exactly
        found = gradus.kmeans(source, 5)
        assert bits(np.asarray(_on_host(found.labels)), np.asarray(_on_host(found.centroids)), found.inertia) == bits(
            expected.labels, expected.centroids, expected.inertia
        )


def _on_host(array):
    return array if isinstance(array, np.ndarray) else array.cpu()


def test_memory_of_the_caller(library):
    points = np.random.default_rng(2).random((300, 4), np.float32)
    array, means = library.there(points), points[:5].copy()
    expected = gradus.kmeans_predict(means, points)
    if isinstance(library, Jax):
        with pytest.raises(gradus.UsageError, match="out: the array is read-only"):
            gradus.kmeans_predict(means, array, out=library.there(np.zeros(300, np.int32)))
        return
    labels = library.there(np.zeros(300, np.int32))
    assert gradus.kmeans_predict(means, array, out=labels) is labels
    assert (library.here(labels) == expected).all()
    distances = library.there(np.zeros((300, 5), np.float32))
    assert gradus.kmeans_transform(means, array, out=distances) is distances
    assert library.here(distances).tobytes() == gradus.kmeans_transform(means, points).tobytes()
    wrong = [
        (np.zeros(300, np.int32), "out: the array is in host memory, but the input on GPU 0"),
        (library.there(np.zeros(299, np.int32)), r"out: int32 of the shape \(299,\); int32 of the shape \(300,\)"),
        (library.there(np.zeros(300, np.int64)), "out: int64"),
        (library.there(np.zeros(600, np.int32))[::2], "are not contiguous"),
    ]
    for out, text in wrong:
        with pytest.raises(gradus.UsageError, match=text):
            gradus.kmeans_predict(means, array, out=out)
    with pytest.raises(gradus.UsageError, match="out: the array is on GPU 0, but the input in host memory"):
        gradus.kmeans_predict(means, points, out=labels)
    with pytest.raises(gradus.UsageError, match="overlap"):
        gradus.kmeans_transform(array[:4], array, out=array)


def test_bad_input_on_a_gpu(library):
    points = np.random.default_rng(3).random((50, 3), np.float32)
    array = library.there(points)
    points[17, 2] = np.nan
    for call in (
        lambda: gradus.kmeans(library.there(points), 3),
        lambda: gradus.kmeans_predict(points[:3], library.there(points)),
        lambda: gradus.KMeans(3).fit(library.there(points)),
    ):
        with pytest.raises(gradus.InputError, match=r"17.*2"):
            call()
    with pytest.raises(gradus.UsageError, match=r"points: an array of the shape \(3,\); two dimensions"):
        gradus.kmeans(array[0], 3)
    with pytest.raises(gradus.InputError, match="complex64; real numbers are needed"):
        gradus.kmeans(library.there(np.zeros((5, 2), np.complex64)), 2)
    with pytest.raises(gradus.InputError, match="49 weights for 50 points"):
        gradus.kmeans(array, 3, weights=array[1:, 0])
    with pytest.raises(gradus.UsageError, match="weights: the array is on GPU 0, but points in host memory"):
        gradus.kmeans(np.ones((50, 3), np.float32), 3, weights=array[:, 0])
    with pytest.raises(gradus.UnsupportedError, match="are on GPU 0, but the CPU was asked for"):
        gradus.kmeans(array, 3, device="cpu")
    words = {"Torch": r"a\.cpu\(\)", "CuPy": r"a\.get\(\)", "Jax": r"numpy\.asarray\(a\)"}[type(library).__name__]
    with pytest.raises(gradus.UnsupportedError, match=f"a: the array is on a GPU, .* pass {words}"):
        gradus.matmul(array, array.T)


def test_gradients(torch):
    with pytest.raises(gradus.UsageError, match=r"points\.detach\(\)"):
        gradus.kmeans(torch.zeros(9, 2, device="cuda", requires_grad=True), 2)
    with pytest.raises(gradus.UsageError, match=r"X\.detach\(\)"):
        gradus.KMeans(2).fit(torch.zeros(9, 2, device="cuda", requires_grad=True))


def test_gradients_in_host_memory():
    torch = pytest.importorskip("torch")
    with pytest.raises(gradus.UsageError, match=r"points\.detach\(\)"):
        gradus.kmeans(torch.zeros(9, 2, requires_grad=True), 2)


def test_pairs_on_a_gpu(library):
    random = np.random.default_rng(4)
    points, others = random.random((900, 3)), random.random((400, 3))
    weights = random.integers(1, 4, 900).astype(float)
    expected = gradus.pair_histogram(points, others=others, bin_width=0.05, cutoff=0.5, device="cpu")
    assert expected.counts.sum() > 0
    for first in (points, library.there(points)):
        for second in (others, library.there(others)):
            found = gradus.pair_histogram(first, others=second, bin_width=0.05, cutoff=0.5)
            assert (found.counts == expected.counts).all() and isinstance(found.counts, np.ndarray)
    usual = gradus.pair_histogram(points, weights=weights, bin_width=0.05, cutoff=0.5, device="cpu")
    found = gradus.pair_histogram(library.there(points), weights=library.there(weights), bin_width=0.05, cutoff=0.5)
    assert (found.counts == usual.counts).all() and found.weighted.tobytes() == usual.weighted.tobytes()


class OnlyInterface:
    """Imitates an array of an unknown library without DLPack."""

    def __init__(self, array, **other):
        self._array = array
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **other}

    def copy_to_host(self):
        return self._array.get()


def test_the_interface_of_cuda_arrays():
    cupy = need_gpu("cupy")
    points = np.random.default_rng(5).random((500, 6), np.float32)
    expected = gradus.kmeans(points[:, :4], 5, device="cpu")
    wide = cupy.asarray(points)
    stream = cupy.cuda.Stream(non_blocking=True)
    for other in ({}, {"stream": None}, {"stream": 1}, {"stream": stream.ptr}):
        found = gradus.kmeans(OnlyInterface(wide[:, :4], **other), 5)
        assert isinstance(found.labels, np.ndarray), "results of an unknown library come out in host memory"
        assert bits(found.labels, found.centroids, found.inertia) == bits(
            expected.labels, expected.centroids, expected.inertia
        )
    assert (gradus.KMeans(5, random_state=0).fit(OnlyInterface(wide[:, :4])).labels_ == expected.labels).all()
    with pytest.raises(gradus.UnsupportedError, match="points: .*OnlyInterface.* is not converted here; float32"):
        gradus.kmeans(OnlyInterface(wide.T), 2)
    nowhere = {**wide.__cuda_array_interface__, "data": (points.ctypes.data, False)}
    with pytest.raises(gradus.UsageError, match="not memory of a GPU"):
        gradus.kmeans(OnlyInterface(wide, **nowhere), 2)


# --- gradus.KMeans ----------------------------------------------------------------------------------------------------


def test_estimator(library):
    points = np.random.default_rng(6).random((1200, 5), np.float32)
    weights = np.random.default_rng(7).random(1200, np.float32)
    array = library.there(points)
    usual = gradus.KMeans(6, random_state=1, device="cpu").fit(points)
    model = gradus.KMeans(6, random_state=1).fit(array)
    assert library.here(model.cluster_centers_).tobytes() == usual.cluster_centers_.tobytes()
    assert library.here(model.labels_).tobytes() == usual.labels_.tobytes()
    assert (model.inertia_, model.n_iter_, model.n_features_in_) == (usual.inertia_, usual.n_iter_, 5)
    assert (library.here(model.predict(array)) == usual.labels_).all()
    assert library.here(model.transform(array)).tobytes() == usual.transform(points).tobytes()
    assert library.here(model.fit_transform(array)).tobytes() == usual.transform(points).tobytes()
    assert (library.here(model.fit_predict(array)) == usual.labels_).all()
    assert model.score(array) == usual.score(points)
    usual.set_params(device="auto")
    # Each model gets rows in the memory that it was not fitted in: rows on the GPU after a fit in host memory, and the
    # reverse.
    for fitted, rows in ((usual, array), (model, points)):
        labels = fitted.predict(rows)
        assert ((library.here(labels) if rows is array else labels) == usual.labels_).all()
        distances = fitted.transform(rows)
        assert isinstance(distances, np.ndarray) == (rows is points)
    weighed = gradus.KMeans(6, random_state=1, device="cpu").fit(points, sample_weight=weights)
    for weight in (weights, library.there(weights), library.there(weights.astype(np.float64))):
        again = gradus.KMeans(6, random_state=1).fit(array, sample_weight=weight)
        assert (library.here(again.labels_) == weighed.labels_).all() and again.inertia_ == weighed.inertia_
    twice = (gradus.KMeans(6, random_state=1).fit(rows, sample_weight=2.0).inertia_ for rows in (points, array))
    assert next(twice) == next(twice)
    again = gradus.KMeans(6, random_state=1, device="cpu").fit(points, sample_weight=library.there(weights))
    assert again.inertia_ == weighed.inertia_
    with pytest.raises(ValueError, match="X has 4 features, but KMeans is expecting 5 features"):
        model.predict(array[:, :4])
    with pytest.raises(ValueError, match="n_samples=5 should be >= n_clusters=6"):
        gradus.KMeans(6).fit(array[:5])


def test_standardize_and_choose(library):
    points = np.random.default_rng(6).random((1200, 5), np.float32) * np.float32([1, 10, 100, 1, 1])
    array = library.there(points)
    fit = gradus.kmeans(array, 6, standardize=True, seed=1)
    usual = gradus.kmeans(points, 6, standardize=True, seed=1, device="cpu")
    assert library.here(fit.centroids).tobytes() == usual.centroids.tobytes()
    assert library.here(fit.standardized_centroids).tobytes() == usual.standardized_centroids.tobytes()
    assert (library.here(gradus.kmeans_predict(fit, array)) == usual.labels).all()
    choice = gradus.choose_clusters(array, [2, 4, 6], standardize=True, seed=1)
    expected = gradus.choose_clusters(points, [2, 4, 6], standardize=True, seed=1, device="cpu")
    assert choice.recommended == expected.recommended
    assert (library.here(choice.result.labels) == expected.result.labels).all()
    model = gradus.KMeans(6, standardize=True, random_state=1).fit(array)
    assert (library.here(model.predict(array)) == usual.labels).all()


def test_starts_of_an_estimator_on_a_gpu(library, capsys):
    points = np.random.default_rng(8).random((400, 3), np.float32)
    array = library.there(points)
    usual = gradus.KMeans(4, init=points[:4]).fit(points)
    seen = []

    def start(rows, clusters, random_state):
        seen.append(type(rows))
        return rows[:clusters]

    for init in (points[:4], array[:4], start):
        model = gradus.KMeans(4, init=init, n_init=1, verbose=1).fit(array)
        assert (library.here(model.labels_) == usual.labels_).all()
    assert seen == [type(array)]
    assert "Initialization complete" in capsys.readouterr().out
    centers, labels, inertia = gradus.k_means(array, 4, init=points[:4])
    assert (library.here(labels) == usual.labels_).all() and inertia == usual.inertia_
    chosen, rows = gradus.kmeans_plusplus(array, 4, random_state=0)
    assert library.here(chosen).tobytes() == points[library.here(rows)].tobytes()
    assert (library.here(rows) == gradus.kmeans_plusplus(points, 4, random_state=0)[1]).all()
    whole = np.rint(points * 9).astype(np.int32)
    usual = gradus.KMeans(4, random_state=0).fit(whole)
    model = gradus.KMeans(4, random_state=0).fit(library.there(whole))  # computed in float64, as in host memory
    assert library.here(model.cluster_centers_).dtype == np.float64 and model.inertia_ == usual.inertia_
    mixed = gradus.KMeans(4, random_state=0).fit(library.there(points)).predict(library.there(points.astype(np.float64)))
    assert library.here(mixed).shape == (400,)


# --- streams ----------------------------------------------------------------------------------------------------------


def test_a_stream_behind_a_long_kernel(torch):
    """The tensor is written only after a delay. If the call receives the stream of the tensor, the labels are correct.
    Without the stream, at least one call reads the tensor too early and returns incorrect labels."""
    random = np.random.default_rng(9)
    points = random.random((5000, 8), np.float32)
    means = points[:16].copy()
    expected = gradus.kmeans_predict(means, points)
    good = torch.from_numpy(points).cuda()
    bad = torch.from_numpy(points[::-1].copy()).cuda()
    rows = bad.clone()
    side = torch.cuda.Stream()
    torch.cuda.synchronize()

    def right(**stream):
        rows.copy_(bad)
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            torch.cuda._sleep(20_000_000)  # occupies the GPU for this number of clock cycles, about 10 ms
            rows.copy_(good)
        labels = gradus.kmeans_predict(means, rows, **stream).cpu().numpy()
        torch.cuda.synchronize()
        return (labels == expected).all()

    gradus.kmeans_predict(means, rows)
    assert sum(right(stream=side) for _ in range(200)) == 200
    assert sum(right(stream=side.cuda_stream) for _ in range(10)) == 10
    assert not all(right() for _ in range(20)), "the control saw the rows as they became: it shows nothing"
    with torch.cuda.stream(side):  # the library receives PyTorch's current stream
        torch.cuda._sleep(20_000_000)
        rows.copy_(good)
        labels = gradus.kmeans_predict(means, rows)
    torch.cuda.synchronize()
    assert (labels.cpu().numpy() == expected).all()


def test_streams_and_conversion(torch):
    """Half-precision rows are converted in the stream that writes them."""
    points = np.random.default_rng(10).random((3000, 8), np.float32).astype(np.float16)
    means = points[:8].astype(np.float32)
    expected = gradus.kmeans_predict(means, points)
    good, side = torch.from_numpy(points).cuda(), torch.cuda.Stream()
    for _ in range(20):
        rows = torch.zeros_like(good)
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            torch.cuda._sleep(20_000_000)
            rows.copy_(good)
        assert (gradus.kmeans_predict(means, rows, stream=side).cpu().numpy() == expected).all()


def test_a_stream_of_cupy():
    cupy = need_gpu("cupy")
    points = np.random.default_rng(11).random((5000, 8), np.float32)
    means = points[:16].copy()
    expected = gradus.kmeans_predict(means, points)
    good, side = cupy.asarray(points), cupy.cuda.Stream(non_blocking=True)
    wide = cupy.ones((4096, 4096), cupy.float32)
    rows = cupy.zeros_like(good)
    wide @ wide
    cupy.cuda.Device().synchronize()
    for _ in range(20):
        rows[...] = 0
        cupy.cuda.Device().synchronize()
        with side:
            for _ in range(4):
                wide @ wide
            rows[...] = good
        assert (gradus.kmeans_predict(means, rows, stream=side).get() == expected).all()


def test_numbers_of_streams():
    from gradus._options import stream_number

    class Stream:
        def __init__(self, **facts):
            self.__dict__.update(facts)

    class Other:
        def __cuda_stream__(self):
            return 0, 33

    assert [stream_number(stream) for stream in (None, 0, 1, 77)] == [None, 1, 1, 77]
    assert stream_number(Stream(cuda_stream=0)) == 1 and stream_number(Stream(cuda_stream=9)) == 9
    assert stream_number(Stream(ptr=5)) == 5 and stream_number(Other()) == 33
    for wrong in (-1, True, "side", 1.0, object()):
        with pytest.raises(gradus.UsageError, match="stream: .*; a stream of PyTorch or CuPy is needed"):
            gradus.kmeans([[1.0], [2.0]], 1, stream=wrong)


# --- nothing is copied ------------------------------------------------------------------------------------------------


def copied_bytes(torch, work, folder):
    """Runs the work. Returns the bytes that the process copies between host and GPU in this time, as the profiler
    reports them."""
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as seen:
        work()
        torch.cuda.synchronize()
    seen.export_chrome_trace(str(folder / "trace.json"))
    events = json.loads((folder / "trace.json").read_text())["traceEvents"]
    copies = [event for event in events if event.get("cat") == "gpu_memcpy"]
    return sum(copy["args"]["bytes"] for copy in copies if "HtoD" in copy["name"] or "DtoH" in copy["name"])


def test_nothing_is_copied(torch, tmp_path, record_property):
    rows, columns, clusters = 4_000_000, 16, 32
    points = torch.rand(rows, columns, device="cuda")
    size = points.numel() * 4
    small = points[:5000].clone()
    gradus.kmeans(small, clusters, max_iterations=3)
    gradus.kmeans_transform(small[:clusters], small)
    host = points.cpu().numpy()
    # Checks that the profiler sees copies of the points, so that its silence in the other calls means something.
    control = copied_bytes(torch, lambda: gradus.kmeans(host, clusters, max_iterations=2, device="gpu"), tmp_path)
    assert control >= size, "the profiler does not see the copies of the library"
    del host
    torch.cuda.synchronize()

    estimate = gradus.kmeans_memory(rows, columns, clusters, gpu=0).device
    free, lowest, done = torch.cuda.mem_get_info()[0], [], threading.Event()

    def watch():
        while not done.is_set():
            lowest.append(torch.cuda.mem_get_info()[0])
            time.sleep(0.0005)

    watcher = threading.Thread(target=watch)
    watcher.start()
    found = gradus.kmeans(points, clusters, max_iterations=100, tolerance=0)
    done.set()
    watcher.join()
    grown = free - min(lowest)
    record_property("estimate", estimate)
    record_property("grown", grown)
    labels = 4 * rows
    print(f"\ndevice memory: {grown} bytes more, of which labels {labels}; estimate {estimate}; {len(lowest)} looks")
    assert grown <= estimate + labels + (4 << 20)

    for what, work in {
        "kmeans": lambda: gradus.kmeans(points, clusters, max_iterations=10),
        "KMeans": lambda: gradus.KMeans(clusters, max_iter=10, random_state=0).fit(points),
        "predict": lambda: gradus.kmeans_predict(found.centroids, points),
        "transform": lambda: gradus.kmeans_transform(found.centroids[:4], points),
    }.items():
        copied = copied_bytes(torch, work, tmp_path)
        print(f"{what}: {copied} of {size} bytes copied between host and GPU ({copied / size:.3%}); control {control}")
        assert copied <= size / 100, what


# --- two GPUs ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def second(torch):
    if torch.cuda.device_count() < 2:
        pytest.skip("there is no second GPU")
    return torch.device("cuda", 1)


def test_the_second_gpu(torch, second):
    points = np.random.default_rng(12).random((2000, 4), np.float32)
    expected = gradus.kmeans(points, 5, device="cpu")
    there = torch.from_numpy(points).to(second)
    found = gradus.kmeans(there, 5)
    assert found.labels.device == found.centroids.device == second
    assert bits(found.labels.cpu().numpy(), found.centroids.cpu().numpy(), found.inertia) == bits(
        expected.labels, expected.centroids, expected.inertia
    )
    model = gradus.KMeans(5, random_state=0).fit(there)
    assert model.cluster_centers_.device == model.predict(there).device == second
    assert model.predict(there.to("cuda:0")).device == torch.device("cuda", 0)
    first = torch.from_numpy(points).to("cuda:0")
    with pytest.raises(gradus.UsageError, match="weights: the array is on GPU 0, but points on GPU 1"):
        gradus.kmeans(there, 5, weights=first[:, 0])
    with pytest.raises(gradus.UsageError, match="GPU 1"):
        gradus.kmeans(there, 5, device="gpu:0")


# --- without a GPU: arrays that claim to be on a GPU ---------------------------------------------------------------------


class Said:
    """An array in host memory that reports a GPU as its device. The tests read only its description, never its
    elements."""

    CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}  # DLPack's type codes

    def __init__(self, array, gpu=0):
        self._array, self._gpu, self.streams = array, gpu, []

    def __dlpack_device__(self):
        return 2, self._gpu

    def __dlpack__(self, *, stream=None):
        self.streams.append(stream)
        array = self._array
        steps = [step // array.itemsize for step in array.strides]
        code, bits_ = self.CODES[array.dtype.kind], 8 * array.itemsize
        return _core.hold_memory(array.ctypes.data, list(array.shape), steps, code, bits_, self._gpu, array).__dlpack__()


@pytest.fixture
def said(monkeypatch):
    monkeypatch.setattr(_core, "why_no_gpu", lambda: "")
    return Said


ROWS = np.arange(24, dtype=np.float32).reshape(6, 4)
LABELS = np.zeros(6, np.int32)


@pytest.mark.skipif(not WHY_NO_GPU, reason="there is a GPU")
def test_a_machine_without_a_gpu():
    for call in (
        lambda: gradus.kmeans(Said(ROWS), 2),
        lambda: gradus.kmeans_predict(ROWS[:2], Said(ROWS)),
        lambda: gradus.kmeans_transform(ROWS[:2], Said(ROWS)),
        lambda: gradus.kmeans_initial_centroids(Said(ROWS), 2),
        lambda: gradus.pair_histogram(Said(ROWS), bin_width=1, cutoff=4),
        lambda: gradus.KMeans(2).fit(Said(ROWS)),
    ):
        with pytest.raises(gradus.UnsupportedError) as caught:
            call()
        assert WHY_NO_GPU in str(caught.value) and "on a GPU" in str(caught.value)


def test_where_arrays_must_lie(said):
    ones = np.ones(6, np.float32)
    wrong = [
        (lambda: gradus.kmeans(said(ROWS), 2, weights=said(ones, 1)), "weights: .* on GPU 1, but points on GPU 0"),
        (lambda: gradus.kmeans(ROWS, 2, weights=said(ones)), "weights: .* on GPU 0, but points in host memory"),
        (lambda: gradus.kmeans(said(ROWS), 2, init=said(ROWS[:2], 1)), "init: .* on GPU 1, but points on GPU 0"),
        (lambda: gradus.kmeans_predict(said(ROWS[:2], 1), said(ROWS)), "centroids: .* GPU 1, but points on GPU 0"),
        (lambda: gradus.kmeans_transform(said(ROWS[:2], 1), said(ROWS)), "centroids: .* GPU 1, but points on GPU 0"),
        (lambda: gradus.kmeans_predict(ROWS[:2], said(ROWS), out=LABELS), "out: .* in host memory, but .* on GPU 0"),
        (lambda: gradus.kmeans_predict(ROWS[:2], ROWS, out=said(LABELS)), "out: .* on GPU 0, but .* in host memory"),
        (lambda: gradus.kmeans_predict(ROWS[:2], said(ROWS), out=said(LABELS, 1)), "out: .* GPU 1, but .* on GPU 0"),
        (lambda: gradus.pair_histogram(said(ROWS), others=said(ROWS, 1), bin_width=1), "others: .* but points on GPU 0"),
    ]
    for call, text in wrong:
        with pytest.raises(gradus.UsageError, match=text):
            call()


def test_what_is_taken_in_place(said):
    for array in (ROWS, ROWS[:, :2], ROWS[::2], ROWS[:, :1], ROWS.astype(np.float64)):
        taken = _arrays.matrix(said(array), "points")
        assert taken.address == array.ctypes.data and taken.shape == array.shape and taken.dtype == array.dtype
    for array in (ROWS.T, ROWS[:, ::2], ROWS[::-1], ROWS.astype(np.float16), ROWS.astype(np.int32)):
        with pytest.raises(gradus.UnsupportedError, match="points: .*Said.* is not converted here"):
            _arrays.matrix(said(array), "points")
    with pytest.raises(gradus.InputError, match="points: the elements are of the type complex64"):
        _arrays.matrix(said(ROWS.astype(np.complex64)), "points")
    for dimensions, array in ((1, ROWS[0]), (3, ROWS.reshape(2, 3, 4))):
        with pytest.raises(gradus.UsageError, match="points: an array of the shape .* two dimensions"):
            _arrays.matrix(said(array), "points")


def test_what_a_library_converts_is_compared_in_host_memory(said, monkeypatch):
    monkeypatch.setattr(_gpu.Library, "converted", lambda _, source, dtype: said(source._array.astype(dtype)))
    monkeypatch.setattr(_gpu.Library, "to_host", lambda _, source: source._array)
    float32, float64 = np.dtype(np.float32), np.dtype(np.float64)
    whole = np.array([[1], [2], [2**53 + 1], [8]])
    for array, dtype, refused in (
        (whole, None, True), (whole - 1, None, False), (whole.astype(np.uint64), None, True), (whole.astype(np.int8), None, False),
        (whole.astype(np.float64), float32, False), (np.array([[0.1]]), float32, True), (np.array([[np.nan]]), float32, False),
        (np.array([[2**24 + 1]], np.int32), float32, True), (np.array([[2**24 + 1]], np.int32), float64, False),
        (np.array([[0.1]], np.float32), float64, False),
    ):  # fmt: skip
        if refused:
            with pytest.raises(gradus.InputError, match="points: the value in row ., column 0 .counted from 0. is .*not exactly"):
                _arrays.matrix(said(array), "points", dtype)
        else:
            assert _arrays.matrix(said(array), "points", dtype).dtype == (dtype or np.promote_types(array.dtype, float32))


def test_the_limit_of_memory_counts_distances_on_a_gpu(said):
    with pytest.raises(gradus.OutOfMemoryError, match="the result takes 48 bytes, but the memory limit allows only 48"):
        gradus.kmeans_transform(said(ROWS[:2]), said(ROWS), memory_limit=48)


def test_the_producer_is_told_the_stream(said):
    for stream, told in ((None, 1), (0, 1), (1, 1), (77, 77)):
        from gradus._options import stream_number

        source = said(ROWS)
        _arrays.matrix(source, "points", None, stream_number(stream))
        assert source.streams == [told]


def test_other_functions_name_the_way_out(said):
    for call, what in (
        (lambda: gradus.matmul(said(ROWS), ROWS.T), "a"),
        (lambda: gradus.life(said(LABELS.reshape(2, 3)), 1), "cells"),
        (lambda: gradus.shortest_paths(said(ROWS[:4])), "graph"),
    ):
        with pytest.raises(gradus.UnsupportedError, match=rf"{what}: the array is on a GPU.*pass {what}\.copy_to_host"):
            call()


def test_facts_of_host_arrays():
    """Checks that the library receives the address of the caller's array. If so, no copy was made."""
    wide = np.zeros((10, 8), np.float64)
    for array in (wide, wide[:, 2:7], wide[::2]):
        taken = _arrays.matrix(array, "points")
        address, shape, strides, code, bits_, device, number = _core.array_facts(taken)
        assert (address, shape, (code, bits_), (device, number)) == (array.ctypes.data, array.shape, (2, 64), (1, 0))
        assert strides == tuple(step // 8 for step in array.strides)


def test_tensors_in_host_memory_are_not_copied():
    torch = pytest.importorskip("torch")
    tensor = torch.rand(100, 8)
    for source in (tensor, tensor[:, 1:5], tensor[::2]):
        assert _core.array_facts(_arrays.matrix(source, "points"))[0] == source.data_ptr()
    result = gradus.kmeans(tensor, 3)
    assert isinstance(result.labels, np.ndarray) and isinstance(result.centroids, np.ndarray)
    half = tensor.to(torch.bfloat16)
    assert gradus.kmeans(half, 3).inertia == gradus.kmeans(half.float(), 3).inertia
    model = gradus.KMeans(3, random_state=0).fit(tensor)
    assert isinstance(model.labels_, np.ndarray) and (model.labels_ == result.labels).all()


def test_batches(library, points):
    host = np.ascontiguousarray(points[: len(points) // 3 * 3, :4].astype("f4").reshape(3, -1, 4))
    for array in (host, host[::-1, ::2], host[:, :, 1:3]):
        one = gradus.kmeans_batch(array, 5, device="cpu")
        found = gradus.kmeans_batch(library.there(np.ascontiguousarray(array)), 5)
        assert found.report.variant.startswith("cuda_")
        assert bits(found.labels, found.centroids, found.inertia) == bits(one.labels, one.centroids, one.inertia)
    rows = np.ascontiguousarray(host.reshape(-1, 4))
    one = gradus.kmeans_batch(rows, 5, subspaces=2, device="cpu")
    found = gradus.kmeans_batch(library.there(rows), 5, subspaces=2)
    assert bits(found.labels, found.centroids, found.inertia) == bits(one.labels, one.centroids, one.inertia)
