"""Exchange: classes keep all that is required of them and never lose more. Checked in fractions and
from the definitions.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn, make_problem, town

from requirements import ROWS_ONLY, UNCAPPED
from tclose_spark.kernels.widths import LabelWidths
from tclose_spark.measures.distances.ground_distances import (
    EqualDistance,
    GroundDistance,
    HierarchicalDistance,
    OrderedDistance,
)
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.methods.blocks.block import Block, Requirement, exact_limits
from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.closeness_tree.exchange import partition as partition_module
from tclose_spark.methods.closeness_tree.exchange import rounds
from tclose_spark.methods.closeness_tree.exchange.anneal import make_risks, propose
from tclose_spark.methods.closeness_tree.exchange.boxes import (
    UNKNOWN,
    covers,
    only_outside,
    scan,
    width_after,
)
from tclose_spark.methods.closeness_tree.exchange.changes import count_all, loss, move, repack
from tclose_spark.methods.closeness_tree.exchange.distances import (
    holds,
    rise,
    rise_by_swap,
    update_rises,
)
from tclose_spark.methods.closeness_tree.exchange.partition import (
    JOIN,
    LEAVE,
    Partition,
    Table,
    make_partition,
    make_table,
)
from tclose_spark.methods.closeness_tree.exchange.reshape import reshape
from tclose_spark.methods.closeness_tree.exchange.rounds import (
    FULL,
    LOOKS,
    THIN,
    Annealing,
    exchange,
    make_orders,
    merge_all,
)
from tclose_spark.methods.closeness_tree.exchange.scatter import dissolve_all
from tclose_spark.methods.closeness_tree.exchange.splits import MOST, split_all
from tclose_spark.methods.closeness_tree.exchange.sweeps import sweep_moves, sweep_swaps
from tclose_spark.table.arrays import FloatArray, IntArray

# Six leaves under three nodes, those under two, those under the root; and how much of the domain a
# node of each height covers.
PARENTS = (np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 1]), np.array([0, 0]))
NODES = np.array(
    [[0, 1, 2, 3, 4, 5], [0, 0, 1, 1, 2, 2], [0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 0, 0]],
    dtype=np.int32,
)
SHARES = np.array([[0.0] * 6, [2 / 6] * 6, [4 / 6] * 4 + [2 / 6] * 2, [1.0] * 6])
DOMAIN = 6

Start = tuple[Block, IntArray, list[GroundDistance], list[Fraction]]


def distance_of(kind: str, table: IntArray) -> GroundDistance:
    return {
        "equal": EqualDistance(table),
        "ordered": OrderedDistance(table),
        "hierarchical": HierarchicalDistance(table, PARENTS),
    }[kind]


def distances_of(
    block: Block,
    classes: IntArray,
    distances: list[GroundDistance],
) -> list[list[Fraction]]:
    """The distance of each class from the table, for each attribute."""
    owner = np.unique(classes, return_inverse=True)[1]
    found = []
    for s, distance in enumerate(distances):
        values = block.requirement.codes[block.cell, s].astype(np.int64)
        classes_of = Histograms.tally(
            owner,
            values,
            np.ones(len(owner), np.int64),
            int(owner.max()) + 1,
            len(distance.table),
        )
        unit = distance.scale * int(distance.table.sum())
        found.append(
            [
                Fraction(int(x), unit * int(size))
                for x, size in zip(distance.numerators(classes_of), classes_of.sizes, strict=True)
            ],
        )
    return found


def least_distinct(block: Block, classes: IntArray) -> list[int]:
    members = [block.requirement.codes[block.cell[classes == c]] for c in np.unique(classes)]
    return [
        min(len(np.unique(codes[:, s])) for codes in members)
        for s in range(block.requirement.codes.shape[1])
    ]


def shares_of(block: Block, classes: IntArray) -> list[tuple[int, int, Fraction]]:
    """(attribute, value, its largest share of a class), of those that occur."""
    found: dict[tuple[int, int], Fraction] = {}
    for c in np.unique(classes):
        members = block.requirement.codes[block.cell[classes == c]]
        for s in range(members.shape[1]):
            for v, n in zip(*np.unique(members[:, s], return_counts=True), strict=True):
                found[s, int(v)] = max(
                    Fraction(int(n), len(members)),
                    found.get((s, int(v)), Fraction(0)),
                )
    return [(s, v, share) for (s, v), share in found.items()]


def is_capped(block: Block, classes: IntArray) -> bool:
    """Whether no value has more of a class than its cap, by fractions."""
    most, of = block.requirement.caps
    return not most.size or all(
        share * int(of[s, v]) <= int(most[s, v]) for s, v, share in shares_of(block, classes)
    )


def width_of(widths: LabelWidths, j: int, codes: IntArray) -> float:
    """How wide the label of these codes is, by its weight, from the words of `LabelWidths`."""
    return float(widths.weights[j]) * _share(widths, j, int(codes.min()), int(codes.max()))


def _share(widths: LabelWidths, j: int, low: int, high: int) -> float:
    if low == high:
        return 0.0
    if widths.missing[j] and low == 0:
        return 1.0
    if widths.kinds[j] == 0:
        return float(widths.place[j, high] - widths.place[j, low])
    if widths.kinds[j] == 1:
        return next(
            float(widths.shares[j, h, low])
            for h in range(4)
            if widths.nodes[j, h, low] == widths.nodes[j, h, high]
        )
    return 1.0


def equal_requirement(table: IntArray, t: Fraction, k: int, distinct: int = 1) -> Requirement:
    """Of one attribute with equal distance; table: (values,), records with each value. A cell is a
    value.
    """
    values, rows = len(table), int(table.sum())
    return Requirement(
        codes=np.arange(values, dtype=np.int32)[:, None],
        tables=table[None, :].astype(np.int64),
        domains=np.array([values]),
        ordered=np.array([False]),
        parents=np.full((1, 1, values), -1, np.int32),
        heights=np.array([0]),
        rows=rows,
        k=k,
        distinct=np.array([distinct]),
        limits=exact_limits([t], [2], rows, rows),
        **UNCAPPED,
        **ROWS_ONLY,
    )


def widths_of_numbers(domains: IntArray) -> LabelWidths:
    """Of numeric quasi-identifiers with so many equally spaced values, none missing."""
    q, longest = len(domains), int(domains.max())
    return LabelWidths(
        kinds=np.zeros(q, np.int8),
        domains=domains,
        missing=np.zeros(q, np.bool_),
        place=np.arange(longest)[None, :] / np.maximum(domains - 1, 1)[:, None],
        nodes=np.zeros((q, 1, longest), np.int32),
        shares=np.zeros((q, 1, longest)),
        weights=np.ones(q),
        beyond=np.ones(q),
        reach=np.full((q, longest), longest, np.int32),
    )


def loss_of(block: Block, classes: IntArray) -> float:
    """Rows times width of their class, summed over quasi-identifiers."""
    members = [block.quasi[classes == c] for c in np.unique(classes)]
    return sum(
        len(codes) * width_of(block.widths, j, codes[:, j])
        for codes in members
        for j in range(block.quasi.shape[1])
    )


@st.composite
def starts(draw: st.DrawFn, most: int = 60) -> Start:
    """A block, classes that hold what is required of them (often only just), the distances and
    their t.
    """
    n, quasis, groups = draw(st.integers(4, most)), draw(st.integers(1, 4)), draw(st.integers(1, 8))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kinds = draw(
        st.lists(st.sampled_from(["equal", "ordered", "hierarchical"]), min_size=1, max_size=2),
    )
    values = random.integers(0, DOMAIN, (n, len(kinds)))
    codes, cell = np.unique(values, axis=0, return_inverse=True)
    widths = LabelWidths(
        kinds=random.integers(0, 3, quasis).astype(np.int8),
        domains=np.full(quasis, DOMAIN),
        missing=random.random(quasis) < 0.3,
        place=np.sort(random.random((quasis, DOMAIN)), axis=1),
        nodes=np.tile(NODES, (quasis, 1, 1)),
        shares=np.tile(SHARES, (quasis, 1, 1)),
        weights=random.choice([0.5, 1.0, 1.75], quasis),
        beyond=np.ones(quasis),
        reach=np.full((quasis, DOMAIN), DOMAIN, np.int32),
    )
    tables = np.stack(
        [np.bincount(column, minlength=DOMAIN) for column in values.T],
    ) + random.integers(0, 3, (1, DOMAIN))
    classes = random.integers(0, groups, n)
    classes = np.unique(classes, return_inverse=True)[1].astype(np.int64)
    distances = [distance_of(kind, table) for kind, table in zip(kinds, tables, strict=True)]
    parents = np.full((len(kinds), 3, DOMAIN), -1, np.int32)
    for s, kind in enumerate(kinds):
        if kind == "hierarchical":
            for h, above in enumerate(PARENTS):
                parents[s, h, : len(above)] = above
    requirement = Requirement(
        codes=codes.astype(np.int32),
        tables=tables,
        domains=np.full(len(kinds), DOMAIN),
        ordered=np.array([kind == "ordered" for kind in kinds]),
        parents=parents,
        heights=np.array([3 if kind == "hierarchical" else 0 for kind in kinds]),
        rows=int(tables[0].sum()),
        k=int(np.bincount(classes).min()),
        distinct=np.ones(len(kinds), np.int64),
        limits=np.zeros((len(kinds), n + 1), np.int64),
        **UNCAPPED,
        **ROWS_ONLY,
    )
    block = Block(
        random.integers(0, DOMAIN, (n, quasis)).astype(np.int32),
        cell.reshape(-1).astype(np.int32),
        widths,
        requirement,
    )
    slack = draw(st.sampled_from([Fraction(0), Fraction(1, 50), Fraction(1, 5), Fraction(1)]))
    ts = [max(found) + slack for found in distances_of(block, classes, distances)]
    limited = [None if t >= 1 else t for t in ts]
    requirement = requirement._replace(
        k=draw(st.integers(1, requirement.k)),
        distinct=np.array([draw(st.integers(1, most)) for most in least_distinct(block, classes)]),
        limits=exact_limits(limited, [d.scale for d in distances], requirement.rows, n),
    )
    if draw(st.booleans()):
        caps = np.zeros((2, len(kinds), DOMAIN), np.int64)
        caps[0] = 1
        more = draw(st.sampled_from([Fraction(0), Fraction(1, 20)]))
        for s, v, share in shares_of(block, classes):
            if share + more < 1 and draw(st.integers(0, 3)):
                caps[:, s, v] = (share + more).as_integer_ratio()
        requirement = requirement._replace(caps=caps)
    return replace(block, requirement=requirement), classes, distances, ts


def assert_required(start: Start, classes: IntArray) -> None:
    """Every row is in a class, and every class holds what is required."""
    block, before, distances, ts = start
    assert classes.shape == before.shape
    assert classes.min() >= 0
    assert np.unique(classes, return_counts=True)[1].min() >= block.requirement.k
    assert all(
        max(found) <= t
        for found, t in zip(distances_of(block, classes, distances), ts, strict=True)
    )
    assert all(
        found >= least
        for found, least in zip(
            least_distinct(block, classes),
            block.requirement.distinct,
            strict=True,
        )
    )
    assert is_capped(block, classes)


def assert_holds(start: Start, classes: IntArray) -> None:
    """As `assert_required`, and no more is lost than at the start."""
    assert_required(start, classes)
    assert loss_of(start[0], classes) <= loss_of(start[0], start[1]) + 1e-9


def assert_counted(table: Table, partition: Partition) -> None:
    """Every figure is what a recount of the rows' classes gives."""
    classes = partition.of.astype(np.int64)
    fresh = make_partition(table, classes, 0, len(partition.size) - int(classes.max()) - 1)
    count_all(table, fresh)
    for name in (
        "size",
        "low",
        "high",
        "packed_low",
        "packed_high",
        "low_rows",
        "high_rows",
        "counts",
        "length",
        "present",
        "total",
        "common",
        "excess",
    ):
        np.testing.assert_array_equal(getattr(partition, name), getattr(fresh, name), err_msg=name)
    np.testing.assert_allclose(partition.wide, fresh.wide, atol=1e-12)
    np.testing.assert_allclose(partition.width, fresh.width, atol=1e-12)
    for side, c, s in np.argwhere(partition.fresh):
        update_rises(table, fresh, side, c, s, partition.size[c] + (1 if side == JOIN else -1))
        values = slice(table.first[s], table.first[s + 1])
        np.testing.assert_array_equal(
            partition.rises[side, c, values],
            fresh.rises[side, c, values],
        )
    for known, real in (
        (partition.low_next, fresh.low_next),
        (partition.high_next, fresh.high_next),
    ):
        assert np.all((known == real) | (known == UNKNOWN))
    for c in range(len(partition.size)):
        members = partition.member[partition.start[c] : partition.start[c] + partition.size[c]]
        assert sorted(members) == np.flatnonzero(partition.of == c).tolist()
        assert np.array_equal(partition.place[members], np.arange(len(members)))
        for s, (first, last) in enumerate(itertools.pairwise(table.first)):
            held = partition.held[c, first : first + partition.length[c, s]]
            assert (
                sorted(held) == (first + np.flatnonzero(partition.counts[c, first:last])).tolist()
            )


