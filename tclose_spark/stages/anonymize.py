"""From the raw table to the published one: encode, route, one shuffle, settle, generalize, write - and prove while
writing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema

from tclose_spark.checks.coverage import Coverage
from tclose_spark.errors import GuaranteeError, InputError
from tclose_spark.io.fingerprint import Fingerprint
from tclose_spark.io.progress import TaskCounter
from tclose_spark.io.tables import SUPPRESSED
from tclose_spark.io.workers import Mapper, map_batches
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import Plan, Settled
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.stages.encode import REST, Encoder, code_table, passing_columns
from tclose_spark.stages.generalize import Generalizer
from tclose_spark.stages.minimality import MinimalityCounter
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.domains import Profile
from tclose_spark.table.hierarchy import Hierarchy
from tclose_spark.table.rows import Rows

BATCH_ROWS = 65_536
PUBLISHED, RAW, FIGURE, UNCOVERED = (
    "published{}",
    "raw{}",
    "figure{}",
    "uncovered",
)  # numbered: a user's names may be like any of ours


@dataclass(frozen=True)
class Written:
    """What was observed of the rows while they were written: both sides as multisets, and what the method says of its
    work. The raw side has every row, the published side those that are not suppressed.
    """

    raw: Fingerprint
    published: Fingerprint
    method: dict[str, Any]


class Anonymizer:
    """One run's rows on their way: holds what the executors need, builds the table that is written."""

    def __init__(
        self, spec: ReleaseSpec, profile: Profile, attributes: ResolvedAttributes, plan: Plan, secret: str
    ) -> None:
        self.spec, self.profile, self.attributes, self.plan = spec, profile, attributes, plan
        self.encoder = Encoder.of(spec, profile, secret)
        self.generalizer = Generalizer.of(attributes.quasi_identifiers)
        self.coverages = tuple(
            Coverage(q.domain.kind != "category", _paths(q.hierarchy), q.sets) for q in attributes.quasi_identifiers
        )
        self.observation = Observation()
        self.blocks_done: TaskCounter
        self.minimality: MinimalityCounter

    @property
    def names(self) -> list[str]:
        """The released columns, in order."""
        attributes = self.spec.attributes
        return [
            *[name for name, _ in self.generalizer.schema()],
            *attributes.sensitive_attributes,
            *attributes.insensitive_attributes,
        ]

    def published(self) -> list[Column]:
        """The released columns under their names."""
        return [F.col(PUBLISHED.format(i)).alias(name) for i, name in enumerate(self.names)]

    def released(self, rows: DataFrame) -> DataFrame:
        """The rows of `linked` that are not suppressed, as they are published."""
        return rows.where(_kept()).select(*self.published())

    def linked_columns(self) -> list[Column]:
        """What `output.keep_linked` keeps: the published columns, and beside them each raw quasi-identifier as
        `<name>_raw`; and where rows may be suppressed, SUPPRESSED: which are, their published quasi-identifiers being
        NULL.
        """
        raw = [
            F.col(RAW.format(i)).alias(f"{name}_raw") for i, name in enumerate(self.spec.attributes.quasi_identifiers)
        ]
        flag = [(~_kept()).alias(SUPPRESSED)] if self.spec.privacy.suppression_limit else []
        return [*self.published(), *raw, *flag]

    def linked(self, table: DataFrame) -> DataFrame:
        """Every row with its published columns (PUBLISHED), its raw quasi-identifiers beside them (RAW), and UNCOVERED:
        1 where a label lies, NULL where the row is suppressed and has no labels.

        A task holds whole classes. Both sides and the lies are observed as the rows are written: see `written`;
        blocks_done counts meanwhile.
        """
        self.blocks_done = TaskCounter(table.sparkSession)
        self.minimality = MinimalityCounter.of(table.sparkSession, self.attributes, self.plan.tasks)
        coded = code_table(table, self.spec, passing=True)
        beside = coded.schema.fields[self.encoder.quasi + self.encoder.sensitive :]
        passing = dict(
            zip(passing_columns(table, self.spec), [field for field in beside if field.name != REST], strict=True)
        )
        sent = T.StructType([T.StructField("task", T.IntegerType()), T.StructField("row", T.BinaryType()), *beside])
        routed = map_batches(coded, _router(self.encoder, self.plan), sent)
        settled = routed.repartitionById(self.plan.tasks, F.col("task"))
        finished = map_batches(settled, self._finisher(passing), self._finished_schema(passing))
        raw, published = self._sides()
        return finished.observe(
            self.observation,
            *Fingerprint.columns(raw, "raw"),
            *Fingerprint.columns(published, "published", _kept()),
            F.sum(UNCOVERED).alias(UNCOVERED),
            *(
                getattr(F, how)(FIGURE.format(i)).alias(FIGURE.format(i))
                for i, how in enumerate(self.plan.figures.values())
            ),
        )

    def _sides(self) -> tuple[list[Column], list[Column]]:
        """The columns of the raw side, as the profile hashed them, and of the published side."""
        published = [F.col(PUBLISHED.format(i)) for i in range(len(self.names))]
        raw = [F.col(RAW.format(i)) for i in range(len(self.profile.quasi))]
        return raw + published[len(self.generalizer.schema()) :], published

    def _finished_schema(self, passing: Mapping[str, T.StructField]) -> T.StructType:
        labels = from_arrow_schema(pa.schema(self.generalizer.schema()))
        types = {field.name: field.dataType for field in labels} | {
            name: field.dataType for name, field in passing.items()
        }
        published = [
            T.StructField(PUBLISHED.format(i), types.get(name, T.StringType())) for i, name in enumerate(self.names)
        ]
        kinds = {"category": T.StringType(), "integer": T.LongType(), "double": T.DoubleType()}
        raw = [T.StructField(RAW.format(i), kinds[domain.kind]) for i, domain in enumerate(self.profile.quasi)]
        figures = [T.StructField(FIGURE.format(i), T.DoubleType()) for i in range(len(self.plan.figures))]
        return T.StructType([*published, *raw, T.StructField(UNCOVERED, T.LongType()), *figures])

    def _finisher(self, passing: Mapping[str, T.StructField]) -> Mapper:
        """What a task does with the rows sent to it; holds them all, in compact form."""
        codec, plan, generalizer, coverages, blocks_done = (
            self.encoder.codec,
            self.plan,
            self.generalizer,
            self.coverages,
            self.blocks_done,
        )
        names, minimality = self._finished_schema(passing).names, self.minimality
        sensitive, insensitive = (
            tuple(self.spec.attributes.sensitive_attributes),
            self.spec.attributes.insensitive_attributes,
        )
        passed = {name: field.name for name, field in passing.items()}

        def finish(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            received = list(batches)
            if not received:
                return
            sent = pa.Table.from_batches(received)
            rows = Rows.concatenate([codec.unpack(chunk) for chunk in sent["row"].chunks])
            columns = {name: sent[name].combine_chunks() for name in sent.column_names if name != "row"}
            settled = plan.settle(rows, columns["task"][0].as_py())
            rest = columns[REST].to_numpy() if REST in columns else None
            place, labels = _labelled(generalizer, rows, settled, rest)
            if settled.regions is None and len(place):
                minimality.add(rows.take(place), labels)
            suppressed = np.zeros(0, dtype=np.int64) if settled.suppressed is None else settled.suppressed
            figures: Mapping[str, float | None] = settled.figures
            for here, published in chain(_parts(place, labels), _parts(suppressed, None)):
                these = rows.take(here)
                raw = codec.decode(these)
                uncovered = _uncovered(coverages, generalizer.bounds, raw, published)
                texts = dict(zip(sensitive, codec.sensitive_texts(these), strict=True))
                kept = [
                    columns[passed[name]].take(pa.array(here)) if name in passed else texts[name]
                    for name in (*sensitive, *insensitive)
                ]
                written = published or [pa.nulls(len(here), kind) for _, kind in generalizer.schema()]
                said = [_at_first(figures[name], len(here)) for name in plan.figures]
                yield pa.RecordBatch.from_arrays([*written, *kept, *raw, uncovered, *said], names=names)
                figures = dict.fromkeys(plan.figures)
            blocks_done.add(settled.blocks)

        return finish

    def written(self) -> Written:
        """What was observed of the rows that were written; to be called after the write.

        Raises:
            InputError: if the rows that were read are not those that were profiled.
            GuaranteeError: if a label does not cover its row's value.
        """
        figures = self.observation.get
        raw, published, uncovered = (
            Fingerprint.of(figures, "raw"),
            Fingerprint.of(figures, "published"),
            int(figures[UNCOVERED] or 0),
        )
        if raw.rows != self.profile.rows or str(raw) != self.profile.fingerprint:
            raise InputError(
                f"the rows that were written ({raw.rows}) are not those that were profiled ({self.profile.rows}): the "
                "input changed meanwhile, or a retry disturbed the run; run it again"
            )
        if uncovered:
            raise GuaranteeError(f"{uncovered} rows have a label that does not cover their value; nothing is published")
        return Written(
            raw,
            published,
            self.plan.describe({name: figures[FIGURE.format(i)] for i, name in enumerate(self.plan.figures)}),
        )


def _kept() -> Column:
    """Whether a row of `linked` is published."""
    return F.col(UNCOVERED).isNotNull()


def _labelled(
    generalizer: Generalizer, rows: Rows, settled: Settled, rest: IntArray | None
) -> tuple[IntArray, list[pa.Array]]:
    """(places in the rows of those that stay, in the order in which they are published; their published columns)."""
    here = settled.here
    if not len(here):
        return here, []
    order, labels = generalizer.publish(
        rows.take(here), settled.classes, [] if rest is None else [rest[here]], settled.regions
    )
    return here[order], labels


def _parts(place: IntArray, labels: list[pa.Array] | None) -> Iterator[tuple[IntArray, list[pa.Array] | None]]:
    """The rows at these places with their labels, BATCH_ROWS at a time."""
    for first in range(0, len(place), BATCH_ROWS):
        part = slice(first, first + BATCH_ROWS)
        yield place[part], None if labels is None else [label[part] for label in labels]


def _at_first(figure: float | None, rows: int) -> pa.Array:
    """A column that says the figure in its first row only."""
    return pa.concat_arrays([pa.array([figure], pa.float64()), pa.nulls(rows - 1, pa.float64())])


def _paths(hierarchy: Hierarchy | None) -> dict[str, tuple[str, ...]] | None:
    return None if hierarchy is None else {path[0]: path for path in hierarchy.paths}


def _router(encoder: Encoder, plan: Plan) -> Mapper:
    """Packs rows and sends them to the tasks that finish their classes."""
    codes = encoder.quasi + encoder.sensitive

    def route(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = encoder.rows(batch)
            row, task = plan.route(rows)
            packed, index = encoder.codec.pack(rows), pa.array(row)
            beside = [column.take(index) for column in batch.columns[codes:]]
            names = ["task", "row", *batch.schema.names[codes:]]
            yield pa.RecordBatch.from_arrays(
                [pa.array(task.astype(np.int32)), packed.take(index), *beside], names=names
            )

    return route


def _uncovered(
    coverages: tuple[Coverage, ...], bounds: tuple[bool, ...], raw: list[pa.Array], published: list[pa.Array] | None
) -> pa.Array:
    """1 where a label of a row does not cover its raw value, else 0; NULL where there are no labels. Shape (n,)."""
    if published is None:
        return pa.nulls(len(raw[0]), pa.int64())
    result = np.ones(len(raw[0]), dtype=bool)
    columns = iter(published)
    for coverage, two, values in zip(coverages, bounds, raw, strict=True):
        result &= (
            coverage.between(values, next(columns), next(columns)) if two else coverage.covered(values, next(columns))
        )
    return pa.array((~result).astype(np.int64))
