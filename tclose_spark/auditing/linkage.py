"""How often an adversary with the raw table links its rows to their classes in an audited
release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose_spark.auditing.inputs import prepare_inputs
from tclose_spark.auditing.parts.audited import TalliedTable, tallied
from tclose_spark.auditing.result import AuditResult
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.checks.labels.boxes import (
    axis_codes,
    class_boxes,
    label_axes,
    published_label,
    require_covering,
)
from tclose_spark.checks.labels.known_people import distinct_people, normal_texts
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, keep, schema_of
from tclose_spark.errors import InputError
from tclose_spark.measures.disclosure.reidentification import (
    MOST_ROWS,
    SEED,
    Distances,
    Linkage,
    link,
    of_numbers,
    of_values,
)
from tclose_spark.measures.loss.information_loss import LabelLoss
from tclose_spark.runfile.attributes import QuasiIdentifier, SensitiveAttribute
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.dictionaries import coded, group_equal
from tclose_spark.table.ranges import interval_or_none

MOST_CLASSES = 20_000
MOST_DIFFERENT = 1_000_000
WHAT = "--raw"


def with_linkage(result: AuditResult, table: Table, raw: Table) -> AuditResult:
    """The result with the linkage of raw rows. A class may be a row's own if it covers the row and
    has a row with its sensitive values, so the shares are upper bounds.

    Raises:
        InputError: if the raw table lacks a column, or a label does not show which values it
            covers.
    """
    question = result.question
    columns: dict[str, QuasiIdentifier | SensitiveAttribute] = {
        **question.quasi_identifiers,
        **question.sensitive_attributes,
    }
    lacking = [name for name in columns if name not in schema_of(raw).names]
    if lacking:
        raise InputError(
            f"{WHAT}: the table has no column {lacking[0]!r}; expected the columns of the release",
        )
    inputs = prepare_inputs(question, AuditTables(table=table))
    with keep(distinct_people(normal_texts(raw, [*columns], columns), [*columns])) as people:
        rows = collect(people, MOST_DIFFERENT + 1)
        if not rows.num_rows:
            raise InputError(f"{WHAT}: the table has no rows")
        with tallied(inputs, None) as by_class:
            labels = [*question.labels, *question.sensitive_attributes]
            released = collect(distinct_people(inputs.table, labels), MOST_DIFFERENT + 1)
            if not all(q.covers for q in by_class.quasi):
                return _unmeasured(result, "aggregates do not cover the values of a class")
            if max(rows.num_rows, released.num_rows) > MOST_DIFFERENT:
                return _unmeasured(result, f"there are more than {MOST_DIFFERENT:,} different rows")
            pair = _Pair(by_class, people, _drawn(_in_order(rows)), _in_order(released))
    if len(pair.sizes) > MOST_CLASSES:
        return _unmeasured(result, f"there are more than {MOST_CLASSES:,} classes")
    distances = [pair.distances(i) for i in range(len(pair.quasi))]
    found = link(
        distances,
        pair.own,
        pair.sample.num_rows,
        pair.sizes,
        pair.slots(int(sum(rows["people"].to_pylist()))),
    )
    return replace(result, linkage=found)


def _unmeasured(result: AuditResult, why: str) -> AuditResult:
    return replace(result, notes=(*result.notes, f"linkage is not measured: {why}"))


def _in_order(rows: pa.Table) -> pa.Table:
    """The rows in the order of their numbers and texts, so that what chance decides depends on no
    unit. The last column counts them.
    """
    ranks = [_ranks(column.combine_chunks()) for column in rows.columns[:-1]]
    return rows.take(pa.array(np.lexsort(ranks[::-1])))


def _ranks(column: pa.Array) -> IntArray:
    """The rank of each text in a column, shape (n,)."""
    texts = coded(column)
    keys = [_place(text) for text in texts.dictionary.to_pylist()]
    rank = np.empty(len(keys), dtype=np.int64)
    rank[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
    of_row: IntArray = rank[texts.indices.to_numpy()]
    return of_row


def _place(text: str | None) -> tuple[Any, ...]:
    """What texts are sorted by: numbers and intervals by their ends, then other texts, then a
    missing one.
    """
    if text is None:
        return (2,)
    interval = interval_or_none(text)
    return (1, text) if interval is None else (0, interval.low, interval.high, text)


def _drawn(rows: pa.Table) -> pa.Table:
    """At most MOST_ROWS rows, by the counts of different rows."""
    ends = np.cumsum(rows["people"].to_numpy())
    total = int(ends[-1]) if len(ends) else 0
    drawn = np.random.default_rng(SEED).choice(total, min(total, MOST_ROWS), replace=False)
    return rows.take(np.searchsorted(ends, np.sort(drawn), side="right"))


class _Pair:
    """A sample of raw rows, and the classes of a release.

    sample: texts `q0`.. of quasi-identifiers, then sensitive attributes. labels: by
        quasi-identifier, shape (classes,).
    """

    def __init__(
        self,
        table: TalliedTable,
        people: Table,
        sample: pa.Table,
        released: pa.Table,
    ) -> None:
        self.quasi = table.quasi
        self.sample = sample
        trees = table.trees
        columns = [column.combine_chunks() for column in released.columns]
        self.counts = columns.pop().to_numpy()
        place = {name: i for i, name in enumerate(table.question.labels)}
        texts = [published_label([columns[place[name]] for name in q.columns]) for q in self.quasi]
        self.of_released, first = group_equal(texts)
        self.sizes = np.bincount(self.of_released, weights=self.counts).astype(np.int64)
        self.labels = [text.take(pa.array(first)).to_pylist() for text in texts]
        require_covering(self.quasi, self.labels, trees, WHAT)
        self.axes = label_axes(self.quasi, self.labels, trees, people)
        self.low, self.high, owner = class_boxes(self.labels, self.axes, WHAT)
        self.starts = np.flatnonzero(np.diff(owner, prepend=-1))
        raw = [sample[f"q{i}"].combine_chunks() for i in range(sample.num_columns - 1)]
        codes = [axis_codes(axis, column) for axis, column in zip(self.axes, raw, strict=False)]
        self.points = np.stack(codes, axis=1)
        self.holds, self.of_tuple = self._tuples(raw[len(self.quasi) :], columns[len(place) :])

    def _tuples(
        self,
        raw: Sequence[pa.Array],
        released: Sequence[pa.Array],
    ) -> tuple[NDArray[np.bool_], IntArray]:
        """(whether each class has a row with each sensitive tuple of the sample, the tuple of each
        raw row).
        """
        if not raw:
            return np.ones((1, len(self.sizes)), dtype=np.bool_), np.zeros(
                len(self.points),
                dtype=np.int64,
            )
        both = [pa.concat_arrays([a, b]) for a, b in zip(raw, released, strict=True)]
        group = group_equal(both)[0]
        known, of_tuple = np.unique(group[: len(self.points)], return_inverse=True)
        of_released = group[len(self.points) :]
        there = np.isin(of_released, known)
        holds = np.zeros((len(known), len(self.sizes)), dtype=np.bool_)
        holds[np.searchsorted(known, of_released[there]), self.of_released[there]] = True
        return holds, of_tuple

    def own(self, rows: IntArray) -> NDArray[np.bool_]:
        """See `link`."""
        inside = np.ones((len(rows), len(self.low)), dtype=np.bool_)
        for i, point in enumerate(self.points[rows].T):
            inside &= (self.low[:, i] <= point[:, None]) & (point[:, None] <= self.high[:, i])
        fits: NDArray[np.bool_] = np.logical_or.reduceat(inside, self.starts, axis=1)
        return fits & self.holds[self.of_tuple[rows]]

    def slots(self, people: int) -> IntArray | None:
        """The class of each released row, if all people of the raw table are in the sample and in
        the release.
        """
        whole = people == self.sample.num_rows == int(self.sizes.sum())
        return np.repeat(self.of_released, self.counts) if whole else None

    def distances(self, i: int) -> Distances:
        """The distances by a quasi-identifier."""
        loss = self.quasi[i].loss
        axis = self.axes[i]
        labels = self.labels[i]
        if loss.numeric:
            ends = np.array([_ends(loss, label) for label in labels])
            values = np.array([_number(loss, value) for value in self.sample[f"q{i}"].to_pylist()])
            return of_numbers(values, ends[:, 0], ends[:, 1])
        codes, of_row = np.unique(self.points[:, i], return_inverse=True)
        different = [*dict.fromkeys(labels)]
        between = np.ones((len(codes), len(different)))
        for place, label in enumerate(different):
            covered = np.any(
                [(low <= codes) & (codes <= high) for low, high in axis.ranges(label)],
                axis=0,
            )
            between[covered, place] = float(loss.of(label))
        place_of = {label: place for place, label in enumerate(different)}
        return of_values(between, of_row, np.array([place_of[label] for label in labels]))


def _number(loss: LabelLoss, value: str | None) -> float:
    """How far a number is from the lowest of all labels, so that moments keep their digits; NaN if
    missing.
    """
    interval = None if value is None else interval_or_none(value)
    return np.nan if interval is None else float(interval.low - loss.low)


def _ends(loss: LabelLoss, label: str | None) -> tuple[float, float]:
    """The ends of a number or an interval, as `_number` has them; NaN if missing, infinite if it
    covers everything.
    """
    interval = None if label is None else loss.interval(label)
    if label is not None and loss.covers_all(label):
        return -np.inf, np.inf
    if interval is None:
        return np.nan, np.nan
    low = interval.low - loss.low
    high = interval.high - loss.low
    if not loss.foreign:
        return float(low), float(high)
    return float(max(low, Fraction(0))), float(min(high, loss.span))


def linkage_text(found: Linkage) -> str:
    """How often rows are linked to their own class."""
    if found.one_to_one is None:
        pairs = "one-to-one linkage is not measured, as the raw table or the release has more rows"
    else:
        pairs = f"{found.one_to_one:.4f} if each raw row gets another released row"
    return (
        f"of {found.rows:,} raw rows among {found.classes:,} classes, at most {found.nearest:.4f} "
        f"have their own class first by distance (a blind guess: {found.blind:.4f}); {pairs}; "
        f"{found.without:,} fit no class with their sensitive values"
    )
