"""The three algorithms: as the papers have them, valid whatever the table, the same however rows
come.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import naive
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import LI_FIGURE_1, count_in, drawn, make_problem, people, settle_all, town

from requirements import check_classes, check_however_rows_come, distances_and_classes
from tclose_spark.errors import UnreachableError
from tclose_spark.measures.distances.ground_distances import EqualDistance, OrderedDistance
from tclose_spark.measures.distances.histograms import Histograms, MultiplicityMatrix
from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.blocks.figures import closeness_ratios, rows_lost
from tclose_spark.methods.dealing.relaxed_conformance import SURE
from tclose_spark.methods.even_blocks import merge_until_all_hold
from tclose_spark.methods.microaggregation.buckets import (
    BucketSizing,
    cut_into_buckets,
    microaggregate_buckets,
    paper_size,
)
from tclose_spark.methods.microaggregation.mdav import microaggregate
from tclose_spark.methods.microaggregation.plan import (
    MicroaggregationPlan,
    cut_into_clusters,
    cut_of,
    first_component,
    plan_microaggregation,
    rank_scores,
)

ONE = [
    {"disease": {"t": "0.3"}},
    {"grade": {"distance": "ordered", "t": "0.25"}},
    {"grade": {"distance": "ordered"}},
]
TWO = [
    {"disease": {"t": "0.4", "l": {"distinct": 2}}, "grade": {"distance": "ordered", "t": "0.25"}},
]
SEVERAL = st.sampled_from([{"cells": "first_component"}, {"cells": "clusters"}])
ASKED = st.one_of(
    st.tuples(st.sampled_from([{"algorithm": 1}, {"algorithm": 2}]), st.sampled_from(ONE + TWO)),
    st.tuples(st.just({}), st.sampled_from(ONE)),
    st.tuples(SEVERAL, st.sampled_from(ONE + TWO)),
)


def block_of(records, sensitive, k):
    problem, rows = make_problem(records, sensitive, k=k)
    rows = rows.take(rows.sorted_by_hash())
    return problem, rows, Dense(problem.attributes, k).block(rows)[0]


def problem_of(records, sensitive, k, **method):
    problem, rows = make_problem(records, sensitive, k=k)
    settings = problem.spec.model_dump(exclude={"method"}) | {
        "method": {"name": "microaggregation", **method},
    }
    return replace(problem, spec=type(problem.spec).model_validate(settings)), rows


@drawn(40)
@given(people(least=8), ASKED, st.integers(2, 4), st.integers(8, 30), st.integers(1, 20), st.data())
def test_every_class_holds_and_does_not_depend_on_tasks_or_the_order_of_rows(
    records,
    asked,
    k,
    per_block,
    per_task,
    data,
):
    method, sensitive = asked
    problem, rows = problem_of(records, sensitive, k, **method)
    check_however_rows_come(
        problem,
        rows,
        make=lambda rows_per_task: plan_microaggregation(
            problem.given(count_in(rows)),
            per_block,
            rows_per_task,
        ),
        read=lambda tree: MicroaggregationPlan.from_json(
            tree,
            problem.attributes,
            k,
            problem.spec.method,
        ),
        per_task=per_task,
        order=np.array(data.draw(st.permutations(range(len(rows))))),
    )


@drawn(40)
@given(people(least=6), st.integers(2, 4))
def test_mdav_is_as_published(records, k):
    _, _, block = block_of(records, ONE[0], k)
    assert microaggregate(block).tolist() == naive.mdav(block).tolist()


@drawn(40)
@given(people(least=6), st.sampled_from(ONE + TWO), st.integers(2, 4))
def test_refinement_is_the_papers_walk(records, sensitive, k):
    _, _, block = block_of(records, sensitive, k)
    assert microaggregate(block, refined=True).tolist() == naive.refined(block).tolist()


def test_refinement_brings_classes_nearer_to_the_table():
    _, _, block = block_of(town(600), {"disease": {"t": "0.3"}}, 5)
    merged = [
        merge_until_all_hold(block, microaggregate(block, refined))[1] for refined in (False, True)
    ]
    assert merged[1] < merged[0] / 2


@drawn(40)
@given(people(least=6), st.integers(2, 9))
def test_a_class_has_the_nearest_row_of_each_bucket(records, size):
    problem, _, block = block_of(records, ONE[1], 2)
    values = problem.attributes.cells[block.cell, 0]
    bucket, classes = cut_into_buckets(values, size)
    made = microaggregate_buckets(block, bucket, classes)
    assert made.tolist() == naive.of_buckets(block, bucket, classes).tolist()
    held = np.zeros((classes, bucket.max() + 1), dtype=np.int64)
    np.add.at(held, (made, bucket), 1)
    assert held.min() == 1
    assert held.sum(axis=1).min() >= min(size, len(values))
    assert np.ptp(held.sum(axis=1)) <= 1


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(1, 20))
def test_buckets_are_in_the_order_of_values_and_of_one_size_but_one(values, size):
    bucket, classes = cut_into_buckets(np.array(values), size)
    rows = np.bincount(bucket)
    assert np.all(np.delete(rows, len(rows) // 2) == classes)
    assert 0 <= rows[len(rows) // 2] - classes < classes  # so a class takes one more at most
    assert len(rows) >= min(size, len(values))
    ordered = np.array(values)[np.lexsort((values, bucket))]
    assert np.all(np.diff(ordered) >= 0)


def matrix_of(counts):
    """The rows of each value as blocks have them."""
    present = np.flatnonzero(counts)
    return MultiplicityMatrix(present[:, None], counts[present], (len(counts),))


@drawn(100)
@given(distances_and_classes(), st.integers(1, 6), st.integers(1, 5))
def test_no_class_with_a_row_of_each_bucket_is_farther_than_it_is_charged(drawn_table, most, size):
    """By looking at all of them, in a block that is a part of the table."""
    distance, counts = drawn_table
    table, inside, sizing = counts.sum(axis=0), counts[:most].sum(axis=0), BucketSizing(distance)
    values = np.repeat(np.arange(len(table)), inside)
    bucket, classes = cut_into_buckets(sizing.rank[values], size)
    assume(bucket.max() < 8)
    choices = [sorted(set(values[bucket == b].tolist())) for b in range(bucket.max() + 1)]
    two = [choices[b] for b, rows in enumerate(np.bincount(bucket)) if rows > classes]
    for taken in (choices, choices + two):
        dense = np.array([np.bincount(c, minlength=len(table)) for c in product(*taken)])
        worst = distance.numerators(Histograms.dense(dense)).max()
        reached = Fraction(int(worst), distance.scale * int(table.sum()) * len(taken))
        assert reached <= Fraction(sizing.largest_bound(matrix_of(inside), size) + SURE)


@given(st.integers(2, 8), st.integers(2, 8))
def test_the_charge_is_the_papers_bound_where_all_values_differ(size, classes):
    n = size * classes
    table = np.ones(n, dtype=np.int64)
    sizing, bound = BucketSizing(OrderedDistance(table)), Fraction(n - size, 2 * (n - 1) * size)
    assert sizing.largest_bound(matrix_of(table), size) == pytest.approx(float(bound))
    assert paper_size(n, 1, bound) == size
    assert sizing.smallest([matrix_of(table)], size, bound + Fraction(1, 10**9)) == size


def test_the_papers_size_is_too_small_where_values_are_equal():
    table = np.array([150, 850])
    sizing = BucketSizing(OrderedDistance(table))
    assert paper_size(1000, 5, Fraction(1, 10)) == 5
    # 150 of the first 200 rows, of which a class may have one of the 50
    assert sizing.largest_bound(matrix_of(table), 5) == pytest.approx(3 / 20)
    assert sizing.smallest([matrix_of(table)], 5, Fraction(1, 10)) == 9


def test_values_of_equal_distance_are_cut_by_frequency():
    assert BucketSizing(EqualDistance(np.array([2, 5, 2, 7]))).rank.tolist() == [2, 1, 3, 0]


def town_of_pairs(n=200):
    """Diseases in a hierarchy, and grades."""
    names = LI_FIGURE_1.leaves
    records = [{**r, "disease": names[i * i % len(names)]} for i, r in enumerate(town(n))]
    sensitive = {
        "disease": {"distance": "hierarchical", "hierarchy": "diseases.csv", "t": "0.3"},
        **ONE[1],
    }
    return make_problem(
        records,
        sensitive,
        {"age": {"type": "numeric"}, "sex": {}},
        {"disease": LI_FIGURE_1},
        k=4,
    )


@given(st.integers(2, 40), st.booleans())
def test_tuples_are_cut_in_the_order_of_their_first_component(size, rising):
    """Two attributes of which one is a function of the other vary along one line."""
    ages = range(30)
    records = [
        {
            "age": 20,
            "sex": "f",
            "city": None,
            "disease": f"{g if rising else 30 - g:02}",
            "grade": g,
        }
        for g in ages
    ]
    sensitive = {"disease": {"distance": "ordered", "order": "frequency", "t": "0.2"}, **ONE[1]}
    attributes = make_problem(records, sensitive)[0].attributes
    scores = rank_scores(attributes)
    component = first_component(scores, attributes.cell_rows)
    assert component == (707107, 707107 if rising else -707107)
    bucket, classes = cut_of(attributes, "first_component", component)(np.arange(30), size)
    grades = attributes.cells[:, 1]
    along = grades if rising else 29 - grades
    assert bucket.tolist() == cut_into_buckets(along, size)[0].tolist()
    assert classes == max(30 // size, 1)


def test_the_first_component_is_that_of_the_rows_and_not_of_the_tuples():
    tuples = np.array([[-9, -9], [9, 9], [-9, 9], [9, -9]])
    assert first_component(tuples, np.array([5, 5, 1, 1])) == (707107, 707107)
    assert first_component(tuples, np.array([1, 1, 5, 5])) in {(707107, -707107), (-707107, 707107)}


def test_scores_are_places_in_the_table():
    attributes = town_of_pairs()[0].attributes
    scores, rows = rank_scores(attributes), attributes.cell_rows
    assert (scores * rows[:, None]).sum(axis=0).tolist() == [0, 0]
    for s, attribute in enumerate(attributes.sensitive):
        of_code = dict(zip(attributes.cells[:, s].tolist(), scores[:, s].tolist(), strict=True))
        table = attribute.distance.table
        assert of_code == {c: 2 * int(table[:c].sum()) + int(table[c]) - 200 for c in of_code}


@given(st.integers(2, 60))
def test_clusters_are_of_one_size_around_seeds_far_from_each_other(size):
    problem, rows = town_of_pairs()
    cell = rows.cell
    bucket, classes = cut_into_clusters(problem.attributes, cell, size)
    assert (bucket.tolist(), classes) == naive.clusters(problem, cell, size)
    assert np.bincount(bucket).tolist() == np.bincount(cut_into_buckets(cell, size)[0]).tolist()


def test_clusters_spread_every_attribute_over_a_class():
    """Before any are merged, classes are nearer to the table than those of buckets of one of the
    attributes.
    """
    problem, rows = town_of_pairs(600)
    attributes = problem.attributes
    block = Dense(attributes, 4).block(rows.take(rows.sorted_by_hash()))[0]

    def mean_ratio(cells):
        cut = cut_of(attributes, cells, ())
        return closeness_ratios(block, microaggregate_buckets(block, *cut(block.cell, 24))).mean()

    assert mean_ratio("clusters") < 0.9 * mean_ratio(None)


def proven(records, sensitive, k, per_block):
    """(the problem, its rows, the plan with proven sizes, the rows of each block)."""
    problem, rows = problem_of(records, sensitive, k, class_size="proven")
    plan = plan_microaggregation(problem.given(count_in(rows)), per_block)
    dealt = plan.layout.numbering.deal(rows, 0)
    return (
        problem,
        rows,
        plan,
        [rows.take(dealt.here[dealt.classes == b]) for b in range(plan.blocks)],
    )


@drawn(100)
@given(
    people(least=8),
    st.sampled_from(ONE[:2]),
    st.integers(2, 4),
    st.integers(8, 30),
    st.integers(1, 40),
)
def test_proven_classes_hold_before_any_are_merged_and_no_smaller_ones_are_proven(
    records,
    asked,
    k,
    per_block,
    parts,
):
    ((name, settings),) = asked.items()
    t = Fraction(parts, 50)
    try:
        problem, rows, plan, blocks = proven(
            records,
            {name: {**settings, "t": str(float(t))}},
            k,
            per_block,
        )
    except UnreachableError:
        return
    sizes = []
    for block_rows in blocks:
        block, _ = plan.layout.dense.block(block_rows)
        classes = plan.formed(block)
        assert closeness_ratios(block, classes).max() <= 1
        sizes += np.bincount(classes).tolist()
    assert plan.class_size == min(sizes)
    assert plan.assign_classes(rows, 0).figures["merged"] == 0
    attribute = problem.attributes.sensitive[0]
    codes = [problem.attributes.cells[block_rows.cell, 0] for block_rows in blocks]
    counts = [matrix_of(np.bincount(c, minlength=len(attribute.distance.table))) for c in codes]
    for size in range(k, plan.class_size):
        if min(b.rows // (b.rows // size) for b in counts) == plan.class_size:
            break  # rows left over make classes of this size as large
        assert (
            max(BucketSizing(attribute.distance).largest_bound(block, size) for block in counts)
            > float(t) - SURE
        )


@pytest.mark.parametrize(("blocks", "size"), [(1, 6), (2, 5)])
def test_whole_rows_of_buckets_are_charged(blocks, size):
    """122 grades are no whole number of classes of four: some take two rows of a bucket. Near
    people have grades at the same end of every bucket, so that these classes break t.
    """
    records = [
        {"age": 20 + g % 30, "sex": "f", "city": None, "disease": "flu", "grade": g}
        for g in range(122)
    ]
    _, rows, plan, parts = proven(
        records,
        {"grade": {"distance": "ordered", "t": "930/7381"}},
        3,
        122 // blocks,
    )
    assert (plan.blocks, plan.class_size) == (blocks, size)
    assert plan.assign_classes(rows, 0).figures["merged"] == 0
    for part in parts:
        block, _ = plan.layout.dense.block(part)
        assert (
            closeness_ratios(block, microaggregate_buckets(block, *plan.cut(block.cell, 4))).max()
            > 1
        )
        assert closeness_ratios(block, plan.formed(block)).max() <= 1


def test_sizes():
    t = Fraction(3, 50)
    problem, rows = problem_of(town(600), {"grade": {"distance": "ordered", "t": str(float(t))}}, 5)

    def planned(**method):
        tree = problem.spec.model_dump(exclude={"method"}) | {
            "method": {"name": "microaggregation", **method},
        }
        asked = replace(problem, spec=type(problem.spec).model_validate(tree))
        plan = plan_microaggregation(asked.given(count_in(rows)))
        there, classes = settle_all(plan, rows)
        check_classes(asked, there, classes)
        _, classes = np.unique(classes, return_inverse=True)
        return plan.class_size, rows_lost(Dense(asked.attributes, 5).block(there)[0], classes)

    proven, paper, measured = planned(class_size="proven"), planned(class_size="paper"), planned()
    distance = problem.attributes.sensitive[0].distance
    assert proven[0] == BucketSizing(distance).smallest([matrix_of(distance.table)], 5, t) > 5
    assert paper[0] == paper_size(600, 5, t)
    assert measured[0] < proven[0]
    assert measured[1] < proven[1]


def test_a_hierarchy_of_diseases():
    names = LI_FIGURE_1.leaves
    records = [{**r, "disease": names[i % len(names)]} for i, r in enumerate(town(200))]
    sensitive = {"disease": {"distance": "hierarchical", "hierarchy": "diseases.csv", "t": "0.2"}}
    trees = {"disease": LI_FIGURE_1}
    quasi = {"age": {"type": "numeric"}, "sex": {}}
    for algorithm in (1, 2, 3):
        problem, rows = make_problem(records, sensitive, quasi, trees, k=4)
        tree = problem.spec.model_dump(exclude={"method"})
        tree["method"] = {"name": "microaggregation", "algorithm": algorithm}
        problem = replace(problem, spec=type(problem.spec).model_validate(tree))
        plan = plan_microaggregation(problem.given(count_in(rows)))
        check_classes(problem, *settle_all(plan, rows))


def test_figures_are_those_of_the_classes():
    problem, rows = problem_of(town(600), {"disease": {"t": "0.2"}}, 5, algorithm=1)
    plan = plan_microaggregation(problem.given(count_in(rows)), 200, 300)
    _, task = plan.route(rows)
    row, _ = plan.route(rows)
    settled = [
        plan.assign_classes(rows.take(row[task == number]), number) for number in range(plan.tasks)
    ]
    assert sum(s.blocks for s in settled) == plan.blocks == 3
    together = {
        name: (sum if how == "sum" else max)(s.figures[name] for s in settled)
        for name, how in plan.figures.items()
    }
    told = plan.describe(together)
    assert together["rows"] == 600
    assert told["classes"] == sum(len(set(s.classes.tolist())) for s in settled)
    assert told["classes"] + told["merged"] == 120
    assert 0 < told["ncp"] < 1 >= told["largest_closeness_ratio"] > 0
    assert "classes of 5 rows" in plan.report().note


@pytest.mark.parametrize("k", [601, 10**6])
def test_a_k_above_the_table(k):
    problem, rows = problem_of(town(600), {"disease": {"t": "0.2"}}, k)
    with pytest.raises(UnreachableError, match="the table has 600 rows"):
        plan_microaggregation(problem.given(count_in(rows)))
