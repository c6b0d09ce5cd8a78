"""How often an adversary with the raw quasi-identifiers links a sampled row to its class."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tclose_spark.in_memory.measure import PublishedClasses
from tclose_spark.measures.disclosure.linkage import Distances, Linkage, link, of_numbers, of_values
from tclose_spark.measures.loss.query_error import CoveredRanges
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.table.labels import MISSING, decode_numbers
from tclose_spark.table.rows import Rows
from tclose_spark.usefulness.queries import spread_labels

MOST_LINKED = 1_000  # of the sampled rows


def linkage_of(attributes: ResolvedAttributes, rows: Rows, classes: PublishedClasses) -> Linkage:
    """The linkage of the first of these rows with the classes of all of them."""
    first = rows.take(np.arange(min(len(rows), MOST_LINKED)))
    own = classes.of_row[: len(first)]
    distances = list(_distances(attributes, first, classes))
    every = np.arange(len(classes.sizes))
    return link(distances, lambda places: own[places][:, None] == every, len(first), classes.sizes)


def _distances(
    attributes: ResolvedAttributes, rows: Rows, classes: PublishedClasses
) -> Iterator[Distances]:
    """The distances by each quasi-identifier."""
    for q, codes in zip(attributes.quasi_identifiers, rows.quasi, strict=True):
        spread, label = spread_labels(q, classes.labels[q.name])
        if q.domain.kind != "category":
            assert isinstance(spread, CoveredRanges)
            values = (
                decode_numbers(codes) if q.domain.kind == "double" else codes.astype(np.float64)
            )
            yield of_numbers(
                np.where(codes == MISSING, np.nan, values), spread.low[label], spread.high[label]
            )
            continue
        known, of_row = np.unique(codes, return_inverse=True)
        shares = np.stack([spread.shares(code, code) for code in known.tolist()])
        with np.errstate(divide="ignore"):
            widths = np.where(
                shares == 1, 0.0, np.minimum(1 / (shares * len(q.domain.values)), 1.0)
            )
        yield of_values(widths, of_row, label)
