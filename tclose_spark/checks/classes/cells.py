"""Cells: the people whose classes are equal in each of several releases.

An adversary with several releases intersects the classes of one with those of another, and knows
who arrived later or left. Cells are the smallest groups of people that can result. They are judged
like classes: k people, and each t and l of the sensitive values that the first release with these
people has of them, against the distribution of that release. So a line of releases (see
`options.lines.atoms`) holds: its cells are unions of atoms that one release published first.
"""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.class_table import JudgedQuasi, class_table
from tclose_spark.checks.classes.figures import PARTS
from tclose_spark.checks.classes.people import JudgedPeople, tally_owners
from tclose_spark.checks.classes.tallies import texts
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, gather, keep, map_batches, select, union
from tclose_spark.io.tables.check_columns import SUPPRESSED
from tclose_spark.measures.loss.information_loss import LabelLoss
from tclose_spark.requirements.criterion import OVER_PEOPLE, Criterion, Guarantee, WorstClass
from tclose_spark.requirements.judge import JudgedAttribute
from tclose_spark.requirements.registry import criteria_of
from tclose_spark.table.arrays import IntArray, Mapper
from tclose_spark.table.dictionaries import decoded, group_equal
from tclose_spark.table.people import PERSON, whole_people

IN_CELLS = " in cells"
"""How the names of measures end that are of cells."""
Presence = tuple[bool, ...]
"""Whether people are in each release, in their order."""


@dataclass(frozen=True, kw_only=True)
class PeopleOfRelease:
    """A release, with whose each row is.

    name: how figures name it.
    rows: the published columns, the sensitive ones, and PERSON.
    labels: the published columns of the quasi-identifiers.
    attributes: the sensitive attributes, in the same order in each release. people: what is
        required over people.
    """

    name: str
    rows: Table
    labels: Sequence[str]
    attributes: Sequence[JudgedAttribute]
    people: JudgedPeople


@dataclass(frozen=True, kw_only=True)
class CellFigures:
    """Figures of all cells.

    releases: their names, oldest first.
    cells, people: how many there are. alone: people who are the only one of their cell.
    present: people, by the releases that hold them.
    guarantees: those of classes, with cells in place of classes, and people in place of rows. The
        worst cell has the labels of its class by release, None for a release without its people.
    """

    releases: tuple[str, ...]
    cells: int
    people: int
    alone: int
    present: Mapping[Presence, int]
    guarantees: tuple[Guarantee, ...]

    @property
    def by_release(self) -> dict[str, int]:
        """The people of each release."""
        held = [
            sum(n for present, n in self.present.items() if present[i])
            for i in range(len(self.releases))
        ]
        return dict(zip(self.releases, held, strict=True))

    @property
    def stayed(self) -> int:
        """People of the latest release who are in an earlier one."""
        return self._count(lambda present: present[-1] and any(present[:-1]))

    @property
    def arrived(self) -> int:
        """People of the latest release who are in no earlier one."""
        return self._count(lambda present: present[-1] and not any(present[:-1]))

    @property
    def left(self) -> int:
        """People of earlier releases who are not in the latest one."""
        return self._count(lambda present: not present[-1])

    @property
    def counts(self) -> dict[str, Any]:
        """All figures but the guarantees, as plain values."""
        counted = ("people", "stayed", "arrived", "left", "cells", "alone")
        return {
            "known_by": "person",
            "tables": self.by_release,
            **{name: getattr(self, name) for name in counted},
        }

    def without_labels(self) -> Self:
        """The same figures without the labels of the worst cells."""
        return replace(self, guarantees=tuple(replace(g, worst={}) for g in self.guarantees))

    def _count(self, wanted: Callable[[Presence], bool]) -> int:
        return sum(n for present, n in self.present.items() if wanted(present))


@dataclass(frozen=True)
class _Part:
    """Figures of some cells. present, cells, alone: see CellFigures. broken: (cells, people), by
    criterion.
    """

    cells: int
    alone: int
    present: Counter[Presence]
    worst: tuple[WorstClass, ...]
    broken: tuple[tuple[int, int], ...]

    def __add__(self, other: _Part) -> _Part:
        """The figures of the cells of both."""
        return _Part(
            self.cells + other.cells,
            self.alone + other.alone,
            self.present + other.present,
            tuple(
                min(pair, key=lambda each: each.place)
                for pair in zip(self.worst, other.worst, strict=True)
            ),
            tuple((a + c, b + d) for (a, b), (c, d) in zip(self.broken, other.broken, strict=True)),
        )


