"""Values of Python, as files of spreadsheets and statistics programs have them, as columns of
Arrow.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

MICROSECOND = dt.timedelta(microseconds=1)
LARGEST = 2**63
"""No integer of 64 bits reaches it."""


def column_of(values: Sequence[Any]) -> pa.Array:
    """A column of the type that all its values have, or of text. None is missing.

    Whole numbers are integers, and days with a time beside them are midnights.

    >>> [str(column_of(values).type) for values in ([1.0, None], [1.5, 2], [1e19], ["a", 1.0])]
    ['int64', 'double', 'double', 'string']
    >>> column_of([dt.time(6), dt.timedelta(hours=30)]).to_pylist()
    ['06:00:00', '30:00:00']
    """
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float}:
        return _numbers(values)
    if kinds <= {dt.date, dt.datetime}:
        return _moments(values)
    if kinds in ({bool}, {str}):
        return pa.array(values)
    return pa.array(
        [None if value is None else text_of_cell(value) for value in values],
        pa.string(),
    )


def _numbers(values: Sequence[Any]) -> pa.Array:
    present = [value for value in values if value is not None]
    whole = all(
        math.isfinite(value) and value == int(value) and abs(value) < LARGEST for value in present
    )
    kind = int if whole else float
    return pa.array([None if value is None else kind(value) for value in values])


def _moments(values: Sequence[Any]) -> pa.Array:
    midnights = [_midnight(value) for value in values]
    if all(value is None or value.time() == dt.time() for value in midnights):
        return pa.array(
            [None if value is None else value.date() for value in midnights],
            pa.date32(),
        )
    return pa.array(midnights, pa.timestamp("us"))


def _midnight(value: Any) -> dt.datetime | None:
    if value is None or isinstance(value, dt.datetime):
        return value
    return dt.datetime.combine(value, dt.time())


def text_of_cell(value: Any) -> str:
    """A value as text: a whole number without a point, a duration by its hours."""
    if isinstance(value, dt.timedelta):
        return span_text(value)
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def span_text(span: dt.timedelta) -> str:
    """A duration in hours, minutes and seconds, with the digits of its microseconds if it has any.

    >>> span_text(dt.timedelta(hours=30)), span_text(-dt.timedelta(seconds=60.5))
    ('30:00:00', '-00:01:00.500000')
    """
    sign = "-" if span < dt.timedelta() else ""
    seconds, micros = divmod(abs(span) // MICROSECOND, 1_000_000)
    text = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{micros:06}" if micros else text
