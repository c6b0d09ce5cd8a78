"""The key of all hashes of a run."""

from __future__ import annotations

import os
import secrets

from tclose_spark.errors import ConfigurationError
from tclose_spark.io.storage.folders import Folder

SECRET_VARIABLE = "TCLOSE_SECRET"  # noqa: S105 - a name, not a secret


def secret_from_environment() -> str | None:
    """The value of TCLOSE_SECRET; None if it is not set.

    Raises:
        ConfigurationError: if it is empty, which is a mistake, not a request for another secret.
    """
    given = os.environ.get(SECRET_VARIABLE)
    if given is not None and not given.strip():
        raise ConfigurationError(
            f"{SECRET_VARIABLE} is set, but empty; set it to a long random text that only you "
            "have, or unset it to use a random secret, kept in internal/secret"
        )
    return given


def kept_secret(internal: Folder, earlier: Folder | None) -> str:
    """The secret in `internal/secret`. The first run makes it at random, or takes that of the run
    that it continues.

    Raises:
        ConfigurationError: if that file is empty or damaged.
    """
    if not internal.exists("secret"):
        given = (
            _secret_in(earlier)
            if earlier is not None and earlier.exists("secret")
            else secrets.token_hex(32)
        )
        internal.write("secret", given, private=True)
    return _secret_in(internal)


def _secret_in(folder: Folder) -> str:
    """The secret that a run keeps there; an empty one would key nothing."""
    try:
        kept = folder.read("secret").strip()
    except UnicodeDecodeError:
        kept = ""
    if not kept:
        raise ConfigurationError(
            f"{folder.path('secret')} is empty or damaged; put it back from a copy, or remove it: "
            "the next release then makes a new secret, and with it other classes and other "
            "pseudonyms"
        )
    return kept
