"""The ladders of variants, the GPUs, this machine and this build."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gradus import _core


@dataclass(frozen=True)
class Variant:
    """A rung of a ladder, as this machine sees it."""

    name: str
    summary: str
    backend: str
    contract: str
    supported: bool
    reason: str  #: why it does not run here; empty where it does


@dataclass(frozen=True)
class Gpu:
    index: int
    name: str
    memory_bytes: int
    multiprocessors: int
    compute_capability: str
    usable: bool  #: this build has code for it


def problems() -> list[str]:
    return list(_core.problems())


def variants(problem: str) -> list[Variant]:
    """The ladder of a problem, in the order in which one idea follows from another."""
    return [Variant(*row) for row in _core.variants(problem)]


def gpus() -> list[Gpu]:
    return [Gpu(*row) for row in _core.gpus()]


def info() -> dict[str, Any]:
    """This machine and this build; `why_no_gpu` is empty where a GPU can be used."""
    return {**_core.info(), "gpus": gpus()}
