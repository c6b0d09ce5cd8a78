"""The numbers, values and nodes that all published labels name. Public figures are measured on
these, never on the raw table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import pyarrow as pa

from tclose_spark.checks.classes.tallies import MOST_VALUES, VALUES
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, combine, map_batches, select
from tclose_spark.errors import InputError
from tclose_spark.measures.loss.information_loss import NoLabelError, interval_ends, set_members
from tclose_spark.table.arrays import Mapper
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


def vocabulary_of(tallies: Table, readers: Mapping[int, Reader]) -> dict[int, LabelVocabulary]:
    """What the labels `l<i>` of tallies name, for each i of `readers`. One job; tasks send distinct
    names only.

    Raises:
        InputError: if they name more than a driver holds.
    """
    read = map_batches(
        select(tallies, [f"l{i}" for i in readers]), _read(list(readers.values())), VALUES
    )
    counted = collect(combine(read, ["place", "value"], {"n": "sum"}), MOST_VALUES + 1)
    if counted.num_rows > MOST_VALUES:
        raise InputError(
            f"the labels name more than {MOST_VALUES:,} values in all; use coarser ones"
        )
    names: dict[int, set[str | None]] = {i: set() for i in readers}
    order = list(readers)
    for place, name in zip(counted["place"].to_pylist(), counted["value"].to_pylist(), strict=True):
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
            rows = [place] * len(found), list(found), [1] * len(found)  # n counts tasks
            yield pa.RecordBatch.from_pydict(dict(zip(VALUES.names, rows, strict=True)), VALUES)

    return read
