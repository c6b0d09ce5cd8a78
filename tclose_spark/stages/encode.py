"""Raw rows as codes, on Spark: what every later pass over the input begins with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tclose_spark.errors import InputError
from tclose_spark.io.fingerprint import content_hash
from tclose_spark.io.tables import prepare, prepared_name
from tclose_spark.io.workers import map_batches
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.domains import Profile
from tclose_spark.table.row_hash import RowHash
from tclose_spark.table.rows import Codec, Rows

REST = "rest"
LOW_BITS = np.uint64(2**31 - 1)


@dataclass(frozen=True)
class Encoder:
    """Turns batches of `code_table` into rows. Their hash is keyed with the secret and taken over all published
    columns, so it orders rows by content.

    quasi, sensitive: how many columns of each it begins with; one more where there are insensitive attributes.
    """

    codec: Codec
    row_hash: RowHash
    quasi: int
    sensitive: int

    @staticmethod
    def of(spec: ReleaseSpec, profile: Profile, secret: str) -> Encoder:
        """The encoder of a run."""
        attributes = spec.attributes
        quasi, sensitive = len(attributes.quasi_identifiers), len(attributes.sensitive_attributes)
        columns = quasi + sensitive + bool(attributes.insensitive_attributes)
        return Encoder(Codec.of(profile), RowHash.of(secret, columns), quasi, sensitive)

    def rows(self, batch: pa.RecordBatch) -> Rows:
        """The rows of a batch.

        Raises:
            UnknownValueError: if a value is not in the profile's domains.
        """
        columns, known = batch.columns, self.quasi + self.sensitive
        hashes = self.row_hash.of_rows(columns[: len(self.row_hash.keys)])
        return self.codec.encode(columns[: self.quasi], columns[self.quasi : known], hashes)


def passing_columns(table: DataFrame, spec: ReleaseSpec) -> list[str]:
    """The published columns that codes do not hold: insensitive ones, and sensitive ones that are no text (whose text
    in the codes would have to be read back).
    """
    kept = [
        name
        for name in spec.attributes.sensitive_attributes
        if not isinstance(table.schema[name].dataType, T.StringType)
    ]
    return [*kept, *spec.attributes.insensitive_attributes]


def code_table(table: DataFrame, spec: ReleaseSpec, passing: bool = False) -> DataFrame:
    """A raw table as an Encoder reads it.

    Columns: `q0`.. the prepared quasi-identifiers, `s0`.. the sensitive values as text, and, where there are
    insensitive attributes, REST: an (unkeyed) hash of those. With `passing` also `p0`.. the `passing_columns`, as they
    are.
    """
    people, attributes = prepare(table, spec), spec.attributes
    place = {name: F.col(prepared_name(i)) for i, name in enumerate(attributes.published)}
    columns = [place[name].alias(f"q{i}") for i, name in enumerate(attributes.quasi_identifiers)]
    columns += [place[name].cast("string").alias(f"s{i}") for i, name in enumerate(attributes.sensitive_attributes)]
    if attributes.insensitive_attributes:
        columns.append(content_hash([place[name] for name in attributes.insensitive_attributes], REST).alias(REST))
    if passing:
        columns += [place[name].alias(f"p{i}") for i, name in enumerate(passing_columns(table, spec))]
    return people.select(*columns)


def draw_sample(table: DataFrame, spec: ReleaseSpec, encoder: Encoder, distinct_rows: int, most: int) -> Rows:
    """About `most` rows that stand for a table of about so many distinct ones: the same however it is partitioned or
    ordered.

    Distinct rows are drawn, by the low bits of their hashes (order keys end in the high ones), each with its share of
    the rows that are like it; so many repeated rows neither crowd the sample nor leave it empty.
    """
    share = np.uint64(min(1.0, most / distinct_rows) * 2**31)

    def draw(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = encoder.rows(batch)
            drawn = rows.take(np.flatnonzero((rows.hash & LOW_BITS) < share))
            yield pa.RecordBatch.from_arrays([encoder.codec.pack(drawn)], names=["row"])

    distinct = map_batches(code_table(table, spec), draw, "row binary").groupBy("row").count().toArrow()
    if not distinct.num_rows:
        raise InputError("the input has other rows than when it was profiled: it changed meanwhile; run again")
    sample = Rows.concatenate([encoder.codec.unpack(chunk) for chunk in distinct["row"].chunks])
    order = sample.sorted_by_hash()
    before = np.append(0, np.cumsum(distinct["count"].to_numpy()[order]))
    return sample.take(np.repeat(order, np.diff(before * min(most, before[-1]) // before[-1])))


def count_groups(
    table: DataFrame, spec: ReleaseSpec, encoder: Encoder, group_of: Callable[[Rows], IntArray], groups: int
) -> IntArray:
    """How many rows of the table `group_of` puts into each of the groups, shape (groups,). One scan."""

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        total = np.zeros(groups, dtype=np.int64)
        for batch in batches:
            total += np.bincount(group_of(encoder.rows(batch)), minlength=groups)
        present = np.flatnonzero(total)
        yield pa.RecordBatch.from_arrays([pa.array(present), pa.array(total[present])], names=["group", "n"])

    coded = code_table(table, spec)
    counted = map_batches(coded, count, "group bigint, n bigint").groupBy("group").agg(F.sum("n").alias("n")).toArrow()
    counts = np.zeros(groups, dtype=np.int64)
    counts[counted["group"].to_numpy()] = counted["n"].to_numpy()
    return counts
