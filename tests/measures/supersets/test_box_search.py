"""Natural supersets of classes: each box that is named proves, and every step of who cut the table
is found.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle.supersets import Twin
from strategies import CITIES, drawn

from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.checks.labels.regions import BoxProofs
from tclose_spark.measures.closeness import nt_close_superset
from tclose_spark.measures.distances.ground_distances import (
    EqualDistance,
    HierarchicalDistance,
    OrderedDistance,
)
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.measures.loss.information_loss import LabelLoss
from tclose_spark.measures.supersets.box_search import (
    BoxSearch,
    ProofTarget,
    count_heights,
    heights_to_try,
    nearness,
)
from tclose_spark.measures.supersets.label_axes import LabelAxis

TREE = (np.arange(4), np.array([0, 0, 1, 1]), np.zeros(4, dtype=np.int64))
KINDS = {
    "age": ("number", LabelLoss(numeric=True, span=Fraction(9), foreign=True), ()),
    "team": ("set", LabelLoss(numeric=False, distinct=4, sets=True), ()),
    "city": ("tree", LabelLoss(numeric=False, hierarchy=CITIES), CITIES.paths),
    "sex": ("value", LabelLoss(numeric=False), ()),
}
LABELS = {
    "age": ["2", "[2, 4]", "[3, 5]", "4", "[5, 9]", "[2, 9]", "[6, 7[", "(6, 7]", None, "*"],
    "team": ["a", "{a, b}", "b", "{b, c}", "{a, c}", "d", "{b, c, d}", None, "*"],
    "city": ["Pisa", "Siena", "Tuscany", "Bari", "Italy", "Lyon", "Rhone", "France", None, "*"],
    "sex": ["f", "m", "x", None, "*"],
}


def near_of(counts, t, kind=EqualDistance, still=None):
    counts = np.array(counts, dtype=np.int64)
    still = np.ones(len(counts), dtype=bool) if still is None else np.array(still)
    return ProofTarget(kind(counts.sum(axis=0)), Fraction(t), Histograms.dense(counts), still)


def axis_of(*stretches, nodes=()):
    low, high = np.array(stretches, dtype=np.int64).T
    return LabelAxis(low, high, len(nodes[0]) if nodes else int(high.max()) + 1, nodes)


def boxes(search, attribute=0):
    """{class: (the ends of its box by axis, records)} of those that are proven."""
    found = search.found[attribute]
    return {
        one: (
            *zip(found.low[:, one].tolist(), found.high[:, one].tolist(), strict=True),
            int(found.records[one]),
        )
        for one in np.flatnonzero(found.proven).tolist()
    }


def members(search, attribute=0):
    """{class: the classes in its box} of those that are proven."""
    low, high = (np.stack([getattr(axis, end) for axis in search.axes]) for end in ("low", "high"))
    found = search.found[attribute]
    return {
        one: np.flatnonzero(
            (low >= found.low[:, [one]]).all(axis=0) & (high <= found.high[:, [one]]).all(axis=0),
        ).tolist()
        for one in np.flatnonzero(found.proven).tolist()
    }


def test_the_box_that_proves_a_class_is_named():
    """Of four quarters the first two are alike, and so are the others; no half is near to the
    table.
    """
    x, y = axis_of((0, 4), (5, 9), (0, 4), (5, 9)), axis_of((0, 1), (0, 1), (2, 3), (2, 3))
    counts = [[8, 2], [7, 3], [1, 9], [2, 8]]
    search = BoxSearch([x, y], np.full(4, 10), [near_of(counts, "0.1")], 20)
    assert search.run()
    lower, upper = ((0, 9), (0, 1), 20), ((0, 9), (2, 3), 20)
    assert boxes(search) == {0: lower, 1: lower, 2: upper, 3: upper}
    assert search.found[0].emd == pytest.approx(1 / 20)
    search = BoxSearch([x, y], np.full(4, 10), [near_of(counts, "0.1")], 21)  # a half has 20
    assert search.run()
    assert boxes(search) == {}
    assert search.found[0].emd[0] == pytest.approx(
        7 / 20,
    )  # from the table, the nearest that has 21
    search = BoxSearch([x, y], np.full(4, 10), [near_of(counts, "0.1")], 41)
    assert search.run()
    assert search.tried == 0


def test_a_second_cut_is_tried_where_the_most_even_one_proves_nothing():
    x, y = axis_of((0, 4), (5, 9), (0, 4), (5, 9)), axis_of((0, 1), (0, 1), (2, 3), (2, 3))
    counts = [[8, 3], [1, 9], [8, 2], [1, 9]]  # columns are alike, and less even than rows
    search = BoxSearch([y, x], np.array([11, 10, 10, 10]), [near_of(counts, "0.1")], 20)
    assert search.run()
    assert members(search) == {0: [0, 2], 1: [1, 3], 2: [0, 2], 3: [1, 3]}


def test_a_part_takes_no_more_than_its_share_of_the_boxes():
    """What proves the last two classes is found, though the first ones have more cuts than may be
    tried.
    """
    ends = [(i, i) for i in range(64)]
    counts = [[10, 0], [0, 10]] * 31 + [[5, 5], [5, 5]]
    search = BoxSearch(
        [axis_of(*ends)],
        np.full(64, 10),
        [near_of(counts, "0.1", still=[True] * 64)],
        20,
    )
    assert not search.run(most=80)
    assert {62, 63} <= members(search).keys()


def test_classes_that_have_a_proof_are_not_asked_for_and_each_attribute_by_itself():
    x = axis_of((0, 1), (2, 3), (4, 5))
    first = near_of([[5, 5], [9, 1], [1, 9]], "0.01", still=[False, True, False])
    second = near_of([[5, 5], [5, 5], [5, 5]], "0.01")
    search = BoxSearch([x], np.full(3, 10), [first, second], 10)
    assert search.run()
    assert members(search, 0) == {1: [1]}
    assert members(search, 1) == {one: [0, 1, 2] for one in range(3)}


@pytest.mark.parametrize("tops", [[1], [3], [1, 1], [3, 1], [1, 3, 3], [1] * 5])
def test_heights_are_tried_from_both_ends(tops):
    every = heights_to_try(tops, 10_000)
    assert len(every) == len(set(every)) == count_heights(tops)
    assert [sum(heights) for heights in every] == sorted(sum(heights) for heights in every)
    for most in range(len(every)):
        some = heights_to_try(tops, most)
        assert len(set(some)) == most
        assert set(some) == {*every[: most - most // 2], *every[len(every) - most // 2 :]}


@pytest.mark.parametrize("kind", [EqualDistance, OrderedDistance, HierarchicalDistance])
def test_a_class_is_as_far_from_a_widening_as_from_a_cut(kind):
    """Two labels overlap, so no cut is between them; the first class is near to both together,
    exactly at its t.
    """
    counts = np.array([[3, 1, 0], [0, 1, 3], [0, 0, 900]])
    tree = ((np.array([0, 0, 1]), np.array([0, 0])),) if kind is HierarchicalDistance else ()
    table = kind(counts.sum(axis=0), *tree)
    axes = [axis_of((0, 2), (1, 3), (2, 5)), axis_of((0, 1), (0, 1), (-1, 2))]
    over = kind(counts[:2].sum(axis=0), *tree)
    far = Fraction(int(over.numerators(Histograms.dense(counts[:1]))[0]), over.scale * 8 * 4)
    for t, holds in ((far, True), (far - Fraction(1, 10**30), False)):
        asked = ProofTarget(table, t, Histograms.dense(counts), np.array([True, False, False]))
        search = BoxSearch(axes, counts.sum(axis=1), [asked], 8)
        assert search.run()
        assert bool(search.found[0].proven[0]) == holds
    assert search.found[0].emd[0] == pytest.approx(float(far))


def searched(columns, counts, t, n, kind=EqualDistance, most=100_000):
    """(the proofs of the classes with these labels by name, what is told of each that is
    proven).
    """
    quasi = [JudgedQuasi(name, (name,), KINDS[name][1]) for name in columns]
    labels = [[pa.chunked_array([pa.array(column, pa.string())])] for column in columns.values()]
    counts = np.array(counts, dtype=np.int64)
    proofs = BoxProofs.of(labels, counts.sum(axis=1), [near_of(counts, t, kind)], quasi, n, most)
    best = proofs.best(0, np.arange(len(counts))).to_pylist()
    return proofs, [one["superset"] if one is not None and one["proven"] else None for one in best]


@st.composite
def tables(draw):
    """({name: labels of the classes}, records by class and value): no two classes have equal
    labels.
    """
    names = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=3, unique=True))
    one = st.tuples(*[st.sampled_from(LABELS[name]) for name in names])
    classes = draw(st.lists(one, min_size=1, max_size=10, unique=True))
    rows = st.lists(st.integers(0, 4), min_size=3, max_size=3).filter(any)
    counts = [draw(rows) for _ in classes]
    return dict(zip(names, zip(*classes, strict=True), strict=True)), counts


def twin_of(columns, counts, t, n, kind):
    values = ["0", "1", "2"]
    classes = {
        labels: Counter(dict(zip(values, row, strict=True)))
        for labels, row in zip(zip(*columns.values(), strict=True), counts, strict=True)
    }
    kinds = [(KINDS[name][0], KINDS[name][2]) for name in columns]
    return Twin(
        classes,
        kinds,
        values,
        n,
        Fraction(t),
        "ordered" if kind is OrderedDistance else "equal",
    )


T = st.sampled_from(["0.05", "0.1", "1/6", "0.2", "1/3"])
KIND = st.sampled_from([EqualDistance, OrderedDistance])


@drawn(400)
@given(tables(), T, st.integers(2, 30), KIND, st.sampled_from([100_000, 3]))
def test_every_proof_is_one_by_trying_all_boxes(table, t, n, kind, most):
    """What is told is read as a text, and all classes in it are counted by their labels."""
    columns, counts = table
    twin = twin_of(columns, counts, t, n, kind)
    proofs, told = searched(columns, counts, t, n, kind, most)
    for labels, box, emd, records in zip(
        twin.classes,
        told,
        proofs.search.found[0].emd,
        proofs.search.found[0].records,
        strict=True,
    ):
        if box is not None:
            read = twin.read(box, list(columns))
            assert twin.proves(labels, read)
            assert float(emd) == pytest.approx(float(twin.emd(labels, read)))
            assert records == sum(twin.classes[one].total() for one in twin.inside(read))
            assert twin.provable(labels)


@drawn(150)
@given(tables(), T, st.integers(2, 30), KIND)
def test_of_values_and_nodes_every_proof_that_there_is_is_found(table, t, n, kind):
    columns, counts = table
    if {"age", "team"} & columns.keys():
        return
    twin = twin_of(columns, counts, t, n, kind)
    proofs, told = searched(columns, counts, t, n, kind)
    assert proofs.complete
    found = proofs.search.found[0]
    for labels, box, own, records in zip(twin.classes, told, counts, found.records, strict=True):
        if sum(own) < n:  # else it is a superset of itself, which nobody asks the search for
            assert (box is not None) == twin.provable(labels)
            assert records or not twin.provable(labels)


COUNTED = {
    "inside a wider interval": {
        "age": ["[20, 29]", "[22, 25]", "[40, 49]"] * 2,
        "sex": ["f"] * 3 + ["m"] * 3,
    },
    "inside bounds": {
        "age": [("20", "29"), ("22", "25"), ("40", "49")] * 2,
        "sex": ["f"] * 3 + ["m"] * 3,
    },
    "inside a set": {"team": ["{a, b}", "a", "d"] * 2, "sex": ["f"] * 3 + ["m"] * 3},
    "inside a node": {"city": ["Tuscany", "Pisa", "Lyon"] * 2, "sex": ["f"] * 3 + ["m"] * 3},
}


@pytest.mark.parametrize("columns", COUNTED.values(), ids=COUNTED)
def test_a_class_counts_in_every_label_that_holds_its_own(columns):
    """Five with flu each in the wide label, fifty with none each in a narrow one inside it, and
    beside it.
    """
    counts = np.array([[5, 0], [0, 50], [0, 50]] * 2)
    quasi, arrays = [], []
    for name, labels in columns.items():
        parts = list(zip(*labels, strict=True)) if isinstance(labels[0], tuple) else [labels]
        quasi.append(
            JudgedQuasi(name, tuple(f"{name}{i}" for i in range(len(parts))), KINDS[name][1]),
        )
        arrays.append([pa.chunked_array([pa.array(part, pa.string())]) for part in parts])
    wide = np.array([True, False, False] * 2)
    near = ProofTarget(
        EqualDistance(counts.sum(axis=0)),
        Fraction(1, 10),
        Histograms.dense(counts),
        wide,
    )
    proofs = BoxProofs.of(arrays, counts.sum(axis=1), [near], quasi, 10)
    assert proofs.complete
    assert not proofs.search.found[0].proven.any()
    assert proofs.search.found[0].emd[0] == pytest.approx(50 / 55)
    alone = np.array([0, 2, 3, 5])  # without those inside, the wide label has ten rows with flu
    proofs = BoxProofs.of(
        [[part.take(pa.array(alone)) for part in parts] for parts in arrays],
        counts[alone].sum(axis=1),
        [ProofTarget(near.distance, near.t, Histograms.dense(counts[alone]), wide[alone])],
        quasi,
        10,
    )
    assert proofs.proves


def test_a_text_that_no_one_can_place_is_in_no_box_but_everything():
    """`47***` may hold `476**`: zip=47*** is no superset of 10, and neither are its women and
    men.
    """
    zips = JudgedQuasi("zip", ("zip",), LabelLoss(numeric=False, foreign=True))
    sexes = JudgedQuasi("sex", ("sex",), LabelLoss(numeric=False))
    counts = np.array([[5, 0], [5, 0], [0, 50], [0, 50]])
    labels = [["47***", "47***", "476**", "476**"], ["f", "m", "f", "m"]]
    arrays = [[pa.chunked_array([pa.array(column)])] for column in labels]
    proofs = BoxProofs.of(arrays, counts.sum(axis=1), [near_of(counts, "0.1")], [zips, sexes], 10)
    assert proofs.search.found[0].proven.tolist() == [False, False, True, True]


@st.composite
def cut_tables(draw):
    """(the low and the high ends of boxes that a rectangle is cut into, shape (2, boxes) each; each
    step's boxes).
    """
    pending, boxes, steps = [((0, 0), (15, 15))], [], []
    tree = []
    while pending:
        low, high = pending.pop()
        axis = draw(st.integers(0, 1))
        if (
            len(boxes) + len(pending) < 12
            and high[axis] - low[axis] >= 2
            and draw(st.integers(0, 4))
        ):
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
@given(
    cut_tables(),
    st.integers(2, 40),
    st.sampled_from(["0.05", "0.1", "0.2"]),
    st.integers(0, 2**32),
    st.booleans(),
)
def test_every_step_of_a_cut_table_is_found_and_each_proof_is_one(table, n, t, seed, ordered):
    lows, highs, steps = table
    draw = np.random.default_rng(seed)
    counts = draw.integers(0, 6, (lows.shape[1], 3)) + np.array([[1, 0, 0]])
    sizes, kind = counts.sum(axis=1), OrderedDistance if ordered else EqualDistance
    near = near_of(counts, t, kind)
    search = BoxSearch(
        [LabelAxis(*ends, 16) for ends in zip(lows, highs, strict=True)],
        sizes,
        [near],
        n,
    )
    assert search.run()
    texts = [np.repeat(["0", "1", "2"], row).tolist() for row in counts]
    asked = {"distance": "ordered", "order": ["0", "1", "2"]} if ordered else {"distance": "equal"}
    for one, held in members(search).items():
        assert one in held
        assert search.found[0].records[one] == sizes[held].sum()
        whole = [value for member in held for value in texts[member]]
        assert nt_close_superset(texts[one], [whole], n, t, **asked) == 0
        _, (emd,) = nearness(
            near.distance,
            near.t,
            counts[held].sum(axis=0),
            Histograms.dense(counts[[one]]),
        )
        assert search.found[0].emd[one] == emd
    for step in steps:
        whole = [value for member in step.tolist() for value in texts[member]]
        for one in step.tolist():
            if nt_close_superset(texts[one], [whole], n, t, **asked) == 0:
                assert search.found[0].proven[one]


def test_a_distance_from_a_superset_is_over_the_whole_domain_and_exact():
    distance, one = (
        OrderedDistance(np.array([1, 1, 1, 1, 1])),
        Histograms.dense(np.array([[1, 0, 0, 0, 0]])),
    )
    for t, holds in ((Fraction(1, 8), True), (Fraction(1, 8) - Fraction(1, 10**40), False)):
        near, far = nearness(distance, t, np.array([2, 2, 0, 0, 0]), one)
        assert (near.tolist(), far.tolist()) == ([holds], [0.125])
    near, far = nearness(distance, Fraction(1, 8), np.array([2, 2, 0, 0, 0]) * 10**14, one)
    assert (near.tolist(), far.tolist()) == ([True], [0.125])
