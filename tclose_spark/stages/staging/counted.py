"""The tallies of all rows, as the profile reads them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from operator import or_
from typing import Any

import numpy as np
import pyarrow as pa

from tclose_spark.errors import InputError
from tclose_spark.measures.sketches import REGISTERS as PLACES
from tclose_spark.measures.sketches import NumberSample, ValueSample, estimate
from tclose_spark.runfile.attributes import Attributes
from tclose_spark.stages.staging.tallies import (
    DIGEST,
    DRAWN,
    FAR,
    MARK,
    RANGE,
    REGISTERS,
    ROWS,
    SPELLED,
    STOOD_FOR,
    VARYING,
    WEIGHTS,
    NumberRange,
    number,
)
from tclose_spark.table.columns.preparing import is_damaged
from tclose_spark.table.domains import MOST_VALUES, Counts, TupleCounts
from tclose_spark.table.far_numbers import ends
from tclose_spark.table.fingerprint import Fingerprint

Tallied = tuple[list[Any], int]
"""A tally: (key, n)."""


@dataclass(frozen=True, kw_only=True)
class Counted:
    """The tallies of all rows.

    histograms: rows by value of each quasi-identifier (empty for numbers), and last by sensitive
        tuple.
    ranges: by numeric quasi-identifier.
    far: by numeric quasi-identifier, rows of the numbers at its ends.
    marked: rows by mark.
    distinct: estimated values of each insensitive attribute.
    distinct_rows: estimated different rows.
    spelled: a sample of the spellings of people, with the people of each.
    varying: people with several values, by quasi-identifier, if people keep their rows together.
    drawn: by quasi-identifier, rows of a sample by code of the number, if missing values are drawn
        from it.
    weights: millionths of people by value of each sensitive attribute, if rows have weights.
    stood_for: about their sum in people, from the same rows.
    """

    fingerprint: Fingerprint
    histograms: list[TupleCounts]
    ranges: dict[str, NumberRange]
    far: dict[str, dict[float, int]]
    marked: dict[str, int]
    distinct: dict[str, int]
    distinct_rows: int
    spelled: ValueSample
    varying: tuple[int, ...]
    drawn: dict[str, NumberSample]
    weights: list[Counts]
    stood_for: int

    @property
    def has_damaged_values(self) -> bool:
        """Whether a value has text that could not be read."""
        keys = chain.from_iterable(self.histograms)
        values = [value for value in chain.from_iterable(keys) if not isinstance(value, int)]
        return bool(is_damaged(pa.array(values, pa.string())).any())


def read_tallies(tallies: pa.Table, attributes: Attributes) -> Counted:
    """The tallies that `staged_tallies` added up.

    Raises:
        InputError: if there are more values than MOST_VALUES.
    """
    quasi = list(attributes.quasi_identifiers)
    sensitive = list(attributes.sensitive_attributes)
    kinds = tallies["tally"].to_numpy()
    sizes = np.bincount(kinds[kinds >= 0], minlength=len(quasi) + 1)
    if sizes.sum() > MOST_VALUES:
        largest = int(sizes.argmax())
        names = sensitive if largest == len(quasi) else [quasi[largest]]
        raise InputError(
            f"{' and '.join(names)}: more than {MOST_VALUES:,} distinct values between all "
            "columns, most of them here; expected a domain that a table can be published by "
            "(type: numeric, coarser values, or another role)"
        )
    found: dict[int, list[Tallied]] = defaultdict(list)
    for tally, text, n in zip(*(column.to_pylist() for column in tallies.columns), strict=True):
        found[tally].append((json.loads(text), n))
    ranges, far, drawn = (
        zip(quasi, _by_place(found[tally], len(quasi)), strict=True)
        for tally in (RANGE, FAR, DRAWN)
    )
    weights = (
        _by_place(found[WEIGHTS], len(sensitive)) if "weight" in attributes.beside_rows else []
    )
    distinct = _distinct(found[REGISTERS], ["", *attributes.beside])
    rows, digest, stood_for = (
        sum(n for _, n in found[tally]) for tally in (ROWS, DIGEST, STOOD_FOR)
    )
    return Counted(
        fingerprint=Fingerprint(rows, digest),
        histograms=[{tuple(key): n for key, n in found[place]} for place in range(len(sizes))],
        ranges={
            name: reduce(or_, (NumberRange.from_key(*part) for part in parts))
            for name, parts in ranges
            if parts
        },
        far={name: ends({number(text): n for (text,), n in parts}) for name, parts in far if parts},
        marked={mark: n for (mark,), n in found[MARK]},
        distinct_rows=distinct.pop(""),
        distinct=distinct,
        spelled=_spelled(found[SPELLED]),
        varying=tuple(n for _, n in sorted(found[VARYING], key=lambda one: int(one[0][0]))),
        drawn={name: _number_sample(parts) for name, parts in drawn},
        weights=[{value: n for (value,), n in parts} for parts in weights],
        stood_for=stood_for,
    )


def _by_place(tallies: Iterable[Tallied], places: int) -> list[list[Tallied]]:
    """Tallies whose keys begin with a place, by that place, with the rest of the keys."""
    found: list[list[Tallied]] = [[] for _ in range(places)]
    for (place, *rest), n in tallies:
        found[int(place)].append((rest, n))
    return found


def _distinct(tallies: Iterable[Tallied], names: Sequence[str]) -> dict[str, int]:
    """The estimated numbers of distinct values, from registers."""
    registers = {name: np.zeros(PLACES, dtype=np.int64) for name in names}
    for (name, register), n in tallies:
        registers[name][int(register)] = n
    return {name: estimate(values) for name, values in registers.items()}


def _number_sample(rows: Sequence[Tallied]) -> NumberSample:
    """The sample of rows by hash and code."""
    hashes = [int(hashed, 16) for (hashed, _), _ in rows]
    codes = [int(code) for (_, code), _ in rows]
    counts = [n for _, n in rows]
    made = np.array(hashes, np.uint64), np.array(codes, np.int64), np.array(counts, np.int64)
    return NumberSample.empty().add(*made)


def _spelled(rows: Iterable[Tallied]) -> ValueSample:
    """The sample of spellings by hash."""
    listed = [(int(hashed, 16), n) for (_, hashed), n in rows]
    hashes = np.array([hashed for hashed, _ in listed], dtype=np.uint64)
    return ValueSample.empty().add(hashes, np.array([n for _, n in listed], dtype=np.int64))
