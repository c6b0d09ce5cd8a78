"""The carve tree: whatever is drawn, every leaf holds what is required; on a real table, little is
lost.
"""

import csv
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import drawn, make_problem, people, town

from tclose_spark.kernels.widths import width
from tclose_spark.measures.distances.ground_distances import (
    EqualDistance,
    HierarchicalDistance,
    OrderedDistance,
)
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.methods.blocks.block import EQUAL, Block
from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.blocks.routing_tree import RoutingTree, Splits
from tclose_spark.methods.closeness_tree.carve.goal import goal_of, scratch_of, worst
from tclose_spark.methods.closeness_tree.carve.sizes import largest_part, smallest_size
from tclose_spark.methods.closeness_tree.carve.tree import TreeGrowth, grow
from tclose_spark.methods.closeness_tree.carve.trim import (
    NEARLY,
    Division,
    is_single,
    trim,
    trim_to_level,
)
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.rows import Rows

TS = st.sampled_from(["0.1", "0.25", "0.5", "0.75", "1"])


@st.composite
def problems(draw: st.DrawFn, most: int = 60):
    """A problem with one to three sensitive attributes, one of each distance, some with a distinct
    l; and its block.
    """
    records = draw(people(8, most))
    sensitive = {
        "disease": {"t": draw(TS), "l": {"distinct": draw(st.integers(1, 2))}},
        "grade": {"distance": "ordered", "t": draw(TS)},
        "city": {"distance": "hierarchical", "hierarchy": "cities.csv", "t": draw(TS)},
    }
    names = draw(st.lists(st.sampled_from(sorted(sensitive)), min_size=1, max_size=3, unique=True))
    assume("city" not in names or all(record["city"] is not None for record in records))
    quasi = {"age": {"type": "numeric"}, "sex": {}} | (
        {} if "city" in names else {"city": {"hierarchy": "cities.csv"}}
    )
    problem, _ = make_problem(
        records,
        {name: sensitive[name] for name in names},
        quasi,
        k=draw(st.integers(2, 4)),
    )
    block, _ = Dense(problem.attributes, problem.spec.privacy.k).block(problem.sample)
    assume(
        all(
            np.count_nonzero(table) >= least
            for table, least in zip(
                block.requirement.tables,
                block.requirement.distinct,
                strict=True,
            )
        ),
    )
    return problem, block


def check_leaves(leaf, block: Block, ts: list[Fraction | None]) -> None:
    """Every leaf is as required, by measures.distances in fractions; leaves are numbered without a
    gap.
    """
    requirement = block.requirement
    leaves = int(leaf.max()) + 1
    sizes = np.bincount(leaf, minlength=leaves)
    assert leaf.shape == block.cell.shape
    assert sizes.min() >= requirement.k
    for s, t in enumerate(ts):
        table = requirement.tables[s, : requirement.domains[s]]
        counts = np.zeros((leaves, len(table)), dtype=np.int64)
        np.add.at(counts, (leaf, requirement.codes[block.cell, s]), 1)
        assert np.count_nonzero(counts, axis=1).min() >= requirement.distinct[s]
        if t is None:
            continue
        if requirement.heights[s] > 0:
            parents = [
                requirement.parents[s, h][requirement.parents[s, h] >= 0].astype(np.int64)
                for h in range(requirement.heights[s])
            ]
            distance = HierarchicalDistance(table, tuple(parents))
        else:
            distance = OrderedDistance(table) if requirement.ordered[s] else EqualDistance(table)
        for found, size in zip(distance.numerators(Histograms.dense(counts)), sizes, strict=True):
            assert Fraction(int(found), distance.scale * int(table.sum()) * int(size)) <= t


def ts_of(problem) -> list[Fraction | None]:
    sensitive = problem.spec.attributes.sensitive_attributes
    return [sensitive[domain.name].t for domain in problem.profile.sensitive]


@drawn(150, quick=37)
@given(problems())
def test_every_leaf_is_valid_and_growth_is_deterministic(drawn_problem):
    problem, block = drawn_problem
    leaf = grow(block).leaf
    check_leaves(leaf, block, ts_of(problem))
    assert np.array_equal(leaf, grow(block).leaf)