@given(starts(), st.sampled_from([8, partition_module.BITS]))
@drawn(60, quick=15)
def test_words_of_codes_are_compared_as_the_codes_are(start: Start, bits: int) -> None:
    """In one word and in several, and with the box of a class without rows."""
    block, classes, _, _ = start
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partition_module, "BITS", bits)
        table = make_table(block)
    partition = make_partition(table, classes, 0, 1)
    count_all(table, partition)
    for c, row in itertools.product(range(len(partition.size)), range(len(classes))):
        codes = block.quasi[row]
        out = np.flatnonzero((codes < partition.low[c]) | (codes > partition.high[c]))
        assert covers(table, partition, c, row) == (len(out) == 0)
        assert only_outside(table, partition, c, row) == (out[0] if len(out) == 1 else -1)


@given(
    starts(),
    st.integers(0, 4),
    st.integers(0, 4),
    st.integers(0, 2**63),
    st.sampled_from([FULL, THIN]),
)
@drawn(150, quick=37)
def test_classes_keep_what_is_required_and_lose_no_more(
    start: Start,
    sweeps: int,
    anneal: int,
    seed: int,
    annealing: Annealing,
) -> None:
    block, classes, _, _ = start
    given_classes = classes.copy()
    found = exchange(block, classes, sweeps, anneal, seed, annealing)
    assert_holds(start, found)
    assert np.array_equal(classes, given_classes)
    assert np.array_equal(found, exchange(block, classes, sweeps, anneal, seed, annealing))


