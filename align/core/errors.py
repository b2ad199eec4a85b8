"""The two kinds of failure a user can meet, each a single clear line."""

import re

# What libraries say, and what stands in files, may have line breaks in it.
_BREAK = re.compile(r"\s*[\r\n]\s*")


class LiaisonError(Exception):
    """A failure to be told to the user in one line; the process ends with ``exit_status``.

    The message has the form ``<where>: <what is wrong, with the value>; <what to do>``.
    """

    exit_status = 1

    def __init__(self, message: str = "") -> None:
        super().__init__(_BREAK.sub(" ", message.strip("\r\n")))


class WorkError(LiaisonError):
    """The work itself failed: a server, a disk, a computation (exit status 1)."""


class InputError(LiaisonError):
    """The input or the usage is wrong: a file, a line, an option (exit status 2)."""

    exit_status = 2


# What libraries say where they get no memory, by the kind of error they say it with; a SystemError is one of
# a function in C that failed without looking why.
_NO_MEMORY = {
    ImportError: ("failed to map segment", "annot allocate memory", "load shared object"),
    OSError: ("failed to map segment", "annot allocate memory", "load shared object"),
    RuntimeError: ("can't start new thread",),
    SystemError: ("without exception set", "without setting an exception"),
}


def is_out_of_memory(error: BaseException | None) -> bool:
    """Tell whether an error, or what led to it, means that there was no memory, or none for a library."""
    while error is not None:
        if isinstance(error, MemoryError) or any(
            isinstance(error, kind) and text in str(error)
            for kind, texts in _NO_MEMORY.items()
            for text in texts
        ):
            return True
        error = error.__cause__ or error.__context__
    return False
