"""Staged rows: what later stages need of the input, which is read once.

A batch of rows is staged as one binary value: an Arrow stream with dictionary-coded text. Spark
then moves one value for tens of thousands of rows. Tallies of the rows are staged beside the
batches: see `tallies`. Rows of a person are staged one after another.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.engine.local.table import NeedsSparkError
from tclose_spark.engine.protocol import Session, Table
from tclose_spark.engine.sampling import SAMPLE
from tclose_spark.engine.tables import read_rows, select
from tclose_spark.errors import DamagedStagingError, InputError
from tclose_spark.io.storage.stores import StoreError
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.arrays import HashArray
from tclose_spark.table.atoms import ATOM
from tclose_spark.table.columns.spark_types import arrow_schema, delta_schema
from tclose_spark.table.columns.weights import rounded_type
from tclose_spark.table.people import (
    FIRST,
    OWNERS,
    PERSON,
    ROWS_OF_HOUSEHOLD,
    ROWS_OF_PERSON,
    PersonRows,
    ranks,
)

HASH = "hash"
NUMBERS = {"person": (ROWS_OF_PERSON, FIRST), "household": (ROWS_OF_HOUSEHOLD,)}
"""The staged columns of the numbers that cells know of whose rows are, by role."""
STAGED = pa.schema(
    [
        ("batch", pa.binary()),
        ("tally", pa.int32()),
        ("key", pa.string()),
        ("n", pa.int64()),
        (SAMPLE, pa.binary()),
    ],
)
"""A row of the staged table has a batch, a tally with its key as JSON, or the sample of a task (see
`sampling`).
"""


@dataclass(frozen=True, kw_only=True)
class StagedColumns:
    """The columns of a batch of staged rows: `q0`... the prepared quasi-identifiers, `s0`... the
    sensitive values as text, `p0`... the columns that pass unchanged, those of whose the row is,
    and HASH.

    numeric: for each quasi-identifier, whether it is a number.
    sensitive: the number of sensitive attributes.
    passing: the published columns that are not staged as text: sensitive ones of other types,
        insensitive ones, a published weight among them, and pseudonyms, which are like insensitive
        columns from here on.
    drawn: the places of the numbers from which missing values are drawn.
    own: for each sensitive attribute, its place in `passing`; None if it is text.
    owners: the columns of whose a row is, as far as it is known: PERSON, ATOM if the release
        continues an earlier one, and HOUSEHOLD.
    counted: the columns of the numbers that cells know of: ROWS_OF_PERSON and FIRST if people are
        counted, and ROWS_OF_HOUSEHOLD if classes need several.
    together: whether a person's rows are kept together. `l0`... are then the quasi-identifiers of
        the first one.
    """

    numeric: tuple[bool, ...]
    sensitive: int
    passing: tuple[pa.Field, ...]
    own: tuple[int | None, ...]
    drawn: tuple[int, ...] = ()
    owners: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()
    together: bool = False

    @staticmethod
    def of(schema: pa.Schema, spec: ReleaseSpec, continued: bool = False) -> StagedColumns:
        """The staged columns of a raw table with this schema."""
        attributes = spec.attributes
        types = {field.name: field.type for field in schema}
        types |= dict.fromkeys(attributes.pseudonym_names.values(), pa.string())
        typed = [
            name for name in attributes.sensitive_attributes if not pa.types.is_string(types[name])
        ]
        for column, step in attributes.rounded.items():
            types[column] = rounded_type(types[column], step)
        passing = [*typed, *attributes.beside]
        return StagedColumns(
            numeric=tuple(quasi.is_numeric for quasi in attributes.quasi_identifiers.values()),
            sensitive=len(attributes.sensitive_attributes),
            passing=tuple(pa.field(name, types[name]) for name in passing),
            own=tuple(
                typed.index(name) if name in typed else None
                for name in attributes.sensitive_attributes
            ),
            drawn=tuple(
                place
                for place, quasi in enumerate(attributes.quasi_identifiers.values())
                if quasi.is_numeric and quasi.missing == "any"
            ),
            owners=(*(OWNERS[role] for role in attributes.owners), *([ATOM] if continued else [])),
            counted=tuple(name for role in attributes.counted_owners for name in NUMBERS[role]),
            together=attributes.keeps_people_together,
        )

    def to_json(self) -> str:
        """As text for `from_json`."""
        return json.dumps({**vars(self), "passing": delta_schema(pa.schema(self.passing))})

    @staticmethod
    def from_json(text: str) -> StagedColumns:
        """The columns that `to_json` wrote."""
        tree = json.loads(text)
        return StagedColumns(
            numeric=tuple(tree["numeric"]),
            sensitive=tree["sensitive"],
            passing=tuple(arrow_schema(tree["passing"])),
            own=tuple(tree["own"]),
            drawn=tuple(tree["drawn"]),
            owners=tuple(tree["owners"]),
            counted=tuple(tree["counted"]),
            together=tree["together"],
        )

    @property
    def names(self) -> list[str]:
        """The names of the columns without HASH and those of whose a row is."""
        parts = (("q", len(self.numeric)), ("s", self.sensitive), ("p", len(self.passing)))
        return [f"{kind}{i}" for kind, count in parts for i in range(count)]

    @property
    def hashed(self) -> list[str]:
        """The owners that are part of a row's content."""
        return [name for name in self.owners if name != ATOM]

    @property
    def leads(self) -> list[str]:
        """The names of the quasi-identifiers of the first row of a row's person."""
        return [f"l{i}" for i in range(len(self.numeric))] if self.together else []

    def quasi(self, columns: Sequence[pa.Array]) -> Sequence[pa.Array]:
        """The quasi-identifiers among the columns of a batch."""
        return columns[: len(self.numeric)]

    def texts(self, columns: Sequence[pa.Array]) -> Sequence[pa.Array]:
        """The sensitive values as text."""
        return columns[len(self.numeric) : len(self.numeric) + self.sensitive]

    def passed(self, columns: Sequence[pa.Array]) -> Sequence[pa.Array]:
        """The columns that pass unchanged."""
        return columns[len(self.numeric) + self.sensitive : len(self.names)]

    @property
    def insensitive(self) -> slice:
        """The places of the insensitive columns among those that pass."""
        return slice(sum(place is not None for place in self.own), None)

    @property
    def insensitive_names(self) -> list[str]:
        """The names of the insensitive columns (see `Attributes.insensitive`)."""
        return [field.name for field in self.passing[self.insensitive]]

    def published(self, columns: Sequence[pa.Array]) -> list[pa.Array]:
        """The published columns of a batch in their own types: the content of the input's
        fingerprint.
        """
        passed = self.passed(columns)
        texts = self.texts(columns)
        values = [
            text if place is None else passed[place]
            for text, place in zip(texts, self.own, strict=True)
        ]
        return [*self.quasi(columns), *values, *passed[self.insensitive]]

    def keyed(self, columns: Sequence[pa.Array]) -> list[pa.Array]:
        """The published columns of a batch with sensitive values as text: the content of a row's
        keyed hash.
        """
        return [*self.quasi(columns), *self.texts(columns), *self.passed(columns)[self.insensitive]]


