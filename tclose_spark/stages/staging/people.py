"""Rows of a person, one after another, while they are staged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.stages.staging.batches import StagedColumns
from tclose_spark.table.arrays import HashArray
from tclose_spark.table.atoms import ATOM
from tclose_spark.table.people import FIRST, PERSON, ROWS_OF_PERSON, PersonRows, ranks

KEPT = "kept"
"""Whether a row is a record of the earlier release: a column of `with_atoms`."""


def person_columns(
    columns: StagedColumns,
    held: Sequence[pa.Array],
    person: pa.Array,
    hashes: HashArray,
) -> tuple[dict[str, pa.Array], list[int]]:
    """(the numbers of whole people's rows and `leads`, by staged column; by quasi-identifier, how
    many people have several values). person: PERSON.
    """
    quasi = columns.quasi(held)
    rows = PersonRows.of(
        person.to_numpy(), columns.texts(held), [*map(ranks, quasi), hashes.view(np.int64)]
    )
    made = {ROWS_OF_PERSON: pa.array(rows.size, pa.int32()), FIRST: pa.array(rows.first)}
    lead = pa.array(rows.lead)
    made |= {name: column.take(lead) for name, column in zip(columns.leads, quasi, strict=False)}
    return made, [rows.varying(column) for column in quasi] if columns.together else []


def split_kept(
    batch: pa.RecordBatch, prepared: int
) -> tuple[pa.RecordBatch, list[pa.Array], pa.Array]:
    """(the rows of the input, with PERSON as the last column; the columns of kept rows, which are
    prepared, with PERSON as the last one; ATOM of both, one after the other) of a batch of
    `with_atoms`. prepared: how many columns records have, or 0 if none is kept.
    """
    kept = batch[KEPT]
    now = batch.filter(pc.invert(kept))
    before = batch.filter(kept)
    raw = batch.num_columns - 3 - prepared
    names = batch.schema.names
    columns = before.columns
    atoms = pa.concat_arrays([now[ATOM], before[ATOM]])
    return now.select([*names[:raw], PERSON]), [*columns[raw : raw + prepared], columns[-1]], atoms
