"""What an error that is not ours means to the user."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tclose_spark.errors import ConfigurationError, TcloseError, text_of
from tclose_spark.io.causes import AT_WORK, cause_of, why_no_import
from tclose_spark.io.storage.disks import full_disk

DEBUG = "TCLOSE_DEBUG"
OPTION = re.compile(r"(?<![\w-])--([a-z]+(?:-[a-z]+)*)")
ARGUMENTS = {
    "overwrite": "overwrite=True",
    "set": "overrides",
    "class": "labels",
    "option": "options",
    "config": "spec",
    "hierarchy": "hierarchies",
}
"""What options of the command line are called in Python, where that is not their name."""


def known(error: Exception) -> TcloseError | None:
    """What an error from inside a task, or of a file system, means to the user, if that is known."""
    found: TcloseError | None = cause_of(text_of(error), AT_WORK)
    if found is None and type(error).__module__.startswith(("pyspark", "py4j")):
        from tclose_spark.io.input.read_errors import meaning

        found = meaning(error)
    if found is not None:
        return found
    if isinstance(error, ImportError):
        return ConfigurationError(why_no_import(error))
    if isinstance(error, PermissionError | NotADirectoryError | FileExistsError):
        return ConfigurationError(f"{error.filename} cannot be read or written ({error.strerror})")
    return full_disk(error, "what is written")


def unexpected(error: Exception) -> str:
    """What is said of an error whose text may hold values of people."""
    condition = None
    with suppress(Exception):  # the JVM that knows it may have ended
        condition = getattr(error, "getCondition", lambda: None)()
    name = f"{type(error).__name__}{f' ({condition})' if condition else ''}"
    return (
        f"unexpected {name} (what was not finished is not public). {DEBUG}=1 shows it whole (it may show values of "
        "people)"
    )


@contextmanager
def full_disks_named(folder: str) -> Iterator[None]:
    """Raises ConfigurationError, naming the disk, for what a full one did in the body, which writes to the folder."""
    try:
        yield
    except Exception as error:
        named = None if isinstance(error, TcloseError) and error.__cause__ is None else full_disk(error, folder)
        if named is None:
            raise
        raise named from error


def in_python(text: str) -> str:
    """A message with arguments where it names options of the command line.

    >>> in_python("give --overwrite, or --quasi-identifiers a,b")
    'give overwrite=True, or quasi_identifiers a,b'
    """
    return OPTION.sub(lambda option: ARGUMENTS.get(option[1]) or option[1].replace("-", "_"), text)


@contextmanager
def translate_errors() -> Iterator[None]:
    """Every error of the body is a `TcloseError`, whose message and traceback show no value of a person; with
    TCLOSE_DEBUG they are as they were raised.
    """
    try:
        yield
    except TcloseError as error:
        error.args = (in_python(str(error)),)
        if os.environ.get(DEBUG):
            raise
        raise error from None
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        raise (known(error) or TcloseError(unexpected(error))) from None
