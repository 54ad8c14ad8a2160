"""Runs scikit-learn's k-means on Gradus, without a change to the code that calls it.

    python -m gradus.sklearn script.py [ARG...]
    python -m gradus.sklearn -m module [ARG...]
    python -m gradus.sklearn -c code [ARG...]

runs a script as `python` would. At its end, a table on standard error states which calls Gradus computed, on which device
and by which variant, and which calls scikit-learn computed and why. In a program:

    gradus.sklearn.patch()      # from here on; gradus.sklearn.unpatch() ends it
    with gradus.sklearn.patch() as report:
        ...
    print(report)

KMeans keeps its class: only its methods are replaced. Objects that exist already, subclasses, clone(), pickle and
isinstance() work as before, and an estimator that Gradus has fitted can be unpickled where Gradus is not installed.
scikit-learn computes sparse matrices, a callable init, MiniBatchKMeans, and whatever Gradus refuses.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import inspect
import io
import json
import os
import sys
import tempfile
import threading
import time
import types
import warnings
from importlib.machinery import BuiltinImporter, SourceFileLoader
from multiprocessing.process import BaseProcess
from typing import Any, Callable, Iterable, NamedTuple, NoReturn

from gradus import cluster
from gradus._errors import Error
from gradus._kmeans import kmeans_transform
from gradus._options import collected_reports

import numpy as np
import sklearn.cluster  # type: ignore
from scipy.sparse import issparse  # type: ignore
from sklearn.cluster import _kmeans as theirs
from sklearn.exceptions import ConvergenceWarning  # type: ignore
from sklearn.utils import check_random_state  # type: ignore
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads  # type: ignore

_USAGE = """\
usage: python -m gradus.sklearn [--device DEVICE] [--quiet] SCRIPT [ARG...]
       python -m gradus.sklearn [--device DEVICE] [--quiet] -m MODULE [ARG...]
       python -m gradus.sklearn [--device DEVICE] [--quiet] -c CODE [ARG...]

Runs a Python program with scikit-learn's KMeans, k_means and kmeans_plusplus computed by Gradus. At the end, a table on
standard error states what ran where. Calls that Gradus does not support are left to scikit-learn.

  --device DEVICE  where Gradus computes: auto (default), cpu, gpu or gpu:N
  --quiet          print no table
  --help           print this text
"""


class Call(NamedTuple):
    """One call of scikit-learn's k-means."""

    name: str  #: such as "KMeans.fit"
    rows: int
    columns: int
    seconds: float
    device: str  #: device on which Gradus computed the call; empty if scikit-learn computed it
    variant: str  #: the variant of Gradus; empty if scikit-learn computed the call
    reason: str  #: reason why scikit-learn computed the call; empty if Gradus computed it


class Report:
    """The calls since patch(). str() makes a table of these calls. If the report is used as a context manager, its exit
    ends the patch."""

    def __init__(self, first: int, was_patched: bool) -> None:
        self._first = first
        self._was_patched = was_patched

    @property
    def calls(self) -> list[Call]:
        """All calls since patch(), including the calls in worker processes of joblib and multiprocessing."""
        _read_journal()
        return _calls[self._first :]

    def __enter__(self) -> Report:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._was_patched:
            unpatch()

    def __str__(self) -> str:
        return _table(self.calls)


_calls: list[Call] = []
_lock = threading.Lock()
_originals: dict[str, Any] = {}  #: methods of KMeans that were replaced; empty while there is no patch
_device = "auto"
_home = os.getpid()
_journal: str | None = None  #: a file to which other processes append their calls
_journal_read = 0


def _record(name: str, shape: tuple[int, ...], seconds: float, device: str, variant: str, reason: str) -> None:
    call = Call(name, shape[0] if shape else 0, shape[1] if len(shape) > 1 else 1, seconds, device, variant, reason)
    if os.getpid() == _home and not _is_worker:
        with _lock:
            _calls.append(call)
    elif _journal is not None:
        try:
            file = os.open(_journal, os.O_WRONLY | os.O_APPEND)
        except OSError:  # the process that collects the calls has ended
            return
        try:
            os.write(file, json.dumps(call).encode() + b"\n")
        finally:
            os.close(file)


def _read_journal() -> None:
    global _journal_read
    if _journal is None or os.getpid() != _home or _is_worker:
        return
    with _lock, open(_journal, "rb") as file:
        file.seek(_journal_read)
        for line in file:
            _calls.append(Call(*json.loads(line)))
        _journal_read = file.tell()


