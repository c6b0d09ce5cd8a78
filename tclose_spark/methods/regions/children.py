"""The codes that occur in a part of a block, and into which children a split divides them."""

from __future__ import annotations

from tclose_spark.kernels import kernel
from tclose_spark.kernels.sorting import heap_sort
from tclose_spark.methods.regions.axes import NODES, NUMBERS, SETS, VALUES
from tclose_spark.methods.regions.space import CutRules, CutWorkspace
from tclose_spark.table.arrays import IntArray

CROWDED = 8  # a domain of more codes than so many times the rows is sorted, else counted


@kernel
def order_rows(j: int, rows: IntArray, rules: CutRules, space: CutWorkspace) -> None:
    """space.order[j]: the rows in the order of their codes of j, those of one code as they stand; with space.codes,
    space.below and space.length of j.

    rows: their numbers in the block, shape (size,).
    """
    column, order, size, length = rules.columns[j], space.order[j], len(rows), 0
    codes, below, tally, domain = space.codes[j], space.below[j], space.tally, rules.widths.domains[j]
    if domain <= CROWDED * size:
        for i in range(size):
            tally[column[rows[i]] + 1] += 1
        for code in range(domain):
            tally[code + 1] += tally[code]
        for i in range(size):
            code = column[rows[i]]
            order[tally[code]] = i
            tally[code] += 1
        for code in range(domain + 1):
            tally[code] = 0
    else:
        for i in range(size):
            space.keys[i] = column[rows[i]] * size + i
        heap_sort(space.keys[:size])
        for i in range(size):
            order[i] = space.keys[i] % size
    for i in range(size):
        code = column[rows[order[i]]]
        if length == 0 or codes[length - 1] != code:
            codes[length] = code
            below[length] = i
            length += 1
    below[length] = size
    space.length[j] = length


@kernel
def common_height(j: int, first: int, last: int, rules: CutRules) -> int:
    """The lowest height at which two codes of a hierarchy have one node."""
    nodes = rules.widths.nodes[j]
    for height in range(len(nodes)):
        if nodes[height, first] == nodes[height, last]:
            return height
    return len(nodes) - 1


@kernel
def divide_nodes(j: int, rules: CutRules, space: CutWorkspace) -> int:
    """The children of the node of a hierarchy that a part lies in, into space.starts; how many."""
    codes, length, starts, nodes = space.codes[j], space.length[j], space.starts, rules.widths.nodes[j]
    first = 1 if rules.widths.missing[j] and codes[0] == 0 else 0
    height = common_height(j, codes[first], codes[length - 1], rules)
    if first == 1 and height < rules.axes.root[j]:
        starts[0], starts[1], starts[2] = 0, 1, length
        return 2
    count = 0
    for x in range(length):
        if x <= first or nodes[height - 1, codes[x]] != nodes[height - 1, codes[x - 1]]:
            starts[count] = x
            count += 1
    starts[count] = length
    return count


@kernel
def find_children(j: int, cut: int, rules: CutRules, space: CutWorkspace) -> int:
    """The children into which a split divides a part, into space.starts: places among its codes of j where they begin,
    then how many codes there are; the number of children, 0 if their labels would meet.

    cut: of NUMBERS and SETS the place where the upper side begins (see `first_cut`); of others it says nothing.
    """
    codes, length, starts = space.codes[j], space.length[j], space.starts
    if length < 2:
        return 0
    if rules.axes.kinds[j] == NODES:
        return divide_nodes(j, rules, space)
    if rules.axes.kinds[j] == VALUES:
        for x in range(length + 1):
            starts[x] = x
        return int(length)
    first = 1 if rules.widths.missing[j] and codes[0] == 0 else 0
    starts[0], starts[1], starts[2] = 0, cut, length
    if cut == first and first == 1 and (rules.axes.kinds[j] == NUMBERS or length == 2):
        return 2
    if cut <= first or rules.axes.high[j, codes[cut - 1]] >= rules.axes.low[j, codes[cut]]:
        return 0
    if first == 0:
        return 2
    if rules.axes.kinds[j] == SETS:
        starts[1], starts[2], starts[3] = 1, cut, length
        return 3
    return 0


@kernel
def first_cut(j: int, rules: CutRules, space: CutWorkspace) -> int:
    """The first place of a cut that may be tried: 1, beyond the missing value where that cannot leave alone."""
    missing = rules.widths.missing[j] and space.codes[j, 0] == 0
    return 2 if missing and rules.axes.kinds[j] == SETS and space.length[j] > 2 else 1


@kernel
def last_cut(j: int, rules: CutRules, space: CutWorkspace) -> int:
    """The last place: the missing value leaves numbers before any other cut; hierarchies and values have one split."""
    if rules.axes.kinds[j] >= NODES:
        return 1
    missing = rules.widths.missing[j] and space.codes[j, 0] == 0
    return 1 if missing and rules.axes.kinds[j] == NUMBERS else int(space.length[j]) - 1
