"""The arguments that all functions have, and what every result says of its run."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Callable, Mapping, ParamSpec, TypeVar

from gradus import _core
from gradus._errors import UsageError

#: progress(phase, done, total, detail); what it raises ends the job and comes out of the call.
Progress = Callable[[str, int, int, str], Any]

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def names_arguments(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """The same function; its error for an argument that it does not have says which one was meant."""

    @functools.wraps(function)
    def call(*args: Parameters.args, **named: Parameters.kwargs) -> Result:
        try:
            return function(*args, **named)
        except TypeError:
            code = function.__code__
            known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            unknown = next((name for name in named if name not in known), None)
            if unknown is None:
                raise
        import difflib

        near = difflib.get_close_matches(unknown, known, 1)
        meant = f"; did you mean {near[0]!r}?" if near else f", only {', '.join(known)}"
        raise TypeError(f"{function.__name__}() has no argument {unknown!r}{meant}")

    return call


def stream_number(stream: Any) -> int | None:
    """Of a stream of PyTorch or CuPy, or of whatever else has one, DLPack's number: 1 is CUDA's default stream."""
    if stream is None:
        return None
    number = getattr(stream, "cuda_stream", getattr(stream, "ptr", stream))  # PyTorch's, CuPy's
    if hasattr(number, "__cuda_stream__"):
        number = number.__cuda_stream__()[1]
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**64:
        raise UsageError(
            f"stream: {stream!r}; a stream of PyTorch or CuPy is needed, or the address of one of CUDA"
        )
    return number or 1


def request(
    device: str,
    variant: str | None,
    threads: int | None,
    pinning: str,
    block_size: int | None,
    memory_limit: int | None,
    stream: Any,
    progress: Progress | None,
) -> _core.Request:
    return _core.Request(
        device, variant, threads, pinning, block_size, memory_limit, stream_number(stream), progress
    )


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


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes that a job takes beyond its input."""

    host: int
    device: int
