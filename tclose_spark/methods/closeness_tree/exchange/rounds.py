"""Exchange: rows move and swap between near classes, so that labels get narrower while every class
meets the requirement.

Greedy sweeps come first, with most of the gain for little work. Then annealing, changes of boxes
and sweeps alternate. At times, classes with enough rows are split, near ones are merged, and some
are dissolved.

The loss alone is not the objective: classes at their t cannot take rows by which they would gain.
So at first the closeness ratio has a price, and becoming more like the table is worth some width.
The price falls to zero, and the room that it made is used. It is the multiplier of the constraint
(Lagrangian relaxation), but no class ever breaks its t. With annealing, each class has a price of
its own: it rises where t keeps rows out, and falls where it does not.

Merges: two near classes become one if that costs little. The merged class is nearer to the table
than its parts if one has an excess of what the other lacks, so it can exchange rows that they could
not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.kernels.widths import width
from tclose_spark.methods.blocks.block import ORDERED, Block
from tclose_spark.methods.closeness_tree.exchange.anneal import make_risks, propose
from tclose_spark.methods.closeness_tree.exchange.changes import (
    append_member,
    count_all,
    count_class,
    loss,
    repack,
)
from tclose_spark.methods.closeness_tree.exchange.distances import numerator_of_two
from tclose_spark.methods.closeness_tree.exchange.partition import (
    Partition,
    Table,
    draw,
    draw_member,
    make_partition,
    make_table,
    rank_rows,
)
from tclose_spark.methods.closeness_tree.exchange.reshape import reshape
from tclose_spark.methods.closeness_tree.exchange.scatter import dissolve_all
from tclose_spark.methods.closeness_tree.exchange.splits import MOST, split_all
from tclose_spark.methods.closeness_tree.exchange.sweeps import LEAST, sweep_moves, sweep_swaps
from tclose_spark.methods.rows_in_work import step
from tclose_spark.table.arrays import Codes, IntArray, in_order, ranked

LOOKS = 8  # to either side


@kernel
def merge_all(table: Table, partition: Partition, order: Codes, price: float) -> int:
    """Each class in turn joins the class near one of its members, drawn at random, with which the
    loss plus `price` times the weighted closeness ratios times rows falls most, if any. Returns how
    many did.

    order: lexicographic, shape (n,). Two classes that meet the requirement meet it together. A
        class that joined another stays without rows.
    """
    merged = 0
    rank_rows(partition, order)
    for c in range(len(partition.size)):
        if partition.size[c] == 0:
            continue
        at = partition.rank[partition.member[partition.start[c] + draw_member(partition, c)]]
        best = -1
        least = -LEAST
        last = c
        for there in range(max(at - LOOKS, 0), min(at + LOOKS + 1, len(order))):
            d = partition.of[order[there]]
            rows = partition.size[c] + partition.size[d]
            if d in (c, last) or rows > min(
                partition.room[d],
                MOST,
                table.requirement.limits.shape[1] - 1,
            ):
                continue
            last = d
            change = change_by_merge(table, partition, c, d, price, least)
            if change < least:
                best = d
                least = change
        if best >= 0:
            merge(table, partition, c, best)
            merged += 1
    return merged


@kernel
def change_by_merge(
    table: Table,
    partition: Partition,
    c: int,
    d: int,
    price: float,
    least: float,
) -> float:
    """How much the loss plus `price` times the weighted closeness ratios times rows rises if
    classes c and d are merged; or a number that it exceeds, if this is `least` or more.
    """
    both = 0.0
    for j in range(table.quasi.shape[1]):
        low = min(partition.low[c, j], partition.low[d, j])
        high = max(partition.high[c, j], partition.high[d, j])
        both += width(j, low, high, table.widths)
    change = partition.size[c] * (both - partition.width[c]) + partition.size[d] * (
        both - partition.width[d]
    )
    bound = change
    for s in range(table.column.shape[1]):
        weighted = (
            partition.weight[c, s] * partition.total[c, s]
            + partition.weight[d, s] * partition.total[d, s]
        )
        bound -= price * table.share[s] * weighted
    if bound >= least:
        return float(bound)
    size = partition.size[c] + partition.size[d]
    for s in range(table.column.shape[1]):
        own = partition.weight[c, s]
        other = partition.weight[d, s]
        weighted = (own + other) / 2 * numerator_of_two(table, partition, d, c, 1, s, size)
        weighted -= own * partition.total[c, s] + other * partition.total[d, s]
        change += price * table.share[s] * weighted
    return float(change)


@kernel
def merge(table: Table, partition: Partition, c: int, d: int) -> None:
    """The members of class c become members of class d, which has room and gets the mean of both
    weights.
    """
    for s in range(table.column.shape[1]):
        partition.weight[d, s] = (partition.weight[c, s] + partition.weight[d, s]) / 2
    while partition.size[c] > 0:
        row = partition.member[partition.start[c] + partition.size[c] - 1]
        partition.size[c] -= 1
        append_member(partition, row, d)
    count_class(table, partition, c)
    count_class(table, partition, d)


# Of lexicographic orders, with annealing and without.
PAIRS = 12
FEW_PAIRS = 3
# Classes times sensitive values, up to 24 bytes each; a block with more is exchanged in parts.
MOST_FIGURES = 1 << 24
STRIDE = 7  # coprime to the number of orders, so that proposals mostly follow other orders than sweeps do
SPLITS = 4  # sweeps between splits
# Of a row's closeness ratio of 1, in widths of its label, at first: alone, with annealing.
PRICE = 0.4
FULL_PRICE = 0.7
LIMITING = 0.85  # the price of a class's closeness ratio rises above this, and falls below
WEIGHTS = (0.1, 5.0)  # the least and the largest price of a class, in multiples of the price of all
DISSOLVES = 6  # about how many rounds try to dissolve classes
LAST = 4  # sweeps after the annealing between looks at the loss
# Temperatures at the first and after the last round, in widths of one row's label.
HOT = 0.6
COLD = 0.05
PRICED_SHARE = 0.97  # of the rounds have a price
# Times that each class may shrink and may extend its box, in a round that changes boxes.
RESHAPES = 3
# Of the loss. After the annealing, sweeps go on as long as the last few gain more.
LEAST_GAIN = 8e-4


@dataclass(frozen=True, kw_only=True)
class Annealing:
    """What rounds of annealing leave out.

    cycle: of so many rounds, the first makes proposals, and the last changes boxes.
    swaps: in one round of so many, the sweep swaps rows.
    """

    cycle: int
    swaps: int


FULL = Annealing(cycle=1, swaps=1)
THIN = Annealing(cycle=2, swaps=3)
"""Some two thirds of the work of FULL, in as many rounds."""


def exchange(
    block: Block,
    classes: IntArray,
    sweeps: int,
    rounds: int,
    seed: int,
    how: Annealing = FULL,
) -> IntArray:
    """The class of each row, shape (n,). Every class meets the requirement if all of `classes` do,
    and the loss is not higher. The result depends on the arguments only, and is `classes` if
    nothing better was found.

    classes: from 0 without gaps, near ones in succession, shape (n,); so is the result, except for
        classes split off.
    sweeps: passes of moves and swaps of all rows.
    rounds: of annealing after them.
    how: what rounds of annealing leave out.
    """
    if not len(classes) or not sweeps + rounds:
        return classes.astype(np.int64)
    groups = int(classes.max()) + 1
    parts = min(groups, -(-2 * groups * int(block.requirement.domains.sum()) // MOST_FIGURES))
    by_class = in_order(classes)
    result = np.empty(len(classes), np.int64)
    next_class = 0
    part_of = classes[by_class] * parts // groups
    for part in range(parts):
        # Those of a class lie together, which takes a quarter less time.
        rows = by_class[part_of == part]
        exchanged = _exchange(
            block.take(rows),
            classes[rows] - classes[rows].min(),
            sweeps,
            rounds,
            seed,
            how,
        )
        result[rows] = exchanged + next_class
        next_class += int(exchanged.max()) + 1
    return result


def _exchange(
    block: Block,
    classes: IntArray,
    sweeps: int,
    rounds: int,
    seed: int,
    how: Annealing,
) -> IntArray:
    """`exchange` in one part. The numbers of merged classes go to those that are split off, which
    else get the next ones; none stays without rows.
    """
    table = make_table(block)
    spare = min(int(classes.max()) + 1, len(classes) // max(2 * table.requirement.k, 2))
    partition = make_partition(table, classes, seed, spare)
    count_all(table, partition)
    best = partition.of.copy()
    least = loss(partition)
    orders = make_orders(table, PAIRS if rounds else max(1, min(FEW_PAIRS, sweeps)), seed)
    for number in range(sweeps):
        _sweep(
            table,
            partition,
            orders,
            number,
            FULL_PRICE if rounds else _falling(PRICE, number, sweeps - 1),
            swaps=number,
        )
    if rounds:
        swept = loss(partition)
        if swept < least - LEAST:
            best = partition.of.copy()
            least = swept
        _anneal(table, partition, orders, rounds, how)
    if loss(partition) < least - LEAST:
        best = partition.of
    return ranked(best.astype(np.int64))[1]


def _falling(price: float, number: int, steps: float) -> float:
    """The price at a step: it falls linearly from the full price at step 0 to zero after
    `steps`.
    """
    return round(price * (1 - number / steps), 9) if number < steps else 0.0


def _sweep(
    table: Table,
    partition: Partition,
    orders: Codes,
    number: int,
    price: float,
    swaps: int | None,
) -> None:
    """One sweep: rows move along an order without regard to cells, and swap along one by cells
    unless `swaps` is None. Every SPLITS sweeps, classes are first split, and half-way between they
    are merged.

    number: of the sweep. It chooses the order for moves.
    swaps: the number of the sweep among those that swap. It chooses the order for swaps.
    """
    pairs = len(orders) // 2
    order = orders[2 * (number % pairs)]
    if number % SPLITS == 0:
        split_all(table, partition, order)
        repack(partition)
    if number % SPLITS == SPLITS // 2 and price > 0:
        merge_all(table, partition, order, price)
        repack(partition)
    sweep_moves(table, partition, order, price)
    if swaps is not None:
        sweep_swaps(table, partition, orders[2 * (swaps % pairs) + 1])
    repack(partition)
    step()


def _anneal(table: Table, partition: Partition, orders: Codes, rounds: int, how: Annealing) -> None:
    """Proposals, changes of boxes and sweeps alternate while the temperature falls. Then sweeps go
    on as long as they pay.
    """
    risks = make_risks()
    for number in range(rounds):
        heat = round(HOT * (COLD / HOT) ** (number / rounds), 9)
        price = _falling(FULL_PRICE, number, PRICED_SHARE * rounds)
        cycle, place = divmod(number, how.cycle)
        order = orders[2 * (cycle % (len(orders) // 2))]
        if place == 0:
            propose(table, partition, orders[cycle * STRIDE % len(orders)], risks, heat, price)
        if place == how.cycle - 1:
            for _ in range(RESHAPES):
                reshape(table, partition, order, risks, heat, price)
        if number % max(1, rounds // DISSOLVES) == 0:
            dissolve_all(table, partition, order, risks, heat, price)
        swaps = None if number % how.swaps else number // how.swaps
        _sweep(table, partition, orders, number, price, swaps)
        weigh(table, partition)
    before = np.inf
    after = loss(partition)
    number = 0
    while before - after > LEAST_GAIN * after:
        before = after
        for _ in range(LAST):
            _sweep(table, partition, orders, number, 0.0, swaps=number)
            number += 1
        after = loss(partition)


def weigh(table: Table, partition: Partition) -> None:
    """Raise the prices of closeness ratios above LIMITING, and lower the others: a step by a
    factor, for the multiplier of each constraint. All classes keep the same price for an ordered
    attribute: one row changes its ratio little.
    """
    ratios = partition.total * table.share / np.maximum(partition.size, 1)[:, None]
    steps = ((1 + ratios) / (1 + LIMITING)) ** 2
    partition.weight[:] = np.where(
        table.metric == ORDERED,
        1,
        np.clip(partition.weight * steps, *WEIGHTS),
    )


def make_orders(table: Table, pairs: int, seed: int) -> Codes:
    """Random lexicographic orders of the rows, shape (2 pairs, n): quasi-identifiers in random
    sequence and direction, in odd orders by cell first.

    A key has as many leading bits as fit in 64 bits beside the row's number. Keys are distinct, so
    every sorting algorithm gives the same order. Sorting keys is many times faster than sorting row
    numbers by keys.
    """
    n, q = table.quasi.shape
    random = np.array([seed], np.uint64)
    highest = table.quasi.max(axis=0).astype(np.int64)
    orders = np.empty((2 * pairs, n), np.int32)
    number_bits = int(n - 1).bit_length()
    for number in range(2 * pairs):
        key = table.cell.astype(np.uint64) if number % 2 else np.zeros(n, np.uint64)
        bits = number_bits + int(key.max()).bit_length()
        draws = np.array([draw(random) for _ in range(q)])
        for j in np.argsort(draws):
            codes = highest[j] - table.quasi[:, j] if draws[j] % 2 else table.quasi[:, j]
            need = int(highest[j]).bit_length()
            used = min(need, 64 - bits)
            key = (key << np.uint64(used)) | (codes.astype(np.uint64) >> np.uint64(need - used))
            bits += used
        numbered = (key << np.uint64(number_bits)) | np.arange(n, dtype=np.uint64)
        orders[number] = np.sort(numbered) & np.uint64((1 << number_bits) - 1)
    return orders
