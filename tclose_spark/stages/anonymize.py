"""From the staged rows to the published table: encode, route, one shuffle, settle, generalize, write - and prove while
writing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from tclose_spark.checks.labels.aggregates import AggregateCheck, rows_without_aggregate
from tclose_spark.checks.labels.coverage import Coverage
from tclose_spark.errors import GuaranteeError, InputError
from tclose_spark.io.run import LINKED
from tclose_spark.io.spark.progress import TaskCounter
from tclose_spark.io.spark.shuffles import sent_to_tasks, the_task
from tclose_spark.io.spark.workers import Mapper, map_batches
from tclose_spark.io.tables.columns import SUPPRESSED
from tclose_spark.io.tables.made_files import FILE, TABLE, parquet_files
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import ClassAssignment, Plan
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.stages.encode import Encoder
from tclose_spark.stages.generalize import Generalizer, as_moments, raw_type
from tclose_spark.stages.limits import LabelLimits
from tclose_spark.stages.observers.extreme_aggregates import ExtremeAggregates
from tclose_spark.stages.observers.linked_sample import LinkedSample
from tclose_spark.stages.observers.minimality import MinimalityCounter, run_starts
from tclose_spark.stages.observers.refused_cuts import RefusedCuts
from tclose_spark.stages.observers.released_values import VALUES, VALUES_SCHEMA, PublicNames, note_values, restrict
from tclose_spark.stages.staging import StagedColumns, read_batches, write_batch
from tclose_spark.table.arrays import IntArray, in_order
from tclose_spark.table.dictionaries import decoded
from tclose_spark.table.domains import Profile, QuasiDomain
from tclose_spark.table.fingerprint import Fingerprint, content_hash
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.rows import Rows

ROWS_ROUTED, MOST_ROUTED = 1 << 18, 1 << 21  # that a task holds as codes before it sends them
ROWS_TO_EACH = 64  # on average, so that values that travel are not too many
ROUTED = "task int, rows binary, beside binary"
RELEASE = "release"
"""The table that is published; LINKED, which `output.keep_linked` asks for, has every row beside it."""
FIGURE = "figure{}"  # numbered: a method's names may be like any of ours
TOLD, MEASURED = "told", "measured"
"""SUMS, and the figures of the method, one value each for all of a task's rows, or for the suppressed ones."""
FILES = f"`{TABLE}` string, `{FILE}` binary, `{TOLD}` array<bigint>, `{MEASURED}` array<double>"
UNCOVERED, RAW_ROWS, RAW_DIGEST, ROWS, DIGEST = "uncovered", "raw_rows", "raw_digest", "rows", "digest"
SUMS = (UNCOVERED, RAW_ROWS, RAW_DIGEST, ROWS, DIGEST)
"""Whole numbers of a task's rows: how many labels do not cover their value (or are not the aggregate
of their class), and both sides' fingerprints.
"""
NOTHING = Fingerprint(0, 0)


@dataclass(frozen=True)
class Written:
    """What was observed of the rows while they were written: both sides as multisets, and what the method says of its
    work. The raw side has every row, the published side those that are not suppressed.
    """

    raw: Fingerprint
    published: Fingerprint
    method: dict[str, Any]

    @property
    def suppressed(self) -> int:
        """Rows that are not released."""
        return self.raw.rows - self.published.rows


