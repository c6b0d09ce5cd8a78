"""Prefetching is an instruction of the processor, and changes nothing."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from tclose_spark.kernels import kernel
from tclose_spark.kernels.prefetching import address_of, prefetch
from tclose_spark.table.arrays import Codes, IntArray


@kernel
def sum_with_prefetches(rows: IntArray, ahead: int) -> int:
    """The sum of an array of two dimensions."""
    total = 0
    for at in range(len(rows)):
        prefetch(rows, at + ahead)
        for value in rows[at]:
            total += value
    return total


@kernel
def address_of_code(array: NDArray[Any], places: Codes, at: int) -> int:
    """The address of the part of an array at the place that another array has."""
    return address_of(array, places[at])  # type: ignore[call-arg,no-any-return]


def test_a_prefetch_is_compiled_and_changes_nothing() -> None:
    rows = np.arange(12).reshape(4, 3)
    before = rows.copy()
    assert sum_with_prefetches(rows, 2) == before.sum()
    assert sum_with_prefetches(rows, 10**6) == before.sum()
    assert np.array_equal(rows, before)
    (code,) = cast(Any, sum_with_prefetches).inspect_llvm().values()
    assert "call void @llvm.prefetch" in code


@pytest.mark.parametrize("shape", [(9,), (9, 5), (2, 9, 3)])
@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float64])
def test_the_address_is_that_of_the_part_at_a_place(shape: tuple[int, ...], kind: Any) -> None:
    array = np.zeros(shape, kind)
    places = np.array([0, 1, 8, 10**5], np.int32)
    for at, place in enumerate(places):
        expected = array.ctypes.data + int(place) * array.strides[0]
        assert address_of_code(array, places, at) == expected
