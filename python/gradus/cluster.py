"""Drop-in replacements for scikit-learn's KMeans, MiniBatchKMeans, BisectingKMeans, k_means and kmeans_plusplus: change
the import, keep the code.

scikit-learn's documentation applies. In addition, results have the same bits on every machine with any number of
threads, and arguments of Gradus follow scikit-learn's as keywords. An integer `random_state` of KMeans, k_means and
kmeans_plusplus equals the seed of `gradus.kmeans()` and `gradus kmeans --seed`.

Examples
--------
>>> from gradus import KMeans
>>> labels = KMeans(n_clusters=16, random_state=0).fit_predict(X)
"""

from __future__ import annotations

import functools
import inspect
import math
import operator
import warnings
from numbers import Integral, Number, Real
from typing import Any, Callable, ClassVar, NoReturn

import numpy as np

from gradus import _arrays, _arrow, _core, _gpu, _numbers
from gradus._batches import KMeansBatches
from gradus._errors import InputError, OutOfMemoryError, UnsupportedError, UsageError
from gradus._gpu import OnGpu
from gradus._kmeans import KMeansModel, KMeansResult, kmeans, kmeans_initial_centroids, kmeans_predict, kmeans_transform
from gradus._options import Gpus, OptionRow, option_rows, options_in, request, stream_number, without_marks

_NEEDED = "gradus.KMeans, MiniBatchKMeans, BisectingKMeans, k_means and kmeans_plusplus need scikit-learn 1.6 or newer{}: pip install 'scikit-learn>=1.6'"

try:
    import sklearn  # type: ignore
except ImportError as error:
    raise ImportError(_NEEDED.format("")) from error
if tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 6):
    raise ImportError(_NEEDED.format(f", and this is {sklearn.__version__}"))

from scipy.sparse import issparse  # type: ignore  # noqa: E402
from sklearn.base import (  # type: ignore  # noqa: E402
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.exceptions import ConvergenceWarning  # type: ignore  # noqa: E402
from sklearn.utils import _array_api, assert_all_finite, check_array, check_random_state  # type: ignore  # noqa: E402
from sklearn.utils._param_validation import Interval, StrOptions, validate_params  # type: ignore  # noqa: E402
from sklearn.utils.validation import (  # type: ignore  # noqa: E402
    _check_feature_names,
    _check_n_features,
    _check_sample_weight,
    _get_feature_names,
    check_is_fitted,
    validate_data,
)

try:
    from sklearn.callback import CallbackSupportMixin as _Callbacks  # type: ignore
except ImportError:  # older than 1.9

    class _Callbacks:  # type: ignore[no-redef]
        pass


Array = np.ndarray[Any, Any]

_RANDOM_STATE = [
    Interval(Integral, 0, 2**64 - 1, closed="both"),
    np.random.RandomState,
    np.random.Generator,
    None,
]
_SIMPLE = {int, float, str, bool, type(None), np.ndarray}
# sets of parameters that have passed scikit-learn's check; an array is represented by its type
_passed: set[tuple[Any, ...]] = set()
_AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")


def _seed(random_state: Any) -> int:
    """Returns `random_state` as the seed if it is an integer. Otherwise draws a seed from the generator. After the
    draw, the generator has the same state as after scikit-learn's draw."""
    if isinstance(random_state, Integral):
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**64 - 1, dtype=np.uint64, endpoint=True))
    return int(check_random_state(random_state).randint(2**64, dtype=np.uint64))


def _random_state(source: Any) -> np.random.RandomState:
    """Returns the random state for a callable that chooses the initial centroids."""
    if isinstance(source, np.random.Generator) or (isinstance(source, Integral) and int(source) >= 2**32):
        return np.random.RandomState(np.random.MT19937(_seed(source)))
    return check_random_state(source)  # type: ignore[no-any-return]


def _namespace(source: Any) -> tuple[Any, Any] | None:
    """Returns the array namespace and device of a foreign array if scikit-learn's array_api_dispatch is on, else None."""
    if not sklearn.get_config()["array_api_dispatch"]:
        return None
    namespace, found, device = _array_api.get_namespace_and_device(source)
    return (namespace, device) if found and not isinstance(source, np.ndarray) else None


def _on_host(source: Any, what: str = "the array") -> Any:
    """Returns the source as a NumPy array. Returns NumPy arrays and sparse matrices unchanged."""
    if isinstance(source, np.ndarray) or issparse(source):
        return source
    if _arrow.is_offered(source):
        return _arrays._to_numpy(source, what)
    if _gpu.is_on_gpu(source):
        return _arrays._to_numpy(_gpu.to_host(source), what)
    if not hasattr(source, "__dlpack__"):
        return np.asarray(source)
    try:
        return np.from_dlpack(source)
    except (BufferError, RuntimeError):  # array_api_strict, the reference implementation, simulates devices
        return _array_api._convert_to_numpy(source, _array_api.get_namespace(source)[0])


def _rows_on_gpu(source: Any, stream: Any) -> OnGpu | None:
    """Imports rows that are on a GPU. Returns None for rows in host memory. Integers are converted to float64, as they
    are for rows in host memory."""
    if isinstance(source, np.ndarray) or issparse(source) or not _gpu.is_on_gpu(source):
        return None
    whole = any(name in str(getattr(source, "dtype", "")) for name in ("int", "bool"))
    rows = _arrays.matrix(source, "X", np.dtype(np.float64) if whole else None, stream_number(stream))
    assert isinstance(rows, OnGpu)
    return rows


def _like(array: Any, source: Any) -> Any:
    """Converts a NumPy array to the library and device of the source if array_api_dispatch is on."""
    found = _namespace(source) if isinstance(array, np.ndarray) else None
    return array if found is None else found[0].asarray(array, device=found[1])


def _dense(matrix: Any, memory_limit: int | None) -> Any:
    """Returns a sparse matrix as a dense one. Raises OutOfMemoryError if it does not fit."""
    if not issparse(matrix):
        return matrix
    rows, columns = matrix.shape
    needed = rows * columns * matrix.dtype.itemsize
    there = _core.info()["available_memory_bytes"] if memory_limit is None else memory_limit
    if needed > there:
        raise OutOfMemoryError(
            f"X is sparse and is made dense here: {rows} x {columns} elements take {needed} bytes, but "
            f"{'there are' if memory_limit is None else 'memory_limit is'} {there}. Fewer columns help: "
            "sklearn.decomposition.TruncatedSVD takes sparse matrices"
        )
    return matrix.toarray()