class Anonymizer:
    """One run's rows on their way: holds what the executors need, builds the table that is written."""

    def __init__(
        self,
        spec: ReleaseSpec,
        profile: Profile,
        attributes: ResolvedAttributes,
        plan: Plan,
        columns: StagedColumns,
        names: PublicNames | None = None,
    ) -> None:
        """names: what labels may name, once it is known which rows are suppressed."""
        self.spec, self.profile, self.attributes, self.plan, self.columns = spec, profile, attributes, plan, columns
        self.names, quasi = names, attributes.quasi_identifiers if names is None else names.quasi
        self.encoder = Encoder.of(profile, columns)
        self.generalizer = Generalizer.of(quasi, spec.aggregates)
        self.coverages = tuple(
            Coverage(q.domain.kind != "category", _paths(q.hierarchy), q.sets, q.domain.scale) for q in quasi
        )
        self.aggregates = tuple(
            AggregateCheck(spec.aggregates[q.name], q.domain.scale, _places(q.domain))
            for q in attributes.quasi_identifiers
            if q.name in spec.aggregates
        )
        self.observation = Observation()
        self.blocks_done: TaskCounter
        self.minimality: MinimalityCounter
        self.sample: LinkedSample
        self.refused_cuts: RefusedCuts | None
        self.extremes: ExtremeAggregates

    @property
    def notes_values(self) -> bool:
        """Whether tasks note the values of the rows that they release, in VALUES."""
        return self.names is None and self.spec.privacy.suppression_limit > 0

    @property
    def tables(self) -> dict[str, T.StructType]:
        """The tables that are written, by name.

        RELEASE has the released columns under their names. LINKED, which `output.keep_linked` asks for, has them, each
        raw quasi-identifier as `<name>_raw`, and where rows may be suppressed SUPPRESSED: which are, their published
        quasi-identifiers being NULL. VALUES has what released rows hold, until that is read.
        """
        asked = self.spec.attributes
        labels = list(from_arrow_schema(pa.schema(self.generalizer.schema())))
        own = {field.name: field.dataType for field in self.columns.passing}
        as_they_are = [*asked.sensitive_attributes, *asked.insensitive_attributes]
        released = [*labels, *(T.StructField(name, own.get(name, T.StringType())) for name in as_they_are)]
        noted = {VALUES: VALUES_SCHEMA} if self.notes_values else {}
        if not self.spec.output.keep_linked:
            return {RELEASE: T.StructType(released), **noted}
        raw = [
            (f"{name}_raw", raw_type(d)) for name, d in zip(asked.quasi_identifiers, self.profile.quasi, strict=True)
        ]
        flag = [T.StructField(SUPPRESSED, T.BooleanType())] if self.spec.privacy.suppression_limit else []
        linked = [*released, *from_arrow_schema(pa.schema(raw)), *flag]
        return {RELEASE: T.StructType(released), LINKED: T.StructType(linked), **noted}

    def files(self, batches: DataFrame) -> DataFrame:
        """The staged rows in their classes, as files of `tables`: a suppressed row is in LINKED only, without labels.

        A task holds whole classes. Both sides and the labels that lie are observed as the files are written: see
        `written`; blocks_done counts meanwhile.
        """
        self.blocks_done = TaskCounter(batches.sparkSession)
        self.minimality = MinimalityCounter.of(batches.sparkSession, self.attributes, self.plan.tasks)
        self.sample = LinkedSample(batches.sparkSession, self.profile, self.plan.tasks)
        self.refused_cuts = RefusedCuts.of(batches.sparkSession, self.spec, self.attributes)
        checks = dict(zip(self.spec.aggregates, self.aggregates, strict=True))
        self.extremes = ExtremeAggregates(batches.sparkSession, self.profile, checks, self.spec.privacy.k)
        settled = sent_to_tasks(batches, _router(self.encoder, self.plan), ROUTED, self.plan.tasks)
        hows = self.plan.figures.values()
        return map_batches(settled, self._finisher(), FILES).observe(
            self.observation,
            *(F.sum(F.col(TOLD)[i]).alias(name) for i, name in enumerate(SUMS)),
            *(getattr(F, how)(F.col(MEASURED)[i]).alias(FIGURE.format(i)) for i, how in enumerate(hows)),
        )

    def _finisher(self) -> Mapper:
        """What a task does with the rows sent to it; holds them all, in compact form."""
        codec, plan, generalizer, coverages, blocks_done = (
            self.encoder.codec,
            self.plan,
            self.generalizer,
            self.coverages,
            self.blocks_done,
        )
        limits = LabelLimits.of(self.spec, self.attributes)
        minimality, columns, names, attributes = self.minimality, self.columns, self.names, self.attributes
        first_labels = generalizer
        if names is not None:
            first_labels = Generalizer.of(attributes.quasi_identifiers, self.spec.aggregates)
        notes, tables = self.notes_values, {name: to_arrow_schema(schema) for name, schema in self.tables.items()}
        tables.pop(VALUES, None)
        sample, refused, quasi_columns = self.sample, self.refused_cuts, len(self.generalizer.schema())
        disjoint, aggregates, extremes = self.spec.method.promises_disjoint, self.aggregates, self.extremes
        calendars = [domain.calendar for domain in self.profile.quasi]
        insensitive, cell_places = len(self.spec.attributes.insensitive_attributes), _cell_places(attributes)

        def finished(
            rows: Rows, passing: list[pa.Array], labels: list[pa.Array] | None
        ) -> tuple[list[pa.Array], list[int]]:
            """(the columns of LINKED of rows with these labels, those of RELEASE first; their SUMS); without labels of
            suppressed ones.
            """
            raw = codec.decode(rows)
            values = columns.published([*raw, *codec.sensitive_texts(rows), *passing])[len(raw) :]
            written = labels or [pa.nulls(len(rows), kind) for _, kind in generalizer.schema()]
            sides = Fingerprint.of([*raw, *values]), Fingerprint.of([*written, *values]) if labels else NOTHING
            uncovered = 0
            if labels and aggregates:
                uncovered = rows_without_aggregate(aggregates, raw, labels)
                if not uncovered:
                    extremes.add(raw, labels)
            elif labels:
                uncovered = _uncovered(coverages, generalizer.bounds, raw, labels)
            suppressed = pa.array(np.full(len(rows), labels is None))
            sums = [uncovered, *(n for side in sides for n in (side.rows, side.digest))]
            beside = [as_moments(x, known) if known else x for x, known in zip(raw, calendars, strict=True)]
            return [*written, *values, *beside, suppressed], sums

        def finish(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            received = [batch for batch in batches if batch.num_rows]
            if not received:
                return
            sent = pa.Table.from_batches(received)
            rows = codec.unpack(b"".join(sent["rows"].to_pylist()))
            passing = _passing(sent["beside"])
            settled = plan.assign_classes(rows, the_task(sent["task"]))
            beside = passing[len(passing) - insensitive :]
            sorted_rows = replace(rows, cell=cell_places[rows.cell])
            place, labels = _labelled(first_labels, sorted_rows, settled, beside)
            place, labels, coarse = limits.left_out(place, labels, len(settled.here))
            if names is not None:
                place, labels = _labelled(generalizer, sorted_rows, names.shrink(restrict(settled, place)), beside)
            suppressed = coarse if settled.suppressed is None else np.concatenate([settled.suppressed, coarse])
            if not aggregates:
                chosen = settled.regions is None and not disjoint
                minimality.add(rows.take(place), labels if chosen else None)
                minimality.add_suppressed(rows.take(suppressed))
            if refused is not None and len(place):
                refused.add(rows.take(place), run_starts(labels))
            if notes and len(place):
                noted = note_values(rows, restrict(settled, place), attributes)
                yield from (_file(VALUES, file) for file in parquet_files(noted.columns, noted.schema))
            figures: dict[str, float | None] = {name: settled.figures[name] for name in plan.figures}
            for here, published in ((place, labels), (suppressed, None)):
                if len(here):
                    sample.add(rows.take(here), published, quasi_columns)
                    beside = [column.take(pa.array(here)) for column in passing]
                    made, sums = finished(rows.take(here), beside, published)
                    yield _figures(sums, list(figures.values()))
                    figures = dict.fromkeys(figures)
                    for name, schema in tables.items():
                        if published or name == LINKED:
                            for file in parquet_files(made[: len(schema)], schema):
                                yield _file(name, file)
            blocks_done.add(settled.blocks)

        return finish

    def mechanism(self) -> dict[str, Any]:
        """What an adversary who knows the method learns from its choices, with names and values: for inside only; to be
        called after the write.
        """
        if self.aggregates:
            why = "aggregates are published, which do not say what a class covers"
            return {
                "measured": False,
                "why": why,
                "extreme_aggregates": self.extremes.figure(),
                "few_values": self.extremes.few_values(),
            }
        figure = self.minimality.figure(self.profile, self.spec.privacy.k, self.spec.privacy.of == "input")
        refused = None if self.refused_cuts is None else self.refused_cuts.figure()
        return figure if refused is None else {**figure, "refused_cuts": refused}

    def written(self) -> Written:
        """What was observed of the rows that were written; to be called after the write.

        Raises:
            InputError: if the rows that were read are not those that were profiled.
            GuaranteeError: if a label does not cover its row's value, or an aggregate is not its class's.
            UnreachableError: if the method could not make classes that hold.
        """
        figures = self.observation.get
        uncovered, raw_rows, raw_digest, rows, digest = (int(figures[name] or 0) for name in SUMS)
        raw, published = Fingerprint(raw_rows, raw_digest), Fingerprint(rows, digest)
        if str(raw) != self.profile.fingerprint:
            raise InputError(
                f"the rows that were written ({raw.rows}) are not those that were profiled ({self.profile.rows}): a "
                "retry disturbed the run, or what was staged is damaged; run it again from the profile"
            )
        if uncovered and self.aggregates:
            raise GuaranteeError(
                f"{uncovered} rows have a published value that is not the aggregate of their class's values; nothing "
                "is published"
            )
        if uncovered:
            raise GuaranteeError(f"{uncovered} rows have a label that does not cover their value; nothing is published")
        return Written(
            raw,
            published,
            self.plan.describe({name: figures[FIGURE.format(i)] for i, name in enumerate(self.plan.figures)}),
        )


def _passing(beside: pa.ChunkedArray) -> list[pa.Array]:
    """The columns that passed beside the rows, in their order."""
    sent = list(read_batches(chunk for chunk in beside.chunks if not chunk.null_count))
    return [column.combine_chunks() for column in pa.Table.from_batches(sent).columns] if sent else []


def _labelled(
    generalizer: Generalizer, rows: Rows, settled: ClassAssignment, insensitive: Sequence[pa.Array]
) -> tuple[IntArray, list[pa.Array]]:
    """(places in the rows of those that stay, in the order in which they are published; their published columns)."""
    here = settled.here
    if not len(here):
        return here, []
    ties = [content_hash([column.take(pa.array(here)) for column in insensitive])] if insensitive else []
    order, labels = generalizer.publish(rows.take(here), settled.classes, ties, settled.regions)
    return here[order], labels


def _cell_places(attributes: ResolvedAttributes) -> IntArray:
    """The place of each cell in the order of the published rows: by its codes, but of an attribute whose domain is in
    the order of the input's frequencies by the texts of its values, since that order counts suppressed rows, too.
    """
    keys = []
    for a in attributes.sensitive:
        codes = attributes.cells[:, a.column]
        if a.order == "frequency":
            codes = np.argsort(np.argsort([value or "" for value in a.domain.values]))[codes]
        keys.append(codes)
    return np.argsort(np.lexsort(keys[::-1]))


def _figures(sums: list[int], measured: list[float | None]) -> pa.RecordBatch:
    """A row of FILES that tells SUMS and the method's figures."""
    return _row_of_files(None, None, sums, measured)


def _file(table: str, content: bytes) -> pa.RecordBatch:
    """A row of FILES that is a file of a table."""
    return _row_of_files(table, content, None, None)


def _row_of_files(*values: Any) -> pa.RecordBatch:
    kinds = (pa.string(), pa.binary(), pa.list_(pa.int64()), pa.list_(pa.float64()))
    columns = [pa.array([value], kind) for value, kind in zip(values, kinds, strict=True)]
    return pa.RecordBatch.from_arrays(columns, names=[TABLE, FILE, TOLD, MEASURED])


def _paths(hierarchy: Hierarchy | None) -> dict[str, tuple[str, ...]] | None:
    return None if hierarchy is None else {path[0]: path for path in hierarchy.paths}


def _places(domain: QuasiDomain) -> dict[str, int] | None:
    """The place of each value of a category in its order."""
    return {value: i for i, value in enumerate(domain.values)} if domain.kind == "category" else None


def _router(encoder: Encoder, plan: Plan) -> Mapper:
    """Packs staged rows and sends them to the tasks that finish their classes: those of one task as one value."""
    columns, codec = encoder.columns, encoder.codec
    most = min(max(ROWS_ROUTED, ROWS_TO_EACH * plan.tasks), MOST_ROUTED)

    def route(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held: list[pa.RecordBatch] = []
        for staged in read_batches(batch.column(0) for batch in batches):
            held.append(staged)
            if sum(part.num_rows for part in held) >= most:
                yield sent(held)
                held = []
        if held:
            yield sent(held)

    def sent(held: list[pa.RecordBatch]) -> pa.RecordBatch:
        rows = Rows.concatenate([encoder.rows(part) for part in held])
        row, task = plan.route(rows)
        order = in_order(task)
        row, task = row[order], task[order]
        packed, beside = codec.pack(rows)[row], _beside(columns, held)
        starts = np.flatnonzero(np.diff(task, prepend=-1))
        parts = list(zip(starts.tolist(), [*starts[1:].tolist(), len(task)], strict=True))
        passed = [None if beside is None else write_batch(_taken(beside, row[first:end])) for first, end in parts]
        return pa.RecordBatch.from_arrays(
            [
                pa.array(task[starts], pa.int32()),
                pa.array([packed[first:end].tobytes() for first, end in parts], pa.binary()),
                pa.array(passed, pa.binary()),
            ],
            names=["task", "rows", "beside"],
        )

    return route


def _beside(columns: StagedColumns, held: Sequence[pa.RecordBatch]) -> pa.Table | None:
    """The columns of staged batches that pass as they are, if there are any."""
    if not columns.passing:
        return None
    names = [field.name for field in columns.passing]
    parts = [[decoded(column) for column in columns.passed(batch.columns)] for batch in held]
    return pa.Table.from_batches([pa.RecordBatch.from_arrays(part, names=names) for part in parts])


def _taken(table: pa.Table, index: IntArray) -> pa.RecordBatch:
    (batch,) = table.take(pa.array(index)).combine_chunks().to_batches()
    return batch


def _uncovered(
    coverages: tuple[Coverage, ...], bounds: tuple[bool, ...], raw: list[pa.Array], published: list[pa.Array]
) -> int:
    """How many rows have a label that does not cover its raw value."""
    result = np.ones(len(raw[0]), dtype=bool)
    columns = iter(published)
    for coverage, two, values in zip(coverages, bounds, raw, strict=True):
        result &= (
            coverage.between(values, next(columns), next(columns)) if two else coverage.covered(values, next(columns))
        )
    return int(np.count_nonzero(~result))
