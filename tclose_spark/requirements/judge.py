"""The judge's side of a requirement: which columns it adds to the class table, its criterion, and
its expectations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from tclose_spark.measures.distances.ground_distances import GroundDistance, distance_of
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.requirements.criterion import Criterion, Guarantee, Reached
from tclose_spark.requirements.expectation import (
    Expectation,
    expect_at_least,
    expect_at_most,
    expect_present,
)
from tclose_spark.runfile.attributes import Diversity, SensitiveAttribute
from tclose_spark.table.arrays import TupleCodes
from tclose_spark.table.domains import Counts, sensitive_domain
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.writing import finite

EXACT = pa.decimal128(38, 0)


def measure_column(measure: str, attribute: str) -> str:
    """The class table's column of a measure. Dots and backticks in names, which Spark would
    interpret, become %2E and %60.
    """
    return f"{measure}_{attribute.replace('%', '%25').replace('.', '%2E').replace('`', '%60')}"


@dataclass(frozen=True)
class JudgedAttribute:
    """A sensitive attribute to verify: its ordered domain, its distance from the whole table, its
    settings, and the hierarchy whose leaves the domain is, if it has one. If it is a tuple of other
    attributes (`tuples`), only its distance is measured.
    """

    name: str
    values: tuple[str | None, ...]
    distance: GroundDistance
    settings: SensitiveAttribute
    hierarchy: Hierarchy | None = None
    tuples: TupleCodes | None = None

    @property
    def unused(self) -> tuple[str | None, ...]:
        """Values of the domain that no row has."""
        return tuple(
            value for value, n in zip(self.values, self.distance.table, strict=True) if not n
        )

    @property
    def uninformative(self) -> int | None:
        """The code of missing values if they count for no l; None if they do, or there are none."""
        unknown = self.settings.missing == "uninformative" and None in self.values
        return self.values.index(None) if unknown else None

    def of_known(
        self,
        figures: Callable[[Histograms], Any],
        nothing: float,
    ) -> Callable[[Histograms], Any]:
        """Figures of classes over values that are not uninformative. nothing: of a class that has
        no others.
        """
        code = self.uninformative
        if code is None:
            return figures

        def measured(classes: Histograms) -> Any:
            known, some = classes.without(code)
            found = np.asarray(figures(known) if len(some) else [])
            result = np.full(classes.groups, nothing, dtype=found.dtype if len(some) else object)
            result[some] = found
            return result

        return measured

    def column(self, measure: str) -> str:
        """The class table's column of a measure of this attribute (see `measure_column`)."""
        return measure_column(measure, self.name)


def judged_attribute(
    name: str,
    settings: SensitiveAttribute,
    counts: Counts,
    hierarchy: Hierarchy | None,
    is_text: bool,
) -> JudgedAttribute:
    """A sensitive attribute with these counts of the whole table. is_text: whether its column has
    text.

    Raises:
        InputError: if a value has no place in the domain.
    """
    domain = sensitive_domain(name, counts, settings, hierarchy, is_text)
    distance = distance_of(settings, domain, hierarchy)
    return JudgedAttribute(
        name,
        domain.values,
        distance,
        settings,
        None if settings.kind.ordered else hierarchy,
    )


Changes = Mapping[str, Fraction | Diversity]
"""Of the settings of a sensitive attribute."""


@dataclass(frozen=True, kw_only=True)
class Judge:
    """What is measured of a sensitive attribute in every class, and required if there is a bound.

    key: its name in figures. measure: its name for readers.
    columns: that it adds to the class table, each followed by the attribute's name.
    measured: these columns, one row for each class, from the histograms of the attribute's values.
    criterion: of every class; None if it is no guarantee.
    expectations: the requirement for Great Expectations. A missing figure fails.
    people: what counts if people are counted: "weights" (each person weighs 1, spread over the
        person's rows), "rows" (one row of each person), or None (rows only).
    rounded: changes of the settings that shares over people have to meet. Each of the four weights
        that the share of a value is compared by is off by at most a quarter of this rounding, as a
        share of itself.
    digits: of its figure.
    """

    a: JudgedAttribute
    key: str
    measure: str
    columns: Mapping[str, pa.DataType]
    measured: Callable[[Histograms], Sequence[Any]]
    criterion: Criterion | None = None
    expectations: Sequence[Expectation] = ()
    people: Literal["weights", "rows"] | None = None
    rounded: Callable[[Fraction], Changes] = lambda _: {}
    digits: int | None = None

    @property
    def fields(self) -> list[tuple[str, pa.DataType]]:
        """Names and types of its columns."""
        return [(self.a.column(name), kind) for name, kind in self.columns.items()]

    def arrays(self, classes: Histograms) -> list[pa.Array]:
        """Its columns for some classes."""
        return [
            pa.array(values, kind)
            for values, kind in zip(self.measured(classes), self.columns.values(), strict=True)
        ]

    def reached(self, guarantee: Guarantee) -> Reached:
        """Its guarantee as plain values, with a figure of these digits."""
        achieved = guarantee.achieved
        if self.digits is not None:
            achieved = round(achieved, self.digits)
        return {
            "achieved": str(achieved) if isinstance(achieved, Fraction) else finite(achieved),
            "holds": guarantee.holds,
        }


@dataclass(frozen=True, kw_only=True)
class Bound:
    """What a run file requires of a figure.

    required: the bound, as the run file has it.
    margins: of each class, exactly. A class meets the bound if its margin is at least 0.
    kind: of the margin's column.
    meaning: of the requirement; exactly: what it adds for the margin.
    readable: a bound of the figure in doubles that each class meets if it meets the exact one; None
        if `required` is one.
    """

    required: Any
    margins: Callable[[Histograms], Any]
    kind: pa.DataType = EXACT
    meaning: str
    exactly: str = ", in exact integers"
    readable: float | None = None


def bounded(
    a: JudgedAttribute,
    key: str,
    measure: str,
    figures: Callable[[Histograms], Any],
    bound: Bound | None = None,
    largest: bool = False,
) -> Judge:
    """A judge of a figure in doubles, in a column named like its key. If a bound is required, a
    second column has its exact margins.

    largest: whether the largest figure is the worst, and not the smallest.

    Other fields, such as `people`, are set with `dataclasses.replace`.
    """
    figure = a.column(key)
    criterion = Criterion(
        measure=measure,
        attribute=a.name,
        required=None,
        figure=figure,
        broken=None,
        largest=largest,
    )
    made = Judge(
        a=a,
        key=key,
        measure=measure,
        columns={key: pa.float64()},
        measured=lambda classes: [figures(classes)],
        criterion=criterion,
    )
    if bound is None:
        return made
    exact = f"exact_{key}"
    margin = a.column(exact)
    readable = float(bound.required) if bound.readable is None else bound.readable
    compare = expect_at_most if largest else expect_at_least
    return replace(
        made,
        columns={**made.columns, exact: bound.kind},
        measured=lambda classes: [figures(classes), clipped(bound.margins(classes))],
        criterion=replace(criterion, required=bound.required, broken=(margin, 0)),
        expectations=[
            expect_present(figure),
            compare(figure, readable, bound.meaning),
            expect_present(margin),
            expect_at_least(margin, 0, bound.meaning + bound.exactly),
        ],
    )


def clipped(margins: Any) -> list[Any]:
    """Margins in 38 digits. Larger ones (a t with very many digits) are clipped, and keep their
    sign.
    """
    most = 10**38 - 1
    return [max(-most, min(most, margin)) for margin in margins.tolist()]
