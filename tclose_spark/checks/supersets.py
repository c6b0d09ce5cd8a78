"""(n, t)-closeness (Li, Li and Venkatasubramanian 2010; Weber 2.2.3): a class is close enough if it is at most t away
from some natural superset of at least n records. Both the verdict on a release and the audit of a table come from here.

The whole table is one, and a class of n records is one of itself. For classes that neither proves, boxes are looked at
that cuts across the table leave (see `measures.supersets`; by the driver, of up to MOST_CLASSES classes). For what is
left, labels are generalized further: to a node above, where there is a hierarchy, else to `*`, which drops the
quasi-identifier. How far each is generalized is a vector of heights; its supersets hold all classes whose labels lie at
or below the nodes of these heights. Each unproven class is compared with each of its supersets, one by one: this is for
tables in which most classes are near the whole table.
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
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from tclose_spark.checks.boxes import BoxProofs, open_classes
from tclose_spark.checks.classes import Classes, JudgedAttribute, JudgedQuasi, measure_column
from tclose_spark.checks.expectations import Expectation, expect_present
from tclose_spark.checks.figures import Guarantee
from tclose_spark.checks.tallies import Tally, add_up
from tclose_spark.io.tables import quoted
from tclose_spark.io.workers import Mapper, map_batches
from tclose_spark.measures.histograms import Histograms
from tclose_spark.measures.supersets import Near, Proof, superset_distances
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.hierarchy import ROOT, Hierarchy

BETWEEN, ESCAPE = "\x1f", "\x1b"  # what stands between the parts of a key, and before what labels have in its place
MISSING = ESCAPE + "2"
WHOLE, ITSELF = "the whole table", "the class itself"
Heights = tuple[int, ...]
SUPERSETS = 64  # vectors of heights that are tried
MOST_CLASSES, MOST_COUNTS = 100_000, 1 << 25  # that the driver looks at boxes of, and counts of their values
BEST = (
    T.StructType()
    .add("fails", "boolean")
    .add("records", "long")
    .add("number", "integer")
    .add("emd", "double")
    .add("superset", "string")
)
"""The best superset of a class, by the order of such values."""


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


def find_supersets(
    classes: DataFrame,
    tallies: DataFrame,
    quasi: Sequence[JudgedQuasi],
    attributes: Sequence[JudgedAttribute],
    n: int,
    most: int = SUPERSETS,
) -> tuple[DataFrame, list[str]]:
    """(the class table with `superset_<attribute>`, a natural superset that proves the class, NULL where none does, and
    `nt_emd_<attribute>`, the distance from it, where none proves it the least that was found; notes on what was not
    tried).

    tallies: of the same classes and attributes; quasi: of the labels. most: vectors of heights that are tried.
    """
    asking = _unproven(classes, attributes, n)
    if asking.isEmpty():
        return _joined(classes, None, attributes, n), []
    boxes = _in_boxes(tallies, quasi, attributes, n)
    if boxes is not None and not boxes[1]:
        return _joined(classes, boxes[0], attributes, n), []
    ladders, vectors, tried = _ladders(quasi, most)
    columns = [
        Ladder(column, ladder.hierarchy) for q, ladder in zip(quasi, ladders, strict=True) for column in q.columns
    ]
    by_heights = _best(asking, tallies, columns, attributes, n, vectors)
    best = by_heights if boxes is None else _better(by_heights, boxes[0], attributes)
    return _joined(classes, best, attributes, n), tried


def _ladders(quasi: Sequence[JudgedQuasi], most: int) -> tuple[list[Ladder], list[Heights], list[str]]:
    """(what labels can be generalized to, the vectors of heights to try by published column, a note if not all are)."""
    ladders = [Ladder(q.name, q.loss.hierarchy) for q in quasi]
    chosen, every = heights_to_try(ladders, most), count_heights(ladders)
    widths = [len(q.columns) for q in quasi]  # the bounds of a number go to `*` together
    vectors = [
        tuple(h for height, width in zip(heights, widths, strict=True) for h in [height] * width) for heights in chosen
    ]
    if len(vectors) >= every:
        return ladders, vectors, []
    tried = (
        f"(n, t): {len(vectors)} of {every:,} ways to generalize labels further were tried, those nearest to the "
        "class and to the whole table"
    )
    return ladders, vectors, [f"{tried}; a class without a proof may have one among the rest (--supersets tries more)"]


def _unproven(classes: DataFrame, attributes: Sequence[JudgedAttribute], n: int) -> DataFrame:
    """The labels of the classes that neither the whole table nor the class itself proves."""
    held = [holds for _, holds in _against_all(attributes, n)]
    return classes.where((F.col("size") < n) & ~reduce(and_, held)).select("quasi_identifiers")


def _against_all(attributes: Sequence[JudgedAttribute], n: int) -> list[tuple[JudgedAttribute, Column]]:
    """The attributes with a t, and whether a class is near enough to the whole table, where that has n records."""
    return [
        (a, (quoted(a.column("margin")) >= 0) if n <= int(a.distance.table.sum()) else F.lit(False))
        for a in attributes
        if a.settings.t is not None
    ]


def with_supersets(
    classes: DataFrame,
    tallies: DataFrame,
    ladders: Sequence[Ladder],
    attributes: Sequence[JudgedAttribute],
    n: int,
    vectors: Sequence[Heights],
) -> DataFrame:
    """The class table as of `find_supersets`, by vectors of heights alone: with the smallest superset of these that
    proves the class, the nearest of equally small ones.

    ladders: one for each column of labels. vectors: to try, for the attributes that have a t (at least one).
    """
    best = _best(_unproven(classes, attributes, n), tallies, ladders, attributes, n, vectors)
    return _joined(classes, best, attributes, n)


def _joined(classes: DataFrame, best: DataFrame | None, attributes: Sequence[JudgedAttribute], n: int) -> DataFrame:
    """The class table with what proves each class: the whole table, itself, or the best superset that was found."""
    joined, large = classes, F.col("size") >= n
    if best is not None:
        joined = classes.join(best, classes["quasi_identifiers"].eqNullSafe(best["asking"]), "left")
    for a, holds_against_all in _against_all(attributes, n):
        nearest = quoted(f"best_{a.name}") if best is not None else F.lit(None).cast(BEST)
        emd = quoted(a.column("emd"))
        superset = F.when(holds_against_all, WHOLE).when(large, ITSELF).when(~nearest["fails"], nearest["superset"])
        whole = emd if n <= int(a.distance.table.sum()) else F.lit(None)
        distance = (
            F.when(holds_against_all, emd)
            .when(large, 0.0)
            .when(~nearest["fails"], nearest["emd"])
            .otherwise(F.least(nearest["emd"], whole))
        )
        joined = joined.withColumns(
            {measure_column("superset", a.name): superset, measure_column("nt_emd", a.name): distance}
        )
    return joined.drop("asking", *[f"best_{a.name}" for a, _ in _against_all(attributes, n)])


def _in_boxes(
    tallies: DataFrame, quasi: Sequence[JudgedQuasi], attributes: Sequence[JudgedAttribute], n: int
) -> tuple[DataFrame, bool] | None:
    """(the best box of each class that needs one, as `_best` has it; whether one is left without a proof). None where
    the classes are too many for the driver.
    """
    table = tallies.limit(MOST_CLASSES + 1).toArrow()
    columns = sum(len(q.columns) for q in quasi)
    with_t = [a for a in attributes if a.settings.t is not None]
    if table.num_rows > MOST_CLASSES or table.num_rows * max(len(a.values) for a in with_t) > MOST_COUNTS:
        return None
    tally = Tally.read(table, columns)
    held = Classes.of(tally, attributes)
    near = []
    for a in with_t:
        t, histogram = a.settings.t or Fraction(0), held.marginals[a.name]
        near.append(Near(a.distance, t, histogram, open_classes(a.distance, t, histogram, n)))
    labels = iter([pa.chunked_array([column]) for column in tally.labels])
    proofs = BoxProofs.of([[next(labels) for _ in q.columns] for q in quasi], held.sizes, near, quasi, n)
    asked = np.flatnonzero(np.any([of.open for of in near], axis=0)).tolist()
    texts = [column.to_pylist() for column in tally.labels]
    names = [column for q in quasi for column in q.columns]
    rows = [
        (tuple(text[one] for text in texts), *[_as_best(proofs, found.get(one)) for found in proofs.search.found])
        for one in asked
    ]
    schema = T.StructType(
        [
            T.StructField("asking", T.StructType([T.StructField(name, T.StringType()) for name in names])),
            *[T.StructField(f"best_{a.name}", BEST) for a in with_t],
        ]
    )
    return tallies.sparkSession.createDataFrame(rows, schema), not proofs.proves


def _as_best(proofs: BoxProofs, proof: Proof | None) -> tuple[bool, int, int, float, str] | None:
    """A proof as a value of BEST."""
    if proof is None:
        return None
    return (not proof.proves, proof.records if proof.proves else 0, 0, float(proof.emd), proofs.told(proof))


def _better(one: DataFrame, other: DataFrame, attributes: Sequence[JudgedAttribute]) -> DataFrame:
    """The better one of what was found for each class, in either way."""
    names = [f"best_{a.name}" for a in attributes if a.settings.t is not None]
    return one.unionByName(other).groupBy("asking").agg(*[F.min(quoted(name)).alias(name) for name in names])


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
    with_t = {i: a for i, a in enumerate(attributes) if a.settings.t is not None}
    result = T.StructType([text.schema["asking"], *[T.StructField(f"best{i}", BEST) for i in with_t]])
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
                    mine = Histograms.dense(_counts(part, i, places[i])[None, :])
                    (emd,) = superset_distances(a.distance, _counts(whole, i, places[i]), mine)
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


def _told(key: str, names: Sequence[str]) -> str:
    """A superset in words: its labels."""
    return ", ".join(f"{name}={_read(part)}" for name, part in zip(names, key.split(BETWEEN)[1:], strict=True))


@dataclass(frozen=True, kw_only=True)
class NearSupersets:
    """How the classes hold (n, t)-closeness of an attribute.

    guarantee: with the class that is farthest off, and what it is near to.
    whole_table, itself, superset: classes that are near to each of these, the first that is.
    """

    guarantee: Guarantee
    whole_table: int
    itself: int
    superset: int


def near_supersets(classes: DataFrame, attributes: Sequence[JudgedAttribute], n: int) -> list[NearSupersets]:
    """Of each attribute with a t, from a class table as `find_supersets` gives it. One job."""
    with_t = [a for a in attributes if a.settings.t is not None]
    found = classes.agg(*[_summed(a).alias(str(i)) for i, a in enumerate(with_t)]).toArrow().to_pylist()[0]
    return [_near(a, n, found[str(i)]) for i, a in enumerate(with_t)]


def _summed(a: JudgedAttribute) -> Column:
    superset, emd = quoted(measure_column("superset", a.name)), quoted(measure_column("nt_emd", a.name))
    open_class = superset.isNull()
    worst = F.struct(
        open_class.alias("open"),
        emd.alias("emd"),
        F.col("quasi_identifiers"),
        superset.alias("superset"),
        F.col("size"),
    )
    return F.struct(
        F.sum(open_class.cast("bigint")).alias("classes"),
        F.sum(F.when(open_class, F.col("size")).otherwise(0)).alias("rows"),
        F.count(F.when(superset == WHOLE, 1)).alias("whole_table"),
        F.count(F.when(superset == ITSELF, 1)).alias("itself"),
        F.count(F.when(~superset.isin(WHOLE, ITSELF), 1)).alias("superset"),
        F.max(worst).alias("worst"),
    )


def _near(a: JudgedAttribute, n: int, found: Mapping[str, Any]) -> NearSupersets:
    worst, t = found["worst"], a.settings.t or Fraction(0)
    guarantee = Guarantee(
        measure="(n, t)-closeness",
        attribute=a.name,
        required=f"n = {n}, t = {float(t):g}",
        achieved=worst["emd"],
        classes=found["classes"],
        rows=found["rows"],
        worst={**worst["quasi_identifiers"], "(superset)": worst["superset"] or "none was found"},
        size=worst["size"],
    )
    return NearSupersets(
        guarantee=guarantee,
        whole_table=found["whole_table"],
        itself=found["itself"],
        superset=found["superset"],
    )


def measured_only(attributes: Sequence[JudgedAttribute]) -> list[JudgedAttribute]:
    """The attributes without a t: what their distance from the whole table is told, and nothing required of it."""
    return [replace(a, settings=a.settings.model_copy(update={"t": None})) for a in attributes]


def expect_supersets(attributes: Sequence[JudgedAttribute]) -> list[Expectation]:
    """Each class has a superset that proves it, for every attribute with a t."""
    return [expect_present(measure_column("superset", a.name)) for a in attributes if a.settings.t is not None]
