"""What a run records of itself: `run.json`, with a record of each finished stage, and
`plan_report.json`.

The models below are the files. A stage makes its record, and later stages get it by its type
(`RunState.of`). Keys that they do not name are those of options of other packages, and of other
versions of this one; they are kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, model_validator

from tclose_spark.io.storage.integrity import Digests, strict_json
from tclose_spark.io.tables.exports import Files
from tclose_spark.requirements.figures import Plain
from tclose_spark.table.fingerprint import Fingerprint


def _fingerprint(text: str) -> str:
    Fingerprint.parse(text)
    return text


FingerprintText = Annotated[str, AfterValidator(_fingerprint)]


Model = TypeVar("Model", bound=BaseModel)


def validated(kind: type[Model], found: Any) -> Model:
    """The model with these values.

    Raises:
        KeyError: with the first key that is missing.
        ValueError: if a value does not fit.
    """
    try:
        return kind.model_validate(found)
    except ValidationError as error:
        missing = [one["loc"][-1] for one in error.errors() if one["type"] == "missing"]
        if missing:
            raise KeyError(missing[0]) from None
        raise


class Recorded(BaseModel):
    """A part of the file. Only what was given is written, so optional keys stay away."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)

    @classmethod
    def read(cls, found: Any) -> Self:
        """The part with these values.

        Raises:
            KeyError: with the first key that is missing.
            ValueError: if a value does not fit.
        """
        return validated(cls, found)

    @classmethod
    def parse(cls, text: str) -> Self:
        """The content of a file.

        Raises:
            KeyError: with a key that is missing.
            ValueError: if the text is none.
        """
        return cls.read(strict_json(text))

    def having(self, *keys: Mapping[str, object]) -> Self:
        """The part with these keys, too."""
        every: dict[str, object] = {name: getattr(self, name) for name in self.model_fields_set}
        for more in keys:
            every |= more
        return self.read(every)

    def to_json(self) -> dict[str, Any]:
        """As the file has it."""
        return self.model_dump(exclude_unset=True)

    @property
    def text(self) -> str:
        """The file that `parse` reads."""
        return json.dumps(self.to_json(), indent=1)


class StageRecord(Recorded):
    """What a stage leaves to later ones.

    handed_on: the SHA-256 of its small files in the staging area. seconds: that it took.
    """

    stage: ClassVar[str]
    handed_on: Digests = {}
    seconds: float = 0.0


OfStage = TypeVar("OfStage", bound=StageRecord)


class InputRecord(Recorded):
    """The input that was read.

    version: of a table that has several. state: a hash of its files, None if they show none.
    """

    path: str
    rows: int
    version: int | None
    fingerprint: FingerprintText
    state: str | None = None


class SubjectsRecord(Recorded):
    """Notes on whom rows are about: see `subjects_notes`."""

    internal: Sequence[str]
    public: Sequence[str]


class HistoryEntry(Recorded):
    """A release in the history of its line (`internal/history.json`).

    issued, fingerprint, rows, classes: of the release. input_rows: of its input.
    suppressed: rows; of: what classes were compared with. kept: people who are published as they
        were.
    atoms, smallest_atom: how many are published, and the people of the smallest of the line.
    k: required. t, distinct, frequency, beta: by sensitive attribute, the bound that was required,
        None if it was measured only. Exact numbers are texts. Further keys are bounds of
        requirements of other packages.
    ncp: None if it is unknown.
    """

    issued: str
    fingerprint: str
    rows: int
    input_rows: int
    suppressed: int
    of: str
    kept: int
    classes: int
    atoms: int
    smallest_atom: int
    k: int
    t: Mapping[str, str | None]
    distinct: Mapping[str, int]
    frequency: Mapping[str, float] = {}
    beta: Mapping[str, str] = {}
    ncp: float | None


class EarlierRecord(Recorded):
    """The release that this one continues.

    releases: the history of its line. atoms: their fingerprint.
    """

    releases: Sequence[HistoryEntry]
    atoms: FingerprintText


class PeopleRecord(Recorded):
    """What the next release of a line must share, of a run that counts people.

    secret_of_people: see `sealed_secret`. distances: see `ground_distances`. types: see
    `column_types`.
    earlier: of a release that continues one.
    """

    secret_of_people: str
    distances: Mapping[str, str]
    types: Mapping[str, str]
    earlier: EarlierRecord | None = None


class ProfileRecord(StageRecord):
    """What the profile found. The keys of `people` stand beside the others.

    sealed, pseudonyms: see `sealed_settings` and `sealed_pseudonyms`.
    hierarchies: the SHA-256 of those that were built, by column.
    insensitive: see `guard_insensitive`.
    warnings, repeated: for the console, and for the certificate.
    """

    stage = "profile"
    input: InputRecord
    sealed: str = ""
    pseudonyms: Mapping[str, str] = {}
    hierarchies: Digests = {}
    insensitive: Plain = {}
    warnings: Sequence[str] = ()
    repeated: Sequence[str]
    subjects: SubjectsRecord

    @property
    def people(self) -> PeopleRecord | None:
        """What it found of people; None if the run does not count them."""
        own = {name: x for name, x in self if name in PeopleRecord.model_fields}
        return PeopleRecord.read(own) if "secret_of_people" in own else None

    @property
    def earlier(self) -> EarlierRecord | None:
        """The release that this one continues."""
        return None if self.people is None else self.people.earlier

    @model_validator(mode="after")
    def _people_fit(self) -> Self:
        _ = self.people
        return self


