"""Finished outputs that this process can read, and cannot lock."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from tclose_spark.errors import ConfigurationError, GuaranteeError
from tclose_spark.io.storage.folders import Folder, local_path
from tclose_spark.io.storage.lock import LOCK


def are_writable(*folders: Folder) -> bool:
    """Whether this process can write to these folders, as far as they are local and exist."""
    local = filter(None, (local_path(folder.path()) for folder in folders))
    return all(os.access(path, os.W_OK) for path in local if path.exists())


@contextmanager
def read_unlocked(internal: Folder, state: str, public: Folder) -> Iterator[None]:
    """Raises ConfigurationError for a release that does not hold because another run replaces it
    during the body.

    state: the name of the file in the internal folder that each run replaces.
    """
    before = internal.read(state)
    try:
        yield
    except GuaranteeError:
        if internal.exists(LOCK) or not internal.exists(state) or internal.read(state) != before:
            raise ConfigurationError(
                f"output: {public.path()} is being written by another run; run again after its end"
            ) from None
        raise
