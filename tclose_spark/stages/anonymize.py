"""From staged rows to the release: encode, route, one shuffle, assign classes, generalize, write, and check while
writing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa

from tclose_spark.checks.labels.aggregates import AggregateCheck, rows_without_aggregate
from tclose_spark.checks.labels.coverage import Coverage
from tclose_spark.engine.protocol import How, Mapper, Session, Table, TaskSum
from tclose_spark.engine.tables import (
    map_batches,
    observe,
    read_delta,
    send_to_tasks,
    session_of,
    task_sum,
    the_task,
    write_delta,
    write_tables,
)
from tclose_spark.errors import DamagedStagingError, GuaranteeError
from tclose_spark.io.run import ATOMS, LINKED, PEOPLE, RECORDS, Run
from tclose_spark.io.spark.progress import watched
from tclose_spark.io.tables.check_columns import SUPPRESSED
from tclose_spark.io.tables.versions import prepend_versions
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import ClassAssignment, Plan
from tclose_spark.methods.rows_in_work import begin_write, end_task, rows_in_work
from tclose_spark.runfile.release_form import RELEASE, SENSITIVE_TABLES
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.stages.forms import FormedTables
from tclose_spark.stages.generalize import Generalizer, LabelLimits, as_moments, raw_type, run_starts
from tclose_spark.stages.line.earlier import EarlierRelease, earlier_release
from tclose_spark.stages.line.published_atoms import published_atoms, with_newcomers
from tclose_spark.stages.observers.extreme_aggregates import ExtremeAggregates
from tclose_spark.stages.observers.linked_sample import LinkedSample
from tclose_spark.stages.observers.minimality import MinimalityCounter
from tclose_spark.stages.observers.refused_cuts import RefusedCuts
from tclose_spark.stages.observers.released_values import (
    VALUES,
    VALUES_SCHEMA,
    PublicNames,
    note_values,
    read_values,
    restrict,
)
from tclose_spark.stages.publish import MINIMALITY
from tclose_spark.stages.routing import ROUTED, router
from tclose_spark.stages.staging.area import (
    LINKED_SAMPLE,
    read_columns,
    read_plan,
    read_profile,
    read_rows,
    resolved_attributes,
)
from tclose_spark.stages.staging.batches import StagedColumns, read_batches
from tclose_spark.stages.staging.encode import Encoder
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.columns.parquet import FILE, TABLE, ChangedFileError, parquet_files
from tclose_spark.table.domains import Profile, QuasiDomain
from tclose_spark.table.fingerprint import Fingerprint, content_hash
from tclose_spark.table.hierarchies.building import RELEASED_HIERARCHIES
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.people import PERSON
from tclose_spark.table.rows import Rows

FIGURE = "figure{}"  # numbered: a method's names may be like any of ours
UNCOVERED, RAW_ROWS, RAW_DIGEST, ROWS, DIGEST = "uncovered", "raw_rows", "raw_digest", "rows", "digest"
PEOPLE_ROWS, PEOPLE_DIGEST = "people_rows", "people_digest"
PROJECTION = "projection{}"
"""The digest of a part of the raw rows: see `ReleaseForm.projections`."""
SUMS = (UNCOVERED, RAW_ROWS, RAW_DIGEST, ROWS, DIGEST, PEOPLE_ROWS, PEOPLE_DIGEST)
"""Of a task's released or suppressed rows: those whose label does not cover its value (or is not the aggregate of the
class), and the fingerprints of the raw rows, of the release, and of PEOPLE.
"""
NOTHING = Fingerprint(0, 0)


def write_release(run: Run, record: dict[str, Any]) -> None:
    """Writes the release and its private observations to the staging area. record: gets both fingerprints."""
    profile, columns = read_profile(run), read_columns(run)
    attributes = resolved_attributes(run, profile)
    plan = read_plan(run, attributes, profile.continued)
    formed = FormedTables.of(run.spec, profile.quasi, attributes.cells, run.secret)
    anonymizer = Anonymizer(run.spec, profile, attributes, plan, columns, formed=formed)
    written = _write(run, anonymizer)
    if anonymizer.notes_values:
        names = PublicNames.of(run.spec, attributes, read_values(read_delta(run.session, run.staging.path(VALUES))))
        run.staging.remove(VALUES)
        if written.suppressed:
            record["hierarchies"] = run.write_hierarchies(names.hierarchies, RELEASED_HIERARCHIES)
        if written.suppressed and names.differs:
            anonymizer = Anonymizer(run.spec, profile, attributes, plan, columns, names)
            written = _write(run, anonymizer)
    run.staging.write(MINIMALITY, json.dumps(anonymizer.mechanism(), indent=1), private=True)
    run.staging.write(LINKED_SAMPLE, anonymizer.sample.to_json(), private=True)
    if profile.continued:
        earlier = earlier_release(run)
        assert earlier is not None
        _write_atoms(run, anonymizer, earlier)
        if run.spec.output.keep_versions > 1:
            kept = prepend_versions(run.staging, run.public, RELEASE, run.spec.output.keep_versions, earlier.files)
            record["versions"] = {"readable": list(kept), "commits": kept.stop}
    hashed = {"raw": written.raw, "published": written.published, "people": written.people}
    record |= {"written": {side: str(one) for side, one in hashed.items() if one is not None}, "method": written.method}
    if formed is not None:
        record["written"]["projections"] = {name: str(one) for name, one in written.projections.items()}


def _write_atoms(run: Run, anonymizer: Anonymizer, earlier: EarlierRelease) -> None:
    """Writes the atoms of the earlier releases, and those of newcomers."""
    people, labels = read_delta(run.session, run.staging.path(PEOPLE)), [*dict(anonymizer.generalizer.schema())]
    published = published_atoms(people, labels, [*run.spec.attributes.sensitive_attributes], earlier.next_number)
    run.staging.remove(ATOMS)
    write_delta(with_newcomers(earlier.atoms(), published), run.staging.path(ATOMS))


def _write(run: Run, anonymizer: Anonymizer) -> Written:
    run.staging.remove(LINKED)
    run.staging.remove(PEOPLE)
    for name in (RECORDS, *SENSITIVE_TABLES):
        run.staging.remove(name)
    try:
        _write_tables(run, anonymizer, trusts_text_writer=True)
    except ChangedFileError:
        run.announce("note: Spark's text writer changes files on this platform; Delta writes them instead, more slowly")
        _write_tables(run, anonymizer, trusts_text_writer=False)
    return anonymizer.written()


def _write_tables(run: Run, anonymizer: Anonymizer, trusts_text_writer: bool) -> None:
    files = anonymizer.files(read_rows(run))
    with watched(anonymizer.rows_so_far, anonymizer.attributes.rows, run.progress):
        write_tables(files, anonymizer.tables, run.staging, trusts_text_writer)


@dataclass(frozen=True)
class Written:
    """The fingerprints of all raw rows, of the released rows and of the rows of PEOPLE, the method's figures, and the
    fingerprints of the raw rows' parts that are published apart.
    """

    raw: Fingerprint
    published: Fingerprint
    people: Fingerprint | None
    method: dict[str, Any]
    projections: Mapping[str, Fingerprint]

    @property
    def suppressed(self) -> int:
        """The number of rows that are not released."""
        return self.raw.rows - self.published.rows


class Anonymizer:
    """Turns the staged rows of a run into files of the release. Holds what the executors need."""

    def __init__(
        self,
        spec: ReleaseSpec,
        profile: Profile,
        attributes: ResolvedAttributes,
        plan: Plan,
        columns: StagedColumns,
        names: PublicNames | None = None,
        formed: FormedTables | None = None,
    ) -> None:
        """names: the values that labels may name, once it is known which rows are suppressed. formed: makes the tables
        of another form than one table of labels.
        """
        self.formed = formed
        self.spec, self.profile, self.attributes, self.plan, self.columns = spec, profile, attributes, plan, columns
        self.names, quasi = names, attributes.quasi_identifiers if names is None else names.quasi
        self.encoder = Encoder.of(profile, columns)
        self.generalizer = Generalizer.of(quasi, spec.aggregates, spec.method.promises_disjoint)
        self.coverages = tuple(
            Coverage(q.domain.kind != "category", _paths(q.hierarchy), q.sets, q.domain.scale, q.missing_any)
            for q in quasi
        )
        self.aggregates = tuple(
            AggregateCheck(spec.aggregates[q.name], q.domain.scale, _places(q.domain))
            for q in attributes.quasi_identifiers
            if q.name in spec.aggregates
        )
        self.observed: Callable[[], Mapping[str, Any]]
        self.rows_done: TaskSum[int]
        self.minimality: MinimalityCounter
        self.sample: LinkedSample
        self.refused_cuts: RefusedCuts | None
        self.extremes: ExtremeAggregates

    @property
    def notes_values(self) -> bool:
        """Whether tasks note the values of released rows in VALUES."""
        return self.names is None and self.spec.privacy.suppression_limit > 0

    @property
    def tables(self) -> dict[str, pa.Schema]:
        """The schemas of the written tables, by name.

        RELEASE is the published table, with the released columns; in another form, see `FormedTables`. LINKED
        (`output.keep_linked`) has every row: the released columns, each raw
        quasi-identifier as `<name>_raw`, and, if rows may be suppressed, SUPPRESSED. Suppressed rows have no labels.
        PEOPLE, if they are counted, has every row: the released columns, PERSON, and SUPPRESSED.
        RECORDS (`output.leavers: keep`) has every released row as it was: its prepared quasi-identifiers under their
        names, the other released columns, and PERSON.
        VALUES has values of released rows, until they are read.
        """
        roles = self.spec.attributes
        own = {field.name: field.type for field in self.columns.passing}
        as_they_are = [*roles.sensitive_attributes, *roles.beside]
        released = [*self._quasi, *((name, own.get(name, pa.string())) for name in as_they_are)]
        noted = {VALUES: VALUES_SCHEMA} if self.notes_values else {}
        if roles.person is not None:
            noted[PEOPLE] = pa.schema([*released, (PERSON, pa.int64()), (SUPPRESSED, pa.bool_())])
        kinds = {"category": pa.string(), "integer": pa.int64(), "double": pa.float64()}
        if self.spec.output.leavers == "keep":
            quasi = [(domain.name, kinds[domain.kind]) for domain in self.profile.quasi]
            noted[RECORDS] = pa.schema([*quasi, *released[-len(as_they_are) :], (PERSON, pa.int64())])
        if self.formed is not None:
            return self.formed.schemas(pa.schema(released), len(self._quasi))
        if not self.spec.output.keep_linked:
            return {RELEASE: pa.schema(released), **noted}
        raw = [
            (f"{name}_raw", raw_type(d)) for name, d in zip(roles.quasi_identifiers, self.profile.quasi, strict=True)
        ]
        flag = [(SUPPRESSED, pa.bool_())] if self.spec.privacy.suppression_limit else []
        return {RELEASE: pa.schema(released), LINKED: pa.schema([*released, *raw, *flag]), **noted}

    @property
    def _quasi(self) -> list[tuple[str, pa.DataType]]:
        """Names and types of the published columns of quasi-identifiers."""
        if self.formed is not None and self.formed.form.is_exact:
            return self.formed.schema()
        return self.generalizer.schema()

    @property
    def sums(self) -> tuple[str, ...]:
        """SUMS, and the digests of the parts that are published apart."""
        return (*SUMS, *(PROJECTION.format(i) for i in range(len(self._parts))))

    @property
    def figures(self) -> dict[str, How]:
        """How the figures of tasks are combined, by column of `files`."""
        of_method = {FIGURE.format(i): how for i, how in enumerate(self.plan.figures.values())}
        return {**dict.fromkeys(self.sums, "sum"), **of_method}

    @property
    def schema(self) -> pa.Schema:
        """The columns of `files`."""
        figures = [(name, pa.int64() if name in self.sums else pa.float64()) for name in self.figures]
        return pa.schema([(TABLE, pa.string()), (FILE, pa.binary()), *figures])

    def files(self, batches: Table) -> Table:
        """The files of `tables`, as rows of `schema`. A task holds whole classes. Fingerprints and wrong labels are
        observed while the files are written: see `written`.
        """
        session: Session = session_of(batches)
        self.rows_done = task_sum(session, int, add)
        begin_write()
        self.minimality = MinimalityCounter.of(session, self.attributes, self.plan.tasks)
        self.sample = LinkedSample(session, self.profile, self.plan.tasks)
        self.refused_cuts = RefusedCuts.of(session, self.spec, self.attributes)
        checks = dict(zip(self.spec.aggregates, self.aggregates, strict=True))
        self.extremes = ExtremeAggregates(session, self.profile, checks, self.spec.privacy.k)
        routed = send_to_tasks(batches, router(self.encoder, self.plan), ROUTED, self.plan.tasks)
        files, self.observed = observe(map_batches(routed, self._finisher(), self.schema), self.figures)
        return files

    def rows_so_far(self) -> int | None:
        """The rows of finished tasks, and those that this process has worked off; None if nothing counts."""
        done = self.rows_done.value
        return None if done is None else done + rows_in_work()

    def _finisher(self) -> Mapper:
        """What a task does with its rows, which it holds in compact form."""
        codec, plan, generalizer, coverages, rows_done = (
            self.encoder.codec,
            self.plan,
            self.generalizer,
            self.coverages,
            self.rows_done,
        )
        limits = LabelLimits.of(self.spec, self.attributes)
        minimality, columns, names, attributes = self.minimality, self.columns, self.names, self.attributes
        first_labels = generalizer
        if names is not None:
            first_labels = Generalizer.of(attributes.quasi_identifiers, self.spec.aggregates, generalizer.disjoint)
        notes, tables, files = self.notes_values, self.tables, self.schema
        tables.pop(VALUES, None)
        sample, refused, quasi_columns = self.sample, self.refused_cuts, len(self.generalizer.schema())
        formed = self.formed
        exact = formed if formed is not None and formed.form.is_exact else None
        disjoint, aggregates, extremes = self.spec.method.promises_disjoint, self.aggregates, self.extremes
        calendars = [domain.calendar for domain in self.profile.quasi]
        insensitive, cell_places = len(self.spec.attributes.beside), _cell_places(attributes)
        if formed is not None:  # rows without sensitive values must not be in the order of these
            cell_places = np.zeros_like(cell_places)

        def contents(rows: Rows, passing: list[pa.Array]) -> tuple[list[pa.Array], list[pa.Array]]:
            """(prepared quasi-identifiers; sensitive and other values)."""
            raw = codec.decode(rows)
            return raw, columns.published([*raw, *codec.sensitive_texts(rows), *passing])[len(raw) :]

        def finished(
            rows: Rows, passing: list[pa.Array], labels: list[pa.Array] | None
        ) -> tuple[dict[str, list[pa.Array]], list[int]]:
            """(the columns of each table; their SUMS). labels: None for suppressed rows."""
            raw, values = contents(rows, passing)
            if formed is not None and labels is not None:
                of_form = formed.tables(labels, values, rows.cell)
                hashed = (Fingerprint.of([*raw, *values]), Fingerprint.of(of_form[RELEASE]), NOTHING)
                wrong = 0 if exact is not None else _uncovered(coverages, generalizer.bounds, raw, labels)
                digests = [part.digest for part in formed.projections(labels, raw, values)]
                return of_form, [wrong, *(n for side in hashed for n in (side.rows, side.digest)), *digests]
            written = labels or [pa.nulls(len(rows), kind) for _, kind in generalizer.schema()]
            released, suppressed = [*written, *values], pa.array(np.full(len(rows), labels is None))
            person = [] if rows.person is None else [pa.array(rows.person)]
            of_people = [*released, *person, suppressed]
            sides = (
                Fingerprint.of([*raw, *values, *person]),
                Fingerprint.of(released) if labels else NOTHING,
                Fingerprint.of(of_people) if person else NOTHING,
            )
            uncovered = 0
            if labels and aggregates:
                uncovered = rows_without_aggregate(aggregates, raw, labels)
                if not uncovered:
                    extremes.add(raw, labels)
            elif labels:
                uncovered = _uncovered(coverages, generalizer.bounds, raw, labels)
            sums = [uncovered, *(n for side in sides for n in (side.rows, side.digest))]
            beside = [as_moments(x, known) if known else x for x, known in zip(raw, calendars, strict=True)]
            made = {RELEASE: released, LINKED: [*released, *beside, suppressed], PEOPLE: of_people}
            return {**made, RECORDS: [*raw, *values, *person]}, sums

        def finish(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            received = [batch for batch in batches if batch.num_rows]
            if not received:
                return
            sent = pa.Table.from_batches(received)
            rows = codec.unpack(b"".join(sent["rows"].to_pylist()))
            passing = _passing(sent["beside"])
            assigned = plan.assign_classes(rows.led, the_task(sent["task"]))
            beside = passing[len(passing) - insensitive :]
            sorted_rows = replace(rows, cell=cell_places[rows.cell])
            place, labels = _labelled(first_labels, sorted_rows, assigned, beside)
            place, labels, coarse = limits.suppress(place, labels, len(assigned.here))
            if names is not None:
                place, labels = _labelled(generalizer, sorted_rows, names.shrink(restrict(assigned, place)), beside)
            suppressed = coarse if assigned.suppressed is None else np.concatenate([assigned.suppressed, coarse])
            if not aggregates:
                chosen = assigned.regions is None and not disjoint
                shown = rows.take(place).shown(run_starts(labels)) if len(place) else rows.take(place)
                minimality.add(shown, labels if chosen else None)
                minimality.add_suppressed(rows.take(suppressed))
            if refused is not None and len(place):
                refused.add(rows.take(place), run_starts(labels))
            if notes and len(place):
                noted = note_values(rows, restrict(assigned, place), attributes)
                yield from (_row_of_files(files, VALUES, file) for file in parquet_files(noted.columns, noted.schema))
            if exact is not None:
                taken = pa.array(assigned.here)
                found = contents(rows.take(assigned.here), [column.take(taken) for column in passing])
                order, labels = exact.number(rows.take(assigned.here), assigned.classes, *found)
                place = assigned.here[order]
            figures: dict[str, float | None] = {name: assigned.figures[name] for name in plan.figures}
            for here, published in ((place, labels), (suppressed, None)):
                if len(here):
                    if exact is None:
                        sample.add(rows.take(here), published, quasi_columns)
                    else:
                        sample.add_classes(rows.take(here), labels[-1])
                    beside = [column.take(pa.array(here)) for column in passing]
                    made, sums = finished(rows.take(here), beside, published)
                    yield _row_of_files(files, None, None, *sums, *figures.values())
                    figures = dict.fromkeys(figures)
                    for name, schema in tables.items():
                        if published or name not in (RELEASE, RECORDS):
                            for file in parquet_files(made[name][: len(schema)], schema):
                                yield _row_of_files(files, name, file)
            end_task()
            rows_done.add(len(rows))

        return finish

    def mechanism(self) -> dict[str, Any]:
        """After the write: what the method's choices reveal, with raw values, so it must stay inside."""
        if self.aggregates:
            why = "the release publishes aggregates, which do not show what a class covers"
            found = {"extreme_aggregates": self.extremes.figure(), "few_values": self.extremes.few_values()}
            return {"measured": False, "why": why, **found}
        figure = self.minimality.figure(self.profile, self.spec.privacy.k, self.spec.privacy.of == "input")
        refused = None if self.refused_cuts is None else self.refused_cuts.figure()
        return figure if refused is None else {**figure, "refused_cuts": refused}

    def written(self) -> Written:
        """What was observed during the write.

        Raises:
            DamagedStagingError: if the rows are not those that were profiled.
            GuaranteeError: if a label does not cover its row's value, or an aggregate is not that of its class.
            UnreachableError: if the method could not make classes that hold.
        """
        figures = self.observed()
        uncovered, *sides = (int(figures[name] or 0) for name in SUMS)
        parts = [int(figures[name] or 0) for name in self.sums[len(SUMS) :]]
        raw, published, people = (
            Fingerprint(rows, digest) for rows, digest in zip(sides[::2], sides[1::2], strict=True)
        )
        if str(raw) != self.profile.fingerprint:
            raise DamagedStagingError(
                f"the rows that were written ({raw.rows}) are not those that were profiled ({self.profile.rows}): a "
                "retry disturbed the run, or the staged rows are damaged; begin again with `tclose profile`"
            )
        if uncovered:
            wrong = "label that does not cover their value"
            if self.aggregates:
                wrong = "published value that is not the aggregate of their class's values"
            raise GuaranteeError(f"{uncovered} rows have a {wrong}; nothing is published")
        return Written(
            raw,
            published,
            None if self.profile.people is None else people,
            self.plan.describe({name: figures[FIGURE.format(i)] for i, name in enumerate(self.plan.figures)}),
            dict(zip(self._parts, (Fingerprint(published.rows, digest) for digest in parts), strict=True)),
        )

    @property
    def _parts(self) -> list[str]:
        """The names of the parts that are published apart."""
        return [] if self.formed is None else [RELEASE, *self.formed.blocks]


