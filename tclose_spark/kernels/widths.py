"""The width of labels for kernels. `methods.widths` makes the arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose_spark.kernels import kernel
from tclose_spark.kernels.structures import structure

NUMBER = 0
NODE = 1
VALUE = 2


@structure
class LabelWidths(NamedTuple):
    """The data for the width of labels: of the codes lo..hi of a quasi-identifier, as information
    loss (NCP, 0 to 1).

    Codes are dense: 0..domains[j]-1 in the order of numbers or of the hierarchy's leaves. The width
    is place[hi] - place[lo] for a NUMBER, the share at the lowest height with one node for both
    codes for a NODE of a hierarchy, and 1 for a VALUE without a hierarchy. A single code has width
    0. Widths are weighted, those beyond `reach` more.
    """

    kinds: NDArray[np.int8]  # NUMBER, NODE or VALUE, shape (q,)
    domains: NDArray[np.int64]  # how many codes there are, shape (q,)
    # Whether code 0 is the missing value; with another code the width is 1, shape (q,).
    missing: NDArray[np.bool_]
    place: NDArray[np.float64]  # of each code of a NUMBER, shape (q, longest domain)
    # Above each code at each height, shape (q, highest hierarchy + 1, longest domain).
    nodes: NDArray[np.int32]
    shares: NDArray[np.float64]  # the loss of that node, 0 at height 0, same shape
    weights: NDArray[np.float64]  # of each quasi-identifier, 1 on the mean, shape (q,)
    beyond: NDArray[np.float64]  # the weight of labels that are coarser than allowed, shape (q,)
    # The highest code that each may share a label with, shape (q, longest domain).
    reach: NDArray[np.int32]


@kernel
def width(j: int, lo: int, hi: int, widths: LabelWidths) -> float:
    """The weighted width of the label of the codes lo..hi of quasi-identifier j: 0 for one value,
    its weight for the whole domain if it is not too coarse. Work is proportional to the height of
    j's hierarchy.
    """
    if lo == hi:
        return 0.0
    weight = float(widths.weights[j]) if hi <= widths.reach[j, lo] else float(widths.beyond[j])
    if widths.missing[j] and lo == 0:
        return weight
    if widths.kinds[j] == NUMBER:
        return float(weight * (widths.place[j, hi] - widths.place[j, lo]))
    if widths.kinds[j] == NODE:
        for height in range(widths.nodes.shape[1]):
            if widths.nodes[j, height, lo] == widths.nodes[j, height, hi]:
                return float(weight * widths.shares[j, height, lo])
    return weight
