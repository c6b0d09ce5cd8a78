"""SABRE: buckets whose bound holds, classes in proportion to them, valid whatever the table."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import LI_FIGURE_1, count_in, drawn, make_problem, people, settle_all, town

from requirements import check_classes, check_however_rows_come, distances_and_classes
from tclose_spark.measures.distances.ground_distances import (
    EqualDistance,
    HierarchicalDistance,
    OrderedDistance,
)
from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.blocks.figures import closeness_ratios, rows_lost
from tclose_spark.methods.dealing.relaxed_conformance import FragmentTable, diameter_of
from tclose_spark.methods.sabre.plan import (
    Redistribution,
    SabrePlan,
    bucketize,
    class_sizes,
    halves,
    plan_sabre,
)

SENSITIVE = st.sampled_from(
    [
        {"disease": {"t": "0.3"}},
        {
            "disease": {"t": "measure", "l": {"distinct": 2}},
            "grade": {"distance": "ordered", "t": "0.25"},
        },
        {"grade": {"distance": "ordered"}},
    ],
)


def problem_of(records, sensitive, k, quasi=None, hierarchies=None, **method):
    shaped = {} if quasi is None else {"quasi": quasi}
    problem, rows = make_problem(records, sensitive, hierarchies=hierarchies, k=k, **shaped)
    settings = problem.spec.model_dump(exclude={"method"}) | {"method": {"name": "sabre", **method}}
    return replace(problem, spec=type(problem.spec).model_validate(settings)), rows


@drawn(40)
@given(
    people(least=8),
    SENSITIVE,
    st.sampled_from(["measured", "proven"]),
    st.integers(2, 4),
    st.integers(8, 30),
    st.integers(1, 20),
    st.data(),
)
def test_every_class_holds_and_does_not_depend_on_tasks_or_the_order_of_rows(
    records,
    sensitive,
    bounds,
    k,
    per_block,
    per_task,
    data,
):
    problem, rows = problem_of(records, sensitive, k, bounds=bounds)
    check_however_rows_come(
        problem,
        rows,
        make=lambda rows_per_task: plan_sabre(
            problem.given(count_in(rows)),
            per_block,
            rows_per_task,
        ),
        read=lambda tree: SabrePlan.from_json(tree, problem.attributes, k),
        per_task=per_task,
        order=np.array(data.draw(st.permutations(range(len(rows))))),
    )


def bound(distance, bucket_of) -> Fraction:
    """Of these buckets."""
    diameter, total = diameter_of(distance), 0
    for b in set(bucket_of[distance.table > 0].tolist()):
        codes = np.flatnonzero((bucket_of == b) & (distance.table > 0))
        total += int(diameter.weighted(codes, distance.table[codes][None, :])[0])
    return Fraction(total, diameter.scale * int(distance.table.sum()))


@drawn(80)
@given(distances_and_classes(), st.integers(1, 20))
def test_the_bound_is_below_t_and_would_not_be_with_a_split_less(drawn_table, twentieths):
    distance, _ = drawn_table
    limit = Fraction(twentieths, 20)
    bucket_of = bucketize(distance, limit)
    assert bound(distance, bucket_of) < limit
    present = np.flatnonzero(distance.table)
    buckets = len(set(bucket_of[present].tolist()))
    if isinstance(distance, OrderedDistance):
        assert np.all(np.diff(bucket_of[present]) >= 0)
        merged = [np.where(bucket_of > b, bucket_of - 1, bucket_of) for b in range(buckets - 1)]
        assert (
            buckets == 1 or max(bound(distance, m) for m in merged) >= limit
        )  # the split that was made last
    elif isinstance(distance, EqualDistance):
        assert buckets in (1, len(present))


def test_splits_that_lower_the_bound_most_come_first():
    ages = OrderedDistance(np.array([9, 1, 1, 1, 9]))
    assert bucketize(ages, Fraction(1)).tolist() == [0] * 5
    whole = bound(ages, np.zeros(5, dtype=np.int64))
    best = min(bound(ages, (np.arange(5) >= cut).astype(np.int64)) for cut in range(1, 5))
    assert bound(ages, bucketize(ages, whole)) == best


def test_nodes_are_split_into_their_children():
    diseases = HierarchicalDistance(np.arange(1, 11), LI_FIGURE_1.parents)
    bucket_of = bucketize(diseases, bound(diseases, np.zeros(10, dtype=np.int64)))
    assert LI_FIGURE_1.leaves[:5] == (
        "flu",
        "pneumonia",
        "bronchitis",
        "pulmonary edema",
        "pulmonary embolism",
    )
    assert bucket_of.tolist() == [0] * 5 + [1] * 5  # respiratory, digestive
    bucket_of = bucketize(diseases, bound(diseases, bucket_of))
    assert (
        bucket_of.tolist() == [0] * 5 + [1] * 3 + [2] * 2
    )  # and what is digestive and more frequent: stomach, colon
    assert bucketize(diseases, Fraction(1, 1000)).tolist() == list(range(10))


def free(rows) -> FragmentTable:
    """Buckets that charge nothing but rounding, each of one value of equal distance."""
    rows = np.array(rows)
    gaps = np.eye(len(rows)) - rows / rows.sum()
    return FragmentTable(rows, np.zeros((1, len(rows))), (gaps,), (0.5,))


def test_the_papers_example_in_proportion():
    """Weber, 2.3.4: of 16, 32 and 64 rows, 16 classes have 1, 2 and 4 each."""
    assert (
        class_sizes(np.array([16, 32, 64]), 7, free([16, 32, 64]), 1e-9).tolist()
        == [[1, 2, 4]] * 16
    )
    assert (
        class_sizes(np.array([16, 32, 64]), 8, free([16, 32, 64]), 1e-9).tolist() == [[2, 4, 8]] * 8
    )
    assert (
        len(class_sizes(np.array([16, 32, 65]), 7, free([16, 32, 65]), 1e-9)) == 1
    )  # not in whole rows
    assert len(class_sizes(np.array([16, 32, 65]), 7, free([16, 32, 65]), 0.01)) > 8


# A charge is a sum of doubles; whether classes hold is decided in integers, afterwards.
ROUNDING = 1e-12


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=6).filter(any),
    st.integers(1, 6),
    st.floats(0.0, 0.5),
)
@example([12, 18], 1, 0.0)
def test_classes_are_halves_of_halves_within_the_limit(rows, k, limit):
    table, made = (
        free([max(r, 1) for r in rows]),
        class_sizes(np.array(rows), k, free([max(r, 1) for r in rows]), limit),
    )
    assert made.sum(axis=0).tolist() == rows
    if len(made) > 1:
        assert made.sum(axis=1).min() >= k
        assert np.all(
            table.proven_bounds(made / made.sum(axis=1, keepdims=True)) <= limit + ROUNDING,
        )
    first, second = halves(made)
    assert np.all(np.abs(np.cumsum(first - second, axis=1)) <= 1)
    enough = (first.sum(axis=1) >= k) & (second.sum(axis=1) >= k)
    for one, other in zip(
        first[enough],
        second[enough],
        strict=True,
    ):  # none of them could be halved further
        assert (
            max(table.proven_bounds(np.array([one / one.sum(), other / other.sum()]))[:, 0])
            > limit - ROUNDING
        )


@pytest.mark.parametrize(
    "sensitive",
    [{"disease": {"t": "0.2"}}, {"grade": {"distance": "ordered", "t": "0.1"}}],
    ids=["equal", "ordered"],
)
def test_what_is_proven_holds_before_anything_is_merged(sensitive):
    problem, rows = problem_of(town(3000), sensitive, 5)
    block, _ = Dense(problem.attributes, 5).block(rows.take(rows.sorted_by_hash()))
    of = Redistribution(problem.attributes.sensitive[0], Fraction(1))
    classes = of.redistribute(block)
    assert len(set(classes.tolist())) > 20
    assert closeness_ratios(block, classes).max() <= 1
    wanted = class_sizes(np.bincount(of.bucket_of[block.cell]), 5, of.table, float(of.limit))
    held = np.zeros_like(wanted)
    np.add.at(held, (classes, of.bucket_of[block.cell]), 1)
    assert held.tolist() == wanted.tolist()
    dealt_at_random = np.random.default_rng(1).permutation(classes)
    assert rows_lost(block, classes) < 0.9 * rows_lost(block, dealt_at_random)


def test_what_is_measured_loses_no_more_and_figures_are_those_of_the_classes():
    lost = {}
    for bounds in ("measured", "proven"):
        problem, rows = problem_of(
            town(600),
            {"grade": {"distance": "ordered", "t": "0.1"}},
            5,
            bounds=bounds,
        )
        plan = plan_sabre(problem.given(count_in(rows)))
        there, classes = settle_all(plan, rows)
        figures = plan.assign_classes(rows, 0).figures
        told = plan.describe(figures)
        assert told["classes"] == len(set(classes.tolist()))
        assert told["largest_closeness_ratio"] <= 1
        lost[bounds] = told["ncp"]
        check_classes(problem, there, classes)
        assert f"buckets of sensitive values: {told['buckets']}" in plan.report().note
    assert lost["measured"] < lost["proven"]


def test_a_hierarchy_of_diseases():
    names = LI_FIGURE_1.leaves
    records = [{**r, "disease": names[i % len(names)]} for i, r in enumerate(town(200))]
    sensitive = {"disease": {"distance": "hierarchical", "hierarchy": "diseases.csv", "t": "0.2"}}
    quasi = {"age": {"type": "numeric"}, "sex": {}}
    problem, rows = problem_of(records, sensitive, 4, quasi, {"disease": LI_FIGURE_1})
    plan = plan_sabre(problem.given(count_in(rows)))
    settled = settle_all(plan, rows)
    check_classes(problem, *settled)
    assert len(set(settled[1].tolist())) > 1
