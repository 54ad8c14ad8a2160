"""Runs again what the record of a run says: the summary.json that the program writes."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from gradus import _arrays, _core
from gradus._errors import InputError, UsageError
from gradus._kmeans import KMeansResult, kmeans

Array = np.ndarray[Any, Any]

_TYPES: dict[str, np.dtype[Any]] = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}


def _summary(file: str) -> dict[str, Any]:
    try:
        with open(file, encoding="utf-8") as stream:
            summary = json.load(stream)
    except (OSError, ValueError) as error:
        raise InputError.about("record", f"{file!r} cannot be read: {error}") from error
    needed = {"problem", "options", "command", "directory", "input_hashes", "dtype"}
    if not isinstance(summary, dict) or not needed <= summary.keys():
        raise InputError.about("record", f"{file!r} does not say how to repeat a run; a summary that 'gradus kmeans' wrote is needed")
    if summary["problem"] != "kmeans":
        raise UsageError.about("record", f"{file!r} is that of 'gradus {summary['command'][1]}'; repeat() knows k-means alone")
    return summary


class _Record:
    """A summary, with the words of its command."""

    def __init__(self, record: Any) -> None:
        path = os.fspath(record)
        self.file = os.path.join(path, "summary.json") if os.path.isdir(path) else path
        self.summary = _summary(self.file)
        self.dtype = _TYPES[self.summary["dtype"]]
        words = self.summary["command"][2:]
        self.named = dict(word[2:].partition("=")[::2] for word in words if word.startswith("--"))
        self.inputs = [word for word in words if not word.startswith("--")]

    def _found(self, name: str) -> str:
        """A relative name is looked up here, then in the folder of the recorded run."""
        return name if os.path.exists(name) else os.path.join(self.summary["directory"], name)

    def array(self, name: str, argument: str) -> Array:
        """The numbers of a file of NumPy."""
        path, _, member = self._found(name).partition(".npz:")
        try:
            if member:
                with np.load(path + ".npz") as arrays:
                    return np.asarray(arrays[member])
            if not path.endswith((".npy", ".npz")):
                raise InputError.about("record", f"{name!r} is no file of NumPy; read it, and pass its numbers as {argument}=")
            loaded = np.load(path)
        except (OSError, KeyError, ValueError) as error:
            raise InputError.about("record", f"cannot read {name!r}, the {argument} of {self.file!r}: {error}") from error
        return np.asarray(loaded if isinstance(loaded, np.ndarray) else loaded[loaded.files[0]])

    def require_same(self, role: str, argument: str, numbers: Any) -> None:
        recorded = self.summary["input_hashes"].get(role)
        found = _core.hash_of_rows(_arrays.matrix(numbers, argument, self.dtype))
        if recorded is not None and found != recorded:
            raise InputError(
                f"{argument}: these are not the {role} of the run in {self.file!r} (their hash is {found}, not {recorded}); the "
                f"file has changed since, or was read in another way. Pass {argument}= to run with the recorded options"
            )

    def _numbers(self, name: str, argument: str, role: str, columns: int | None = None) -> Array:
        numbers = self.array(name, argument)
        rows: Array = numbers.astype(self.dtype) if columns is None else numbers.astype(self.dtype).reshape(-1, columns)
        self.require_same(role, argument, rows)
        return rows

    def points(self) -> Array:
        if len(self.inputs) != 1:
            raise UsageError.about("points", f"{self.file!r} is the record of several files; pass their rows as points=")
        return self._numbers(self.inputs[0], "points", "points")

    def weights(self) -> Array | None:
        if "weights" not in self.summary["input_hashes"]:
            return None
        if not self.named.get("weights"):
            raise UsageError.about("weights", f"{self.file!r} is the record of weights in a column; pass them as weights=")
        return self._numbers(self.named["weights"], "weights", "weights", 1).reshape(-1)

    def init(self) -> Any:
        if self.summary["options"]["init"] != "given":
            return self.summary["options"]["init"]
        name = self.named["init"]
        if os.path.isdir(self._found(name)):
            name = os.path.join(name, "centroids.npy")
        return self._numbers(name, "init", "initial centroids")


def repeat(record: Any, **changes: Any) -> KMeansResult:
    """Runs `gradus kmeans` again as its `summary.json` says, with the same bits: inputs, options, and the variant if one was
    named. `record`: that file, or the folder that `gradus kmeans --output` wrote.

    `changes`: arguments of kmeans() that replace the recorded ones. Inputs are read from files of NumPy, and refused where
    they have changed since; pass `points`, `weights` or `init` that come from other files.
    """
    recorded = _Record(record)
    arguments: dict[str, Any] = {**recorded.summary["options"], **changes}
    if recorded.named.get("variant"):
        arguments.setdefault("variant", recorded.named["variant"])
    for name in ("points", "weights", "init"):
        if name not in changes:
            arguments[name] = getattr(recorded, name)()
    return kmeans(**arguments)