def _start_journal() -> str:
    global _journal
    if _journal is None:
        file, _journal = tempfile.mkstemp(prefix="gradus-sklearn-", suffix=".jsonl")
        os.close(file)
        atexit.register(_end_journal)
    return _journal


def _end_journal() -> None:
    global _journal
    if _journal is not None and os.getpid() == _home and not _is_worker:
        _read_journal()
        os.remove(_journal)
        _journal = None


# --- One call -----------------------------------------------------------------------------------------------------------

_NO_MINI_BATCHES = "MiniBatchKMeans is not replaced; gradus.MiniBatchKMeans is a class by itself"
# Methods that scikit-learn's fit() calls and that a subclass may override.
_STEPS = ("_init_centroids", "_check_params_vs_input", "_validate_center_shape", "_check_test_data")


def _shape(X: Any) -> tuple[int, ...]:
    shape = getattr(X, "shape", None)
    return tuple(shape) if shape is not None else np.shape(X)


def _run(
    name: str, X: Any, reason: str, ours: Callable[[], Any], original: Callable[[], Any], random_state: Any = 0
) -> Any:
    """Computes a call with Gradus, unless `reason` states why Gradus cannot do so. If Gradus refuses the call,
    scikit-learn computes it, so that the caller sees the usual errors.

    Gradus may have drawn a seed from the generator. In this case, the state of the generator is restored before
    scikit-learn begins."""
    start = time.perf_counter()
    device = variant = ""
    drawn = None
    if not reason:
        if random_state is None or isinstance(random_state, np.random.RandomState):
            drawn = check_random_state(random_state)
            state = drawn.get_state(legacy=False)
        try:
            with collected_reports() as reports:
                result = ours()
            if reports:
                device, variant = reports[-1].device, reports[-1].variant
        except (Error, TypeError, ValueError) as error:
            reason = str(error).partition("\n")[0] or type(error).__name__
    if reason:
        if drawn is not None:
            drawn.set_state(state)
        start = time.perf_counter()
        result = original()
    _record(name, _shape(X), time.perf_counter() - start, device, variant, reason)
    return result


def _why_not(X: Any) -> str:
    if issparse(X):
        return "X is sparse"
    return ""


def _why_no_fit(model: Any, X: Any) -> str:
    if callable(model.init):
        return "init is a callable"
    for step in _STEPS:
        if getattr(type(model), step) is not getattr(theirs.KMeans, step):
            return f"{type(model).__name__} overrides {step}()"
    return _why_not(X)


class _Ours(cluster.KMeans):
    """Gradus's estimator. It stores its warnings instead of issuing them. If Gradus leaves the fit to scikit-learn,
    scikit-learn issues its own warnings."""

    def _warn(self, text: str, category: type[Warning], stacklevel: int) -> None:
        self.__dict__.setdefault("_warnings", []).append((text, category))


_Ours.__name__ = "KMeans"  # this name appears in error messages


def _warn(model: Any, warned: list[tuple[str, type[Warning]]]) -> None:
    """Issues each warning from the module from which scikit-learn would issue it, because users filter warnings by
    module."""
    for text, category in warned:
        function = _originals_or(model, "fit")
        if category is not ConvergenceWarning:
            function = inspect.unwrap(function)
        names, code = function.__globals__, function.__code__
        registry = names.setdefault("__warningregistry__", {})
        warnings.warn_explicit(text, category, code.co_filename, code.co_firstlineno, names["__name__"], registry)


def _ours(model: Any) -> _Ours:
    """Returns Gradus's estimator with the parameters of scikit-learn's estimator."""
    parameters = {name: getattr(model, name) for name in theirs.KMeans._get_param_names()}
    return _Ours(**parameters, device=_device)


def _fitted_ours(model: Any) -> _Ours:
    ours = _ours(model)
    for name in ("cluster_centers_", "n_features_in_", "feature_names_in_", "_n_features_out"):
        if hasattr(model, name):
            setattr(ours, name, getattr(model, name))
    return ours


