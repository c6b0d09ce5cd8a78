"""How many rows are unique or rare by some columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.measures.disclosure.rare_cells import rare_cells
from tclose_spark.table.arrays import IntArray, tuple_codes

MOST_PAIRED = 16  # columns whose pairs are all examined
LARGEST = 4  # columns of a set that grows from a pair
THRESHOLDS = (3, 3, 3)  # rows of a cell, by the number of its columns
MOST_NAMED = 3  # columns


@dataclass(frozen=True)
class UniqueShare:
    """Columns, and the share of the sample's rows that are unique by them.

    The share in the whole table is at most this, because a row that is unique there is unique in
    every sample.
    """

    columns: tuple[str, ...]
    share: float


def value_codes(column: pa.ChunkedArray | pa.Array) -> IntArray:
    """A number for each value, with missing as a value."""
    coded = pc.dictionary_encode(column, null_encoding="encode")
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    return np.asarray(coded.indices, dtype=np.int64)


def unique_share(columns: Iterable[IntArray]) -> float:
    """The share of rows whose tuple of codes is unique.

    >>> unique_share([np.array([0, 0, 1, 1]), np.array([0, 1, 0, 0])])
    0.5
    """
    codes = tuple_codes(columns)
    return (
        float((np.unique(codes, return_counts=True)[1] == 1).sum() / len(codes))
        if len(codes)
        else 0.0
    )


def explained_share(of: IntArray, by: Sequence[IntArray]) -> float:
    """The share of a column's entropy that other columns explain.

    >>> year = np.array([0, 0, 1, 1])
    >>> explained_share(np.array([5, 5, 6, 6]), [year]), explained_share(np.array([5, 6, 5, 6]), [year])
    (1.0, 0.0)
    """
    whole = _entropy([of])
    return 1.0 - (_entropy([of, *by]) - _entropy(by)) / whole if whole and by else 0.0


def _entropy(columns: Iterable[IntArray]) -> float:
    """In bits, of tuples of codes."""
    counts = np.unique(tuple_codes(columns), return_counts=True)[1]
    shares = counts / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


def changing_share(of: Sequence[IntArray], person: IntArray) -> float:
    """The share of people with several rows whose rows differ in some column. person: a number for
    each row's person.

    >>> changing_share([np.array([1, 1, 7, 8, 9])], np.array([0, 0, 1, 1, 2]))
    0.5
    """
    rows = np.bincount(person)
    several = rows > 1
    kinds = np.bincount(
        np.unique(np.stack([person, tuple_codes(of)]), axis=1)[0],
        minlength=len(rows),
    )
    return float((kinds[several] > 1).mean()) if several.any() else 0.0


def unique_shares(codes: Mapping[str, IntArray], ranked: Sequence[str]) -> list[UniqueShare]:
    """The unique share of every pair of the first MOST_PAIRED columns, worst first; of the worst
    pair, extended by the worst column up to LARGEST; and of all these columns together.
    """
    tried = list(ranked[:MOST_PAIRED])
    pairs = [
        UniqueShare(pair, unique_share(codes[name] for name in pair))
        for pair in combinations(tried, 2)
    ]
    found = sorted(pairs, key=lambda one: (-one.share, one.columns))
    grown = found[:1]
    while grown and len(grown[-1].columns) < min(LARGEST, len(tried)):
        more = [
            UniqueShare(
                (*grown[-1].columns, name),
                unique_share(codes[c] for c in (*grown[-1].columns, name)),
            )
            for name in tried
            if name not in grown[-1].columns
        ]
        grown.append(max(more, key=lambda one: one.share))
    together = UniqueShare(tuple(tried), unique_share(codes[name] for name in tried))
    whole = [together] if len(tried) > max(2, len(grown[-1].columns) if grown else 0) else []
    return [*found, *grown[1:], *whole]


def rarity(codes: Mapping[str, IntArray], ranked: Sequence[str]) -> str:
    """Which of the first MOST_PAIRED columns take part in most rare cells; "" without rare cells.

    >>> rarity({"zip": np.arange(6), "sex": np.zeros(6, dtype=np.int64)}, ["zip", "sex"])
    'Rare cells (below 3 rows, by up to 2 columns): with zip 100%, sex 50%'
    """
    tried = list(ranked[:MOST_PAIRED])
    below = THRESHOLDS[: len(tried)]
    found = rare_cells(
        {name: codes[name] for name in tried},
        np.ones(len(codes[tried[0]]), dtype=np.int64),
        below,
    )
    if not found.rare_cells:
        return ""
    shares = [
        f"{one.name} {one.rare_cells / found.rare_cells:.0%}" for one in found.columns[:MOST_NAMED]
    ]
    return (
        f"Rare cells (below {below[0]} rows, by up to {len(below)} columns): with "
        f"{', '.join(shares)}"
    )
