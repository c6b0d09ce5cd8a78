"""Whether every class of a release is a union of atoms (see `table.atoms`), from the written
tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.class_table import ClassRequirements, class_table
from tclose_spark.checks.classes.figures import class_figures
from tclose_spark.checks.problems import violation
from tclose_spark.checks.written import released_people
from tclose_spark.engine.protocol import Mapper, Table
from tclose_spark.engine.tables import collect, gather, keep, map_batches, schema_of, select, union
from tclose_spark.io.tables.check_columns import SUPPRESSED
from tclose_spark.table.atoms import ATOM, ATOMS, SINCE, VALUES, hash_values, values_by_person
from tclose_spark.table.fingerprint import Fingerprint, content_hash
from tclose_spark.table.people import PERSON, whole_people

CLASS = "class"
SHOWN = "shown"
CHANGED = "changed"
COMPARED = pa.schema(
    [(ATOM, pa.int64()), (CLASS, pa.int64()), (SHOWN, pa.bool_()), (CHANGED, pa.bool_())],
)
"""Each person of the atoms, with the class; people who are shown and have no atom, with no ATOM."""
COUNTED = ("atoms", "published", "in part", "split", CHANGED, "without an atom")
FOUND = pa.schema([*((name, pa.int64()) for name in (*COUNTED, "smallest", "rows", "digest"))])


@dataclass(frozen=True, kw_only=True)
class Line:
    """The line of releases that a release continues.

    atoms: `internal/atoms`. releases: the fingerprints of the earlier releases, in their order.
    before: the fingerprint that the atoms of the earlier releases had when the run began.
    versions: of the Delta table of the release, which are readable. The last one is the release.
    """

    atoms: Table
    releases: tuple[str, ...]
    before: str
    versions: Sequence[int]

    @property
    def number(self) -> int:
        """The number of the release in its line, from 1."""
        return len(self.releases) + 1


@dataclass(frozen=True, kw_only=True)
class JudgedLine:
    """problems: a line each. atoms: how many are there (`all`) and `published`, and the people of
    the `smallest`.
    newcomers: `people`, and the `atoms` that they are.
    """

    problems: tuple[str, ...]
    atoms: Mapping[str, int]
    newcomers: Mapping[str, int]


def judge_line(
    line: Line,
    people: Table,
    labels: Sequence[str],
    required: ClassRequirements,
) -> JudgedLine:
    """Every atom is in one class as a whole or not in the release, its people have the sensitive
    values that they had, and the newcomers of each class are a class by themselves.

    people: `internal/people`. labels: its published columns of quasi-identifiers.
    required: of every class and every atom, over people.
    """
    sensitive = [a.name for a in required.attributes]
    with keep(_met(line, people, labels, sensitive)) as met:
        found = _found(met, len(labels), len(sensitive), line.number)
        newcomers = map_batches(
            met,
            _newcomers(line.number),
            schema_of(people_columns(people, labels, sensitive)),
        )
        with released_people(newcomers, labels, sensitive) as whose:
            assert whose is not None
            new = sum(whose.sizes.values())
            problems = list[str]()
            new_atoms = 0
            if new:
                classes = class_table(
                    whose.tallied.classes,
                    required.quasi,
                    required.attributes,
                    required.units,
                )
                figures = class_figures(classes, required)
                problems = [f"newcomers alone: {violation(broken)}" for broken in figures.broken]
                new_atoms = figures.classes
    if str(Fingerprint(found["rows"], found["digest"])) != line.before:
        problems.append("internal/atoms has not the atoms of the earlier releases")
    problems += [
        f"{found[name]:,} {what}"
        for name, what in (
            ("in part", "atoms are published in part"),
            ("split", "atoms are in several classes"),
            (CHANGED, "people of an atom have other sensitive values than in the earlier release"),
            ("without an atom", "published people are in no atom"),
        )
        if found[name]
    ]
    k = required.k
    if k is not None and found["smallest"] < k:
        problems.append(f"the smallest atom has {found['smallest']:,} people, and k is {k}")
    atoms = {"all": found["atoms"], "published": found["published"], "smallest": found["smallest"]}
    return JudgedLine(
        problems=tuple(problems),
        atoms=atoms,
        newcomers={"people": new, "atoms": new_atoms},
    )


def people_columns(people: Table, labels: Sequence[str], sensitive: Sequence[str]) -> Table:
    """The columns of `internal/people` that are judged."""
    return select(people, [*labels, *sensitive, PERSON, SUPPRESSED])


def _met(line: Line, people: Table, labels: Sequence[str], sensitive: Sequence[str]) -> Table:
    """The rows of people and of atoms, by person: the columns of people, then those of atoms."""
    rows = people_columns(people, labels, sensitive)
    atoms = select(line.atoms, ATOMS.names)
    of_people = list(schema_of(rows))
    of_atoms = [field for field in ATOMS if field.name != PERSON]
    place = len(of_people) - 2
    schema = pa.schema([(f"c{i}", field.type) for i, field in enumerate(of_people)] + of_atoms)
    schema = schema.set(place, pa.field(PERSON, pa.int64()))

    def wide(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            nothing = [pa.nulls(len(batch), field.type) for field in of_atoms]
            yield pa.RecordBatch.from_arrays([*batch.columns, *nothing], schema=schema)

    def of_atom(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = [pa.nulls(len(batch), field.type) for field in of_people]
            columns[place] = batch[PERSON]
            yield pa.RecordBatch.from_arrays([*columns, *batch.columns[1:]], schema=schema)

    return gather(
        union([map_batches(rows, wide, schema), map_batches(atoms, of_atom, schema)]),
        [PERSON],
    )


def _parts(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """(the published rows of people; the rows of atoms) of rows of `_met`."""
    of_atom = batch[ATOM].is_valid()
    suppressed = batch.column(batch.num_columns - len(ATOMS)).fill_null(True)
    return batch.filter(pc.invert(pc.or_(of_atom, suppressed))), batch.filter(of_atom)


def _newcomers(number: int) -> Mapper:
    """The published rows of people whose atom is of this release."""

    def newcomers(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in whole_people(batches):
            shown, atoms = _parts(batch)
            new = atoms.filter(pc.equal(atoms[SINCE], number))
            rows = shown.filter(pc.is_in(shown[PERSON], new[PERSON]))
            yield rows.select(rows.schema.names[: -len(ATOMS) + 1])

    return newcomers


def _compare(labels: int, sensitive: int) -> Mapper:
    def compare(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in whole_people(batches):
            shown, atoms = _parts(batch)
            columns = shown.columns
            people, values = values_by_person(
                shown[PERSON].to_numpy(),
                hash_values(columns[labels : labels + sensitive]),
            )
            _, first = np.unique(shown[PERSON].to_numpy(), return_index=True)
            class_ = content_hash(columns[:labels]).view(np.int64)[first]
            place = pc.index_in(atoms[PERSON], pa.array(people))
            there = place.is_valid()
            same = pc.equal(pa.array(values).take(place), atoms[VALUES])
            changed = pc.and_(there, pc.invert(same.fill_null(True)))
            yield pa.RecordBatch.from_arrays(
                [atoms[ATOM], pa.array(class_).take(place), there, changed],
                schema=COMPARED,
            )
            strange = pc.invert(pc.is_in(pa.array(people), atoms[PERSON]))
            none = pa.array(class_).filter(strange)
            yes = pa.array(np.ones(len(none), dtype=bool))
            yield pa.RecordBatch.from_arrays(
                [pa.nulls(len(none), pa.int64()), none, yes, yes],
                schema=COMPARED,
            )

    return compare


def _found(met: Table, labels: int, sensitive: int, number: int) -> dict[str, int]:
    """The figures of FOUND over all atoms. rows, digest: the fingerprint of those of earlier
    releases.
    """

    def before(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            of_atoms = batch.filter(pc.less(batch[SINCE], number).fill_null(False))
            one = Fingerprint.of([of_atoms[name] for name in ATOMS.names])
            yield _row(rows=one.rows, digest=one.digest)

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in whole_people(batches, ATOM):
            strange = batch.filter(batch[ATOM].is_null()).num_rows
            held = batch.filter(batch[ATOM].is_valid())
            atoms, whose = np.unique(held[ATOM].to_numpy(), return_inverse=True)
            sizes = np.bincount(whose, minlength=len(atoms))
            shown = held[SHOWN].to_numpy(zero_copy_only=False)
            published = np.bincount(whose, weights=shown, minlength=len(atoms))
            classes = np.unique(
                np.stack([whose[shown], held[CLASS].filter(held[SHOWN]).to_numpy()]),
                axis=1,
            )
            several = np.bincount(classes[0], minlength=len(atoms)) > 1
            yield _row(
                **dict(
                    zip(
                        COUNTED,
                        (
                            len(atoms),
                            int((published > 0).sum()),
                            int(((published > 0) & (published < sizes)).sum()),
                            int(several.sum()),
                            int(pc.sum(held[CHANGED].cast(pa.int64())).as_py() or 0),
                            strange,
                        ),
                        strict=True,
                    ),
                ),
                smallest=int(sizes.min()) if len(sizes) else None,
            )

    compared = gather(map_batches(met, _compare(labels, sensitive), COMPARED), [ATOM])
    rows = collect(union([map_batches(compared, count, FOUND), map_batches(met, before, FOUND)]))
    total = Fingerprint(0, 0)
    for row in rows.to_pylist():
        total += Fingerprint(row["rows"] or 0, row["digest"] or 0)
    found = {name: int(pc.sum(rows[name]).as_py() or 0) for name in COUNTED}
    return {
        **found,
        "smallest": int(pc.min(rows["smallest"]).as_py() or 0),
        "rows": total.rows,
        "digest": total.digest,
    }


def _row(**figures: int | None) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array([figures.get(field.name)], field.type) for field in FOUND],
        schema=FOUND,
    )
