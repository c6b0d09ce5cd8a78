"""Supersets of classes that cuts leave: each that is named is one, and every step of who cut the table is found."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn

from tclose_spark.measures.closeness import nt_close_superset
from tclose_spark.measures.distances import EqualDistance, OrderedDistance
from tclose_spark.measures.histograms import Histograms
from tclose_spark.measures.supersets import Axis, BoxSearch, Near, superset_distances

TREE = (np.arange(4), np.array([0, 0, 1, 1]), np.zeros(4, dtype=np.int64))


def near_of(counts, t, kind=EqualDistance, still=None):
    counts = np.array(counts, dtype=np.int64)
    still = np.ones(len(counts), dtype=bool) if still is None else np.array(still)
    return Near(kind(counts.sum(axis=0)), Fraction(t), Histograms.dense(counts), still)


def axis_of(*stretches, nodes=()):
    low, high = np.array(stretches, dtype=np.int64).T
    return Axis(low, high, nodes)


def members(search, attribute=0):
    """{class: (the classes of its superset, distance)} of those that are proven."""
    found = search.found[attribute].items()
    return {one: (sorted(proof.members.tolist()), proof.emd) for one, proof in found if proof.proves}


def parts(axis, count):
    return [[sorted(part.tolist()) for part in cut.parts] for cut in axis.cuts(np.arange(count))]


def test_numbers_are_cut_where_no_label_is():
    axis = axis_of((5, 9), (1, 2), (2, 3), (11, 11))
    assert parts(axis, 4) == [[[1, 2], [0, 3]], [[0, 1, 2], [3]]]
    assert parts(axis_of((1, 5), (5, 9)), 2) == []  # labels that share an end
    assert parts(axis_of((1, 2), (-1, -1), (4, 4)), 3) == [[[1], [0, 2]]]  # the missing value leaves first
    assert parts(axis_of((1, 2), (-1, 9), (4, 4)), 3) == []  # * is everything


def test_a_node_is_cut_into_all_its_children():
    assert parts(axis_of((0, 0), (2, 2), (1, 1), (2, 3), nodes=TREE), 4) == [[[0, 2], [1, 3]]]
    assert parts(axis_of((0, 0), (1, 1), nodes=TREE), 2) == [[[0], [1]]]  # the node below the root
    assert parts(axis_of((0, 0), (0, 1), nodes=TREE), 2) == []  # one label is the node
    assert parts(axis_of((0, 0), (0, 3), nodes=TREE), 2) == []
    assert parts(axis_of((2, 2), (2, 2), nodes=TREE), 2) == []
    assert parts(axis_of((0, 0), (-1, -1), (3, 3), nodes=TREE), 3) == [[[1], [0, 2]]]  # what is missing leaves first
    assert parts(axis_of((0, 0), (-1, 4), (3, 3), nodes=TREE), 3) == []


def test_the_box_that_proves_a_class_is_named():
    """Of four quarters the first two are alike, and so are the others; no half is near to the table."""
    x, y = axis_of((0, 4), (5, 9), (0, 4), (5, 9)), axis_of((0, 1), (0, 1), (2, 3), (2, 3))
    counts = [[8, 2], [7, 3], [1, 9], [2, 8]]
    search = BoxSearch([x, y], np.full(4, 10), [near_of(counts, "0.1")], 20)
    assert search.run()
    half = Fraction(1, 20)
    assert members(search) == {0: ([0, 1], half), 1: ([0, 1], half), 2: ([2, 3], half), 3: ([2, 3], half)}
    search = BoxSearch([x, y], np.full(4, 10), [near_of(counts, "0.1")], 21)  # a half has 20
    assert search.run()
    assert members(search) == {}
    assert search.found[0][0].emd == Fraction(7, 20)  # from the table, the nearest that has 21


def test_a_second_cut_is_tried_where_the_most_even_one_proves_nothing():
    x, y = axis_of((0, 4), (5, 9), (0, 4), (5, 9)), axis_of((0, 1), (0, 1), (2, 3), (2, 3))
    counts = [[8, 3], [1, 9], [8, 2], [1, 9]]  # columns are alike, and less even than rows
    search = BoxSearch([y, x], np.array([11, 10, 10, 10]), [near_of(counts, "0.1")], 20)
    assert search.run()
    assert {one: held for one, (held, _) in members(search).items()} == {0: [0, 2], 1: [1, 3], 2: [0, 2], 3: [1, 3]}
    assert not BoxSearch([y, x], np.array([11, 10, 10, 10]), [near_of(counts, "0.1")], 20).run(most=2)


def test_classes_that_have_a_proof_are_not_asked_for_and_each_attribute_by_itself():
    x = axis_of((0, 1), (2, 3), (4, 5))
    first = near_of([[5, 5], [9, 1], [1, 9]], "0.01", still=[False, True, False])
    second = near_of([[5, 5], [5, 5], [5, 5]], "0.01")
    search = BoxSearch([x], np.full(3, 10), [first, second], 10)
    assert search.run()
    assert members(search, 0) == {1: ([1], 0)}
    assert {one: emd for one, (_, emd) in members(search, 1).items()} == {0: 0, 1: 0, 2: 0}


@st.composite
def cut_tables(draw):
    """(the low and the high ends of boxes that a rectangle is cut into, shape (2, boxes) each; each step's boxes)."""
    pending, boxes, steps = [((0, 0), (15, 15))], [], []
    tree = []
    while pending:
        low, high = pending.pop()
        axis = draw(st.integers(0, 1))
        if len(boxes) + len(pending) < 12 and high[axis] - low[axis] >= 2 and draw(st.integers(0, 4)):
            at = draw(st.integers(low[axis] + 1, high[axis]))
            tree.append((low, high))
            one, other = list(high), list(low)
            one[axis], other[axis] = at - 1, at
            pending += [(low, tuple(one)), (tuple(other), high)]
        else:
            boxes.append((low, high))
    lows, highs = np.array([low for low, _ in boxes]).T, np.array([high for _, high in boxes]).T
    for low, high in tree:
        inside = (np.array(low) <= lows.T).all(axis=1) & (np.array(high) >= highs.T).all(axis=1)
        steps.append(np.flatnonzero(inside))
    return lows, highs, steps


@drawn(150)
@given(cut_tables(), st.integers(2, 40), st.sampled_from(["0.05", "0.1", "0.2"]), st.integers(0, 2**32), st.booleans())
def test_every_step_of_a_cut_table_is_found_and_each_proof_is_one(table, n, t, seed, ordered):
    lows, highs, steps = table
    draw = np.random.default_rng(seed)
    counts = draw.integers(0, 6, (lows.shape[1], 3)) + np.array([[1, 0, 0]])
    sizes, kind = counts.sum(axis=1), OrderedDistance if ordered else EqualDistance
    near = near_of(counts, t, kind)
    search = BoxSearch([Axis(*ends) for ends in zip(lows, highs, strict=True)], sizes, [near], n)
    assert search.run()
    texts = [np.repeat(["0", "1", "2"], row).tolist() for row in counts]
    asked = {"distance": "ordered", "order": ["0", "1", "2"]} if ordered else {"distance": "equal"}
    for one, (held, emd) in members(search).items():
        low, high = lows[:, held].min(axis=1), highs[:, held].max(axis=1)
        inside = (lows >= low[:, None]).all(axis=0) & (highs <= high[:, None]).all(axis=0)
        assert one in held
        assert np.flatnonzero(inside).tolist() == held  # all that lies in the box, so it is a natural superset
        whole = [value for member in held for value in texts[member]]
        assert nt_close_superset(texts[one], [whole], n, t, **asked) == 0
        assert emd == superset_distances(near.distance, counts[held].sum(axis=0), Histograms.dense(counts[[one]]))[0]
    for step in steps:
        whole = [value for member in step.tolist() for value in texts[member]]
        for one in step.tolist():
            if nt_close_superset(texts[one], [whole], n, t, **asked) == 0:
                assert search.found[0][one].proves


def test_a_distance_from_a_superset_is_over_the_whole_domain():
    distance = OrderedDistance(np.array([1, 1, 1, 1, 1]))
    far = superset_distances(distance, np.array([2, 2, 0, 0, 0]), Histograms.dense(np.array([[1, 0, 0, 0, 0]])))
    assert far == [Fraction(1, 8)]
    with pytest.raises(ValueError, match="no distribution"):
        superset_distances(distance, np.array([2, 2, 0, 0, 0]), Histograms.dense(np.zeros((1, 5), dtype=np.int64)))
