"""One run: which table, which columns are what, how much privacy, by which method."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    SerializeAsAny,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from tclose_spark.runfile.attributes import NOTHING, Attributes
from tclose_spark.runfile.brought import find_option, modules, read_brought, write_brought
from tclose_spark.runfile.columns import MissingValues
from tclose_spark.runfile.combinations import (
    A_T,
    AGGREGATES,
    ANOTHER_METHOD,
    AUTO_K,
    COUNTING,
    GATHERING,
    OF_PRIVACY,
    OF_RUN,
    SENSITIVE,
)
from tclose_spark.runfile.formats import Format, format_of_name, known_options
from tclose_spark.runfile.privacy import (
    JointCloseness,
    Population,
    RiskLimits,
    as_sections,
    require_attributes,
)
from tclose_spark.runfile.profiles.settings import ProfileName, k_of
from tclose_spark.runfile.registry import (
    MethodSettings,
    methods_that,
    read_settings,
    require_support,
)
from tclose_spark.runfile.release_form import COUNT, GROUP, Aggregate, ReleaseForm
from tclose_spark.runfile.section import Exact, Section, also, as_tuple, each_once, number_schema
from tclose_spark.runfile.text import one_of

AUTO = "auto"
"""The value of `privacy.k` that lets the plan choose k, and of `engine` that chooses by the
input.
"""
FRAME = "tclose_frame"
"""The first characters of the path of a table in memory, which Spark reads from a temporary
view.
"""


OPTION = {"type": ["string", "number", "boolean"]}
NOWHERE = "/no output given"
"""The path of an output that the caller has not given yet."""


def _option(value: Any) -> str:
    """A reader option as Spark wants it: text."""
    if not isinstance(value, str | int | Decimal):
        raise ValueError("expected a text, a number, or true or false")
    return str(value).lower() if isinstance(value, bool) else str(value)


EXPORTS = ("parquet", "csv")
"""Formats of exports."""


class Input(Section):
    """Where the raw table is."""

    path: str
    """The table's file or folder, relative to the run file. For `format: table`, a name in the
    catalog or a temporary view.
    """
    format: Format = "parquet"
    """The format of the input. Without it, the path's ending decides, such as `.csv` or `.xlsx`.
    Formats from excel on: one file, which this process reads as a whole.
    """
    options: dict[str, Annotated[str, BeforeValidator(_option), WithJsonSchema(OPTION)]] = Field(
        default_factory=dict,
    )
    """Options of Spark's reader, such as `header: true`, that the format has. Also `decimal`,
    `thousands` and `currency` (marks in numbers), `skip_rows` and `skip_footer` (lines above and
    below the table), and `sheet` of a workbook.
    """
    columns: dict[str, Annotated[str, Field(min_length=1)]] = Field(default_factory=dict)
    """New column names, by the names in the table. The rest of the run file uses the new names."""
    missing_values: MissingValues = ()
    """Codes that mean missing in every column that has a role."""

    @property
    def is_frame(self) -> bool:
        """Whether the input is a table in memory, passed from Python."""
        return self.format == "table" and self.path.startswith(FRAME)

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        """The format by the path's ending, if none is given."""
        if not isinstance(value, dict) or "format" in value:
            return value
        kind = format_of_name(str(value.get("path")))
        return value if kind in (None, "parquet") else {**value, "format": kind}

    @field_validator("options")
    @classmethod
    def _known(cls, value: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        return known_options(info.data["format"], value) if "format" in info.data else value

    @model_validator(mode="after")
    def _apart(self) -> Self:
        name, times = (
            Counter(map(str.lower, self.columns.values())).most_common(1)[0]
            if self.columns
            else ("", 0)
        )
        if times > 1:
            raise ValueError(
                f"columns gives {times} columns the name {name!r} (up to case); expected one for "
                "each",
            )
        return self


class Output(Section):
    """Where the release goes: one folder, or two if public and internal files must be kept
    apart.
    """

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["path"]}, {"required": ["public", "internal"]}]},
    )
    path: str | None = None
    """The output folder, relative to the run file. It gets public/ (to publish) and internal/
    (evidence, confidential).
    """
    public: str | None = None
    """Instead of path, together with internal: the folder to publish."""
    internal: str | None = None
    """Instead of path, together with public: the folder of the evidence, which is confidential."""
    after: str | None = Field(default=None, validation_alias=also("after", "previous_release"))
    """The output folder of the release that this one continues. People who stay keep their atom. It
    may be this run's own output, even before the first release.
    """
    leavers: Literal["withhold", "keep"] = "withhold"
    """What becomes of an atom if someone leaves or changes. withhold: it is not published. keep: it
    stays as it was until all left; internal/records then has every published row.
    """
    keep_versions: Annotated[int, Field(ge=1)] = 1
    """How many releases the Delta table keeps as versions, this one included. More than 1 needs
    `after` with this run's own output.
    """
    keep_linked: bool = False
    """Keep every input row beside its published values, in internal/linked."""
    table: Annotated[str, Field(pattern=r"^[^.`]+(\.[^.`]+){0,2}$")] | None = None
    """A catalog table that each verified release replaces in one commit."""
    export: Annotated[
        tuple[Literal["parquet", "csv"], ...],
        BeforeValidator(as_tuple),
        AfterValidator(each_once),
    ] = ()
    """Further formats of the release, in public/release_parquet and public/release_csv."""
    one_file: bool = False
    """Make each export one file: release_parquet/release.parquet, release_csv/release.csv."""
    escape_formulas: bool = False
    """Put an apostrophe before each text in release_csv that a spreadsheet could read as a
    formula.
    """

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.path is None) == (self.public is None or self.internal is None) or (
            self.path and (self.public or self.internal)
        ):
            raise ValueError("expected either path, or both public and internal")
        if self.keep_versions > 1 and (self.after is None or self.after != self.path):
            raise ValueError(
                "keep_versions: versions are those of a line of releases; expected output.after, "
                "with the folder of output.path",
            )
        public = f"{self.public_path}/"
        internal = f"{self.internal_path}/"
        if internal.startswith(public):
            raise ValueError(
                "internal is public or inside it; expected a folder that is not published",
            )
        return self

    @property
    def public_path(self) -> str:
        """The folder to publish."""
        return self.public or f"{self.path}/public"

    @property
    def internal_path(self) -> str:
        """The folder of the evidence."""
        return self.internal or f"{self.path}/internal"


