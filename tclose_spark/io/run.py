"""A run: its run file, its folders, its secret, and the state that its stages record."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from tclose_spark.errors import (
    ConfigurationError,
    DamagedStagingError,
    GuaranteeError,
    TcloseError,
    text_of,
)
from tclose_spark.io.causes import AT_WORK, cause_of
from tclose_spark.io.input.files import read_hierarchies, read_populations
from tclose_spark.io.interrupts import raise_if_interrupted
from tclose_spark.io.lineage import RunEvents
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.output_folders import (
    MINIMALITY,
    PROBLEMS,
    STATE,
    OutputFolders,
    kept_secret,
    secret_from_environment,
)
from tclose_spark.io.run_state import (
    ORDER,
    AnonymizeRecord,
    PlanRecord,
    ProfileRecord,
    RunState,
    StageRecord,
    Stages,
    VerifyRecord,
)
from tclose_spark.io.spark.progress import Progress, no_progress
from tclose_spark.io.storage.folders import Folder, open_folder
from tclose_spark.io.storage.integrity import digests
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
from tclose_spark.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HANDED_ON = {
    "profile": ("profile.json", "columns.json"),
    "plan": ("plan.json", "plan_report.json"),
    "anonymize": ("linked_sample.json", MINIMALITY),
}
"""The small files in the staging area that each stage leaves to later ones."""

Announce = Callable[[str], None]
Parsed = TypeVar("Parsed")


@dataclass
class StageAtWork:
    """A stage while it runs. record: what it leaves to later ones, which it sets."""

    record: StageRecord | None = None


def _done(record: StageRecord, state: RunState) -> str:
    """What a stage did, in words."""
    rows = f"{state.of(ProfileRecord).input.rows:,} rows"
    if isinstance(record, PlanRecord):
        tasks = record.plan.get("tasks", 1)
        return f"planned the classes, in {tasks:,} task{'' if tasks == 1 else 's'}"
    if isinstance(record, VerifyRecord):
        return f"judged {record.figures['classes']:,} classes"
    return {
        "profile": f"read {rows}",
        "anonymize": f"generalized {rows}",
        "report": "wrote certificate and reports",
        "publish": "moved the release to its public place",
    }[record.stage]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class Run(OutputFolders):
    """A run file on a session. Immutable: `resume`, `as_recorded` and `with_k` return copies.

    A run is staged in `internal/staging`. Its `run.json` holds the configuration's fingerprint and
    the record of each finished stage, so that each stage can run in a process of its own.

    spec: the run file, with the chosen k once the plan has chosen it.
    announce, detail: take a line for every reader, and one for those who asked for details.
    events: OpenLineage events of this run, shared by its copies, and by the run that begins again
        on the other engine.
    """

    def __init__(
        self,
        spec: ReleaseSpec,
        session: SparkSession | LocalSession,
        announce: Announce,
        overwrite: bool = False,
        progress: Progress = no_progress,
        events: RunEvents | None = None,
        details: bool = False,
    ) -> None:
        super().__init__(spec.output, session)
        self._secret = secret_from_environment()
        self._run_file = self.spec = spec
        self._built: Mapping[str, Hierarchy] = {}
        self._released: Mapping[str, Hierarchy] = {}
        self.announce = announce
        self.overwrite = overwrite
        self.progress = progress
        self.detail: Announce = announce if details else lambda _: None
        self.events = events or RunEvents(spec, announce)

    @property
    def spark(self) -> Any:
        """The session, for code that only Spark runs."""
        return self.session

    def _with(self, **values: Any) -> Run:
        """A copy with other values. It keeps what the cached properties have read."""
        other = copy(self)
        vars(other).update(values)
        return other

    def with_k(self, k: int) -> Run:
        """The run with this k."""
        return self._with(spec=self._run_file.with_k(k))

    def with_hierarchies(self, built: Mapping[str, Hierarchy]) -> Run:
        """The run with these built hierarchies."""
        return self._with(_built=built)

    def as_recorded(self, state: RunState, folder: Folder) -> Run:
        """The run with the k and the built hierarchies of a state. folder: the staging area, or
        `internal` of a finished run.

        Raises:
            GuaranteeError: if a hierarchy is not the recorded one.
        """
        profiled = state.find(ProfileRecord)
        planned = state.find(PlanRecord)
        written = state.find(AnonymizeRecord)
        chosen = None if planned is None else planned.k
        run = self if chosen is None else self.with_k(chosen.k)
        return run._with(
            _built=self._read_built(profiled, folder, HIERARCHIES),
            _released=self._read_built(written, folder, RELEASED_HIERARCHIES),
        )

    @cached_property
    def _read_hierarchies(self) -> dict[str, Hierarchy]:
        """The hierarchies that the run file names by path, by column.

        Raises:
            ConfigurationError: if one cannot be read or is not a tree.
        """
        attributes = self.spec.attributes
        return read_hierarchies(
            attributes.quasi_identifiers,
            attributes.sensitive_attributes,
            self.session,
            "attributes.",
        )

    @cached_property
    def populations(self) -> dict[str, dict[str, int]]:
        """The people of each area, by column, in the tables that the run file's profile names.

        Raises:
            ConfigurationError: if one cannot be read or is wrong.
        """
        return read_populations(self.spec.privacy.profile, self.session)

    @property
    def hierarchies(self) -> dict[str, Hierarchy]:
        """The hierarchies by column; of a resumed run, including those that the profile built.

        Raises:
            ConfigurationError: if one cannot be read or is not a tree.
        """
        return {**self._read_hierarchies, **self._built}

    @property
    def public_hierarchies(self) -> dict[str, Hierarchy]:
        """The hierarchies that a release may show, by column. Built ones contain no value of
        suppressed rows only.
        """
        return {**self.hierarchies, **self._released}

    def write_hierarchies(
        self,
        trees: Mapping[str, Hierarchy],
        folder: str = HIERARCHIES,
    ) -> dict[str, str]:
        """Writes the built hierarchies among these to the staging area, as CSV; returns the SHA-256
        of each file.

        folder: HIERARCHIES for those of all values, RELEASED_HIERARCHIES for those that the release
            may show.
        """
        digests = {}
        built = built_columns(self.spec.attributes)
        for name in sorted(built.keys() & trees.keys()):
            text = hierarchy_csv(trees[name].without_missing(), built[name][1])
            self.staging.write(file_of(name, folder), text, private=True)
            digests[name] = _sha256(text)
        return digests

    def _read_built(
        self,
        record: ProfileRecord | AnonymizeRecord | None,
        folder: Folder,
        below: str,
    ) -> dict[str, Hierarchy]:
        """The hierarchies that `write_hierarchies` wrote in a stage with this record.

        Raises:
            GuaranteeError: if one is not the recorded one.
        """
        trees = {}
        built = built_columns(self.spec.attributes)
        recorded = {} if record is None else record.hierarchies
        for name, digest in recorded.items():
            file = file_of(name, below)
            key = built[name][1]
            text = folder.read(file) if folder.exists(file) else ""
            if _sha256(text) != digest:
                raise GuaranteeError(
                    f"{folder.path(file)} is not the hierarchy that was built for this release",
                )
            trees[name] = with_missing(
                Hierarchy.parse(text, key),
                settings_of(self.spec.attributes, name),
                key,
            )
        return trees

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the run file and of the hierarchies and populations that it names by path. A
        chosen k is not part of it.
        """
        trees = {
            name: hierarchy.paths for name, hierarchy in sorted(self._read_hierarchies.items())
        }
        people = f" {json.dumps(self.populations, sort_keys=True)}" if self.populations else ""
        return _sha256(f"{self._run_file.fingerprint} {json.dumps(trees)}{people}")

    @property
    def earlier(self) -> Folder | None:
        """The folder `internal` of the earlier run whose release this one continues; it may be this
        run's own.
        """
        after = self.spec.output.after
        return None if after is None else open_folder(f"{after}/internal", self.session)

    @cached_property
    def secret(self) -> str:
        """The key of all hashes: TCLOSE_SECRET, or the one in `internal/secret`. The first run
        makes that at random, or takes that of the earlier release that it continues.

        Raises:
            ConfigurationError: if that file is empty or damaged.
        """
        return kept_secret(self.internal, self.earlier) if self._secret is None else self._secret

    def begin(self) -> None:
        """Creates the folders and an empty staging area.

        Raises:
            ConfigurationError: if the output holds a finished release and `overwrite` is not set,
                if it holds other files, or if it cannot be written.
        """
        remains = self.require_ours(self.overwrite)
        state = RunState(
            name=self.spec.name,
            version=__version__,
            id=self.events.begin(),
            configuration=self.fingerprint,
            overwrite=self.overwrite,
            stages=Stages(),
        )
        with self.refusals_translated():
            self.clear(remains)
            self._save(state)

    def discard(self) -> None:
        """Removes the staging area after an error, as far as possible, so that no second error
        hides the first. Its state goes first: without it nothing reads what is left, and the next
        run removes that.
        """
        with suppress(Exception):
            self.staging.remove(STATE)
            self.staging.remove()

    def _save(self, state: RunState) -> None:
        self.staging.write(STATE, state.text)

    @property
    def state(self) -> RunState:
        """The staged state.

        Raises:
            DamagedStagingError: see `staged`.
        """
        return self.staged(STATE, RunState.parse)

    def staged(self, name: str, parse: Callable[[str], Parsed]) -> Parsed:
        """What an earlier stage wrote into a file of the staging area.

        Raises:
            DamagedStagingError: if the file is gone, is not as a stage recorded it, or another
                version of the package wrote it.
        """
        if self.staging.exists(name):
            with suppress(ValueError, TypeError, LookupError, AttributeError, ArithmeticError):
                text = self.staging.read(name)
                if name == STATE or _sha256(text) == self._recorded.get(name, _sha256(text)):
                    return parse(text)
        raise DamagedStagingError(
            f"{self.staging.path(name)} is missing, damaged, or of another version of "
            "tclose_spark; begin again with `tclose profile`",
        )

    @property
    def _recorded(self) -> dict[str, str]:
        """The SHA-256 of each file in `HANDED_ON` that a finished stage wrote."""
        return {
            name: digest
            for record in self.state.done.values()
            for name, digest in record.handed_on.items()
        }

    def is_staged(self, stage: str) -> bool:
        """Whether this stage is finished in the staging area, with a record as this version writes
        it.
        """
        with suppress(ConfigurationError):
            return stage in self.state.done
        return False

    def is_ours(self, stage: str) -> bool:
        """Whether this stage is finished in the staging area, with this configuration."""
        return self.is_staged(stage) and self.state.configuration == self.fingerprint

    def resume(self, stage: str) -> Run:
        """The run as the stage before this one left it.

        Raises:
            ConfigurationError: if that stage is not finished with this configuration; it names the
                command to run.
        """
        previous = ORDER[ORDER.index(stage) - 1]
        if not self.staging.exists(STATE):
            raise ConfigurationError(
                f"{stage}: nothing is staged in {self.staging.path()}; run `tclose profile` and "
                "the stages after it first",
            )
        state = self.state
        if state.configuration != self.fingerprint:
            raise ConfigurationError(
                f"{stage}: the staged run was made with another configuration; begin again with "
                "`tclose profile`",
            )
        if previous not in state.done:
            first = next(name for name in ORDER if name not in state.done)
            more = "" if first == previous else " and the stages after it"
            raise ConfigurationError(
                f"{stage}: the stage before it is not done; run `tclose {first}`{more} first",
            )
        self.events.resume(state.id)
        try:
            return self.as_recorded(state, self.staging)
        except GuaranteeError as error:
            raise DamagedStagingError(
                f"{stage}: {error}; begin again with `tclose profile`",
            ) from None

    def forget(self, name: str) -> RunState:
        """Removes the records of this stage and of those after it; returns the remaining state."""
        state = self.state.before(name)
        self._save(state)
        return state

    @contextmanager
    def stage(self, name: str) -> Iterator[StageAtWork]:
        """Runs the body as a stage: saves and announces the record that it sets, with the time that
        it took. Its shuffles are sized by the table's rows, once those are known.

        The records of this stage and of those after it are removed first, so that a stage that
        fails leaves no earlier result to a later stage. The raw values of an error are written to
        `internal/problems.json`, which only its owner can read; the error names that file.
        """
        self.internal.remove(PROBLEMS)
        state = self.forget(name)
        begun = time.monotonic()
        work = StageAtWork()
        profiled = state.find(ProfileRecord)
        try:
            with self._sized_shuffles(0 if profiled is None else profiled.input.rows):
                raise_if_interrupted()
                yield work
                raise_if_interrupted()
        except TcloseError as error:
            if error.values is not None:
                text = json.dumps(error.as_json(), indent=1, ensure_ascii=False)
                self.internal.write(PROBLEMS, text, private=True)
                end = "\n" if error.problems else ". "
                file = self.internal.path(PROBLEMS)
                error.args = (
                    f"{error}{end}The values, and how many rows hold each, are in {file}",
                )
            raise
        except Exception as error:
            found = cause_of(f"{type(error).__name__}: {text_of(error)}", AT_WORK)
            if isinstance(found, DamagedStagingError):
                raise found from error
            raise
        assert work.record is not None
        handed_on = digests(self.staging, HANDED_ON.get(name, ()))
        seconds = round(time.monotonic() - begun, 1)
        record = work.record.model_copy(update={"handed_on": handed_on, "seconds": seconds})
        state = state.with_record(record)
        self._save(state)
        self.announce(f"{name:<10} {_done(record, state):<40} {seconds:>8.1f} s")

    def _sized_shuffles(self, rows: int) -> AbstractContextManager[None]:
        """See `shuffles.sized_shuffles`; nothing in this process."""
        if isinstance(self.session, LocalSession):
            return nullcontext()
        from tclose_spark.io.spark.cluster import sized_shuffles

        return sized_shuffles(self.session, rows)
