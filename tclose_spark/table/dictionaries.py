"""Columns as dictionaries: distinct values, and each row's place among them. Work is done once per
distinct value of a batch.

A dictionary has no value twice, so places are equal if and only if values are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.table.arrays import IntArray


def coded(column: pa.Array) -> pa.DictionaryArray:
    """A column as a dictionary of its distinct values, including the missing one. -0.0 becomes 0.0,
    and all NaN are one value.

    >>> column = coded(pa.array(["flu", None, "flu"]))
    >>> column.dictionary.to_pylist(), codes_of(column).tolist()
    (['flu', None], [0, 1, 0])
    """
    if not pa.types.is_dictionary(column.type):
        if pa.types.is_floating(column.type):
            # One of the many that there are, and one of both zeros.
            nan = pa.scalar(float("nan"), column.type)
            column = pc.if_else(pc.is_nan(column), nan, pc.add(column, pa.scalar(0.0, column.type)))
        return column.dictionary_encode(null_encoding="encode")
    if not column.indices.null_count:
        return column
    missing = pa.scalar(len(column.dictionary), column.indices.type)
    dictionary = pa.concat_arrays([column.dictionary, pa.nulls(1, column.dictionary.type)])
    return pa.DictionaryArray.from_arrays(column.indices.fill_null(missing), dictionary)


def codes_of(column: pa.DictionaryArray) -> IntArray:
    """Each row's place in the dictionary of a `coded` column, shape (n,)."""
    return np.asarray(column.indices.to_numpy(), dtype=np.int64)


def count_missing(column: pa.DictionaryArray) -> int:
    """The number of rows of a `coded` column without a value.

    >>> count_missing(coded(pa.array(["flu", None, None])))
    2
    """
    if not column.dictionary.null_count:
        return 0
    place = pc.index(column.dictionary.is_valid(), False).as_py()
    return pc.sum(pc.equal(column.indices, place)).as_py() or 0


def decoded(column: pa.Array) -> pa.Array:
    """The inverse of `coded`."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def shortened(column: pa.Array) -> pa.Array:
    """A column whose dictionary holds only its own values, in order of appearance. Missing values
    are not in it.

    >>> column = pa.DictionaryArray.from_arrays([2, 1, 2, 0], [None, "cold", "flu", "gout"])
    >>> short = shortened(column)
    >>> short.dictionary.to_pylist(), short.to_pylist()
    (['flu', 'cold'], ['flu', 'cold', 'flu', None])
    """
    if not pa.types.is_dictionary(column.type):
        return column
    column = coded(column)
    codes = codes_of(column)
    values = column.dictionary
    first = np.full(len(values), len(codes))
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    first[~values.is_valid().to_numpy(zero_copy_only=False)] = len(codes)
    order = np.argsort(first)[: np.count_nonzero(first < len(codes))]
    place = np.full(len(values), -1, dtype=np.int32)
    place[order] = np.arange(len(order))
    indices = pa.array(place[codes], mask=place[codes] < 0)
    return pa.DictionaryArray.from_arrays(indices, values.take(pa.array(order)))


def is_text(column: pa.Array) -> bool:
    """Whether a column holds text, as a dictionary or not."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return bool(pa.types.is_string(kind))


def has_others(column: pa.DictionaryArray) -> bool:
    """Whether a dictionary holds values of no row.

    >>> has_others(pa.DictionaryArray.from_arrays([1, None], ["cold", "flu"]))
    True
    """
    used = np.bincount(column.indices.drop_null().to_numpy(), minlength=len(column.dictionary))
    return not used.all()


def of_values(column: pa.Array, function: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """What a function makes of each value of a column; of a dictionary, once for each of its
    values. Text is then `coded`.

    >>> of_values(pa.array(["a", None]).dictionary_encode(), pc.utf8_upper).to_pylist()
    ['A', None]
    """
    if not pa.types.is_dictionary(column.type):
        return function(column)
    held = coded(column)
    made = function(held.dictionary)
    if made.equals(held.dictionary):
        return held
    if not pa.types.is_string(made.type):
        return made.take(held.indices)
    texts = coded(made)
    return pa.DictionaryArray.from_arrays(texts.indices.take(held.indices), texts.dictionary)


def group_equal(columns: Sequence[pa.Array]) -> tuple[IntArray, IntArray]:
    """(group of each row, one row of each group) for rows that are equal in all columns. NULL
    equals NULL.
    """
    group = np.zeros(len(columns[0]), dtype=np.int64)
    groups = 1
    for column in columns:
        distinct = coded(column)
        codes = codes_of(distinct)
        size = max(1, len(distinct.dictionary))
        if groups > (1 << 62) // size:
            _, group = np.unique(group, return_inverse=True)
            groups = int(group.max(initial=0)) + 1
        group = group * size + codes
        groups = groups * size
    if groups <= 1024 + 16 * len(group):  # few enough to number without sorting
        first = np.full(groups, -1, dtype=np.int64)
        first[group[::-1]] = np.arange(len(group) - 1, -1, -1)
        used = first >= 0
        return (np.cumsum(used) - 1)[group], first[used]
    _, first, group = np.unique(group, return_index=True, return_inverse=True)
    return group, first
