"""The numbers, values and nodes that all published labels name. Public figures are measured on these, never on the
raw table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tclose_spark.checks.classes.tallies import MOST_VALUES
from tclose_spark.errors import InputError
from tclose_spark.io.spark.workers import Mapper, map_batches
from tclose_spark.measures.loss.information_loss import NoLabelError, interval_ends, set_members
from tclose_spark.table.hierarchies.hierarchy import ROOT

Reader = Callable[[Collection[str]], Iterable[str]]
"""From distinct labels, without `*` and missing ones, to what they name."""


def numbers(labels: Collection[str]) -> list[str]:
    """The smallest and the largest number among the ends of numeric labels, exactly.

    Raises:
        NoLabelError: if one is neither a number nor an interval.
    """
    try:
        ends = [end for label in labels for end in interval_ends(label.strip())]
    except ValueError:
        raise NoLabelError("neither a number nor an interval") from None
    return [str(min(ends)), str(max(ends))] if ends else []


def members(labels: Collection[str]) -> set[str]:
    """The members of sets, and the other labels themselves."""
    return {member for label in labels for member in set_members(label)}


def themselves(labels: Collection[str]) -> Collection[str]:
    """Values and nodes name themselves."""
    return labels


@dataclass(frozen=True)
class LabelVocabulary:
    """What the labels of a quasi-identifier name. suppressed: whether all labels are `*`."""

    names: frozenset[str]
    suppressed: bool

    def __or__(self, other: LabelVocabulary) -> LabelVocabulary:
        """What both name together."""
        return LabelVocabulary(self.names | other.names, self.suppressed and other.suppressed)

    @property
    def span(self) -> Fraction:
        """From the smallest to the largest number; 0 without numbers."""
        ends = [Fraction(name) for name in self.names]
        return max(ends) - min(ends) if ends else Fraction(0)


def vocabulary_of(tallies: DataFrame, readers: Mapping[int, Reader]) -> dict[int, LabelVocabulary]:
    """What the labels `l<i>` of tallies name, for each i of `readers`. One job; tasks send distinct names only.

    Raises:
        InputError: if they name more than a driver holds.
    """
    picked = tallies.select(*[F.col(f"l{i}") for i in readers])
    counted = (
        map_batches(picked, _read(list(readers.values())), "place int, name string")
        .distinct()
        .limit(MOST_VALUES + 1)
        .toArrow()
    )
    if counted.num_rows > MOST_VALUES:
        raise InputError(f"the labels name more than {MOST_VALUES:,} values in all; use coarser ones")
    names: dict[int, set[str | None]] = {i: set() for i in readers}
    order = list(readers)
    for place, name in zip(counted["place"].to_pylist(), counted["name"].to_pylist(), strict=True):
        names[order[place]].add(name)
    return {
        i: LabelVocabulary(frozenset(n for n in found if n not in (None, ROOT)), found == {ROOT})
        for i, found in names.items()
    }


def _read(readers: Sequence[Reader]) -> Mapper:
    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        names: list[set[str | None]] = [set() for _ in readers]
        for batch in batches:
            for found, reader, column in zip(names, readers, batch.columns, strict=True):
                labels = set(column.unique().to_pylist())
                found |= labels & {None, ROOT}
                found.update(reader(labels - {None, ROOT}))
        for place, found in enumerate(names):
            yield pa.RecordBatch.from_pydict(
                {"place": pa.array([place] * len(found), pa.int32()), "name": pa.array(list(found), pa.string())}
            )

    return read
