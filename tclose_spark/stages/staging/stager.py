"""Raw rows as staged batches, with the tallies of their task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from tclose_spark.engine.protocol import Mapper
from tclose_spark.engine.sampling import SAMPLE
from tclose_spark.stages.preparation import Preparation
from tclose_spark.stages.staging.batches import HASH, STAGED, write_batch
from tclose_spark.stages.staging.people import person_columns, split_kept
from tclose_spark.stages.staging.tallies import TALLIES, TaskTallies
from tclose_spark.table.atoms import ATOM
from tclose_spark.table.dictionaries import coded, decoded
from tclose_spark.table.entities.whole_values import Sampler
from tclose_spark.table.fingerprint import RowHash
from tclose_spark.table.people import PERSON, whole_people


def stager(preparation: Preparation, secret: str, keeps: bool) -> Mapper:
    """Stages raw batches; then the tallies of the task. keeps: whether batches have kept rows (see
    `with_atoms`).
    """
    columns = preparation.columns

    def stage(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tallies = TaskTallies(columns, list(preparation.marks))
        sampler = Sampler(len(preparation.sampled))
        keyed = RowHash.of(secret, len(columns.keyed(columns.names)) + len(columns.hashed))
        for batch in whole_people(batches) if PERSON in columns.owners else batches:
            if batch.num_rows:
                kept = list[pa.Array]()
                atom = dict[str, pa.Array]()
                if ATOM in columns.owners:
                    batch, kept, atom[ATOM] = split_kept(batch, len(columns.names) if keeps else 0)
                held = preparation.staged(batch)
                owned = preparation.owned(batch)
                if kept and len(kept[-1]):
                    *held, owned[PERSON] = map(_one_after_another, [*held, owned[PERSON]], kept)
                hashes = keyed.of_rows(
                    [*columns.keyed(held), *(owned[name] for name in columns.hashed)]
                )
                varying = list[int]()
                if PERSON in owned:
                    of_person, varying = person_columns(columns, held, owned[PERSON], hashes)
                    owned |= {**of_person, **atom}
                sampler.add(preparation.to_sample(batch))
                marked = preparation.marked(batch)
                spellings = preparation.spellings(batch)
                tallies.add(held, marked, spellings, owned, varying, preparation.weights(batch))
                staged_columns = [*map(_narrow, [*held, *owned.values()]), pa.array(hashes)]
                names = [*columns.names, *owned, HASH]
                rows = pa.RecordBatch.from_arrays(staged_columns, names=names)
                yield staged({"batch": [write_batch(rows)]})
        listed = zip(TALLIES.names, zip(*tallies.rows(), strict=True), strict=True)
        yield staged(dict(listed))
        yield staged({SAMPLE: [sampler.sample().to_bytes()]})

    return stage


def staged(values: Mapping[str, Sequence[Any]]) -> pa.RecordBatch:
    """Rows of the staged table. values: of some of its columns."""
    rows = len(next(iter(values.values())))
    arrays = [pa.array(values.get(field.name, [None] * rows), field.type) for field in STAGED]
    return pa.RecordBatch.from_arrays(arrays, schema=STAGED)


def _one_after_another(column: pa.Array, other: pa.Array) -> pa.Array:
    """The values of two columns; text is `coded`."""
    both = pa.concat_arrays([decoded(column), other.cast(decoded(column).type)])
    return coded(both) if pa.types.is_string(both.type) else both


def _narrow(column: pa.Array) -> pa.Array:
    """A dictionary column with the smallest index type; other columns unchanged."""
    if not pa.types.is_dictionary(column.type):
        return column
    size = len(column.dictionary)
    kind = pa.int8() if size < 2**7 else pa.int16() if size < 2**15 else pa.int32()
    return pa.DictionaryArray.from_arrays(column.indices.cast(kind), column.dictionary)
