"""Households in classes, from rows that say whose they are: how many have members in each class, exactly, and the
chance that a member is recognized.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.people import PeopleTallies
from tclose_spark.checks.classes.tallies import ClassTally, texts
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, combine, gather, map_batches, select
from tclose_spark.io.tables.check_columns import SUPPRESSED
from tclose_spark.measures.disclosure.individual import HouseholdRisk, individual_risks
from tclose_spark.requirements.criterion import first_of
from tclose_spark.runfile.population import Population
from tclose_spark.table.columns.weights import MILLIONTHS, millionths
from tclose_spark.table.fingerprint import content_hash
from tclose_spark.table.people import HOUSEHOLD, whole_people

COUNTED = [(name, pa.int64()) for name in ("households", "size", "classes", "rows")]
CLASS, WEIGHT = "class", "weight"
KEYED = pa.schema([(name, pa.int64()) for name in (CLASS, HOUSEHOLD, WEIGHT)])
MEMBERS = pa.schema([(name, pa.int64()) for name in (HOUSEHOLD, "safety", "certain", "members", "alone")])
FIGURES = pa.schema([("maximum", pa.float64()), *((n, pa.int64()) for n in ("sum", "above", "members", "n", "unique"))])
UNIT = 1 << 32
"""In which chances are added up, as integers: a sum of doubles depends on its order."""


class HouseholdsOfClasses(NamedTuple):
    """fewest: households of the class that has the fewest. size: its rows. labels: its own.
    classes, rows: how many classes have fewer than are required, and their rows.
    """

    fewest: int
    size: int
    labels: tuple[str | None, ...]
    classes: int
    rows: int

    def problems(self, k: int) -> list[str]:
        """A line if classes have fewer than k."""
        found = f"{self.classes:,} classes ({self.rows:,} rows) have members of fewer than {k} households"
        return [f"{found}; the fewest are {self.fewest} (attributes.household.k)"] if self.classes else []


def households_of_classes(tallied: PeopleTallies, k: int) -> HouseholdsOfClasses:
    """What the tallies by HOUSEHOLD say of released classes, of which there are some."""
    labels = [f"l{i}" for i in range(tallied.labels)]
    schema = pa.schema([*((name, pa.string()) for name in labels), *COUNTED])
    found = collect(map_batches(tallied.classes, partial(_count, k=k, schema=schema), schema))
    worst = _worst(found).to_pylist()[0]
    return HouseholdsOfClasses(
        fewest=worst["households"],
        size=worst["size"],
        labels=tuple(worst[name] for name in labels),
        classes=pc.sum(found["classes"]).as_py(),
        rows=pc.sum(found["rows"]).as_py(),
    )


def _count(batches: Iterable[pa.RecordBatch], k: int, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The worst class of each batch, with how many classes and rows break k."""
    for batch in batches:
        if batch.num_rows:
            classes = ClassTally.whole(batch, len(schema) - len(COUNTED))
            tuples, first = classes.tuples, classes.values[-1].cast(pa.int64()).to_numpy()
            size = np.add.reduceat(tuples.counts, tuples.starts)
            households = np.add.reduceat(tuples.counts * first[tuples.values], tuples.starts)
            broken = households < k
            totals = [np.full(len(size), n) for n in (broken.sum(), size[broken].sum())]
            columns = [*classes.labels, *map(pa.array, (households, size, *totals))]
            yield _worst(pa.Table.from_arrays(columns, schema=schema)).to_batches()[0]


def _worst(classes: pa.Table) -> pa.Table:
    """The class with the fewest households; of several the smallest, then the first by its labels."""
    for name in ("households", "size"):
        classes = classes.filter(pc.equal(classes[name], pc.min(classes[name])))
    labels = [column.combine_chunks() for column in classes.columns[: -len(COUNTED)]]
    return classes.slice(first_of(labels, np.arange(len(classes))), 1).combine_chunks()


def household_risk(
    rows: Table, labels: Sequence[str], population: Population | None, threshold: Fraction
) -> HouseholdRisk:
    """The risk of households. rows: with these labels, the weight of the population if it is one, HOUSEHOLD and
    SUPPRESSED. One shuffle by class, one by household.
    """
    weight = None if population is None else population.weight
    fraction = None if population is None else population.fraction
    columns = [*labels, *([] if weight is None else [weight]), HOUSEHOLD, SUPPRESSED]

    def keyed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            kept = batch.filter(pc.invert(batch[SUPPRESSED]))
            weights = np.zeros(len(kept), dtype=np.int64) if weight is None else millionths(kept[weight])
            hashed = content_hash([texts(column) for column in kept.columns[: len(labels)]]).view(np.int64)
            yield pa.RecordBatch.from_arrays([pa.array(hashed), kept[HOUSEHOLD], pa.array(weights)], schema=KEYED)

    def members(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in whole_people(batches, CLASS):
            if batch.num_rows:
                _, of, f = np.unique(batch[CLASS], return_inverse=True, return_counts=True)
                chance = 1 / f
                if fraction is not None:
                    chance = individual_risks(f, np.full(len(f), float(fraction)))
                elif weight is not None:
                    stood_for = np.zeros(len(f), dtype=np.int64)
                    np.add.at(stood_for, of, batch[WEIGHT].to_numpy())
                    chance = individual_risks(f, f * MILLIONTHS / np.maximum(stood_for, f * MILLIONTHS))
                certain = chance >= 1
                safety = np.rint(-np.log1p(-np.where(certain, 0.0, chance)) * UNIT).astype(np.int64)
                ones = np.ones(len(of), dtype=np.int64)
                made = [safety[of], certain[of].astype(np.int64), ones, (f == 1)[of].astype(np.int64)]
                yield pa.RecordBatch.from_arrays([batch[HOUSEHOLD], *map(pa.array, made)], schema=MEMBERS)

    def add_up(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                _, safety, certain, n, alone = (column.to_numpy() for column in batch.columns)
                risk = np.where(certain > 0, 1.0, -np.expm1(-safety / UNIT))
                added = (np.rint(risk * UNIT).astype(np.int64) @ n, n[risk > float(threshold)].sum(), n.sum(), len(n))
                figures = [risk.max(), *map(int, added), int(np.count_nonzero(alone))]
                yield pa.RecordBatch.from_arrays([pa.array([one]) for one in figures], schema=FIGURES)

    by_class = gather(map_batches(select(rows, columns), keyed, KEYED), [CLASS])
    by_household = combine(
        map_batches(by_class, members, MEMBERS), [HOUSEHOLD], dict.fromkeys(MEMBERS.names[1:], "sum")
    )
    found = collect(map_batches(by_household, add_up, FIGURES))
    total, above, people, n, unique = (sum(found[name].to_pylist()) for name in FIGURES.names[1:])
    return HouseholdRisk(
        maximum=Fraction(pc.max(found["maximum"]).as_py()),
        mean=Fraction(total, UNIT * people),
        share=Fraction(above, people),
        estimate=population is not None and population.is_estimated,
        households=n,
        unique=Fraction(unique, n),
    )
