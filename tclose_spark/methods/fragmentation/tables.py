"""The tables that `tclose plan` prints for fragmentation, and fragments in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tclose_spark.measures.distances.histograms import MultiplicityMatrix, sum_at
from tclose_spark.methods.attributes import ResolvedSensitive
from tclose_spark.methods.fragmentation.settings import Fragmentation
from tclose_spark.methods.tables import MERGE_NOTE, empty_table, headings_with_t
from tclose_spark.runfile.attributes import SensitiveAttribute
from tclose_spark.runfile.text import first_few
from tclose_spark.table.arrays import IntArray

if TYPE_CHECKING:
    from rich.table import Table

MOST_NAMED = 4  # places of a set; more are counted


def candidates_table(
    name: str,
    plan: Mapping[str, Any],
    settings: Fragmentation,
    sensitive: Mapping[str, SensitiveAttribute],
) -> tuple[Table, list[str]]:
    """The fragmentations that were tried: their aggregate bounds, their class sizes, and their
    losses.
    """
    title = f"{name}: fragmentations, their aggregate bounds, and the classes dealt from them"
    ends = "class size", "classes", "rests on", "loss (NCP) on the sample", ""
    table = empty_table(title, "fragments", *headings_with_t(sensitive), *ends)
    chosen = next(c for c in plan["candidates"] if c["chosen"])
    for c in plan["candidates"]:
        bounds = (f"{b:.4f}" for b in c["bounds"])
        rests = "measured distances" if c["measured"] else "bounds"
        cells = f"{c['fragments']:,}", *bounds, f"{c['class_size']:,}", f"{c['classes']:,}", rests
        alternative = (
            "to compare: sizing: measured" if c["measured"] and not chosen["measured"] else ""
        )
        table.add_row(
            *cells,
            f"{c['loss_on_sample']:.3f}",
            "<- chosen" if c["chosen"] else alternative,
        )
    if chosen["measured"]:
        notes = [
            "The class size was measured on the sample. Classes of the table that break a t are "
            "joined, and the verification decides.",
        ]
        if chosen["fragments"] == 1:
            notes.append(
                "One fragment: quasi-identifiers alone form classes that are large enough to be "
                "near the table.",
            )
        return table, [*notes, MERGE_NOTE]
    smallest = min(c["smallest"] for c in plan["candidates"] if not c["measured"])
    notes = [
        f"The smallest k that this t allows, of these fragmentations: {smallest:,} (by the bounds).",
    ]
    if chosen["classes"] == 1:
        better = "proportional sizing" if settings.sizing == "gcd" else "a larger t"
        notes.append(f"One class of all rows is dealt; {better} makes smaller classes.")
    return table, [*notes, MERGE_NOTE]


def fragments_table(plan: Mapping[str, Any], sensitive: Mapping[str, SensitiveAttribute]) -> Table:
    """The largest fragments of the chosen fragmentation, whose rows may replace each other. It
    shows no raw value.
    """
    shown = plan["largest_fragments"]
    every = plan["fragments"]
    title = (
        "The fragments"
        if len(shown) == every
        else f"The largest {len(shown)} of the {every:,} fragments"
    )
    table = empty_table(
        f"{title} chosen",
        "rows",
        *[f"{name} (places in its domain)" for name in sensitive],
    )
    for fragment in shown:
        table.add_row(f"{fragment['rows']:,}", *fragment["values"])
    return table


def largest_fragments(
    matrix: MultiplicityMatrix,
    fragment_of: IntArray,
    attributes: Sequence[ResolvedSensitive],
    most: int,
) -> list[tuple[int, list[str]]]:
    """(rows, places of each attribute's values in words) of the fragments with the most rows, at
    most this many.
    """
    rows = sum_at(fragment_of, matrix.counts, int(fragment_of.max()) + 1)
    largest = []
    for fragment in np.argsort(-rows, kind="stable")[:most].tolist():
        codes = matrix.codes[fragment_of == fragment]
        words = [
            in_words(attribute, np.unique(codes[:, attribute.column])) for attribute in attributes
        ]
        largest.append((int(rows[fragment]), words))
    return largest


def in_words(attribute: ResolvedSensitive, codes: IntArray) -> str:
    """Values of one attribute in words: the hierarchy node that holds them, or their places in the
    domain, from 1.

    A hierarchy's labels come from the user's file. Other values are raw, so the console does not
    show them. codes: ascending.
    """
    hierarchy = attribute.hierarchy
    if hierarchy is not None:
        height, leaf = hierarchy.common_ancestors(codes[:1], codes[-1:])
        return hierarchy.paths[int(leaf[0])][int(height[0])] + (
            f" ({len(codes)} values)" if len(codes) > 1 else ""
        )
    named = [
        "missing" if attribute.domain.values[code] is None else str(code + 1)
        for code in codes.tolist()
    ]
    if len(named) > 1 and attribute.distance.features.cumulative:
        return f"{named[0]} to {named[-1]}"
    return first_few(named, MOST_NAMED)
