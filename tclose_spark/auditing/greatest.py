"""The greatest row of a table, which tasks find among their rows and the caller among theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

SortKey = tuple[tuple[bool, Any], ...]
"""The values of a row, each after whether it is there: missing values are least."""


def greatest(columns: Sequence[pa.Array]) -> SortKey:
    """The values of the row that is greatest in the first column, of these in the second, and so
    on.

    >>> values_of(greatest([pa.array([1, 2, 2]), pa.array(["c", None, "a"])]))
    [2, 'a']
    """
    rows = pa.array(np.arange(len(columns[0])))
    for column in columns:
        held = column.take(rows)
        most = pc.max(held)
        rows = rows.filter(pc.equal(held, most)) if most.is_valid else rows
    found = [column[rows[0].as_py()].as_py() for column in columns]
    return tuple((value is not None, value) for value in found)


def values_of(key: SortKey) -> list[Any]:
    """The values of the row."""
    return [value for _, value in key]