def _fit(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
    warned: list[tuple[str, type[Warning]]] = []

    def by_gradus() -> Any:
        ours = _ours(self).fit(X, sample_weight=sample_weight)
        warned.extend(ours.__dict__.pop("_warnings", ()))
        fitted = {name: cluster._on_host(value) if name in ("cluster_centers_", "labels_") else value
                  for name, value in vars(ours).items() if name not in ours._get_param_names()}  # fmt: skip
        self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update(fitted)
        self._n_threads = _openmp_effective_n_threads()  # needed by scikit-learn's own predict()
        self._algorithm = "lloyd" if self.n_clusters == 1 else self.algorithm
        return self

    fitted = _run("KMeans.fit", X, _why_no_fit(self, X), by_gradus,
                  lambda: _originals_or(self, "fit")(self, X, y, sample_weight), self.random_state)  # fmt: skip
    _warn(self, warned)
    return fitted


def _predict(self: Any, X: Any) -> Any:
    if not hasattr(self, "cluster_centers_"):
        return _originals_or(self, "predict")(self, X)
    return _run("KMeans.predict", X, _why_not(X), lambda: cluster._on_host(_fitted_ours(self).predict(X)),
                lambda: _originals_or(self, "predict")(self, X))  # fmt: skip


def _transform(self: Any, X: Any) -> Any:
    def by_gradus() -> Any:
        rows, model = _fitted_ours(self)._rows_and_model(X, "transform")
        distances = np.empty((len(rows), len(self.cluster_centers_)), rows.dtype)
        return kmeans_transform(model, cluster._on_host(rows), out=distances, device=_device)

    return _run("KMeans.transform", X, _why_not(X), by_gradus,
                lambda: _originals_or(self, "_transform")(self, X))  # fmt: skip


def _score(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
    if not hasattr(self, "cluster_centers_"):
        return _originals_or(self, "score")(self, X, y, sample_weight)
    return _run("KMeans.score", X, _why_not(X), lambda: _fitted_ours(self).score(X, sample_weight=sample_weight),
                lambda: _originals_or(self, "score")(self, X, y, sample_weight))  # fmt: skip


def _originals_or(model: Any, name: str) -> Any:
    """Returns scikit-learn's method. If another thread has ended the patch during this call, takes the method from
    KMeans."""
    return _originals.get(name) or getattr(theirs.KMeans, name)


def _mini_batch(name: str) -> Callable[..., Any]:
    original = getattr(theirs.MiniBatchKMeans, name)

    @functools.wraps(original)
    def counted(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        return _run(f"MiniBatchKMeans.{name}", X, _NO_MINI_BATCHES, lambda: None,
                    lambda: original(self, X, y, sample_weight))  # fmt: skip

    return counted


_their_kmeans_plusplus = theirs.kmeans_plusplus


@functools.wraps(_their_kmeans_plusplus)
def _kmeans_plusplus(X: Any, n_clusters: int, **options: Any) -> Any:
    if not _originals:  # the patch has ended, but the caller still has this function
        return _their_kmeans_plusplus(X, n_clusters, **options)

    def by_gradus() -> Any:
        centers, indices = cluster.kmeans_plusplus(X, n_clusters, device=_device, **options)
        return cluster._on_host(centers), indices

    return _run("kmeans_plusplus", X, _why_not(X), by_gradus,
                lambda: _their_kmeans_plusplus(X, n_clusters, **options), options.get("random_state"))  # fmt: skip


# --- The patch ----------------------------------------------------------------------------------------------------------


def _replace_everywhere(old: Any, new: Any) -> None:
    """Replaces kmeans_plusplus in each module that has imported it."""
    for module in list(sys.modules.values()):
        if not isinstance(module, types.ModuleType) or vars(module) is globals():  # sys.modules may also hold other objects
            continue
        for name, value in list(vars(module).items()):
            if value is old:
                setattr(module, name, new)


def patch(*, device: str = "auto") -> Report:
    """Lets Gradus compute scikit-learn's KMeans, k_means and kmeans_plusplus, wherever they are called in this process and
    in worker processes of joblib and multiprocessing. `device`: "auto", "cpu", "gpu" or "gpu:1".

    Returns a report of all calls from now on. The report is also a context manager that ends the patch.
    """
    global _device
    was_patched = bool(_originals)
    _device = device
    if not was_patched:
        for name, method in (("fit", _fit), ("predict", _predict), ("_transform", _transform), ("score", _score)):
            original = getattr(theirs.KMeans, name)
            _originals[name] = original
            setattr(theirs.KMeans, name, functools.wraps(original)(method))
        for name in ("fit", "partial_fit"):
            setattr(theirs.MiniBatchKMeans, name, _mini_batch(name))
        _replace_everywhere(_their_kmeans_plusplus, _kmeans_plusplus)
        _follow_into_workers()
    return Report(len(_calls), was_patched)


def unpatch() -> None:
    """Ends the patch: scikit-learn computes its k-means again."""
    if not _originals:
        return
    for name, original in _originals.items():
        if original.__qualname__.startswith("KMeans."):
            setattr(theirs.KMeans, name, original)
        else:  # KMeans inherits the original method
            delattr(theirs.KMeans, name)
    for name in ("fit", "partial_fit"):
        setattr(theirs.MiniBatchKMeans, name, getattr(theirs.MiniBatchKMeans, name).__wrapped__)
    _originals.clear()
    _replace_everywhere(_kmeans_plusplus, _their_kmeans_plusplus)


_is_worker = False


def _before_fork() -> None:
    if _originals:
        _start_journal()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()  # a new lock, because another thread of the parent process may hold the old lock forever


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork)


def _with_patch(reduced: Any) -> Any:
    """Returns a pickled form of the object that also carries the patch to a worker process."""
    if not _originals or isinstance(reduced, str):
        return reduced
    return (_in_worker, (_device, _start_journal(), *reduced[:2]), *reduced[2:])


def _follow_into_workers() -> None:
    """Carries the patch to worker processes. Workers of joblib are new processes. Workers of multiprocessing are new
    processes, too, unless they are forked. The patch is pickled with each batch of calls for a worker of joblib, and
    with each process object of multiprocessing."""
    # The types are ignored, because typing cannot express that a method of a class is replaced.
    BaseProcess.__reduce_ex__ = lambda process, protocol: _with_patch(object.__reduce_ex__(process, protocol))  # type: ignore
    try:
        from joblib.externals.loky.backend.reduction import register  # type: ignore
        from joblib.parallel import BatchedCalls  # type: ignore
    except ImportError:  # this version of joblib differs, so its workers use scikit-learn
        return
    register(BatchedCalls, lambda calls: _with_patch(calls.__reduce__()[:2]))


def _in_worker(device: str, journal: str, make: Callable[..., Any], arguments: Iterable[Any]) -> Any:
    global _is_worker, _journal
    if _is_worker or journal != _journal:
        _is_worker = True
        _journal = journal
        patch(device=device)
    return make(*arguments)


# --- The table ----------------------------------------------------------------------------------------------------------


def _table(calls: list[Call]) -> str:
    if not calls:
        return "gradus.sklearn: no call of KMeans, MiniBatchKMeans, k_means or kmeans_plusplus"
    groups: dict[tuple[Any, ...], list[float]] = {}
    for call in calls:
        by = f"Gradus: {call.device}" + f", {call.variant}" * bool(call.variant) if not call.reason else f"scikit-learn: {call.reason}"
        groups.setdefault((call.name, f"{call.rows} x {call.columns}", by), []).append(call.seconds)
    lines = [("call", "rows x columns", "calls", "seconds", "computed by")]
    lines += [(name, shape, str(len(seconds)), f"{sum(seconds):.3f}", by)
              for (name, shape, by), seconds in groups.items()]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*lines)]
    ours = [call for call in calls if not call.reason]
    head = (
        f"gradus.sklearn: Gradus computed {len(ours)} of {len(calls)} calls, "
        f"{sum(call.seconds for call in ours):.3f} of {sum(call.seconds for call in calls):.3f} seconds"
    )
    return "\n".join([head, *(
        f"  {name:<{widths[0]}}  {shape:>{widths[1]}}  {count:>{widths[2]}}  {seconds:>{widths[3]}}  {by}"
        for name, shape, count, seconds, by in lines
    )])  # fmt: skip