@pytest.mark.parametrize(
    ("annealing", "proposals", "changes_of_boxes"),
    [(FULL, 6, 6 * 3), (THIN, 3, 3 * 3)],
)
def test_thin_rounds_leave_out_proposals_and_changes_of_boxes(
    monkeypatch: pytest.MonkeyPatch,
    annealing: Annealing,
    proposals: int,
    changes_of_boxes: int,
) -> None:
    called: list[str] = []
    for kernel in (propose, reshape):
        name = kernel.__name__
        monkeypatch.setattr(rounds, name, lambda *_, name=name: called.append(name))
    problem, _ = make_problem(town(60), {"disease": {"t": "0.5"}}, k=3)
    block, _ = Dense(problem.attributes, problem.spec.privacy.k).block(problem.sample)
    exchange(block, np.zeros(60, np.int64), 1, 6, 0, annealing)
    assert (called.count("propose"), called.count("reshape")) == (proposals, changes_of_boxes)


@given(
    starts(),
    st.sampled_from([0.01, 1.0, 100.0]),
    st.sampled_from([0.0, 1.0, 50.0]),
    st.integers(0, 2**32),
)
@drawn(100, quick=25)
def test_every_pass_keeps_what_is_required_and_figures_equal_a_recount(
    start: Start,
    heat: float,
    price: float,
    seed: int,
) -> None:
    block, classes, _, _ = start
    table = make_table(block)
    partition = make_partition(table, classes, seed, spare=len(classes))
    count_all(table, partition)
    assert abs(loss(partition) - loss_of(block, classes)) < 1e-9
    orders = make_orders(table, 2, seed)
    partition.weight[:] = drawn_weights(partition, seed)
    for number in range(3):
        sweep_moves(table, partition, orders[0], price)
        assert_counted(table, partition)
        sweep_swaps(table, partition, orders[1])
        assert_counted(table, partition)
        propose(table, partition, orders[number], make_risks(), heat / (number + 1), price)
        assert_counted(table, partition)
        reshape(table, partition, orders[0], make_risks(), heat, price)
        assert_counted(table, partition)
        dissolve_all(table, partition, orders[0], make_risks(), heat, price)
        assert_counted(table, partition)
        merge_all(table, partition, orders[0], price)
        assert_counted(table, partition)
        before = loss(partition)
        split_all(table, partition, orders[0])
        assert_counted(table, partition)
        assert loss(partition) <= before
        repack(partition)
        assert_counted(table, partition)
        assert_required(start, partition.of.astype(np.int64))


