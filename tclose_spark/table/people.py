"""Rows by person: how many rows a person has, and which of them is the first.

A person's first row stands for the person where people are counted. It is the first in the order of
the sensitive values' texts, so that it follows from the rows' content alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tclose_spark.runfile.text import same_to_a_reader
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.dictionaries import coded, codes_of, of_values
from tclose_spark.table.fingerprint import RowHash

PERSON = "person_hash"
"""The keyed hash of a person, an int64: of staged rows, and of `internal/people`."""
HOUSEHOLD = "household_hash"
"""The keyed hash of a household, an int64: of staged rows, and of `internal/households`."""
SPELLING = "person_spelling"
"""The hash of a person's identifier, equal for those that differ in case, blanks, width or normal
form only.
"""
OWNERS = {"person": PERSON, "household": HOUSEHOLD}
"""The staged columns of whose rows are, by role."""
ROWS_OF_PERSON = "rows_of_person"
FIRST = "first"
ROWS_OF_HOUSEHOLD = "rows_of_household"
"""Of a row's person the number of rows, and whether the row is the first; the number of rows of its
household.
"""
LONE = "lone"
"""Whether a row has no known person, and becomes a person of its own."""
ROWS_AT_ONCE = 1 << 18  # of whole people, held in a task


@dataclass(frozen=True, kw_only=True)
class Members:
    """The people of earlier releases, as the input has them.

    left: not in the input. changed: there with other sensitive values. stayed: published from the
        input.
    kept: published as they were, because others of their atom are there.
    withheld: there, in an atom that is not whole, those who changed among them.
    """

    left: int
    changed: int
    stayed: int
    withheld: int
    kept: int


@dataclass(frozen=True, kw_only=True)
class People:
    """The people of the input.

    people: how many there are.
    sizes: the numbers of rows that people have, ascending.
    varying: by quasi-identifier, how many people have several values of it.
    members: if the release continues an earlier one, so that people have atoms (see `table.atoms`).
    unknown: the rows of the input without a person, which are left out, or each of a person of its
        own.
    """

    people: int
    sizes: tuple[int, ...]
    varying: tuple[int, ...]
    members: Members | None = None
    unknown: int = 0

    @property
    def counted(self) -> dict[str, tuple[int, ...]]:
        """See `CountedOwners.counted`."""
        return {ROWS_OF_PERSON: self.sizes, FIRST: (0, 1)}


@dataclass(frozen=True, kw_only=True)
class Households:
    """The households of the input.

    households: how many there are. sizes: the numbers of rows that they have, ascending.
    """

    households: int
    sizes: tuple[int, ...]

    @property
    def counted(self) -> dict[str, tuple[int, ...]]:
        """See `CountedOwners.counted`."""
        return {ROWS_OF_HOUSEHOLD: self.sizes}


class CountedOwners(NamedTuple):
    """Whose rows the input has: the people and the households, None if they are not counted."""

    people: People | None = None
    households: Households | None = None

    @property
    def counted(self) -> dict[str, tuple[int, ...]]:
        """The numbers that a row may have of its person and of its household, ascending, by staged
        column.
        """
        found: dict[str, tuple[int, ...]] = {}
        for one in self:
            found |= {} if one is None else one.counted
        return found


@dataclass(frozen=True, kw_only=True)
class PersonRows:
    """Whole people's rows. All arrays have shape (n,).

    size: the number of rows of each row's person.
    lead: the place of the first row of each row's person.
    """

    size: IntArray
    lead: IntArray

    @staticmethod
    def of(
        person: IntArray,
        texts: Sequence[pa.Array],
        ties: Sequence[IntArray] = (),
    ) -> PersonRows:
        """The rows of these people. texts: the sensitive values. ties: decide between equal texts.

        >>> rows = PersonRows.of(np.array([7, 3, 7]), [pa.array(["flu", "gout", "cold"])])
        >>> rows.size.tolist(), rows.lead.tolist(), rows.first.tolist()
        ([2, 1, 2], [2, 1, 2], [False, True, True])
        """
        order = np.lexsort((*reversed([*map(ranks, texts), *ties]), person))
        starts = np.flatnonzero(np.diff(person[order], prepend=~person[order[:1]]))
        sizes = np.diff(np.append(starts, len(order)))
        size, lead = np.empty((2, len(order)), dtype=np.int64)
        size[order], lead[order] = np.repeat(sizes, sizes), np.repeat(order[starts], sizes)
        return PersonRows(size=size, lead=lead)

    @property
    def first(self) -> NDArray[np.bool_]:
        """Whether each row is the first of its person."""
        first: NDArray[np.bool_] = self.lead == np.arange(len(self.lead))
        return first

    def varying(self, column: pa.Array) -> int:
        """How many of these people have several values of a column."""
        codes = codes_of(coded(column))
        return len(np.unique(self.lead[codes != codes[self.lead]]))


def person_hash(secret: str) -> RowHash:
    """The hash of people that a run's secret keys."""
    return RowHash.of(f"person {secret}", 1)


