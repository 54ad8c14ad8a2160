"""Lists the variants of each problem and describes the machine, its GPUs and this build."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gradus import _core


@dataclass(frozen=True)
class Variant:
    """A variant of a problem, and whether it runs on this machine."""

    name: str
    summary: str  #: the idea in one line
    backend: str  #: "sequential", "openmp", "tbb", "simd" or "cuda"
    contract: str  #: guaranteed accuracy, such as "same bits" (as the oracle)
    supported: bool  #: True if the variant runs on this machine
    reason: str  #: reason why `supported` is False; otherwise empty


@dataclass(frozen=True)
class Gpu:
    """A GPU of this machine."""

    index: int
    name: str
    memory_bytes: int
    multiprocessors: int
    compute_capability: str
    usable: bool  #: True if this build has code for the GPU


def problems() -> list[str]:
    """Returns the names of all problems."""
    return list(_core.problems())


def variants(problem: str) -> list[Variant]:
    """Returns the variants of a problem in the order of the ladder. Each variant adds an idea to an earlier one.

    Raises UsageError for an unknown problem.
    """
    return [Variant(*row) for row in _core.variants(problem)]


def gpus() -> list[Gpu]:
    """Returns the NVIDIA GPUs of this machine."""
    return [Gpu(*row) for row in _core.gpus()]


def info() -> dict[str, Any]:
    """Returns facts about this machine and this build; `why_no_gpu` is empty if a GPU can be used."""
    return {**_core.info(), "gpus": gpus()}
