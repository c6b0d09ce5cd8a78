"""GENERATE-CLASSES: shares stay, near rows come together, as the papers' procedure written down
plainly has it.
"""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import Problem, drawn, make_problem, people

from tclose_spark.methods.dealing.nearest import classes_per_block, gather_nearest
from tclose_spark.methods.widths import QuasiWidths
from tclose_spark.table.labels import range_losses
from tclose_spark.table.rows import Rows


def widths_of(problem: Problem) -> QuasiWidths:
    return QuasiWidths(problem.attributes.quasi_identifiers)


def distance(problem: Problem, rows: Rows, a: int, b: int) -> float:
    """The information loss of a class of two rows, summed over the quasi-identifiers."""
    asked = problem.spec.attributes.quasi_identifiers
    pairs = [
        (np.array([min(codes[a], codes[b])]), np.array([max(codes[a], codes[b])]))
        for codes in rows.quasi
    ]
    columns = zip(pairs, problem.profile.quasi, strict=True)
    return sum(
        float(
            range_losses(
                *pair,
                d,
                asked[d.name].generalization == "set",
                problem.hierarchies.get(d.name),
            )[0],
        )
        for pair, d in columns
    )


def generate_classes(
    problem: Problem,
    rows: Rows,
    part: np.ndarray,
    classes: np.ndarray,
    key: np.ndarray,
) -> list[int]:
    """The papers' procedure, row by row, in one block."""
    found = [-1] * len(rows)
    for c in sorted(set(classes.tolist())):
        need = Counter(part[classes == c].tolist())
        left = [
            i for i in np.argsort(key, kind="stable").tolist() if found[i] < 0 and need[part[i]]
        ]
        centre = left[0]
        for p, many in need.items():
            near = [i for i in range(len(rows)) if found[i] < 0 and part[i] == p]
            near.sort(key=lambda i: (i != centre, round(distance(problem, rows, i, centre), 9)))
            for i in near[:many]:
                found[i] = c
    return found


@drawn(100)
@given(people(most=30), st.integers(1, 4), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_is_the_procedure_of_the_papers(records, parts, e, seed):
    problem, rows = make_problem(records, {"disease": {}})
    random = np.random.default_rng(seed)
    part, classes = np.sort(random.integers(0, parts, len(rows))), random.integers(0, e, len(rows))
    key = random.integers(0, 5, len(rows), dtype=np.uint64)
    block = np.zeros(len(rows), dtype=np.int64)
    found = gather_nearest(rows, part, classes, block, key, widths_of(problem))
    assert found.tolist() == generate_classes(problem, rows, part, classes, key)


@pytest.mark.parametrize(
    "blocks",
    [1, 2, 5],
)  # a quasi-identifier has fewer values than rows of a block, or more
def test_many_values_in_several_blocks(blocks):
    random = np.random.default_rng(blocks)
    ages = random.permutation(50)
    records = [
        {"age": int(age), "sex": "fm"[age % 2], "disease": "flu"} for age in (*ages, *ages[:10])
    ]
    problem, rows = make_problem(records, {"disease": {}}, {"age": {"type": "numeric"}, "sex": {}})
    block = np.sort(random.integers(0, blocks, len(rows)))
    classes, part = (
        block * 10 + random.integers(0, 4, len(rows)),
        np.zeros(len(rows), dtype=np.int64),
    )
    key = random.integers(0, 2**40, len(rows), dtype=np.uint64)
    found = gather_nearest(rows, part, classes, block, key, widths_of(problem))
    for number in range(blocks):
        here = np.flatnonzero(block == number)
        alone = generate_classes(problem, rows.take(here), part[here], classes[here], key[here])
        assert found[here].tolist() == alone


@pytest.mark.parametrize("values", [8, 9, 10])
def test_as_many_values_as_rows_or_nearly(values):
    records = [{"age": i % values, "disease": "flu"} for i in range(10)]
    problem, rows = make_problem(records, {"disease": {}}, {"age": {"type": "numeric"}})
    none, classes = np.zeros(10, dtype=np.int64), np.arange(10) // 3
    for seed in range(20):
        key = np.random.default_rng(seed).integers(0, 2**40, 10, dtype=np.uint64)
        found = gather_nearest(rows, none, classes, none, key, widths_of(problem))
        assert found.tolist() == generate_classes(problem, rows, none, classes, key)


@drawn(100)
@given(people(most=40), st.integers(1, 4), st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_shares_stay_and_blocks_keep_their_rows(records, parts, e, seed):
    problem, rows = make_problem(records, {"disease": {}})
    random = np.random.default_rng(seed)
    part, classes = random.integers(0, parts, len(rows)), random.integers(0, e, len(rows)) + 1000
    key, block = np.zeros(len(rows), dtype=np.uint64), classes // 3
    found = gather_nearest(rows, part, classes, block, key, widths_of(problem))
    assert (found // 3 == block).all()
    assert Counter(zip(found.tolist(), part.tolist(), strict=True)) == Counter(
        zip(classes.tolist(), part.tolist(), strict=True),
    )


def test_near_rows_come_together():
    records = [{"age": age, "disease": "flu"} for age in (20, 50, 21, 51, 22, 52)]
    problem, rows = make_problem(records, {"disease": {}}, {"age": {"type": "numeric"}})
    dealt = np.array([0, 0, 0, 1, 1, 1])
    none = np.zeros(6, dtype=np.int64)
    found = gather_nearest(
        rows,
        none,
        dealt,
        none,
        rows.quasi[0].astype(np.uint64),
        widths_of(problem),
    )
    assert sorted(rows.quasi[0][found == 0].tolist()) == [20, 21, 22]


@pytest.mark.parametrize(
    ("size", "classes"),
    [(1, 200), (500, 200), (1_000, 100), (100_000, 1), (10**9, 1)],
)
def test_a_block_of_large_classes_has_fewer(size, classes):
    assert classes_per_block(size) == classes