def household_hash(secret: str) -> RowHash:
    """The hash of households that a run's secret keys."""
    return RowHash.of(f"household {secret}", 1)


def hash_people(column: pa.Array, keyed: RowHash) -> pa.Array:
    """The hash of the person of each row, an int64; missing where the column is missing, NaN, empty
    or blank.
    """
    return pc.if_else(knows_person(column), pa.array(keyed.of_rows([column]).view(np.int64)), None)


def knows_person(column: pa.Array) -> pa.Array:
    """Whether each row has a person: not missing, NaN, empty or blank."""
    known = column.is_valid()
    if pa.types.is_string(column.type):
        known = pc.and_(known, pc.not_equal(pc.utf8_trim_whitespace(column.fill_null("")), ""))
    if pa.types.is_floating(column.type):
        known = pc.and_(known, pc.invert(pc.is_nan(column.fill_null(0))))
    return known


def apart_from_equals(
    batches: Iterable[pa.RecordBatch],
    keyed: RowHash,
) -> Iterator[pa.RecordBatch]:
    """Rows whose last columns are LONE and PERSON, with a person of its own for each LONE row; LONE
    goes.

    batches: sorted by PERSON, which is equal for LONE rows of equal content. So persons follow from
        content alone.
    keyed: of two columns.
    """
    for batch in whole_people(batches):
        lone = batch[LONE].to_numpy(zero_copy_only=False)
        person = batch[PERSON].fill_null(0).to_numpy()
        first = np.flatnonzero(np.diff(person, prepend=~person[:1]))
        place = np.arange(len(person)) - np.repeat(first, np.diff(np.append(first, len(person))))
        numbered = keyed.of_rows([pa.array(person[lone]), pa.array(place[lone])]).view(np.int64)
        owner = person.copy()
        owner[lone] = numbered
        whose = pa.array(owner, mask=batch[PERSON].is_null().to_numpy(zero_copy_only=False))
        yield batch.drop_columns([LONE, PERSON]).append_column(PERSON, whose)


def hash_spellings(column: pa.Array, secret: str) -> pa.Array:
    """The keyed hash of each text, an int64, equal for texts that look the same to a reader;
    missing where it is.
    """

    def alike(values: pa.Array) -> pa.Array:
        if pc.all(pc.string_is_ascii(values)).as_py() is not False:
            return pc.binary_join(
                pc.ascii_split_whitespace(pc.ascii_trim_whitespace(pc.ascii_lower(values))),
                " ",
            )
        return pa.array(
            [None if text is None else same_to_a_reader(text) for text in values.to_pylist()],
            pa.string(),
        )

    keyed = RowHash.of(f"spelling {secret}", 1)
    return pc.if_else(
        column.is_valid(),
        pa.array(keyed.of_rows([of_values(column, alike)]).view(np.int64)),
        None,
    )


def ranks(column: pa.Array) -> IntArray:
    """The place of each value in their order, shape (n,). A missing value comes first.

    >>> ranks(pa.array(["flu", None, "cold", "flu"])).tolist()
    [2, 0, 1, 2]
    """
    distinct = coded(column)
    place = np.empty(len(distinct.dictionary), dtype=np.int64)
    place[pc.array_sort_indices(distinct.dictionary, null_placement="at_start").to_numpy()] = (
        np.arange(len(place))
    )
    return place[codes_of(distinct)]


def whole_people(batches: Iterable[pa.RecordBatch], key: str = PERSON) -> Iterator[pa.RecordBatch]:
    """Rows that are sorted by PERSON (or another key), some at once, so that the rows of a person
    come together.
    """
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows < ROWS_AT_ONCE or not batch.num_rows:
            continue
        table = pa.Table.from_batches(held).combine_chunks()
        (whole,) = table.to_batches()
        person = whole[key].fill_null(0).to_numpy()
        others = np.flatnonzero(person != person[-1])
        # Where the last person begins, who may go on.
        last = int(others[-1]) + 1 if len(others) else 0
        if last:
            yield whole.slice(0, last)
        held = [whole.slice(last)]
        rows = whole.num_rows - last
    if rows:
        yield from pa.Table.from_batches(held).combine_chunks().to_batches()
