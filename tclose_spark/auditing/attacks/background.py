"""The join with a background table: what an adversary with a list of people learns about the published table.

A class is a box, with a range of codes for each quasi-identifier, namely those that its label covers. A person of the
background table is a point. The points inside each box give the people who fit each class and the records that each
person fits.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.errors import InputError
from tclose_spark.io.spark.session import kept
from tclose_spark.io.spark.workers import map_batches
from tclose_spark.io.tables.prepared import plain
from tclose_spark.measures.disclosure.reidentification import Risks, count_inside, risks
from tclose_spark.measures.loss.information_loss import GENERALIZED, interval_or_none, set_members
from tclose_spark.runfile.quantities import CODES_A_DAY, parse_moment, parse_number, parse_quantity, write_moment
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.hierarchies.hierarchy import ROOT, Hierarchy
from tclose_spark.table.writing import write_number

MOST_BOXES = 2_000_000  # distinct classes, all of which go to every task
MISSING, UNCOVERED = -2, -1  # codes of a missing value, and of one that only the label `*` covers
EVERYTHING = (-(1 << 40), 1 << 40)
Span = tuple[int, int]


@dataclass(frozen=True)
class Axis:
    """The codes of one quasi-identifier.

    ends: if it is numeric, the ascending ends of all intervals. Number ends[i] has code 2 i + 1, and a number between
        ends[i - 1] and ends[i] has code 2 i.
    places: the code of each value that is not a number, in tree order.
    spans: with a hierarchy, the first and last code below each node.
    """

    ends: tuple[Fraction, ...] | None = None
    places: Mapping[str, int] | None = None
    spans: Mapping[str, Span] | None = None

    @staticmethod
    def of(quasi: JudgedQuasi, labels: Iterable[str | None], hierarchy: Hierarchy | None) -> Axis:
        """The axis on which every label is a range of codes."""
        published = {label for label in labels if label not in (None, ROOT)}
        if hierarchy is not None:
            spans: dict[str, Span] = {}
            for code, path in enumerate(hierarchy.paths):
                for node in path:
                    spans[node] = (spans.get(node, (code, code))[0], code)
            return Axis(places={path[0]: code for code, path in enumerate(hierarchy.paths)}, spans=spans)
        if quasi.loss.numeric:
            intervals = [one for label in published if (one := interval_or_none(label)) is not None]
            texts = sorted(label for label in published if interval_or_none(label) is None)
            ends = tuple(sorted({end for interval in intervals for end in (interval.low, interval.high)}))
            return Axis(ends=ends, places={text: MISSING - 1 - i for i, text in enumerate(texts)})
        values = {value for label in published for value in (set_members(label) if quasi.loss.sets else [label])}
        return Axis(places={value: code for code, value in enumerate(sorted(values))})

    def point(self, value: str | None) -> int:
        """The code of a raw value."""
        if value is None:
            return MISSING
        if self.ends is None:
            places = self.places or {}
            return next((places[form] for form in _forms(value) if form in places), UNCOVERED)
        try:
            return self._number(parse_quantity(value))
        except ValueError:
            return (self.places or {}).get(value, UNCOVERED)

    def _number(self, number: Fraction) -> int:
        assert self.ends is not None
        place = bisect_left(self.ends, number)
        return 2 * place + (place < len(self.ends) and self.ends[place] == number)

    def ranges(self, label: str | None) -> list[Span]:
        """The ranges of codes that a label covers; several for a set."""
        if label == ROOT:
            return [EVERYTHING]
        if label is None:
            return [(MISSING, MISSING)]
        places = self.places or {}
        interval = interval_or_none(label) if self.ends is not None else None
        if interval is not None:
            return [(self._number(interval.low) + interval.open_low, self._number(interval.high) - interval.open_high)]
        if self.spans is not None:
            return [self.spans[label]]
        if label in places:
            return [(places[label], places[label])]
        return [(places[value], places[value]) for value in dict.fromkeys(set_members(label))]


@dataclass(frozen=True, kw_only=True)
class MinimalityGuesses:
    """The minimality attack's guesses of one sensitive attribute.

    people: rows of the background table whose value is guessed.
    said: the share of the guessed value in the classes that these people fit.
    at_least: the share that the adversary expects, at least.
    right: the share of correct guesses; None if the background table lacks the attribute.
    """

    attribute: str
    people: int
    said: float | None
    at_least: float | None
    right: float | None


@dataclass(frozen=True, kw_only=True)
class BackgroundJoin:
    """The result of joining the published table with a background table.

    joined: the quasi-identifiers of the join.
    people: rows of the background table.
    candidates: those that fit some class; the others are recognizably not in the published table.
    members: the minimum number recognizably in it, if the background table contains everyone who is.
    risks: of re-identification.
    guesses: of the minimality attack, per sensitive attribute.
    """

    joined: tuple[str, ...]
    people: int
    candidates: int
    members: int
    risks: Risks
    guesses: tuple[MinimalityGuesses, ...] = ()


def join_background(
    classes: DataFrame, background: DataFrame, quasi: Sequence[JudgedQuasi], hierarchies: Mapping[str, Hierarchy]
) -> BackgroundJoin:
    """The join of the classes with a table of people, by the raw quasi-identifiers that it has under the same names.

    Raises:
        InputError: if it has none of them, or no rows; if a label does not show which values it covers; or if there
        are more than MOST_BOXES distinct classes.
    """
    joined = [q for q in quasi if q.name in background.columns]
    if not joined:
        raise InputError(
            f"--background: the table has none of the quasi-identifiers; expected columns such as {quasi[0].name!r}"
        )
    names = [q.name for q in joined]
    labels, sizes = _boxes(classes, joined)
    for q, column in zip(joined, labels, strict=True):
        masks = {
            label
            for label in column
            if label
            and q.name not in hierarchies
            and GENERALIZED.match(label)
            and not (q.loss.numeric and interval_or_none(label))
        }
        if masks:
            raise InputError(
                f"--background: {q.name}: {len(masks)} labels do not show which values they cover; give a hierarchy"
            )
    axes = [Axis.of(q, set(column), hierarchies.get(q.name)) for q, column in zip(joined, labels, strict=True)]
    low, high, owner = class_boxes(labels, axes)
    people = background.groupBy(*[plain(background, name).cast("string").alias(name) for name in names]).count()
    with ExitStack() as held:
        people = held.enter_context(kept(people))
        located = held.enter_context(kept(_located(people, axes, low, high, sizes[owner])))
        sums = located.agg(F.sum("people"), F.sum("candidates")).head()
        if sums is None or not sums[0]:
            raise InputError("--background: the table has no rows")
        pairs = located.select(F.explode(F.arrays_zip("box", "fits")).alias("pair"))
        counts = pairs.groupBy("pair.box").agg(F.sum("pair.fits").alias("fits")).toArrow()
        population = np.zeros(len(sizes), dtype=np.int64)
        np.add.at(population, owner[counts["box"].to_numpy()], counts["fits"].to_numpy())
        seen = np.isin(owner, np.flatnonzero(population <= sizes))
        members = _located(people, axes, low[seen], high[seen], sizes[owner[seen]]).agg(F.sum("candidates")).head()
    return BackgroundJoin(
        joined=tuple(names),
        people=int(sums[0]),
        candidates=int(sums[1]),
        members=int(members[0] or 0) if members else 0,
        risks=risks(sizes, population),
    )


def _forms(text: str) -> Iterator[str]:
    """The forms of a value: the text itself, then a number without trailing zeros, or a time in ISO form and its day.

    >>> list(_forms("39.50")), list(_forms("2024-02-29 12:00:00")), list(_forms("flu"))
    (['39.50', '39.5'], ['2024-02-29 12:00:00', '2024-02-29T12:00:00', '2024-02-29'], ['flu'])
    """
    yield text
    try:
        number = parse_number(text)
    except ValueError:
        try:
            days = parse_moment(text)
        except (ValueError, OverflowError):
            return
        yield write_moment(int(days * CODES_A_DAY["timestamp"]), "timestamp")
        yield write_moment(math.floor(days), "date")
        return
    yield str(number.numerator) if number.denominator == 1 else write_number(float(number))


def published_label(columns: Sequence[Column]) -> Column:
    """The label in the published columns of a quasi-identifier: the one column, or the interval between two bounds."""
    if len(columns) == 1:
        return columns[0]
    low, high = columns
    interval = F.when(low == high, low).otherwise(F.concat(F.lit("["), low, F.lit(", "), high, F.lit("]")))
    return (
        F.when(low.isNull() & high.isNull(), F.lit(None))
        .when(F.coalesce((low != ROOT) & (high != ROOT), F.lit(False)), interval)
        .otherwise(ROOT)
    )


def _boxes(classes: DataFrame, quasi: Sequence[JudgedQuasi]) -> tuple[list[list[str | None]], IntArray]:
    """(the labels of each distinct class, one list per quasi-identifier; its records)."""
    published = [published_label([F.col("quasi_identifiers")[column] for column in q.columns]) for q in quasi]
    labelled = [label.alias(f"l{i}") for i, label in enumerate(published)]
    grouped = (
        classes.select(*labelled, "size")
        .groupBy(*[f"l{i}" for i in range(len(quasi))])
        .agg(F.sum("size").alias("size"))
    )
    listed = grouped.limit(MOST_BOXES + 1).toArrow()
    if listed.num_rows > MOST_BOXES:
        raise InputError(f"--background: more than {MOST_BOXES:,} distinct classes; join by fewer quasi-identifiers")
    return [column.to_pylist() for column in listed.columns[:-1]], listed["size"].to_numpy().astype(np.int64)


def class_boxes(labels: Sequence[Sequence[str | None]], axes: Sequence[Axis]) -> tuple[IntArray, IntArray, IntArray]:
    """(lowest codes, highest codes, class number) of boxes, shapes (boxes, quasi-identifiers), the same, and (boxes,).

    A class whose labels are sets has several boxes.

    Raises:
        InputError: if there are more than MOST_BOXES boxes.
    """
    ranges = [{label: axis.ranges(label) for label in set(column)} for axis, column in zip(axes, labels, strict=True)]
    low, high, owner = [], [], []
    boxes = sum(
        math.prod(len(codes_of[label]) for codes_of, label in zip(ranges, row, strict=True))
        for row in zip(*labels, strict=True)
    )
    if boxes > MOST_BOXES:
        raise InputError(
            f"--background: the sets of values in the labels make {boxes:,} combinations; join by fewer "
            "quasi-identifiers"
        )
    for number, row in enumerate(zip(*labels, strict=True)):
        for box in product(*[codes_of[label] for codes_of, label in zip(ranges, row, strict=True)]):
            low.append([span[0] for span in box])
            high.append([span[1] for span in box])
            owner.append(number)
    return np.array(low, dtype=np.int64), np.array(high, dtype=np.int64), np.array(owner, dtype=np.int64)


def _located(people: DataFrame, axes: Sequence[Axis], low: IntArray, high: IntArray, records: IntArray) -> DataFrame:
    """One row per batch of people: how many there are, how many fit some box, and how many fit each box."""

    def locate(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            *columns, weights = batch.columns
            points = np.stack([codes_of(axis, column) for axis, column in zip(axes, columns, strict=True)], axis=1)
            counts = weights.to_numpy()
            fits = count_inside(points, counts, low, high, records)
            boxes = np.flatnonzero(fits.people)
            row: dict[str, Any] = {
                "people": pa.array([int(counts.sum())]),
                "candidates": pa.array([int(counts[fits.records > 0].sum())]),
                "box": pa.array([boxes.tolist()], pa.list_(pa.int64())),
                "fits": pa.array([fits.people[boxes].tolist()], pa.list_(pa.int64())),
            }
            yield pa.RecordBatch.from_pydict(row)

    return map_batches(people, locate, "people bigint, candidates bigint, box array<bigint>, fits array<bigint>")


def codes_of(axis: Axis, column: pa.Array) -> IntArray:
    """The codes of a column of text, shape (n,)."""
    encoded = column.dictionary_encode(null_encoding="encode")
    codes = np.array([axis.point(value) for value in encoded.dictionary.to_pylist()], dtype=np.int64)
    result: IntArray = codes[encoded.indices.to_numpy()]
    return result
