"""The errors of the library. Each is also the built-in one that fits it."""


class Error(RuntimeError):
    """Base of all errors, and by itself: a run-time failure such as a full disk."""


class UsageError(Error, ValueError):
    """A wrong option or argument."""


class InputError(Error, ValueError):
    """Bad data: an array that does not hold what it should."""


class UnsupportedError(Error, NotImplementedError):
    """Something that this machine or this build cannot do."""


class OutOfMemoryError(Error, MemoryError):
    """Memory does not suffice: that of the machine or of a GPU, or what `memory_limit` allows of it."""