def _passing(beside: pa.ChunkedArray) -> list[pa.Array]:
    """The columns that traveled beside the rows."""
    sent = list(read_batches(chunk for chunk in beside.chunks if not chunk.null_count))
    return [column.combine_chunks() for column in pa.Table.from_batches(sent).columns] if sent else []


def _labelled(
    generalizer: Generalizer, rows: Rows, assigned: ClassAssignment, insensitive: Sequence[pa.Array]
) -> tuple[IntArray, list[pa.Array]]:
    """(the places of released rows in published order, their published columns)."""
    here = assigned.here
    if not len(here):
        return here, []
    ties = [content_hash([column.take(pa.array(here)) for column in insensitive])] if insensitive else []
    order, labels = generalizer.publish(rows.take(here), assigned.classes, ties, assigned.regions)
    return here[order], labels


def _cell_places(attributes: ResolvedAttributes) -> IntArray:
    """The place of each cell in the order of published rows: by codes, or by text if the codes follow the input's
    frequencies, which would reveal suppressed rows.
    """
    keys = []
    for a in attributes.sensitive:
        codes = attributes.cells[:, a.column]
        if a.order == "frequency":
            codes = np.argsort(np.argsort([value or "" for value in a.domain.values]))[codes]
        keys.append(codes)
    return np.argsort(np.lexsort(keys[::-1]))


def _row_of_files(schema: pa.Schema, *values: Any) -> pa.RecordBatch:
    """A row of `Anonymizer.schema`, from its first values; the others are missing."""
    given = [*values, *[None] * (len(schema) - len(values))]
    arrays = [pa.array([value], field.type) for value, field in zip(given, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _paths(hierarchy: Hierarchy | None) -> dict[str, tuple[str, ...]] | None:
    return None if hierarchy is None else {path[0]: path for path in hierarchy.paths}


def _places(domain: QuasiDomain) -> dict[str, int] | None:
    """The place of each value of a category in its order."""
    return {value: i for i, value in enumerate(domain.values)} if domain.kind == "category" else None


def _uncovered(
    coverages: tuple[Coverage, ...], bounds: tuple[bool, ...], raw: list[pa.Array], published: list[pa.Array]
) -> int:
    """The number of rows with a label that does not cover its raw value."""
    result = np.ones(len(raw[0]), dtype=bool)
    columns = iter(published)
    for coverage, two, values in zip(coverages, bounds, raw, strict=True):
        result &= coverage.holds(values, [next(columns) for _ in range(1 + two)])
    return int(np.count_nonzero(~result))
