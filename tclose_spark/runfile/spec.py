"""One run: which table, which columns are what, how much privacy, by which method."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializeAsAny,
    WithJsonSchema,
    model_validator,
)

from tclose_spark.runfile.aggregates import Aggregate
from tclose_spark.runfile.attributes import Attributes
from tclose_spark.runfile.registry import MethodSettings, read_settings, require_support
from tclose_spark.runfile.section import Exact, Section, as_tuple, number_schema

AUTO = "auto"
"""What `privacy.k` is where the plan is to choose it."""
FRAME = "tclose_frame"
"""What the path of an input begins with, and `format: table`, that is a table in memory: a temporary view."""


OPTION = {"type": ["string", "number", "boolean"]}
NOWHERE = "/output is not said"
"""The path of an output that is to be given yet."""


ABOUT_LABELS = {"numeric_output": "interval", "generalization": "suppress", "round_to": None, "coarsest": None}
"""Settings of quasi-identifiers that say which labels cover its values, with what they are by default."""


def _option(value: Any) -> str:
    """A reader option as Spark wants it: text."""
    if not isinstance(value, str | int | Decimal):
        raise ValueError("expected a text, a number, or true or false")
    return str(value).lower() if isinstance(value, bool) else str(value)


EXPORTS = ("parquet", "csv")
"""What a release may be exported as."""


class Input(Section):
    """Where the raw table is.

    path: of the table's file or folder, relative to the run file; for `format: table` its name in the catalog, or that
        of a temporary view.
    format: what it is.
    options: for Spark's reader, such as `header: true` and `sep: ";"` of a CSV file.
    columns: new names of columns by their names in the table; all else that names columns has the new ones.
    """

    path: str
    format: Literal["csv", "parquet", "delta", "table"] = "parquet"
    options: dict[str, Annotated[str, BeforeValidator(_option), WithJsonSchema(OPTION)]] = Field(default_factory=dict)
    columns: dict[str, Annotated[str, Field(min_length=1)]] = Field(default_factory=dict)

    @property
    def is_frame(self) -> bool:
        """Whether it is a table in memory, given to a call from Python."""
        return self.format == "table" and self.path.startswith(FRAME)

    @model_validator(mode="after")
    def _apart(self) -> Self:
        name, times = Counter(map(str.lower, self.columns.values())).most_common(1)[0] if self.columns else ("", 0)
        if times > 1:
            raise ValueError(f"columns gives {times} columns the name {name!r} (up to case); expected one for each")
        return self


class Output(Section):
    """Where the release goes: one folder, or two where public and internal must live apart.

    path: of the folder, relative to the run file; it becomes public/ (to publish) and internal/ (stays inside).
    public: in place of path, with internal: the folder of what is published.
    internal: in place of path, with public: the folder of the evidence, which stays inside.
    keep_linked: keep every input row beside its published values, in internal/linked.
    table: a table of the catalog that is replaced, in one commit, by each release that has been verified.
    export: what the release is written as, too, in public/release_parquet and public/release_csv.
    escape_formulas: put an apostrophe before each text in release_csv that a spreadsheet may take for a formula.
    """

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["path"]}, {"required": ["public", "internal"]}]}
    )
    path: str | None = None
    public: str | None = None
    internal: str | None = None
    keep_linked: bool = False
    table: Annotated[str, Field(pattern=r"^[^.`]+(\.[^.`]+){0,2}$")] | None = None
    export: Annotated[tuple[Literal["parquet", "csv"], ...], BeforeValidator(as_tuple)] = ()
    escape_formulas: bool = False

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.path is None) == (self.public is None or self.internal is None) or (
            self.path and (self.public or self.internal)
        ):
            raise ValueError("expected either path, or both public and internal")
        if len(set(self.export)) < len(self.export):
            raise ValueError("export names a format twice")
        public, internal = f"{self.public_path}/", f"{self.internal_path}/"
        if internal.startswith(public):
            raise ValueError("internal is public or lies in it; expected a folder that is not handed out")
        return self

    @property
    def public_path(self) -> str:
        """The folder of what is published."""
        return self.public or f"{self.path}/public"

    @property
    def internal_path(self) -> str:
        """The folder of what stays inside."""
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
    """(n, t)-closeness (Li, Li and Venkatasubramanian 2010).

    n: rows that a natural superset of a class has at least.
    """

    n: Annotated[int, Field(ge=1)]


class Privacy(Section):
    """The smallest class that may be published, and what may be left out of a release.

    k: rows that every class has at least; auto: the plan chooses it (2, the least that may be chosen, stands here).
    alpha: where k is auto, the weight of privacy loss when the plan chooses it (see `compare.choosing`); else None.
    nt: where it is said, a class need not be near the whole table: it must be, by each t, near a natural superset of n
        records (see `checks.supersets`).
    suppression_limit: the share of the input's rows that the method may suppress.
    of: whose distribution classes must be near to: that of all input rows, or that of the released ones.
    """

    k: Annotated[int, Field(ge=2), WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 2}, {"const": AUTO}]})]
    nt: Supersets | None = None
    suppression_limit: Annotated[
        Exact, AfterValidator(_below_one), WithJsonSchema(number_schema(minimum=0, exclusiveMaximum=1))
    ] = Fraction(0)
    of: Literal["input", "released"] = "input"
    alpha: Annotated[Exact, AfterValidator(_weight), WithJsonSchema(number_schema(minimum=0, maximum=1))] | None = None

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
                "alpha weighs what k: auto chooses by; leave it out where k is a number (--set privacy.alpha=null)"
            )
        return said

    @property
    def n(self) -> int | None:
        """n of (n, t)-closeness; None where each t is of the distance from the whole table."""
        return None if self.nt is None else self.nt.n

    def most_suppressed(self, rows: int) -> int:
        """How many of so many input rows the limit allows to leave out.

        >>> Privacy(k=2, suppression_limit="0.29").most_suppressed(100)  # as doubles, 0.29 * 100 is below 29
        29
        """
        return math.floor(self.suppression_limit * rows)


class ReleaseSpec(Section):
    """One run: which table, which columns are what, how much privacy, by which method.

    A run file has a name, an input and an output; from Python a call may give them: `release(table, spec, output=..)`.

    name: of the release, in its certificate and report.
    input: where the raw table is.
    output: where the release goes.
    attributes: which column is what.
    privacy: the smallest class that may be published, and what may be left out.
    method: how rows come into classes, with the method's own settings.
    """

    name: Annotated[str, Field(min_length=1)] = "release"
    input: Input = Input(path=FRAME, format="table")
    output: Output = Output(path=NOWHERE)
    attributes: Attributes
    privacy: Privacy
    method: Annotated[SerializeAsAny[MethodSettings], BeforeValidator(read_settings)] = Field(
        default_factory=lambda: read_settings({})
    )

    @model_validator(mode="after")
    def _apart(self) -> Self:
        for folder in (self.output.public_path, self.output.internal_path):
            if f"{folder}/".startswith(f"{self.input.path}/"):
                raise ValueError(f"output: {folder} lies in the input {self.input.path}; expected a folder elsewhere")
        return self

    @model_validator(mode="after")
    def _supported(self) -> Self:
        require_support(self.method, self.attributes.sensitive_attributes)
        return self

    @model_validator(mode="after")
    def _of_some_t(self) -> Self:
        if self.privacy.n is not None and self.privacy.n <= self.privacy.k:
            raise ValueError(
                f"privacy.nt.n is {self.privacy.n}, and k is {self.privacy.k}: each class would be a superset of its "
                "own, and no t would limit anything; expected an n above k"
            )
        if self.privacy.n is not None and all(a.t is None for a in self.attributes.sensitive_attributes.values()):
            raise ValueError(
                f"privacy.nt.n is {self.privacy.n}, and no sensitive attribute has a t; expected a t, or nt left out"
            )
        return self

    @model_validator(mode="after")
    def _covering(self) -> Self:
        if not self.aggregates:
            return self
        quasi = self.attributes.quasi_identifiers
        about = [
            f"attributes.quasi_identifiers.{name}.{key}"
            for name, settings in quasi.items()
            for key, default in ABOUT_LABELS.items()
            if getattr(settings, key) != default
        ]
        about += ["privacy.nt"] if self.privacy.nt is not None else []
        if about:
            raise ValueError(
                f"{', '.join(about)}: about labels that cover a class's values, and with method.representative its "
                "aggregates are published; leave out either"
            )
        return self

    @property
    def aggregates(self) -> dict[str, Aggregate]:
        """What classes publish of each quasi-identifier in place of labels that cover its values; empty where these are
        published.
        """
        of = {name: self.method.aggregate_of(q) for name, q in self.attributes.quasi_identifiers.items()}
        return {name: aggregate for name, aggregate in of.items() if aggregate is not None}

    def with_k(self, k: int) -> ReleaseSpec:
        """The same run with this k."""
        return self.model_copy(update={"privacy": self.privacy.model_copy(update={"k": k})})

    @property
    def fingerprint(self) -> str:
        """SHA-256 of what decides the release: everything but its name and where it is written. A table in memory is
        none of it: what the profile found in it is.
        """
        decisive = self.model_dump(mode="json", exclude={"name", "output"})
        decisive["input"] |= {"path": FRAME} if self.input.is_frame else {}
        decisive["privacy"] = {key: value for key, value in decisive["privacy"].items() if value is not None}
        return hashlib.sha256(json.dumps(decisive, sort_keys=True, default=str).encode()).hexdigest()