def _weights(sample_weight: Any, rows: Any) -> Any:
    """Returns the weights in the type of the rows. Rounds them as scikit-learn does."""
    if sample_weight is None:
        return None
    if isinstance(rows, OnGpu):
        if isinstance(sample_weight, Number):
            return np.full(len(rows), sample_weight, rows.dtype)
        if _gpu.is_on_gpu(sample_weight):
            return _gpu.as_rows(sample_weight, "sample_weight", 1, rows.dtype, rows.stream, exact=False)
        return _on_host(sample_weight, "sample_weight").astype(rows.dtype, copy=False)
    shape = np.empty(rows.shape[0], rows.dtype) if issparse(rows) else rows
    if not isinstance(sample_weight, Number):
        sample_weight = _on_host(sample_weight, "sample_weight")
    return _check_sample_weight(sample_weight, shape, dtype=rows.dtype)


def _refuse_lost_integers(X: Any, checked: Any) -> None:
    """Raises InputError for integers that float64 does not represent. scikit-learn would round them."""
    if isinstance(X, np.ndarray) or issparse(X):
        if X.dtype.kind in "iu" and X.dtype.itemsize == 8:
            _numbers.refuse_rounding(X.tocsr().data if issparse(X) else X, "X", checked.dtype)
    elif isinstance(checked, np.ndarray):
        _numbers.refuse_lost_integers(X, checked, "X")


def _type_of_table(types: list[np.dtype[Any]]) -> np.dtype[Any]:
    """Returns the common type of columns, as scikit-learn uses it: float32 or float64."""
    common = np.result_type(*types)
    return common if common in _numbers.FLOATS else np.dtype(np.float64)


def _is_plain(rows: Any) -> bool:
    """Returns true for NumPy rows that need no conversion. Such rows skip scikit-learn's checks, which take longer than
    a small job."""
    return type(rows) is np.ndarray and rows.ndim == 2 and rows.dtype in _numbers.FLOATS and rows.size > 0


def _is_array(init: Any) -> bool:
    return not isinstance(init, str) and not callable(init)


def _checked_centers(centers: Any, dtype: np.dtype[Any]) -> Any:
    """Checks given centroids. Centroids of the right type and shape are not searched for NaN, because the fit does
    this.
    """
    if _is_plain(centers) and centers.dtype == dtype:
        return centers
    return check_array(centers, dtype=dtype, order="C")


def _rows_of(weights: Any, rows: Any) -> Any:
    return None if weights is None else weights[rows]


def _enough_samples(samples: int, clusters: int) -> None:
    if samples < clusters:
        raise ValueError(f"n_samples={samples} should be >= n_clusters={clusters}.")


# Options of Gradus that are parameters of the estimator.
_OPTIONS = (
    # <options of kmeans for KMeans as names>
    "empty",
    "size_min",
    "size_max",
    "balanced",
    "quality",
    "quality_moves",
    "metric",
    "standardize",
    # </options>
)
# Options of Gradus that are not parameters of the estimator, with the values that match scikit-learn's behaviour.
_AS_SCIKIT_LEARN: dict[str, Any] = {
    # <options of kmeans as scikit_learn>
    "fewer_distinct": "accept",
    # </options>
}


def _constraint(row: OptionRow) -> list[Any]:
    """Returns scikit-learn's constraint for the type of an option. The library checks the range of a number."""
    if row.kind == "choice":
        return [StrOptions(set(row.choices))]
    kinds: dict[str, list[Any]] = {
        "flag": ["boolean"], "integer": [Integral], "count": [Integral], "real": [Real], "text": [str],
    }  # fmt: skip
    return kinds[row.kind]


# Attributes that are missing after some fits.
_OPTIONAL = ("labels_", "inertia_", "standardization_", "_standardized_centers")


@functools.cache
def _keywords(call: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(call).parameters)


class _StopFit(Exception):
    """Raised when a callback ends the fit."""


class _Iterations:
    """Runs a fit and reports it to scikit-learn's callbacks: one task per iteration, unless there are several restarts.

    The library reports its progress at intervals, and the callbacks then receive all iterations up to this point. If a
    callback ends the fit after an iteration, or requests the model of an iteration, the fit is repeated up to this
    iteration. The repeated fit has the same bits.
    """

    def __init__(self, model: KMeans, fit: Callable[..., KMeansResult], X: Any, y: Any, sample_weight: Any) -> None:
        self._model, self._fit = model, fit
        self._reported = 0
        self._data = {"estimator": model, "X": X, "y": y}
        if sample_weight is not None:
            self._data["metadata"] = {"sample_weight": sample_weight}
        tasks = model.max_iter if model._n_init == 1 else 0
        self._root = model._init_callback_context(max_subtasks=tasks)
        self._root.call_on_fit_task_begin(**self._data)

    def _report(self, iterations: int) -> None:
        while self._model._n_init == 1 and self._reported < iterations:
            self._reported += 1
            number = self._reported
            task = self._root.subcontext(task_name="iteration")
            task.call_on_fit_task_begin(**self._data)
            if task.call_on_fit_task_end(
                **self._data, reconstruction_attributes=lambda: _fitted(self._fit(max_iterations=number))
            ):
                raise _StopFit

    def run(self) -> KMeansResult:
        try:
            result = self._fit(progress=lambda phase, done, *_: self._report(done if phase == "iteration" else 0))
            self._report(_iterations(result))
        except _StopFit:
            result = self._fit(max_iterations=self._reported)
        self._root.call_on_fit_task_end(**self._data, reconstruction_attributes=lambda: _fitted(result))
        return result


def _fitted(result: KMeansResult) -> dict[str, Any]:
    """Returns the attributes of a fitted model."""
    seen = {} if result.standardization is None else {
        "standardization_": result.standardization, "_standardized_centers": result.standardized_centroids,
    }  # fmt: skip
    return {
        "cluster_centers_": result.centroids,
        "_n_features_out": len(result.centroids),
        "labels_": result.labels,
        "inertia_": result.inertia,
        "n_iter_": _iterations(result),
        **seen,
    }


