"""Matrix multiplication with a stated bound of its rounding error and, by default, the same bits everywhere."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradus import _arrays, _core
from gradus._errors import UsageError
from gradus._options import Progress, names_arguments, request

Array = np.ndarray[Any, Any]


def _operand(source: Any, what: str) -> Array:
    """The numbers where they lie, in any order: only what no step of whole elements reaches is copied."""
    array = _arrays._floating(_arrays._to_numpy(source, what), what, None)
    if array.ndim == 0:
        raise UsageError(f"{what}: a single number; a vector, a matrix or a stack of matrices is needed")
    apart = all(stride % array.itemsize == 0 for stride in array.strides)
    return array if apart and array.flags.aligned else np.ascontiguousarray(array)


def _stack(matrices: Array, batch: tuple[int, ...]) -> Array:
    """One matrix, which stands for all, or as many as `batch` says, one after the other."""
    own = matrices.shape[:-2]
    if all(length == 1 for length in own):
        return matrices.reshape(matrices.shape[-2:])
    if own != batch:
        matrices = np.broadcast_to(matrices, batch + matrices.shape[-2:])
    return matrices if matrices.ndim == 3 else matrices.reshape(math.prod(batch), *matrices.shape[-2:])


@names_arguments
def matmul(
    a: Any,
    b: Any,
    *,
    accuracy: str = "strict",
    out: Array | None = None,
    device: str = "auto",
    variant: str | None = None,
    threads: int | None = None,
    pinning: str = "none",
    block_size: int | None = None,
    memory_limit: int | None = None,
    stream: Any = None,
    progress: Progress | None = None,
) -> Any:
    """The product of two matrices, vectors or stacks of matrices, of the shape that `numpy.matmul` gives it.

    `accuracy`: "strict" (the same bits on every machine), "split" or "fast" (what the tensor cores of a GPU give, of
    float32), or "automatic": that of the named `variant`. Whole numbers are computed in floating point.
    """
    left, right = _operand(a, "a"), _operand(b, "b")
    rows, columns = left.ndim > 1, right.ndim > 1
    if not rows:
        left = left[np.newaxis, :]
    if not columns:
        right = right[:, np.newaxis]
    if left.shape[-1] != right.shape[-2]:
        raise UsageError(f"b: {right.shape[-2]} rows, but a has {left.shape[-1]} columns; as many are needed")
    try:
        batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    except ValueError:
        raise UsageError(
            f"b: a stack of {right.shape[:-2]} matrices, and a of {left.shape[:-2]}; equal numbers are needed"
        ) from None
    shape = batch + (left.shape[-2],) * rows + (right.shape[-1],) * columns
    product = _arrays.output(out, shape, np.promote_types(left.dtype, right.dtype), left, right)
    running = request(device, variant, threads, pinning, block_size, memory_limit, stream, progress)
    written = product.reshape((math.prod(batch),) * bool(batch) + (left.shape[-2], right.shape[-1]))
    _core.matmul(_stack(left, batch), _stack(right, batch), written, accuracy, running)
    return product if shape or out is not None else product[()]
