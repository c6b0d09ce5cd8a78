"""Dealing as arithmetic: the same classes as dealing one by one, and the same largest distance."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn
from uneven import uneven_over

from tclose_spark.measures.distances.ground_distances import (
    EqualDistance,
    GroundDistance,
    HierarchicalDistance,
    OrderedDistance,
)
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.methods.dealing.maximum_emd import maximum_emd
from tclose_spark.methods.dealing.stacks import (
    Shares,
    Stack,
    class_counts,
    compositions,
    positions_before,
    representatives,
    stack_by_frequency,
    stack_by_value,
)

KINDS = ("equal", "ordered", "hierarchical", "numeric", "weighted tree")


@st.composite
def stacks(draw: st.DrawFn, cells: int = 7, most: int = 12) -> tuple[Stack, int]:
    """A stack in some order, and a number of classes that it can be dealt to."""
    counts = np.array(
        draw(st.lists(st.integers(1, most), min_size=1, max_size=cells)),
        dtype=np.int64,
    )
    order = draw(st.sampled_from(["frequency", "value", "any"]))
    if order == "any":
        stack = Stack(np.array(draw(st.permutations(range(len(counts)))), dtype=np.int64), counts)
    else:
        stack = stack_by_frequency(counts) if order == "frequency" else stack_by_value(counts)
    return stack, draw(st.integers(1, stack.rows))


def deal(stack: Stack, e: int) -> np.ndarray:
    """Rows of each cell in each class: the stack, one by one, to the classes in turn."""
    table = np.zeros((e, len(stack.counts)), dtype=np.int64)
    for position, cell in enumerate(np.repeat(stack.order, stack.counts[stack.order])):
        table[position % e, cell] += 1
    return table


def worst(classes: np.ndarray, codes: np.ndarray, distance: GroundDistance) -> Fraction:
    """The largest distance of dealt classes."""
    by_code = np.zeros((len(classes), len(distance.table)), dtype=np.int64)
    np.add.at(by_code.T, codes, classes.T)
    numerators = distance.numerators(Histograms.dense(by_code))
    unit = distance.scale * int(distance.table.sum())
    return max(
        Fraction(int(x), unit * int(s))
        for x, s in zip(numerators, classes.sum(axis=1), strict=True)
    )


def test_stacks_by_frequency_with_ties_by_value():
    assert stack_by_frequency(np.array([3, 7, 3, 9])).order.tolist() == [3, 1, 0, 2]
    assert stack_by_value(np.array([3, 7, 3, 9])).order.tolist() == [0, 1, 2, 3]
    assert stack_by_frequency(np.array([3, 7, 3, 9])).starts.tolist() == [16, 9, 19, 0]


@drawn(100, quick=25)
@given(st.integers(0, 60), st.integers(1, 12))
def test_counts_the_positions_before_one_that_a_class_gets(x, e):
    classes = np.arange(e)
    assert positions_before(np.full(e, x), classes, e).tolist() == [
        sum(p % e == c for p in range(x)) for c in range(e)
    ]


@drawn(200, quick=50)
@given(stacks())
def test_counts_are_those_of_dealing_one_by_one(case):
    stack, e = case
    assert class_counts(stack, np.arange(e), e).tolist() == deal(stack, e).tolist()


@drawn(200, quick=50)
@given(stacks(), st.integers(1, 20))
def test_classes_have_at_least_k_rows_and_even_shares_of_each_value(case, k):
    stack, _ = case
    k = min(k, stack.rows)
    e = stack.rows // k
    counts = class_counts(stack, np.arange(e), e)
    sizes = counts.sum(axis=1)
    assert sizes.sum() == stack.rows
    assert set(sizes.tolist()) <= {stack.rows // e, -(-stack.rows // e)}
    assert sizes.min() >= k
    assert (counts.max(axis=0) - counts.min(axis=0)).max() <= 1


@drawn(100, quick=25)
@given(stacks())
def test_representatives_have_every_composition(case):
    stack, e = case
    chosen = representatives(stack, e)
    assert len(chosen) <= len(stack.counts) + 2
    every = {tuple(row) for row in class_counts(stack, np.arange(e), e).tolist()}
    assert {tuple(row) for row in class_counts(stack, chosen, e).tolist()} == every


def distances(table: np.ndarray) -> dict[str, GroundDistance]:
    m = len(table)
    pairs = (np.arange(m) // 2, np.zeros((m + 1) // 2, dtype=np.int64))
    return {
        "equal": EqualDistance(table),
        "ordered": OrderedDistance(table),
        "hierarchical": HierarchicalDistance(table, pairs),
        **uneven_over(table),
    }


@pytest.mark.parametrize("kind", KINDS)
@drawn(200, quick=50)
@given(stacks())
def test_the_largest_distance_is_that_of_all_classes(kind, case):
    stack, e = case
    distance, codes = distances(stack.counts)[kind], np.arange(len(stack.counts))
    assert maximum_emd(stack, codes, distance, e) == worst(deal(stack, e), codes, distance)


@pytest.mark.parametrize("kind", KINDS)
@drawn(100, quick=25)
@given(stacks(), st.data())
def test_the_largest_distance_of_one_attribute_of_several(kind, case, data):
    stack, e = case
    m = data.draw(st.integers(1, 5))
    codes = np.array(
        data.draw(
            st.lists(st.integers(0, m - 1), min_size=len(stack.counts), max_size=len(stack.counts)),
        ),
    )
    if data.draw(st.booleans()):
        codes = np.sort(codes)
    table = np.bincount(codes, stack.counts, minlength=m).astype(np.int64)
    distance = distances(table)[kind]
    assert maximum_emd(stack, codes, distance, e) == worst(deal(stack, e), codes, distance)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("e", [3, 10**6 + 3, 10**9 + 9])
def test_the_largest_distance_of_billions_of_rows(kind, e):
    stack = stack_by_value(np.array([10**11 + 1, 10**9 + 7, 3, 10**12 + 13, 999]))
    distance, codes = distances(stack.counts)[kind], np.arange(5)
    parts = class_counts(stack, representatives(stack, e), e)
    assert maximum_emd(stack, codes, distance, e) == worst(parts, codes, distance)


@drawn(50, quick=12)
@given(stacks(), st.integers(1, 20))
def test_compositions_may_come_in_chunks(case, chunk):
    stack, e = case
    codes = np.arange(len(stack.counts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tclose_spark.methods.dealing.stacks.CHUNK", chunk)
        parts = compositions(stack, codes, EqualDistance(stack.counts), e)
    found = {
        frozenset(zip(part.values[i:j].tolist(), part.counts[i:j].tolist(), strict=True))
        for part in parts
        for i, j in zip(part.offsets, part.offsets[1:], strict=False)
    }
    assert found == {
        frozenset((cell, n) for cell, n in enumerate(row) if n) for row in deal(stack, e).tolist()
    }


@drawn(200, quick=50)
@given(stacks())
def test_shares_give_each_class_the_counts_of_dealing(case):
    stack, e = case
    shares, expected = Shares.of(stack, e), deal(stack, e)
    for cell, count in enumerate(stack.counts):
        classes = shares.class_of(np.full(count, cell), np.arange(count)).tolist()
        assert classes == sorted(classes)
        found = Counter(classes)
        assert [found[c] for c in range(e)] == expected[:, cell].tolist()


def test_shares_hold_for_billions_of_rows():
    stack, e = stack_by_frequency(np.array([5, 10**12 + 1])), 10**9
    shares = Shares.of(stack, e)
    assert shares.class_of(np.array([1, 1, 1, 1]), np.array([0, 1000, 1001, 10**12])).tolist() == [
        0,
        0,
        1,
        e - 1,
    ]
    assert shares.class_of(np.zeros(5, dtype=np.int64), np.arange(5)).tolist() == [1, 2, 3, 4, 5]
