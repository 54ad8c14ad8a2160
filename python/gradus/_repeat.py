"""Repeats a run from its record, the summary.json that the program writes."""

from __future__ import annotations

import inspect
import json
import os
from typing import Any, Callable, NamedTuple

import numpy as np

from gradus import _arrays, _core
from gradus._errors import InputError, UsageError
from gradus._kmeans import is_random, kmeans
from gradus._kmeans_batch import kmeans_batch
from gradus._life import life
from gradus._matmul import matmul
from gradus._options import option_rows
from gradus._pair_histogram import pair_histogram
from gradus._shortest_paths import shortest_paths

Array = np.ndarray[Any, Any]

_TYPES: dict[str, np.dtype[Any]] = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
#: Options that say where and how a command runs, how it reads text, and what it prints or writes in addition.
_WITHOUT_EFFECT = frozenset(
    "output report json quiet checkpoint checkpoint-every resume certify certify-effort choose silhouette-points dump-graph "
    "rdf volume centers from to view every scale delay repeat device gpus threads pin block-size memory-limit "
    "gpu-memory-limit stall-timeout input-per-rank dtype header decimal thousands comment columns drop-columns id-column "
    "weight-column missing base names".split()
)
_VARIANT_OPTIONS = ("lock", "locked")


def _summary(file: str) -> dict[str, Any]:
    try:
        with open(file, encoding="utf-8") as stream:
            summary = json.load(stream)
    except (OSError, ValueError) as error:
        raise InputError.about("record", f"{file!r} cannot be read: {error}") from error
    needed = {"problem", "options", "command", "directory", "input_hashes"}
    if not isinstance(summary, dict) or not needed <= summary.keys():
        raise InputError.about("record", f"{file!r} does not say how to repeat a run; a summary that 'gradus' wrote is needed")
    if summary["problem"] not in _CALLS:
        raise UsageError.about("record", f"{file!r} records 'gradus {summary['command'][1]}', which repeat() does not support")
    return summary


class _Record:
    """A parsed summary. Contains the options and inputs of the recorded command."""

    def __init__(self, record: Any) -> None:
        path = os.fspath(record)
        self.file = os.path.join(path, "summary.json") if os.path.isdir(path) else path
        self.summary = _summary(self.file)
        self.problem: str = self.summary["problem"]
        self.dtype = _TYPES.get(self.summary.get("dtype", ""))
        words = self.summary["command"][2:]
        self.named = dict(word[2:].partition("=")[::2] for word in words if word.startswith("--"))
        self.inputs = [word for word in words if not word.startswith("--")]

    def _found(self, name: str) -> str:
        """Returns a path for the name. Searches first in the working directory, then in the directory of the recorded
        run."""
        return name if os.path.exists(name) else os.path.join(self.summary["directory"], name)

    def array(self, name: str, argument: str) -> Array:
        """Returns the contents of a .npy file or of a member of a .npz file."""
        path, _, member = self._found(name).partition(".npz:")
        if self.named.keys() & {"columns", "drop-columns"}:
            raise InputError.about("record", f"{self.file!r} records some columns of a file; pass their numbers as {argument}=")
        try:
            if member:
                with np.load(path + ".npz") as arrays:
                    return np.asarray(arrays[member])
            if not path.endswith((".npy", ".npz")):
                raise InputError.about("record", f"{name!r} is not a NumPy file; read it, and pass its numbers as {argument}=")
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
        rows: Array = numbers if self.dtype is None else numbers.astype(self.dtype)
        rows = rows if columns is None else rows.reshape(-1, columns)
        if role in self.summary["input_hashes"]:
            self.require_same(role, argument, rows)
        return rows

    def input(self, place: int, argument: str) -> Array:
        """Returns the contents of an input file. `place` is the position of the file's name in the command."""
        inputs = len([option for option in _CALLS[self.problem].inputs.values() if isinstance(option, int)])
        if len(self.inputs) != inputs:
            raise UsageError.about(argument, f"{self.file!r} is the record of several files; pass their rows as {argument}=")
        return self._numbers(self.inputs[place], argument, argument)

    def optional(self, option: str, argument: str) -> Array | None:
        """Returns the contents of the file that an option names, or None."""
        if self.named.get(option):
            return self._numbers(self.named[option], argument, argument, 1 if "weights" in option else None)
        if "weights" in option and self.named.get("weight-column"):
            raise UsageError.about(argument, f"{self.file!r} is the record of weights in a column; pass them as {argument}=")
        return None

    def argument(self, name: str) -> Any:
        option = _CALLS[self.problem].inputs[name]
        if option == "init":
            return self.init()
        if option is None:
            raise UsageError.about(name, f"{self.file!r} records a file that is not an array; read it, and pass {name}=")
        numbers = self.input(option, name) if isinstance(option, int) else self.optional(option, name)
        if numbers is not None and "weights" in name:
            return numbers.reshape(-1)
        return np.swapaxes(numbers, -1, -2) if numbers is not None and f"transpose-{name}" in self.named else numbers

    def init(self) -> Any:
        if self.summary["options"]["init"] != "given":
            return self.summary["options"]["init"]
        name = self.named["init"]
        if os.path.isdir(self._found(name)):
            name = os.path.join(name, "centroids.npy")
        return self._numbers(name, "init", "initial centroids")

    def options(self) -> dict[str, Any]:
        """Returns the recorded options as arguments of the Python function."""
        known = {name.replace("_", "-") for name in option_rows(self.problem)} | _CALLS[self.problem].options
        for name in self.named:
            if name not in known and name not in _WITHOUT_EFFECT:
                command = self.summary["command"][1]
                raise UsageError.about(
                    "record", f"{self.file!r} has --{name}, which repeat() does not support; use 'gradus {command} --repeat'"
                )
        options = dict(self.summary["options"])
        if "undirected" in options:
            options["directed"] = not options["undirected"]
        if self.problem == "matmul" and "add" not in self.named:
            options["beta"] = None
        return options