class _BaseKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore
    """Base class of the estimators: handles parameters, input checks and initial centroids, and defines the methods of
    a fitted model."""

    n_features_in_: int
    metric: str = "euclidean"
    gpus: Gpus | None = None
    _added: ClassVar[tuple[str, ...]] = ()  #: parameters that are options of Gradus and that scikit-learn lacks
    _random_starts: ClassVar[int]  #: what n_init="auto" means for random initial centroids

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [_AT_LEAST_ONE],
        "init": [StrOptions({"k-means++", "random"}), callable, "array-like"],
        "n_init": [StrOptions({"auto"}), _AT_LEAST_ONE],
        "max_iter": [_AT_LEAST_ONE],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": _RANDOM_STATE,
        "device": [str],
        "variant": [str, None],
        "threads": [_AT_LEAST_ONE, None],
        "memory_limit": [_AT_LEAST_ONE, None],
        "stream": "no_validation",  # type: ignore[dict-item]
    }

    def _set_parameters(self, given: dict[str, Any]) -> None:
        """Sets the parameters from the local variables of a constructor."""
        self.__dict__.update({name: value for name, value in given.items() if name != "self"})

    @classmethod
    @functools.cache
    def _get_param_names(cls) -> list[str]:
        """Caches the names: scikit-learn inspects the signature for each fit, which takes longer than a small fit."""
        return super()._get_param_names()  # type: ignore[no-any-return]

    @classmethod
    @functools.cache
    def _parameters(cls) -> Callable[[_BaseKMeans], tuple[Any, ...]]:
        return operator.attrgetter(*cls._get_param_names())

    def _validate_params(self) -> None:
        """Skips scikit-learn's check if the same parameters have passed it before, because the check takes 0.1 ms."""
        values = self._parameters()(self)
        types = tuple(map(type, values))
        if not _SIMPLE.issuperset(types):
            return super()._validate_params()  # type: ignore[no-any-return]
        if np.ndarray in types:
            values = tuple(None if type(value) is np.ndarray else value for value in values)
        given = (type(self), types, values)
        if given not in _passed:
            super()._validate_params()
            if len(_passed) >= 1000:
                _passed.clear()
            _passed.add(given)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.array_api_support = True
        return tags

    def _warn(self, text: str, category: type[Warning], stacklevel: int) -> None:
        warnings.warn(text, category, stacklevel=stacklevel + 1)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fits the model to X and returns the labels."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fits the model to X and returns the distances of its rows to the centroids."""
        return self.fit(X, sample_weight=sample_weight)._transform(X, "fit_transform")

    def predict(self, X: Any) -> Any:
        """Returns the number of the nearest cluster of each row, n of int32."""
        return _like(self._predicted(X, "predict")[0], X)

    def transform(self, X: Any) -> Any:
        """Returns the distance of every row to every centroid, n x n_clusters."""
        return self._transform(X, "transform")

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Returns the negative inertia of X."""
        return -self._predicted(X, "score", sample_weight)[1]

    def _options(self, call: Callable[..., Any]) -> dict[str, Any]:
        """Returns the options that `call` accepts but scikit-learn lacks."""
        given = {name: getattr(self, name) for name in self._added}
        taken = _keywords(call)
        return {name: value for name, value in {**_AS_SCIKIT_LEARN, **given}.items() if name in taken}

    def _where(self) -> dict[str, Any]:
        return {
            "device": self.device,
            "gpus": self.gpus,
            "threads": self.threads,
            "memory_limit": self.memory_limit,
            "stream": self.stream,
        }

    def _checked(self, X: Any, reset: bool) -> Any:
        """Returns X as a dense array or a CSR matrix. The computation itself searches for NaN."""
        if _arrow.is_offered(X):
            return self._checked_table(X, reset)
        ready = X if _is_plain(X) else _rows_on_gpu(X, self.stream)
        if ready is not None:
            self._check_columns(ready, reset)
            return ready
        found = _namespace(X)
        numbers = np if found is None else found[0]
        checked = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            accept_large_sparse=False,
            dtype=[numbers.float64, numbers.float32],
            ensure_all_finite=False,
        )
        checked = _on_host(checked)
        _refuse_lost_integers(X, checked)
        return checked

    def _checked_table(self, X: Any, reset: bool) -> Array:
        """Returns the rows of a table or of a column of lists. Takes the names of columns from scikit-learn's own
        function."""
        rows = _arrow.array(X, "X", _type_of_table)
        names = _get_feature_names(X)
        named = names is not None and rows.shape[1:] == names.shape
        _check_feature_names(self, X if named else rows, reset=reset)
        rows = check_array(rows, dtype=rows.dtype, ensure_all_finite=False, estimator=self, input_name="X")
        _check_n_features(self, rows, reset=reset)
        return rows  # type: ignore[no-any-return]

    def _check_columns(self, rows: Any, reset: bool) -> None:
        """Checks the number of columns of rows without names. If the fit had another number, scikit-learn raises its
        usual error."""
        columns = rows.shape[1]
        known = columns if reset else self.n_features_in_
        if hasattr(self, "feature_names_in_") or columns != known:
            validate_data(self, rows, reset=reset, skip_check_array=True)
        self.n_features_in_ = columns

    def _explain(self, error: InputError, rows: Any, init: Any = None) -> NoReturn:
        """Raises the error. If scikit-learn also finds NaN or infinity, its message precedes the message of Gradus."""
        try:
            if isinstance(rows, np.ndarray):
                assert_all_finite(rows, estimator_name=type(self).__name__, input_name="X")
            if isinstance(init, np.ndarray):
                assert_all_finite(init)
        except ValueError as usual:
            raise InputError(f"{usual}\n{error}") from error
        raise error

    def _choose_n_init(self) -> None:
        given = _is_array(self.init)
        self._n_init = self.n_init
        if self.n_init == "auto":
            self._n_init = 1 if given or (isinstance(self.init, str) and self.init == "k-means++") else self._random_starts
        if given and self._n_init != 1:
            self._warn(
                f"Explicit initial center position passed: performing only one init in {type(self).__name__} instead "
                f"of n_init={self._n_init}.",
                RuntimeWarning,
                stacklevel=4,
            )
            self._n_init = 1

    def _validate_center_shape(self, X: Any, centers: Array, n_centroids: int | None = None) -> None:
        clusters = self.n_clusters if n_centroids is None else n_centroids
        if centers.shape[0] != clusters:
            raise ValueError(
                f"The shape of the initial centers {centers.shape} does not match the number of clusters {clusters}."
            )
        if centers.shape[1] != X.shape[1]:
            raise ValueError(
                f"The shape of the initial centers {centers.shape} does not match the number of features of the data "
                f"{X.shape[1]}."
            )

    def _checked_init(self, X: Any) -> Any:
        """Returns the parameter init. If it is an array, checks the array and converts it to the type of X."""
        if not _is_array(self.init):
            return self.init
        centers = _checked_centers(_on_host(self.init, "init"), X.dtype)
        self._validate_center_shape(X, centers)
        return centers

    def _keep(self, fitted: dict[str, Any], X: Any) -> None:
        """Sets the attributes of a fit to X, and removes the attributes of an earlier fit."""
        if type(X) is not np.ndarray:
            fitted = {name: _like(value, X) for name, value in fitted.items()}
        for name in _OPTIONAL:
            self.__dict__.pop(name, None)
        self.__dict__.update(fitted)

    def _called(self, init: Callable[..., Any], X: Any, clusters: int, random_state: Any) -> Array:
        rows = X.source if isinstance(X, OnGpu) else X
        chosen = init(rows, clusters, random_state=random_state)
        centers = _checked_centers(_on_host(chosen) if _gpu.is_on_gpu(chosen) else chosen, X.dtype)
        self._validate_center_shape(X, centers, clusters)
        return centers  # type: ignore[no-any-return]

    def _init_centroids(
        self,
        X: Any,
        x_squared_norms: Any,
        init: Any,
        random_state: Any,
        sample_weight: Any,
        init_size: int | None = None,
        n_centroids: int | None = None,
    ) -> Any:
        """Chooses initial centroids. Some users of scikit-learn call this method, although it is private. Ignores
        x_squared_norms."""
        clusters = self.n_clusters if n_centroids is None else n_centroids
        if init_size is not None and init_size < X.shape[0]:
            chosen = random_state.randint(0, X.shape[0], init_size)
            X, sample_weight = X[chosen], _rows_of(sample_weight, chosen)
        if isinstance(init, str):
            rows = kmeans_initial_centroids(
                _dense(X, self.memory_limit),
                clusters,
                init=init,
                weights=_weights(sample_weight, X),
                seed=_seed(random_state),
                **self._options(kmeans_initial_centroids),
                **self._where(),
            ).rows
            centers = X[rows]
        elif callable(init):
            centers = self._called(init, X, clusters, random_state)
        else:
            centers = init
        return centers.toarray() if issparse(centers) else centers

    def _rows_and_model(self, X: Any, method: str) -> tuple[Any, KMeansModel]:
        check_is_fitted(self)
        if hasattr(_array_api, "check_same_namespace"):  # older versions of scikit-learn do not have this function
            _array_api.check_same_namespace(X, self, attribute="cluster_centers_", method=method)
        rows = _dense(self._checked(X, reset=False), self.memory_limit)
        standardized = getattr(self, "_standardized_centers", None)
        centers = _on_host(self.cluster_centers_ if standardized is None else standardized)
        if centers.dtype != rows.dtype:  # float64 represents the elements of both types
            rows, centers = rows.astype(np.float64), centers.astype(np.float64)
        return rows, KMeansModel(centers, self.metric, getattr(self, "standardization_", None))

    def _predicted(self, X: Any, method: str, sample_weight: Any = None) -> tuple[Array, float]:
        rows, model = self._rows_and_model(X, method)
        try:
            return kmeans_predict(
                model,
                rows,
                weights=_weights(sample_weight, rows),
                return_inertia=True,
                variant=self.variant,
                **self._where(),
            )
        except InputError as error:
            self._explain(error, rows)

    def _transform(self, X: Any, method: str) -> Any:
        rows, model = self._rows_and_model(X, method)
        try:
            return _like(kmeans_transform(model, rows, **self._where()), X)
        except InputError as error:
            self._explain(error, rows)


class KMeans(_Callbacks, _BaseKMeans):  # type: ignore[misc]
    """K-means clustering with the interface of scikit-learn's estimator.

    Parameters, attributes, warnings and messages match `sklearn.cluster.KMeans`. `algorithm` and `copy_x` have no
    effect: both algorithms give the same bits, and X is never modified. `random_state` may be an integer of 64 bits or
    a `numpy.random.Generator`. A callable `init` receives X unchanged, not centred.

    Other Parameters
    ----------------
    .. <options of kmeans for KMeans as text>
    empty : "relocate", "keep" or "error"; an empty cluster moves to the farthest point, keeps its centroid, or fails
        the job
    size_min : int; least number of points per cluster; every assignment is the best one within the limits; 0: no limit
    size_max : int; greatest number of points per cluster; 0: no limit
    balanced : bool; keep all clusters within 10 % of the mean size: floor(0.9 n/k) to ceil(1.1 n/k) points
    quality : bool; after the fit, exchange centroids and fit again while that lowers the inertia, for about as long as
        the fit took
    quality_moves : int; try this number of exchanges instead, with the same result on any number of threads and ranks
    metric : "euclidean" or "cosine"; the measure of nearness: the distance, or the angle between rows, which are scaled
        to unit length (spherical k-means)
    standardize : bool; bring every column to mean 0 and variance 1 first; centroids come back in the units of the data
    .. </options>
    device : "auto", "cpu", "gpu" or "gpu:1"; "auto" chooses a GPU if the job gains from it
    gpus : "all", "auto", int or list of int; GPUs that share a job: all, as many as pay, their number, or their
        indices; None: one at most
    variant : a name in `gradus.variants("kmeans")`; None: the fastest with the exact result
    threads : int; CPU threads; None: all cores, or the limit set by OMP_NUM_THREADS or threadpoolctl
    memory_limit : int; bytes that a job may take in addition to its input; also limits the dense copy of a sparse X
    stream : CUDA stream in which points on a GPU were written

    With standardize=True, inertia_ and distances refer to standardized columns. predict, transform and score
    standardize X by the mean and scale of the fit, in standardization_.

    Examples
    --------
    >>> model = KMeans(n_clusters=16, random_state=0).fit(X)
    >>> model.cluster_centers_, model.labels_, model.predict(new_X)
    """

    _added = _OPTIONS
    _random_starts = 10
    _parameter_constraints = {
        **_BaseKMeans._parameter_constraints,
        "copy_x": ["boolean"],
        "gpus": [StrOptions({"all", "auto"}), _AT_LEAST_ONE, list, tuple, None],
        "algorithm": [StrOptions({"lloyd", "elkan"})],
        **{name: _constraint(option_rows("kmeans")[name]) for name in _OPTIONS},
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        verbose: int = 0,
        random_state: Any = None,
        copy_x: bool = True,
        algorithm: str = "lloyd",
        # <options of kmeans for KMeans as arguments>
        empty: str = "relocate",
        size_min: int = 0,
        size_max: int = 0,
        balanced: bool = False,
        quality: bool = False,
        quality_moves: int = 0,
        metric: str = "euclidean",
        standardize: bool = False,
        # </options>
        device: str = "auto",
        gpus: Gpus | None = None,
        variant: str | None = None,
        threads: int | None = None,
        memory_limit: int | None = None,
        stream: Any = None,
    ) -> None:
        self._set_parameters(locals())

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans:
        """Fits the model to the rows of X.

        X is an n x d array, table or sparse matrix, in host memory or on a GPU. `sample_weight` holds n numbers; `y` is ignored.
        Returns the estimator.
        """
        # Only callbacks and callables need scikit-learn's contexts, which take as long as a small fit.
        if callable(self.init) or self._is_listened_to():
            return self._fit_in_contexts(X, y, sample_weight)  # type: ignore[no-any-return]
        if not sklearn.get_config()["skip_parameter_validation"]:
            self._validate_params()
        return self._fit(X, y, sample_weight)

    def _is_listened_to(self) -> bool:
        return hasattr(self, "_skl_callbacks") or hasattr(self, "_parent_callback_ctx")

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def _fit_in_contexts(self, X: Any, y: Any, sample_weight: Any) -> KMeans:
        return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> KMeans:
        read = self._checked(X, reset=True)
        _enough_samples(read.shape[0], self.n_clusters)
        self._choose_n_init()
        if self.algorithm == "elkan" and self.n_clusters == 1:
            self._warn(
                "algorithm='elkan' doesn't make sense for a single cluster. Using 'lloyd' instead.", RuntimeWarning, 1
            )
        weights = _weights(sample_weight, read)
        init = self._checked_init(read)
        rows = _dense(read, self.memory_limit)
        seed = _seed(self.random_state) if isinstance(init, str) else 0  # only named methods need a seed
        if callable(init) and self._n_init == 1:
            init = self._called(init, read, self.n_clusters, _random_state(self.random_state))

        def fit(**limits: Any) -> KMeansResult:
            if callable(init):
                return self._fit_from_callable(read, rows, weights, **limits)
            return self._fit_from(rows, init, weights, self._n_init, seed, **limits)

        try:
            result = _Iterations(self, fit, X, y, sample_weight).run() if self._is_listened_to() else fit()
            if self.verbose:
                self._print(result, rows)
        except InputError as error:
            self._explain(error, rows, init)

        if not result.counts.all():
            used = np.count_nonzero(result.counts)
            self._warn(
                f"Number of distinct clusters ({used}) found smaller than n_clusters ({self.n_clusters}). Possibly due "
                "to duplicate points in X.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self._keep(_fitted(result), X)
        return self

    def _fit_from(
        self, rows: Any, init: Any, weights: Array | None, restarts: int, seed: int, **limits: Any
    ) -> KMeansResult:
        return kmeans(
            rows,
            self.n_clusters,
            init=init,
            weights=weights,
            restarts=restarts,
            tolerance=self.tol,
            seed=seed,
            variant=self.variant,
            **self._options(kmeans),
            **{"max_iterations": self.max_iter, **self._where(), **limits},
        )

    def _fit_from_callable(self, read: Any, rows: Any, weights: Array | None, **limits: Any) -> KMeansResult:
        random_state = _random_state(self.random_state)
        best: KMeansResult | None = None
        for _ in range(self._n_init):
            start = self._called(self.init, read, self.n_clusters, random_state)
            result = self._fit_from(rows, start, weights, 1, 0, **limits)
            # scikit-learn also compares labels, because there the same clusters in another order may have a smaller
            # inertia. Here their inertia is equal, so labels need no comparison.
            if best is None or result.inertia < best.inertia:
                best = result
        assert best is not None
        return best

    def _print(self, result: KMeansResult, rows: Any) -> None:
        """Prints scikit-learn's log of a fit. If there are restarts, prints only the log of the best fit."""
        print("Initialization complete")
        last = _iterations(result) - 1
        for number, step in enumerate(result.history[: last + 1]):
            print(f"Iteration {number}, inertia {step.inertia}.")
        step = result.history[last]
        if step.changed == 0:
            print(f"Converged at iteration {last}: strict convergence.")
        elif result.converged:
            here = _on_host(rows) if isinstance(rows, OnGpu) else rows
            if result.standardization is not None:
                here = (here - result.standardization.mean) / result.standardization.scale
            tolerance = float(np.mean(np.var(here, axis=0)) * self.tol)
            print(f"Converged at iteration {last}: center shift {step.shift} within tolerance {tolerance}.")


