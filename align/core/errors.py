"""The two kinds of failure a user can meet, each a single clear line."""


class LiaisonError(Exception):
    """A failure to be told to the user in one line; the process ends with ``exit_status``.

    The message has the form ``<where>: <what is wrong, with the value>; <what to do>``.
    """

    exit_status = 1


class WorkError(LiaisonError):
    """The work itself failed: a server, a disk, a computation (exit status 1)."""


class InputError(LiaisonError):
    """The input or the usage is wrong: a file, a line, an option (exit status 2)."""

    exit_status = 2


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether an error means that there was no memory, be it for a compiled module that is loaded."""
    told = ("failed to map segment", "annot allocate memory")
    return isinstance(error, MemoryError) or (
        isinstance(error, ImportError) and any(text in str(error) for text in told)
    )
