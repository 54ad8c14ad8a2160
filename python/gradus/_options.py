"""Arguments that all functions share, and the report that every result contains."""

from __future__ import annotations

import functools
import numbers
import operator
import os
import sys
import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Mapping, NamedTuple, ParamSpec, Sequence, TypeAlias, TypeVar, Union

import numpy as np

from gradus import _core
from gradus._errors import UsageError

#: Called as progress(phase, done, total, detail). An exception ends the job and reaches the caller.
Progress = Callable[[str, int, int, str], Any]

#: GPUs that share a job: "all", the number of GPUs, or their indices
Gpus: TypeAlias = Union[str, int, Sequence[int]]

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


_NAMES_HERE = {  # maps names of scikit-learn's arguments to names of ours
    "n_clusters": "clusters", "n_init": "restarts", "max_iter": "max_iterations", "tol": "tolerance",
    "random_state": "seed", "sample_weight": "weights", "n_jobs": "threads",
}  # fmt: skip
_KINDS: dict[str, tuple[Any, str]] = {
    "int": (numbers.Integral, "an integer"), "float": (numbers.Real, "a number"), "str": (str, "a string"),
    "bool": ((bool, np.bool_), "True or False"),
}  # fmt: skip


def _type_fault(function: Callable[..., Any], args: tuple[Any, ...], named: Mapping[str, Any]) -> str | None:
    """Returns a description of the first argument that has a wrong type or exceeds 64 bits. Returns None if there is
    none."""
    for name, value in {**dict(zip(function.__code__.co_varnames, args)), **named}.items():
        kinds = [kind.strip() for kind in str(function.__annotations__.get(name, "")).split("|")]
        if kinds[0] not in _KINDS or (value is None and "None" in kinds):
            continue
        wanted, words = _KINDS[kinds[0]]
        if not isinstance(value, wanted):
            shown = repr(value) if isinstance(value, (str, bytes, numbers.Number, type(None))) else f"a {type(value).__name__}"
            return f"{name}: {shown}; {words} is needed"
        least, most = (0, 2**64) if name == "memory_limit" else (-(2**63), 2**63)
        if kinds[0] == "int" and not least <= int(value) < most:
            return f"{name}: {value!r} is out of range"
    return None


def _argument_fault(function: Callable[..., Any], args: tuple[Any, ...], named: Mapping[str, Any]) -> str | None:
    """Returns a description of the first argument that has an unknown name or an invalid type. Returns None if there is
    none."""
    code = function.__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    unknown = next((name for name in named if name not in known), None)
    if unknown is None:
        wrong = _type_fault(function, args, named)
        return None if wrong is None else f"{function.__name__}(): {wrong}"
    import difflib

    near = [_NAMES_HERE[unknown]] if _NAMES_HERE.get(unknown) in known else difflib.get_close_matches(unknown, known, 1)
    meant = f"; did you mean {near[0]!r}?" if near else f", only {', '.join(known)}"
    return f"{function.__name__}() has no argument {unknown!r}{meant}"


def without_marks(text: str | None) -> str | None:
    """Returns a docstring without the marks between which its list of options is generated."""
    if text is None or ".. <" not in text:
        return text
    return "\n".join(line for line in text.split("\n") if not line.lstrip().startswith((".. <options", ".. </options")))


