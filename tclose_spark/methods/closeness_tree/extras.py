"""Distances of classes in exact integers, kept up to date: which values a class may lose or gain.

With c_v the counts of a class of s rows and N_v those of the table of n, the extra of a value is n c_v - s N_v,
cumulative for an ordered attribute; the numerator of each distance follows from the extras (see `measures.distances`).
When a row joins (sign +1) or leaves (-1), every extra changes by -sign N_v, and that of its value (ordered: of all
values from it on) by sign n besides. So one pass over the extras, and a correction for each value, tell for all values
at once which a class may lose or gain.
"""

from __future__ import annotations

from tclose_spark.kernels import kernel
from tclose_spark.methods.closeness_tree.loads import ANYTHING
from tclose_spark.methods.closeness_tree.partition import EQUAL, HIERARCHICAL, JOIN, ORDERED, Partition, Table


@kernel
def may(t: Table, p: Partition, side: int, c: int, cell: int) -> bool:
    """Whether a row of this cell may leave class c (side LEAVE; it is in it) or join it (JOIN), so that c holds what is
    asked.
    """
    if not p.fresh[side, c]:
        judge(t, p, side, c)
    for s in range(t.column.shape[1]):  # noqa: SIM110
        if not p.allowed[side, c, t.column[cell, s]]:
            return False
    return True


@kernel
def judge(t: Table, p: Partition, side: int, c: int) -> None:
    """Set allowed[side, c] for all values of all attributes, exactly, each as if the others did not count."""
    p.fresh[side, c] = True
    sign = 1 if side == JOIN else -1
    size = p.size[c] + sign
    if size < t.k or size >= t.limits.shape[1]:
        p.allowed[side, c] = False
        return
    for s in range(t.column.shape[1]):
        limit = t.limits[s, size]
        if limit == ANYTHING:
            p.allowed[side, c, t.first[s] : t.first[s + 1]] = True
        elif t.metric[s] == HIERARCHICAL:
            judge_hierarchical(t, p, side, c, s, sign, limit)
        else:
            judge_flat(t, p, side, c, s, sign, limit)
        if sign < 0 and p.present[c, s] <= t.distinct[s]:
            for v in range(t.first[s], t.first[s + 1]):
                if p.counts[c, v] == 1:
                    p.allowed[side, c, v] = False


@kernel
def judge_flat(t: Table, p: Partition, side: int, c: int, s: int, sign: int, limit: int) -> None:
    """Set allowed[side, c] for the values of an equal or ordered attribute: the sum of |extras| as it would be, at most
    limit.

    Invariant of the second pass: numerator is the sum with the values' own changes counted in from v on (ordered) or at
    v only (equal).
    """
    change = sign * t.n
    total = 0
    for v in range(t.first[s], t.first[s + 1]):
        total += abs(p.extra[c, v] - sign * t.expected[v])
    for v in range(t.first[s + 1] - 1, t.first[s] - 1, -1):
        extra = p.extra[c, v] - sign * t.expected[v]
        after = total + abs(extra + change) - abs(extra)
        p.allowed[side, c, v] = after <= limit
        if t.metric[s] == ORDERED:
            total = after


@kernel
def judge_hierarchical(t: Table, p: Partition, side: int, c: int, s: int, sign: int, limit: int) -> None:
    """Set allowed[side, c] for the values of a hierarchical attribute: the nodes above a value are corrected, the
    others stay.
    """
    total = sum_nodes(t, p, c, s, sign)
    change = sign * t.n
    for v in range(t.first[s + 1] - t.first[s]):
        after, node, below = total, v, p.nodes[0, 0, v]
        for h in range(1, t.heights[s] + 1):
            node = t.parents[s, h - 1, node]
            above, more = p.nodes[0, h, node], p.nodes[1, h, node]
            after -= h * min(more, more - above)
            more += max(below + change, 0) - max(below, 0)
            after += h * min(more, more - above - change)
            below = above
        p.allowed[side, c, t.first[s] + v] = after <= limit


@kernel
def sum_nodes(t: Table, p: Partition, c: int, s: int, sign: int) -> int:
    """The numerator of a hierarchical attribute in class c if its size were `sign` larger and its counts as they are.

    Sets p.nodes[0, h, u] and p.nodes[1, h, u]: the extra of node u of height h, and the sum of the positive extras of
    its children.
    """
    m, total = t.first[s + 1] - t.first[s], 0
    p.nodes[:, : t.heights[s] + 1, :m] = 0
    for v in range(m):
        p.nodes[0, 0, v] = p.extra[c, t.first[s] + v] - sign * t.expected[t.first[s] + v]
    for h in range(1, t.heights[s] + 1):
        for v in range(m):
            node = t.parents[s, h - 1, v]
            if node >= 0:
                p.nodes[0, h, node] += p.nodes[0, h - 1, v]
                p.nodes[1, h, node] += max(p.nodes[0, h - 1, v], 0)
        for node in range(m):
            total += h * min(p.nodes[1, h, node], p.nodes[1, h, node] - p.nodes[0, h, node])
    return total


@kernel
def may_swap(t: Table, p: Partition, c: int, leaving: int, joining: int) -> bool:
    """Whether class c still holds what is asked when a row of cell `leaving` gives place to one of cell `joining`."""
    for s in range(t.column.shape[1]):
        out, into = t.column[leaving, s], t.column[joining, s]
        if out == into:
            continue
        if p.present[c, s] - (p.counts[c, out] == 1) + (p.counts[c, into] == 0) < t.distinct[s]:
            return False
        limit = t.limits[s, p.size[c]]
        if limit != ANYTHING and swapped_numerator(t, p, c, s, out, into) > limit:
            return False
    return True


@kernel
def swapped_numerator(t: Table, p: Partition, c: int, s: int, out: int, into: int) -> int:
    """The numerator of attribute s in class c with one row of column `out` less and one of column `into` more."""
    total = p.total[c, s]
    if t.metric[s] == EQUAL:
        total += abs(p.extra[c, out] - t.n) - abs(p.extra[c, out])
        return int(total + abs(p.extra[c, into] + t.n) - abs(p.extra[c, into]))
    if t.metric[s] == ORDERED:
        change = -t.n if out < into else t.n
        for v in range(min(out, into), max(out, into)):
            total += abs(p.extra[c, v] + change) - abs(p.extra[c, v])
        return int(total)
    p.extra[c, out] -= t.n
    p.extra[c, into] += t.n
    total = sum_nodes(t, p, c, s, 0)
    p.extra[c, out] += t.n
    p.extra[c, into] -= t.n
    return total


@kernel
def change_extras(t: Table, p: Partition, c: int, cell: int, sign: int) -> None:
    """A row of this cell has joined class c (sign +1) or left it (-1), and p.size[c] says so already."""
    for s in range(t.column.shape[1]):
        own, total = t.column[cell, s], 0
        p.counts[c, own] += sign
        p.present[c, s] += (p.counts[c, own] == 1) if sign > 0 else -(p.counts[c, own] == 0)
        for v in range(t.first[s], t.first[s + 1]):
            p.extra[c, v] -= sign * t.expected[v]
            if v == own or (v > own and t.metric[s] == ORDERED):
                p.extra[c, v] += sign * t.n
            total += abs(p.extra[c, v])
        p.total[c, s] = total if t.metric[s] != HIERARCHICAL else 0
    p.fresh[:, c] = False
