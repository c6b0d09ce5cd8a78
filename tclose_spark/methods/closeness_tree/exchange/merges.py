"""Merges: two near classes become one if that costs little. The merged class is nearer to the table
than its parts if one has an excess of what the other lacks, so it can exchange rows that they could
not.
"""

from __future__ import annotations

from tclose_spark.kernels import kernel
from tclose_spark.kernels.widths import width
from tclose_spark.methods.closeness_tree.exchange.changes import append_member, count_class
from tclose_spark.methods.closeness_tree.exchange.distances import numerator_of_two
from tclose_spark.methods.closeness_tree.exchange.partition import (
    Partition,
    Table,
    draw_member,
    rank_rows,
)
from tclose_spark.methods.closeness_tree.exchange.splits import MOST
from tclose_spark.methods.closeness_tree.exchange.sweeps import LEAST
from tclose_spark.table.arrays import Codes

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
        best, least, last = -1, -LEAST, c
        for there in range(max(at - LOOKS, 0), min(at + LOOKS + 1, len(order))):
            d = partition.of[order[there]]
            rows = partition.size[c] + partition.size[d]
            if d in (c, last) or rows > min(
                partition.room[d], MOST, table.requirement.limits.shape[1] - 1
            ):
                continue
            last = d
            change = change_by_merge(table, partition, c, d, price, least)
            if change < least:
                best, least = d, change
        if best >= 0:
            merge(table, partition, c, best)
            merged += 1
    return merged


@kernel
def change_by_merge(
    table: Table, partition: Partition, c: int, d: int, price: float, least: float
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
        own, other = partition.weight[c, s], partition.weight[d, s]
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
