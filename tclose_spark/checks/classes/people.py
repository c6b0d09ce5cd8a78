"""People in classes: k, l, t and beta counted over people, from rows that say whose they are.

A person counts once in each class. For l a person has the values of one row, the first in the order
of their texts. For t, beta and the frequency l, a row weighs one over the number of its person's
rows. One shuffle brings the rows of a person together; then people add up by class like rows (see
`tallies`).

With a column of households, it is also counted how many of them have members in each class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.class_table import Classes
from tclose_spark.checks.classes.tallies import ClassTally, add_up, tally_schema, texts
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, gather, map_batches, observe, schema_of, select
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.requirements.criterion import OVER_PEOPLE, Criterion, ExactCriterion, first_of
from tclose_spark.requirements.expectation import Expectation
from tclose_spark.requirements.judge import Judge, JudgedAttribute
from tclose_spark.requirements.registry import judges_of
from tclose_spark.requirements.size import SizeJudge
from tclose_spark.table.arrays import IntArray, Mapper
from tclose_spark.table.dictionaries import coded, group_equal
from tclose_spark.table.domains import TupleCounts
from tclose_spark.table.fingerprint import Fingerprint
from tclose_spark.table.people import PERSON, PersonRows, whole_people

MOST_UNITS = 1 << 55
"""What all people together weigh at most, so that exact numerators have 38 digits."""
MOST_ROWS = "people_most"
NUMBERS = 2
"""The integers of each tuple: see `OwnerTallies`."""
FIGURES = ("several", "all_rows", "all_digest", "rows", "digest")


@dataclass(frozen=True)
class OwnerTallies:
    """The rows of a table by class, with whose they are.

    whole: see `tallies.tally_classes`. The last label is whether rows are suppressed. Two more
        values follow the sensitive ones: the number of rows of the row's person; and of the first
        row of a person in the class, how many the person has there, otherwise 0.
    labels, sensitive: how many columns there are of each, without these.
    """

    whole: Table
    labels: int
    sensitive: int
    _observed: Callable[[], Mapping[str, Any]]

    @property
    def classes(self) -> Table:
        """The classes of the rows that are not suppressed, without that label."""
        return self._only("false")

    @property
    def suppressed(self) -> Table:
        """The suppressed rows as a class, without that label."""
        return self._only("true")

    def _only(self, suppressed: str) -> Table:
        """The classes with this last label, without it."""
        schema = tally_schema(self.labels, self.sensitive, NUMBERS)
        place = self.labels

        def only(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                here = batch.filter(pc.equal(batch.column(place), suppressed))
                columns = here.columns[:place] + here.columns[place + 1 :]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

        return map_batches(self.whole, only, schema)

    @property
    def in_several_classes(self) -> int:
        """How many people have rows in several classes; available after the tallies were computed,
        like the others.
        """
        return int(self._observed()[FIGURES[0]] or 0)

    @property
    def all_rows(self) -> Fingerprint:
        """The fingerprint of the table."""
        return self._fingerprint(*FIGURES[1:3])

    @property
    def released(self) -> Fingerprint:
        """The fingerprint of the rows that are not suppressed, without whose they are."""
        return self._fingerprint(*FIGURES[3:])

    def _fingerprint(self, rows: str, digest: str) -> Fingerprint:
        figures = self._observed()
        return Fingerprint(int(figures[rows] or 0), int(figures[digest] or 0))


def tally_owners(
    table: Table,
    labels: Sequence[str],
    sensitive: Sequence[str],
    owner: str = PERSON,
) -> OwnerTallies:
    """The tallies of a table whose last two columns are PERSON (or another `owner` of rows, such as
    HOUSEHOLD), an int64, and whether rows are suppressed.

    One shuffle by person, one by class.
    """
    names = schema_of(table).names
    schema = tally_schema(len(labels) + 1, len(sensitive), NUMBERS)
    parts = pa.schema([*schema, *((name, pa.int64()) for name in FIGURES)])
    places = [names.index(name) for name in (*labels, names[-1])]
    tally = _tally(places, [names.index(s) for s in sensitive], parts, owner)
    tallied = map_batches(gather(select(table, names), [owner]), tally, parts)
    watched, observed = observe(tallied, dict.fromkeys(FIGURES, "sum"))
    whole = add_up(select(watched, schema.names), len(labels) + 1, schema)
    return OwnerTallies(whole, len(labels), len(sensitive), observed)


def _tally(
    labels: Sequence[int],
    sensitive: Sequence[int],
    schema: pa.Schema,
    owner: str,
) -> Mapper:
    """Tallies rows that are sorted by person. labels, sensitive: the places of these columns."""

    def tally(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in whole_people(batches, owner):
            if batch.num_rows:
                held = [coded(column) for column in batch.columns]
                *released, person, suppressed = batch.columns
                # The fingerprint shows them.
                person = person.fill_null(0)
                suppressed = suppressed.fill_null(False)
                label = [texts(held[i]) for i in labels]
                value = [texts(held[i]) for i in sensitive]
                class_ = group_equal(label)[0]
                whose = PersonRows.of(person.to_numpy(), value)
                in_class = group_equal([held[-2], pa.array(class_)])[0]
                here = PersonRows.of(in_class, value)
                in_one = np.where(here.first, here.size, 0)
                counted = [pa.array(column) for column in (whose.size, in_one)]
                classes = np.bincount(whose.lead[here.first], minlength=len(class_))
                kept = [column.filter(pc.invert(suppressed)) for column in held[: len(released)]]
                sides = Fingerprint.of(held), Fingerprint.of(kept)
                figures = [
                    int((classes > 1).sum()),
                    *(x for side in sides for x in (side.rows, side.digest)),
                ]
                yield _with_figures(
                    ClassTally.of(label, None, [*value, *counted], np.ones_like(class_)),
                    figures,
                    schema,
                )

    return tally


def _with_figures(tally: ClassTally, figures: Sequence[int], schema: pa.Schema) -> pa.RecordBatch:
    """A tally with figures in its first row."""
    part = tally.write(pa.schema(list(schema)[: -len(figures)]))
    rest = [None] * (len(part) - 1)
    return pa.RecordBatch.from_arrays(
        [*part.columns, *(pa.array([n, *rest], pa.int64()) for n in figures)],
        schema=schema,
    )


@dataclass(frozen=True)
class JudgedPeople:
    """What is required of the people of classes: a `ClassMeasure`.

    `people`: how many there are.
    `people_units`: what they weigh.
    `people_most`: the most rows of one of them.

    Of each attribute, the columns of `JudgedAttribute` with `people_` before their names: those of
    distances and shares over people, the others over one row of each person.

    attributes: over rows.
    weighed: their distances over people, and what rounded weights leave of t, beta and the
        frequency l.
    units: what a person weighs.
    several: whether some people have several rows.
    """

    attributes: tuple[JudgedAttribute, ...]
    weighed: tuple[JudgedAttribute, ...]
    units: int
    several: bool

    @property
    def _judges(self) -> Iterator[tuple[int, Judge, Judge]]:
        """(the place of an attribute, a judge over rows, the same over people)."""
        for i, pair in enumerate(zip(self.attributes, self.weighed, strict=True)):
            for judge, weighed in zip(*map(judges_of, pair), strict=True):
                if judge.people is not None:
                    yield i, judge, weighed if judge.people == "weights" else judge

    def fields(self) -> list[tuple[str, pa.DataType]]:
        """See ClassMeasure."""
        own = [
            (over_people(name), kind) for _, judge, _ in self._judges for name, kind in judge.fields
        ]
        return [(name, pa.int64()) for name in ("people", "people_units", MOST_ROWS)] + own

    def of(self, classes: Classes) -> list[pa.Array]:
        """See ClassMeasure."""
        tuples = classes.tuples
        groups = classes.tuples.groups
        size, first = classes.numbers
        entry = tuples.values
        firsts = np.flatnonzero(first[entry])
        weights = tuples.counts * _weights(self.units, size)[entry]
        counted = []
        for i, a in enumerate(self.attributes):
            values = classes.codes[entry, i]
            m = len(a.values)
            shares = Histograms.tally(tuples.owner, values, weights, groups, m)
            one_each = Histograms.tally(
                tuples.owner[firsts],
                values[firsts],
                tuples.counts[firsts],
                groups,
                m,
            )
            counted.append({"weights": shares, "rows": one_each})
        of_firsts = tuples.counts * (first[entry] > 0)
        people = np.bincount(tuples.owner, weights=of_firsts, minlength=groups).astype(np.int64)
        return [
            pa.array(people),
            pa.array(np.add.reduceat(weights, tuples.starts)),
            pa.array(np.maximum.reduceat(first[entry], tuples.starts)),
            *(
                column
                for i, one, judge in self._judges
                for column in judge.arrays(counted[i][str(one.people)])
            ),
        ]

    def criteria(self, k: int | None) -> list[Criterion]:
        """k people, and the criteria of the attributes over people."""
        found = ((judge.criterion, weighed.criterion) for _, judge, weighed in self._judges)
        of_attributes = [
            _over_people(weighed, one.required) for one, weighed in found if one and weighed
        ]
        return [SizeJudge(k, "people").criterion(OVER_PEOPLE), *of_attributes]


def judged_people(
    attributes: Sequence[JudgedAttribute],
    by_size: Mapping[int, int],
    counts: Sequence[TupleCounts],
) -> JudgedPeople:
    """by_size: the rows that classes are compared with, by the number of rows of their person.
    counts: of each attribute, by (value, that number).
    """
    people = sum(Fraction(n, size) for size, n in by_size.items())
    most = MOST_UNITS // math.ceil(people)
    exact = math.lcm(*by_size)
    units = min(exact, most)
    rounding = Fraction(0) if units == exact else Fraction(2 * max(by_size), units)
    weighed = []
    for a, by_value in zip(attributes, counts, strict=True):
        place = {value: code for code, value in enumerate(a.values)}
        table = np.zeros(len(a.values), dtype=np.int64)
        sizes = np.array([size for _, size in by_value])
        codes = np.array([place[value] for value, _ in by_value])
        rows = np.array([*by_value.values()])
        np.add.at(table, codes, rows * _weights(units, sizes))
        changes = {
            key: value for judge in judges_of(a) for key, value in judge.rounded(rounding).items()
        }
        settings = a.settings.model_copy(update=changes)
        weighed.append(replace(a, distance=replace(a.distance, table=table), settings=settings))
    return JudgedPeople(tuple(attributes), tuple(weighed), units, max(by_size) > 1)


def over_people(column: str) -> str:
    """The column of the class table that counts people, for one that counts rows."""
    return f"people_{column}"


def _weights(units: int, sizes: IntArray) -> IntArray:
    """What a row of people with so many rows weighs, rounded."""
    return (2 * units + sizes) // (2 * sizes)


def _over_people(criterion: Criterion, required: Any) -> Criterion:
    """A criterion of an attribute over people. required: what is reported, without what rounding
    leaves of it.
    """
    broken = criterion.broken and (over_people(criterion.broken[0]), criterion.broken[1])
    changed: dict[str, Any] = {
        "measure": criterion.measure + OVER_PEOPLE,
        "figure": over_people(criterion.figure),
    }
    if isinstance(criterion, ExactCriterion):
        size = "people_units" if criterion.size == "size" else over_people(criterion.size)
        changed |= {"numerator": over_people(criterion.numerator), "size": size}
    return replace(criterion, required=required, broken=broken, **changed)


def expect_people(k: int | None, attributes: Sequence[JudgedAttribute]) -> list[Expectation]:
    """The suite over the people of classes, beside that over rows."""
    of_rows = [
        one
        for a in attributes
        for judge in judges_of(a)
        if judge.people
        for one in judge.expectations
    ]
    return [*SizeJudge(k, "people").expectations(), *map(_expect_over_people, of_rows)]


def _expect_over_people(expectation: Expectation) -> Expectation:
    """An expectation on a column of an attribute, over people."""
    arguments = tuple(
        (name, over_people(x) if name == "column" else x) for name, x in expectation.arguments
    )
    return Expectation(expectation.type, arguments, expectation.meaning + OVER_PEOPLE)


COUNTED = [(name, pa.int64()) for name in ("households", "size", "classes", "rows")]


class HouseholdsOfClasses(NamedTuple):
    """fewest: households of the class that has the fewest. size: its rows. labels: its own.
    classes, rows: how many classes have fewer than are required, and their rows.
    """

    fewest: int
    size: int
    labels: tuple[str | None, ...]
    classes: int
    rows: int

    def problems(self, k: int) -> list[str]:
        """A line if classes have fewer than k."""
        found = (
            f"{self.classes:,} classes ({self.rows:,} rows) have members of fewer than {k} "
            "households"
        )
        return (
            [f"{found}; the fewest are {self.fewest} (attributes.household.k)"]
            if self.classes
            else []
        )


def households_of_classes(tallied: OwnerTallies, k: int) -> HouseholdsOfClasses:
    """What the tallies by HOUSEHOLD say of released classes, of which there are some."""
    labels = [f"l{i}" for i in range(tallied.labels)]
    schema = pa.schema([*((name, pa.string()) for name in labels), *COUNTED])
    found = collect(map_batches(tallied.classes, partial(_count, k=k, schema=schema), schema))
    worst = _worst(found).to_pylist()[0]
    return HouseholdsOfClasses(
        fewest=worst["households"],
        size=worst["size"],
        labels=tuple(worst[name] for name in labels),
        classes=pc.sum(found["classes"]).as_py(),
        rows=pc.sum(found["rows"]).as_py(),
    )


def _count(
    batches: Iterable[pa.RecordBatch],
    k: int,
    schema: pa.Schema,
) -> Iterator[pa.RecordBatch]:
    """The worst class of each batch, with how many classes and rows break k."""
    for batch in batches:
        if batch.num_rows:
            classes = ClassTally.whole(batch, len(schema) - len(COUNTED))
            tuples = classes.tuples
            first = classes.values[-1].to_numpy()
            size = np.add.reduceat(tuples.counts, tuples.starts)
            households = np.add.reduceat(tuples.counts * (first[tuples.values] > 0), tuples.starts)
            broken = households < k
            totals = [np.full(len(size), n) for n in (broken.sum(), size[broken].sum())]
            columns = [*classes.labels, *map(pa.array, (households, size, *totals))]
            yield _worst(pa.Table.from_arrays(columns, schema=schema)).to_batches()[0]


def _worst(classes: pa.Table) -> pa.Table:
    """The class with the fewest households; of several the smallest, then the first by its
    labels.
    """
    for name in ("households", "size"):
        classes = classes.filter(pc.equal(classes[name], pc.min(classes[name])))
    labels = [column.combine_chunks() for column in classes.columns[: -len(COUNTED)]]
    return classes.slice(first_of(labels, np.arange(len(classes))), 1).combine_chunks()
