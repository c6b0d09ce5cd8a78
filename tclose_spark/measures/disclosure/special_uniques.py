"""Special uniques: the smallest sets of quasi-identifiers that make rows unique (SUDA).

A minimal sample unique (MSU) of a row is a set of quasi-identifiers by whose values the row is
unique in the table, but by no proper subset (Elliot, Manning and Ford 2002, "A Computational
Algorithm for Handling the Special Uniques Problem"). The sets are searched by size, as in SUDA
(Elliot, Manning, Mayes, Gurd and Bane 2005). A row that is unique by a set is unique by every
larger one, so such rows are left out where a set grows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

from tclose_spark.table.arrays import IntArray

MOST_COMBINATIONS = 10_000
MOST_FREQUENT = 10  # combinations that a result lists
FEW_KEYS = 1024
Integers = NDArray[np.integer]
Columns = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class ColumnContribution:
    """A quasi-identifier in the MSUs of all rows.

    uniques: the number of MSUs that contain it.
    share: the scores of these MSUs as a share of all scores (the attribute contribution of
        sdcMicro).
    """

    name: str
    uniques: int
    share: float


@dataclass(frozen=True, kw_only=True)
class UniqueCombination:
    """A set of quasi-identifiers, and the number of rows that have it as an MSU."""

    columns: tuple[str, ...]
    rows: int


@dataclass(frozen=True, kw_only=True)
class SpecialUniques:
    """The MSUs of a table.

    rows: of the table.
    required, searched: the size of MSUs to search for, and the largest size up to which all
        combinations were examined.
    combinations: how many were examined.
    unique: the number of rows that have an MSU.
    by_size: the number of rows that have an MSU of size 1, 2 and so on, shape (searched,).
    columns: highest share first.
    frequent: the combinations that most rows have as an MSU, at most MOST_FREQUENT.
    highest, mean: SUDA score of a row, over rows that have an MSU. With m quasi-identifiers and all
        sizes up to M searched, an MSU of size s has the score (m - s) (m - s - 1) ... (m - M),
        without factors below 1; a row has the sum (Elliot et al. 2005; sdcMicro, `suda2` with
        `original_scores`).
    """

    rows: int
    required: int
    searched: int
    combinations: int
    unique: int
    by_size: tuple[int, ...]
    columns: tuple[ColumnContribution, ...]
    frequent: tuple[UniqueCombination, ...]
    highest: float
    mean: float

    @property
    def complete(self) -> bool:
        """Whether all combinations of the required size were examined."""
        return self.searched == self.required


def special_uniques(
    columns: Mapping[str, Integers],
    counts: IntArray,
    size: int,
    most: int = MOST_COMBINATIONS,
) -> SpecialUniques:
    """The MSUs of up to `size` quasi-identifiers. A size is searched whole, or not at all.

    columns: codes of tuples by quasi-identifier, each of shape (tuples,). Any integers; a missing
        value is a value of its own. Tuples may repeat.
    counts: the rows of each tuple, at least 1, shape (tuples,).
    most: how many combinations to examine at most.
    """
    names = list(columns)
    size = min(size, len(columns))
    total = np.cumsum([comb(len(names), s) for s in range(1, size + 1)])
    searched = int(np.count_nonzero(total <= most))
    scores = [
        prod(len(names) - i for i in range(s, min(searched, len(names) - 1) + 1))
        for s in range(1, searched + 1)
    ]
    of_row: IntArray = np.zeros((searched, len(counts)), dtype=np.int64)
    found: Counter[Columns] = Counter()
    for chosen, places in _minimal(list(columns.values()), counts, searched):
        of_row[len(chosen) - 1, places] += 1
        found[chosen] = len(places)
    scored = np.array(scores, dtype=np.float64) @ of_row
    scored = scored[scored > 0]
    whole = sum(n * scores[len(chosen) - 1] for chosen, n in found.items())
    contributions = [
        ColumnContribution(
            name=name,
            uniques=sum(n for chosen, n in found.items() if i in chosen),
            share=sum(n * scores[len(chosen) - 1] for chosen, n in found.items() if i in chosen)
            / max(whole, 1),
        )
        for i, name in enumerate(names)
    ]
    return SpecialUniques(
        rows=int(counts.sum()),
        required=size,
        searched=searched,
        combinations=int(total[searched - 1]) if searched else 0,
        unique=len(scored),
        by_size=tuple(int(n) for n in np.count_nonzero(of_row, axis=1)),
        columns=tuple(sorted(contributions, key=lambda one: (-one.share, one.name))),
        frequent=tuple(
            UniqueCombination(columns=tuple(names[i] for i in chosen), rows=n)
            for chosen, n in sorted(found.items(), key=lambda one: (-one[1], len(one[0]), one[0]))[
                :MOST_FREQUENT
            ]
            if n
        ),
        highest=float(scored.max(initial=0)),
        mean=float(scored.mean()) if len(scored) else 0.0,
    )


def _minimal(
    columns: Sequence[Integers],
    counts: IntArray,
    searched: int,
) -> Iterator[tuple[Columns, Integers]]:
    """(a combination of columns, the rows that have it as an MSU), by size, for all combinations of
    up to that size.
    """
    coded = [np.unique(column, return_inverse=True)[1].astype(np.int32) for column in columns]
    minimal: dict[Columns, Integers] = {}
    marked = np.zeros(len(counts), dtype=np.bool_)

    def without(rows: Integers, sets: Iterable[Columns]) -> Integers:
        """The rows that have none of these sets as an MSU."""
        held = [minimal[one] for one in sets if one in minimal]
        for places in held:
            marked[places] = True
        left = rows[~marked[rows]]
        for places in held:
            marked[places] = False
        return left

    for size in range(1, searched + 1):
        for first, those in groupby(
            combinations(range(len(columns)), size),
            lambda chosen: chosen[:-1],
        ):
            rows = without(np.arange(len(counts)), _subsets(first))
            group: IntArray = np.zeros(len(rows), dtype=np.int64)
            for i in first:
                group = _numbered(group, coded[i][rows])
            for chosen in those:
                last = chosen[-1]
                alone = rows[_alone(group, coded[last][rows], counts[rows])]
                places = without(alone, ((*part, last) for part in ((), *_subsets(first))))
                if size < searched and len(places):
                    minimal[chosen] = places.astype(np.int32)
                yield chosen, places


def _subsets(columns: Columns) -> Iterator[Columns]:
    """All subsets but the empty one."""
    return (part for size in range(1, len(columns) + 1) for part in combinations(columns, size))


def _numbered(group: IntArray, codes: Integers) -> IntArray:
    """A number from 0 for each pair of group and code that occurs."""
    numbers: IntArray = np.unique(group * (codes.max(initial=0) + 1) + codes, return_inverse=True)[
        1
    ]
    return numbers


def _alone(group: IntArray, codes: Integers, counts: IntArray) -> NDArray[np.bool_]:
    """Whether a tuple is one row, and the only one with its group and code."""
    key = group * (codes.max(initial=0) + 1) + codes
    if key.max(initial=0) > FEW_KEYS + 16 * len(key):  # too many to count without sorting
        key = _numbered(group, codes)
    alone: NDArray[np.bool_] = np.bincount(key, weights=counts)[key] == 1
    return alone
