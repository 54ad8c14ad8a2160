"""The arguments that all functions have, and what every result says of its run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Mapping

from gradus import _core

#: progress(phase, done, total, detail); what it raises ends the job and comes out of the call.
Progress = Callable[[str, int, int, str], Any]


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
    if stream is not None and not isinstance(stream, int):
        stream = getattr(stream, "cuda_stream", getattr(stream, "ptr", stream))  # PyTorch's, CuPy's
    return _core.Request(device, variant, threads, pinning, block_size, memory_limit, stream, progress)


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
