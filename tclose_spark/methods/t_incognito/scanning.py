"""Counts over the whole table in two passes: the values of each quasi-identifier, then the base,
from which the frequency sets of all nodes follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tclose_spark.errors import UnreachableError
from tclose_spark.methods.method import PlanningInput
from tclose_spark.methods.t_incognito.frequency_sets import FrequencySet, number_tuples
from tclose_spark.methods.t_incognito.levels import Levels
from tclose_spark.methods.t_incognito.losses import LatticeNode
from tclose_spark.table.arrays import WIDEST, Codes, IntArray
from tclose_spark.table.rows import Rows
from tclose_spark.table.tally import Tally, TooManyKeysError

MOST_KEYS = 4_000_000  # that the driver holds, some hundred bytes each while they are sorted


def counted(given: PlanningInput, tally_of: Callable[[Rows], Tally], what: str) -> Tally:
    """The tally of the whole table.

    Raises:
        UnreachableError: if it has more keys than the driver may hold.
    """
    try:
        return given.frequencies(tally_of, MOST_KEYS)
    except TooManyKeysError:
        raise UnreachableError(
            f"method: t_incognito counts {what} on the driver, and the table has more than "
            f"{MOST_KEYS:,}; give quasi-identifiers of many values a coarser first level or "
            "round_to, or use method: {name: closeness_tree}"
        ) from None


def count_values(given: PlanningInput) -> list[tuple[IntArray, IntArray, FrequencySet]]:
    """Of each quasi-identifier: (its values in the table as codes, ascending; rows of each; its
    frequency set by value).
    """
    tally = counted(
        given, _tally_values, "the values of each quasi-identifier with each sensitive value"
    )
    counted_values = []
    for place in range(len(given.attributes.quasi_identifiers)):
        first, end = np.searchsorted(tally.keys[0], [place, place + 1])
        part = tally.take(np.arange(first, end))
        codes, group = np.unique(part.keys[1], return_inverse=True)
        groups = FrequencySet(
            labels=np.arange(len(codes), dtype=np.int32)[None, :],
            group=group,
            cell=part.keys[2],
            rows=part.rows,
        )
        counted_values.append((codes, groups.sizes, groups))
    return counted_values


def _tally_values(rows: Rows) -> Tally:
    """Keys: the place of a quasi-identifier, a value's code, a cell."""
    parts = []
    for place, codes in enumerate(rows.quasi):
        tally = Tally.of(np.stack([codes, rows.cell]))
        parts.append(
            Tally(np.concatenate([np.full((1, len(tally)), place), tally.keys]), tally.rows)
        )
    return Tally(
        np.concatenate([p.keys for p in parts], axis=1), np.concatenate([p.rows for p in parts])
    )


def count_base(given: PlanningInput, levels: Sequence[Levels], node: LatticeNode) -> FrequencySet:
    """The frequency set of all quasi-identifiers at a node."""
    lows = [of.levels[level].low for of, level in zip(levels, node, strict=True)]
    sizes = [*(len(low) for low in lows), len(given.attributes.cells)]
    words = _packed(sizes)

    def tally_of(rows: Rows) -> Tally:
        columns = [*labels_of(rows, lows), rows.cell]
        keys = np.zeros((len(words), len(rows)), dtype=np.int64)
        for key, places in zip(keys, words, strict=True):
            for place in places:
                key *= sizes[place]
                key += columns[place]
        return Tally.of(keys)

    tally = counted(
        given, tally_of, "the combinations of quasi-identifiers with each sensitive value"
    )
    columns = [np.zeros(0, dtype=np.int64)] * len(sizes)
    for key, places in zip(tally.keys, words, strict=True):
        rest = key
        for place in reversed(places):
            rest, columns[place] = rest // sizes[place], rest % sizes[place]
    first, group = number_tuples(columns[:-1], sizes[:-1])
    labels = np.stack([column[first] for column in columns[:-1]]).astype(np.int32)
    return FrequencySet(labels=labels, group=group, cell=columns[-1], rows=tally.rows)


def labels_of(rows: Rows, lows: Sequence[IntArray]) -> list[Codes | IntArray]:
    """The label of each row, by quasi-identifier, arrays of shape (n,). lows: the lowest code of
    each label.
    """
    return [
        np.searchsorted(low, codes, side="right") - 1
        for low, codes in zip(lows, rows.quasi, strict=True)
    ]


def _packed(sizes: Sequence[int]) -> list[list[int]]:
    """The places of columns of so many codes, in words of 62 bits."""
    words: list[list[int]] = [[]]
    room = WIDEST
    for place, size in enumerate(sizes):
        if size > room:
            words.append([])
            room = WIDEST
        words[-1].append(place)
        room //= size
    return words
