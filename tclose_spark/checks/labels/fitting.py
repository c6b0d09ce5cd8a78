"""The people of a list who fit each published class: those whose raw quasi-identifiers its labels cover.

A class is a box, with a range of codes for each quasi-identifier, namely those that its label covers. A person of the
background table is a point. The points inside each box give the people who fit each class and the records that each
person fits.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.checks.classes.tallies import texts
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, combine, gather, keep, map_batches, schema_of, select
from tclose_spark.errors import InputError
from tclose_spark.measures.disclosure.reidentification import count_inside, count_people_inside
from tclose_spark.measures.loss.information_loss import set_members
from tclose_spark.measures.loss.ranges import interval_or_none, looks_generalized
from tclose_spark.runfile.attributes import QuasiIdentifier, SensitiveAttribute, Text
from tclose_spark.runfile.hierarchies import HierarchyBuilder
from tclose_spark.runfile.quantities import CODES_A_DAY, parse_moment, parse_number, write_moment
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.columns.preparing import iso_text
from tclose_spark.table.dictionaries import coded, decoded, group_equal
from tclose_spark.table.hierarchies.building import labels_above
from tclose_spark.table.hierarchies.hierarchy import ROOT, Hierarchy
from tclose_spark.table.people import PERSON, whole_people
from tclose_spark.table.writing import write_number

MOST_JOINED = 2_000_000  # distinct classes, all of which go to every task
ABSENT, UNCOVERED = -2, -1  # codes of a missing value, and of one that only the label `*` covers
LEADING_ZEROS = re.compile(r"\s*[+-]?0\d+(\.|\s*$)")
EVERYTHING = (-(1 << 40), 1 << 40)
Span = tuple[int, int]
FITS = pa.schema([("class", pa.int64()), ("people", pa.int64())])
"""The people who fit each class."""
CANDIDATES, PEOPLE = -2, -1  # in place of a class: those who fit some class, and all


@dataclass(frozen=True)
class Axis:
    """The codes of one quasi-identifier.

    ends: if it is numeric, the ascending ends of all intervals. Number ends[i] has code 2 i + 1, and a number between
        ends[i - 1] and ends[i] has code 2 i.
    places: the code of each value that is not a number, in tree order.
    spans: with a hierarchy, the first and last code of each node. The first is for values that are below it, and are no
        leaf.
    builder: of a built hierarchy, whose leaves are the values of one table only.
    everything: texts in place of `*`.
    missing_any: whether a missing label covers every value. lacking: whether every label covers a missing value.
    """

    ends: tuple[Fraction, ...] | None = None
    places: Mapping[str, int] | None = None
    spans: Mapping[str, Span] | None = None
    builder: HierarchyBuilder | None = None
    everything: frozenset[str] = frozenset()
    missing_any: bool = False
    lacking: bool = False

    @staticmethod
    def of(quasi: JudgedQuasi, labels: Iterable[str | None], hierarchy: Hierarchy | None) -> Axis:
        """The axis on which every label is a range of codes."""
        published = {label for label in labels if label not in (None, ROOT)}
        if hierarchy is not None:
            spans: dict[str, Span] = {}
            for path in hierarchy.paths:
                for node in reversed(path):
                    spans.setdefault(node, (len(spans), 0))
                spans |= {node: (spans[node][0], len(spans) - 1) for node in path}
            return Axis(
                places={path[0]: spans[path[0]][0] for path in hierarchy.paths}, spans=spans, builder=quasi.builder
            )
        everything = frozenset(label for label in published if quasi.loss.covers_all(label))
        published -= everything
        if quasi.loss.numeric:
            intervals = [one for label in published if (one := interval_or_none(label)) is not None]
            texts = sorted(label for label in published if interval_or_none(label) is None)
            ends = tuple(sorted({end for interval in intervals for end in (interval.low, interval.high)}))
            places = {text: ABSENT - 1 - i for i, text in enumerate(texts)}
            return Axis(ends=ends, places=places, everything=everything)
        values = {value for label in published for value in (set_members(label) if quasi.loss.sets else [label])}
        return Axis(places={value: code for code, value in enumerate(sorted(values))}, everything=everything)

    def point(self, value: str | None) -> int:
        """The code of a raw value."""
        if value is None:
            return ABSENT
        if self.ends is None:
            places = self.places or {}
            return next((places[form] for form in _forms(value) if form in places), self._below(value))
        number = interval_or_none(value)
        if number is None or number.low < number.high:
            return (self.places or {}).get(value, UNCOVERED)
        return self._number(number.low)

    def _below(self, value: str) -> int:
        """The code of a value that is no leaf: that of the lowest label above it."""
        if self.builder is None or self.spans is None:
            return UNCOVERED
        above = (label for form in _forms(value) for label in labels_above(self.builder, form, self.spans))
        return next((self.spans[label][0] for label in above if label in self.spans), UNCOVERED)

    def _number(self, number: Fraction) -> int:
        assert self.ends is not None
        place = bisect_left(self.ends, number)
        return 2 * place + (place < len(self.ends) and self.ends[place] == number)

    def ranges(self, label: str | None) -> list[Span]:
        """The ranges of codes that a label covers; several for a set, or if it covers a missing value, too."""
        if label == ROOT or label in self.everything or (label is None and self.missing_any):
            return [EVERYTHING]
        if label is None:
            return [(ABSENT, ABSENT)]
        return [*self._known(label), *([(ABSENT, ABSENT)] if self.lacking else [])]

    def _known(self, label: str) -> list[Span]:
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
class FittingPeople:
    """The people of a list who fit each class.

    sizes: of the classes, in records or people, shape (classes,). population: who fits each, shape (classes,).
    people: those of the list; each row is one, unless it says whose it is.
    candidates: those that fit some class.
    members: those that fit a class with as many records as people who fit it.
    """

    sizes: IntArray
    population: IntArray
    people: int
    candidates: int
    members: int


def fitting_people(
    classes: Table,
    listed: Table,
    joined: Sequence[JudgedQuasi],
    hierarchies: Mapping[str, Hierarchy],
    whose: Table | None = None,
    what: str = "--background",
    counted: str = "size",
) -> FittingPeople:
    """The people of a list who fit each class, by these of its raw quasi-identifiers, which it has under their names.

    A person of a list with PERSON fits a class if one of the person's rows does.
    whose: the published table with PERSON, if people are counted; sizes are then of people, not of records.
    what: what an error names the list.
    counted: the column of the class table with the size of a class.

    Raises:
        InputError: if it has no rows; if a label does not show which values it covers; or if there are more than
        MOST_JOINED distinct classes.
    """
    names = [q.name for q in joined]
    labels, sizes = _boxes(
        _class_sizes(classes, joined, counted) if whose is None else _class_people(whose, joined), what
    )
    require_covering(joined, labels, hierarchies, what)
    with keep(known_people(listed, names)) as people:
        axes = label_axes(joined, labels, hierarchies, people)
        low, high, owner = class_boxes(labels, axes, what)
        fits = _fits(people, axes, low, high, owner, sizes)
        if not fits.get(PEOPLE):
            raise InputError(f"{what}: the table has no rows")
        population = np.zeros(len(sizes), dtype=np.int64)
        matched = [number for number in fits if number >= 0]
        population[matched] = [fits[number] for number in matched]
        seen = np.isin(owner, np.flatnonzero(population <= sizes))
        members = _fits(people, axes, low[seen], high[seen], owner[seen], sizes)
    return FittingPeople(
        sizes=sizes,
        population=population,
        people=fits[PEOPLE],
        candidates=fits[CANDIDATES],
        members=members[CANDIDATES],
    )


def require_covering(
    joined: Sequence[JudgedQuasi],
    labels: Sequence[Sequence[str | None]],
    hierarchies: Mapping[str, Hierarchy],
    what: str,
) -> None:
    """Raises InputError if a label does not show which values it covers. labels: by quasi-identifier."""
    for q, column in zip(joined, labels, strict=True):
        masks = {
            label
            for label in column
            if label
            and q.name not in hierarchies
            and q.loss.foreign
            and not q.loss.covers_all(label)
            and looks_generalized(label)
            and not (q.loss.numeric and interval_or_none(label))
        }
        if masks:
            raise InputError(
                f"{what}: {q.name}: {len(masks)} labels do not show which values they cover; give a hierarchy"
            )


def joined_quasi(quasi: Sequence[JudgedQuasi], background: Table) -> list[JudgedQuasi]:
    """The quasi-identifiers whose raw values a table of people has."""
    return [q for q in quasi if q.name in schema_of(background).names]


def normal_texts(
    table: Table, columns: Sequence[str], settings: Mapping[str, QuasiIdentifier | SensitiveAttribute]
) -> Table:
    """Those of these columns that a table has, with their options applied to texts, and dates of their form as ISO;
    its first column if it has none.
    """
    schema = schema_of(table)
    names = [name for name in dict.fromkeys(columns) if name in schema.names] or schema.names[:1]
    schema = pa.schema([schema.field(name) for name in names])
    options: dict[str, Callable[[str], str]] = {
        name: one.text.of for name, one in settings.items() if one.text is not None and one.text != Text()
    }
    options |= {
        name: partial(iso_text, settings=one)
        for name, one in settings.items()
        if isinstance(one, QuasiIdentifier) and one.date_format is not None
    }
    asked = {name: options[name] for name in names if name in options and pa.types.is_string(schema.field(name).type)}
    table = select(table, names)
    if not asked:
        return table

    def normal(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = dict(zip(names, batch.columns, strict=True))
            for name, written in asked.items():
                column = coded(columns[name])
                made = [None if value is None else written(value) for value in column.dictionary.to_pylist()]
                columns[name] = pa.array(made, pa.string()).take(column.indices)
            yield pa.RecordBatch.from_arrays(list(columns.values()), schema=schema)

    return map_batches(table, normal, schema)


def distinct_people(background: Table, names: Sequence[str]) -> Table:
    """The distinct tuples of these columns as texts `q0`.., and how many people have each: `people`."""
    keys = [f"q{i}" for i in range(len(names))]
    schema = pa.schema([*[(key, pa.string()) for key in keys], ("people", pa.int64())])

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                columns = [texts(column) for column in batch.columns]
                group, first = group_equal(columns)
                distinct = [decoded(column).take(pa.array(first)) for column in columns]
                yield pa.RecordBatch.from_arrays([*distinct, pa.array(np.bincount(group))], schema=schema)

    return combine(map_batches(select(background, names), count, schema), keys, {"people": "sum"})


def known_people(background: Table, names: Sequence[str]) -> Table:
    """What an adversary knows of people: see `distinct_people`. With PERSON, the rows of each person one after another,
    in columns `q0`.. and PERSON.
    """
    if PERSON not in schema_of(background).names:
        return distinct_people(background, names)
    keys = [f"q{i}" for i in range(len(names))]
    schema = pa.schema([*[(key, pa.string()) for key in keys], (PERSON, pa.int64())])

    def text(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            *columns, person = batch.columns
            yield pa.RecordBatch.from_arrays([*(decoded(texts(column)) for column in columns), person], schema=schema)

    return gather(map_batches(select(background, [*names, PERSON]), text, schema), [PERSON])


def label_axes(
    joined: Sequence[JudgedQuasi],
    labels: Sequence[Sequence[str | None]],
    hierarchies: Mapping[str, Hierarchy],
    people: Table,
) -> list[Axis]:
    """The axes of these quasi-identifiers. people: whose values are `q0`.., see `known_people`."""
    lacking = _lacking(people, [f"q{i}" for i, q in enumerate(joined) if q.missing_any])
    return [
        replace(Axis.of(q, set(column), hierarchies.get(q.name)), missing_any=q.missing_any, lacking=f"q{i}" in lacking)
        for i, (q, column) in enumerate(zip(joined, labels, strict=True))
    ]


def _lacking(people: Table, keys: Sequence[str]) -> set[str]:
    """Those of these columns that are missing in some row."""
    if not keys:
        return set()
    schema = pa.schema([("key", pa.string()), ("n", pa.int64())])

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            missing = [batch[key].null_count for key in keys]
            yield pa.RecordBatch.from_arrays([pa.array(keys), pa.array(missing, pa.int64())], schema=schema)

    counted = collect(combine(map_batches(select(people, keys), count, schema), ["key"], {"n": "sum"}))
    return {key for key, n in zip(counted["key"].to_pylist(), counted["n"].to_pylist(), strict=True) if n}


def _forms(text: str) -> Iterator[str]:
    """The forms of a value: the text itself, then a number without trailing zeros, or a time in ISO form and its day. A
    number with leading zeros is a code, with no other form.

    >>> list(_forms("39.50")), list(_forms("2024-02-29 12:00:00")), list(_forms("01"))
    (['39.50', '39.5'], ['2024-02-29 12:00:00', '2024-02-29T12:00:00', '2024-02-29'], ['01'])
    """
    yield text
    if LEADING_ZEROS.match(text):
        return
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


def published_label(columns: Sequence[pa.Array]) -> pa.Array:
    """The labels in the published columns of a quasi-identifier: the one column, or intervals between two bounds."""
    if len(columns) == 1:
        return columns[0]
    low, high = columns
    interval = pc.if_else(pc.equal(low, high), low, pc.binary_join_element_wise("[", low, ", ", high, "]", ""))
    are_numbers = pc.and_(pc.not_equal(low, ROOT), pc.not_equal(high, ROOT)).fill_null(False)
    missing = pc.and_(pc.is_null(low), pc.is_null(high))
    return pc.if_else(missing, None, pc.if_else(are_numbers, interval, ROOT))


def _boxes(classes: Table, what: str) -> tuple[list[list[str | None]], IntArray]:
    """(the labels of each distinct class, one list per quasi-identifier; its size). classes: its labels, and size."""
    listed = collect(classes, MOST_JOINED + 1)
    if listed.num_rows > MOST_JOINED:
        raise InputError(f"{what}: more than {MOST_JOINED:,} distinct classes; join by fewer quasi-identifiers")
    return [column.to_pylist() for column in listed.columns[:-1]], listed["size"].to_numpy().astype(np.int64)


def _class_sizes(classes: Table, quasi: Sequence[JudgedQuasi], counted: str) -> Table:
    """The records of each class by these quasi-identifiers, from the class table. counted: its column of sizes."""
    schema = _sized(quasi)

    def label(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            held = batch["quasi_identifiers"]
            published = dict(zip([each.name for each in held.type], held.flatten(), strict=True))
            labels = [published_label([published[column] for column in q.columns]) for q in quasi]
            yield pa.RecordBatch.from_arrays([*labels, batch[counted]], schema=schema)

    labelled = map_batches(select(classes, ["quasi_identifiers", counted]), label, schema)
    return combine(labelled, schema.names[:-1], {"size": "sum"})


def _class_people(table: Table, quasi: Sequence[JudgedQuasi]) -> Table:
    """The people of each class by these quasi-identifiers, from rows with PERSON."""
    sized = _sized(quasi)
    schema = pa.schema([*list(sized)[:-1], (PERSON, pa.int64()), sized.field("size")])
    columns = [column for q in quasi for column in q.columns]

    def label(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            published = {name: decoded(texts(batch[name])) for name in columns}
            labels = [published_label([published[column] for column in q.columns]) for q in quasi]
            one = pa.repeat(pa.scalar(1, pa.int64()), len(batch))
            yield pa.RecordBatch.from_arrays([*labels, batch[PERSON], one], schema=schema)

    labelled = map_batches(select(table, [*columns, PERSON]), label, schema)
    people = combine(labelled, schema.names[:-1], {"size": "min"})
    return combine(people, sized.names[:-1], {"size": "sum"})


def _sized(quasi: Sequence[JudgedQuasi]) -> pa.Schema:
    return pa.schema([*[(f"l{i}", pa.string()) for i in range(len(quasi))], ("size", pa.int64())])


def class_boxes(
    labels: Sequence[Sequence[str | None]], axes: Sequence[Axis], what: str = "--background"
) -> tuple[IntArray, IntArray, IntArray]:
    """(lowest codes, highest codes, class number) of boxes, shapes (boxes, quasi-identifiers), the same, and (boxes,).

    A class whose labels are sets has several boxes.

    Raises:
        InputError: if there are more than MOST_JOINED boxes.
    """
    ranges = [{label: axis.ranges(label) for label in set(column)} for axis, column in zip(axes, labels, strict=True)]
    low, high, owner = [], [], []
    boxes = sum(
        math.prod(len(codes_of[label]) for codes_of, label in zip(ranges, row, strict=True))
        for row in zip(*labels, strict=True)
    )
    if boxes > MOST_JOINED:
        raise InputError(
            f"{what}: sets of values in the labels, or missing values that could be any, make {boxes:,} combinations; "
            "join by fewer quasi-identifiers"
        )
    for number, row in enumerate(zip(*labels, strict=True)):
        for box in product(*[codes_of[label] for codes_of, label in zip(ranges, row, strict=True)]):
            low.append([span[0] for span in box])
            high.append([span[1] for span in box])
            owner.append(number)
    return np.array(low, dtype=np.int64), np.array(high, dtype=np.int64), np.array(owner, dtype=np.int64)


def _fits(
    people: Table, axes: Sequence[Axis], low: IntArray, high: IntArray, owner: IntArray, sizes: IntArray
) -> dict[int, int]:
    """How many people fit each class, by its number; and how many PEOPLE there are, and CANDIDATES. owner: the class of
    each box, ascending. sizes: of the classes.
    """
    whose = PERSON in schema_of(people).names

    def locate(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in whole_people(batches) if whose else batches:
            *columns, last = batch.columns
            points = np.stack([codes_of(axis, column) for axis, column in zip(axes, columns, strict=True)], axis=1)
            if whose:
                fits = count_people_inside(points, last.to_numpy(), low, high, owner, sizes)
                counts, of_class = np.ones(len(fits.records), dtype=np.int64), fits.people
            else:
                counts, of_class = last.to_numpy(), np.zeros(len(sizes), dtype=np.int64)
                fits = count_inside(points, counts, low, high, sizes[owner])
                np.add.at(of_class, owner, fits.people)
            matched = np.flatnonzero(of_class)
            places = np.append([CANDIDATES, PEOPLE], matched)
            found = np.append([counts[fits.records > 0].sum(), counts.sum()], of_class[matched])
            yield pa.RecordBatch.from_arrays([pa.array(places), pa.array(found)], schema=FITS)

    located = collect(combine(map_batches(people, locate, FITS), ["class"], {"people": "sum"}))
    return dict(zip(located["class"].to_pylist(), located["people"].to_pylist(), strict=True))


def codes_of(axis: Axis, column: pa.Array) -> IntArray:
    """The codes of a column of text, shape (n,)."""
    encoded = column.dictionary_encode(null_encoding="encode")
    codes = np.array([axis.point(value) for value in encoded.dictionary.to_pylist()], dtype=np.int64)
    result: IntArray = codes[encoded.indices.to_numpy()]
    return result
