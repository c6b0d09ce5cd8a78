"""The risk of re-identification of classes whose table is a sample of a population, from the class
table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.checks.classes.household_risk import household_risk
from tclose_spark.checks.classes.tallies import texts
from tclose_spark.checks.labels.boxes import MOST_JOINED
from tclose_spark.checks.labels.known_people import (
    fitting_people,
    joined_quasi,
    records_of_classes,
)
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, combine, map_batches, schema_of, select
from tclose_spark.errors import InputError
from tclose_spark.measures.disclosure.population import (
    IndividualRisk,
    PopulationSizes,
    Presence,
    Risk,
    population_risks,
    prosecutor_risk,
)
from tclose_spark.measures.disclosure.population_uniques import PopulationUniques, estimate_uniques
from tclose_spark.runfile.privacy import RISKS, Population, RiskLimits
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.columns.weights import MILLIONTHS, MOST_WEIGHT, millionths, weights_of
from tclose_spark.table.dictionaries import decoded, group_equal
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

COUNTED = pa.schema([("size", pa.int64()), ("classes", pa.int64())])
WEIGHED = pa.schema([("size", pa.int64()), ("weight", pa.int64()), ("classes", pa.int64())])
INVALID = pa.schema([("invalid", pa.int64())])


@dataclass(frozen=True, kw_only=True)
class PopulationRisks:
    """Risks of re-identification of a table.

    population: None if it is not known; then the prosecutor's risk only.
    threshold: of the shares in `risks`, which are by kind (see RISKS).
    people: of the population.
    unmatched: classes with more records than people of the population who fit them.
    alone: people alone in their class, whatever the population.
    uniques: estimates, if the population is one and some are alone.
    unique: those alone in their class whom alone the class fits in the population, if that is
        counted.
    presence: delta-presence, if the population is listed and regions are known to be disjoint.
    """

    population: Population | None
    threshold: Fraction
    risks: Mapping[str, Risk]
    people: Fraction | None = None
    unmatched: int = 0
    alone: int
    uniques: PopulationUniques | None = None
    unique: int | None = None
    presence: Presence | None = None

    def broken(self, limits: RiskLimits) -> list[str]:
        """A line on each limit that a figure exceeds."""
        lines = []
        for adversary, figure, limit in limits.required():
            risk = self.risks[adversary]
            reached = getattr(risk, figure)
            if reached > limit:
                over = f" of records above {float(self.threshold):.6g}" if figure == "share" else ""
                lines.append(
                    f"{RISKS[adversary]} is too large: its {figure}{over} is "
                    f"{float(reached):.6g}{' (an estimate)' if risk.estimate else ''}, and "
                    f"privacy.risk.{adversary}.{figure} allows {float(limit):.6g}; raise k",
                )
        return lines

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON. Exact fractions are texts p/q beside decimals."""
        entry: dict[str, Any] = {"threshold": float(self.threshold)}
        if self.population is not None:
            entry["population"] = {
                **self.population.model_dump(
                    mode="json",
                    exclude_none=True,
                    exclude={"table", "format"},
                ),
                **({} if self.population.is_estimated else {"table": True}),
                "people": None if self.people is None else float(self.people),
                "people_estimated": self.population.is_estimated,
                "unmatched_classes": self.unmatched,
            }
        entry |= {kind: risk.to_json() for kind, risk in self.risks.items()}
        entry["uniques"] = {"sample": self.alone}
        if self.unique is not None:
            entry["uniques"]["sample_and_population"] = {"value": self.unique, "estimate": False}
        if self.presence is not None:
            entry["presence"] = {
                "smallest": float(self.presence.smallest),
                "smallest_exact": str(self.presence.smallest),
                "largest": float(self.presence.largest),
                "largest_exact": str(self.presence.largest),
                "outside": self.presence.outside,
            }
        if self.uniques is not None:
            found = self.uniques
            entry["uniques"]["population"] = {
                "value": found.estimate,
                "estimate": True,
                "by": found.chosen,
                "all": {"pitman": found.pitman, "zayatz": found.zayatz, "snb": found.snb},
            }
        return entry


@dataclass(frozen=True, kw_only=True)
class RiskQuestion:
    """The adversary's knowledge, and the figures that are wanted.

    population: None if only the risks within the release are. listed: its people, if it is a table.
    source: what an error names it.
    threshold: a record is at risk above it.
    stated: the share of expected re-identifications for which the individual risk has a threshold.
    """

    population: Population | None
    listed: Table | None = None
    source: str = "--population"
    threshold: Fraction
    stated: Fraction | None = None


@dataclass(frozen=True, kw_only=True)
class ClassesAtRisk:
    """The published classes, whose people an adversary may find.

    classes: the class table. table: the published rows, which a population by weight needs.
    households: the rows with labels, HOUSEHOLD, SUPPRESSED and the weight, if the risk of
        households is measured.
    disjoint: whether the regions of classes are known not to overlap.
    """

    classes: Table
    quasi: Sequence[JudgedQuasi]
    hierarchies: Mapping[str, Hierarchy]
    table: Table | None = None
    households: Table | None = None
    disjoint: bool = False


