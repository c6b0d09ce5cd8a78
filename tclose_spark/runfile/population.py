"""The population that a table is a sample of, and which risks of re-identification are required."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, WithJsonSchema

from tclose_spark.runfile.combinations import OF_POPULATION, RISK_FIGURES
from tclose_spark.runfile.section import Exact, Section, number_schema

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
    Exact, AfterValidator(_share), WithJsonSchema(number_schema(minimum=0, maximum=1))
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
