"""(n, t)-closeness (Li, Li and Venkatasubramanian 2010; Weber 2.2.3): a class is close enough if it is at most t away
from some natural superset of at least n records.

A natural superset of a class is what its labels become when some are generalized further: to a node above, where there
is a hierarchy, else to `*`, which drops the quasi-identifier. How far each is generalized is a vector of heights; its
supersets hold all classes whose labels lie at or below the nodes of these heights. Each unproven class is compared with
each of its supersets, one by one: this is for tables in which most classes are near the whole table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from itertools import islice
from operator import and_
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from tclose_spark.checks.classes import JudgedAttribute, measure_column
from tclose_spark.checks.tallies import Tally, add_up
from tclose_spark.io.tables import quoted
from tclose_spark.io.workers import Mapper, map_batches
from tclose_spark.measures.distances import GroundDistance
from tclose_spark.measures.histograms import Histograms
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.hierarchy import ROOT, Hierarchy

BETWEEN, ESCAPE = "\x1f", "\x1b"  # what stands between the parts of a key, and before what labels have in its place
MISSING = ESCAPE + "2"
WHOLE, ITSELF = "the whole table", "the class itself"
Heights = tuple[int, ...]


@dataclass(frozen=True)
class Ladder:
    """What a label of one quasi-identifier can be generalized to: a node of its hierarchy, or `*`."""

    name: str
    hierarchy: Hierarchy | None

    @property
    def height(self) -> int:
        """Of `*`."""
        return 1 if self.hierarchy is None else self.hierarchy.height

    def climb(self, label: str | None) -> list[str | None]:
        """What a label becomes at the heights 0..height, escaped; None at heights below its own, and where a path
        repeats a node that is higher up (it stands for leaves of other heights too).
        """
        if label == ROOT:
            return [*[None] * self.height, ROOT]
        if label is None or self.hierarchy is None:
            return [*[MISSING if label is None else _escaped(label)] * self.height, ROOT]
        path = self._paths[label]
        own = 0 if path[0] == label else max(height for height, node in enumerate(path) if node == label)
        above = (*path[1:], None)
        repeats = [
            node == next_node != label for node, next_node in zip(path, above, strict=True)
        ]  # the node is the one above
        return [None if height < own or repeats[height] else _escaped(node) for height, node in enumerate(path)]

    @cached_property
    def _paths(self) -> Mapping[str, tuple[str, ...]]:
        """A path through each node."""
        return {} if self.hierarchy is None else {label: path for path in self.hierarchy.paths for label in path}


def _escaped(label: str) -> str:
    return label.replace(ESCAPE, ESCAPE + "0").replace(BETWEEN, ESCAPE + "1")


def _read(part: str) -> str:
    return "missing" if part == MISSING else part.replace(ESCAPE + "1", BETWEEN).replace(ESCAPE + "0", ESCAPE)


def heights_to_try(ladders: Sequence[Ladder], most: int) -> list[Heights]:
    """All vectors of heights where they are at most `most`; else half of them the nearest to the class, half to the
    whole table.
    """
    if count_heights(ladders) <= most:
        return list(nearest_heights(ladders))
    near = list(islice(nearest_heights(ladders), most - most // 2))
    far = islice(nearest_heights(ladders), most // 2)  # as many steps below the whole table
    return near + [tuple(ladder.height - h for ladder, h in zip(ladders, heights, strict=True)) for heights in far]


def nearest_heights(ladders: Sequence[Ladder]) -> Iterator[Heights]:
    """All vectors of heights but the class itself and the whole table, in order of the steps up that they take."""
    tops = [ladder.height for ladder in ladders]
    for steps in range(1, sum(tops)):
        yield from _with_sum(tops, steps)


def _with_sum(tops: Sequence[int], steps: int) -> Iterator[Heights]:
    """Vectors up to `tops` with this sum."""
    if not tops:
        yield ()
        return
    rest = sum(tops[1:])
    for first in range(max(0, steps - rest), min(tops[0], steps) + 1):
        for others in _with_sum(tops[1:], steps - first):
            yield (first, *others)


def count_heights(ladders: Sequence[Ladder]) -> int:
    """How many vectors `nearest_heights` gives."""
    return math.prod(ladder.height + 1 for ladder in ladders) - 2


def with_supersets(
    classes: DataFrame,
    tallies: DataFrame,
    ladders: Sequence[Ladder],
    attributes: Sequence[JudgedAttribute],
    n: int,
    vectors: Sequence[Heights],
) -> DataFrame:
    """The class table with `superset_<attribute>`, the smallest natural superset that proves the class (the nearest of
    equally small ones; NULL where none does), and `nt_emd_<attribute>`, the distance from it (where none proves it the
    least that was found).

    tallies: of the same classes and attributes; ladders: one for each column of labels. vectors: to try, for the
    attributes that have a t (at least one). The whole table is tried first, and a class of n records proves itself.
    """
    with_t = [a for a in attributes if a.settings.t is not None]
    rows = int(with_t[0].distance.table.sum())
    holds_against_all = {a.name: (quoted(a.column("margin")) >= 0) if n <= rows else F.lit(False) for a in with_t}
    large = F.col("size") >= n
    unproven = classes.where(~large & ~reduce(and_, holds_against_all.values())).select("quasi_identifiers")
    best = _best(unproven, tallies, ladders, attributes, n, vectors)
    joined = classes.join(best, classes["quasi_identifiers"].eqNullSafe(best["asking"]), "left")
    for a in with_t:
        nearest, emd = quoted(f"best_{a.name}"), quoted(a.column("emd"))
        superset = (
            F.when(holds_against_all[a.name], WHOLE).when(large, ITSELF).when(~nearest["fails"], nearest["superset"])
        )
        whole = emd if n <= rows else F.lit(None)
        distance = (
            F.when(holds_against_all[a.name], emd)
            .when(large, 0.0)
            .when(~nearest["fails"], nearest["emd"])
            .otherwise(F.least(nearest["emd"], whole))
        )
        joined = joined.withColumns(
            {measure_column("superset", a.name): superset, measure_column("nt_emd", a.name): distance}
        )
    return joined.drop("asking", *[f"best_{a.name}" for a in with_t])


def _best(
    unproven: DataFrame,
    tallies: DataFrame,
    ladders: Sequence[Ladder],
    attributes: Sequence[JudgedAttribute],
    n: int,
    vectors: Sequence[Heights],
) -> DataFrame:
    """(asking, best_<attribute>): the labels of each unproven class, and for each attribute with a t its best superset
    of at least n records.
    """
    labels = [f"l{i}" for i in range(len(ladders))]
    lists = [name for name in tallies.columns if name not in labels]
    text = tallies.select(
        F.struct(*[F.col(label).alias(ladder.name) for label, ladder in zip(labels, ladders, strict=True)]).alias(
            "asking"
        ),
        *labels,
        *lists,
    )
    part = T.StructType([T.StructField("key", T.StringType()), *[tallies.schema[name] for name in lists]])
    parts = map_batches(text.drop("asking"), _generalize(ladders, vectors), part)
    records = F.aggregate("n", F.lit(0).cast("bigint"), lambda total, more: total + more)
    supersets = add_up(parts, 1, to_arrow_schema(part)).withColumn("records", records).where(F.col("records") >= n)

    asking = text.join(unproven, text["asking"].eqNullSafe(unproven["quasi_identifiers"]), "left_semi")
    own = [T.StructField(f"own_{name}", tallies.schema[name].dataType) for name in lists]
    asks = map_batches(
        asking,
        _ask(ladders, vectors),
        T.StructType([T.StructField("key", T.StringType()), text.schema["asking"], *own]),
    )
    pairs = asks.join(supersets, "key").select("asking", "key", "records", *lists, *[field.name for field in own])
    best = (
        T.StructType()
        .add("fails", "boolean")
        .add("records", "long")
        .add("number", "integer")
        .add("emd", "double")
        .add("superset", "string")
    )
    with_t = {i: a for i, a in enumerate(attributes) if a.settings.t is not None}
    result = T.StructType([text.schema["asking"], *[T.StructField(f"best{i}", best) for i in with_t]])
    compared = map_batches(
        pairs, _compare([ladder.name for ladder in ladders], with_t, len(lists), to_arrow_schema(result)), result
    )
    return compared.groupBy("asking").agg(*[F.min(f"best{i}").alias(f"best_{a.name}") for i, a in with_t.items()])


def _keys(
    labels: Sequence[pa.Array], ladders: Sequence[Ladder], vectors: Sequence[Heights]
) -> Iterator[tuple[pa.Array, pa.Array]]:
    """For each vector (the classes whose labels are no higher, the key of the superset that each is in)."""
    climbed = []
    for label, ladder in zip(labels, ladders, strict=True):
        encoded = label.dictionary_encode(null_encoding="encode")
        ways = [ladder.climb(text) for text in encoded.dictionary.to_pylist()]
        climbed.append(
            [
                pa.array([way[height] for way in ways], pa.string()).take(encoded.indices)
                for height in range(ladder.height + 1)
            ]
        )
    for number, heights in enumerate(vectors):
        parts = [columns[height] for columns, height in zip(climbed, heights, strict=True)]
        key = pc.binary_join_element_wise(pa.scalar(str(number)), *parts, BETWEEN)
        inside = pa.array(np.flatnonzero(key.is_valid().to_numpy(zero_copy_only=False)))
        yield inside, key.take(inside)


def _generalize(ladders: Sequence[Ladder], vectors: Sequence[Heights]) -> Mapper:
    """The tallies of the supersets, as far as the classes of a batch add to them."""

    def generalize(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            lists = batch.columns[len(ladders) :]
            schema = pa.schema(
                [("key", pa.string()), *[batch.schema.field(i) for i in range(len(ladders), batch.num_columns)]]
            )
            for inside, key in _keys(batch.columns[: len(ladders)], ladders, vectors):
                if len(inside):
                    members = pa.RecordBatch.from_arrays(
                        [key, *[column.take(inside) for column in lists]], schema=schema
                    )
                    yield Tally.read(members, 1).write(schema)

    return generalize


def _ask(ladders: Sequence[Ladder], vectors: Sequence[Heights]) -> Mapper:
    """Each class once for each superset it is in."""

    def ask(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            asking, *columns = batch.columns
            lists = columns[len(ladders) :]
            names = ["key", "asking", *[f"own_{name}" for name in batch.schema.names[1 + len(ladders) :]]]
            for inside, key in _keys(columns[: len(ladders)], ladders, vectors):
                yield pa.RecordBatch.from_arrays(
                    [key, asking.take(inside), *[column.take(inside) for column in lists]], names=names
                )

    return ask


def _compare(names: Sequence[str], with_t: Mapping[int, JudgedAttribute], lists: int, schema: pa.Schema) -> Mapper:
    """Each class with each of its supersets: whether it proves the class, and how far it is."""
    places = {i: {value: code for code, value in enumerate(a.values)} for i, a in with_t.items()}

    def compare(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = []
            for row in batch.to_pylist():
                values = list(row.values())
                whole, part = values[3 : 3 + lists], values[3 + lists :]
                compared: dict[str, Any] = {"asking": row["asking"]}
                for i, a in with_t.items():
                    emd = _emd(a.distance, _counts(whole, i, places[i]), _counts(part, i, places[i]))
                    proves = emd <= (a.settings.t or 0)
                    compared[f"best{i}"] = {
                        "fails": not proves,
                        "records": row["records"] if proves else 0,
                        "number": int(row["key"].split(BETWEEN, 1)[0]) if proves else 0,
                        "emd": float(emd),
                        "superset": _told(row["key"], names),
                    }
                rows.append(compared)
            yield pa.RecordBatch.from_pylist(rows, schema=schema)

    return compare


def _counts(lists: Sequence[Sequence[Any]], attribute: int, place: Mapping[str | None, int]) -> IntArray:
    """Records of each value of an attribute, shape (m,), from lists of tuples and their records."""
    counts = np.zeros(len(place), dtype=np.int64)
    np.add.at(counts, [place[value] for value in lists[attribute]], lists[-1])
    return counts


def _emd(distance: GroundDistance, whole: IntArray, part: IntArray) -> Fraction:
    """The distance of a class from a superset."""
    over = replace(distance, table=whole)
    numerator = over.numerators(Histograms.dense(part[None, :]))[0]
    return Fraction(int(numerator), over.scale * int(whole.sum()) * int(part.sum()))


def _told(key: str, names: Sequence[str]) -> str:
    """A superset in words: its labels."""
    return ", ".join(f"{name}={_read(part)}" for name, part in zip(names, key.split(BETWEEN)[1:], strict=True))
