"""How wide a label is, for the kernels: see `methods.widths`."""

from __future__ import annotations

from typing import Any

from tclose_spark.kernels import kernel

NUMBER, NODE, VALUE = 0, 1, 2


@kernel
def width(j: int, lo: int, hi: int, kinds: Any, missing: Any, place: Any, nodes: Any, shares: Any) -> float:
    """The width of the label that covers the codes lo..hi of quasi-identifier j: 0 for one value, 1 for the whole
    domain.

    The arrays are those of `Widths`. Work is proportional to the height of j's hierarchy, whatever the domain.
    """
    if lo == hi:
        return 0.0
    if missing[j] and lo == 0:
        return 1.0
    if kinds[j] == NUMBER:
        return float(place[j, hi] - place[j, lo])
    if kinds[j] == NODE:
        for height in range(nodes.shape[1]):
            if nodes[j, height, lo] == nodes[j, height, hi]:
                return float(shares[j, height, lo])
    return 1.0
