"""Parts of a table as tables of their own, and what keeps rows of one person together."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from tclose_spark.errors import ConfigurationError
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.class_requirement import distance_over
from tclose_spark.runfile.text import first_few
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.domains import remaining_values

MOST_NAMED = 3  # quasi-identifiers of a message


def of_first_rows(attributes: ResolvedAttributes) -> ResolvedAttributes:
    """The attributes of a table with the first row of each person, whose rows are its people."""
    first = attributes.counted.of_cell
    likened = None if attributes.likened is None else attributes.likened * first
    return replace(
        only_rows(with_cell_rows(attributes, attributes.cell_rows * first)),
        likened=likened,
    )


def only_rows(attributes: ResolvedAttributes) -> ResolvedAttributes:
    """The attributes of the table if nothing but rows counts."""
    return replace(attributes, units=attributes.units[:1], together=False, varying=())


def with_cell_rows(attributes: ResolvedAttributes, rows: IntArray) -> ResolvedAttributes:
    """The attributes of a part of a table, with the part's distributions. rows: of the part by
    cell, shape (cells,).
    """
    sensitive = []
    for a in attributes.sensitive:
        counts = np.bincount(attributes.cells[:, a.column], rows, len(a.domain.values)).astype(
            np.int64,
        )
        domain = replace(a.domain, counts=tuple(counts.tolist()))
        sensitive.append(
            replace(a, domain=domain, distance=a.distance.of(counts, a.domain.values, a.hierarchy)),
        )
    return replace(attributes, rows=int(rows.sum()), sensitive=tuple(sensitive), cell_rows=rows)


def with_remaining_values(attributes: ResolvedAttributes, rows: IntArray) -> ResolvedAttributes:
    """The attributes over the domains that a release of a part of the table has (see
    `remaining_values`). rows: of the part by cell, shape (cells,). Values that the part lacks have
    code 0.
    """
    cells = attributes.cells.copy()
    sensitive = []
    for a in attributes.sensitive:
        if a.order is None or not rows.any():
            sensitive.append(a)
            continue
        counts = np.bincount(attributes.cells[:, a.column], rows, len(a.domain.values)).astype(
            np.int64,
        )
        left = remaining_values(a.domain, counts, a.order)
        code = np.full(len(counts), -1, dtype=np.int64)
        code[left] = np.arange(len(left))
        cells[:, a.column] = np.maximum(code, 0)[attributes.cells[:, a.column]]
        values = tuple(a.domain.values[i] for i in left)
        domain = replace(a.domain, values=values, counts=tuple(counts[left].tolist()))
        sensitive.append(replace(a, domain=domain, needs=a.needs.recoded(code)))
    return replace(attributes, cells=cells, sensitive=tuple(sensitive))


def distances_of(attributes: ResolvedAttributes, rows: IntArray) -> list[Fraction]:
    """How far a part of the table is from the whole, by sensitive attribute: the distance over
    rows, or that over people with its margin if it is larger. rows: of the part by cell, shape
    (cells,).
    """
    some = np.flatnonzero(rows)
    found = []
    _, *others = attributes.spread_units
    for a in attributes.sensitive:
        values = attributes.cells[some, a.column]
        part = Histograms.tally(np.zeros_like(some), values, rows[some], 1, len(a.domain.values))
        numerator = int(a.distance.numerators(part)[0])
        far = Fraction(numerator, a.distance.scale * attributes.rows * int(rows.sum()))
        for unit in others:
            weights: Any = rows[some] * unit.shares[some]
            spread = Histograms.tally(np.zeros_like(some), values, weights, 1, len(a.domain.values))
            over = float(distance_over(unit, attributes, a).distances(spread)[0])
            far = max(far, Fraction(over + unit.margin(len(a.domain.values))))
        found.append(far)
    return found


def require_constant(attributes: ResolvedAttributes) -> None:
    """Raises ConfigurationError if all rows of a person must be in one class, and their
    quasi-identifiers differ. For methods that assign rows to classes by their quasi-identifiers.
    """
    if not any(attributes.varying):
        return
    varying = zip(attributes.quasi_identifiers, attributes.varying, strict=True)
    found = [f"{quasi.name!r} (of {people:,} people)" for quasi, people in varying if people]
    raise ConfigurationError(
        f"attributes.person: rows of one person differ in {first_few(found, MOST_NAMED)}, so this method "
        "cannot keep them in one class; use method: {name: closeness_tree} with overlap: "
        "allowed, or rows: apart",
    )