@given(starts(most=25), st.data())
@drawn(100, quick=25)
def test_what_may_happen_and_costs_follows_from_the_definitions(
    start: Start,
    data: st.DataObject,
) -> None:
    block, classes, distances, ts = start
    table = make_table(block)
    partition = make_partition(table, classes, 0)
    count_all(table, partition)
    row, other = (data.draw(st.integers(0, len(classes) - 1)) for _ in range(2))
    c, d = int(classes[row]), int(classes[other])
    for t, distance, share, limit in zip(
        ts,
        distances,
        table.share,
        block.requirement.limits[:, -1],
        strict=True,
    ):
        # Of a numerator that is allowed for each row.
        unit = t * distance.scale * int(distance.table.sum())
        assert (
            share == 0
            if t in (0, 1) or t > 1 or limit == 0
            else abs(float(share * unit) - 1) <= 1 / limit
        )

    def fits(rows: list[int]) -> bool:
        """Whether these rows may be a class."""
        one, alone = (
            np.zeros(len(rows), np.int64),
            replace(block, quasi=block.quasi[rows], cell=block.cell[rows]),
        )
        requirement = block.requirement
        return (
            len(rows) >= requirement.k
            and all(
                found[0] <= t
                for found, t in zip(distances_of(alone, one, distances), ts, strict=True)
            )
            and all(
                found >= least
                for found, least in zip(
                    least_distinct(alone, one),
                    requirement.distinct,
                    strict=True,
                )
            )
            and is_capped(alone, one)
        )

    def costs(rows: list[int]) -> float:
        """The closeness ratio of these rows as a class, times how many there are, summed over
        attributes with a t.
        """
        one, alone = np.zeros(len(rows), np.int64), replace(block, cell=block.cell[rows])
        units = [
            share * d.scale * int(d.table.sum())
            for share, d in zip(table.share, distances, strict=True)
        ]
        found = distances_of(alone, one, distances)
        return sum(len(rows) * float(d[0]) * unit for d, unit in zip(found, units, strict=True))

    def assert_rises(said: float, rows: list[int]) -> None:
        """To that of these rows, or infinitely if they may not be a class."""
        assert (said < np.inf) == fits(rows)
        assert said == np.inf or abs(said - (costs(rows) - costs(inside))) < 1e-3 * max(
            1,
            costs(rows),
        )

    def width_sum(rows: list[int]) -> float:
        return sum(
            width_of(block.widths, j, block.quasi[rows, j]) for j in range(block.quasi.shape[1])
        )

    inside = np.flatnonzero(classes == c).tolist()
    without = [i for i in inside if i != row]
    if without:
        assert_rises(rise(table, partition, LEAVE, c, block.cell[row]), without)
        assert abs(width_after(table, partition, c, row, -1) - width_sum(without)) < 1e-9
    if c != d:
        assert_rises(rise(table, partition, JOIN, c, block.cell[other]), [*inside, other])
        assert_rises(
            rise_by_swap(table, partition, c, block.cell[row], block.cell[other]),
            [*without, other],
        )
        assert (
            abs(width_after(table, partition, c, row, other) - width_sum([*without, other])) < 1e-9
        )
        assert abs(width_after(table, partition, c, -1, other) - width_sum([*inside, other])) < 1e-9
        move(table, partition, other, c)
        assert holds(table, partition, c, len(inside) + 1) == fits([*inside, other])
        rest = np.flatnonzero(partition.of == d).tolist()
        assert not rest or holds(table, partition, d, len(rest)) == fits(rest)


