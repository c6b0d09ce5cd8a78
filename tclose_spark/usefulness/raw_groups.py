"""What an adversary who knows a person's quasi-identifiers learns from the raw table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import Frequencies
from tclose_spark.table.arrays import FloatArray, HashArray, IntArray
from tclose_spark.table.rows import Rows
from tclose_spark.table.tally import Tally, TooManyKeysError

MOST_KEYS = 4_000_000  # pairs of group and sensitive tuple


@dataclass(frozen=True, kw_only=True)
class RawGroups:
    """Figures of some people, from all rows with the same raw quasi-identifiers (their group).

    alone, few: the shares of people whose group has one row, and fewer than k rows.
    chance: the mean chance to pick a person's row from the group.
    certain: by sensitive attribute, the share of people whose group has one value.
    guess: by sensitive attribute, the mean share of the most frequent value in the group.
    """

    people: int
    alone: float
    few: float
    chance: float
    certain: dict[str, float]
    guess: dict[str, float]


def raw_groups(
    rows: Rows, frequencies: Frequencies, attributes: ResolvedAttributes, k: int
) -> RawGroups | None:
    """The groups of these people among all rows, counted in one scan; None if they have too many
    sensitive values.
    """
    groups, person = np.unique(_quasi_hash(rows), return_inverse=True)
    try:
        counted = frequencies(_counting(groups), MOST_KEYS)
    except TooManyKeysError:
        return None
    owner, cell = counted.keys
    size = np.bincount(owner, weights=counted.rows, minlength=len(groups))
    certain = {}
    guess = {}
    for a in attributes.sensitive:
        values = Tally.of(np.stack([owner, attributes.cells[cell, a.column]]), counted.rows)
        most: IntArray = np.zeros(len(groups), dtype=np.int64)
        np.maximum.at(most, values.keys[0], values.rows)
        share: FloatArray = most / size
        certain[a.name], guess[a.name] = _mean((share == 1)[person]), _mean(share[person])
    return RawGroups(
        people=len(rows),
        alone=_mean((size == 1)[person]),
        few=_mean((size < k)[person]),
        chance=_mean((1 / size)[person]),
        certain=certain,
        guess=guess,
    )


def _mean(of_people: Any) -> float:
    return float(np.mean(of_people))


def _quasi_hash(rows: Rows) -> HashArray:
    """A 64-bit hash of the quasi-identifiers of each row; two groups hardly ever share one."""
    mixed = np.zeros(len(rows), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for codes in rows.quasi:
            mixed = (mixed ^ codes.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
    return mixed


def _counting(groups: HashArray) -> Callable[[Rows], Tally]:
    """A function that counts the rows of the groups by (group, cell). groups: their hashes,
    ascending.
    """

    def count(rows: Rows) -> Tally:
        hashes = _quasi_hash(rows)
        place = np.minimum(np.searchsorted(groups, hashes), len(groups) - 1)
        here = np.flatnonzero(groups[place] == hashes)
        return Tally.of(np.stack([place[here].astype(np.int64), rows.cell[here]]))

    return count
