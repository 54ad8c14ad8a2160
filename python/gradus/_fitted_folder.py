"""Reads initial centroids from a folder that `gradus kmeans --output` wrote."""

from __future__ import annotations

import json
import os
import zlib
from typing import Any

import numpy as np

from gradus._errors import InputError, UsageError
from gradus._options import option_rows

def is_folder(init: Any) -> bool:
    """Returns true if `init` is a path object, or a string that names a folder and no method of initialization."""
    if isinstance(init, os.PathLike):
        return True
    return isinstance(init, str) and init not in option_rows("kmeans")["init"].choices and os.path.isdir(init)


def _refuse(folder: str, differs: str, remedy: str) -> None:
    alone = os.path.join(folder, "centroids.npy")
    raise UsageError.about(
        "init", f"the fit in {folder!r} {differs}; {remedy}, or pass numpy.load({alone!r}) for its centroids alone"
    )


def summary_of(folder: str, argument: str) -> dict[str, Any]:
    """Returns the summary of a result. `argument` is the argument of the call that names the folder."""
    file = os.path.join(folder, "summary.json")
    try:
        with open(file, encoding="utf-8") as stream:
            summary = json.load(stream)
    except (OSError, ValueError):
        summary = None
    if not isinstance(summary, dict) or summary.get("problem") != "kmeans":
        raise InputError.about(
            argument, f"{folder!r} is no folder with a result of 'gradus kmeans --output' (summary.json is missing or "
            "another's); pass such a folder, or an array of centroids"
        )
    if "unfinished" in summary:
        raise InputError.about(argument, f"{file!r} says that the result is unfinished; write it again")
    return summary


def _centroids(folder: str, summary: dict[str, Any]) -> np.ndarray[Any, Any]:
    file = os.path.join(folder, "centroids.npy")
    try:
        with open(file, "rb") as stream:
            content = stream.read()
        written = summary["files"]["centroids.npy"]
        whole = written["bytes"] == len(content) and int(written["crc32"], 16) == zlib.crc32(content)
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise InputError.about("init", f"{file!r} cannot be read as the file of a result: {error}") from error
    if not whole:
        raise InputError.about("init", f"{file!r} is not the file that its summary.json was written with; write the result again")
    return np.asarray(np.load(file))


def _column_names(points: Any) -> list[str] | None:
    """Returns the column names of a data frame if all are strings, otherwise None."""
    names = getattr(points, "columns", getattr(points, "column_names", None))
    if names is None or callable(names):
        return None
    found = list(names)
    return found if found and all(isinstance(name, str) for name in found) else None


def centroids_of(init: Any, points: Any, clusters: int, metric: str, standardize: bool) -> np.ndarray[Any, Any]:
    """Returns the centroids of a recorded fit, clusters x d, in the units of the data.

    Raises UsageError if the recorded fit differs in clusters, metric or standardization, and InputError if the folder
    is damaged or the column names differ.
    """
    folder = os.fspath(init)
    summary = summary_of(folder, "init")
    if ("standardize" in summary) != bool(standardize):
        if standardize:
            _refuse(folder, "is not one of standardized columns, and this one is", "leave out standardize=True")
        _refuse(folder, "is one of standardized columns, and this one is not", "pass standardize=True")
    if summary.get("metric") != metric:
        _refuse(folder, f"uses the {summary.get('metric')} metric", f"pass metric={summary.get('metric')!r}")
    centroids = _centroids(folder, summary)
    if len(centroids) != clusters:
        raise UsageError.about(
            "init", f"the fit in {folder!r} has {len(centroids)} clusters, and this one {clusters}; pass clusters={len(centroids)}"
        )
    here, there = _column_names(points), summary.get("columns")
    if here and there and here != there:
        raise InputError.about(
            "points", f"the columns are {here}, but the fit in {folder!r} is one of {there}; pass the same columns in the "
            f"same order: points[{there}]"
        )
    return centroids
