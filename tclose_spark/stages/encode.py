"""Raw rows as codes, on Spark: what every later pass over the input begins with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tclose_spark.domains import Profile
from tclose_spark.errors import InputError
from tclose_spark.measures.histograms import IntArray
from tclose_spark.rows import Codec, Rows
from tclose_spark.spec import ReleaseSpec
from tclose_spark.tables import content_hash, prepare, quoted
from tclose_spark.workers import map_batches

PASSING = "_tclose_passing_{}"
TIE = "_tclose_tie"


@dataclass(frozen=True)
class CodedColumns:
    """Where things are in a coded table: `quasi` prepared columns, `sensitive` texts, the hash; then what passes by."""

    quasi: int
    sensitive: int

    @property
    def codes(self) -> int:
        """How many columns `rows` reads."""
        return self.quasi + self.sensitive + 1

    def rows(self, codec: Codec, batch: pa.RecordBatch) -> Rows:
        """The rows of a batch."""
        columns = batch.columns
        last = self.quasi + self.sensitive
        return codec.encode(columns[: self.quasi], columns[self.quasi : last], columns[last])


def coded_columns(spec: ReleaseSpec) -> CodedColumns:
    """The layout of a run's coded tables."""
    return CodedColumns(len(spec.attributes.quasi_identifiers), len(spec.attributes.sensitive_attributes))


def code_table(table: DataFrame, spec: ReleaseSpec, secret: str, passing: bool = False) -> DataFrame:
    """A raw table as `coded_columns` has it; with `passing` also the columns that rows do not hold, and a tie.

    The hash is keyed with the secret and taken over all published columns, so it orders rows by content; the tie is a hash of the insensitive columns only. Insensitive columns pass by as they are, and sensitive ones that are
    no text (whose text in the codes would have to be read back).
    """
    people = prepare(table, spec)
    quasi, sensitive = spec.attributes.quasi_identifiers, spec.attributes.sensitive_attributes
    insensitive = spec.attributes.insensitive_attributes
    published = [quoted(name) for name in spec.attributes.published]
    columns = [quoted(name).alias(f"q{i}") for i, name in enumerate(quasi)]
    columns += [quoted(name).cast("string").alias(f"s{i}") for i, name in enumerate(sensitive)]
    columns.append(content_hash(published, secret).alias("hash"))
    if passing:
        kept = [name for name in sensitive if not isinstance(people.schema[name].dataType, T.StringType)]
        columns += [quoted(name).alias(PASSING.format(name)) for name in (*kept, *insensitive)]
        columns += [content_hash([quoted(name) for name in insensitive], "tie").alias(TIE)] if insensitive else []
    return people.select(*columns)


def draw_sample(table: DataFrame, spec: ReleaseSpec, secret: str, profile: Profile, most: int) -> Rows:
    """About `most` rows that stand for the table: the same ones however it is partitioned or ordered.

    Distinct rows are drawn, by the low bits of their hashes (order keys end in the high ones), each with its share of the
    rows that are like it; so many repeated rows neither crowd the sample nor leave it empty.
    """
    layout, codec = coded_columns(spec), Codec.of(profile)
    share = min(1.0, most / profile.distinct_rows)
    coded = code_table(table, spec, secret)
    drawn = coded.where(F.col("hash").bitwiseAND(F.lit(2**31 - 1)) < int(share * 2**31)).groupBy(*coded.columns).count().toArrow()
    if not drawn.num_rows:
        raise InputError("the input has other rows than when it was profiled: it changed meanwhile; run again")
    (batch,) = drawn.combine_chunks().to_batches()
    sample = layout.rows(codec, batch)
    order = sample.sorted_by_hash()
    before = np.append(0, np.cumsum(batch.column("count").to_numpy()[order]))
    return sample.take(np.repeat(order, np.diff(before * min(most, before[-1]) // before[-1])))


def count_groups(
    table: DataFrame, spec: ReleaseSpec, secret: str, codec: Codec, group_of: Callable[[Rows], IntArray], groups: int
) -> IntArray:
    """How many rows of the table `group_of` puts into each of the groups, shape (groups,). One scan."""
    layout = coded_columns(spec)

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        total = np.zeros(groups, dtype=np.int64)
        for batch in batches:
            total += np.bincount(group_of(layout.rows(codec, batch)), minlength=groups)
        found = np.flatnonzero(total)
        yield pa.RecordBatch.from_arrays([pa.array(found), pa.array(total[found])], names=["group", "n"])

    coded = code_table(table, spec, secret)
    found = map_batches(coded, count, "group bigint, n bigint").groupBy("group").agg(F.sum("n").alias("n")).toArrow()
    counts = np.zeros(groups, dtype=np.int64)
    counts[found["group"].to_numpy()] = found["n"].to_numpy()
    return counts
