"""The join with a background table: what somebody who has a list of people learns of who is in the published table.

A class is a box: for each quasi-identifier a range of codes, which its label covers. A person of the background table
is a point. The people who fit each class, and the records that each person fits, follow from which points lie in which
boxes.
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
from tclose_spark.io.tables.columns import plain
from tclose_spark.measures.disclosure.reidentification import Risks, count_inside, risks
from tclose_spark.measures.loss.information_loss import GENERALIZED, interval_or_none, set_members
from tclose_spark.runfile.quantities import CODES_A_DAY, parse_moment, parse_number, parse_quantity, write_moment
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.hierarchies.hierarchy import ROOT, Hierarchy
from tclose_spark.table.writing import write_number

MOST_BOXES = 2_000_000  # distinct classes, that every task is sent
MISSING, STRANGE = -2, -1  # codes of a missing value, and of one that no label but `*` covers
EVERYTHING = (-(1 << 40), 1 << 40)
Span = tuple[int, int]


@dataclass(frozen=True)
class Axis:
    """The codes of one quasi-identifier.

    ends: of a numeric one, the numbers at which some interval begins or ends, ascending: number ends[i] has code 2 i +
        1, a number between ends[i - 1] and ends[i] has 2 i.
    places: the code of each value that is no number, in tree order.
    spans: of a hierarchy, the first and last code below each node.
    """

    ends: tuple[Fraction, ...] | None = None
    places: Mapping[str, int] | None = None
    spans: Mapping[str, Span] | None = None

    @staticmethod
    def of(quasi: JudgedQuasi, labels: Iterable[str | None], hierarchy: Hierarchy | None) -> Axis:
        """The axis on which all labels are ranges of codes."""
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
        """The code of a person's value."""
        if value is None:
            return MISSING
        if self.ends is None:
            places = self.places or {}
            return next((places[form] for form in _forms(value) if form in places), STRANGE)
        try:
            return self._number(parse_quantity(value))
        except ValueError:
            return (self.places or {}).get(value, STRANGE)

    def _number(self, number: Fraction) -> int:
        assert self.ends is not None
        place = bisect_left(self.ends, number)
        return 2 * place + (place < len(self.ends) and self.ends[place] == number)

    def ranges(self, label: str | None) -> list[Span]:
        """The ranges of codes that a label covers; more than one for a set."""
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
class Guesses:
    """An outsider's guesses of one sensitive attribute.

    people: how many are guessed.
    said: how often the classes that they fit say what is guessed.
    at_least: how often the outsider expects it, at least.
    right: how often it is so, where the list of people tells.
    """

    attribute: str
    people: int
    said: float | None
    at_least: float | None
    right: float | None


@dataclass(frozen=True, kw_only=True)
class BackgroundJoin:
    """What a background table of people says of the published one.

    joined: the quasi-identifiers by which.
    people: in the background table.
    candidates: those who fit some class (the others can be seen not to be in the table).
    members: at least so many can be seen to be in it, if everyone in it is in the background table.
    risks: of re-identification (see `measures.reidentification.Risks`).
    guesses: of the sensitive attributes (see `audit.outsider`).
    """

    joined: tuple[str, ...]
    people: int
    candidates: int
    members: int
    risks: Risks
    guesses: tuple[Guesses, ...] = ()


def join_background(
    classes: DataFrame, background: DataFrame, quasi: Sequence[JudgedQuasi], hierarchies: Mapping[str, Hierarchy]
) -> BackgroundJoin:
    """Joins the classes with a table of people, by those quasi-identifiers that it has, under their names, as raw
    values.

    Raises:
        InputError: if it has none of them, no rows, if a label does not say whom it covers, or if there are too many
        distinct classes to send to every task.
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
                f"--background: {q.name}: labels ({len(masks)}) do not say whom they cover; give a hierarchy"
            )
    axes = [Axis.of(q, set(column), hierarchies.get(q.name)) for q, column in zip(joined, labels, strict=True)]
    low, high, owner = corners(labels, axes)
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
    """What a value may be called where numbers, times and dates have one form each: 39 for 39.0, 2024-02-29T12:00:00
    for a time with a blank in it, and its day; first the text itself.

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


def one_label(columns: Sequence[Column]) -> Column:
    """The label that the published columns of a quasi-identifier say: itself, or the interval between two bounds."""
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
    """(the labels of each distinct class, a list a quasi-identifier; its records)."""
    published = [one_label([F.col("quasi_identifiers")[column] for column in q.columns]) for q in quasi]
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


def corners(labels: Sequence[Sequence[str | None]], axes: Sequence[Axis]) -> tuple[IntArray, IntArray, IntArray]:
    """(lowest codes, highest codes, class) of boxes, shape (boxes, quasi-identifiers) and (boxes,). A class with sets
    has several.
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
    """A row a batch of people: how many they are, how many fit some box, and for the boxes that some fit how many
    do.
    """

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