KMeans.__doc__ = without_marks(KMeans.__doc__)


def _iterations(result: KMeansResult) -> int:
    """Counts iterations as scikit-learn does. scikit-learn stops when no centroid moves, and omits the final check of
    the labels."""
    for number, step in enumerate(result.history, start=1):
        if step.shift == 0:
            return number
    return result.iterations


class _MiniBatches:
    """State of a fit by mini-batches: the sums of each cluster, and the weights by which centroids are chosen for
    reassignment."""

    def __init__(self, centers: Array) -> None:
        self.sums = KMeansBatches(centers)
        # for each centroid: additional weight, which a reassigned centroid gets in place of points
        self._credit = np.zeros(len(centers))
        self._points_since_reassignment = 0

    def step(self, model: MiniBatchKMeans, rows: Array, weights: Array | None, random_state: Any) -> float:
        """Adds a batch, moves all centroids, and moves centroids of little weight to random rows of the batch.

        Returns the inertia of the batch with respect to the centroids before these moves. Leaves the state unchanged
        after an error.
        """
        points = self._points_since_reassignment + model._batch_size
        reassigns = points >= 10 * model.n_clusters or not self._weights().all()
        running = request(model.device, model.variant, model.threads, "none", None, model.memory_limit, None, None)
        _, inertia = self.sums._add(rows, weights, running)
        self.sums.move()
        self._points_since_reassignment = 0 if reassigns else points
        if reassigns and model.reassignment_ratio > 0:
            self._reassign(model, rows, random_state)
        return inertia

    def _weights(self) -> Array:
        return self.sums.weights + self._credit

    def _reassign(self, model: MiniBatchKMeans, rows: Array, random_state: Any) -> None:
        weights = self._weights()
        light = weights < model.reassignment_ratio * weights.max()
        most = len(rows) // 2
        if light.sum() > most:
            light[np.argsort(weights, kind="stable")[most:]] = False
        if not light.any():
            return
        chosen = random_state.choice(len(rows), replace=False, size=light.sum())
        if model.verbose:
            print(f"[MiniBatchKMeans] Reassigning {len(chosen)} cluster centers.")
        for cluster, row in zip(np.flatnonzero(light), chosen):
            self.sums.replace(int(cluster), rows[row])
        self._credit[light] = weights[~light].min(initial=weights.max())