def hashes_of(rows: int, alike: int, seed: int = 1):
    """Hashes of so many rows, of which each is shared by `alike` rows on average."""
    different = np.random.default_rng(seed).integers(0, 2**64, rows, dtype=np.uint64)
    return different[np.random.default_rng(seed).integers(0, max(rows // alike, 1), rows)]


@drawn(150, quick=37)
@given(problems(), st.integers(0, 40), st.integers(1, 9), st.integers(0, 9))
def test_rows_are_planned_where_they_are_routed(drawn_problem, stop, alike, seed):
    problem, block = drawn_problem
    hashes = hashes_of(len(block.cell), alike, seed)
    leaf, _, splits = grow(block, TreeGrowth(stop=stop), hashes)
    assert np.array_equal(route(splits, block.quasi, block.cell, hashes), leaf)
    check_leaves(leaf, block, ts_of(problem))
    assert splits.leaves == leaf.max() + 1 == len(splits.quasi) + 1
    assert sorted(-1 - child for child in (*splits.left, *splits.right) if child < 0) == (
        list(range(splits.leaves)) if len(splits.quasi) else []
    )


@drawn(100, quick=25)
@given(problems(), st.integers(1, 10), st.integers(1, 9))
def test_halves_of_rows_that_are_alike_are_routed_as_planned(drawn_problem, most, alike):
    _, block = drawn_problem
    hashes = hashes_of(len(block.cell), alike)
    leaf, _, splits = grow(block, TreeGrowth(most=most, least=1), hashes)
    assert np.array_equal(route(splits, block.quasi, block.cell, hashes), leaf)


def route(splits: Splits, quasi, cell, digest):
    """The leaf of each row, from its dense codes (n, q), its cell and its hash."""
    codes = tuple(np.arange(int(column.max()) + 1) for column in quasi.T)
    rows = Rows(tuple(column.astype(np.int64) for column in quasi.T), cell.astype(np.int64), digest)
    return RoutingTree(splits, codes).leaf_of(rows)


@pytest.mark.parametrize(
    ("quasi", "t", "is_cut"),
    [
        ({"age": {"type": "numeric"}}, "0.05", True),
        ({"city": {"hierarchy": "cities.csv"}}, "0.05", False),
        ({"city": {"hierarchy": "cities.csv"}}, "0.1", False),
    ],
    ids=["halves", "one region", "another"],
)
def test_a_share_is_that_of_the_rows_that_the_split_took(quasi, t, is_cut):
    """The first split of a tree, which takes the same rows without hashes."""
    problem, _ = make_problem(town(4000), {"disease": {"t": t}}, quasi, k=5)
    block, _ = Dense(problem.attributes, 5).block(problem.sample)
    growth = TreeGrowth(stop=len(block.cell) - 1)
    is_left = grow(block, growth).leaf == 0
    splits = grow(block, growth, hashes_of(len(block.cell), 1)).splits
    codes = block.quasi[:, 0]
    carved = 0
    for cell in range(4):
        cut = splits.cut[0, cell]
        in_region = (splits.lo[0] <= codes) & (codes <= splits.hi[0])
        drawn_ones = (block.cell == cell) & (codes == cut if is_cut else in_region)
        assert (cut >= 0) == is_cut
        assert is_left[(block.cell == cell) & (codes < cut)].all()
        assert splits.share[0, cell] == pytest.approx(is_left[drawn_ones].mean())
        carved += 0 < splits.share[0, cell] < 1
    assert carved >= 3


@drawn(100, quick=25)
@given(problems(), st.randoms(use_true_random=False))
def test_a_route_follows_from_the_row_alone(drawn_problem, random):
    problem, block = drawn_problem
    digest = problem.sample.hash
    planned, _, splits = grow(block, hashes=digest)
    routed = route(splits, block.quasi, block.cell, digest)
    order = list(range(len(digest)))
    random.shuffle(order)
    assert np.array_equal(
        route(splits, block.quasi[order], block.cell[order], digest[order]),
        routed[order],
    )
    assert np.array_equal(routed, planned)


def test_a_block_that_cannot_be_split_is_one_leaf():
    records = [{"age": 20 + i, "disease": f"the {i}th"} for i in range(6)]
    problem, _ = make_problem(records, {"disease": {"t": "0.1"}}, {"age": {"type": "numeric"}})
    block, _ = Dense(problem.attributes, problem.spec.privacy.k).block(problem.sample)
    assert grow(block).leaf.tolist() == [0] * 6
    assert grow(block).depth == 0
    digest = problem.sample.hash
    splits = grow(block, hashes=digest).splits
    assert splits.leaves == 1
    assert route(splits, block.quasi, block.cell, digest).tolist() == [0] * 6


def test_missing_numbers_are_a_leaf_of_their_own():
    records = [
        {"age": age, "disease": d} for age in (None, 30) for d in ("flu", "gout") for _ in range(4)
    ]
    problem, _ = make_problem(records, {"disease": {"t": "0.1"}}, {"age": {"type": "numeric"}}, k=2)
    block, _ = Dense(problem.attributes, problem.spec.privacy.k).block(problem.sample)
    leaf = grow(block).leaf
    assert len(set(leaf.tolist())) == 2
    assert all(len(set(leaf[block.quasi[:, 0] == code])) == 1 for code in (0, 1))


@drawn(100, quick=25)
@given(problems(), st.integers(1, 10))
def test_a_node_that_is_too_large_is_halved_cell_by_cell(drawn_problem, most):
    _, block = drawn_problem
    different = hashes_of(len(block.cell), 1, seed=3)
    different += np.arange(len(different), dtype=np.uint64)
    leaf, depth, splits = grow(block, TreeGrowth(most=most, least=1), different)
    sizes = np.bincount(leaf)
    smallest = max(1, min(smallest_size(block.requirement, len(block.cell)), (most + 1) // 2))
    assert sizes.min() >= min(smallest, len(block.cell))
    assert splits.leaves == len(sizes) <= 2**depth


def test_halves_hold_the_same_mix_and_rows_are_sent_to_them_by_lot():
    records = [
        {"age": 30, "disease": d} for d in ("flu", "gout", "gout", "gout") for _ in range(100)
    ]
    problem, _ = make_problem(records, {"disease": {"t": "0.1"}}, {"age": {"type": "numeric"}}, k=2)
    block, _ = Dense(problem.attributes, problem.spec.privacy.k).block(problem.sample)
    digests = np.random.default_rng(1).integers(0, 2**64, (2, len(block.cell)), dtype=np.uint64)
    leaf, _, splits = grow(block, TreeGrowth(most=100, stop=100, least=20), digests[0])
    assert np.bincount(leaf).max() <= 100
    for number in range(splits.leaves):
        mix = np.bincount(block.cell[leaf == number])
        assert mix[0] / mix.sum() == pytest.approx(0.25, abs=0.1)
    assert np.all(splits.share == pytest.approx(0.5, abs=0.02))
    found, expected = (
        np.bincount(each, minlength=splits.leaves)
        for each in (route(splits, block.quasi, block.cell, digests[1]), leaf)
    )
    assert np.all(np.abs(found - expected) <= 4 * np.sqrt(expected))


def test_a_cell_without_rows_in_the_block_is_halved_like_the_others():
    diseases = ["flu", "gout", "mumps"]
    records = [{"age": 30, "disease": disease} for disease in diseases for _ in range(200)]
    problem, _ = make_problem(records, {"disease": {"t": "0.9"}}, {"age": {"type": "numeric"}}, k=2)
    whole, _ = Dense(problem.attributes, problem.spec.privacy.k).block(problem.sample)
    block = whole.take(np.flatnonzero(whole.cell != 2))
    hashes = np.random.default_rng(1).integers(0, 2**64, len(block.cell), dtype=np.uint64)
    splits = grow(block, TreeGrowth(most=100, stop=100, least=20), hashes).splits
    assert len(splits.quasi) >= 3
    assert np.all(splits.share[:, 2] == pytest.approx(0.5, abs=0.02))


@pytest.mark.parametrize("seed", range(8))
def test_no_leaf_is_too_small_though_most_rows_are_copies_of_one(seed):
    records = [{"age": 20 + i % 40, "disease": "flu" if i < 850 else "gout"} for i in range(1000)]
    problem, _ = make_problem(records, {"disease": {"t": "0.9"}}, {"age": {"type": "numeric"}}, k=2)
    block, _ = Dense(problem.attributes, problem.spec.privacy.k).block(problem.sample)
    hashes = np.random.default_rng(seed).integers(0, 2**64, 1000, dtype=np.uint64)
    hashes[block.cell == 0] = hashes[0]
    leaf, _, splits = grow(block, TreeGrowth(stop=100, most=200, least=100), hashes)
    assert np.bincount(leaf).min() >= 100
    assert len(splits.quasi) == splits.leaves - 1


@drawn(150, quick=37)
@given(problems(), st.data())
def test_peel_keeps_both_sides_within_the_limit(drawn_problem, data):
    _, block = drawn_problem
    goal, codes = goal_of(block.requirement), block.requirement.codes
    cells = np.unique(block.cell).astype(np.int64)
    whole = np.array([np.sum(block.cell == c) for c in cells], dtype=np.float64)
    given_part = np.array([float(data.draw(st.integers(0, int(c)))) for c in whole])
    assume(0 < given_part.sum() < whole.sum())
    limit = data.draw(st.sampled_from([0.2, 0.5, 1.0]))

    def by_value(rows):
        values = np.zeros(block.requirement.tables.shape)
        for s in range(len(values)):
            np.add.at(values[s], codes[cells, s], rows)
        return values

    part, inside, outside = given_part.copy(), by_value(given_part), by_value(whole - given_part)
    division, scratch = (
        Division(part=part, cells=cells, inside=inside, outside=outside, rows=whole.sum()),
        scratch_of(goal),
    )
    bound = largest_part(inside, part.sum(), limit, goal, scratch)
    assert bound <= part.sum()
    size = trim_to_level(division, part.sum(), bound, goal)
    assert size == part.sum()
    if is_single(goal) and goal.metric[0] == EQUAL:
        assert size <= bound + len(cells)
    size = trim(division, size, limit, 2.0, goal, scratch)
    assert np.all((part >= 0) & (part <= given_part))
    assert np.array_equal(inside, by_value(part))
    assert np.array_equal(outside, by_value(whole - part))
    if size > 0:
        assert size == part.sum() >= 2
        assert worst(inside, size, goal, scratch)[0] <= limit * NEARLY
        assert worst(outside, whole.sum() - size, goal, scratch)[0] <= limit * NEARLY


@drawn(100, quick=25)
@given(problems(30))
def test_no_leaf_is_smaller_than_the_smallest_size(drawn_problem):
    _, block = drawn_problem
    sizes = np.bincount(grow(block, TreeGrowth(least=1)).leaf)
    assert len(sizes) == 1 or sizes.min() >= smallest_size(block.requirement, len(block.cell))


# On a real table.

QUASI = (
    "age",
    "workclass",
    "education",
    "native-country",
    "marital-status",
    "race",
    "sex",
    "occupation",
)


@pytest.fixture(scope="module")
def adult(data):
    """The records of Adult and the hierarchies of its columns."""
    with (data / "adult" / "adult.csv").open(encoding="utf-8", newline="") as file:
        records = [{**row, "age": int(row["age"])} for row in csv.DictReader(file, delimiter=";")]
    trees = {}
    for name in QUASI:
        path = data / "adult" / "hierarchies" / f"adult_hierarchy_{name}.csv"
        if name != "age":
            trees[name] = Hierarchy.parse(path.read_text(encoding="utf-8"), name)
    return records, trees


def adult_block(adult, sensitive):
    records, trees = adult
    quasi = {
        n: {"type": "numeric"} if n == "age" else {"hierarchy": f"{n}.csv"}
        for n in QUASI
        if n not in sensitive
    }
    problem, _ = make_problem(
        records,
        sensitive,
        quasi,
        {n: t for n, t in trees.items() if n in quasi},
        k=5,
    )
    block, _ = Dense(problem.attributes, problem.spec.privacy.k).block(problem.sample)
    return problem, block


def loss(leaf, block: Block) -> float:
    """The mean width over rows and quasi-identifiers."""
    total = 0.0
    members = defaultdict(list)
    for row, number in enumerate(leaf.tolist()):
        members[number].append(row)
    for rows in members.values():
        low, high = block.quasi[rows].min(axis=0), block.quasi[rows].max(axis=0)
        for j in range(block.quasi.shape[1]):
            total += len(rows) * width(j, low[j], high[j], block.widths)
    return total / block.quasi.size


@pytest.mark.parametrize(
    ("t", "most"),
    [("0.05", 0.45), ("0.1", 0.4), ("0.2", 0.315), ("0.3", 0.22)],
)
def test_adult_by_occupation(adult, t, most):
    problem, block = adult_block(adult, {"occupation": {"t": t}})
    leaf = grow(block).leaf
    check_leaves(leaf, block, ts_of(problem))
    assert loss(leaf, block) <= most


@pytest.mark.parametrize(
    ("t", "most"),
    [("0.05", 0.191), ("0.1", 0.105), ("0.2", 0.052), ("0.3", 0.046)],
)
def test_adult_by_age(adult, t, most):
    problem, block = adult_block(adult, {"age": {"distance": "ordered", "t": t}})
    leaf = grow(block).leaf
    check_leaves(leaf, block, ts_of(problem))
    assert loss(leaf, block) <= most


def test_routed_leaves_are_nearly_as_large_as_planned(adult):
    problem, block = adult_block(adult, {"occupation": {"t": "0.2"}})
    planned, _, splits = grow(block, TreeGrowth(stop=3000), problem.sample.hash)
    other = np.random.default_rng(1).permutation(problem.sample.hash)
    routed = route(splits, block.quasi, block.cell, other)
    expected, found = np.bincount(planned), np.bincount(routed, minlength=splits.leaves)
    assert splits.leaves >= 8
    assert np.all(np.abs(found - expected) <= 5 * np.sqrt(expected) + 1)
