"""Exchange: rows move and swap between near classes, so that labels get narrower while every class keeps what is asked of it.

Greedy sweeps first: most of the gain for little work. Annealing after them goes lower, the longer it may go on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose_spark.measures.histograms import IntArray
from tclose_spark.methods.closeness_tree.anneal import anneal, risks
from tclose_spark.methods.closeness_tree.block import Block, Codes
from tclose_spark.methods.closeness_tree.changes import count_all, loss, repack
from tclose_spark.methods.closeness_tree.partition import Table, make_partition, make_table
from tclose_spark.methods.closeness_tree.sweeps import sweep_moves, sweep_swaps

ORDERS = 24
HOT, COLD = 0.3, 0.03


def exchange(block: Block, classes: IntArray, sweeps: int, anneal_: int, seed: int) -> IntArray:
    """Classes of the rows, shape (n,), that hold what is asked as the given ones do and lose no more: the same numbers, some maybe unused.

    Work is counted: `sweeps` passes over the rows, then `anneal` proposals a row. The result follows from the arguments alone.
    """
    n = len(classes)
    table = make_table(block)
    partition = make_partition(table, classes, seed)
    count_all(table, partition)
    count = max(2, min(ORDERS, max(sweeps, ORDERS if anneal_ else 0)))
    orders = make_orders(table, count, seed)
    for number in range(sweeps):
        order = orders[number % count]
        if number % 2:
            sweep_swaps(table, partition, order)
        else:
            sweep_moves(table, partition, order)
        repack(partition)
    if anneal_:
        places = np.empty_like(orders)
        for place, order in zip(places, orders, strict=True):
            place[order] = np.arange(n)
        steps = np.exp(np.arange(4096) / 4096 * np.log(100)).astype(np.int64)
        before, best = loss(partition), partition.of.copy()
        anneal(table, partition, orders, places, steps, risks(4096), anneal_ * n, HOT, COLD)
        count_all(table, partition)
        if loss(partition) > before:
            return best.astype(np.int64)
    return partition.of.astype(np.int64)


def make_orders(table: Table, count: int, seed: int) -> Codes:
    """Random lexicographic orders of the rows, shape (count, n): quasi-identifiers in random sequence and direction, odd ones by cell first.

    A key holds as many leading bits as fit 64, equal keys stay in the order of the rows.
    """
    n, q = table.quasi.shape
    generator = np.random.Generator(np.random.PCG64(seed))
    highest = table.quasi.max(axis=0).astype(np.int64) if n else np.zeros(q, np.int64)
    orders = np.empty((count, n), np.int32)
    for number in range(count):
        key = table.cell.astype(np.uint64) if number % 2 else np.zeros(n, np.uint64)
        bits = int(key.max()).bit_length()
        flips = generator.random(q) < 0.5
        for j in generator.permutation(q):
            need = int(highest[j]).bit_length()
            codes = (highest[j] - table.quasi[:, j] if flips[j] else table.quasi[:, j]).astype(np.uint64)
            kept = min(need, 64 - bits)
            key = (key << np.uint64(kept)) | (codes >> np.uint64(need - kept))
            bits += kept
        orders[number] = np.argsort(key, kind="stable")
    return orders
