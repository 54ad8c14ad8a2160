"""The errors of the library. Each is also the built-in one that fits it."""

from __future__ import annotations

from typing import Any, TypeVar

AnyError = TypeVar("AnyError", bound="Error")


class Error(RuntimeError):
    """Base of all errors, and by itself: a run-time failure such as a full disk.

    What is known about an error is in its attributes, for programs; the others are None.
    """

    code: str = "failed"  #: names the kind of error; it never changes
    argument: str | None = None  #: the name of the argument
    file: str | None = None
    row: int | None = None  #: of an array counted from 0, of a text file the line, counted from 1
    column: int | None = None  #: counted as the row
    byte: int | None = None  #: in the file, counted from 0
    value: str | None = None  #: the value that was refused
    allowed: str | None = None  #: the values that are not
    remedy: str | None = None  #: what you can do

    def __init__(self, *args: object, **fields: Any) -> None:
        super().__init__(*args)
        self.__dict__.update(fields)

    @classmethod
    def about(cls: type[AnyError], argument: str, text: str, **fields: Any) -> AnyError:
        """The error whose text begins with the name of an argument."""
        return cls(f"{argument}: {text}", argument=argument, **fields)


class UsageError(Error, ValueError):
    """A wrong option or argument."""

    code = "bad_argument"


class InputError(Error, ValueError):
    """Bad data: an array that does not hold what it should."""

    code = "bad_input"


class UnsupportedError(Error, NotImplementedError):
    """Something that this machine or this build cannot do."""

    code = "not_supported"


class OutOfMemoryError(Error, MemoryError):
    """Memory does not suffice: that of the machine or of a GPU, or what `memory_limit` allows of it."""

    code = "out_of_memory"
