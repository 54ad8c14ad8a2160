"""Matrix multiplication with a stated error bound and, by default, the same bits on every machine."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradus import _arrays, _core, _numbers
from gradus._errors import UsageError
from gradus._options import Progress, names_arguments, options_in, request

Array = np.ndarray[Any, Any]


def _operand(source: Any, what: str) -> Array:
    """Returns the operand as a NumPy array. If the strides are not multiples of the element size, copies the array."""
    array = _numbers.in_type(_arrays._to_numpy(source, what), what, None)
    if array.ndim == 0:
        raise UsageError.about(what, f"a single number; a vector, a matrix or a stack of matrices is needed")
    return _numbers.in_element_strides(array)


def _stack(matrices: Array, batch: tuple[int, ...]) -> Array:
    """If the stack holds one matrix, returns this matrix, which is then used for every product. Otherwise returns a
    three-dimensional batch."""
    own = matrices.shape[:-2]
    if all(length == 1 for length in own):
        return matrices.reshape(matrices.shape[-2:])
    if own != batch:
        matrices = np.broadcast_to(matrices, batch + matrices.shape[-2:])
    return matrices if matrices.ndim == 3 else matrices.reshape(math.prod(batch), *matrices.shape[-2:])


def _factor(value: Any, what: str, dtype: np.dtype[Any]) -> float:
    """Returns alpha or beta as float64. Raises UsageError if the conversion to `dtype` would make the value zero or
    infinite."""
    exact = _numbers.number(value, what)
    with np.errstate(over="ignore", under="ignore"):
        rounded = dtype.type(exact)
    if (exact != 0 and rounded == 0) or (math.isfinite(exact) and np.isinf(rounded)):
        raise UsageError.about(what, f"{exact!r} is beyond the range of {dtype}, the type of the product")
    return exact


def _shapes(left: Array, right: Array) -> tuple[int, ...]:
    """Returns the broadcast shape of the stack of products."""
    if left.shape[-1] != right.shape[-2]:
        raise UsageError.about("b", f"{right.shape[-2]} rows, but a has {left.shape[-1]} columns; as many are needed")
    try:
        return np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    except ValueError:
        raise UsageError.about(
            "b", f"a stack of {right.shape[:-2]} matrices, and a of {left.shape[:-2]}; equal numbers are needed"
        ) from None


def _added(add: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Converts `add` to the type of the product and broadcasts it to the shape of the product."""
    array = _arrays._to_numpy(add, "add")
    numbers = _numbers.in_type(array, "add", dtype, _numbers.is_untyped(add), same_type_as="a and b")
    try:
        return np.broadcast_to(numbers, shape)
    except ValueError:
        raise UsageError.about("add", f"an array of the shape {array.shape}; the product is of the shape {shape}") from None


def _overlap(one: Array, other: Array) -> bool:
    """Returns true if the arrays share elements. Also returns true if this check would take too long."""
    try:
        return bool(np.may_share_memory(one, other) and np.shares_memory(one, other, max_work=100_000))  # type: ignore[arg-type]
    except RuntimeError:
        return True


def _shares_elements(array: Array) -> bool:
    """Returns true if two elements of the array share bytes, for example after a broadcast."""
    steps = [(abs(step), length) for step, length in zip(array.strides, array.shape) if length > 1]
    if array.size == 0:
        return False
    reach = array.itemsize
    for step, length in sorted(steps):
        if step < reach:
            break
        reach += step * (length - 1)
    else:
        return False
    places = np.zeros(1, np.int64)
    for step, length in steps:
        places = np.add.outer(places, np.arange(length) * step).ravel()
    return bool(np.diff(np.sort(places)).min() < array.itemsize)


def _checked_out(out: Any, shape: tuple[int, ...], dtype: np.dtype[Any], *read: Array) -> None:
    if not isinstance(out, np.ndarray):
        raise UsageError.about("out", f"a {type(out).__name__}; an array of NumPy is needed")
    if out.shape != shape or out.dtype != dtype:
        raise UsageError.about("out", f"{out.dtype} of the shape {out.shape}; {dtype} of the shape {shape} is needed")
    if not out.flags.writeable:
        raise UsageError.about("out", "the array is read-only")
    if _shares_elements(out):
        raise UsageError.about("out", "some of its elements share memory, so that it cannot hold the product")
    if any(_overlap(out, array) for array in read):
        raise UsageError.about("out", "its memory overlaps an input")


