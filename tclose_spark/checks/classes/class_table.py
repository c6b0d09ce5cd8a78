"""The class table: one row for each equivalence class, with all that is required of it in exact
figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.tallies import ClassTally
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import map_batches
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.measures.loss.information_loss import Coarsest, LabelLoss
from tclose_spark.requirements.criterion import Criterion
from tclose_spark.requirements.judge import JudgedAttribute
from tclose_spark.requirements.registry import columns_of, fields_of
from tclose_spark.runfile.hierarchies import HierarchyBuilder
from tclose_spark.table.arrays import IntArray, Mapper
from tclose_spark.table.dictionaries import group_equal


@dataclass(frozen=True)
class Classes:
    """Some classes, with sensitive values as codes.

    sizes: records of each class.
    tuples: histograms over the rows of `codes`.
    codes: shape (tuples, attributes), in the attributes' domains; tuples of attributes come last.
    marginals: by attribute, the histograms of its values.
    numbers: of each tuple, integers of whose its rows are, if they are counted: see
        `people.OwnerTallies`.
    """

    sizes: IntArray
    tuples: Histograms
    codes: IntArray
    marginals: Mapping[str, Histograms]
    numbers: Sequence[IntArray] = ()

    @staticmethod
    def of(tally: ClassTally, attributes: Sequence[JudgedAttribute]) -> Classes:
        """The classes of a tally, its text coded by the domains of the attributes. Tuples of
        attributes come last.
        """
        columns = [a for a in attributes if a.tuples is None]
        coded = [
            pc.index_in(text, value_set=pa.array(a.values, pa.string()))
            .to_numpy(zero_copy_only=False)
            .astype(np.int64)
            for text, a in zip(tally.values, columns, strict=False)
        ]
        of_columns = np.stack(coded, axis=1) if coded else np.zeros((1, 0), dtype=np.int64)
        coded += [a.tuples.encode(of_columns) for a in attributes if a.tuples is not None]
        tuples = tally.tuples
        groups = tally.tuples.groups
        marginals = {
            a.name: Histograms.tally(
                tuples.owner,
                code[tuples.values],
                tuples.counts,
                groups,
                len(a.values),
            )
            for a, code in zip(attributes, coded, strict=True)
        }
        codes = np.stack(coded, axis=1) if coded else np.zeros((1, 0), dtype=np.int64)
        numbers = [column.to_numpy() for column in tally.values[len(columns) :]]
        return Classes(tuples.sizes, tuples, codes, marginals, numbers)


class ClassMeasure(Protocol):
    """Some columns of the class table."""

    def fields(self) -> list[tuple[str, pa.DataType]]:
        """Names and types of the columns."""
        ...

    def of(self, classes: Classes) -> list[pa.Array]:
        """The columns, one row for each class."""
        ...


class RequiredMeasure(ClassMeasure, Protocol):
    """Columns of which something is required."""

    def criteria(self, k: int | None) -> Sequence[Criterion]:
        """Of every class. k: the least size of a class, if there is one."""
        ...


@dataclass(frozen=True)
class JudgedQuasi:
    """A quasi-identifier to verify: its published columns (two for bounds), the loss and the limit
    of its labels.

    covers: whether labels cover the values of their rows. An aggregate does not, and its loss is
        unknown.
    missing_any: whether a missing value could be any value: a missing label fits every person, and
        a person whose value is missing fits every label.
    builder: of its hierarchy, if that was built from the values of the table.
    """

    name: str
    columns: tuple[str, ...]
    loss: LabelLoss
    coarsest: Coarsest | None = None
    covers: bool = True
    missing_any: bool = False
    builder: HierarchyBuilder | None = None

    @property
    def measured(self) -> bool:
        """Whether its loss is known."""
        return self.covers and not self.loss.unknown

    def losses(self, labels: Sequence[pa.Array]) -> Any:
        """The information loss of each class, shape (classes,), from its published columns; NaN if
        unknown.
        """
        if not self.measured:
            return np.full(len(labels[0]), np.nan)
        group, first = group_equal(labels)
        distinct = zip(
            *(column.take(pa.array(first)).to_pylist() for column in labels),
            strict=True,
        )
        of = self.loss.of_bounds if len(self.columns) == 2 else self.loss.of
        return np.array([float(of(*label)) for label in distinct])[group]


@dataclass(frozen=True)
class ClassRequirements:
    """What every class is judged by.

    k: the least size of a class; None if any will do.
    units: what is required over others than rows; k is then of them, too.
    """

    k: int | None
    quasi: Sequence[JudgedQuasi]
    attributes: Sequence[JudgedAttribute]
    units: Sequence[RequiredMeasure] = ()


def class_fields(quasi: Sequence[JudgedQuasi]) -> list[pa.Field]:
    """The columns of a class table that come before those of its measures."""
    return [
        pa.field(
            "quasi_identifiers",
            pa.struct([(name, pa.string()) for q in quasi for name in q.columns]),
        ),
        pa.field("size", pa.int64()),
        pa.field("loss", pa.float64()),
        pa.field("losses", pa.struct([(q.name, pa.float64()) for q in quasi])),
    ]


def class_table(
    tallies: Table,
    quasi: Sequence[JudgedQuasi],
    attributes: Sequence[JudgedAttribute],
    more: Sequence[ClassMeasure] = (),
) -> Table:
    """One row for each equivalence class: the records that share the published quasi-identifiers
    (NULL equals NULL).

    tallies: of the published columns of `quasi` and of `attributes` (see `tallies.tally_classes`).

    Columns: `quasi_identifiers` (a struct of the labels, as text), `size`, `loss` (the mean
        information loss), `losses` (a struct by quasi-identifier; NULL if unknown), those of each
        attribute (see `fields_of`), and of `more`.
    """
    measures = [field for one in more for field in one.fields()]
    schema = pa.schema([*class_fields(quasi), *fields_of(attributes), *measures])
    return map_batches(tallies, _measure(quasi, attributes, more, schema), schema)


def _measure(
    quasi: Sequence[JudgedQuasi],
    attributes: Sequence[JudgedAttribute],
    more: Sequence[ClassMeasure],
    schema: pa.Schema,
) -> Mapper:
    columns = sum(len(q.columns) for q in quasi)

    def measure(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                tally = ClassTally.whole(batch, columns)
                classes = Classes.of(tally, attributes)
                published = iter(tally.labels)
                losses = [q.losses([next(published) for _ in q.columns]) for q in quasi]
                mean, *each = (
                    pa.array(loss, from_pandas=True)
                    for loss in (sum(losses) / len(losses), *losses)
                )
                arrays = [
                    pa.StructArray.from_arrays(
                        tally.labels,
                        fields=list(schema.field("quasi_identifiers").type),
                    ),
                    pa.array(classes.sizes),
                    mean,
                    pa.StructArray.from_arrays(each, fields=list(schema.field("losses").type)),
                ]
                arrays += columns_of(attributes, classes.marginals)
                arrays += [column for one in more for column in one.of(classes)]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    return measure
