"""One run: its spec, its folders, its secret, and the state that one stage leaves for the next."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError

from tclose_spark.errors import ConfigurationError, GuaranteeError, TcloseError
from tclose_spark.io import lineage
from tclose_spark.io.interrupts import raise_again
from tclose_spark.io.spark.progress import Progress, no_progress
from tclose_spark.io.spark.shuffles import sized_shuffles
from tclose_spark.io.storage.folders import Folder, open_folder
from tclose_spark.io.storage.lock import LOCK, TAKEOVER, locked
from tclose_spark.io.storage.replacing import NEW
from tclose_spark.io.tables.columns import read_hierarchies
from tclose_spark.io.tables.exports import EXPORT_NAMES
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.hierarchies.building import (
    HIERARCHIES,
    RELEASED_HIERARCHIES,
    built_columns,
    file_of,
    hierarchy_csv,
    settings_of,
    with_missing,
)
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECRET_VARIABLE = "TCLOSE_SECRET"  # noqa: S105 - a name, not a secret
CERTIFICATE, REPORT, LINKED = "certificate.json", "report.html", "linked"
PUBLIC = ("release", *EXPORT_NAMES, REPORT, CERTIFICATE)
"""What may lie in the public folder, in the order in which it is placed where parts are placed one by one."""
"""Appended to the name of the public folder: the one that is about to replace it."""
STATE = "run.json"
PROBLEMS = "problems.json"
ORDER = ("profile", "plan", "anonymize", "verify", "report", "publish")

NEEDED = {
    "profile": {"input", "repeated"},
    "anonymize": {"written"},
    "verify": {"verdict", "minimality", "files"},
    "report": {"exports", "files"},
}
"""What each stage writes down that later ones look up; older versions of the package did not write all of it."""

Announce = Callable[[str], None]


def given_secret() -> str | None:
    """The secret of the environment, if there is one.

    Raises:
        ConfigurationError: if it is empty: a variable that was set and holds nothing is a mistake, not a wish for
        another secret.
    """
    given = os.environ.get(SECRET_VARIABLE)
    if given is not None and not given.strip():
        raise ConfigurationError(
            f"{SECRET_VARIABLE} is set, but empty; set it to a long random text that only you have, "
            "or unset it for one that is made and kept in internal/secret"
        )
    return given


def _is_whole(state: Mapping[str, Any]) -> bool:
    """Whether the stages that are done wrote down all that later ones look up."""
    return all(NEEDED.get(name, set()) <= record.keys() for name, record in state["stages"].items())


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class Run:
    """A run on a session.

    Everything is staged in `internal/staging`; its `run.json` says of which configuration it is and which stages are
    done (and what they found), so that each stage can run in a process of its own.
    """

    def __init__(
        self,
        spec: ReleaseSpec,
        spark: SparkSession,
        announce: Announce,
        overwrite: bool = False,
        progress: Progress = no_progress,
    ) -> None:
        self._given_secret = given_secret()
        self._asked, self._k = spec, spec.privacy.k
        self._id: str | None = None
        self._built: dict[str, Hierarchy] = {}
        self._public: dict[str, Hierarchy] = {}
        self.spark, self.announce, self.overwrite, self.progress = spark, announce, overwrite, progress
        self.public: Folder = open_folder(spec.output.public_path, spark)
        self.internal: Folder = open_folder(spec.output.internal_path, spark)
        self.staging: Folder = open_folder(self.internal.path("staging"), spark)

    @property
    def spec(self) -> ReleaseSpec:
        """The run file; its k is the one that was chosen, once the plan has chosen it."""
        return self._asked.with_k(self._k) if self._asked.privacy.alpha is not None else self._asked

    def take_k(self, state: Mapping[str, Any]) -> None:
        """Takes the k that the plan chose, from what the stages wrote down."""
        self._k = state["stages"].get("plan", {}).get("k", {"k": self._asked.privacy.k})["k"]

    @cached_property
    def _read_hierarchies(self) -> dict[str, Hierarchy]:
        """The hierarchies that the run file has the paths of, by column.

        Raises:
            ConfigurationError: if one cannot be read or is not a tree.
        """
        attributes = self.spec.attributes
        return read_hierarchies(
            attributes.quasi_identifiers, attributes.sensitive_attributes, self.spark, "attributes."
        )

    @property
    def hierarchies(self) -> dict[str, Hierarchy]:
        """The hierarchies by column; those that are built are among them once the profile has built them.

        Raises:
            ConfigurationError: if one cannot be read or is not a tree.
        """
        return {**self._read_hierarchies, **self._built}

    @property
    def public_hierarchies(self) -> dict[str, Hierarchy]:
        """The hierarchies by column, as a release may show them: those that are built name no value that only
        suppressed rows have.
        """
        return {**self.hierarchies, **self._public}

    def keep_hierarchies(self, trees: Mapping[str, Hierarchy], folder: str = HIERARCHIES) -> dict[str, str]:
        """Writes hierarchies that are built of the input's values, as CSV, to the staging area, from where later stages
        read them; the SHA-256 of each file.

        folder: HIERARCHIES for those of all values, RELEASED_HIERARCHIES for those that the release may show.
        """
        digests, built = {}, built_columns(self.spec.attributes)
        for name in built.keys() & trees.keys():
            text = hierarchy_csv(trees[name].without_missing(), built[name][1])
            self.staging.write(file_of(name, folder), text, private=True)
            digests[name] = _sha256(text)
            (self._built if folder == HIERARCHIES else self._public)[name] = trees[name]
        return dict(sorted(digests.items()))

    def take_hierarchies(self, state: Mapping[str, Any], folder: Folder) -> None:
        """Takes the hierarchies that the profile built, and those of released values, from the files in a folder: the
        staging area, or what is kept of a finished run.

        Raises:
            GuaranteeError: if one is not what was written.
        """
        stages, built = state["stages"], built_columns(self.spec.attributes)
        for stage, place, trees in (
            ("profile", HIERARCHIES, self._built),
            ("anonymize", RELEASED_HIERARCHIES, self._public),
        ):
            trees.clear()
            for name, digest in stages.get(stage, {}).get("hierarchies", {}).items():
                file, key = file_of(name, place), built[name][1]
                text = folder.read(file) if folder.exists(file) else ""
                if _sha256(text) != digest:
                    raise GuaranteeError(f"{folder.path(file)} is not the hierarchy that was built for this release")
                trees[name] = with_missing(Hierarchy.parse(text, key), settings_of(self.spec.attributes, name), key)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the configuration, the hierarchies that it has the paths of included; a k that is to be chosen is
        none.
        """
        trees = {name: hierarchy.paths for name, hierarchy in sorted(self._read_hierarchies.items())}
        return hashlib.sha256(f"{self._asked.fingerprint} {json.dumps(trees)}".encode()).hexdigest()

    @cached_property
    def secret(self) -> str:
        """What keys all hashes: the environment's, else the one in `internal/secret`, made at the first run."""
        if self._given_secret is not None:
            return self._given_secret
        if not self.internal.exists("secret"):
            self.internal.write("secret", secrets.token_hex(32), private=True)
        return self.internal.read("secret").strip()

    @property
    def finished(self) -> bool:
        """Whether there is a finished release at the output."""
        return self.public.exists(CERTIFICATE)

    def begin(self) -> None:
        """Makes the folders and an empty staging area.

        Raises:
            ConfigurationError: if the output is finished and not to be overwritten, or cannot be written.
        """
        if self.finished and not self.overwrite:
            raise ConfigurationError(
                f"output: {self.public.path()} holds a finished release; give --overwrite to replace it once the new "
                "one is verified"
            )
        there = set(self.public.names()) - {LOCK, LOCK + TAKEOVER} if self.public.exists() else set[str]()
        broken_off = there & {f"{name}.partial" for name in PUBLIC}  # copies between file systems
        foreign = sorted(there - {*PUBLIC} - broken_off)
        if foreign:
            raise ConfigurationError(
                f"output: {self.public.path()} holds other files, such as {foreign[0]!r}; give a folder of its own"
            )
        with self._writing():
            for name in broken_off:
                self.public.remove(name)
            new = self.public.sibling(NEW)
            if new is not None:
                new.remove()
            self.internal.create(private=True)
            self.staging.remove()
            self.staging.create(private=True)
            self._id = str(uuid.uuid4())
            self._save(
                {
                    "name": self.spec.name,
                    "id": self._id,
                    "configuration": self.fingerprint,
                    "overwrite": self.overwrite,
                    "stages": {},
                }
            )
        self.tell("START")

    def tell(self, kind: lineage.Kind, certificate: Mapping[str, Any] | None = None) -> None:
        """Tells OpenLineage what has become of this run, from when it began (see `lineage`)."""
        if self._id is not None:
            problem = lineage.tell(self.spec, self._id, kind, certificate)
            if problem is not None:
                self.announce(f"note: OpenLineage could not be told of this run ({problem})")

    @contextmanager
    def failures_told(self) -> Iterator[None]:
        """Tells OpenLineage of what ends the body."""
        try:
            yield
        except BaseException as error:
            self.tell("FAIL" if isinstance(error, Exception) else "ABORT")
            raise

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the output for this run alone while the body runs: both folders, since two run files may have one
        public folder. The lock of the public one lies beside it, or in it where it cannot be replaced as a whole.

        Raises:
            ConfigurationError: if another run holds one (see `lock`), or it cannot be written.
        """
        with ExitStack() as held:
            with self._writing():
                self.internal.create(private=True)
                held.enter_context(locked(self.internal))
                hidden = self.public.sibling(LOCK)
                folder, _, name = (hidden.path() if hidden else self.public.path(LOCK)).rpartition("/")
                above = open_folder(folder or "/", self.spark)
                above.create()
                held.enter_context(locked(above, name, self.public.path()))
                self.public.restore()
            yield

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Raises ConfigurationError for what a file system refuses in the body."""
        try:
            yield
        except (OSError, Py4JJavaError) as error:
            why = getattr(error, "strerror", None) or "its file system refuses"
            raise ConfigurationError(f"output: {self.internal.path()} cannot be written ({why})") from None

    def _save(self, state: dict[str, Any]) -> None:
        self.staging.write(STATE, json.dumps(state, indent=1))

    @property
    def state(self) -> dict[str, Any]:
        """What the stages before wrote down."""
        state: dict[str, Any] = json.loads(self.staging.read(STATE))
        return state

    def is_staged(self, stage: str) -> bool:
        """Whether this stage is done in the staging area; what an older version of the package staged is not."""
        return self.staging.exists(STATE) and stage in self.state["stages"] and _is_whole(self.state)

    def is_ours(self, stage: str) -> bool:
        """Whether this stage is done in the staging area, for this very configuration."""
        return self.is_staged(stage) and self.state["configuration"] == self.fingerprint

    def require(self, stage: str) -> dict[str, Any]:
        """The state, if the stage before this one was done for this very configuration.

        Raises:
            ConfigurationError: otherwise, saying what to run.
        """
        before = ORDER[ORDER.index(stage) - 1]
        if not self.staging.exists(STATE):
            raise ConfigurationError(
                f"{stage}: nothing is staged in {self.staging.path()}; run `tclose profile` and the stages after it "
                "first"
            )
        state = self.state
        if state["configuration"] != self.fingerprint:
            raise ConfigurationError(
                f"{stage}: what is staged was made with another configuration; begin again with `tclose profile`"
            )
        if not _is_whole(state):
            raise ConfigurationError(
                f"{stage}: what is staged was made by another version of tclose_spark; begin again with "
                "`tclose profile`"
            )
        if before not in state["stages"]:
            first = next(name for name in ORDER if name not in state["stages"])
            more = "" if first == before else " and the stages after it"
            raise ConfigurationError(f"{stage}: the stage before it is not done; run `tclose {first}`{more} first")
        self.take_k(state)
        self.take_hierarchies(state, self.staging)
        self._id = state.get("id")
        return state

    def forget(self, name: str) -> dict[str, Any]:
        """Forgets what this stage and those after it had written down; the state without it."""
        state = self.state
        state["stages"] = {
            done: record for done, record in state["stages"].items() if ORDER.index(done) < ORDER.index(name)
        }
        self._save(state)
        return state

    @contextmanager
    def stage(self, name: str) -> Iterator[dict[str, Any]]:
        """Times a stage; what its body puts into the yielded record is written down with it, and announced. Its
        shuffles have tasks by the rows of the table, once those are known.

        What this stage and those after it had written down is forgotten before the body runs, so that a stage that
        fails when it is done again leaves nothing behind that a later one could take for its result. The raw values
        that an error of its body is about go to `internal/problems.json`, which only its owner reads, and which the
        error names.
        """
        self.internal.remove(PROBLEMS)
        state = self.forget(name)
        begun = time.monotonic()
        record: dict[str, Any] = {}
        try:
            with sized_shuffles(self.spark, state["stages"]["profile"]["input"]["rows"] if state["stages"] else 0):
                raise_again()
                yield record
                raise_again()
        except TcloseError as error:
            if error.values is not None:
                self._keep(error)
            raise
        record["seconds"] = round(time.monotonic() - begun, 1)
        state["stages"][name] = record
        self._save(state)
        rows = state["stages"]["profile"]["input"]["rows"]
        self.announce(f"{name:<10} {rows:>14,} rows {record['seconds']:>8.1f} s")

    def _keep(self, error: TcloseError) -> None:
        """Writes the values that an error is about to a private file, and where they are into the error."""
        assert error.values is not None
        self.internal.write(
            PROBLEMS,
            json.dumps({"error": str(error), **error.values.as_json()}, indent=1, ensure_ascii=False),
            private=True,
        )
        error.args = (f"{error}. The values, and how many rows hold each, are in {self.internal.path(PROBLEMS)}",)