# --- python -m gradus.sklearn -------------------------------------------------------------------------------------------


def _usage_error(text: str) -> NoReturn:
    print(f"gradus.sklearn: {text}\n{_USAGE}", end="", file=sys.stderr)
    sys.exit(2)


def _print_report(report: Report) -> None:
    if os.getpid() != _home or sys.stderr is None or sys.stderr.closed:
        return
    text = str(report)
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:  # no process reads standard error any more
        pass


def _new_main(loader: Any = BuiltinImporter) -> dict[str, Any]:
    module = types.ModuleType("__main__")
    module.__dict__["__loader__"] = loader
    if sys.version_info < (3, 14):
        module.__dict__["__annotations__"] = {}
    module.__dict__["__builtins__"] = sys.modules["builtins"]
    sys.modules["__main__"] = module
    return module.__dict__


def _run_code(source: Any, file: str, names: dict[str, Any]) -> None:
    exec(compile(source, file, "exec", dont_inherit=True), names)


def _first_folder(folder: str) -> None:
    """Makes `folder` the first entry of sys.path, as `python` does with the folder of a script. Replaces the current
    first entry, which is the folder of this program."""
    if not getattr(sys.flags, "safe_path", False) and not sys.flags.isolated:
        sys.path[0] = folder


def _run_module(name: str, alter_argv: bool) -> None:
    import runpy

    _new_main()
    runpy._run_module_as_main(name, alter_argv)  # type: ignore[attr-defined]