def names_arguments(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorates a function. A TypeError for a call of the function then names the invalid argument and suggests the
    nearest name."""
    function.__doc__ = without_marks(function.__doc__)

    @functools.wraps(function)
    def call(*args: Parameters.args, **named: Parameters.kwargs) -> Result:
        try:
            return function(*args, **named)
        except TypeError as error:
            better = _argument_fault(function, args, named)
            entered = error.__traceback__ is not None and error.__traceback__.tb_next is not None
            if better is None and entered:
                raise
            wrong = error if better is None else TypeError(better)
        communicator = named.get("communicator")
        if communicator is not None and not entered:  # the other processes have not noticed the error yet
            from gradus import mpi

            mpi.end_for_all(communicator, wrong)
        raise wrong

    return call


class OptionRow(NamedTuple):
    """A row of an option table of the library."""

    name: str
    kind: str  #: "flag", "integer", "count", "real", "choice", "text", "reals" or "integers"
    choices: tuple[str, ...]  #: names and aliases, if the kind is "choice"
    default: Any


@functools.cache
def option_rows(problem: str) -> dict[str, OptionRow]:
    """Returns a dictionary of a problem's option table: the keys are the names of the options."""
    return {row[0]: OptionRow(*row) for row in getattr(_core, f"{problem}_options")()}


@functools.cache
def _defaults(problem: str) -> list[tuple[str, Any, type]]:
    return [(name, row.default, type(row.default)) for name, row in option_rows(problem).items()]


def options_in(problem: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments of a call that are options of the problem and differ from their defaults.

    The extension module converts and checks these arguments. The loop is minimal, because a small job takes about 10
    microseconds in total.
    """
    options = {}
    for name, default, kind in _defaults(problem):
        if name in arguments and ((value := arguments[name]).__class__ is not kind or value != default):
            options[name] = value
    return options


def stream_number(stream: Any) -> int | None:
    """Returns the address of a CUDA stream, or 1 for the default stream, as in DLPack.

    Accepts addresses, streams of PyTorch and CuPy, and objects that have __cuda_stream__.
    """
    if stream is None:
        return None
    number = getattr(stream, "cuda_stream", getattr(stream, "ptr", stream))  # the attribute in PyTorch, then in CuPy
    if hasattr(number, "__cuda_stream__"):
        number = number.__cuda_stream__()[1]
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**64:
        raise UsageError.about(
            "stream", f"{stream!r}; a stream of PyTorch or CuPy is needed, or the address of one of CUDA"
        )
    return number or 1


def _level_of_caller() -> int:
    """Returns the `stacklevel` with which the caller's warnings.warn() names the first frame outside the package."""
    level = 1
    while sys._getframe(level).f_globals.get("__name__", "").partition(".")[0] == "gradus":
        level += 1
    return level


@functools.cache
def _warn_of_lost_threads(process: int) -> None:
    """Prints a warning. The cache ensures that the warning appears once per process. `process` is the number of a
    forked child."""
    warnings.warn(
        "this process was forked from one that had run a job of Gradus on several threads, which it does not inherit: jobs "
        "run on 1 thread here. Start processes by 'spawn' or 'forkserver' for more, or pass threads=1",
        RuntimeWarning,
        stacklevel=_level_of_caller(),
    )


def _set_variant_options(made: _core.Request, options: Any) -> None:
    if not isinstance(options, Mapping):
        raise UsageError.about("variant_options", f"{options!r}; names and values are needed, such as {{'lock': 'clh_lock'}}")
    for name, value in options.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        made.set_variant_option(str(name), text)


def _gpu_choice(gpus: Any) -> int | str | list[int] | None:
    """Returns the GPUs of a call, converted to the types that the extension module accepts."""
    if gpus is None or isinstance(gpus, str):
        return gpus
    try:
        chosen = [operator.index(gpu) for gpu in ([gpus] if isinstance(gpus, numbers.Integral) else gpus)]
    except TypeError:
        chosen = None
    if chosen is None or isinstance(gpus, bool):
        raise UsageError.about("gpus", f"{gpus!r}; 'all', 'auto', a number or a list of indices is needed")
    for gpu in chosen:
        if not -(2**31) <= gpu < 2**31:
            raise UsageError.about("gpus", f"{gpu} is out of range")
    return chosen[0] if isinstance(gpus, numbers.Integral) else chosen


def request(
    device: str,
    variant: str | None,
    threads: int | None,
    pinning: str,
    block_size: int | None,
    memory_limit: int | None,
    stream: Any,
    progress: Progress | None,
    variant_options: Mapping[str, Any] | None = None,
    gpus: Gpus | None = None,
) -> _core.Request:
    if threads is None and _core.has_lost_threads():
        _warn_of_lost_threads(os.getpid())
    made = _core.Request(
        device, variant, threads, pinning, block_size, memory_limit, stream_number(stream), progress,
        _gpu_choice(gpus),
    )  # fmt: skip
    if variant_options is not None:
        _set_variant_options(made, variant_options)
    return made


def run(
    communicator: Any, function: Callable[..., Result], prepared: Callable[[], tuple[Any, ...]]
) -> tuple[tuple[Any, ...], Result]:
    """Calls an extension function with the arguments that prepared() returns. The last argument is a request.

    If `communicator` is given, all its processes make the call together. Returns (arguments, result).
    """
    if communicator is not None:
        from gradus import mpi

        return mpi.run(communicator, function, prepared)
    arguments = prepared()
    return arguments, function(*arguments)


@dataclass(frozen=True)
class RunReport:
    """Describes the run that computed a result."""

    variant: str
    device: str
    threads: int
    phases: Mapping[str, float]  #: seconds of each phase; the last phase, "total", is the whole call
    rechecked: float  #: share of the work that a low-precision filter left to the exact computation


_collected: ContextVar[list[RunReport] | None] = ContextVar("_collected", default=None)


def report_of(fields: tuple[Any, ...]) -> RunReport:
    """Converts the tuple that the extension module returned to a report, and adds the report to the open
    collected_reports()."""
    report = RunReport(*fields)
    reports = _collected.get()
    if reports is not None:
        reports.append(report)
    return report


@contextmanager
def collected_reports() -> Iterator[list[RunReport]]:
    """Collects the reports of all k-means calls inside the block, including predict and transform."""
    reports: list[RunReport] = []
    token = _collected.set(reports)
    try:
        yield reports
    finally:
        _collected.reset(token)


@dataclass(frozen=True)
class MemoryEstimate:
    """Memory that a job needs in addition to its input, in bytes."""

    host: int  #: host memory
    device: int  #: GPU memory
