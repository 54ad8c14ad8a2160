"""Arrays in GPU memory, from any library: inputs are read in place, results are arrays of the same library on that GPU.

Arrays are imported through DLPack, or through __cuda_array_interface__ if a library lacks DLPack. If an array needs
another type or layout, the library of the array converts it on the GPU.
"""

from __future__ import annotations

import contextlib
import sys
from contextlib import AbstractContextManager
from typing import Any, Iterator, Sequence

import numpy as np

from gradus import _core, _numbers
from gradus._errors import InputError, UnsupportedError, UsageError

_CUDA, _CUDA_MANAGED = 2, 13  # DLPack's device types
# Kinds of element types, by DLPack's codes.
_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}
_CODES = {"i": 0, "u": 1, "f": 2}  # DLPack's codes of element types, by NumPy's kinds
_LEGACY_STREAM = 1  # DLPack's number for CUDA's legacy default stream
_NO_CONTEXT = contextlib.nullcontext()


def is_on_gpu(source: Any) -> bool:
    """Returns true if the array is in GPU memory."""
    if isinstance(source, OnGpu):
        return True
    if hasattr(source, "__dlpack_device__"):
        try:
            return int(source.__dlpack_device__()[0]) in (_CUDA, _CUDA_MANAGED)
        except BufferError as error:  # JAX raises BufferError for an array that is sharded over several devices
            raise UsageError(f"an array cannot be read in place: {error}") from error
    return hasattr(source, "__cuda_array_interface__")


class Library:
    """Operations that depend on the library of an array.

    The base class serves libraries that have no subclass here. Their arrays are read in place, and results are NumPy
    arrays.
    """

    to_host_words = "{}.copy_to_host()"  #: the call that copies an array to host memory, for messages
    may_be_written = True  #: true if Gradus may write to arrays of the library
    makes_memory = False  #: true if the library can allocate memory for results

    def running(self, source: Any, stream: int | None) -> AbstractContextManager[Any]:
        """Returns a context that makes the array's GPU current, and also the given stream, if any."""
        return _NO_CONTEXT

    def export(self, source: Any, stream: int | None) -> Any:
        """Returns a DLPack capsule and makes the stream wait for the library's pending work on the array."""
        return source.__dlpack__(stream=_LEGACY_STREAM if stream is None else stream)

    def converted(self, source: Any, dtype: np.dtype[Any]) -> Any:
        """Returns a copy with another element type and in C order. Returns None if no subclass supports the library."""
        return None

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], like: Any) -> Any:
        raise NotImplementedError

    def copied_from_host(self, host: np.ndarray[Any, Any], like: Any) -> Any:
        """Copies a NumPy array to the GPU of `like`, as an array of this library."""
        return host

    def to_host(self, source: Any) -> Any:
        return source.copy_to_host()


class _PyTorch(Library):
    to_host_words = "{}.cpu()"
    makes_memory = True

    def __init__(self) -> None:
        self._torch: Any = sys.modules["torch"]

    def running(self, source: Any, stream: int | None) -> AbstractContextManager[Any]:
        cuda, gpu = self._torch.cuda, source.device.index
        if stream is None:
            return _NO_CONTEXT if cuda.current_device() == gpu else cuda.device(gpu)
        # This context makes both the stream and its GPU current.
        return cuda.stream(  # type: ignore[no-any-return]
            cuda.default_stream(gpu) if stream == _LEGACY_STREAM else cuda.ExternalStream(stream, gpu)
        )

    def export(self, source: Any, stream: int | None) -> Any:
        reader = _LEGACY_STREAM if stream is None else stream
        writer = self._torch.cuda.current_stream(source.device.index).cuda_stream or _LEGACY_STREAM
        return source.__dlpack__(stream=-1 if reader == writer else reader)  # -1: the reader need not wait

    def converted(self, source: Any, dtype: np.dtype[Any]) -> Any:
        return source.to(getattr(self._torch, dtype.name)).contiguous()

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], like: Any) -> Any:
        return self._torch.empty(shape, dtype=getattr(self._torch, dtype.name), device=like.device)

    def copied_from_host(self, host: np.ndarray[Any, Any], like: Any) -> Any:
        # PyTorch's own copy is not used: above 64 KB, it waits until the driver has cleared the memory that the job
        # freed.
        made, gpu = self.empty(host.shape, host.dtype, like), like.device.index
        _core.copy_to_gpu(made.data_ptr(), host, gpu, self._torch.cuda.current_stream(gpu).cuda_stream)
        return made

    def to_host(self, source: Any) -> Any:
        return source.detach().cpu()


