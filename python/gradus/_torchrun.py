"""The processes that torchrun, or a launcher with the same environment variables, has started. PyTorch is not needed."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import pickle
from typing import Any

from gradus import _core


class Launched:
    """Has the parts of an mpi4py communicator that gradus.mpi uses. A single process needs no connection."""

    def __init__(self, joined: tuple[Any, ...] | None) -> None:
        self.address: int | None
        self.rank: int
        self.size: int
        self.gpu: int | None
        self.address, self.rank, self.size, self.gpu = (None, 0, 1, None) if joined is None else joined

    def allgather(self, item: Any) -> list[Any]:
        if self.address is None:
            return [item]
        return [pickle.loads(text) for text in _core.gather_in_launch(pickle.dumps(item))]


def _load_nccl() -> None:
    """Loads the NCCL of the package nvidia-nccl-cu12 or -cu13, if it is installed, because the system does not search its
    folder."""
    try:
        found = importlib.util.find_spec("nvidia.nccl")
    except ModuleNotFoundError:
        return
    for folder in (found and found.submodule_search_locations) or ():
        file = os.path.join(folder, "lib", "libnccl.so.2")
        if os.path.exists(file):
            ctypes.CDLL(file)


@functools.lru_cache(maxsize=1)
def joined() -> Launched:
    """Connects the processes. All of them make the first call together."""
    _load_nccl()
    return Launched(_core.join_launch())