class ChosenKRecord(Recorded):
    """The k that was chosen: see `ChosenK`."""

    k: int


class PlanRecord(StageRecord):
    """The plan in integers. k: if it was chosen."""

    stage = "plan"
    plan: Mapping[str, int]
    k: ChosenKRecord | None = None


class PlanFigures(Recorded):
    """The content of `plan_report.json`: see `PlanReport`."""

    figures: Mapping[str, int]
    note: str = ""
    details: Plain = {}


class WrittenRecord(Recorded):
    """The fingerprints of both sides of the write (see `table.fingerprint`).

    people, households: of the rows of `internal/people` and `internal/households`.
    projections: by table, of another form of the release.
    """

    raw: FingerprintText
    published: FingerprintText
    people: FingerprintText | None = None
    households: FingerprintText | None = None
    projections: Mapping[str, FingerprintText] = {}


class VersionsRecord(Recorded):
    """The readable versions of the release's table, and the commits of its log."""

    readable: Sequence[int] = (0,)
    commits: int = 1


class AnonymizeRecord(StageRecord):
    """The write of the release.

    method: what the method did (see `Plan.describe`).
    hierarchies: the SHA-256 of those that the release may show, if rows are suppressed.
    versions: of a line that keeps them.
    """

    stage = "anonymize"
    written: WrittenRecord
    method: Plain
    hierarchies: Digests = {}
    versions: VersionsRecord = VersionsRecord()


class MechanismRecord(Recorded):
    """What the choices of the method reveal, without values.

    worst: see `mechanism_record`. warnings: of the certificate.
    """

    measured: bool = False
    worst: Plain | None = None
    refused_cuts: Plain = {}
    warnings: Sequence[str]


class VerifyRecord(StageRecord):
    """The verdict.

    figures: those of `verification.json`. files: the SHA-256 of what was read and written.
    """

    stage = "verify"
    verdict: str
    figures: Plain
    minimality: MechanismRecord
    files: Digests


class ListedFiles(Recorded):
    """The SHA-256 of each file that is public, and of each that is kept."""

    public: Digests
    internal: Digests


class ReportRecord(StageRecord):
    """The files of the release.

    exports: the files of each. escape_formulas: whether the CSV has apostrophes before formulas.
    """

    stage = "report"
    exports: Mapping[str, Files]
    escape_formulas: bool = False
    files: ListedFiles


class PublishRecord(StageRecord):
    """The release is public."""

    stage = "publish"


class Stages(Recorded):
    """The record of each finished stage, in the order of the stages."""

    profile: ProfileRecord | None = None
    plan: PlanRecord | None = None
    anonymize: AnonymizeRecord | None = None
    verify: VerifyRecord | None = None
    report: ReportRecord | None = None
    publish: PublishRecord | None = None


ORDER = tuple(Stages.model_fields)
"""The stages."""


class RunState(Recorded):
    """The content of `run.json`.

    version: of the package. id: that OpenLineage knows. configuration: see `Run.fingerprint`.
    overwrite: whether the release may replace another.
    """

    name: str = ""
    version: str = ""
    id: str | None = None
    configuration: str
    overwrite: bool = False
    stages: Stages

    def of(self, kind: type[OfStage]) -> OfStage:
        """The record of a stage.

        Raises:
            KeyError: with the stage, if it is not finished.
        """
        found = self.find(kind)
        if found is None:
            raise KeyError(kind.stage)
        return found

    def find(self, kind: type[OfStage]) -> OfStage | None:
        """The record of a stage; None if it is not finished."""
        found = getattr(self.stages, kind.stage)
        return found if isinstance(found, kind) else None

    @property
    def done(self) -> Mapping[str, StageRecord]:
        """The records of the finished stages, by their names, in order."""
        every = {name: getattr(self.stages, name) for name in ORDER}
        return {name: record for name, record in every.items() if record is not None}

    def with_record(self, record: StageRecord) -> RunState:
        """The state once a stage has made its record."""
        return self._with_stages({**self.done, record.stage: record})

    def before(self, stage: str) -> RunState:
        """The state without the records of this stage and of those after it."""
        kept = ORDER[: ORDER.index(stage)]
        return self._with_stages({name: x for name, x in self.done.items() if name in kept})

    def _with_stages(self, records: Mapping[str, StageRecord]) -> RunState:
        return self.model_copy(update={"stages": Stages.model_validate(records)})