def staged_batches(session: Session, path: str) -> Table:
    """The staged rows: a column `batch` for `read_batches`."""
    return select(read_rows(session, path, STAGED), ["batch"])


def staged_tallies(session: Session, path: str) -> Table:
    """The tallies of all tasks: `tally`, `key`, `n`, beside empty rows."""
    return select(read_rows(session, path, STAGED), ["tally", "key", "n"])


def write_batch(batch: pa.RecordBatch) -> bytes:
    """A batch as one value."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def read_batches(columns: Iterable[pa.Array]) -> Iterator[pa.RecordBatch]:
    """The batches that `write_batch` wrote, from columns of such values. Missing ones are passed
    over.

    Raises:
        DamagedStagingError: if a file or a value of them is damaged.
    """
    try:
        for column in columns:
            for value in column.drop_null():
                yield pa.ipc.open_stream(value.as_buffer()).read_next_batch()
    except (pa.ArrowException, OSError, InputError, NeedsSparkError) as error:
        if getattr(error, "errno", None) is not None or isinstance(error, StoreError):
            raise  # of a disk or a store, not of what is written there
        raise DamagedStagingError(
            "staged rows are damaged; begin again with `tclose profile`",
        ) from None


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
        person.to_numpy(),
        columns.texts(held),
        [*map(ranks, quasi), hashes.view(np.int64)],
    )
    made = {ROWS_OF_PERSON: pa.array(rows.size, pa.int32()), FIRST: pa.array(rows.first)}
    lead = pa.array(rows.lead)
    made |= {name: column.take(lead) for name, column in zip(columns.leads, quasi, strict=False)}
    return made, [rows.varying(column) for column in quasi] if columns.together else []


def split_kept(
    batch: pa.RecordBatch,
    prepared: int,
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
