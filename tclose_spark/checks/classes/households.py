"""How many households have members in each class, from rows that say whose they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.people import OwnerTallies
from tclose_spark.checks.classes.tallies import ClassTally
from tclose_spark.engine.tables import collect, map_batches
from tclose_spark.requirements.criterion import first_of

COUNTED = [(name, pa.int64()) for name in ("households", "size", "classes", "rows")]


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
        found = (
            f"{self.classes:,} classes ({self.rows:,} rows) have members of fewer than {k} "
            "households"
        )
        return (
            [f"{found}; the fewest are {self.fewest} (attributes.household.k)"]
            if self.classes
            else []
        )


def households_of_classes(tallied: OwnerTallies, k: int) -> HouseholdsOfClasses:
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


def _count(
    batches: Iterable[pa.RecordBatch], k: int, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The worst class of each batch, with how many classes and rows break k."""
    for batch in batches:
        if batch.num_rows:
            classes = ClassTally.whole(batch, len(schema) - len(COUNTED))
            tuples = classes.tuples
            first = classes.values[-1].to_numpy()
            size = np.add.reduceat(tuples.counts, tuples.starts)
            households = np.add.reduceat(tuples.counts * (first[tuples.values] > 0), tuples.starts)
            broken = households < k
            totals = [np.full(len(size), n) for n in (broken.sum(), size[broken].sum())]
            columns = [*classes.labels, *map(pa.array, (households, size, *totals))]
            yield _worst(pa.Table.from_arrays(columns, schema=schema)).to_batches()[0]


def _worst(classes: pa.Table) -> pa.Table:
    """The class with the fewest households; of several the smallest, then the first by its
    labels.
    """
    for name in ("households", "size"):
        classes = classes.filter(pc.equal(classes[name], pc.min(classes[name])))
    labels = [column.combine_chunks() for column in classes.columns[: -len(COUNTED)]]
    return classes.slice(first_of(labels, np.arange(len(classes))), 1).combine_chunks()