def spent(partition: Partition, table: Table, price: float) -> float:
    """What passes make small: the loss, and the price of the weighted closeness ratios times
    rows.
    """
    return loss(partition) + price * float((partition.weight * partition.total * table.share).sum())


def drawn_weights(partition: Partition, seed: int) -> FloatArray:
    return np.random.default_rng(seed).choice([0.1, 1.0, 5.0], partition.weight.shape)


@given(starts(), st.sampled_from([0.0, 0.5, 20.0]), st.integers(0, 2**32))
@drawn(50, quick=12)
def test_cold_passes_never_spend_more(start: Start, price: float, seed: int) -> None:
    block, classes, _, _ = start
    table = make_table(block)
    partition = make_partition(table, classes, seed)
    count_all(table, partition)
    partition.weight[:] = drawn_weights(partition, seed)
    for order in make_orders(table, 3, seed):
        for run in (
            lambda order: reshape(table, partition, order, make_risks(), 0.0, price),
            lambda order: dissolve_all(table, partition, order, make_risks(), 0.0, price),
            lambda order: sweep_moves(table, partition, order, price),
            lambda order: sweep_swaps(table, partition, order),
            lambda order: merge_all(table, partition, order, price),
        ):
            before = spent(partition, table, price)
            changed = run(order)
            assert spent(partition, table, price) <= before + 1e-5 * (1 + price) * max(changed, 1)
            (assert_required if price > 0 else assert_holds)(start, partition.of.astype(np.int64))


@given(starts(), st.integers(0, 2**32))
@drawn(100, quick=25)
def test_splits_keep_what_is_required(start: Start, seed: int) -> None:
    block, _, distances, _ = start
    one = np.zeros(len(block.cell), np.int64)
    t = [max(found) + Fraction(1, 4) for found in distances_of(block, one, distances)]
    requirement = block.requirement._replace(
        k=2,
        distinct=np.minimum(block.requirement.distinct, 2)
        if min(least_distinct(block, one)) > 1
        else np.ones_like(block.requirement.distinct),
        limits=exact_limits(t, [d.scale for d in distances], block.requirement.rows, len(one)),
    )
    block = replace(block, requirement=requirement)
    table = make_table(block)
    partition = make_partition(table, one, seed, spare=len(one))
    count_all(table, partition)
    partition.weight[0] = 2.0
    for order in make_orders(table, 2, seed):
        cut = split_all(table, partition, order)
        assert (partition.size > 0).sum() >= 1 + (cut > 0)
        assert_counted(table, partition)
        assert_holds((block, one, distances, t), partition.of.astype(np.int64))
        assert (partition.weight[partition.size > 0] == 2.0).all()


