"""How wide a label is, for the kernels: `methods.widths` makes the arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose_spark.kernels import kernel
from tclose_spark.kernels.structures import structure

NUMBER, NODE, VALUE = 0, 1, 2


@structure
class LabelWidths(NamedTuple):
    """How wide the label is that covers the codes lo..hi of a quasi-identifier, as its information loss (NCP, 0 to 1).

    Codes are dense: 0..domains[j]-1 in the order of numbers, or of the hierarchy's leaves. Three kinds: of a NUMBER the
    width is place[hi] - place[lo]; of a NODE of a hierarchy it is the share at the lowest height at which both codes
    have one node; of a VALUE without a hierarchy it is 1. A single code is 0 wide. What counts of it is weighted.
    """

    kinds: NDArray[np.int8]  # NUMBER, NODE or VALUE, shape (q,)
    domains: NDArray[np.int64]  # how many codes there are, shape (q,)
    # whether code 0 is the missing value: a range from it to any other code is as wide as the whole domain, 1; shape
    # (q,)
    missing: NDArray[np.bool_]
    place: NDArray[np.float64]  # of each code of a NUMBER, shape (q, longest domain)
    # the node at each height above each code, shape (q, highest hierarchy + 1, longest domain)
    nodes: NDArray[np.int32]
    # the loss of that node, 0 at height 0, shape (q, highest hierarchy + 1, longest domain)
    shares: NDArray[np.float64]
    weights: NDArray[np.float64]  # of each quasi-identifier, 1 on the mean, shape (q,)


@kernel
def width(j: int, lo: int, hi: int, widths: LabelWidths) -> float:
    """The weighted width of the label that covers the codes lo..hi of quasi-identifier j: 0 for one value, its weight
    for the whole domain.

    Work is proportional to the height of j's hierarchy, whatever the domain.
    """
    if lo == hi:
        return 0.0
    weight = float(widths.weights[j])
    if widths.missing[j] and lo == 0:
        return weight
    if widths.kinds[j] == NUMBER:
        return float(weight * (widths.place[j, hi] - widths.place[j, lo]))
    if widths.kinds[j] == NODE:
        for height in range(widths.nodes.shape[1]):
            if widths.nodes[j, height, lo] == widths.nodes[j, height, hi]:
                return float(weight * widths.shares[j, height, lo])
    return weight