class _CuPy(Library):
    to_host_words = "{}.get()"
    makes_memory = True

    def __init__(self) -> None:
        self._cupy: Any = sys.modules["cupy"]

    def running(self, source: Any, stream: int | None) -> AbstractContextManager[Any]:
        if stream is None:
            return source.device  # type: ignore[no-any-return]
        return self._in_stream(source.device, stream)

    @contextlib.contextmanager
    def _in_stream(self, device: Any, stream: int) -> Iterator[None]:
        cuda = self._cupy.cuda
        with device, cuda.Stream.null if stream == _LEGACY_STREAM else cuda.ExternalStream(stream, device.id):
            yield

    def converted(self, source: Any, dtype: np.dtype[Any]) -> Any:
        return self._cupy.ascontiguousarray(source, dtype)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], like: Any) -> Any:
        return self._cupy.empty(shape, dtype)

    def copied_from_host(self, host: np.ndarray[Any, Any], like: Any) -> Any:
        return self._cupy.asarray(host)

    def to_host(self, source: Any) -> Any:
        return source.get()


class _Jax(Library):
    """JAX arrays are immutable, so results are computed in host memory and copied to the GPU."""

    to_host_words = "numpy.asarray({})"
    may_be_written = False

    def __init__(self) -> None:
        self._jax: Any = sys.modules["jax"]

    def export(self, source: Any, stream: int | None) -> Any:
        # JAX writes arrays in streams that are private to JAX, so other libraries cannot wait for them.
        source.block_until_ready()
        return source.__dlpack__()

    def converted(self, source: Any, dtype: np.dtype[Any]) -> Any:
        return source.astype(dtype)

    def copied_from_host(self, host: np.ndarray[Any, Any], like: Any) -> Any:
        return self._jax.device_put(host, next(iter(like.devices())))

    def to_host(self, source: Any) -> Any:
        return np.asarray(source)


_LIBRARIES: dict[str, type[Library]] = {"torch": _PyTorch, "cupy": _CuPy, "jax": _Jax, "jaxlib": _Jax}


_found: dict[type, Library] = {}  # maps the type of an array to the Library object


def _library(source: Any) -> Library:
    kind = type(source)
    if kind not in _found:
        roots = (base.__module__.partition(".")[0] for base in kind.__mro__)
        _found[kind] = next((_LIBRARIES[root] for root in roots if root in _LIBRARIES), Library)()
    return _found[kind]


class OnGpu:
    """An imported GPU array, which the extension module can read repeatedly through DLPack."""

    __slots__ = ("source", "library", "held", "address", "shape", "strides", "element", "gpu", "stream", "read_only")

    def __init__(self, source: Any, held: Any, stream: int | None, read_only: bool = False) -> None:
        self.source, self.held, self.stream = source, held, stream
        self.library = _library(source)
        self.read_only = read_only or not self.library.may_be_written
        self.address, self.shape, self.strides, code, bits, _, self.gpu = _core.array_facts(held)
        kind = _KINDS.get(code, f"DLPack's kind {code} of ")
        #: Name of the element type, which NumPy may lack (bfloat16).
        self.element = kind if kind == "bool" else f"{kind}{bits}"

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.element)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __dlpack__(self, **asked: Any) -> Any:
        return self.held.__dlpack__(**asked)

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CUDA, self.gpu

    def has_contiguous_rows(self) -> bool:
        """Returns true if rows are contiguous and do not overlap. Gaps between rows are allowed."""
        *apart, step = self.strides
        *rows, columns = self.shape
        if step != 1 and columns > 1:
            return False
        return not rows or rows[-1] <= 1 or bool(apart[-1] >= columns)

    def is_c_contiguous(self) -> bool:
        """Returns true if the elements are contiguous in C order."""
        step = 1
        for length, stride in zip(reversed(self.shape), reversed(self.strides)):
            if length > 1 and stride != step:
                return False
            step *= length
        return True

    def astype(self, dtype: Any) -> OnGpu:
        return converted(self, np.dtype(dtype), "the array")


def _without_gpu(what: str, library: Library) -> None:
    reason = _core.why_no_gpu()
    if reason:
        raise UnsupportedError.about(
            what, f"the array is on a GPU, but {reason}; pass {library.to_host_words.format(what)}"
        )


