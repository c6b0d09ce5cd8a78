"""Weights of a survey: the number of people whom each row stands for."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.runfile.attributes import QuasiIdentifier
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.columns.preparing import BoolArray, as_text, judged_values, plain

MILLIONTHS = 10**6
"""The unit in which weights are summed, as integers: a sum of doubles depends on its order."""
MOST_WEIGHT = 10**9  # of a row
MOST_PEOPLE = 10**12  # of a table: nine times as many would be the largest sum in MILLIONTHS
MOST_TOTALS = 20  # values of a sensitive attribute whose totals are listed
NUMBER = QuasiIdentifier(type="numeric")


def weights_of(column: pa.Array) -> pa.Array:
    """A column as doubles; NULL where it is no number from 0 to MOST_WEIGHT."""
    numbers = judged_values(_texts(column), NUMBER)
    return pc.if_else(
        pc.and_(pc.greater_equal(numbers, 0), pc.less_equal(numbers, MOST_WEIGHT)),
        numbers,
        None,
    )


def not_weights(column: pa.Array) -> BoolArray:
    """Whether values are no numbers from 0 to MOST_WEIGHT, shape (n,)."""
    return np.asarray(weights_of(column).is_null().to_numpy(zero_copy_only=False), dtype=bool)


def millionths(column: pa.Array) -> IntArray:
    """Weights in MILLIONTHS, shape (n,); 0 where there is none."""
    numbers = pc.fill_null(weights_of(column), 0.0).to_numpy(zero_copy_only=False)
    return np.asarray(np.rint(numbers * MILLIONTHS), dtype=np.int64)


def rounded_type(kind: pa.DataType, step: Fraction) -> pa.DataType:
    """The type of weights of a type that are rounded to multiples of a step: whole numbers stay so
    if the step is.
    """
    return pa.int64() if pa.types.is_integer(kind) and step.denominator == 1 else pa.float64()


def rounded(column: pa.Array, step: Fraction) -> pa.Array:
    """The nearest multiples of a step, exactly; of two that are as near, the even multiple. NULL
    where there is no weight.

    >>> rounded(pa.array(["2.5", "7.5", "12.4"]), Fraction(5)).to_pylist()
    [0.0, 10.0, 10.0]
    """
    kind = rounded_type(column.type, step)
    held = pc.if_else(weights_of(column).is_valid(), _texts(column), None).dictionary_encode()
    multiples = [round(Fraction(text) / step) * step for text in held.dictionary.to_pylist()]
    return pa.array([*map(int if pa.types.is_integer(kind) else float, multiples)], kind).take(
        held.indices,
    )


def rounded_away(column: pa.Array, step: Fraction) -> BoolArray:
    """Whether weights above 0 are rounded to 0, shape (n,).

    >>> rounded_away(pa.array([0.0, 2.5, 2.6]), Fraction(5)).tolist()
    [False, True, False]
    """
    lost = pc.and_(pc.greater(weights_of(column), 0), pc.equal(rounded(column, step), 0))
    return np.asarray(pc.fill_null(lost, False).to_numpy(zero_copy_only=False), dtype=bool)


def _texts(column: pa.Array) -> pa.Array:
    return pc.ascii_trim_whitespace(as_text(plain(column)))


def listed_totals(totals: Mapping[str | None, int]) -> list[dict[str, Any]]:
    """The MOST_TOTALS values (`value`, None is missing) with most `people`, and last the others as
    one entry with their number `others`. totals: by value, in MILLIONTHS.
    """
    ranked = sorted(totals.items(), key=lambda one: (-one[1], one[0] is None, one[0] or ""))
    listed: list[dict[str, Any]] = [
        {"value": value, "people": n / MILLIONTHS} for value, n in ranked[:MOST_TOTALS]
    ]
    others = ranked[MOST_TOTALS:]
    return (
        [*listed, {"others": len(others), "people": sum(n for _, n in others) / MILLIONTHS}]
        if others
        else listed
    )
