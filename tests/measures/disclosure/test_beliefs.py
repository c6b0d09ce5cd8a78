"""Attacks on the classes of a table against brute force in exact fractions, and the worked examples
of the papers.
"""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import LI_FIGURE_1, count_tables, drawn, trees

from tclose_spark.measures.disclosure import beliefs as attacks
from tclose_spark.measures.disclosure.beliefs import (
    BeliefGain,
    background_join,
    most_frequent,
    similarity_of_nodes,
    similarity_of_ranges,
    skewness,
    value_groups,
)
from tclose_spark.measures.distances.ground_distances import HierarchicalDistance, OrderedDistance
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

MOST = {"small": 6, "near 64 bits": 3 * 10**7, "beyond 64 bits": 10**12}


@st.composite
def tables_and_classes(draw: st.DrawFn, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Classes, and their sum or a reference that may lack values of theirs."""
    classes = draw(count_tables(most=most))
    m = classes.shape[1]
    reference = st.lists(st.integers(0, most), min_size=m, max_size=m).filter(any)
    table = draw(st.one_of(st.just(classes.sum(axis=0)), reference.map(np.array)))
    return table.astype(np.int64), classes


CASES = pytest.mark.parametrize(
    "cases",
    [tables_and_classes(most) for most in MOST.values()],
    ids=MOST,
)


def gain_of(counts: np.ndarray, table: np.ndarray, first: int, last: int) -> Fraction:
    """P - Q of the values first..last."""
    inside = slice(first, last + 1)
    p = Fraction(sum(counts.tolist()[inside]), sum(counts.tolist()))
    return p - Fraction(sum(table.tolist()[inside]), sum(table.tolist()))


def gains(found: BeliefGain, table: np.ndarray, classes: np.ndarray) -> list[Fraction]:
    """The gains that the numerators say."""
    n = sum(table.tolist())
    return [
        Fraction(int(x), n * sum(counts))
        for x, counts in zip(found.numerators, classes.tolist(), strict=True)
    ]


def ranges(found: BeliefGain) -> list[tuple[int, int]]:
    return list(zip(found.first.tolist(), found.last.tolist(), strict=True))


@pytest.mark.parametrize("most", MOST.values(), ids=MOST)
@drawn(100)
@given(st.data())
def test_likeliest_is_the_mode_and_its_runner_up(most, data):
    classes = data.draw(count_tables(most=most))
    found = most_frequent(Histograms.dense(classes))
    for counts, value, first, second in zip(
        classes.tolist(),
        found.value,
        found.first,
        found.second,
        strict=True,
    ):
        ranked = [*sorted(counts, reverse=True), 0]
        assert (first, second) == (ranked[0], ranked[1])
        assert value == counts.index(ranked[0])


@drawn(150)
@given(count_tables())
def test_no_exclusion_of_one_value_tells_more_than_that_of_the_second_most_frequent(classes):
    found = most_frequent(Histograms.dense(classes))
    for counts, first, second in zip(
        classes.tolist(),
        found.first.tolist(),
        found.second.tolist(),
        strict=True,
    ):
        beliefs = []
        for ruled_out in range(len(counts)):
            left = [count for value, count in enumerate(counts) if value != ruled_out]
            if any(left):
                beliefs.append(Fraction(max(left), sum(left)))
        believed = Fraction(first, sum(counts) - second)
        assert believed == max([*beliefs, Fraction(max(counts), sum(counts))])
        assert (believed == 1) == (np.count_nonzero(counts) <= 2)


@CASES
@drawn(100)
@given(st.data())
def test_skewness_is_the_largest_gain_of_a_value(cases, data):
    table, classes = data.draw(cases)
    found = skewness(table, Histograms.dense(classes))
    assert found.first.tolist() == found.last.tolist()
    assert found.height.tolist() == [0] * len(classes)
    for counts, value, gain in zip(
        classes,
        found.first.tolist(),
        gains(found, table, classes),
        strict=True,
    ):
        by_value = [gain_of(counts, table, v, v) for v in range(len(counts))]
        assert gain == by_value[value] == max(by_value)
        assert value == min(v for v in np.flatnonzero(counts) if by_value[v] == gain)


@CASES
@drawn(150)
@given(st.data())
def test_similar_range_is_the_best_of_all_ranges(cases, data):
    table, classes = data.draw(cases)
    found = similarity_of_ranges(table, Histograms.dense(classes))
    for counts, (first, last), gain in zip(
        classes,
        ranges(found),
        gains(found, table, classes),
        strict=True,
    ):
        m = len(counts)
        by_range = {(i, j): gain_of(counts, table, i, j) for i in range(m) for j in range(i, m)}
        assert gain == by_range[first, last] == max(by_range.values())
        best = [
            (i, j)
            for (i, j), other in by_range.items()
            if other == gain and counts[i] and counts[j]
        ]
        assert (first, last) == min(best, key=lambda ends: (ends[1], -ends[0]))


def test_similar_range_of_classes_with_many_values():
    generator = np.random.default_rng(7)
    classes = generator.integers(0, 3, (3, 100))
    classes[2] = 0
    classes[2, 41] = 1
    table = generator.integers(0, 50, 100)
    found = similarity_of_ranges(table, Histograms.dense(classes))
    for counts, (first, last), gain in zip(
        classes,
        ranges(found),
        gains(found, table, classes),
        strict=True,
    ):
        assert gain == gain_of(counts, table, first, last)
        assert gain == max(gain_of(counts, table, i, j) for i in range(100) for j in range(i, 100))
    assert ranges(found)[2] == (41, 41)


@pytest.mark.parametrize("most", MOST.values(), ids=MOST)
@drawn(150)
@given(st.data())
def test_similar_node_is_the_best_of_all_inner_nodes(most, data):
    tree = data.draw(trees(height=4))
    m = len(tree.leaves)
    counts_of_class = st.lists(st.integers(0, most), min_size=m, max_size=m).filter(any)
    classes = np.array(data.draw(st.lists(counts_of_class, min_size=1, max_size=5)), dtype=np.int64)
    table = (
        np.array(data.draw(counts_of_class), dtype=np.int64)
        if data.draw(st.booleans())
        else classes.sum(axis=0)
    )
    found = similarity_of_nodes(
        HierarchicalDistance(table, tree.parents),
        Histograms.dense(classes),
    )
    inner = [
        (height, int(under.min()), int(under.max()))
        for height in range(1, tree.height)
        for node in range(int(tree.nodes[height].max()) + 1)
        for under in [np.flatnonzero(tree.nodes[height] == node)]
    ]
    root = (tree.height, 0, m - 1)
    for counts, (first, last), height, gain in zip(
        classes,
        ranges(found),
        found.height.tolist(),
        gains(found, table, classes),
        strict=True,
    ):
        by_node = {node: gain_of(counts, table, node[1], node[2]) for node in inner}
        best = max(by_node.values(), default=Fraction(0))
        assert gain == best
        assert (height, first, last) == (
            min(node for node in inner if by_node[node] == best) if best else root
        )


def test_a_hierarchy_without_inner_nodes_gains_nothing():
    flat = HierarchicalDistance(np.array([5, 3, 2]), (np.zeros(3, dtype=np.int64),))
    found = similarity_of_nodes(flat, Histograms.dense(np.array([[0, 0, 2], [1, 1, 0]])))
    assert found.numerators.tolist() == [0, 0]
    assert ranges(found) == [(0, 2)] * 2
    assert found.height.tolist() == [1, 1]


@drawn(50)
@given(count_tables(classes=1))
def test_the_table_itself_gains_nothing(classes):
    found = [
        search(classes[0], Histograms.dense(classes)).numerators.tolist()
        for search in (skewness, similarity_of_ranges)
    ]
    assert found == [[0], [0]]


@CASES
@drawn(50)
@given(st.data())
def test_a_range_gains_at_least_what_a_value_gains(cases, data):
    table, classes = data.draw(cases)
    histograms = Histograms.dense(classes)
    assert np.all(
        similarity_of_ranges(table, histograms).numerators
        >= skewness(table, histograms).numerators,
    )


def knowing_of(counts: list[int], known: list[int], target: list[int]) -> tuple[int, int, int]:
    """The definitions, over the records of a class: told, certain, alone."""
    by_known: dict[int, Counter[int]] = {}
    for count, a, b in zip(counts, known, target, strict=True):
        if count:
            by_known.setdefault(a, Counter())[b] += count
    told = sum(max(targets.values()) for targets in by_known.values())
    certain = sum(targets.total() for targets in by_known.values() if len(targets) == 1)
    return told, certain, sum(targets.total() == 1 for targets in by_known.values())


@pytest.mark.parametrize("most", [2, 10**12], ids=["small", "huge"])
@drawn(200)
@given(st.data())
def test_knowing_another_is_what_the_best_guesser_gets_right(most, data):
    tuples = data.draw(count_tables(values=12, most=most))
    m = tuples.shape[1]
    codes = st.lists(st.integers(0, 3), min_size=m, max_size=m)
    # Tuples may differ in a third attribute alone.
    known = data.draw(codes)
    target = data.draw(codes)
    found = background_join(Histograms.dense(tuples), np.array(known), np.array(target))
    expected = [knowing_of(counts, known, target) for counts in tuples.tolist()]
    assert (
        list(zip(found.guessed.tolist(), found.certain.tolist(), found.alone.tolist(), strict=True))
        == expected
    )


def test_a_record_alone_in_its_class_is_known_whatever_is_known():
    found = background_join(
        Histograms.dense(np.array([[0, 1, 0], [1, 1, 1]])),
        np.array([0, 0, 1]),
        np.array([0, 1, 0]),
    )
    assert (found.guessed.tolist(), found.certain.tolist(), found.alone.tolist()) == (
        [1, 2],
        [1, 1],
        [1, 1],
    )


def test_groups_of_an_order_are_thirds_of_the_values_that_rows_have():
    table = np.array([0, 5, 1, 0, 1, 1, 9, 1, 1, 0])
    assert value_groups(OrderedDistance(table)).tolist() == [0, 0, 0, 0, 0, 1, 1, 2, 2, 2]
    assert value_groups(OrderedDistance(np.array([3, 4]))).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("paths", "groups"),
    [
        ([("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*")], [0, 0, 1]),
        (
            [("a", "x", "all", "*"), ("b", "x", "all", "*"), ("c", "y", "all", "*")],
            [0, 0, 1],
        ),  # not the one below *
        ([("a", "*"), ("b", "*")], [0, 1]),
        ([("a", "x", "*")], [0]),
    ],
)
def test_groups_of_a_hierarchy_are_its_highest_nodes_that_are_several(paths, groups):
    tree = Hierarchy.build(paths, "tree")
    assert (
        value_groups(
            HierarchicalDistance(np.ones(len(paths), dtype=np.int64), tree.parents),
        ).tolist()
        == groups
    )


def test_classes_of_one_record():
    classes = Histograms.dense(np.array([[0, 1, 0], [1, 0, 0]]))
    ranked = most_frequent(classes)
    assert (ranked.value.tolist(), ranked.first.tolist(), ranked.second.tolist()) == (
        [1, 0],
        [1, 1],
        [0, 0],
    )
    table = np.array([1, 2, 7])
    for found in (skewness(table, classes), similarity_of_ranges(table, classes)):
        assert ranges(found) == [(1, 1), (0, 0)]
        assert found.numerators.tolist() == [8, 9]


def test_equal_values_and_ranges_are_settled_by_the_lowest_code():
    classes = Histograms.dense(np.array([[0, 3, 1, 3, 0]]))
    table = np.array([0, 3, 1, 3, 0])
    assert most_frequent(classes).value.tolist() == [1]
    assert (
        ranges(skewness(table, classes)) == ranges(similarity_of_ranges(table, classes)) == [(1, 1)]
    )


def counts_of(values: list, domain: list) -> list[int]:
    found = Counter(values)
    return [found[value] for value in domain]


LI_TABLE_2 = [
    ["heart disease"] * 3,
    ["flu", "heart disease", "cancer"],
    ["heart disease", "cancer", "cancer"],
]


def test_li_example_1_homogeneity_and_background_knowledge():
    domain = ["cancer", "flu", "heart disease"]
    found = most_frequent(
        Histograms.dense(np.array([counts_of(part, domain) for part in LI_TABLE_2])),
    )
    assert [domain[value] for value in found.value] == ["heart disease", "cancer", "cancer"]
    assert found.first.tolist() == [3, 1, 2]  # Bob's class holds nothing else
    assert found.second.tolist() == [
        0,
        1,
        1,
    ]  # Carl has cancer, for who can rule out heart disease: 2 / (3 - 1)


def test_li_example_2_skewness():
    table = np.array([100, 9900])  # positive, negative
    classes = np.array([[1, 1], [49, 1], [1, 49]])
    found = skewness(table, Histograms.dense(classes))
    expected = [
        Fraction(1, 2) - Fraction(1, 100),
        Fraction(98, 100) - Fraction(1, 100),
        Fraction(2, 100) - Fraction(1, 100),
    ]
    assert gains(found, table, classes) == expected
    assert found.first.tolist() == [0, 0, 0]


def test_li_table_4_similar_salaries():
    classes = np.array(
        [counts_of(part, list(range(3, 12))) for part in ([3, 4, 5], [6, 11, 8], [7, 9, 10])],
    )
    table = classes.sum(axis=0)
    found = similarity_of_ranges(table, Histograms.dense(classes))
    assert gains(found, table, classes) == [Fraction(2, 3), Fraction(1, 3), Fraction(5, 9)]
    assert [(first + 3, last + 3) for first, last in ranges(found)] == [(3, 5), (6, 8), (7, 10)]


def test_li_table_4_similar_diseases():
    tree = LI_FIGURE_1
    diseases = [
        ["gastric ulcer", "gastritis", "stomach cancer"],
        ["gastritis", "flu", "bronchitis"],
        ["bronchitis", "pneumonia", "stomach cancer"],
    ]
    classes = np.array([counts_of(part, list(tree.leaves)) for part in diseases])
    table = classes.sum(axis=0)
    found = similarity_of_nodes(
        HierarchicalDistance(table, tree.parents),
        Histograms.dense(classes),
    )
    assert gains(found, table, classes) == [Fraction(4, 9), Fraction(2, 9), Fraction(2, 9)]
    labels = [
        tree.paths[leaf][height] for leaf, height in zip(found.first, found.height, strict=True)
    ]
    assert labels == ["stomach", "respiratory infection", "respiratory infection"]
    first, last = ranges(found)[0]
    assert tree.leaves[first : last + 1] == ("gastric ulcer", "stomach cancer", "gastritis")


def test_what_chance_gives_falls_with_the_size_and_is_reached_by_few():
    """Of 4,000 other classes drawn by lot hardly one gains more than any of a thousand."""
    distance, draw = OrderedDistance(np.full(50, 40)), np.random.default_rng(7)
    gains = attacks.chance_gains(distance)
    assert np.array_equal(gains, attacks.chance_gains(distance))
    assert gains[3] > gains[10] > gains[40] > gains[200]
    for size in (3, 5, 20, 200):
        codes = np.stack([draw.choice(2000, size, replace=False) for _ in range(4000)]) // 40
        classes = Histograms.tally(
            np.repeat(np.arange(4000), size),
            codes.ravel(),
            np.ones(codes.size, dtype=np.int64),
            4000,
            50,
        )
        found = attacks.similarity(distance, classes).numerators / (2000 * size)
        expected = attacks.chance_gain(gains, np.full(4000, size))
        assert (found > expected + 1e-9).sum() <= 20
        assert found.max() > 0.7 * expected[0]
    assert attacks.chance_gain(gains, np.array([1024]))[0] == pytest.approx(gains[256] / 2)


def test_a_class_that_is_the_whole_table_gains_nothing():
    assert attacks.chance_gains(OrderedDistance(np.array([3, 2])))[5:].max() == 0