def _of_interface(source: Any, what: str, stream: int | None) -> OnGpu:
    """Imports an array through __cuda_array_interface__. This interface does not state the array's GPU, so the function
    asks CUDA for it."""
    facts = source.__cuda_array_interface__
    address, read_only = facts["data"]
    dtype, shape, written_in = np.dtype(facts["typestr"]), tuple(facts["shape"]), facts.get("stream")
    if dtype.kind not in _CODES or not dtype.isnative:
        raise InputError.about(what, f"the elements are of the type {dtype}; real numbers are needed")
    steps = facts.get("strides") or _steps_of_c(shape, dtype.itemsize)
    if any(step % dtype.itemsize for step in steps):
        raise UnsupportedError.about(what, f"the strides are {steps} bytes, not multiples of the element size")
    gpu = _core.gpu_of_memory(address)
    if gpu is None:
        raise UsageError.about(what, f"its __cuda_array_interface__ names an address that is not memory of a GPU")
    if written_in is not None:
        _core.wait_for_stream(gpu, 0 if written_in == _LEGACY_STREAM else written_in)
    strides = [step // dtype.itemsize for step in steps]
    held = _core.hold_memory(
        address, list(shape), strides, _CODES[dtype.kind], 8 * dtype.itemsize, gpu, source
    )
    return OnGpu(source, held, stream, read_only)


def _steps_of_c(shape: Sequence[int], itemsize: int) -> list[int]:
    steps = [itemsize]
    for length in reversed(shape[1:]):
        steps.insert(0, steps[0] * length)
    return steps[: len(shape)]


def imported(source: Any, what: str, stream: int | None) -> OnGpu:
    """Imports an array without a copy. Work that is queued in the stream after this call waits until pending writes to
    the array have finished."""
    if isinstance(source, OnGpu):
        return source
    library = _library(source)
    _without_gpu(what, library)
    if not hasattr(source, "__dlpack__"):
        return _of_interface(source, what, stream)
    try:
        with library.running(source, None):
            return OnGpu(source, _core.hold(library.export(source, stream)), stream)
    except (BufferError, RuntimeError, ValueError) as error:
        raise UsageError.about(what, f"the array cannot be read in place: {error}") from error


def converted(array: OnGpu, dtype: np.dtype[Any], what: str) -> OnGpu:
    """Returns a copy with the given element type, in C order. The array's library makes the copy in the array's stream.
    The library rounds elements if necessary."""
    library = array.library
    with library.running(array.source, array.stream):
        made = library.converted(array.source, dtype)
    if made is None:
        kind = type(array.source)
        raise UnsupportedError.about(
            what, f"an array of {kind.__module__}.{kind.__qualname__}, of the type {array.element}, is not converted "
            f"here; {dtype} is needed, with contiguous rows"
        )
    found = imported(made, what, array.stream)
    if found.element != dtype.name or not found.has_contiguous_rows():
        raise UnsupportedError.about(what, f"the elements are of the type {array.element}, and {dtype} is needed")
    return found


def wanted_type(array: OnGpu, what: str) -> np.dtype[Any]:
    """Returns float32 if it represents all values of the array's type exactly, otherwise float64."""
    if array.element in ("float16", "bfloat16", "bool"):
        return np.dtype(np.float32)
    if not array.element.startswith(("int", "uint", "float")):
        raise InputError.about(what, f"the elements are of the type {array.element}; real numbers are needed")
    return np.promote_types(array.dtype, np.float32)


def as_rows(
    source: Any, what: str, dimensions: int, dtype: np.dtype[Any] | None, stream: int | None, exact: bool = True
) -> OnGpu:
    """Imports an array. If its type is not the wanted type, or if its rows are not contiguous, converts the array.

    `dtype` is the wanted type (None: float32 if it represents all values of the array's type, otherwise float64). With
    `exact`, raises InputError if the wanted type cannot represent an element exactly. The search for such an element
    runs in host memory.
    """
    array = imported(source, what, stream)
    if len(array.shape) != dimensions:
        if dimensions == 2:
            _numbers.refuse_shape(array.shape, what)
        needed = "one dimension is needed" if dimensions == 1 else "three dimensions are needed, a matrix for each problem"
        raise UsageError.about(what, f"an array of the shape {array.shape}; {needed}")
    wanted = wanted_type(array, what)
    if dtype is not None:
        wanted = dtype
    if array.element == wanted.name and array.has_contiguous_rows():
        return array
    made = converted(array, wanted, what)
    if exact and array.element not in ("bfloat16", "bool") and _numbers.may_round(array.dtype, wanted):
        _numbers.refuse_rounding(np.asarray(to_host(array)), what, wanted)
    return made


def column_groups(rows: OnGpu, groups: int) -> OnGpu:
    """Returns a view of n rows whose columns are divided into groups of equal size: groups x n x size."""
    n, columns = rows.shape
    size = columns // groups
    code = _CODES[rows.dtype.kind]
    held = _core.hold_memory(
        rows.address, [groups, n, size], [size, rows.strides[0], 1], code, 8 * rows.dtype.itemsize, rows.gpu, rows.held
    )
    return OnGpu(rows.source, held, rows.stream, rows.read_only)


def new(shape: tuple[int, ...], dtype: np.dtype[Any], like: OnGpu, stream: int | None) -> OnGpu | None:
    """Allocates a result on the GPU of `like`, as an array of the library of `like`. Returns None if this library has
    no writable arrays."""
    library = like.library
    if not library.makes_memory:
        return None
    with library.running(like.source, None):
        made = library.empty(shape, dtype, like.source)
    return imported(made, "the result", stream)


def copied_from_host(host: np.ndarray[Any, Any], like: OnGpu) -> Any:
    """Copies a NumPy array to the GPU of `like`, as an array of the library of `like`."""
    with like.library.running(like.source, None):
        return like.library.copied_from_host(host, like.source)


def to_host(source: Any) -> Any:
    """Copies an array to host memory."""
    if isinstance(source, OnGpu):
        source = source.source
    library = _library(source)
    with library.running(source, None):
        return library.to_host(source)


def host_copy_call(source: Any, what: str) -> str:
    """Returns the call, in Python, that copies the array to host memory."""
    return _library(source).to_host_words.format(what)