def judge_cells(releases: Sequence[PeopleOfRelease], k: int | None) -> CellFigures:
    """The figures of the cells of some releases, oldest first, that have people in common.

    A person with rows in several classes of a release is in the cell of those who are in the same
    ones. Distances and l are over people, and over rows too if a person has several.
    """
    columns = [
        (place, column) for place, one in enumerate(releases) for column in ("", *one.labels)
    ]
    labels = [f"l{i}" for i in range(len(columns))]
    starts = [i for i, (_, column) in enumerate(columns) if not column]
    quasi = [
        JudgedQuasi(label, (label,), LabelLoss(numeric=False), covers=False) for label in labels
    ]
    parts: list[_Part] = []
    with keep(
        join_people([(one.rows, one.labels) for one in releases], _sensitive(releases[0])),
    ) as joined:
        for place, one in enumerate(releases):
            values = [f"v{i}" for i in range(len(one.attributes))]
            here = map_batches(
                joined,
                _shown_first(place),
                _joined_schema(len(labels), len(values)),
            )
            classes = class_table(
                tally_owners(here, labels, values).classes,
                quasi,
                one.attributes,
                [one.people],
            )
            criteria = _criteria(one, k)
            needed = dict.fromkeys(column for criterion in criteria for column in criterion.columns)
            cells = select(classes, list({"quasi_identifiers": None, "people": None, **needed}))
            found = collect(map_batches(cells, _sum_up(criteria, starts), PARTS))[
                "part"
            ].to_pylist()
            parts += map(pickle.loads, found)
    total = reduce(add, parts)
    several = any(one.people.several for one in releases)
    guarantees = [
        criterion.guarantee(worst, broken, _class_of_each(releases, worst.labels), IN_CELLS)
        for criterion, worst, broken in zip(
            _criteria(releases[-1], k),
            total.worst,
            total.broken,
            strict=True,
        )
        if several or criterion.measure.endswith(OVER_PEOPLE)
    ]
    return CellFigures(
        releases=tuple(one.name for one in releases),
        cells=total.cells,
        people=sum(total.present.values()),
        alone=total.alone,
        present=dict(total.present),
        guarantees=tuple(guarantees),
    )


def _sensitive(release: PeopleOfRelease) -> list[str]:
    return [a.name for a in release.attributes]


def _criteria(release: PeopleOfRelease, k: int | None) -> list[Criterion]:
    """k people first, then those over rows, and those over people."""
    people, *over_people = release.people.criteria(k)
    return [people, *criteria_of(release.attributes), *over_people]


