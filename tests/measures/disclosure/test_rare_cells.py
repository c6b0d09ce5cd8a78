"""Rare cells: against a count of every combination by its definition, and against a published
table.
"""

from collections import Counter
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn

from tclose_spark.measures.disclosure import rare_cells as module
from tclose_spark.measures.disclosure.rare_cells import RareCells, rare_cells

NAMES = "abcdefgh"


def found_in(rows: list[tuple], below: tuple[int, ...], **how: Any) -> RareCells:
    """The cells of rows of any values, in columns a, b, c."""
    counted = Counter(rows)
    columns = {}
    for name, values in zip(NAMES, zip(*counted, strict=True), strict=False):
        place = {value: code for code, value in enumerate(sorted(set(values), key=repr))}
        columns[name] = np.array([place[value] for value in values])
    return rare_cells(columns, np.array(list(counted.values())), below, **how)


def defined(
    rows: list[tuple],
    below: tuple[int, ...],
    levels: dict[str, int] | None = None,
) -> dict[str, tuple]:
    """(cells, smallest, rare cells, their rows) of each combination, by its letters."""
    found = {}
    for size, threshold in enumerate(below, start=1):
        for chosen in combinations(range(len(rows[0])), size):
            of_levels = [
                (levels or dict(zip(NAMES, range(1, 9), strict=True)))[NAMES[i]] for i in chosen
            ]
            if 0 in of_levels or len(set(of_levels)) < size:
                continue
            cells = Counter(tuple(row[i] for i in chosen) for row in rows)
            rare = [n for n in cells.values() if n < threshold]
            found["".join(NAMES[i] for i in chosen)] = (
                len(cells),
                min(cells.values()),
                len(rare),
                sum(rare),
            )
    return found


def listed(found: RareCells) -> dict[str, tuple]:
    return {
        "".join(one.columns): (one.cells, one.smallest, one.rare_cells, one.rare_rows)
        for one in found.combinations
    }


tables = st.integers(1, 5).flatmap(
    lambda m: st.lists(
        st.tuples(*[st.sampled_from([None, 0, 1, 2, 3])] * m),
        min_size=1,
        max_size=20,
    ),
)


@pytest.mark.parametrize("few", [1024, -1000])
@drawn(100)
@given(
    rows=tables,
    below=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    levels=st.none() | st.lists(st.integers(0, 3), min_size=5, max_size=5),
)
def test_they_are_those_of_the_definition(
    few: int,
    rows: list[tuple],
    below: list[int],
    levels: list[int] | None,
) -> None:
    """few: with a negative number, keys are always numbered by sorting."""
    thresholds = tuple(below[: len(rows[0])])
    by_name = None if levels is None else dict(zip(NAMES, levels, strict=False))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FEW_KEYS", few)
        found = found_in(rows, thresholds, levels=by_name)
    expected = defined(rows, thresholds, by_name)

    assert (listed(found), found.rows, found.below, found.left) == (
        expected,
        len(rows),
        thresholds,
        (),
    )
    order = [
        (-one.rare_rows, len(one.columns), -one.rare_cells, one.columns)
        for one in found.combinations
    ]
    assert order == sorted(order)
    part = {one.name: one.rare_cells for one in found.columns}
    assert part == {
        name: sum(n for chosen, (_, _, n, _) in expected.items() if name in chosen)
        for name in NAMES[: len(rows[0])]
    }
    assert [*part.values()] == sorted(part.values(), reverse=True)
    rare = sum(
        any(
            sum(all(other[NAMES.index(c)] == row[NAMES.index(c)] for c in chosen) for other in rows)
            < thresholds[len(chosen) - 1]
            for chosen in expected
        )
        for row in rows
    )
    assert found.rare_rows == rare


def test_a_published_table() -> None:
    """Ten rows of province, activity, sex and income."""
    rows = [*zip("2332424223", "AAAABBBBAA", "FFFMFFFFMM", "hlllhmhlhm", strict=True)]
    found = found_in(rows, (3, 3, 3))
    expected = {"ab": (2, 4), "ac": (1, 7), "ad": (1, 10), "bc": (3, 0), "bd": (1, 7), "cd": (1, 4)}
    expected |= {"".join(three): (1, 10) for three in combinations("abcd", 3)}
    figures = listed(found)
    assert {pair: figures[pair][1::2] for pair in expected} == expected
    assert [found.combinations[0].columns, found.rare_rows] == [("a", "d"), 10]


def test_a_bound_leaves_the_columns_with_the_fewest_values() -> None:
    columns = {f"c{i}": np.arange(60) % (i + 2) for i in range(12)}
    counts = np.ones(60, dtype=np.int64)
    found = rare_cells(columns, counts, (3, 3, 3), most=200)
    (left,) = found.left
    assert left.size == 3
    assert set(left.among) == {
        f"c{i}" for i in range(len(left.among))
    }  # those with the fewest values
    assert left.combinations == comb(len(left.among), 3)
    examined = {one.columns for one in found.combinations}
    assert len(examined) == 12 + comb(12, 2) + comb(12, 3) - left.combinations <= 200
    assert not {one for one in examined if len(one) == 3 and set(one) <= set(left.among)}

    smaller = rare_cells(columns, counts, (3, 3, 3), most=20)
    assert [(one.size, len(one.among)) for one in smaller.left] == [(2, 12), (3, 12)]
    assert len(smaller.combinations) == 12


def test_what_is_left_is_counted_with_levels() -> None:
    columns = {name: np.arange(4) for name in "abcd"}
    levels = {"a": 1, "b": 1, "c": 2, "d": 0}
    found = rare_cells(columns, np.ones(4, dtype=np.int64), (3, 3), levels, most=3)
    assert [(one.size, one.among, one.combinations) for one in found.left] == [
        (2, ("a", "b", "c"), 2),
    ]