class _EarlyStop:
    """Applies scikit-learn's rules for the early stop of a fit by mini-batches, and prints its log."""

    def __init__(self, model: MiniBatchKMeans, samples: int, steps: int, tolerance: float) -> None:
        self._model, self._steps, self._tolerance = model, steps, tolerance
        self._share = min(1.0, model._batch_size * 2.0 / (samples + 1))
        self.mean_inertia = 0.0  #: exponentially weighted average, per point
        self._least: float | None = None
        self._steps_without_gain = 0

    def after(self, step: int, inertia: float, movement: float) -> bool:
        """Returns true if the fit stops after this step. Steps count from 1. In step 1, `inertia` belongs to the
        initial centroids."""
        mean = inertia / self._model._batch_size
        self.mean_inertia = mean if step <= 2 else self.mean_inertia * (1 - self._share) + mean * self._share
        here = f"step {step}/{self._steps}"
        average = "" if step == 1 else f", ewa inertia: {self.mean_inertia}"
        self._print(f"Minibatch {here}: mean batch inertia: {mean}{average}")
        if step == 1:
            return False
        if 0 < self._tolerance and movement <= self._tolerance:
            self._print(f"Converged (small centers change) at {here}")
            return True
        if self._least is None or self.mean_inertia < self._least:
            self._least = self.mean_inertia
            self._steps_without_gain = 0
        else:
            self._steps_without_gain += 1
        limit = self._model.max_no_improvement
        if limit is not None and self._steps_without_gain >= limit:
            self._print(f"Converged (lack of improvement in inertia) at {here}")
            return True
        return False

    def _print(self, line: str) -> None:
        if self._model.verbose:
            print(line)


