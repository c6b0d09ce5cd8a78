"""Whether a published label covers the raw value of its row, decided from the texts alone, with no
code of what wrote them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tclose_spark.measures.loss.information_loss import interval_ends, set_members
from tclose_spark.table.arrays import ranked
from tclose_spark.table.dictionaries import coded, codes_of, decoded

BoolArray = NDArray[np.bool_]
NOTHING = (Fraction(0), Fraction(-1))


def _ends(text: str | None) -> tuple[Fraction, Fraction]:
    """The ends of a numeric label; for `*`, NULL and invalid text an interval that covers
    nothing.
    """
    try:
        return NOTHING if text is None or text == "*" else interval_ends(text)
    except ValueError:
        return NOTHING


def _integers_between(text: str | None, scale: int) -> tuple[int, int]:
    """The smallest and the largest 64-bit integer that a label covers."""
    low, high = (end * scale for end in _ends(text))
    if low > 2**63 - 1 or high < -(2**63):
        low, high = NOTHING
    return max(-(2**63), math.ceil(low)), min(math.floor(high), 2**63 - 1)


def _doubles_between(text: str | None) -> tuple[float, float]:
    """Both ends as doubles, infinite beyond the largest."""
    low, high = _ends(text)
    return _double(low), _double(high)


def _double(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _differences(integers: pa.Array, bounds: pa.Array) -> NDArray[np.float64]:
    """Integers less double bounds, with the sign of the exact difference also beyond 2^53, shape
    (n,). NaN without a bound.
    """
    numbers = integers.fill_null(0).to_numpy()
    doubles = numbers.astype(np.float64)
    rest = np.where(
        doubles < 2.0**63,
        numbers - np.where(doubles < 2.0**63, doubles, 0.0).astype(np.int64),
        -1,
    )
    ends = bounds.to_numpy(zero_copy_only=False)
    result: NDArray[np.float64] = np.where(doubles == ends, rest, doubles - ends)
    return result


def _whole(bounds: pa.Array) -> pa.Array:
    """Date and time bounds as integers."""
    if pa.types.is_date32(bounds.type):
        return bounds.cast(pa.int32()).cast(pa.int64())
    return bounds.cast(pa.int64()) if pa.types.is_timestamp(bounds.type) else bounds


@dataclass(frozen=True)
class Coverage:
    """The labels that may cover a raw value of one quasi-identifier.

    paths: by leaf, if there is a hierarchy.
    sets: whether labels may be sets.
    scale: how many units of the integer raw values are one unit of labels; a day for dates and
        times.
    missing_any: whether a missing raw value may be any value, so that every label covers it.
    """

    numeric: bool
    paths: Mapping[str, tuple[str, ...]] | None = None
    sets: bool = False
    scale: int = 1
    missing_any: bool = False

    def holds(self, raw: pa.Array, published: Sequence[pa.Array]) -> BoolArray:
        """For each row, whether its label, or its two bounds, cover its raw value, shape (n,).

        >>> Coverage(numeric=True, missing_any=True).holds(pa.array([35, None]), [pa.array(["[30, 40]"] * 2)]).tolist()
        [True, True]
        """
        covered = (
            self.covered(raw, *published) if len(published) == 1 else self.between(raw, *published)
        )
        if not self.missing_any:
            return covered
        result: BoolArray = covered | decoded(raw).is_null().to_numpy(zero_copy_only=False)
        return result

    def covered(self, raw: pa.Array, labels: pa.Array) -> BoolArray:
        """For each row, whether its label covers its raw value (a missing value: NULL or `*`),
        shape (n,).

        >>> Coverage(numeric=True).covered(pa.array([35, 41, None]), pa.array(["[30, 40]", "[30, 40]", "*"])).tolist()
        [True, False, True]
        """
        label = coded(labels)
        texts = label.dictionary.to_pylist()
        which = codes_of(label)
        if self.numeric:
            return self._covered_numbers(raw, texts, which)
        value = coded(raw)
        values = value.dictionary.to_pylist()
        pairs = codes_of(value) * len(texts) + which
        distinct, place = ranked(pairs)
        verdicts = [
            self._covers(texts[pair % len(texts)], values[pair // len(texts)])
            for pair in distinct.tolist()
        ]
        result: BoolArray = np.array(verdicts, dtype=bool)[place]
        return result

    @staticmethod
    def between(raw: pa.Array, low: pa.Array, high: pa.Array) -> BoolArray:
        """For each row, whether its number lies between two published bounds (a missing one: both
        NULL), shape (n,).

        >>> Coverage.between(pa.array([35, 41]), pa.array([30, 30]), pa.array([40, 40])).tolist()
        [True, False]
        """
        low = _whole(low)
        high = _whole(high)
        absent = pc.and_(pc.is_null(raw), pc.and_(pc.is_null(low), pc.is_null(high)))
        if pa.types.is_integer(raw.type) and pa.types.is_floating(low.type):
            within = (_differences(raw, low) >= 0) & (_differences(raw, high) <= 0)
            inside = pc.and_(pa.array(within), pc.is_valid(raw))
        else:
            inside = pc.and_kleene(pc.less_equal(low, raw), pc.less_equal(raw, high)).fill_null(
                False,
            )
        result: BoolArray = pc.or_(absent, inside).to_numpy(zero_copy_only=False)
        return result

    def _covers(self, label: str | None, value: str | None) -> bool:
        if label == "*" or label == value:
            return True
        if label is None or value is None:
            return False
        if self.paths is not None:
            return label in self.paths.get(value, ())
        return self.sets and value in set_members(label)

    def _covered_numbers(
        self,
        raw: pa.Array,
        texts: list[str | None],
        which: NDArray[np.int64],
    ) -> BoolArray:
        integral = pa.types.is_integer(raw.type)
        low = np.empty(len(texts), raw.type.to_pandas_dtype())
        high = np.empty(len(texts), raw.type.to_pandas_dtype())
        for i, text in enumerate(texts):
            low[i], high[i] = (
                _integers_between(text, self.scale) if integral else _doubles_between(text)
            )
        whole = np.array([text == "*" for text in texts], dtype=bool)[which]
        missing = np.array([text is None for text in texts], dtype=bool)[which]
        absent = raw.is_null().to_numpy(zero_copy_only=False).astype(bool)
        numbers = raw.fill_null(0).to_numpy()
        inside = ~absent & ~missing & (low[which] <= numbers) & (numbers <= high[which])
        result: BoolArray = whole | (missing & absent) | inside
        return result


def uncovered(
    coverages: Sequence[Coverage],
    bounds: Sequence[bool],
    raw: Sequence[pa.Array],
    published: Sequence[pa.Array],
) -> int:
    """The number of rows with a label that does not cover its raw value. bounds: whether a label is
    two columns.
    """
    result = np.ones(len(raw[0]), dtype=bool)
    columns = iter(published)
    for coverage, two, values in zip(coverages, bounds, raw, strict=True):
        result &= coverage.holds(values, [next(columns) for _ in range(1 + two)])
    return int(np.count_nonzero(~result))
