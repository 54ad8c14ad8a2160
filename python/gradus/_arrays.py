"""Arrays of any library as what the compiled part takes, in place where they allow it."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradus._errors import InputError, UnsupportedError, UsageError

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def _on_gpu(source: Any) -> bool:
    """Whether the memory is that of a GPU (2: CUDA, 13: CUDA's managed memory in DLPack's numbers)."""
    if hasattr(source, "__dlpack_device__"):
        return int(source.__dlpack_device__()[0]) in (2, 13)
    return hasattr(source, "__cuda_array_interface__")


def _to_numpy(source: Any, what: str) -> np.ndarray[Any, Any]:
    if getattr(source, "requires_grad", False):
        raise UsageError(f"{what}: the tensor requires gradients, which are not computed here: pass {what}.detach()")
    if isinstance(source, np.ndarray):
        return source
    if _on_gpu(source):
        raise UnsupportedError(f"{what}: the array lies on a GPU; only those in host memory are taken so far")
    if not hasattr(source, "__array__") and hasattr(source, "__dlpack__"):
        return np.from_dlpack(source)
    if "bfloat16" in str(getattr(source, "dtype", "")) and hasattr(source, "float"):
        source = source.float()  # exact; NumPy does not know the type
    try:
        return np.asarray(source)
    except ValueError as error:
        raise InputError(f"{what}: not an array of numbers: {error}") from error


def _floating(array: np.ndarray[Any, Any], what: str, dtype: np.dtype[Any] | None) -> np.ndarray[Any, Any]:
    """The same numbers in the given type, or in the least one of float32 and float64 that holds all of the array's."""
    if array.dtype.kind not in "biuf":
        raise InputError(f"{what}: the elements are of the type {array.dtype}; real numbers are needed")
    wanted = np.promote_types(array.dtype, np.float32) if dtype is None else dtype
    if wanted not in _FLOATS:
        raise UnsupportedError(f"{what}: the elements are of the type {array.dtype}; float64 is the widest that is taken")
    return array if array.dtype == wanted and array.dtype.isnative else array.astype(wanted)


def matrix(source: Any, what: str, dtype: np.dtype[Any] | None = None) -> np.ndarray[Any, Any]:
    """Rows whose elements lie side by side; a copy only where they did not, or in another type."""
    array = _to_numpy(source, what)
    if array.ndim != 2:
        raise UsageError(
            f"{what}: an array of the shape {array.shape}; two dimensions are needed, a row for each point"
        )
    return in_rows(_floating(array, what, dtype))


def in_rows(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy only where the elements of a row do not lie side by side."""
    rows, columns = array.shape
    apart = array.strides[0]
    in_place = (columns <= 1 or array.strides[1] == array.itemsize) and (
        rows <= 1 or (apart >= columns * array.itemsize and apart % array.itemsize == 0)
    )
    return array if in_place and array.flags.aligned else np.ascontiguousarray(array)


def vector(source: Any, what: str, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    array = _to_numpy(source, what)
    if array.ndim != 1:
        raise UsageError(f"{what}: an array of the shape {array.shape}; one dimension is needed")
    return np.ascontiguousarray(_floating(array, what, dtype))


def output(
    out: Any, shape: tuple[int, ...], dtype: np.dtype[Any], *inputs: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """The caller's memory for a result, or new memory where there is none."""
    if out is None:
        return np.empty(shape, dtype)
    if not isinstance(out, np.ndarray):
        raise UsageError(f"out: a {type(out).__name__}; an array of NumPy is needed")
    if out.shape != shape or out.dtype != dtype:
        raise UsageError(f"out: {out.dtype} of the shape {out.shape}; {dtype} of the shape {shape} is needed")
    if not out.flags.c_contiguous:
        raise UsageError("out: the elements do not lie side by side in the order of C")
    if not out.flags.writeable:
        raise UsageError("out: the array is read-only")
    if any(np.may_share_memory(out, read) for read in inputs):
        raise UsageError("out: its memory overlaps that of what is read")
    return out