def test_a_class_of_two_kinds_of_rows_is_cut_in_two() -> None:
    rows = 40
    quasi = np.repeat(np.arange(2), rows // 2).astype(np.int32)[:, None]
    requirement = equal_requirement(np.array([rows // 2, rows // 2]), Fraction(1, 10), k=5)
    widths = widths_of_numbers(np.array([2]))
    block = Block(quasi, np.tile(np.arange(2), rows // 2).astype(np.int32), widths, requirement)
    found = exchange(block, np.zeros(rows, np.int64), 1, 0, 1)
    assert len(set(zip(found.tolist(), quasi[:, 0].tolist(), strict=True))) == 2
    assert loss_of(block, found) == 0


def two_that_complement_each_other(k: int, one: int = 1, other: int = 1) -> tuple[Block, IntArray]:
    """Two classes of the same label, of so many times ten rows, of whom one has too much of what
    the other lacks; and one of another label.
    """
    times = np.repeat([one, other, 1], [2, 2, 2])
    cell = np.repeat(np.tile([0, 1], 3), np.array([6, 4, 4, 6, 5, 5]) * times).astype(np.int32)
    classes = np.repeat(np.arange(3), 10 * times[::2])
    quasi = (classes == 2).astype(np.int32)[:, None]
    requirement = equal_requirement(np.bincount(cell), Fraction(1, 5), k)
    return Block(quasi, cell, widths_of_numbers(np.array([2])), requirement), classes


def test_classes_that_make_up_for_each_other_are_merged_and_others_stay() -> None:
    block, classes = two_that_complement_each_other(k=5)
    table = make_table(block)
    for price, merged in ((0.0, 0), (0.5, 1), (2.0, 1)):
        partition = make_partition(table, classes, 1)
        count_all(table, partition)
        assert merge_all(table, partition, make_orders(table, 1, 1)[0], price) == merged
        assert sorted(partition.size) == ([10, 10, 10] if merged == 0 else [0, 10, 20])
        assert_counted(table, partition)
        if (
            merged
        ):  # nothing is left of their distances, and both labels stay as narrow as they were
            assert spent(partition, table, price) == loss(partition) == 0


@pytest.mark.parametrize(("other", "merged"), [(20, 1), (21, 0)])
def test_classes_are_merged_up_to_a_size(other: int, merged: int) -> None:
    block, classes = two_that_complement_each_other(5, 5, other)
    assert ((classes < 2).sum() <= MOST) == merged
    table = make_table(block)
    partition = make_partition(table, classes, 1)
    count_all(table, partition)
    assert partition.room[1] > (classes < 2).sum()
    by_turns = np.lexsort((np.arange(len(classes)) % 7, block.quasi[:, 0])).astype(np.int32)
    assert merge_all(table, partition, by_turns, 0.5) == merged


def test_a_class_without_neighbours_of_others_is_not_merged() -> None:
    block, classes = two_that_complement_each_other(k=5)
    table = make_table(block)
    partition = make_partition(table, classes, 1)
    count_all(table, partition)
    apart = np.concatenate([np.arange(10), np.arange(20, 30), np.arange(10, 20)]).astype(np.int32)
    assert LOOKS < 10  # the two that complement each other are farther apart, the third is too dear
    assert merge_all(table, partition, apart, 0.5) == 0


def classes_of_numbers(
    k: int,
    *classes: tuple[int, ...],
    values: tuple[int, ...] | None = None,
) -> tuple[Table, Partition]:
    """Classes of rows with one quasi-identifier, a number from 0 to 9. values: of the sensitive
    attribute; all rows have the same one otherwise. t is 1/2.
    """
    codes = list(itertools.chain(*classes))
    cell = np.array(values or [0] * len(codes), np.int32)
    requirement = equal_requirement(np.bincount(cell), Fraction(1, 2), k)
    block = Block(
        np.array(codes, np.int32)[:, None],
        cell,
        widths_of_numbers(np.array([10])),
        requirement,
    )
    table = make_table(block)
    partition = make_partition(table, np.repeat(np.arange(len(classes)), [*map(len, classes)]), 1)
    count_all(table, partition)
    return table, partition


@pytest.mark.parametrize(
    ("k", "classes", "before", "after"),
    [
        pytest.param(
            2,
            ((0,) * 40, (1,) * 15 + (9,) * 4),
            152,
            55,
            id="a wider box costs more than a row gains",
        ),
        pytest.param(
            8,
            ((0,) * 18 + (3,) * 2, (3,) * 4 + (9,) * 4),
            108,
            60,
            id="a box gets narrower with its last row",
        ),
    ],
)
def test_boxes_change_where_no_single_row_can(
    k: int,
    classes: tuple[tuple[int, ...], ...],
    before: int,
    after: int,
) -> None:
    table, partition = classes_of_numbers(k, *classes)
    order, cold = make_orders(table, 1, 1)[0], make_risks()
    propose(table, partition, order, cold, 0.0, 0.0)
    sweep_moves(table, partition, order, 0.0)
    assert 9 * loss(partition) == pytest.approx(before)
    assert reshape(table, partition, order, cold, 0.0, 0.0) > 0
    assert 9 * loss(partition) == pytest.approx(after)
    assert_counted(table, partition)


@pytest.mark.parametrize(("price", "changed"), [(0.0, 1), (0.35, 0)])
def test_a_box_is_not_extended_if_closeness_costs_more_than_that_gains(
    price: float,
    changed: int,
) -> None:
    """Each row gains 7/9, and costs 2 x .35 in closeness. Six of them cannot make up for a wider
    label of twenty.
    """
    first, second = (0,) * 20, (1,) * 6 + (2,) * 2 + (9,) * 6
    values = (0, 1) * 10 + (0,) * 7 + (1,) * 7
    table, partition = classes_of_numbers(2, first, second, values=values)
    before = spent(partition, table, price)
    assert (
        reshape(table, partition, make_orders(table, 1, 1)[0], make_risks(), 0.0, price) == changed
    )
    assert partition.size[0] == 20 + 6 * changed
    assert (spent(partition, table, price) < before) == changed


def test_rows_that_would_gain_nothing_do_not_join_an_extended_box() -> None:
    table, partition = classes_of_numbers(2, (0,) * 20, (1,) * 10 + (9,) * 9, (1,) * 9 + (2,) * 9)
    assert reshape(table, partition, make_orders(table, 1, 1)[0], make_risks(), 0.0, 0.0) == 1
    assert partition.size.tolist() == [30, 9, 18]
    assert_counted(table, partition)


def test_a_class_that_can_lose_no_row_is_dissolved() -> None:
    table, partition = classes_of_numbers(2, (0, 0), (0, 9), (9, 9))
    order, cold = make_orders(table, 1, 1)[0], make_risks()
    assert (
        sweep_moves(table, partition, order, 0.0)
        == reshape(table, partition, order, cold, 0.0, 0.0)
        == 0
    )
    assert dissolve_all(table, partition, order, cold, 0.0, 0.0) == 1
    assert sorted(partition.size) == [0, 3, 3]
    assert loss(partition) == 0
    assert_counted(table, partition)


def test_classes_that_near_classes_cannot_take_stay() -> None:
    table, partition = classes_of_numbers(2, (0, 0), (0, 9), (8, 8))
    order = make_orders(table, 1, 1)[0]
    assert dissolve_all(table, partition, order, make_risks(), 0.0, 0.0) == 0
    assert sorted(partition.of) == [0, 0, 1, 1, 2, 2]
    assert_counted(table, partition)


@pytest.mark.parametrize(
    ("t", "ratio", "limit"),
    [(Fraction(1, 10), 1, 5.0), (Fraction(1, 5), 0.5, 0.1)],
)
@pytest.mark.parametrize("ordered", [False, True])
def test_the_price_rises_where_t_keeps_rows_out_and_falls_elsewhere(
    t: Fraction,
    ratio: float,
    limit: float,
    ordered: bool,
) -> None:
    block, classes = two_that_complement_each_other(k=5)
    limits = exact_limits([t], [1 if ordered else 2], block.requirement.rows, len(classes))
    table = make_table(
        replace(
            block,
            requirement=block.requirement._replace(limits=limits, ordered=np.array([ordered])),
        ),
    )
    partition = make_partition(table, classes, 1)
    count_all(table, partition)
    ratios = partition.total[:, 0] * table.share[0] / partition.size
    assert ratios.tolist() == pytest.approx([ratio, ratio, 0])
    rounds.weigh(table, partition)
    once = partition.weight[:, 0].tolist()
    for _ in range(20):
        rounds.weigh(table, partition)
    if ordered:  # one price for all classes
        assert once == partition.weight[:, 0].tolist() == [1, 1, 1]
    else:
        assert once[0] == once[1] > once[2]
        assert (once[0] > 1) == (ratio > rounds.LIMITING)
        assert partition.weight[:, 0].tolist() == [limit, limit, 0.1]


@given(starts(), st.integers(1, 4))
@drawn(60, quick=15)
def test_a_block_in_parts_keeps_what_is_required(start: Start, parts: int) -> None:
    block, classes, _, _ = start
    figures = 2 * (int(classes.max()) + 1) * int(block.requirement.domains.sum())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds, "MOST_FIGURES", -(-figures // parts))
        found = exchange(block, classes, 3, 1, 1)
    assert_holds(start, found)
    assert set(found.tolist()) == set(range(found.max() + 1))
    assert loss_of(block, found) <= loss_of(block, classes) + 1e-9


@given(starts(), st.integers(0, 3), st.integers(0, 3))
@drawn(50, quick=12)
def test_classes_that_lose_nothing_stay_as_they_are(start: Start, sweeps: int, anneal: int) -> None:
    block, classes, _, _ = start
    block = replace(
        block,
        quasi=np.ascontiguousarray(
            np.tile(classes[:, None] % DOMAIN, (1, block.quasi.shape[1])),
            dtype=np.int32,
        ),
    )
    assert np.array_equal(exchange(block, classes, sweeps, anneal, 1), classes)


@given(starts(), st.integers(1, 3))
@drawn(30, quick=8)
def test_one_class_stays_or_is_cut(start: Start, rounds: int) -> None:
    block, classes, distances, ts = start
    one = np.zeros_like(classes)
    assert_holds((block, one, distances, ts), exchange(block, one, rounds, rounds, 1))


@given(starts(), st.integers(0, 2**32))
@drawn(30, quick=8)
def test_orders_are_lexicographic(start: Start, seed: int) -> None:
    table = make_table(start[0])
    for number, order in enumerate(make_orders(table, 2, seed)):
        assert sorted(order) == list(range(len(table.cell)))
        by_cell = [table.cell] if number % 2 else []
        q = table.quasi.shape[1]
        sorts = [
            np.lexsort(
                [
                    *(sign * table.quasi[:, j] for j, sign in zip(sequence, signs, strict=True)),
                    *by_cell,
                ],
            )
            for sequence in itertools.permutations(range(q))
            for signs in itertools.product((1, -1), repeat=q)
        ]
        assert any(np.array_equal(order, by) for by in sorts)


def test_ends_in_large_domains_are_looked_up_in_the_members() -> None:
    rows = 3000
    random = np.random.default_rng(5)
    quasi = random.permutation(rows).astype(np.int32)[:, None]
    requirement = equal_requirement(np.array([rows]), Fraction(1, 10), k=2)
    widths = widths_of_numbers(np.array([rows]))
    block = Block(quasi, np.zeros(rows, np.int32), widths, requirement)
    classes = np.arange(rows) // 10
    table = make_table(block)
    partition = make_partition(table, classes, 0)
    count_all(table, partition)
    orders = make_orders(table, 2, 3)
    propose(table, partition, orders[0], make_risks(), 1.0, 1.0)
    assert_counted(table, partition)
    scan(table, partition, 0, 0)
    assert loss_of(block, exchange(block, classes, 8, 20, 1)) < 0.5 * loss_of(block, classes)


def test_adult_loses_a_good_deal_less(data: Path) -> None:
    frame = pd.read_csv(data / "adult/adult.csv", sep=";").head(6000)
    columns = ["age", "workclass", "education", "marital-status", "race", "sex"]
    quasi = np.stack(
        [np.unique(frame[name], return_inverse=True)[1] for name in columns],
        axis=1,
    ).astype(np.int32)
    _, cell = np.unique(frame["occupation"], return_inverse=True)
    domains = quasi.max(axis=0).astype(np.int64) + 1
    tables = np.bincount(cell)[None, :].astype(np.int64)
    requirement = equal_requirement(tables[0], Fraction(1, 5), k=5, distinct=3)
    block = Block(quasi, cell.astype(np.int32), widths_of_numbers(domains), requirement)
    stack = np.lexsort([*quasi.T, cell])
    classes = np.empty(len(frame), np.int64)
    classes[stack] = np.arange(len(frame)) % (
        len(frame) // 40
    )  # dealt by value: near the table, as wide as can be
    found = exchange(block, classes, 30, 0, 1)
    assert_holds((block, classes, [EqualDistance(tables[0])], [Fraction(1, 5)]), found)
    assert loss_of(block, found) < 0.95 * loss_of(block, classes)
    assert loss_of(block, exchange(block, classes, 30, 20, 1)) < loss_of(
        block,
        exchange(block, classes, 60, 0, 1),
    )