class _Call(NamedTuple):
    function: Callable[..., Any]
    #: Maps each argument to its file in the record: a position in the command, the name of an option, or None if Python
    #: has no reader.
    inputs: dict[str, int | str | None]
    more: tuple[str, ...] = ()  #: further options of the program that repeat() applies

    @property
    def options(self) -> set[str]:
        return {name for name in self.inputs.values() if isinstance(name, str)} | {"variant", *self.more}


_CALLS = {
    "kmeans": _Call(kmeans, {"points": 0, "weights": "weights", "init": "init"}, ("subspaces", *_VARIANT_OPTIONS)),
    "matmul": _Call(matmul, {"a": 0, "b": 1, "add": "add"}, ("transpose-a", "transpose-b")),
    "pair_histogram": _Call(
        pair_histogram, {"points": 0, "others": "cross", "weights": "weights", "other_weights": "cross-weights"}
    ),
    "shortest_paths": _Call(shortest_paths, {"graph": 0}),
    "life": _Call(life, {"cells": None}),
}


def repeat(record: Any, **changes: Any) -> Any:
    """Repeats a recorded run of `gradus kmeans`, `matmul`, `pair-histogram`, `shortest-paths` or `life`, bit for bit.

    * `record`: path of a summary.json, or of the folder that `--output` wrote
    * `changes`: arguments of the Python function that replace recorded inputs and options

    Inputs are read from .npy and .npz files; pass inputs from other files as `changes`. Returns the result of the
    function for the problem, such as kmeans(), or of kmeans_batch() for a record with `--subspaces`.

    Raises InputError if the record or an input cannot be read, or if an input with a recorded hash has changed, and
    UsageError for records of other commands and of options that Python lacks, such as `--optimal`.

    Examples
    --------
    >>> result = gradus.repeat("output/summary.json", threads=1)
    """
    recorded = _Record(record)
    call = _CALLS[recorded.problem]
    options = recorded.options()
    subspaces = int(recorded.named.get("subspaces", 0))
    function = kmeans_batch if subspaces else call.function
    known = inspect.signature(function).parameters
    if subspaces:
        options["subspaces"] = subspaces
    if call.function is kmeans and "init" in changes and not is_random(changes["init"]):
        for name in ("init_rows", "restarts", "seed"):  # recorded options that have no effect with this `init`
            del options[name]
    if call.function is kmeans and changes.get("quality"):  # the recorded number of moves excludes a budget of time
        options.pop("quality_moves", None)
    arguments = {name: value for name, value in {**options, **changes}.items() if name in known or name in changes}
    if recorded.named.get("variant"):
        arguments.setdefault("variant", recorded.named["variant"])
        chosen = {name: recorded.named[name] for name in _VARIANT_OPTIONS if name in recorded.named}
        if chosen and arguments["variant"] == recorded.named["variant"]:
            arguments.setdefault("variant_options", chosen)
    for name in call.inputs:
        if name not in changes:
            arguments[name] = recorded.argument(name)
    return function(**arguments)