def measure_risks(published: ClassesAtRisk, question: RiskQuestion) -> PopulationRisks:
    """The risks of the classes of a class table: of people, if it counts them.

    Raises:
        InputError: if a weight is no number of people; if the population's table lacks a
            quasi-identifier, or has no rows, or a label does not show which values it covers; or if
            there are more than MOST_JOINED distinct classes.
    """
    classes = published.classes
    population = question.population
    threshold = question.threshold
    counted = "people" if "people" in schema_of(classes).names else "size"
    sizes, number = _sizes(classes, counted)
    risks = {"prosecutor": prosecutor_risk(sizes, number, threshold)}
    alone = int(number[sizes == 1].sum())
    labels = [column for q in published.quasi for column in q.columns]
    beside = (
        {}
        if published.households is None
        else {"household": household_risk(published.households, labels, population, threshold)}
    )
    if population is None:
        return PopulationRisks(
            population=None,
            threshold=threshold,
            risks=risks | beside,
            alone=alone,
        )
    people = Fraction(int(sizes @ number))
    unique = None
    presence = None
    if population.fraction is not None:
        of = PopulationSizes.of_fraction(sizes, number, population.fraction)
        people /= population.fraction
    elif population.weight is not None and published.table is not None:
        of, weights = _weighed(published.table, labels, population.weight, question.source)
        people = max(people, weights)
    else:
        assert question.listed is not None
        of, people = _listed(published, counted, question.listed, question.source)
        unique = int(of.classes[(of.sizes == 1) & (of.population <= 1)].sum())
        if published.disjoint:
            presence = Presence.of(of.sizes, of.population, int(people))
    risks |= population_risks(of, threshold, population.is_estimated)
    if population.is_estimated:
        risks["individual"] = IndividualRisk.of(of, threshold, question.stated)
    rows = int(sizes @ number) if population.is_estimated and alone else 0
    return PopulationRisks(
        population=population,
        threshold=threshold,
        risks=risks | beside,
        people=people,
        unmatched=of.unmatched,
        alone=alone,
        uniques=estimate_uniques(sizes, number, rows / people) if rows else None,
        unique=unique,
        presence=presence,
    )


def _sizes(classes: Table, counted: str) -> tuple[IntArray, IntArray]:
    """(the distinct sizes of classes, ascending; how many classes have each)."""

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            sizes, number = np.unique(batch[counted].to_numpy(), return_counts=True)
            yield pa.RecordBatch.from_arrays([pa.array(sizes), pa.array(number)], schema=COUNTED)

    found = combine(
        map_batches(select(classes, [counted]), count, COUNTED),
        ["size"],
        {"classes": "sum"},
    )
    held = collect(found).sort_by("size")
    return held["size"].to_numpy(), held["classes"].to_numpy()


def _weighed(
    table: Table,
    labels: Sequence[str],
    weight: str,
    what: str,
) -> tuple[PopulationSizes, Fraction]:
    """(the classes of a table, the sum of its weights)."""
    invalid = pc.sum(
        collect(map_batches(select(table, [weight]), _invalid, INVALID))["invalid"],
    ).as_py()
    if invalid:
        raise InputError(
            f"{what}: {invalid:,} rows have no number of people in {weight!r}; expected numbers "
            f"from 0 to {MOST_WEIGHT:,}",
        )

    def alike(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            one = pa.repeat(pa.scalar(1, pa.int64()), len(batch))
            yield pa.RecordBatch.from_arrays([batch["size"], batch["weight"], one], schema=WEIGHED)

    classes = weights_by(table, labels, weight)
    groups = combine(map_batches(classes, alike, WEIGHED), ["size", "weight"], {"classes": "sum"})
    held = collect(groups, MOST_JOINED + 1)
    if held.num_rows > MOST_JOINED:
        raise InputError(
            f"{what}: classes have more than {MOST_JOINED:,} sizes and weights; round the weights",
        )
    sizes, weights, number = (column.to_numpy() for column in held.columns)
    of = PopulationSizes(sizes=sizes, population=weights, unit=MILLIONTHS, classes=number)
    return of, Fraction(
        sum(int(w) * int(n) for w, n in zip(weights, number, strict=True)),
        MILLIONTHS,
    )


def weights_by(table: Table, columns: Sequence[str], weight: str) -> Table:
    """For each tuple of values of some columns, as texts `l0`...: its rows `size`, and the sum of
    their weights `weight` in MILLIONTHS.
    """
    keys = [f"l{i}" for i in range(len(columns))]
    schema = pa.schema([*[(key, pa.string()) for key in keys], *list(WEIGHED)[:2]])

    def tally(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                *values, weights = batch.columns
                coded = [texts(column) for column in values]
                group, first = group_equal(coded)
                held = np.zeros(len(first), dtype=np.int64)
                np.add.at(held, group, millionths(weights))
                distinct = [decoded(column).take(pa.array(first)) for column in coded]
                counts = pa.array(np.bincount(group, minlength=len(first)))
                yield pa.RecordBatch.from_arrays([*distinct, counts, pa.array(held)], schema=schema)

    tallied = map_batches(select(table, [*columns, weight]), tally, schema)
    return combine(tallied, keys, {"size": "sum", "weight": "sum"})


def _invalid(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pa.RecordBatch.from_arrays(
            [pa.array([weights_of(batch.column(0)).null_count], pa.int64())],
            schema=INVALID,
        )


def _listed(
    published: ClassesAtRisk,
    counted: str,
    listed: Table,
    source: str,
) -> tuple[PopulationSizes, Fraction]:
    """(the classes with the people of a list who fit them, how many people are listed)."""
    quasi = published.quasi
    joined = {q.name for q in joined_quasi(quasi, listed)}
    absent = [q.name for q in quasi if q.name not in joined]
    if absent:
        raise InputError(
            f"{source}: the table of the population lacks {len(absent)} of {len(quasi)} "
            f"quasi-identifiers, the first is {absent[0]!r}; expected all under their names",
        )
    sizes = records_of_classes(published.classes, quasi, counted)
    fits = fitting_people(sizes, listed, quasi, published.hierarchies, source)
    ones = np.ones(len(fits.sizes), dtype=np.int64)
    of = PopulationSizes(sizes=fits.sizes, population=fits.population, unit=1, classes=ones)
    return of, Fraction(fits.people)