class MiniBatchKMeans(_BaseKMeans):
    """Mini-batch k-means with exact means and the interface of scikit-learn's estimator.

    Parameters, attributes, warnings and messages match `sklearn.cluster.MiniBatchKMeans`. So does the algorithm: fit
    draws batches with replacement, where `sample_weight` sets the probability of a row (in scikit-learn since 1.9); it
    stops early by the smoothed inertia of the batches and by `tol`; and centroids of little weight move to random points
    of the batch.

    A centroid is the correctly rounded mean of all points that it was ever given, in fit and in each partial_fit.
    Therefore an integer random_state gives the same bits with any number of threads, on CPU and GPU. A pickle contains
    the sums, so partial_fit of a restored object continues with the same bits.

    Differences from scikit-learn:

    * A reassigned centroid starts without weight, and becomes the mean of the points that it is given from then on. In
      scikit-learn it moves as if it had already been given points. The weight of these points is the smallest weight
      of the other clusters. The decision about later reassignments counts this weight in both libraries.
    * `cluster_centers_` cannot be changed between two calls of partial_fit, because the sums belong to it.
    * random_state is an integer of 64 bits, a `RandomState`, a `numpy.random.Generator` or None. From given centroids,
      the same integer draws the same batches as in scikit-learn 1.9.

    The metric is Euclidean. For the cosine metric use KMeans or KMeansBatches. X on a GPU is copied to host memory, and
    sparse X becomes dense: the whole of it in fit, only the batch in partial_fit.

    Other Parameters
    ----------------
    device, variant, threads, memory_limit, stream : as for KMeans

    Examples
    --------
    >>> model = MiniBatchKMeans(n_clusters=16, random_state=0)
    >>> for batch in batches:
    ...     model.partial_fit(batch)
    >>> model.cluster_centers_, model.predict(new_X)
    """

    _random_starts = 3
    _parameter_constraints = {
        **_BaseKMeans._parameter_constraints,
        "batch_size": [_AT_LEAST_ONE],
        "compute_labels": ["boolean"],
        "max_no_improvement": [Interval(Integral, 0, None, closed="left"), None],
        "init_size": [_AT_LEAST_ONE, None],
        "reassignment_ratio": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        max_iter: int = 100,
        batch_size: int = 1024,
        verbose: int = 0,
        compute_labels: bool = True,
        random_state: Any = None,
        tol: float = 0.0,
        max_no_improvement: int | None = 10,
        init_size: int | None = None,
        n_init: Any = "auto",
        reassignment_ratio: float = 0.01,
        device: str = "auto",
        variant: str | None = None,
        threads: int | None = None,
        memory_limit: int | None = None,
        stream: Any = None,
    ) -> None:
        self._set_parameters(locals())

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MiniBatchKMeans:
        """Fits the model to random batches of the rows of X.

        X is an n x d array or sparse matrix. `sample_weight` holds n numbers; `y` is ignored. Returns the estimator.
        """
        read = _on_host(self._checked(X, reset=True))
        _enough_samples(read.shape[0], self.n_clusters)
        self._choose_n_init()
        self._choose_sizes(read.shape[0])
        weights = _weights(sample_weight, read)
        init = self._checked_init(read)
        rows = _dense(read, self.memory_limit)
        random_state = _random_state(self.random_state)
        try:
            self._refuse_bad_numbers(rows, weights)
            tolerance = self.tol * self._variance(rows) if self.tol > 0 else 0.0
            state = _MiniBatches(self._best_start(read, rows, weights, init, random_state))
            cumulative = _cumulative_weights(weights, len(rows))
            steps = self.max_iter * len(rows) // self._batch_size
            stop = _EarlyStop(self, len(rows), steps, tolerance)
            for step in range(1, steps + 1):
                before = state.sums.centroids if tolerance > 0 else None
                chosen = cumulative.searchsorted(random_state.random_sample(self._batch_size), side="right")
                inertia = state.step(self, rows[chosen], None, random_state)
                if stop.after(step, inertia, 0.0 if before is None else _movement(before, state.sums.centroids)):
                    break
            fitted = {
                **self._fitted(state, rows, weights),
                "n_steps_": step,
                "n_iter_": -(-step * self._batch_size // len(rows)),
            }
        except InputError as error:
            self._explain(error, rows, init)
        if not self.compute_labels:
            total = len(rows) if weights is None else math.fsum(weights)
            fitted["inertia_"] = stop.mean_inertia * total
        self._keep(fitted, X)
        return self

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MiniBatchKMeans:
        """Assigns the rows of one batch X to the centroids, and moves each centroid to the mean of all points it was given.

        The first call chooses initial centroids. X, `sample_weight` and `y` are as for fit. Raises UsageError if
        `cluster_centers_` was changed since the last call. Returns the estimator; labels_ and inertia_ belong to X.
        """
        continues = hasattr(self, "cluster_centers_")
        read = _on_host(self._checked(X, reset=not continues))
        init = None
        if continues:
            self._require_own_centers()
            read = _in_type_of_first_batch(read, self._state.sums.centroids.dtype)
        else:
            _enough_samples(read.shape[0], self.n_clusters)
            self._choose_n_init()
            self._choose_sizes(read.shape[0])
            init = self._checked_init(read)
        weights = _weights(sample_weight, read)
        rows = _dense(read, self.memory_limit)
        if not hasattr(self, "_random_state"):
            self._random_state = _random_state(self.random_state)
        try:
            if continues:
                state = self._state
            else:
                state = _MiniBatches(self._init_centroids(read, None, init, self._random_state, weights, self._init_size))
            state.step(self, rows, weights, self._random_state)
            fitted = self._fitted(state, rows, weights)
        except InputError as error:
            self._explain(error, rows, init)
        self._keep({**fitted, "n_steps_": getattr(self, "n_steps_", 0) + 1}, X)
        return self

    def _choose_sizes(self, samples: int) -> None:
        self._batch_size = min(self.batch_size, samples)
        size = 3 * self._batch_size if self.init_size is None else self.init_size
        if size < self.n_clusters:
            if self.init_size is not None:
                self._warn(
                    f"init_size={size} should be larger than n_clusters={self.n_clusters}. Setting it to "
                    "min(3*n_clusters, n_samples)",
                    RuntimeWarning,
                    stacklevel=4,
                )
            size = 3 * self.n_clusters
        self._init_size = min(size, samples)

    def _refuse_bad_numbers(self, rows: Array, weights: Array | None) -> None:
        """Checks all rows at once, because the errors of a batch would name row numbers of the batch, not of X.
        Raises InputError for the first bad number."""
        kmeans_predict(np.zeros((1, rows.shape[1]), rows.dtype), rows, weights=weights, **self._where())

    def _variance(self, rows: Array) -> float:
        """Returns the mean variance of the columns. It is computed from the inertia of a single cluster."""
        return kmeans(rows, 1, init="first", max_iterations=1, **self._where()).inertia / rows.size

    def _best_start(self, read: Any, rows: Array, weights: Array | None, init: Any, random_state: Any) -> Array:
        """Chooses initial centroids n_init times. Returns the centroids with the smallest inertia on a random sample of
        the rows."""
        chosen = random_state.randint(0, len(rows), self._init_size)
        best: Array | None = None
        least = math.inf
        for number in range(1, self._n_init + 1):
            if self.verbose:
                print(f"Init {number}/{self._n_init} with method {init}")
            centers = self._init_centroids(read, None, init, random_state, weights, self._init_size)
            _, inertia = kmeans_predict(
                centers, rows[chosen], weights=_rows_of(weights, chosen), return_inertia=True, **self._where()
            )
            if self.verbose:
                print(f"Inertia for init {number}/{self._n_init}: {inertia}")
            if best is None or inertia < least:
                best, least = centers, inertia
        assert best is not None
        return best

    def _fitted(self, state: _MiniBatches, rows: Array, weights: Array | None) -> dict[str, Any]:
        centers = state.sums.centroids
        fitted = {"_state": state, "cluster_centers_": centers, "_n_features_out": len(centers)}
        if self.compute_labels:
            fitted["labels_"], fitted["inertia_"] = kmeans_predict(
                centers, rows, weights=weights, return_inertia=True, variant=self.variant, **self._where()
            )
        return fitted

    def _require_own_centers(self) -> None:
        state = getattr(self, "_state", None)
        if state is None or not np.array_equal(_on_host(self.cluster_centers_), state.sums.centroids):
            raise UsageError.about(
                "cluster_centers_", "they were changed since the last fit, but partial_fit continues exact sums that belong "
                "to them; pass other centroids as init to a new estimator"
            )


class BisectingKMeans(_BaseKMeans):
    """Bisecting k-means with the interface of scikit-learn's estimator: splits clusters in two until there are n_clusters.

    Parameters, attributes and messages match `sklearn.cluster.BisectingKMeans`. predict follows the splits, so that
    predict(X) equals labels_; transform and score use the nearest centroid, as in scikit-learn. An integer random_state
    gives the same bits with any number of threads.

    Differences from scikit-learn:

    * Each split depends on random_state and the number of earlier splits, so initial centroids differ.
    * `tol` is relative to the mean variance of the columns of the cluster that is split.
    * A cluster whose points are all equal is not split. If X has fewer different rows than n_clusters, the last clusters
      repeat centroids and have no points.
    * A callable `init` receives the rows of the cluster unchanged, not centred. `algorithm`, `copy_x` and `verbose` have
      no effect.

    X on a GPU is copied to host memory, and sparse X becomes dense. The metric is Euclidean.

    Other Parameters
    ----------------
    device, variant, threads, memory_limit, stream : as for KMeans, for the fit of each split

    Examples
    --------
    >>> model = BisectingKMeans(n_clusters=16, random_state=0).fit(X)
    >>> model.cluster_centers_, model.labels_, model.predict(new_X)
    """

    _parameter_constraints = {
        **_BaseKMeans._parameter_constraints,
        "init": [StrOptions({"k-means++", "random"}), callable],
        "n_init": [_AT_LEAST_ONE],
        "copy_x": ["boolean"],
        "algorithm": [StrOptions({"lloyd", "elkan"})],
        "bisecting_strategy": [StrOptions({"biggest_inertia", "largest_cluster"})],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "random",
        n_init: int = 1,
        random_state: Any = None,
        max_iter: int = 300,
        verbose: int = 0,
        tol: float = 1e-4,
        copy_x: bool = True,
        algorithm: str = "lloyd",
        bisecting_strategy: str = "biggest_inertia",
        device: str = "auto",
        variant: str | None = None,
        threads: int | None = None,
        memory_limit: int | None = None,
        stream: Any = None,
    ) -> None:
        self._set_parameters(locals())

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> BisectingKMeans:
        """Fits the model to the rows of X.

        X is an n x d array or sparse matrix. `sample_weight` holds n numbers; `y` is ignored. Returns the estimator.
        """
        read = _on_host(self._checked(X, reset=True))
        _enough_samples(read.shape[0], self.n_clusters)
        weights = _weights(sample_weight, read)
        rows = np.ascontiguousarray(_dense(read, self.memory_limit))
        named = isinstance(self.init, str)
        random_state = None if named else _random_state(self.random_state)

        def first_two(numbers: Array) -> Array:
            return np.ascontiguousarray(self._called(self.init, read[numbers], 2, random_state))

        options = {
            "clusters": self.n_clusters,
            "init": self.init if named else "k-means++",
            "restarts": self.n_init,
            "max_iterations": self.max_iter,
            "tolerance": self.tol,
            "seed": _seed(self.random_state) if named else 0,
            **_AS_SCIKIT_LEARN,
        }
        labels = np.empty(len(rows), np.int32)
        try:
            centers, inertia, tree, splits, _ = _core.kmeans_bisecting(
                rows, labels, self.bisecting_strategy, None if named else first_two,
                None if weights is None else np.ascontiguousarray(weights), options_in("kmeans", options), self._request(),
            )  # fmt: skip
        except InputError as error:
            self._explain(error, rows)
        self._keep(
            {
                "cluster_centers_": centers,
                "_n_features_out": len(centers),
                "labels_": labels,
                "inertia_": inertia,
                "_tree": tree,
                "_splits": splits,
            },
            X,
        )
        return self

    def predict(self, X: Any) -> Any:
        """Returns the number of the cluster to which the splits lead each row, n of int32."""
        rows, _ = self._rows_and_model(X, "predict")
        rows = np.ascontiguousarray(_on_host(rows.source) if isinstance(rows, OnGpu) else rows)
        labels = np.empty(len(rows), np.int32)
        try:
            tree = np.ascontiguousarray(_on_host(self._tree).astype(rows.dtype))
            _core.kmeans_tree_labels(tree, _on_host(self._splits), rows, labels, self._request())
        except InputError as error:
            self._explain(error, rows)
        return _like(labels, X)

    def _request(self) -> Any:
        return request(self.device, self.variant, self.threads, "none", None, self.memory_limit, None, None)


def _cumulative_weights(weights: Array | None, samples: int) -> Array:
    """Returns the cumulative probabilities of the rows, as RandomState.choice() uses them to draw rows with
    replacement."""
    cumulative = np.cumsum(np.ones(samples) if weights is None else weights, dtype=np.float64)
    if not cumulative[-1] > 0:
        raise InputError.about("sample_weight", "all weights are 0; a point of positive weight is needed")
    return cumulative / cumulative[-1]  # type: ignore[no-any-return]


def _movement(before: Array, after: Array) -> float:
    """Returns the sum of the squared movements of all centroids."""
    return math.fsum(np.square(after.astype(np.float64) - before).ravel())


def _in_type_of_first_batch(rows: Any, dtype: np.dtype[Any]) -> Any:
    """Converts a batch to the type of the first batch. Raises InputError if this type does not represent all elements.
    """
    if rows.dtype != dtype:
        _numbers.refuse_rounding(rows.data if issparse(rows) else rows, "X", dtype, "the first batch")
    return rows.astype(dtype, copy=False)


@validate_params(  # type: ignore[untyped-decorator]
    {"X": ["array-like", "sparse matrix"], "sample_weight": ["array-like", None], "return_n_iter": [bool]},
    prefer_skip_nested_validation=False,
)
def k_means(
    X: Any,
    n_clusters: int,
    *,
    sample_weight: Any = None,
    init: Any = "k-means++",
    n_init: Any = "auto",
    max_iter: int = 300,
    verbose: bool = False,
    tol: float = 1e-4,
    random_state: Any = None,
    copy_x: bool = True,
    algorithm: str = "lloyd",
    return_n_iter: bool = False,
    **gradus: Any,
) -> tuple[Any, ...]:
    """Fits KMeans and returns (centroids, labels, inertia), followed by the iterations if return_n_iter is set.

    Accepts the parameters of sklearn.cluster.k_means, and in addition keywords of KMeans such as `device` and `metric`.
    """
    fitted = KMeans(
        n_clusters=n_clusters,
        init=init,
        n_init=n_init,
        max_iter=max_iter,
        verbose=verbose,
        tol=tol,
        random_state=random_state,
        copy_x=copy_x,
        algorithm=algorithm,
        **gradus,
    ).fit(X, sample_weight=sample_weight)
    found = (fitted.cluster_centers_, fitted.labels_, fitted.inertia_)
    return (*found, fitted.n_iter_) if return_n_iter else found


@validate_params(  # type: ignore[untyped-decorator]
    {
        "X": ["array-like", "sparse matrix"],
        "n_clusters": [_AT_LEAST_ONE],
        "sample_weight": ["array-like", None],
        "x_squared_norms": ["array-like", None],
        "random_state": _RANDOM_STATE,
        "n_local_trials": [_AT_LEAST_ONE, None],
    },
    prefer_skip_nested_validation=True,
)
def kmeans_plusplus(
    X: Any,
    n_clusters: int,
    *,
    sample_weight: Any = None,
    x_squared_norms: Any = None,
    random_state: Any = None,
    n_local_trials: int | None = None,
    metric: str = "euclidean",
    device: str = "auto",
    threads: int | None = None,
    memory_limit: int | None = None,
    stream: Any = None,
) -> tuple[Any, Array]:
    """Chooses initial centroids by greedy k-means++. Returns (centroids, their row numbers in X).

    Accepts the parameters of sklearn.cluster.kmeans_plusplus, and in addition `metric`, `device`, `threads`,
    `memory_limit` and `stream` as in gradus.kmeans(). x_squared_norms is checked, but not needed. Raises
    UnsupportedError if n_local_trials is neither None nor 2 + int(log(n_clusters)).
    """
    checked = _rows_on_gpu(X, stream)
    if checked is None:
        checked = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False)
        _refuse_lost_integers(X, checked)
    weights = _weights(sample_weight, checked)
    _enough_samples(checked.shape[0], n_clusters)
    if x_squared_norms is not None:
        norms = check_array(x_squared_norms, dtype=checked.dtype, ensure_2d=False)
        if norms.shape[0] != checked.shape[0]:
            raise ValueError(
                f"The length of x_squared_norms {norms.shape[0]} should be equal to the length of n_samples "
                f"{checked.shape[0]}."
            )
    trials = 2 + int(np.log(n_clusters))
    if n_local_trials not in (None, trials):
        raise UnsupportedError.about("n_local_trials", f"{n_local_trials}; {trials} are made for {n_clusters} clusters")
    rows = _dense(checked, memory_limit)
    try:
        indices = kmeans_initial_centroids(
            rows,
            n_clusters,
            init="k-means++",
            weights=weights,
            metric=metric,
            seed=_seed(random_state),
            device=device,
            threads=threads,
            memory_limit=memory_limit,
            stream=stream,
            **_AS_SCIKIT_LEARN,
        ).rows
    except InputError as error:
        if isinstance(rows, np.ndarray):
            assert_all_finite(rows)
        raise error
    if isinstance(checked, OnGpu):
        return X[indices], indices
    source = X if issparse(X) or hasattr(X, "dtype") else checked  # keeps the type of X, even if it is an integer type
    centers = source.tocsr()[indices].toarray() if issparse(source) else np.asarray(source)[indices]
    return centers, indices