def _run_script(path: str) -> None:
    full = path if os.path.isabs(path) else os.path.join(os.getcwd(), path)  # keeps "./" and "../", as `python` does
    if os.path.isdir(path) or _is_archive(path):
        _first_folder(full)
        _run_module("__main__", False)
        return
    try:
        with io.open_code(full) as file:
            source = file.read()
    except OSError as error:
        print(f"{sys.executable}: can't open file {full!r}: [Errno {error.errno}] {error.strerror}", file=sys.stderr)
        sys.exit(2)
    _first_folder(os.path.dirname(os.path.realpath(path)))
    names = _new_main(SourceFileLoader("__main__", full))
    names.update(__file__=full, __cached__=None)
    _run_code(source, full, names)


def _is_archive(path: str) -> bool:
    import zipfile

    return os.path.isfile(path) and zipfile.is_zipfile(path)


def _without_our_frames(error: BaseException) -> Any:
    """Returns the part of the traceback that begins in the script. Keeps the frames of runpy, because `python -m` shows
    these frames."""
    trace = last = error.__traceback__
    while trace is not None and (trace.tb_frame.f_code.co_filename in (__file__, "<frozen runpy>")
                                 or os.path.basename(trace.tb_frame.f_code.co_filename) == "runpy.py"):  # fmt: skip
        if trace.tb_frame.f_code.co_filename == __file__:
            last = trace.tb_next
        trace = trace.tb_next
    return last


def _missing_hook(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    print("sys.excepthook is missing", file=sys.stderr)
    sys.__excepthook__(kind, error, trace)


def _hide_our_frames() -> None:
    """Makes the interpreter report an uncaught error of the script without the frames of this module. The script's
    excepthook still reports the error."""
    hook = getattr(sys, "excepthook", _missing_hook)

    def report(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        sys.excepthook = hook
        sys.last_traceback = error.__traceback__ = _without_our_frames(error)
        try:
            hook(kind, error, error.__traceback__)
        except SystemExit:
            raise
        except BaseException as failure:
            print("Error in sys.excepthook:", file=sys.stderr)
            failure.__traceback__ = failure.__traceback__ and failure.__traceback__.tb_next
            sys.__excepthook__(type(failure), failure, failure.__traceback__)
            print("\nOriginal exception was:", file=sys.stderr)
            sys.__excepthook__(kind, error, error.__traceback__)

    sys.excepthook = report


def main() -> None:
    """Runs `sys.argv` as the help says, and exits as the script does."""
    arguments = sys.argv[1:]
    device, quiet = "auto", False
    while arguments and arguments[0].startswith("-") and arguments[0] not in ("-m", "-c", "-"):
        option, _, value = arguments.pop(0).partition("=")
        if option in ("-h", "--help"):
            print(_USAGE, end="")
            return
        if option == "--quiet":
            quiet = True
        elif option == "--device":
            device = value or (arguments.pop(0) if arguments else "")
            if not device:
                _usage_error("--device needs a value: auto, cpu, gpu or gpu:N")
        else:
            _usage_error(f"unknown option {option}; options of the script follow its name")
    if not arguments or (arguments[0] in ("-m", "-c") and len(arguments) < 2):
        _usage_error("no script, module or code to run")

    report = patch(device=device)
    if not quiet:
        atexit.register(_print_report, report)
    ours = sys.modules["__main__"]  # keeps this module alive, because its names are needed until the end
    try:
        if arguments[0] == "-m":
            sys.argv = ["-m", *arguments[2:]]
            _first_folder(os.getcwd())
            _run_module(arguments[1], True)
        elif arguments[0] == "-c":
            sys.argv = ["-c", *arguments[2:]]
            _first_folder("")
            _run_code(arguments[1] + "\n", "<string>", _new_main())
        elif arguments[0] == "-":
            sys.argv = arguments
            _first_folder("")
            _run_code(sys.stdin.read(), "<stdin>", _new_main())
        else:
            sys.argv = arguments
            _run_script(arguments[0])
    except SystemExit:
        raise
    except BaseException:
        _hide_our_frames()
        raise
    finally:
        del ours


if __name__ == "__main__":
    # calls main() of the module that other code imports, and not of the main module
    importlib.import_module("gradus.sklearn").main()
