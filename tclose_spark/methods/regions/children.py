"""The codes that occur in a part of a block, and the children into which a split divides the
part.
"""

from __future__ import annotations

from tclose_spark.kernels import kernel
from tclose_spark.kernels.sorting import find_present, sort_rows
from tclose_spark.methods.regions.block import NODES, NUMBERS, SETS, VALUES
from tclose_spark.methods.regions.workspace import CutInputs, CutWorkspace
from tclose_spark.table.arrays import IntArray


@kernel
def order_rows(j: int, rows: IntArray, inputs: CutInputs, work: CutWorkspace) -> None:
    """Set work.order[j] to the order of a part's rows by their codes of j, and work.present to
    these codes.

    rows: their numbers in the block, shape (size,).
    """
    column = work.column[: len(rows)]
    size = len(rows)
    for i in range(size):
        column[i] = inputs.columns[j, rows[i]]
    find_present(j, column, inputs.widths.domains[j], work.tally, work.keys, work.present)
    sort_rows(j, column, work.present, work.tally, work.order[j])


@kernel
def common_height(j: int, first: int, last: int, inputs: CutInputs) -> int:
    """The lowest height of a hierarchy at which two codes have the same node."""
    nodes = inputs.widths.nodes[j]
    for height in range(len(nodes)):
        if nodes[height, first] == nodes[height, last]:
            return height
    return len(nodes) - 1


@kernel
def divide_nodes(j: int, inputs: CutInputs, work: CutWorkspace) -> int:
    """Set work.starts for the children of the lowest hierarchy node that covers a part; how many
    there are.
    """
    codes = work.present.codes[j]
    length = work.present.length[j]
    starts = work.starts
    nodes = inputs.widths.nodes[j]
    first = 1 if inputs.widths.missing[j] and codes[0] == 0 else 0
    height = common_height(j, codes[first], codes[length - 1], inputs)
    if first == 1 and height < inputs.axes.root[j]:
        starts[0] = 0
        starts[1] = 1
        starts[2] = length
        return 2
    count = 0
    for x in range(length):
        if x <= first or nodes[height - 1, codes[x]] != nodes[height - 1, codes[x - 1]]:
            starts[count] = x
            count += 1
    starts[count] = length
    return count


@kernel
def find_children(j: int, cut: int, inputs: CutInputs, work: CutWorkspace) -> int:
    """Set work.starts to the places among a part's codes of j where a split's children begin, and
    last to the number of codes; how many children there are, 0 if their labels would meet.

    cut: for NUMBERS and SETS the place where the upper side begins (see `first_cut`); other kinds
        have one split.
    """
    codes = work.present.codes[j]
    length = work.present.length[j]
    starts = work.starts
    if length < 2:
        return 0
    if inputs.axes.kinds[j] == NODES:
        return divide_nodes(j, inputs, work)
    if inputs.axes.kinds[j] == VALUES:
        for x in range(length + 1):
            starts[x] = x
        return int(length)
    first = 1 if inputs.widths.missing[j] and codes[0] == 0 else 0
    starts[0] = 0
    starts[1] = cut
    starts[2] = length
    if cut == first and first == 1 and (inputs.axes.kinds[j] == NUMBERS or length == 2):
        return 2
    if cut <= first or inputs.axes.high[j, codes[cut - 1]] >= inputs.axes.low[j, codes[cut]]:
        return 0
    if first == 0:
        return 2
    if inputs.axes.kinds[j] == SETS:
        starts[1] = 1
        starts[2] = cut
        starts[3] = length
        return 3
    return 0


@kernel
def first_cut(j: int, inputs: CutInputs, work: CutWorkspace) -> int:
    """The first place for a cut. It is 2 if the missing value, at place 0, cannot be split off
    alone.
    """
    missing = inputs.widths.missing[j] and work.present.codes[j, 0] == 0
    return 2 if missing and inputs.axes.kinds[j] == SETS and work.present.length[j] > 2 else 1


@kernel
def last_cut(j: int, inputs: CutInputs, work: CutWorkspace) -> int:
    """The last place for a cut. Numbers are first separated from a missing value; hierarchies and
    values have one split.
    """
    if inputs.axes.kinds[j] >= NODES:
        return 1
    missing = inputs.widths.missing[j] and work.present.codes[j, 0] == 0
    return 1 if missing and inputs.axes.kinds[j] == NUMBERS else int(work.present.length[j]) - 1


@kernel
def divide(j: int, at: int, rows: IntArray, inputs: CutInputs, work: CutWorkspace) -> int:
    """Sort the rows of a part by a split's children and set work.ends; how many children
    there are.
    """
    order_rows(j, rows, inputs, work)
    parts = find_children(j, at, inputs, work)
    for x in range(parts + 1):
        work.ends[x] = work.present.below[j, work.starts[x]]
    for i in range(len(rows)):
        work.moved[i] = rows[work.order[j, i]]
    for i in range(len(rows)):
        rows[i] = work.moved[i]
    return parts
