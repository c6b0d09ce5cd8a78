"""Fragments in words: which values of each sensitive attribute they hold, by their places in its domain, and how many
rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tclose_spark.measures.distances.multiplicity import MultiplicityMatrix, sum_at
from tclose_spark.methods.attributes import ResolvedSensitive
from tclose_spark.table.arrays import IntArray

MOST_NAMED = 4  # places of a set; more are counted


def largest_fragments(
    matrix: MultiplicityMatrix,
    fragment_of: IntArray,
    attributes: Sequence[ResolvedSensitive],
    most: int,
) -> list[tuple[int, list[str]]]:
    """(rows, the places of each attribute's values in words) of the fragments with the most rows, at most so many of
    them.
    """
    rows = sum_at(fragment_of, matrix.counts, int(fragment_of.max()) + 1)
    largest = []
    for fragment in np.argsort(-rows, kind="stable")[:most].tolist():
        codes = matrix.codes[fragment_of == fragment]
        words = [in_words(attribute, np.unique(codes[:, attribute.column])) for attribute in attributes]
        largest.append((int(rows[fragment]), words))
    return largest


def in_words(attribute: ResolvedSensitive, codes: IntArray) -> str:
    """Values of one attribute: the node of a hierarchy that holds them, else their places in the domain (1 is its first
    value).

    A value of a hierarchy stands in a file of the user's; the others are raw values, and not for a console. codes:
    ascending.
    """
    hierarchy = attribute.hierarchy
    if hierarchy is not None:
        height, leaf = hierarchy.common_ancestors(codes[:1], codes[-1:])
        return hierarchy.paths[int(leaf[0])][int(height[0])] + (f" ({len(codes)} values)" if len(codes) > 1 else "")
    named = ["missing" if attribute.domain.values[code] is None else str(code + 1) for code in codes.tolist()]
    if len(named) > 1 and attribute.distance.features.cumulative:
        return f"{named[0]} to {named[-1]}"
    more = len(named) - MOST_NAMED
    return ", ".join(named[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
