"""From staged rows to the release: encode, route, one shuffle, assign classes, generalize, write,
and check while writing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa

from tclose_spark.checks.labels.coverage import Coverage, uncovered
from tclose_spark.engine.protocol import How, Mapper, Session, Table, TaskSum
from tclose_spark.engine.tables import (
    map_batches,
    observe,
    send_to_tasks,
    session_of,
    task_sum,
    the_task,
    write_tables,
)
from tclose_spark.errors import DamagedStagingError, GuaranteeError
from tclose_spark.io.output_folders import LINKED, MINIMALITY, RECORDS
from tclose_spark.io.run import Run
from tclose_spark.io.run_state import AnonymizeRecord, WrittenRecord
from tclose_spark.io.spark.progress import watched
from tclose_spark.methods.rows_in_work import begin_write, end_task, rows_in_work
from tclose_spark.report.mechanism import Mechanism
from tclose_spark.runfile.release_form import RELEASE
from tclose_spark.stages.release_maker import Making, Tables, TaskPart, TaskWork, Written, makers_of
from tclose_spark.stages.staging.area import (
    read_columns,
    read_plan,
    read_profile,
    read_staged_rows,
    resolved_attributes,
)
from tclose_spark.stages.staging.encode import ROUTED, Encoder, cell_places, passed, router
from tclose_spark.table.columns.parquet import FILE, TABLE, ChangedFileError, parquet_files
from tclose_spark.table.fingerprint import Fingerprint
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

FIGURE = "figure{}"  # numbered: a method's names may be like any of ours
UNCOVERED = "uncovered"
RAW_ROWS = "raw_rows"
RAW_DIGEST = "raw_digest"
ROWS = "rows"
DIGEST = "digest"
SUMS = (UNCOVERED, RAW_ROWS, RAW_DIGEST, ROWS, DIGEST)
"""Of a task's released or suppressed rows: those with a published value that does not fit, and the
fingerprints of the raw rows and of the release.
"""
NOTHING = Fingerprint(0, 0)
NOBODY = np.zeros(0, dtype=np.int64)


def write_release(run: Run) -> AnonymizeRecord:
    """Writes the release and its private observations to the staging area; returns both
    fingerprints.
    """
    profile = read_profile(run)
    columns = read_columns(run)
    attributes = resolved_attributes(run, profile)
    plan = read_plan(run, attributes, profile.continued)
    anonymizer = Anonymizer(
        Making(
            spec=run.spec,
            profile=profile,
            attributes=attributes,
            plan=plan,
            columns=columns,
            secret=run.secret,
        ),
    )
    written = _write(run, anonymizer)
    for covering in [maker.again(run, written) for maker in anonymizer.makers]:
        if covering is not None:
            anonymizer.covering = covering
            written = _write(run, anonymizer)
    run.staging.write(MINIMALITY, anonymizer.mechanism().text, private=True)
    fingerprints = WrittenRecord(raw=str(written.raw), published=str(written.published))
    record = AnonymizeRecord(written=fingerprints.having(written.more), method=written.method)
    return record.having(*[maker.finish(run) for maker in anonymizer.makers])


def _write(run: Run, anonymizer: Anonymizer) -> Written:
    for name in (
        *anonymizer.tables,
        LINKED,
        RECORDS,
    ):  # the latter of a run with other keys of `output`
        run.staging.remove(name)
    try:
        _write_tables(run, anonymizer, trusts_text_writer=True)
    except ChangedFileError:
        run.announce(
            "note: Spark's text writer changes files on this platform; Delta writes them instead, "
            "more slowly",
        )
        _write_tables(run, anonymizer, trusts_text_writer=False)
    return anonymizer.written()


def _write_tables(run: Run, anonymizer: Anonymizer, trusts_text_writer: bool) -> None:
    files = anonymizer.files(read_staged_rows(run))
    with watched(anonymizer.rows_so_far, anonymizer.making.attributes.rows, run.progress):
        write_tables(files, anonymizer.tables, run.staging, trusts_text_writer)


class Anonymizer:
    """Turns the staged rows of a run into files of the release. Holds what the executors need.

    covering: the quasi-identifiers whose labels cover the values.
    """

    def __init__(self, making: Making) -> None:
        self.making = making
        self.makers = makers_of(making)
        self.covering = making.attributes.quasi_identifiers
        self.encoder = Encoder.of(making.profile, making.columns)
        self.generalizer = making.generalizer(making.attributes.quasi_identifiers)
        self.observed: Callable[[], Mapping[str, Any]]
        self.rows_done: TaskSum[int]

    @property
    def tables(self) -> dict[str, pa.Schema]:
        """The schemas of the written tables, by name. RELEASE is the published one, with the
        released columns.
        """
        roles = self.making.spec.attributes
        labels = self.generalizer.schema()
        own = {field.name: field.type for field in self.making.columns.passing}
        as_they_are = [
            (name, own.get(name, pa.string()))
            for name in (*roles.sensitive_attributes, *roles.beside)
        ]
        tables = {RELEASE: pa.schema([*labels, *as_they_are])}
        return reduce(lambda found, maker: maker.schemas(found, len(labels)), self.makers, tables)

    @property
    def sums(self) -> tuple[str, ...]:
        """What tasks add up."""
        return (*SUMS, *(one for maker in self.makers for one in maker.sums))

    @property
    def figures(self) -> dict[str, How]:
        """How the figures of tasks are combined, by column of `files`."""
        of_method = {
            FIGURE.format(i): how for i, how in enumerate(self.making.plan.figures.values())
        }
        return {**dict.fromkeys(self.sums, "sum"), **of_method}

    @property
    def schema(self) -> pa.Schema:
        """The columns of `files`."""
        figures = [
            (name, pa.int64() if name in self.sums else pa.float64()) for name in self.figures
        ]
        return pa.schema([(TABLE, pa.string()), (FILE, pa.binary()), *figures])

    def files(self, batches: Table) -> Table:
        """The files of `tables`, as rows of `schema`. A task holds whole classes. Fingerprints and
        wrong labels are observed while the files are written: see `written`.
        """
        session: Session = session_of(batches)
        plan = self.making.plan
        self.rows_done = task_sum(session, int, add)
        begin_write()
        for maker in self.makers:
            maker.begin(session)
        routed = send_to_tasks(batches, router(self.encoder, plan), ROUTED, plan.tasks)
        files, self.observed = observe(
            map_batches(routed, self._finisher(), self.schema),
            self.figures,
        )
        return files

    def rows_so_far(self) -> int | None:
        """The rows of finished tasks, and those that this process has worked off; None if nothing
        counts.
        """
        done = self.rows_done.value
        return None if done is None else done + rows_in_work()

    def _finisher(self) -> Mapper:
        """What a task does with its rows, which it holds in compact form."""
        plan = self.making.plan
        makers = self.makers
        schema = self.schema
        tables = self.tables
        begun = self._begun()
        summed = self._summed()
        rows_done = self.rows_done

        def finish(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            received = [batch for batch in batches if batch.num_rows]
            if not received:
                return
            work = begun(pa.Table.from_batches(received))
            for maker in makers:
                yield from (_row_of_files(schema, *file) for file in maker.assign(work))
            figures: dict[str, float | None] = {
                name: work.assigned.figures[name] for name in plan.figures
            }
            for part in work.parts():
                made, sums = summed(part)
                yield _row_of_files(schema, None, None, *sums, *figures.values())
                figures = dict.fromkeys(figures)
                for name in (name for name in tables if name in made):
                    for file in parquet_files(made[name][: len(tables[name])], tables[name]):
                        yield _row_of_files(schema, name, file)
            end_task()
            rows_done.add(len(work.rows))

        return finish

    def _begun(self) -> Callable[[pa.Table], TaskWork]:
        """Unpacks the rows of a task, and gives them classes and labels."""
        codec = self.encoder.codec
        plan = self.making.plan
        generalizer = self.generalizer
        making = self.making
        places = cell_places(making.attributes)
        if not making.spec.release.is_plain:
            places = np.zeros_like(places)  # rows must not be in the order of sensitive values
        insensitive = len(making.spec.attributes.beside)
        columns = making.columns
        label_types = [kind for _, kind in generalizer.schema()]

        def begun(sent: pa.Table) -> TaskWork:
            rows = codec.unpack(b"".join(sent["rows"].to_pylist()))
            passing = passed(sent["beside"])
            assigned = plan.assign_classes(rows.for_methods, the_task(sent["task"]))
            work = TaskWork(
                codec=codec,
                columns=columns,
                label_types=label_types,
                rows=rows,
                ordered=replace(rows, cell=places[rows.cell]),
                passing=passing,
                beside=passing[len(passing) - insensitive :],
                assigned=assigned,
                place=assigned.here,
                labels=[],
                left_out=NOBODY if assigned.suppressed is None else assigned.suppressed,
            )
            work.label(generalizer, assigned)
            return work

        return begun

    def _summed(self) -> Callable[[TaskPart], tuple[Tables, list[int]]]:
        """(the columns of each table, `sums`) of rows."""
        makers = self.makers
        bounds = self.generalizer.bounds
        owners = [*reversed(self.making.columns.hashed)]
        coverages = [
            Coverage(
                q.domain.kind != "category",
                _paths(q.hierarchy),
                q.sets,
                q.domain.scale,
                q.missing_any,
            )
            for q in self.covering
        ]

        def summed(part: TaskPart) -> tuple[Tables, list[int]]:
            made: Tables = {} if part.labels is None else {RELEASE: part.published}
            for maker in makers:
                maker.tables(part, made)
            whose = [pa.array(part.rows.owners[name]) for name in owners]
            raw = Fingerprint.of([*part.raw, *part.values, *whose])
            released = Fingerprint.of(made[RELEASE]) if RELEASE in made else NOTHING
            wrong = 0
            if part.labels is not None:
                found = next((n for maker in makers if (n := maker.unlike(part)) is not None), None)
                wrong = (
                    uncovered(coverages, bounds, part.raw, part.labels) if found is None else found
                )
            sums = [wrong, raw.rows, raw.digest, released.rows, released.digest]
            return made, [*sums, *(n for maker in makers for n in maker.add_up(part, made))]

        return summed

    def mechanism(self) -> Mechanism:
        """After the write: what the method's choices reveal, with raw values, so it must stay
        inside.
        """
        keys = dict[str, object]()
        for maker in self.makers:
            keys |= maker.mechanism()
        return Mechanism.read(keys)

    def written(self) -> Written:
        """What was observed during the write.

        Raises:
            DamagedStagingError: if the rows are not those that were profiled.
            GuaranteeError: if a published value does not fit its row's value.
            UnreachableError: if the method could not make classes that hold.
        """
        figures = self.observed()
        profile = self.making.profile
        plan = self.making.plan
        sums = {name: int(figures[name] or 0) for name in self.sums}
        raw = Fingerprint(sums[RAW_ROWS], sums[RAW_DIGEST])
        published = Fingerprint(sums[ROWS], sums[DIGEST])
        if str(raw) != profile.fingerprint:
            raise DamagedStagingError(
                f"the rows that were written ({raw.rows}) are not those that were profiled "
                f"({profile.rows}): a retry disturbed the run, or the staged rows are damaged; "
                "begin again with `tclose profile`",
            )
        if sums[UNCOVERED]:
            wrong = (
                "".join(maker.wrong for maker in self.makers)
                or "label that does not cover their value"
            )
            raise GuaranteeError(f"{sums[UNCOVERED]} rows have a {wrong}; nothing is published")
        method = plan.describe(
            {name: figures[FIGURE.format(i)] for i, name in enumerate(plan.figures)},
        )
        more = [maker.written(sums, published.rows) for maker in self.makers]
        return Written(
            raw,
            published,
            method,
            reduce(lambda found, one: {**found, **one}, more, {}),
        )


def _paths(hierarchy: Hierarchy | None) -> dict[str, tuple[str, ...]] | None:
    return None if hierarchy is None else {path[0]: path for path in hierarchy.paths}


def _row_of_files(schema: pa.Schema, *values: Any) -> pa.RecordBatch:
    """A row of `Anonymizer.schema`, from its first values; the others are missing."""
    given = [*values, *[None] * (len(schema) - len(values))]
    arrays = [pa.array([value], field.type) for value, field in zip(given, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
