"""Requirements of `privacy` beside k and t: closeness of several sensitive attributes together
(`joint`), and risks of re-identification, given the population that a table is a sample of.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from tclose_spark.runfile.attributes import MEASURE, Closeness, SensitiveAttribute
from tclose_spark.runfile.combinations import OF_POPULATION, RISK_FIGURES
from tclose_spark.runfile.section import Exact, Section, as_tuple, each_once, number_schema

SHARE = number_schema(exclusiveMinimum=0, maximum=1)["anyOf"]


def _some_distance(t: Fraction | None) -> Fraction | None:
    if t == 0:
        raise ValueError("expected a number above 0 and at most 1, or measure")
    return t


class JointCloseness(Section):
    """A t of several sensitive attributes as one (Li et al. 2007, section 8). Any two different
    tuples of their values are equally far apart.
    """

    attributes: Annotated[
        tuple[str, ...],
        BeforeValidator(as_tuple),
        Field(min_length=2),
        AfterValidator(each_once),
    ]
    """The sensitive attributes whose values form the tuple."""
    t: Annotated[
        Closeness,
        AfterValidator(_some_distance),
        WithJsonSchema({"anyOf": [*SHARE, {"const": MEASURE}]}, mode="validation"),
    ]
    """The largest earth mover's distance of a class's tuples from the table's, above 0 and at most
    1, exact as written.
    measure: reports the distance and limits nothing.
    """

    @property
    def name(self) -> str:
        """The name of the tuple in figures: the attributes with + between them."""
        return "+".join(self.attributes)

    @property
    def as_attribute(self) -> SensitiveAttribute:
        """The settings of the tuple as one sensitive attribute."""
        return SensitiveAttribute(t=self.t) if self.t is not None else SensitiveAttribute()


def as_sections(value: Any) -> Any:
    """A list of sections as a tuple.

    Raises:
        ValueError: if it is anything else, such as the list of one requirement's attributes.
    """
    if not isinstance(value, list | tuple) or not all(isinstance(one, Mapping) for one in value):
        raise ValueError(
            "expected a list of sections, such as [{attributes: [disease, income], t: 0.3}]",
        )
    return tuple(value)


def require_attributes(
    joint: Sequence[JointCloseness],
    sensitive: Collection[str],
    key: str,
) -> None:
    """Raises ValueError unless each requirement is of sensitive attributes, and is the only one of
    these. key: names the requirements in the message.
    """
    for i, one in enumerate(joint):
        if unknown := [name for name in one.attributes if name not in sensitive]:
            raise ValueError(
                f"{key} names {unknown[0]!r}; expected a sensitive attribute "
                f"({', '.join(sensitive)})",
            )
        if one.name in sensitive:
            raise ValueError(
                f"{key}: a sensitive attribute is named {one.name!r}, like the tuple; rename it",
            )
        if any(
            one.name == other.name and one.attributes != other.attributes for other in joint[:i]
        ):
            raise ValueError(
                f"{key} names two tuples {one.name!r}; rename an attribute whose name has a +",
            )
        if any({*one.attributes} == {*other.attributes} for other in joint[:i]):
            raise ValueError(
                f"{key} names {' and '.join(one.attributes)} twice; expected one t for them",
            )


def covered(joint: Sequence[JointCloseness]) -> set[str]:
    """The attributes of which a joint t limits what a class reveals. No distance of one attribute
    is larger than that of a tuple with it.
    """
    return {name for one in joint if one.as_attribute.limited for name in one.attributes}


THRESHOLD = Fraction(9, 100)
"""The threshold of EMA's policy 0070 for public releases."""
SMALLEST = Fraction(1, 10**12)
"""The smallest sampling fraction: of one person among more than ever lived."""
ADVERSARIES = ("prosecutor", "journalist", "marketer")
RISKS = {
    **{adversary: f"the {adversary}'s risk" for adversary in ADVERSARIES},
    "individual": "the individual risk",
    "household": "the risk of households",
}
"""The kinds of risk, with their names."""


def _share(share: Fraction) -> Fraction:
    if not 0 <= share <= 1:
        raise ValueError("expected a number from 0 to 1")
    return share


def _fraction(share: Fraction) -> Fraction:
    if not SMALLEST <= share <= 1:
        raise ValueError("expected a number above 0 (at least 1e-12), and at most 1")
    return share


Share = Annotated[
    Exact,
    AfterValidator(_share),
    WithJsonSchema(number_schema(minimum=0, maximum=1)),
]


class Population(Section):
    """The population, in one of three ways."""

    keys_together = OF_POPULATION
    fraction: (
        Annotated[
            Exact,
            AfterValidator(_fraction),
            WithJsonSchema(number_schema(exclusiveMinimum=0, maximum=1)),
        ]
        | None
    ) = None
    """The sampling fraction: the table's share of its population. Population figures are estimates
    then.
    """
    weight: Annotated[str, Field(min_length=1)] | None = None
    """A column with the number of people that each row stands for. Population figures are estimates
    then.
    """
    table: str | None = None
    """The path, relative to the run file, of a table with a row for each person of the population.
    It has the raw quasi-identifiers under their names.
    """
    format: Literal["csv", "parquet", "delta", "table"] | None = None
    """The format of the table, if its path does not name it."""

    @property
    def is_estimated(self) -> bool:
        """Whether how many people fit a class is an estimate, and not counted."""
        return self.table is None


class RiskLimit(Section):
    """The largest figures of one kind of risk that may be published."""

    maximum: Share | None = None
    """Limits the largest chance of a record."""
    mean: Share | None = None
    """Limits the mean chance over all records."""
    share: Share | None = None
    """Limits the share of records with a chance above `threshold`."""


class RiskLimits(Section):
    """Limits on the risk of re-identification. A figure without a limit is reported only."""

    threshold: Share = THRESHOLD
    """The chance above which a record counts in `share`."""
    prosecutor: RiskLimit | None = None
    """Limits for an adversary who knows that a person is in the table."""
    journalist: RiskLimit | None = None
    """Limits for an adversary who names the person of any record. Needs `privacy.population`."""
    marketer: RiskLimit | None = None
    """Limits for an adversary who names the people of all records. Needs `privacy.population`."""

    individual: RiskLimit | None = None
    """Limits for the individual risk, an estimate. Its mean is the expected share of re-identified
    records. Needs `privacy.population` with a fraction or weights.
    """

    household: RiskLimit | None = None
    """Limits for the chance that some member of the household is recognized. Needs
    `attributes.household`.
    """

    def required(self) -> Iterator[tuple[str, str, Fraction]]:
        """Each (kind of risk, figure, limit) that is required."""
        for adversary in RISKS:
            for figure in RISK_FIGURES:
                limit = getattr(getattr(self, adversary), figure, None)
                if limit is not None:
                    yield adversary, figure, limit
