"""How the columns of a raw batch become those of a staged one, and which of its rows are marked as
wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from tclose_spark.runfile.attributes import QuasiIdentifier, SensitiveAttribute
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.stages.staging.batches import StagedColumns
from tclose_spark.table.arrays import HashArray, IntArray
from tclose_spark.table.columns.preparing import as_text, is_damaged, judged_values, not_of_type
from tclose_spark.table.columns.pseudonyms import PseudonymKeys
from tclose_spark.table.columns.spark_types import MALFORMED, readable
from tclose_spark.table.columns.weights import millionths, not_weights, rounded, rounded_away
from tclose_spark.table.dictionaries import coded, codes_of, decoded, is_text, of_values
from tclose_spark.table.people import HOUSEHOLD, OWNERS, PERSON, ROWS_OF_HOUSEHOLD, SPELLING

BROKEN = "broken"
DAMAGED = "damaged"
NOBODY = "nobody"
UNWEIGHED = "unweighed"
ROUNDED_AWAY = "rounded away"
HOMELESS = "homeless"
"""Marks of malformed rows, of rows whose text may be damaged, of rows without a person, of rows
without a weight, of rows whose weight is published as 0, but is none, and of rows without a
household.
"""
OWNERLESS = {"person": NOBODY, "household": HOMELESS}
"""The marks of rows without an owner, by role."""
SHORT_INTEGERS = (pa.int8(), pa.int16(), pa.int32())
"""Types whose values are all numbers that codes have."""


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """How the columns of a raw batch become those of a staged one.

    read: the raw columns that are needed, in the order of the batches. The last one is that of the
        person, if people are counted: see `by_person`. That of the household, if it is known, is
        before it: see `with_households`.
    columns: of staged rows.
    marks: by mark, from a column to whether it marks each row; a row is marked if any of the mark's
        columns does.
    sampled: the columns of which whole values are sampled: all that can be read; if people are
        counted, so that rows are shuffled, those of the release alone.
    compared: whether the spellings of people are compared, which are texts.
    pseudonyms: the keys of direct identifiers that are published as pseudonyms.
    """

    spec: ReleaseSpec
    read: list[str]
    columns: StagedColumns
    marks: Mapping[str, Sequence[tuple[str, Callable[[pa.Array], Any]]]]
    sampled: tuple[str, ...]
    compared: bool
    pseudonyms: PseudonymKeys

    @staticmethod
    def of(
        schema: pa.Schema,
        spec: ReleaseSpec,
        secret: str,
        continued: bool = False,
    ) -> Preparation:
        """The preparation of a table with this schema. secret: the run's. continued: see
        StagedColumns.
        """
        marks = _marks(schema, spec)
        sampled = _sampled(schema, spec)
        marked = [MALFORMED] if BROKEN in marks else []
        owners = spec.attributes.owners
        beside = {
            role: column
            for role, column in spec.attributes.beside_rows.items()
            if role not in owners
        }
        names = dict.fromkeys([*spec.attributes.inputs, *sampled, *marked, *beside.values()])
        person = [schema.field(column).type for role, column in owners.items() if role == "person"]
        return Preparation(
            spec=spec,
            read=[
                *(name for name in names if name != owners.get("household")),
                *reversed(owners.values()),
            ],
            columns=StagedColumns.of(schema, spec, continued),
            marks=marks,
            sampled=sampled,
            compared=any(map(pa.types.is_string, person)),
            pseudonyms=PseudonymKeys.of(spec.attributes.pseudonyms, secret),
        )

    def staged(self, batch: pa.RecordBatch) -> list[pa.Array]:
        """The staged columns of a raw batch, without HASH. Text of the batch may be
        dictionaries.
        """
        attributes = self.spec.attributes
        raw = self._raw(batch)
        judged: dict[str, QuasiIdentifier | SensitiveAttribute] = {**attributes.quasi_identifiers}
        judged |= attributes.sensitive_attributes
        values = {
            name: of_values(raw[name], partial(judged_values, settings=settings))
            for name, settings in judged.items()
        }
        for column, step in attributes.rounded.items():
            values[column] = rounded(decoded(raw[column]), step)
        held = [values[name] for name in attributes.quasi_identifiers]
        held += [of_values(values[name], as_text) for name in attributes.sensitive_attributes]
        made = {
            name: self.pseudonyms.of_values(of, decoded(raw[of]))
            for of, name in attributes.pseudonym_names.items()
        }
        passing = {**raw, **values, **made}
        held += [passing[field.name] for field in self.columns.passing]
        return [coded(column) if is_text(column) else column for column in held]

    def marked(self, batch: pa.RecordBatch) -> list[int]:
        """The number of rows with each mark."""
        raw = self._raw(batch)
        return [
            int(
                np.count_nonzero(
                    np.any([_marked(raw[name], marks) for name, marks in of_columns], axis=0),
                ),
            )
            for of_columns in self.marks.values()
        ]

    def weights(self, batch: pa.RecordBatch) -> IntArray | None:
        """The weights of raw rows in millionths, if they have any."""
        weight = self.spec.attributes.weight
        return (
            None
            if weight is None
            else millionths(decoded(batch.column(self.read.index(weight.column))))
        )

    def owned(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        """Whose raw rows are, and the numbers of rows of their households, by staged column."""
        raw = self._raw(batch)
        names = (PERSON, HOUSEHOLD, ROWS_OF_HOUSEHOLD)
        return {name: raw[among_raw(name)].fill_null(0) for name in names if among_raw(name) in raw}

    def spellings(self, batch: pa.RecordBatch) -> HashArray:
        """The hash of each person's spelling, if they are compared."""
        if not self.compared:
            return np.zeros(0, dtype=np.uint64)
        raw = self._raw(batch)
        _, first = np.unique(raw[among_raw(PERSON)].fill_null(0).to_numpy(), return_index=True)
        spellings: HashArray = (
            raw[SPELLING].take(pa.array(first)).drop_null().to_numpy().view(np.uint64)
        )
        return spellings

    def to_sample(self, batch: pa.RecordBatch) -> list[pa.Array]:
        """The columns `sampled` of raw rows."""
        raw = self._raw(batch)
        hidden = self.spec.attributes.owners.get("household")
        return [raw[among_raw(HOUSEHOLD) if name == hidden else name] for name in self.sampled]

    def _raw(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        """The raw columns by name, those of whose a row is by the staged one. The person may have a
        pseudonym, too.
        """
        numbers = [name for name in self.columns.counted if name == ROWS_OF_HOUSEHOLD]
        spelling = [SPELLING] if self.compared else []
        of_role = {"household": [HOUSEHOLD, *numbers], "person": [PERSON]}
        owners = self.spec.attributes.owners
        names = self.read[: len(self.read) - len(owners)]
        for role in reversed(owners):
            names += [*(spelling if role == "person" else []), *map(among_raw, of_role[role])]
        return dict(zip(names, batch.columns, strict=True))


def among_raw(name: str) -> str:
    """The name of a staged column of whose a row is among raw columns. No read column has it: Delta
    cannot hold it.
    """
    return f"({name})"


def _marked(column: pa.Array, marks: Callable[[pa.Array], Any]) -> Any:
    """Whether each row is marked, shape (n,)."""
    if not pa.types.is_dictionary(column.type):
        return marks(column)
    held = coded(column)
    return marks(held.dictionary)[codes_of(held)]


def _marks(
    schema: pa.Schema,
    spec: ReleaseSpec,
) -> dict[str, list[tuple[str, Callable[[pa.Array], Any]]]]:
    """How rows are marked that are BROKEN, DAMAGED, or have a value that is not of its type: see
    `Preparation`.
    """
    marks: dict[str, list[tuple[str, Callable[[pa.Array], Any]]]] = {
        wrong_type(place): [(name, partial(not_of_type, settings=quasi))]
        for place, (name, quasi) in enumerate(spec.attributes.quasi_identifiers.items())
        if holds_numbers(quasi) and schema.field(name).type not in SHORT_INTEGERS
    }
    for role in spec.attributes.owners:
        marks[OWNERLESS[role]] = [
            (
                among_raw(OWNERS[role]),
                lambda column: column.is_null().to_numpy(zero_copy_only=False),
            ),
        ]
    if (weight := spec.attributes.weight) is not None:
        marks[UNWEIGHED] = [(weight.column, not_weights)]
    for column, step in spec.attributes.rounded.items():
        marks[ROUNDED_AWAY] = [(column, partial(rounded_away, step=step))]
    if MALFORMED in schema.names:
        marks[BROKEN] = [
            (MALFORMED, lambda column: column.fill_null(False).to_numpy(zero_copy_only=False)),
        ]
    beside = (*spec.attributes.insensitive_attributes, *spec.attributes.pseudonyms)
    # histograms show damage in other columns
    texts = [name for name in beside if pa.types.is_string(schema.field(name).type)]
    if texts:
        marks[DAMAGED] = [(name, is_damaged) for name in texts]
    return marks


def _sampled(schema: pa.Schema, spec: ReleaseSpec) -> tuple[str, ...]:
    """See `Preparation.sampled`."""
    attributes = spec.attributes
    return tuple(
        name
        for name in readable(schema)
        if "person" not in attributes.owners or name in attributes.inputs
    )


def wrong_type(place: int) -> str:
    """The mark of values of a quasi-identifier that are not of its type."""
    return f"wrong{place}"


def holds_numbers(quasi: QuasiIdentifier) -> bool:
    """Whether its values are read as numbers, dates or times."""
    return quasi.reads_numbers or quasi.calendar is not None