def _sum_up(criteria: Sequence[Criterion], starts: Sequence[int]) -> Mapper:
    """The figures of the cells of each task. starts: the labels that count the classes of a
    person.
    """

    def sum_up(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts = [part(batch) for batch in batches if batch.num_rows]
        if parts:
            yield pa.RecordBatch.from_pydict(
                {"part": [pickle.dumps(reduce(add, parts))]},
                schema=PARTS,
            )

    def part(cells: pa.RecordBatch) -> _Part:
        people = cells["people"].to_numpy()
        labels = cells["quasi_identifiers"].flatten()
        here = np.stack(
            [pc.not_equal(labels[i], "0").to_numpy(zero_copy_only=False) for i in starts],
            axis=1,
        )
        patterns, group = np.unique(here, axis=0, return_inverse=True)
        held = np.zeros(len(patterns), dtype=np.int64)
        np.add.at(held, group.reshape(-1), people)
        broken = [criterion.breaks(cells) for criterion in criteria]
        return _Part(
            len(people),
            int((people == 1).sum()),
            Counter(
                {
                    tuple(map(bool, pattern)): int(n)
                    for pattern, n in zip(patterns, held, strict=True)
                },
            ),
            tuple(criterion.worst_class(cells, people, labels) for criterion in criteria),
            tuple((int(each.sum()), int(people[each].sum())) for each in broken),
        )

    return sum_up


def _class_of_each(
    releases: Sequence[PeopleOfRelease],
    labels: Sequence[str | None],
) -> dict[str, Any]:
    """The labels of a cell, by release and column: lists if its people are in several classes."""
    found: dict[str, Any] = {}
    rest = iter(labels)
    for one in releases:
        classes = int(str(next(rest)))
        own = {column: next(rest) for column in one.labels}
        if classes > 1:
            own = {column: json.loads(str(label)) for column, label in own.items()}
        found[one.name] = own if classes else None
    return found


PLACE = "place"  # of a release among the others


def join_people(releases: Sequence[tuple[Table, Sequence[str]]], sensitive: Sequence[str]) -> Table:
    """The rows of each person in the first release that has the person, with the person's class in
    every release.

    releases: rows with PERSON, and their published columns.

    Columns: PLACE, of that release; `l0`.. by release, in how many classes the person is ("0" if it
        has no row), and the labels of the class; `v0`.. the sensitive values as text; PERSON;
        SUPPRESSED, which no row is. If a person is in several classes of a release, a label is the
        list of theirs, as JSON.
    """
    most = max(len(labels) for _, labels in releases)
    sizes = [len(labels) for _, labels in releases]
    columns = [*(f"l{i}" for i in range(most)), *(f"v{i}" for i in range(len(sensitive)))]
    tagged = pa.schema(
        [(PLACE, pa.int32()), *((name, pa.string()) for name in columns), (PERSON, pa.int64())],
    )

    def tag(place: int) -> Mapper:
        def tag(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                written = [decoded(texts(column)) for column in batch.columns[:-1]]
                unused = [pa.nulls(len(batch), pa.string())] * (most - sizes[place])
                labels = written[: sizes[place]]
                values = written[sizes[place] :]
                places = pa.repeat(pa.scalar(place, pa.int32()), len(batch))
                arrays = [places, *labels, *unused, *values, batch.columns[-1]]
                yield pa.RecordBatch.from_arrays(arrays, schema=tagged)

        return tag

    rows = [
        map_batches(select(table, [*labels, *sensitive, PERSON]), tag(place), tagged)
        for place, (table, labels) in enumerate(releases)
    ]
    schema = _joined_schema(sum(sizes) + len(sizes), len(sensitive))
    return map_batches(gather(union(rows), [PERSON]), _join(sizes, most, schema), schema)


def _join(sizes: Sequence[int], most: int, schema: pa.Schema) -> Mapper:
    """See `join_people`. sizes: the number of labels in each release. most: the largest."""

    def join(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in whole_people(batches):
            people, person = np.unique(batch[PERSON].to_numpy(), return_inverse=True)
            place = batch[PLACE].to_numpy()
            first = np.full(len(people), len(sizes), dtype=np.int32)
            np.minimum.at(first, person, place)
            kept = pa.array(np.flatnonzero(place == first[person]))
            whose = pa.array(person).take(kept)
            labels: list[pa.Array] = []
            for number, size in enumerate(sizes):
                rows = np.flatnonzero(place == number)
                of = [column.take(pa.array(rows)) for column in batch.columns[1 : 1 + size]]
                labels += [column.take(whose) for column in _classes(of, person[rows], len(people))]
            values = [column.take(kept) for column in batch.columns[1 + most : -1]]
            arrays = [pa.array(first).take(whose), *labels, *values, batch[PERSON].take(kept)]
            yield pa.RecordBatch.from_arrays([*arrays, pa.repeat(False, len(kept))], schema=schema)

    return join


def _classes(labels: Sequence[pa.Array], person: IntArray, people: int) -> list[pa.Array]:
    """The number of classes of each person, and their labels, shape (people,) each. labels: of some
    rows. person: whose each row is, a number below `people`.
    """
    group, first = group_equal(labels)
    owner, of = np.unique(np.stack([person, group]), axis=1)
    several = np.bincount(owner, minlength=people)
    start = np.searchsorted(owner, np.arange(people))
    row = np.full(people, -1)
    row[several > 0] = first[of[start[several > 0]]]
    found = [column.take(pa.array(row, mask=row < 0)) for column in labels]
    listed = {
        who: sorted(
            ([column[int(i)].as_py() for column in labels] for i in first[of[at : at + n]]),
            key=repr,
        )
        for who, at, n in zip(
            *(x[several > 1].tolist() for x in (np.arange(people), start, several)),
            strict=True,
        )
    }
    if listed:
        for i, column in enumerate(found):
            written = column.to_pylist()
            for who, classes in listed.items():
                written[who] = json.dumps([each[i] for each in classes])
            found[i] = pa.array(written, pa.string())
    return [pa.array(several).cast(pa.string()), *found]


def _joined_schema(labels: int, sensitive: int) -> pa.Schema:
    named = [*(f"l{i}" for i in range(labels)), *(f"v{i}" for i in range(sensitive))]
    own = [
        (PLACE, pa.int32()),
        *((name, pa.string()) for name in named),
        (PERSON, pa.int64()),
        (SUPPRESSED, pa.bool_()),
    ]
    return pa.schema(own)


def _shown_first(place: int) -> Mapper:
    """The rows of people whose first release is at this place."""

    def only(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return (batch.filter(pc.equal(batch[PLACE], place)) for batch in batches)

    return only
