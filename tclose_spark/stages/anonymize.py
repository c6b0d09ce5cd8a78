"""From the raw table to the published one: encode, route, one shuffle, settle, generalize, write - and prove while writing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema

from tclose_spark.checks.coverage import Coverage
from tclose_spark.domains import Profile
from tclose_spark.errors import GuaranteeError, InputError
from tclose_spark.hierarchy import Hierarchy
from tclose_spark.methods.method import Plan
from tclose_spark.progress import TaskCounter
from tclose_spark.rows import Codec, Rows
from tclose_spark.spec import ReleaseSpec
from tclose_spark.stages.encode import PASSING, TIE, CodedColumns, code_table, coded_columns
from tclose_spark.stages.generalize import Generalizer
from tclose_spark.tables import Multiset, quoted
from tclose_spark.workers import Mapper, map_batches

BATCH_ROWS = 65_536
RAW = "_tclose_raw_{}"
UNCOVERED = "_tclose_uncovered"
FIGURE = "_tclose_figure_{}"


@dataclass(frozen=True)
class Written:
    """What was observed of the rows while they were written: both sides as multisets, and what the method says of its work."""

    raw: Multiset
    published: Multiset
    method: dict[str, Any]


class Anonymizer:
    """One run's rows on their way: holds what the executors need, builds the table that is written."""

    def __init__(self, spec: ReleaseSpec, profile: Profile, plan: Plan, hierarchies: Mapping[str, Hierarchy], secret: str) -> None:
        self.spec, self.profile, self.plan, self.secret = spec, profile, plan, secret
        self.codec, self.layout = Codec.of(profile), coded_columns(spec)
        self.generalizer = Generalizer.of(spec, profile, hierarchies)
        quasi = spec.attributes.quasi_identifiers
        self.coverages = tuple(
            Coverage(d.kind != "category", _paths(hierarchies.get(d.name)), quasi[d.name].generalization == "set") for d in profile.quasi
        )
        self.observation = Observation()
        self.blocks_done: TaskCounter

    def published(self) -> list[Column]:
        """The released columns, in order."""
        attributes = self.spec.attributes
        labels = [name for name, _ in self.generalizer.schema()]
        return [quoted(name) for name in (*labels, *attributes.sensitive_attributes, *attributes.insensitive_attributes)]

    def linked_columns(self) -> list[Column]:
        """What `output.keep_linked` keeps: the published columns, and beside them each raw quasi-identifier as `<name>_raw`."""
        raw = [quoted(RAW.format(name)).alias(f"{name}_raw") for name in self.spec.attributes.quasi_identifiers]
        return [*self.published(), *raw]

    def linked(self, table: DataFrame) -> DataFrame:
        """Every row with its published columns, its raw quasi-identifiers beside them (RAW), and UNCOVERED: 1 where a label lies.

        A task holds whole classes. Both sides and the lies are observed as the rows are written: see `written`; blocks_done
        counts meanwhile.
        """
        self.blocks_done = TaskCounter(table.sparkSession)
        coded = code_table(table, self.spec, self.secret, passing=True)
        passing = coded.schema.fields[self.layout.codes :]
        sent = T.StructType([T.StructField("task", T.IntegerType()), T.StructField("row", T.BinaryType()), *passing])
        routed = map_batches(coded, _router(self.layout, self.codec, self.plan), sent)
        settled = routed.repartitionById(self.plan.tasks, F.col("task"))
        finished = map_batches(settled, self._finisher(passing), self._finished_schema(passing))
        raw, published = self._sides()
        return finished.observe(
            self.observation,
            *Multiset.columns(raw, "raw"),
            *Multiset.columns(published, "published"),
            F.sum(UNCOVERED).alias("uncovered"),
            *(getattr(F, how)(FIGURE.format(name)).alias(f"figure_{name}") for name, how in self.plan.figures.items()),
        )

    def _sides(self) -> tuple[list[Column], list[Column]]:
        """The columns of the raw side, as the profile hashed them, and of the published side."""
        attributes = self.spec.attributes
        kept = [quoted(name) for name in (*attributes.sensitive_attributes, *attributes.insensitive_attributes)]
        raw = [quoted(RAW.format(name)) for name in attributes.quasi_identifiers]
        return raw + kept, self.published()

    def _finished_schema(self, passing: Sequence[T.StructField]) -> T.StructType:
        labels = from_arrow_schema(pa.schema(self.generalizer.schema()))
        types = {field.name: field.dataType for field in passing}
        attributes = self.spec.attributes
        kept = [
            T.StructField(name, types.get(PASSING.format(name), T.StringType()))
            for name in (*attributes.sensitive_attributes, *attributes.insensitive_attributes)
        ]
        kinds = {"category": T.StringType(), "integer": T.LongType(), "double": T.DoubleType()}
        raw = [T.StructField(RAW.format(domain.name), kinds[domain.kind]) for domain in self.profile.quasi]
        figures = [T.StructField(FIGURE.format(name), T.DoubleType()) for name in self.plan.figures]
        return T.StructType([*labels.fields, *kept, *raw, T.StructField(UNCOVERED, T.LongType()), *figures])

    def _finisher(self, passing: Sequence[T.StructField]) -> Mapper:
        """What a task does with the rows sent to it; holds them all, in compact form."""
        codec, plan, generalizer, coverages, blocks_done = self.codec, self.plan, self.generalizer, self.coverages, self.blocks_done
        names = self._finished_schema(passing).names
        sensitive, insensitive = tuple(self.spec.attributes.sensitive_attributes), self.spec.attributes.insensitive_attributes

        def finish(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            received = list(batches)
            if not received:
                return
            sent = pa.Table.from_batches(received)
            rows = Rows.concatenate([codec.unpack(chunk) for chunk in sent["row"].chunks])
            columns = {name: sent[name].combine_chunks() for name in sent.column_names if name != "row"}
            settled = plan.settle(rows, columns["task"][0].as_py())
            here, rows = settled.here, rows.take(settled.here)
            order, labels = generalizer.publish(rows, settled.classes, [columns[TIE].to_numpy()[here]] if TIE in columns else [])
            place, rows = here[order], rows.take(order)
            for first in range(0, len(place), BATCH_ROWS):
                part = np.arange(first, min(first + BATCH_ROWS, len(place)))
                published = [label[first : first + BATCH_ROWS] for label in labels]
                these = rows.take(part)
                raw = codec.decode(these)
                covered = _covered(coverages, generalizer.bounds, raw, published)
                texts = dict(zip(sensitive, codec.sensitive_texts(these), strict=True))
                kept = [
                    columns[PASSING.format(name)].take(pa.array(place[part])) if PASSING.format(name) in columns else texts[name]
                    for name in (*sensitive, *insensitive)
                ]
                figures = [_at_first(settled.figures[name] if first == 0 else None, len(part)) for name in plan.figures]
                yield pa.RecordBatch.from_arrays([*published, *kept, *raw, pa.array((~covered).astype(np.int64)), *figures], names=names)
            blocks_done.add(settled.blocks)

        return finish

    def written(self) -> Written:
        """What was observed of the rows that were written; to be called after the write.

        Raises:
            InputError: if the rows that were read are not those that were profiled.
            GuaranteeError: if a label does not cover its row's value, or rows were lost, doubled or altered.
        """
        figures = self.observation.get
        raw, published, uncovered = Multiset.of(figures, "raw"), Multiset.of(figures, "published"), int(figures["uncovered"] or 0)
        if raw.rows != self.profile.rows or str(raw) != self.profile.fingerprint:
            raise InputError(
                f"the rows that were written ({raw.rows}) are not those that were profiled ({self.profile.rows}): the input changed "
                "meanwhile, or a retry disturbed the run; run it again"
            )
        if uncovered or published.rows != raw.rows:
            raise GuaranteeError(f"{uncovered} rows have a label that does not cover their value; nothing is published")
        return Written(raw, published, self.plan.describe({name: figures[f"figure_{name}"] for name in self.plan.figures}))


def _at_first(figure: float | None, rows: int) -> pa.Array:
    """A column that says the figure in its first row only."""
    return pa.concat_arrays([pa.array([figure], pa.float64()), pa.nulls(rows - 1, pa.float64())])


def _paths(hierarchy: Hierarchy | None) -> dict[str, tuple[str, ...]] | None:
    return None if hierarchy is None else {path[0]: path for path in hierarchy.paths}


def _router(layout: CodedColumns, codec: Codec, plan: Plan) -> Mapper:
    """Packs rows and sends them to the tasks that finish their classes."""

    def route(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = layout.rows(codec, batch)
            row, task = plan.route(rows)
            packed, index = codec.pack(rows), pa.array(row)
            passed = [column.take(index) for column in batch.columns[layout.codes :]]
            names = ["task", "row", *batch.schema.names[layout.codes :]]
            yield pa.RecordBatch.from_arrays([pa.array(task.astype(np.int32)), packed.take(index), *passed], names=names)

    return route


def _covered(coverages: tuple[Coverage, ...], bounds: tuple[bool, ...], raw: list[pa.Array], published: list[pa.Array]) -> np.ndarray:
    """Whether all labels of each row cover its raw values, shape (n,)."""
    result = np.ones(len(raw[0]), dtype=bool)
    columns = iter(published)
    for coverage, two, values in zip(coverages, bounds, raw, strict=True):
        result &= coverage.between(values, next(columns), next(columns)) if two else coverage.covered(values, next(columns))
    return result
