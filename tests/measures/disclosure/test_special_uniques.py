"""Special uniques: against all subsets of each row, against published examples, and where they are
planted.
"""

from collections import Counter
from itertools import combinations
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn

from tclose_spark.measures.disclosure import special_uniques as module
from tclose_spark.measures.disclosure.special_uniques import SpecialUniques, special_uniques


def found_in(rows: list[tuple], size: int, names: str = "", most: int = 10_000) -> SpecialUniques:
    """The special uniques of rows of any values; columns are named a, b, c by default."""
    counted = Counter(rows)
    columns = {}
    for name, values in zip(names or "abcdefgh", zip(*counted, strict=True), strict=False):
        place = {value: code for code, value in enumerate(sorted(set(values), key=repr))}
        columns[name] = np.array([place[value] for value in values])
    return special_uniques(columns, np.array(list(counted.values())), size, most)


def minimal_of(rows: list[tuple], row: tuple, size: int) -> list[tuple[int, ...]]:
    """The MSUs of a row by their definition."""
    alone = [
        set(chosen)
        for s in range(1, len(row) + 1)
        for chosen in combinations(range(len(row)), s)
        if sum(all(other[i] == row[i] for i in chosen) for other in rows) == 1
    ]
    return [
        tuple(sorted(one))
        for one in alone
        if len(one) <= size and not any(part < one for part in alone)
    ]


tables = st.integers(1, 5).flatmap(
    lambda m: st.lists(
        st.tuples(*[st.sampled_from([None, 0, 1, 2, 3])] * m),
        min_size=1,
        max_size=14,
    ),
)


