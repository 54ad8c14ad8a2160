"""The arguments that all functions have, and what every result says of its run."""

from __future__ import annotations

import functools
import numbers
import os
import sys
import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Mapping, NamedTuple, ParamSpec, TypeVar

import numpy as np

from gradus import _core
from gradus._errors import UsageError

#: progress(phase, done, total, detail); what it raises ends the job and comes out of the call.
Progress = Callable[[str, int, int, str], Any]

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


_HERE = {  # what scikit-learn has another name for
    "n_clusters": "clusters", "n_init": "restarts", "max_iter": "max_iterations", "tol": "tolerance",
    "random_state": "seed", "sample_weight": "weights", "n_jobs": "threads",
}  # fmt: skip
_KINDS: dict[str, tuple[Any, str]] = {
    "int": (numbers.Integral, "a whole number"), "float": (numbers.Real, "a number"), "str": (str, "a string"),
    "bool": ((bool, np.bool_), "True or False"),
}  # fmt: skip


def _of_wrong_type(function: Callable[..., Any], args: tuple[Any, ...], named: Mapping[str, Any]) -> str | None:
    """The first argument that is no number, string or truth value where one is needed, or a number too large."""
    for name, value in {**dict(zip(function.__code__.co_varnames, args)), **named}.items():
        kinds = [kind.strip() for kind in str(function.__annotations__.get(name, "")).split("|")]
        if kinds[0] not in _KINDS or (value is None and "None" in kinds):
            continue
        wanted, words = _KINDS[kinds[0]]
        if not isinstance(value, wanted):
            told = repr(value) if isinstance(value, (str, bytes, numbers.Number, type(None))) else f"a {type(value).__name__}"
            return f"{name}: {told}; {words} is needed"
        least, most = (0, 2**64) if name == "memory_limit" else (-(2**63), 2**63)
        if kinds[0] == "int" and not least <= int(value) < most:
            return f"{name}: {value!r} is out of range"
    return None


def _in_words(function: Callable[..., Any], args: tuple[Any, ...], named: Mapping[str, Any]) -> str | None:
    """What is wrong with the arguments, where their names or types are."""
    code = function.__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    unknown = next((name for name in named if name not in known), None)
    if unknown is None:
        wrong = _of_wrong_type(function, args, named)
        return None if wrong is None else f"{function.__name__}(): {wrong}"
    import difflib

    near = [_HERE[unknown]] if _HERE.get(unknown) in known else difflib.get_close_matches(unknown, known, 1)
    meant = f"; did you mean {near[0]!r}?" if near else f", only {', '.join(known)}"
    return f"{function.__name__}() has no argument {unknown!r}{meant}"


def names_arguments(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """The same function; its error for an argument that it does not have says which one was meant."""

    @functools.wraps(function)
    def call(*args: Parameters.args, **named: Parameters.kwargs) -> Result:
        try:
            return function(*args, **named)
        except TypeError as error:
            better = _in_words(function, args, named)
            entered = error.__traceback__ is not None and error.__traceback__.tb_next is not None
            if better is None and entered:
                raise
            wrong = error if better is None else TypeError(better)
        communicator = named.get("communicator")
        if communicator is not None and not entered:  # the other processes were not told yet
            from gradus import mpi

            mpi.end_for_all(communicator, wrong)
        raise wrong

    return call


class OptionRow(NamedTuple):
    """What the library's table says of an option."""

    name: str
    kind: str  #: "flag", "integer", "count", "real", "choice", "text", "reals" or "integers"
    choices: tuple[str, ...]  #: names and aliases
    default: Any


@functools.cache
def option_rows(problem: str) -> dict[str, OptionRow]:
    """The table of a problem's options, by their names."""
    return {row[0]: OptionRow(*row) for row in getattr(_core, f"{problem}_options")()}


@functools.cache
def _defaults(problem: str) -> list[tuple[str, Any, type]]:
    return [(name, row.default, type(row.default)) for name, row in option_rows(problem).items()]


def options_in(problem: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The options of a problem that are among a call's arguments, by the library's table; not those with their default.
    The compiled part converts and checks them.

    A call of a small job takes some 10 microseconds here, so this loop is short."""
    options = {}
    for name, default, kind in _defaults(problem):
        if name in arguments and ((value := arguments[name]).__class__ is not kind or value != default):
            options[name] = value
    return options


def stream_number(stream: Any) -> int | None:
    """Of a stream of PyTorch or CuPy, or of whatever else has one, DLPack's number: 1 is CUDA's default stream."""
    if stream is None:
        return None
    number = getattr(stream, "cuda_stream", getattr(stream, "ptr", stream))  # PyTorch's, CuPy's
    if hasattr(number, "__cuda_stream__"):
        number = number.__cuda_stream__()[1]
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**64:
        raise UsageError.about(
            "stream", f"{stream!r}; a stream of PyTorch or CuPy is needed, or the address of one of CUDA"
        )
    return number or 1


def _level_of_caller() -> int:
    """The stack level, as warnings.warn() called by the caller of this function counts, of the first frame outside the package."""
    level = 1
    while sys._getframe(level).f_globals.get("__name__", "").partition(".")[0] == "gradus":
        level += 1
    return level


@functools.cache
def _warn_of_lost_threads(process: int) -> None:
    """Warns once in each forked child."""
    warnings.warn(
        "this process was forked from one that had run a job of Gradus on several threads, which it does not have: jobs "
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
) -> _core.Request:
    if threads is None and _core.has_lost_threads():
        _warn_of_lost_threads(os.getpid())
    made = _core.Request(
        device, variant, threads, pinning, block_size, memory_limit, stream_number(stream), progress
    )
    if variant_options is not None:
        _set_variant_options(made, variant_options)
    return made


def run(
    communicator: Any, function: Callable[..., Result], prepared: Callable[[], tuple[Any, ...]]
) -> tuple[tuple[Any, ...], Result]:
    """prepared(), and the function of the compiled part with what it gives, of which the last is the request: in this
    process, or with those of a communicator of mpi4py."""
    if communicator is not None:
        from gradus import mpi

        return mpi.run(communicator, function, prepared)
    arguments = prepared()
    return arguments, function(*arguments)


@dataclass(frozen=True)
class RunReport:
    """What every result says of the run that gave it."""

    variant: str
    device: str
    threads: int
    phases: Mapping[str, float]  #: seconds; the last is the whole call, "total"
    rechecked: float  #: share of the work that a fast filter left to the canonical rule


_collected: ContextVar[list[RunReport] | None] = ContextVar("_collected", default=None)


def report_of(fields: tuple[Any, ...]) -> RunReport:
    """Builds the report that the compiled part returned as a tuple, and hands it to collected_reports()."""
    report = RunReport(*fields)
    reports = _collected.get()
    if reports is not None:
        reports.append(report)
    return report


@contextmanager
def collected_reports() -> Iterator[list[RunReport]]:
    """Collects the reports of the calls of k-means inside the block, predict and transform included."""
    reports: list[RunReport] = []
    token = _collected.set(reports)
    try:
        yield reports
    finally:
        _collected.reset(token)


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes that a job takes beyond its input."""

    host: int
    device: int
