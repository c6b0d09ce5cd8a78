"""Fragments in words: the places of their values in each sensitive attribute's domain, and their rows."""

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
    """(rows, places of each attribute's values in words) of the fragments with the most rows, at most this many."""
    rows = sum_at(fragment_of, matrix.counts, int(fragment_of.max()) + 1)
    largest = []
    for fragment in np.argsort(-rows, kind="stable")[:most].tolist():
        codes = matrix.codes[fragment_of == fragment]
        words = [in_words(attribute, np.unique(codes[:, attribute.column])) for attribute in attributes]
        largest.append((int(rows[fragment]), words))
    return largest


def in_words(attribute: ResolvedSensitive, codes: IntArray) -> str:
    """Values of one attribute in words: the hierarchy node that holds them, or their places in the domain, from 1.

    A hierarchy's labels come from the user's file. Other values are raw, so the console does not show them. codes:
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
