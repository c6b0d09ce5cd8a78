"""Query error of a release: random counts of the raw rows, and their estimates from the release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tclose_spark.in_memory.apply_plan import Released
from tclose_spark.in_memory.measure import PublishedClasses
from tclose_spark.in_memory.sample import ComparedTable
from tclose_spark.measures.loss.information_loss import interval_ends, set_members
from tclose_spark.measures.loss.query_error import (
    CountQuery,
    CoveredRanges,
    CoveredSets,
    CoveredValues,
    GroupedRelease,
    UniformRelease,
    count,
    draw_queries,
    relative_errors,
)
from tclose_spark.methods.attributes import ResolvedAttributes, ResolvedQuasi
from tclose_spark.runfile.quantities import parse_quantity
from tclose_spark.table.arrays import FloatArray, IntArray
from tclose_spark.table.dictionaries import coded, codes_of
from tclose_spark.table.hierarchies.hierarchy import ROOT
from tclose_spark.table.labels import MISSING, decode_numbers
from tclose_spark.table.rows import Rows

QUERIES = 1_000
SEED = 2026
POINTS = 0.5  # share of conditions on one value; none on real numbers, where one value has no share of a label


@dataclass(frozen=True, kw_only=True)
class QueryError:
    """Queries over the raw rows of a table, with their answers: a `Measure`."""

    queries: Sequence[CountQuery]
    answers: Sequence[int]

    @staticmethod
    def of(table: ComparedTable, attributes: ResolvedAttributes) -> QueryError:
        """Random queries over these rows."""
        rows, sensitive = table.rows, sensitive_codes(table.rows, attributes)
        widen = _Widening(attributes.quasi_identifiers, rows).widen
        queries = draw_queries(rows.quasi, sensitive, widen, QUERIES, SEED)
        return QueryError(queries=queries, answers=[count(query, rows.quasi, sensitive) for query in queries])

    def __call__(
        self, released: Released, classes: PublishedClasses, attributes: ResolvedAttributes
    ) -> Mapping[str, float]:
        """The median and the ninth decile of the relative errors."""
        read = spread_release(released, classes, attributes)
        kinds = [q.domain.kind for q in attributes.quasi_identifiers]

        def number(i: int, code: int) -> float:
            return float(decode_numbers(np.array([code]))[0]) if kinds[i] == "double" else float(code)

        return self._errors([read.estimate(query, number) for query in self.queries])

    def of_groups(self, rows: Rows, group: IntArray, attributes: ResolvedAttributes) -> Mapping[str, float]:
        """The same of a release of exact quasi-identifiers. rows: whole classes; group: of each row."""
        released = GroupedRelease(quasi=rows.quasi, sensitive=sensitive_codes(rows, attributes), group=group)
        return self._errors(list(map(released.estimate, self.queries)))

    def _errors(self, estimates: Sequence[float]) -> Mapping[str, float]:
        errors = relative_errors(estimates, self.answers)
        return {"query_error": float(np.median(errors)), "query_error_90": float(np.quantile(errors, 0.9))}


def sensitive_codes(rows: Rows, attributes: ResolvedAttributes) -> list[IntArray]:
    """The codes of each sensitive attribute, shapes (rows,)."""
    return [attributes.cells[rows.cell, a.column] for a in attributes.sensitive]


@dataclass(frozen=True)
class _Widening:
    """Conditions on quasi-identifiers: one value, a node of a hierarchy, or the range between two rows."""

    quasi: Sequence[ResolvedQuasi]
    rows: Rows

    def widen(self, i: int, code: int, draw: np.random.Generator) -> tuple[int, int]:
        """A range of codes that includes this one."""
        quasi, codes = self.quasi[i], self.rows.quasi[i]
        if quasi.domain.kind != "double" and draw.random() < POINTS:
            return code, code
        if quasi.hierarchy is not None:
            height = int(draw.integers(1, max(quasi.hierarchy.height, 2)))
            node = quasi.hierarchy.nodes[height]
            below = np.flatnonzero(node == node[code])
            return int(below[0]), int(below[-1])
        other = int(codes[draw.integers(len(codes))])
        other = code if other == MISSING else other
        return min(code, other), max(code, other)


def spread_release(released: Released, classes: PublishedClasses, attributes: ResolvedAttributes) -> UniformRelease:
    """A release whose rows are spread evenly within their labels."""
    spreads, number = [], []
    for quasi in attributes.quasi_identifiers:
        spread, label = spread_labels(quasi, classes.labels[quasi.name])
        spreads.append(spread)
        number.append(label)
    holders, rows_of = [], []
    for a, codes in zip(attributes.sensitive, sensitive_codes(released.rows, attributes), strict=True):
        pair, n = np.unique(classes.of_row * len(a.domain.values) + codes, return_counts=True)
        value, owner = pair % len(a.domain.values), pair // len(a.domain.values)
        holders.append({v: owner[value == v] for v in np.unique(value).tolist()})
        rows_of.append({v: n[value == v] for v in np.unique(value).tolist()})
    return UniformRelease(covered=spreads, label=number, classes=holders, rows=rows_of)


def spread_labels(quasi: ResolvedQuasi, columns: Sequence[pa.Array]) -> tuple[CoveredValues, IntArray]:
    """(the values that the different labels of a quasi-identifier cover, the label of each class)."""
    if len(columns) == 2:
        low, high = (bounds_of(column, quasi) for column in columns)
        spread = CoveredRanges(low=low, high=high, whole=quasi.domain.kind == "integer")
        return spread, np.arange(len(low))
    column = coded(columns[0])
    texts = column.dictionary.to_pylist()
    if quasi.domain.kind != "category":
        return _numeric(texts, quasi.domain.kind == "integer", quasi.domain.scale), codes_of(column)
    return (_sets(texts, quasi) if quasi.sets else _nodes(texts, quasi)), codes_of(column)


def bounds_of(column: pa.Array, quasi: ResolvedQuasi) -> FloatArray:
    """Bounds as numbers, of dates and times as codes; NaN if missing."""
    if quasi.domain.calendar is None:
        numbers: FloatArray = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        return numbers
    texts = column.cast(pa.string()).to_pylist()
    return np.array([np.nan if text is None else float(parse_quantity(text) * quasi.domain.scale) for text in texts])


def _numeric(texts: Sequence[str | None], whole: bool, scale: int) -> CoveredValues:
    """Ranges of numbers; `*` is the range of all other labels. scale: codes in one unit of labels."""
    ends = [None if text is None or text == ROOT else interval_ends(text) for text in texts]
    known = [end for end in ends if end is not None]
    span = (min(low for low, _ in known), max(high for _, high in known)) if known else (0, 0)
    both = np.array(
        [
            (np.nan, np.nan) if text is None else tuple(float(number * scale) for number in end or span)
            for text, end in zip(texts, ends, strict=True)
        ]
    )
    low, high = (np.ceil(both[:, 0]), np.floor(both[:, 1])) if whole else both.T
    if np.any(low > high):  # labels are means, which need not be whole
        low, high, whole = both[:, 0], both[:, 1], False
    return CoveredRanges(low=low, high=high, whole=whole)


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
        [] if text is None else every if text == ROOT else sorted(place[value] for value in set_members(text))
        for text in texts
    ]
    offsets = np.append(0, np.cumsum([len(part) for part in members]))
    return CoveredSets(members=np.array([code for part in members for code in part], dtype=np.int64), offsets=offsets)
