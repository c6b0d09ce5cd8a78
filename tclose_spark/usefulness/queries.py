"""Query error of a release: random counts of the raw rows, and their estimates from the release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from tclose_spark.in_memory.release import PublishedClasses, Released
from tclose_spark.in_memory.sample import ComparedTable
from tclose_spark.measures.loss.information_loss import interval_ends, set_members
from tclose_spark.measures.loss.query_error import (
    CountQuery,
    CoveredRanges,
    CoveredSets,
    CoveredValues,
    GroupedRelease,
    HeldValues,
    Range,
    UniformRelease,
    count,
    draw_queries,
    relative_errors,
)
from tclose_spark.methods.attributes import ResolvedAttributes, ResolvedQuasi
from tclose_spark.runfile.quantities import parse_quantity
from tclose_spark.table.arrays import FloatArray, IntArray
from tclose_spark.table.dictionaries import coded, codes_of
from tclose_spark.table.domains import QuasiDomain
from tclose_spark.table.hierarchies.hierarchy import ROOT
from tclose_spark.table.labels import MISSING, decode_numbers
from tclose_spark.table.rows import Rows

QUERIES = 1_000
SEED = 2026
POINTS = 0.5  # share of conditions on one value of a quasi-identifier with few values
MOST_POINTS = 100  # values of a number of which one is asked for; of more, few rows have one


@dataclass(frozen=True, kw_only=True)
class QueryError:
    """Queries over the raw rows of a table, with their answers: a `Measure`."""

    queries: Sequence[CountQuery]
    answers: Sequence[int]

    @staticmethod
    def of(table: ComparedTable, attributes: ResolvedAttributes) -> QueryError:
        """Random queries over these rows."""
        rows = table.rows
        sensitive = sensitive_codes(table.rows, attributes)
        widening = _Widening(attributes, rows)
        queries = draw_queries(
            rows.quasi,
            sensitive,
            widening.of_quasi,
            widening.of_sensitive,
            QUERIES,
            SEED,
        )
        return QueryError(
            queries=queries,
            answers=[count(query, rows.quasi, sensitive) for query in queries],
        )

    def __call__(
        self,
        released: Released,
        classes: PublishedClasses,
        attributes: ResolvedAttributes,
    ) -> Mapping[str, float]:
        """The median and the ninth decile of the relative errors."""
        read = spread_release(released, classes, attributes)
        kinds = [q.domain.kind for q in attributes.quasi_identifiers]

        def number(i: int, code: int) -> float:
            return (
                float(decode_numbers(np.array([code]))[0]) if kinds[i] == "double" else float(code)
            )

        return self._errors([read.estimate(query, number) for query in self.queries])

    def of_groups(
        self,
        rows: Rows,
        group: IntArray,
        attributes: ResolvedAttributes,
    ) -> Mapping[str, float]:
        """The same of a release of exact quasi-identifiers. rows: whole classes; group: of each
        row.
        """
        released = GroupedRelease(
            quasi=rows.quasi,
            sensitive=sensitive_codes(rows, attributes),
            group=group,
        )
        return self._errors(list(map(released.estimate, self.queries)))

    def _errors(self, estimates: Sequence[float]) -> Mapping[str, float]:
        errors = relative_errors(estimates, self.answers)
        return {
            "query_error": float(np.median(errors)),
            "query_error_90": float(np.quantile(errors, 0.9)),
        }


def sensitive_codes(rows: Rows, attributes: ResolvedAttributes) -> list[IntArray]:
    """The codes of each sensitive attribute, shapes (rows,)."""
    return [attributes.cells[rows.cell, a.column] for a in attributes.sensitive]


@dataclass(frozen=True)
class _Widening:
    """Conditions: one value, a node of a hierarchy, or the range between two rows."""

    attributes: ResolvedAttributes
    rows: Rows

    @cached_property
    def points(self) -> list[bool]:
        """Whether conditions on each quasi-identifier may be on one value: not on real numbers,
        where one value has no share of a label.
        """
        return [
            q.domain.kind == "category"
            or (q.domain.kind == "integer" and len(np.unique(codes)) <= MOST_POINTS)
            for q, codes in zip(self.attributes.quasi_identifiers, self.rows.quasi, strict=True)
        ]

    @cached_property
    def sensitive(self) -> list[IntArray]:
        """The codes of each sensitive attribute."""
        return sensitive_codes(self.rows, self.attributes)

    def of_quasi(self, i: int, code: int, draw: np.random.Generator) -> Range:
        """A range of codes of a quasi-identifier that includes this one."""
        quasi = self.attributes.quasi_identifiers[i]
        if self.points[i] and draw.random() < POINTS:
            return code, code
        if quasi.hierarchy is not None:
            height = int(draw.integers(1, max(quasi.hierarchy.height, 2)))
            node = quasi.hierarchy.nodes[height]
            below = np.flatnonzero(node == node[code])
            return int(below[0]), int(below[-1])
        return _between_rows(self.rows.quasi[i], code, draw)

    def of_sensitive(self, i: int, code: int, draw: np.random.Generator) -> Range:
        """A range of codes of a sensitive attribute that includes this one: one value, unless they
        have an order.
        """
        is_ordered = self.attributes.sensitive[i].distance.features.cumulative
        return _between_rows(self.sensitive[i], code, draw) if is_ordered else (code, code)


def _between_rows(codes: IntArray, code: int, draw: np.random.Generator) -> Range:
    """From this code to that of a row, or this one alone if the row has no value."""
    other = int(codes[draw.integers(len(codes))])
    other = code if other == MISSING else other
    return min(code, other), max(code, other)


def spread_release(
    released: Released,
    classes: PublishedClasses,
    attributes: ResolvedAttributes,
) -> UniformRelease:
    """A release whose rows are spread evenly within their labels."""
    spreads = []
    number = []
    for quasi in attributes.quasi_identifiers:
        spread, label = spread_labels(quasi, classes.labels[quasi.name])
        spreads.append(spread)
        number.append(label)
    held = [
        HeldValues.of(classes.of_row, codes) for codes in sensitive_codes(released.rows, attributes)
    ]
    return UniformRelease(covered=spreads, label=number, held=held)


def spread_labels(
    quasi: ResolvedQuasi,
    columns: Sequence[pa.Array],
) -> tuple[CoveredValues, IntArray]:
    """(the values that the different labels of a quasi-identifier cover, the label of each
    class).
    """
    if len(columns) == 2:
        low, high = (bounds_of(column, quasi) for column in columns)
        spread = CoveredRanges(low=low, high=high, whole=quasi.domain.kind == "integer")
        return spread, np.arange(len(low))
    column = coded(columns[0])
    texts = column.dictionary.to_pylist()
    if quasi.domain.kind != "category":
        return _numeric(texts, quasi.domain), codes_of(column)
    return (_sets(texts, quasi) if quasi.sets else _nodes(texts, quasi)), codes_of(column)


def bounds_of(column: pa.Array, quasi: ResolvedQuasi) -> FloatArray:
    """Bounds as numbers, of dates and times as codes; NaN if missing."""
    if quasi.domain.calendar is None:
        numbers: FloatArray = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        return numbers
    texts = column.cast(pa.string()).to_pylist()
    return np.array(
        [
            np.nan if text is None else float(parse_quantity(text) * quasi.domain.scale)
            for text in texts
        ],
    )


def _numeric(texts: Sequence[str | None], domain: QuasiDomain) -> CoveredValues:
    """Ranges of numbers; `*` is the range of all other labels, or the domain if there are none."""
    ends = [None if text is None or text == ROOT else interval_ends(text) for text in texts]
    known = [end for end in ends if end is not None]
    least = domain.low
    most = domain.high
    if known:
        least = float(min(end for end, _ in known) * domain.scale)
        most = float(max(end for _, end in known) * domain.scale)
    low, high = np.full((2, len(texts)), np.nan)
    for place, (text, end) in enumerate(zip(texts, ends, strict=True)):
        if text is None:
            continue
        low[place], high[place] = (
            (least, most) if end is None else (float(bound * domain.scale) for bound in end)
        )
    if domain.kind == "integer" and np.all(np.isnan(low) | (np.ceil(low) <= np.floor(high))):
        return CoveredRanges(low=np.ceil(low), high=np.floor(high), whole=True)
    # Real numbers, or means, which need not be whole.
    return CoveredRanges(low=low, high=high, whole=False)


def _nodes(texts: Sequence[str | None], quasi: ResolvedQuasi) -> CoveredValues:
    """Ranges of codes: the leaves below a node are consecutive; `*` is the whole domain."""
    below: dict[str, tuple[float, float]] = {ROOT: (0, len(quasi.domain.values) - 1)}
    if quasi.hierarchy is None:
        below |= {value: (code, code) for code, value in enumerate(quasi.domain.values)}
    else:
        for code, path in enumerate(quasi.hierarchy.paths):
            for label in path[:-1]:
                below[label] = (below.get(label, (code, code))[0], code)
    ends = np.array([(np.nan, np.nan) if text is None else below[text] for text in texts])
    return CoveredRanges(low=ends[:, 0], high=ends[:, 1], whole=True)


def _sets(texts: Sequence[str | None], quasi: ResolvedQuasi) -> CoveredValues:
    place = {value: code for code, value in enumerate(quasi.domain.values)}
    every = list(range(len(place)))
    members = [
        []
        if text is None
        else every
        if text == ROOT
        else sorted(place[value] for value in set_members(text))
        for text in texts
    ]
    offsets = np.append(0, np.cumsum([len(part) for part in members]))
    return CoveredSets(
        members=np.array([code for part in members for code in part], dtype=np.int64),
        offsets=offsets,
    )