@pytest.mark.parametrize("few", [1024, -1000])
@drawn(100)
@given(rows=tables, size=st.integers(1, 5))
def test_they_are_those_of_the_definition(few: int, rows: list[tuple], size: int) -> None:
    """few: with a negative number, keys are always numbered by sorting."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FEW_KEYS", few)
        found = found_in(rows, size)
    m = len(rows[0])
    size = min(size, m)
    expected = [minimal_of(rows, row, size) for row in rows]
    score = {s: prod(m - i for i in range(s, size + 1) if i < m) for s in range(1, size + 1)}
    scores = [sum(score[len(one)] for one in of_row) for of_row in expected if of_row]
    sets = Counter(one for of_row in expected for one in of_row)

    assert (found.rows, found.searched, found.complete, found.unique) == (
        len(rows),
        size,
        True,
        len(scores),
    )
    assert found.by_size == tuple(
        sum(any(len(one) == s for one in each) for each in expected) for s in score
    )
    assert (found.highest, found.mean) == (
        max(scores, default=0),
        pytest.approx(sum(scores) / max(len(scores), 1)),
    )
    by_column = {one.name: (one.uniques, one.share) for one in found.columns}
    for i, name in enumerate("abcde"[:m]):
        those = {one: n for one, n in sets.items() if i in one}
        share = sum(score[len(one)] * n for one, n in those.items()) / max(sum(scores), 1)
        assert by_column[name] == (sum(those.values()), pytest.approx(share))
    listed = {tuple("abcde".index(c) for c in one.columns): one.rows for one in found.frequent}
    assert all(sets[one] == n for one, n in listed.items())
    assert (
        sorted(listed.values(), reverse=True)
        == sorted(sets.values(), reverse=True)[: module.MOST_FREQUENT]
    )


GUIDELINE = [
    ("Urban", "Female", "Secondary incomplete", "Employed"),
    ("Urban", "Female", "Secondary incomplete", "Employed"),
    ("Urban", "Female", "Primary incomplete", "Non-LF"),
    ("Urban", "Male", "Secondary complete", "Employed"),
    ("Rural", "Female", "Secondary complete", "Unemployed"),
    ("Urban", "Male", "Secondary complete", "Employed"),
    ("Urban", "Female", "Primary complete", "Non-LF"),
    ("Urban", "Male", "Post-secondary", "Unemployed"),
    ("Urban", "Female", "Secondary incomplete", "Non-LF"),
    ("Urban", "Female", "Secondary incomplete", "Non-LF"),
]
"""The example of "Statistical Disclosure Control: A Practice Guide" (World Bank), which sdcMicro
tests, too.
"""


def test_the_example_of_the_practice_guide() -> None:
    """Its scores are 6, 12, 6 and 10, and 0 for the other rows. Row 5 is unique as Rural, and by
    three pairs.
    """
    found = found_in(GUIDELINE, 3)
    assert (found.unique, found.highest, found.mean) == (4, 12, (6 + 12 + 6 + 10) / 4)
    assert found.by_size == (4, 2, 0)
    assert found_in([*GUIDELINE, *GUIDELINE], 3).unique == 0


def test_the_example_of_a_book_that_sdcmicro_tests() -> None:
    """Rows 5 to 8 have the scores 4, 2, 6 and 8."""
    found = found_in(
        [
            ("20s", "male", "50k+", "highschool"),
            ("20s", "male", "50k+", "highschool"),
            ("20s", "male", "50k-", "highschool"),
            ("20s", "male", "50k-", "highschool"),
            ("20s", "female", "50k-", "university"),
            ("20s", "female", "50k-", "highschool"),
            ("20s", "female", "50k-", "middleschool"),
            ("60s", "male", "50k-", "university"),
        ],
        3,
    )
    assert (found.unique, found.highest, found.mean) == (4, 8, (4 + 2 + 6 + 8) / 4)


def test_contributions_are_those_of_sdcmicro() -> None:
    """50, 37.5 and 37.5 percent, in a test of sdcMicro."""
    found = found_in([(2, 0, 0), (1, 3, 6), (1, 0, 0)], 3)
    assert {one.name: one.share for one in found.columns} == {"a": 0.5, "b": 0.375, "c": 0.375}


def test_planted_special_uniques_are_found() -> None:
    """All rows twice, and two rows of their own: one by a pair of common values, one by a value."""
    common = [
        (a, b, c, d)
        for a in range(3)
        for b in range(3)
        for c in range(3)
        for d in (a, b)
        if (a, b) != (2, 2)
    ]
    found = found_in([*common, *common, (2, 2, 0, 1), (0, 1, 99, 0)], 3)
    assert found.by_size[:2] == (1, 1)
    listed = {one.columns: one.rows for one in found.frequent}
    assert listed["c",] == listed["a", "b"] == 1
    assert found.unique == 2


def test_a_size_is_searched_whole_or_not_at_all() -> None:
    """Four columns have 4, 6 and 4 combinations."""
    assert (
        found_in(GUIDELINE, 3, most=14).searched,
        found_in(GUIDELINE, 3, most=14).combinations,
    ) == (3, 14)
    found = found_in(GUIDELINE, 3, most=13)
    assert (found.searched, found.required, found.complete, found.combinations) == (2, 3, False, 10)
    assert found.by_size == found_in(GUIDELINE, 2).by_size
    assert found.highest == found_in(GUIDELINE, 2).highest
    nothing = found_in(GUIDELINE, 3, most=3)
    assert (nothing.searched, nothing.by_size, nothing.unique, nothing.highest) == (0, (), 0, 0)


def test_one_row_is_unique_by_every_column() -> None:
    found = found_in([(None, 5)], 7)
    assert (found.required, found.by_size, found.unique) == (2, (1, 0), 1)


@pytest.mark.parametrize(("columns", "size"), [(39, 3), (22, 4), (13, 13)])
def test_how_many_columns_the_default_allows(columns: int, size: int) -> None:
    """As docs/special_uniques.md says; one column more, and the largest size is left out."""
    one = {str(i): np.zeros(1, dtype=np.int64) for i in range(columns + 1)}
    counts = np.array([2])
    assert (
        special_uniques({name: one[name] for name in list(one)[:columns]}, counts, size).searched
        == size
    )
    assert not special_uniques(one, counts, size).complete