def _is_written_in_place(out: Array, *read: Array) -> bool:
    """Returns true if libgradus can write the product directly to `out`.

    The strides must be positive multiples of the element size, and the memory must not overlap an input.
    """
    forward = all(
        length <= 1 or (step > 0 and step % out.itemsize == 0) for length, step in zip(out.shape, out.strides)
    )
    return (
        forward and out.flags.aligned and out.dtype.isnative and (out.ndim <= 3 or out.flags.c_contiguous)
        and not any(np.may_share_memory(out, array) for array in read)
    )  # fmt: skip


@names_arguments
def matmul(
    a: Any,
    b: Any,
    *,
    alpha: float = 1.0,
    beta: float | None = None,
    add: Any = None,
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
    """Returns alpha * a @ b + beta * add, for matrices, vectors and stacks of matrices.

    Shapes follow numpy.matmul: stacks broadcast, and vectors act as a row (a) or a column (b).

    * `a`, `b`: arrays of numbers in host memory, with any strides. The product is float32 if float32 represents the types of
        a, b and `add`, otherwise float64. Integers are converted to floating point, which must be exact.
    * `alpha`, `beta`: float; beta is the factor of `add`, and 1 by default
    * `add`: array that broadcasts to the shape of the product
    * `accuracy`: "strict" (the same bits on every machine); "split" or "fast" (error of three passes or one pass of a
        GPU's tensor cores, float32 only); or "automatic" (the accuracy of `variant`; without one, "strict")
    * `out`: array with the shape and type of the product and any strides. It may be the same array as `add`, but must
        not overlap a or b.

    The other arguments are the same as for kmeans(). Returns `out` or a new array, or a scalar for two vectors.

    Raises UsageError for shapes that do not fit and other invalid arguments, InputError for inexact conversions,
    UnsupportedError if the variant or device cannot run here, and OutOfMemoryError.

    Examples
    --------
    >>> c = gradus.matmul(a, b)
    >>> gradus.matmul(a, b, beta=-1.0, add=c, out=c)  # c = a @ b - c
    """
    left, right = _operand(a, "a"), _operand(b, "b")
    if add is not None and not _numbers.is_untyped(add):
        add = _arrays._to_numpy(add, "add")
        if add.dtype.kind in "biuf":  # if `add` is float64, the product is computed in float64
            left = left.astype(np.promote_types(_numbers.floating_type(add.dtype, "add"), left.dtype), copy=False)
    rows, columns = left.ndim > 1, right.ndim > 1
    if not rows:
        left = left[np.newaxis, :]
    if not columns:
        right = right[:, np.newaxis]
    batch = _shapes(left, right)
    shape = batch + (left.shape[-2],) * rows + (right.shape[-1],) * columns
    dtype = np.promote_types(left.dtype, right.dtype)
    if add is None and beta is not None:
        raise UsageError.about("beta", "the factor of `add`, which is not given")
    alpha = _factor(alpha, "alpha", dtype)
    beta = 0.0 if add is None else _factor(1.0 if beta is None else beta, "beta", dtype)
    added = None if add is None else _added(add, shape, dtype)
    if out is not None:
        _checked_out(out, shape, dtype, left, right)
    options = options_in("matmul", {"alpha": alpha, "beta": beta, "accuracy": accuracy})
    running = request(device, variant, threads, pinning, block_size, memory_limit, stream, progress)

    written = out if out is not None and _is_written_in_place(out, left, right) else None
    if beta != 0 and added is not None:
        if written is None:
            matrices, (m, k), n = math.prod(batch), left.shape[-2:], right.shape[-1]
            size = matrices * m * n * dtype.itemsize
            _core.matmul_check_memory(matrices, m, k, n, dtype.itemsize, size, running)
            written = np.empty(shape, dtype)
        np.copyto(written, added)
    memory = None
    if written is not None:
        memory = written.reshape((math.prod(batch),) * bool(batch) + (left.shape[-2], right.shape[-1]))
    found, _ = _core.matmul(_stack(left, batch), _stack(right, batch), memory, options, running)
    product = found.reshape(shape) if written is None else written
    if out is None:
        return product if shape else product[()]
    if written is not out:
        np.copyto(out, product)
    return out
