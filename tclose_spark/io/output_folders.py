"""The folders of a run: what is public, what stays inside, and what is staged; the lock on them,
and the key of all hashes, which stays inside.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from tclose_spark.errors import ConfigurationError, GuaranteeError
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.storage.folder import NEW
from tclose_spark.io.storage.folders import Folder, local_path, open_folder
from tclose_spark.io.storage.lock import LOCK, is_of_lock, locked
from tclose_spark.io.tables.exports import EXPORT_NAMES
from tclose_spark.runfile.release_form import SENSITIVE_TABLES
from tclose_spark.runfile.spec import Output

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
                f"output: {public.path()} is being written by another run; run again after its end",
            ) from None
        raise


CERTIFICATE = "certificate.json"
REPORT = "report.html"
CODEBOOK = "codebook.csv"
CONTRACT = "contract.yaml"
LINKED = "linked"
PEOPLE = "people"
ATOMS = "atoms"
RECORDS = "records"
HISTORY = "history.json"
HOUSEHOLDS = "households"
SUCCESSOR = "continued_by"
"""In `internal`: the public folder of the release that continues this one."""
PUBLIC = ("release", *SENSITIVE_TABLES, *EXPORT_NAMES, CODEBOOK, CONTRACT, REPORT, CERTIFICATE)
"""The entries of a public folder, in the order in which a publication without a whole replacement
places them.
"""
STATE = "run.json"
MINIMALITY = "minimality.json"
PROBLEMS = "problems.json"


class OutputFolders:
    """The folders of a run: `public`, `internal`, and `staging` inside it."""

    def __init__(self, output: Output, session: SparkSession | LocalSession) -> None:
        self.session = session
        self.public: Folder = open_folder(output.public_path, session)
        self.internal: Folder = open_folder(output.internal_path, session)
        self.staging: Folder = open_folder(self.internal.path("staging"), session)

    @property
    def finished(self) -> bool:
        """Whether the output holds a finished release."""
        return self.public.exists(CERTIFICATE)

    def require_ours(self, overwrite: bool) -> set[str]:
        """The unfinished copies between file systems in `public`, by name.

        Raises:
            ConfigurationError: if the output holds a finished release and `overwrite` is not set,
                or other files.
        """
        if self.finished and not overwrite:
            raise ConfigurationError(
                f"output: {self.public.path()} holds a finished release; give --overwrite to "
                "replace it once the new one is verified",
            )
        there = (
            {name for name in self.public.names() if not is_of_lock(name)}
            if self.public.exists()
            else set[str]()
        )
        # Unfinished copies between file systems.
        partial = there & {f"{name}.partial" for name in PUBLIC}
        foreign = sorted(there - {*PUBLIC} - partial)
        if foreign:
            raise ConfigurationError(
                f"output: {self.public.path()} holds other files, such as {foreign[0]!r}; give a "
                "folder of its own",
            )
        return partial

    def clear(self, remains: set[str]) -> None:
        """Removes these entries of `public` and all that is staged, and creates the folders."""
        for name in remains:
            self.public.remove(name)
        new = self.public.sibling(NEW)
        if new is not None:
            new.remove()
        self.internal.create(private=True)
        self.staging.remove()
        self.staging.create(private=True)

    @contextmanager
    def locked(self, to_read: bool = False) -> Iterator[None]:
        """Holds a lock on both output folders during the body; two run files may share a public
        folder. The lock of the public folder is beside it, or inside it if the folder cannot be
        replaced as a whole.

        to_read: the body reads a finished release only. Then an output that this process cannot
            write needs no lock.

        Raises:
            ConfigurationError: if another run holds a lock (see `lock`), or the output cannot be
                written.
        """
        with self.refusals_translated():
            needs_none = to_read and not self.is_writable and self.internal.exists(STATE)
        if needs_none:
            with read_unlocked(self.internal, STATE, self.public):
                yield
            return
        with ExitStack() as locks:
            with self.refusals_translated():
                self.internal.create(private=True)
                locks.enter_context(locked(self.internal))
                beside = self.public.sibling(LOCK)
                folder, _, name = (beside.path() if beside else self.public.path(LOCK)).rpartition(
                    "/",
                )
                parent = open_folder(folder or "/", self.session)
                parent.create()
                locks.enter_context(locked(parent, name, self.public.path()))
                self.public.restore()
            yield

    @property
    def is_writable(self) -> bool:
        """Whether this process can write to both output folders."""
        return are_writable(self.internal, self.public)

    @contextmanager
    def refusals_translated(self) -> Iterator[None]:
        """Raises ConfigurationError if a file system refuses an operation of the body."""
        try:
            yield
        except OSError as error:
            why = error.strerror or "its file system refuses"
            public = self.public.path()
            folder = public if str(error.filename).startswith(public) else self.internal.path()
            raise ConfigurationError(f"output: {folder} cannot be written ({why})") from None


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
            "have, or unset it to use a random secret, kept in internal/secret",
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
            "pseudonyms",
        )
    return kept
