"""Widths of quasi-identifiers' labels as plain arrays for kernels."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tclose_spark.kernels.widths import NODE, NUMBER, VALUE, LabelWidths
from tclose_spark.methods.attributes import ResolvedQuasi
from tclose_spark.table.arrays import Codes, IntArray, ranked
from tclose_spark.table.hierarchies.hierarchy import ROOT
from tclose_spark.table.labels import MISSING, NumericLabels, encode_numbers, range_shares
from tclose_spark.table.rows import Rows


def reach_of(quasi: ResolvedQuasi, codes: IntArray) -> IntArray:
    """The place of the highest code that each code may share a label with, shape (codes,). A
    missing value shares none.

    codes: of the values that occur, ascending, MISSING first. The label of a set is taken for that
        of all codes between its lowest and its highest one.
    """
    limit = quasi.coarsest
    last = np.full(len(codes), len(codes) - 1)
    if limit is None or not limit.broken_by(ROOT):
        return last
    known = codes[codes != MISSING]
    if isinstance(quasi.labeller, NumericLabels):
        lows, highs = (
            [Fraction(str(end)) for end in ends] for ends in quasi.labeller.ends(known, known)
        )
        longest = limit.limit * quasi.domain.scale
        reach = np.array([bisect_right(highs, low + longest) - 1 for low in lows], dtype=np.int64)
    elif quasi.hierarchy is not None:
        shared = [limit.coarsest_within(quasi.hierarchy.paths[code]) for code in known.tolist()]
        ends = np.flatnonzero(
            [one != other for one, other in zip(shared, [*shared[1:], None], strict=True)],
        )
        reach = ends[np.searchsorted(ends, np.arange(len(known)))]
    else:  # a set of values, or one value; `*` is no set
        most = min(int(limit.limit), quasi.domain.present - 1) if quasi.sets else 1
        reach = np.minimum(np.arange(len(known)) + max(most, 1) - 1, len(known) - 1)
    missing = len(codes) - len(known)
    return np.concatenate([np.zeros(missing, dtype=np.int64), reach + missing])


TOO_COARSE = 30.0
"""How many times its width a label beyond `coarsest` counts, so that methods avoid it before all
else. Far more would leave no worth to closeness ratios, whose price is in widths.
"""


@dataclass(frozen=True)
class QuasiWidths:
    """Computes widths for any rows of a run. It holds domains and hierarchies, and does not grow
    with the rows.
    """

    quasi_identifiers: tuple[ResolvedQuasi, ...]

    def of(self, rows: Rows) -> tuple[Codes, LabelWidths, list[IntArray]]:
        """(the rows' dense codes, shape (n, q); their widths; the codes that dense codes stand for,
        ascending, by quasi-identifier).
        """
        coded = [ranked(column) for column in rows.quasi]  # MISSING is the smallest code there is
        codes = [known for known, _ in coded]
        dense = [code for _, code in coded]
        parts = [
            _width(quasi, known) for quasi, known in zip(self.quasi_identifiers, codes, strict=True)
        ]
        longest = max(len(known) for known in codes)
        highest = max(len(part["nodes"]) for part in parts)
        q = len(parts)
        place = np.zeros((q, longest))
        shares = np.ones((q, highest, longest))
        nodes = np.zeros((q, highest, longest), dtype=np.int32)
        reach = np.full((q, longest), longest, dtype=np.int32)
        for j, part in enumerate(parts):
            place[j, : len(part["place"])] = part["place"]
            levels, values = part["nodes"].shape
            nodes[j, :levels, :values] = part["nodes"]
            shares[j, :levels, :values] = part["shares"]
            reach[j, : len(codes[j])] = reach_of(self.quasi_identifiers[j], codes[j])
        widths = LabelWidths(
            kinds=np.array([part["kind"] for part in parts], dtype=np.int8),
            domains=np.array([len(known) for known in codes], dtype=np.int64),
            missing=np.array([known[0] == MISSING for known in codes]),
            place=place,
            nodes=nodes,
            shares=shares,
            weights=np.array([quasi.weight for quasi in self.quasi_identifiers]),
            beyond=np.array([quasi.weight * TOO_COARSE for quasi in self.quasi_identifiers]),
            reach=reach,
        )
        return np.ascontiguousarray(np.stack(dense, axis=1), dtype=np.int32), widths, codes


def _width(quasi: ResolvedQuasi, codes: IntArray) -> dict[str, Any]:
    """The width tables of one quasi-identifier over these codes (see LabelWidths)."""
    domain = quasi.domain
    hierarchy = quasi.hierarchy
    present = codes[1:] if codes[0] == MISSING else codes
    pad = len(codes) - len(present)
    none = {
        "place": np.zeros(0),
        "nodes": np.zeros((1, 0), dtype=np.int32),
        "shares": np.zeros((1, 0)),
    }
    if domain.kind != "category":
        low = (
            encode_numbers(np.array([domain.low]))
            if domain.kind == "double"
            else np.array([domain.low], dtype=np.int64)
        )
        place = range_shares(np.repeat(low, len(present)), present, domain)
        return {**none, "kind": NUMBER, "place": np.concatenate([np.zeros(pad), place])}
    if hierarchy is not None:
        nodes = np.stack(
            [np.concatenate([np.full(pad, -1), node[present]]) for node in hierarchy.nodes],
        ).astype(np.int32)
        shares = np.stack(
            [np.concatenate([np.ones(pad), share[present]]) for share in hierarchy.shares],
        )
        shares[0] = 0.0
        return {**none, "kind": NODE, "nodes": nodes, "shares": shares}
    if quasi.sets:  # a set of b - a + 1 values at most
        place = present / max(domain.present, 1)
        return {**none, "kind": NUMBER, "place": np.concatenate([np.zeros(pad), place])}
    return {**none, "kind": VALUE}