def _below_one(share: Fraction) -> Fraction:
    if not 0 <= share < 1:
        raise ValueError("expected a number that is at least 0 and below 1")
    return share


def _weight(share: Fraction) -> Fraction:
    if not 0 <= share <= 1:
        raise ValueError("expected a number from 0 to 1")
    return share


class Supersets(Section):
    """(n, t)-closeness (Li, Li and Venkatasubramanian 2010)."""

    n: Annotated[int, Field(ge=1)]
    """The least number of rows of a natural superset."""


def _k_or_profile(schema: dict[str, Any]) -> None:
    """Requires k, or a profile that fills it in, in the JSON Schema."""
    schema["required"] = [key for key in schema["required"] if key != "k"]
    schema["anyOf"] = [
        {"required": ["k"]},
        {"required": ["profile"], "properties": {"profile": {"not": NOTHING}}},
    ]


class Privacy(Section):
    """The smallest class that may be published, and how many rows may be suppressed."""

    model_config = ConfigDict(json_schema_extra=_k_or_profile)
    keys_together = OF_PRIVACY
    _k_of_profile: bool = PrivateAttr(default=False)
    k: Annotated[
        int,
        Field(ge=2),
        WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 2}, {"const": AUTO}]}),
    ]
    """The least number of rows of a class. auto: the plan chooses it; until then this field
    is 2.
    """
    nt: Supersets | None = None
    """(n, t)-closeness instead of t-closeness: each class is within t of a natural superset of at
    least n rows.
    """
    joint: Annotated[tuple[JointCloseness, ...], BeforeValidator(as_sections)] | None = None
    """Closeness of several sensitive attributes together, beside that of each: `[{attributes: [a,
    b], t: 0.3}]`.
    """
    suppression_limit: Annotated[
        Exact,
        AfterValidator(_below_one),
        WithJsonSchema(number_schema(minimum=0, exclusiveMaximum=1)),
    ] = Fraction(0)
    """The largest share of the input's rows that the method may suppress."""
    of: Literal["input", "released"] = Field("input", validation_alias=also("of", "reference"))
    """What classes are compared with: the distribution of all input rows, or of the released
    rows.
    """
    population: Population | None = None
    """The population that the input is a sample of. The certificate then has the risk of
    re-identification.
    """
    risk: RiskLimits | None = None
    """The risk of re-identification that you allow. Figures without a limit are only reported."""
    alpha: (
        Annotated[
            Exact,
            AfterValidator(_weight),
            WithJsonSchema(number_schema(minimum=0, maximum=1)),
        ]
        | None
    ) = None
    """With `k: auto`, the weight of privacy loss in the choice (see docs/choose.md)."""
    profile: ProfileName | None = None
    """A regulator's rules to check the release for, by name or with settings. It gives k if you
    leave k out.
    """

    @model_validator(mode="wrap")
    @classmethod
    def _filled_in(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """The k of the profile if there is none."""
        k = k_of(value.get("profile")) if isinstance(value, dict) and "k" not in value else None
        made = handler(value if k is None else {**value, "k": k})
        made._k_of_profile |= k is not None
        return made

    @model_validator(mode="after")
    def _as_the_profile_requires(self) -> Self:
        if self.profile is None or self.profile.maximum_risk is None:
            return self
        of_profile = (
            f"profile {self.profile.name} accepts a risk of at most "
            f"{float(self.profile.maximum_risk):g}"
        )
        if self.alpha is not None:
            raise ValueError(f"k is auto, and {of_profile}; expected k left out, or a number")
        if self.k < self.profile.least_k:
            raise ValueError(
                f"k is {self.k}, and {of_profile}; expected a k of at least {self.profile.least_k}",
            )
        return self

    @property
    def k_of_profile(self) -> bool:
        """Whether the profile filled in k."""
        return self._k_of_profile

    @model_validator(mode="before")
    @classmethod
    def _automatic(cls, value: Any) -> Any:
        """`k: auto` as what it is until one is chosen."""
        if not isinstance(value, dict):
            return value
        said = {key: part for key, part in value.items() if key != "alpha" or part is not None}
        if said.get("k") == AUTO:
            return {"alpha": "0.5", **said, "k": 2}
        if "alpha" in said:
            raise ValueError(
                "alpha is for k: auto; leave it out if k is a number (--set privacy.alpha=null)",
            )
        return said

    @property
    def n(self) -> int | None:
        """n of (n, t)-closeness; None where each t is of the distance from the whole table."""
        return None if self.nt is None else self.nt.n

    def most_suppressed(self, rows: int) -> int:
        """The largest number of rows that may be suppressed, of this many input rows.

        >>> Privacy(k=2, suppression_limit="0.29").most_suppressed(100)  # as doubles, 0.29 * 100 is below 29
        29
        """
        return math.floor(self.suppression_limit * rows)


class ReleaseSpec(Section):
    """One run: the table, the role of each column, the privacy and the method.

    From Python, a call may give the name, input and output: `release(table, spec, output=..)`.
    """

    keys_together = OF_RUN
    decided_by: ClassVar = {
        AUTO_K: "privacy.alpha",
        AGGREGATES: "aggregates",
        COUNTING: "method.counts_people",
        GATHERING: "keeps_people",
        A_T: f"{SENSITIVE}.t",
    }
    in_words: ClassVar = {
        ANOTHER_METHOD: lambda spec: f"method {spec.method.name}",
        COUNTING: lambda _: f"method: {{name: {one_of(methods_that('people'))}}}",
    }
    name: Annotated[str, Field(min_length=1)] = "release"
    """The name of the release in its certificate and report."""
    input: Input = Input(path=FRAME, format="table")
    """The raw table."""
    output: Output = Output(path=NOWHERE)
    """Where the release goes."""
    attributes: Attributes
    """The role of each column."""
    privacy: Privacy
    """The smallest class that may be published, and how many rows may be suppressed."""
    method: Annotated[SerializeAsAny[MethodSettings], BeforeValidator(read_settings)] = Field(
        default_factory=lambda: read_settings({}),
    )
    """The method that assigns rows to classes, with its settings."""
    release: ReleaseForm = ReleaseForm()
    """How the classes are published: as labels, or with quasi-identifiers as they are."""
    engine: Literal["auto", "local", "spark"] = "auto"
    """Where the run works. local: in this process, without Java. spark: on Spark. auto: local for
    small local files and tables in memory, otherwise Spark. The release is the same.
    """
    suggested: dict[Literal["attributes", "privacy", "method"], Any] | None = None
    """What `tclose suggest` proposed. The internal report lists what you changed afterwards."""

    brought: SkipJsonSchema[tuple[Any, ...]] = ()
    """The settings of options that other packages bring, whose keys these are in the run file."""

    @model_validator(mode="before")
    @classmethod
    def _with_options(cls, value: Any) -> Any:
        """Reads options of other packages."""
        if not isinstance(value, dict):
            return value
        if "brought" in value:
            raise ValueError("brought: unknown key")
        return read_brought(value, modules("option"), cls.model_fields, find_option)

    @model_serializer(mode="wrap")
    def _as_in_the_run_file(self, write: Any) -> dict[str, Any]:
        return write_brought(self, write(self))

    @field_validator("suggested")
    @classmethod
    def _a_run_file(cls, value: Any) -> Any:
        if value is not None:
            try:
                cls.model_validate(value)
            except ValidationError:
                raise ValueError(
                    "expected what tclose suggest wrote; leave the key out, or restore it",
                ) from None
        return value

    @model_validator(mode="after")
    def _apart(self) -> Self:
        for folder in (self.output.public_path, self.output.internal_path):
            if f"{folder}/".startswith(f"{self.input.path}/"):
                raise ValueError(
                    f"output: {folder} is inside the input {self.input.path}; expected a folder "
                    "elsewhere",
                )
        return self

    @model_validator(mode="after")
    def _supported(self) -> Self:
        together = {one.name: one.as_attribute for one in self.privacy.joint or ()}
        require_support(self.method, {**self.attributes.sensitive_attributes, **together})
        return self

    @model_validator(mode="after")
    def _close_together(self) -> Self:
        require_attributes(
            self.privacy.joint or (),
            self.attributes.sensitive_attributes,
            "privacy.joint",
        )
        return self

    @model_validator(mode="after")
    def _of_some_t(self) -> Self:
        if self.privacy.n is not None and self.privacy.n <= self.privacy.k:
            raise ValueError(
                f"privacy.nt.n is {self.privacy.n}, and k is {self.privacy.k}: each class would be "
                "its own superset, so no t would limit anything; expected an n above k",
            )
        return self

    @model_validator(mode="after")
    def _in_another_form(self) -> Self:
        form = self.release
        if form.together:
            self._check_blocks(form.together)
        if form.is_plain:
            return self
        own = (GROUP, COUNT) if form.is_exact else (COUNT,)
        taken = [name for name in self.attributes.published if name.lower() in own]
        if taken:
            key = "release.form" if form.is_exact else "release.together"
            raise ValueError(
                f"{key} publishes a column named {taken[0].lower()!r}; rename the input's "
                "(input.columns)",
            )
        return self

    def _check_blocks(self, blocks: Sequence[Sequence[str]]) -> None:
        named = {name for block in blocks for name in block}
        if odd := sorted(named ^ {*self.attributes.sensitive_attributes}):
            raise ValueError(
                f"release.together: {odd[0]!r} is "
                f"{'no sensitive attribute' if odd[0] in named else 'in no block'}; expected each "
                "sensitive attribute in one block, and no other column",
            )
        for one in self.privacy.joint or ():
            if not any({*one.attributes} <= {*block} for block in blocks):
                raise ValueError(
                    f"privacy.joint: {one.name} is in several blocks of release.together; expected "
                    "one block",
                )

    @property
    def keeps_people(self) -> bool:
        """Whether the method keeps all rows of a person in one class, even if their
        quasi-identifiers differ, and lets people who stay keep their classes.
        """
        return self.method.gathers_people and not self.method.promises_disjoint

    @property
    def cuts_regions(self) -> bool:
        """Whether the method's labels are those of regions that it cuts."""
        return self.method.promises_disjoint or self.method.suppresses

    @property
    def measures_households(self) -> bool:
        """Whether the risk of households is measured: if they are known, and their members are
        rows.
        """
        return [*self.attributes.owners] == ["household"]

    @property
    def aggregates(self) -> dict[str, Aggregate]:
        """The aggregate that classes publish for each quasi-identifier; empty if they publish
        labels.
        """
        of = {
            name: self.method.aggregate_of(q)
            for name, q in self.attributes.quasi_identifiers.items()
        }
        return {name: aggregate for name, aggregate in of.items() if aggregate is not None}

    @property
    def missing_values(self) -> dict[str, MissingValues]:
        """The codes for missing values of each column that has some."""
        attributes = self.attributes
        codes = dict.fromkeys(attributes.columns, ()) | attributes.missing_values
        for settings in (attributes.quasi_identifiers, attributes.sensitive_attributes):
            codes |= {name: one.missing_values for name, one in settings.items()}
        codes = {name: (*self.input.missing_values, *own) for name, own in codes.items()}
        if attributes.person is not None and attributes.person.placeholders:
            whose = attributes.person.column
            codes[whose] = (*codes.get(whose, ()), *attributes.person.placeholders)
        return {name: of_column for name, of_column in codes.items() if of_column}

    def with_k(self, k: int) -> ReleaseSpec:
        """The same run with this k."""
        return self.model_copy(update={"privacy": self.privacy.model_copy(update={"k": k})})

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all keys that decide the release, so without the name, the output, the engine
        and the suggestion. Of a table in memory, the profile's figures decide, not the name of its
        view.
        """
        decisive = self.model_dump(mode="json", exclude={"name", "output", "engine", "suggested"})
        decisive["input"] |= {"path": FRAME} if self.input.is_frame else {}
        if self.release.is_plain:
            del decisive["release"]
        if (person := decisive["attributes"]["person"]) is not None:
            decisive["attributes"]["person"] = {
                key: value for key, value in person.items() if value is not None
            }
        for section in ("attributes", "privacy"):
            decisive[section] = {
                key: value for key, value in decisive[section].items() if value not in (None, {})
            }
        return hashlib.sha256(
            json.dumps(decisive, sort_keys=True, default=str).encode(),
        ).hexdigest()
