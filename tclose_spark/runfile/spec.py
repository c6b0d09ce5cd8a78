"""One run: which table, which columns are what, how much privacy, by which method."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, SerializeAsAny, model_validator

from tclose_spark.runfile.attributes import Attributes
from tclose_spark.runfile.registry import MethodSettings, read_settings, require_support
from tclose_spark.runfile.section import Exact, Section

AUTO = "auto"
"""What `privacy.k` is where the plan is to choose it."""


def _option(value: Any) -> str:
    """A reader option as Spark wants it: text."""
    if not isinstance(value, str | int | Decimal):
        raise ValueError("expected a text, a number, or true or false")
    return str(value).lower() if isinstance(value, bool) else str(value)


class Input(Section):
    """Where the raw table is. For `format: table` the path is the table's name in the catalog.

    columns: new names of columns by their names in the table; all else that names columns has the new ones.
    """

    path: str
    format: Literal["csv", "parquet", "delta", "table"] = "parquet"
    options: dict[str, Annotated[str, BeforeValidator(_option)]] = Field(default_factory=dict)
    columns: dict[str, Annotated[str, Field(min_length=1)]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _apart(self) -> Self:
        name, times = Counter(map(str.lower, self.columns.values())).most_common(1)[0] if self.columns else ("", 0)
        if times > 1:
            raise ValueError(f"columns gives {times} columns the name {name!r} (up to case); expected one for each")
        return self


class Output(Section):
    """Where the release goes: one folder, or two where public and internal must live apart."""

    path: str | None = None
    public: str | None = None
    internal: str | None = None
    keep_linked: bool = False

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.path is None) == (self.public is None or self.internal is None) or (
            self.path and (self.public or self.internal)
        ):
            raise ValueError("expected either path, or both public and internal")
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


class Privacy(Section):
    """The smallest class that may be published, and what may be left out of a release.

    k: 2, the least that may be chosen, where the run file says `auto`.
    alpha: where it does, the weight of privacy loss when the plan chooses one (see `compare.choosing`); else None.
    suppression_limit: the share of the input's rows that the method may suppress.
    of: whose distribution classes must be near to: that of all input rows, or that of the released ones.
    """

    k: Annotated[int, Field(ge=2)]
    suppression_limit: Annotated[Exact, AfterValidator(_below_one)] = Fraction(0)
    of: Literal["input", "released"] = "input"
    alpha: Annotated[Exact, AfterValidator(_weight)] | None = None

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

    def most_suppressed(self, rows: int) -> int:
        """How many of so many input rows the limit allows to leave out.

        >>> Privacy(k=2, suppression_limit="0.29").most_suppressed(100)  # as doubles, 0.29 * 100 is below 29
        29
        """
        return math.floor(self.suppression_limit * rows)


class ReleaseSpec(Section):
    """One run: which table, which columns are what, how much privacy, by which method."""

    name: Annotated[str, Field(min_length=1)]
    input: Input
    output: Output
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

    def with_k(self, k: int) -> ReleaseSpec:
        """The same run with this k."""
        return self.model_copy(update={"privacy": self.privacy.model_copy(update={"k": k})})

    @property
    def fingerprint(self) -> str:
        """SHA-256 of what decides the release: everything but its name and where it is written."""
        decisive = self.model_dump(mode="json", exclude={"name", "output"})
        decisive["privacy"] = {key: value for key, value in decisive["privacy"].items() if value is not None}
        return hashlib.sha256(json.dumps(decisive, sort_keys=True, default=str).encode()).hexdigest()
