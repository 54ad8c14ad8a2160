"""Runs a job on several processes, by the argument `communicator=` of the functions:

    from mpi4py import MPI
    rows = gradus.mpi.rows_of_rank(len(points), MPI.COMM_WORLD)
    result = gradus.kmeans(points[rows], 4096, communicator=MPI.COMM_WORLD)

A separate library, loaded by the first such call, connects Gradus to MPI. It must use the same MPI as mpi4py.

With communicator="torchrun", the processes are those that torchrun has started, one for each GPU. They exchange data
through NCCL and need no MPI.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import operator
import os
import sys
from typing import Any, Callable, Iterator, NoReturn, TypeVar

from gradus import _core, _errors, _torchrun
from gradus._errors import Error, UnsupportedError, UsageError
from gradus._options import names_arguments, request

Result = TypeVar("Result")

_VARIABLE = "GRADUS_MPI_LIBRARY"
_NAME = "libgradus_mpi_process.so"


def library() -> str:
    """Returns the path of the library that connects Gradus to MPI. The path is $GRADUS_MPI_LIBRARY or, if this variable
    is not set, the file in the package."""
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", _NAME)
    return os.environ.get(_VARIABLE, own)


@functools.lru_cache(maxsize=1)
def _opened(file: str) -> ctypes.CDLL:
    # The library is never unloaded, because MPI stays active until the process ends.
    try:
        functions = ctypes.CDLL(file)
        functions.gradus_mpi_library_version.restype = ctypes.c_char_p
        functions.gradus_mpi_open.restype = ctypes.c_void_p
        functions.gradus_mpi_open.argtypes = [
            ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t,
        ]  # fmt: skip
        functions.gradus_mpi_close.restype = None
        functions.gradus_mpi_close.argtypes = [ctypes.c_void_p]
    except (OSError, AttributeError) as error:
        raise UnsupportedError.about(
            "communicator", f"the library by which Gradus meets MPI cannot be used ({error}); install Gradus where "
            f"MPI is (GRADUS_MPI=ON), or name the {_NAME} of an installation in {_VARIABLE}"
        ) from error
    return functions


def library_version() -> str:
    """Returns the version text of the MPI that library() is linked with. Raises UnsupportedError if the library cannot
    be loaded."""
    version: bytes = _opened(library()).gradus_mpi_library_version()
    return version.decode()


def _checked(communicator: Any) -> Any:
    """Returns the communicator, or an object that replaces it for the processes of torchrun.

    Raises UsageError unless `communicator` is an mpi4py intracommunicator or "torchrun", and UnsupportedError if mpi4py
    uses another MPI.
    """
    if isinstance(communicator, str) and communicator == "torchrun":
        return _torchrun.joined()
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is None or not isinstance(communicator, mpi.Intracomm) or communicator == mpi.COMM_NULL:
        raise UsageError.about(
            "communicator", f"{communicator!r}; an intracommunicator of mpi4py is needed, such as MPI.COMM_WORLD, or 'torchrun'"
        )
    ours, theirs = library_version(), mpi.Get_library_version().rstrip("\0")
    if ours != theirs:
        raise UnsupportedError.about(
            "communicator", f"mpi4py uses {theirs!r}, but {library()!r} uses {ours!r}; both must use the same MPI: "
            "install mpi4py from source (pip install --no-binary mpi4py mpi4py), or build Gradus, with the other's MPI"
        )
    return communicator


def _agreed(communicator: Any, prepared: Callable[[], Result]) -> Result:
    """Calls prepared() on all processes. If the call fails on one process, all processes raise an error, so that no
    process waits for the failed one."""
    caught: Exception | None = None
    try:
        result = prepared()
    except Exception as error:  # noqa: BLE001: the other processes must learn of any exception
        caught = error
    trouble = None if caught is None else (type(caught).__name__, str(caught), getattr(caught, "__dict__", {}))
    troubles = communicator.allgather(trouble)
    if caught is not None:
        raise caught
    for rank, trouble in enumerate(troubles):
        if trouble is not None:
            name, text, fields = trouble
            kind = getattr(_errors, name, Error)
            raise kind(f"rank {rank} of {communicator.size}: {text}", **(fields if hasattr(_errors, name) else {}))
    return result


def end_for_all(communicator: Any, error: Exception) -> NoReturn:
    """Raises an error that this process found before a call. The other processes are already waiting in the call. They
    raise the error, too."""

    def prepared() -> NoReturn:
        raise error

    _agreed(_checked(communicator), prepared)
    raise error


@contextlib.contextmanager
def _joined(communicator: Any, request: _core.Request) -> Iterator[None]:
    """Attaches a duplicate of the communicator to the request, so that messages of Gradus do not mix with the caller's
    messages. The processes of torchrun have a communicator that only Gradus uses."""
    if isinstance(communicator, _torchrun.Launched):
        request.communicator = communicator.address
        try:
            yield
        finally:
            request.communicator = None
        return
    mpi = sys.modules["mpi4py.MPI"]
    functions = _opened(library())
    why = ctypes.create_string_buffer(500)
    opened = functions.gradus_mpi_open(
        _core.version().encode(), mpi._addressof(communicator), mpi._sizeof(communicator), why, len(why)
    )
    if not opened:
        raise UnsupportedError.about("communicator", why.value.decode())
    try:
        request.communicator = opened
        yield
    finally:
        request.communicator = None
        functions.gradus_mpi_close(opened)


def run(communicator: Any, function: Callable[..., Result], prepared: Callable[[], tuple[Any, ...]]) -> tuple[tuple[Any, ...], Result]:
    """Calls an extension function on all processes, with the arguments that prepared() returns. The last argument is a
    request."""
    communicator = _checked(communicator)

    def converted() -> tuple[Any, ...]:
        """The extension module checks the arguments before the call. If one process found an error only during the
        call, the other processes would wait for this process."""
        arguments = prepared()
        if arguments[-1].gpus:
            raise UnsupportedError.about("gpus", "with a communicator, each process uses one GPU; start one process for each GPU")
        if isinstance(communicator, _torchrun.Launched) and communicator.gpu is not None:
            arguments[-1].use_gpu(communicator.gpu)
        arguments[-1].only_checks = True
        try:
            function(*arguments)
        except StopIteration:
            pass
        finally:
            arguments[-1].only_checks = False
        return arguments

    arguments = _agreed(communicator, converted)
    with _joined(communicator, arguments[-1]):
        return arguments, function(*arguments)


@names_arguments
def rows_of_rank(rows: int, communicator: Any) -> slice:
    """Returns the rows of this process if `rows` rows are split evenly over the processes, in rank order. `gradus`
    splits files in the same way.

    * `rows`: int; total number of rows, the same on all processes
    * `communicator`: communicator of mpi4py, or "torchrun"; all its processes make this call

    Returns a slice.
    """
    if _checked(communicator).size == 1:
        return slice(0, operator.index(rows))

    def prepared() -> tuple[Any, ...]:
        return operator.index(rows), request("cpu", None, 1, "none", None, None, None, None)

    _, (first, count) = run(communicator, _core.rows_of_rank, prepared)
    return slice(first, first + count)
