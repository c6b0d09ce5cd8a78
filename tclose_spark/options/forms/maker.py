"""Writes the tables of a release in another form than one table of labels: see `release.form` and
`release.together`.

What is published of a class beyond the multisets of its parts is a function of these multisets and
the secret: the number of the class, the places of its sensitive values, and the order of all rows.
So none of it tells which values belong to one person, even to an adversary who knows the method and
the secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tclose_spark.runfile.release_form import COUNT, GROUP, RELEASE, ReleaseForm
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.stages.generalize import as_published, raw_type, run_starts
from tclose_spark.stages.release_maker import Making, ReleaseMaker, Tables, TaskPart, TaskWork
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.domains import QuasiDomain
from tclose_spark.table.fingerprint import Fingerprint, RowHash, content_hash, spread
from tclose_spark.table.rows import Rows

BITS = np.uint64(64 - 53)
"""The number of a class has the other 53, which a double holds exactly."""
Columns = Sequence[pa.Array]
PROJECTION = "projection{}"
"""The digest of a part of the raw rows: see `ReleaseForm.projections`."""


@dataclass(frozen=True, kw_only=True)
class FormedTables:
    """Makes the tables of a release in another form than one table of labels.

    quasi: of the input. blocks: by table, the places of its sensitive attributes among all.
    cells: the codes of each cell, shape (cells, sensitive attributes).
    keys: hashes of a row's part that is no sensitive value, and of its values of each block.
    """

    form: ReleaseForm
    quasi: tuple[QuasiDomain, ...]
    blocks: dict[str, list[int]]
    cells: IntArray
    keys: tuple[RowHash, ...]

    @staticmethod
    def of(
        spec: ReleaseSpec,
        quasi: tuple[QuasiDomain, ...],
        cells: IntArray,
        secret: str,
    ) -> FormedTables:
        """Those of a run."""
        names = [*spec.attributes.sensitive_attributes]
        beside = len(spec.attributes.beside)
        blocks = {
            table: [*map(names.index, block)] for table, block in spec.release.blocks(names).items()
        }
        columns = {RELEASE: len(quasi) + beside} | {
            table: len(block) for table, block in blocks.items()
        }
        keys = tuple(
            RowHash.of(f"{secret} {GROUP} {part}", count) for part, count in columns.items()
        )
        return FormedTables(form=spec.release, quasi=quasi, blocks=blocks, cells=cells, keys=keys)

    def schema(self) -> list[tuple[str, pa.DataType]]:
        """Names and types of exact quasi-identifiers and of the number of the class."""
        return [*((domain.name, raw_type(domain)) for domain in self.quasi), (GROUP, pa.int64())]

    def schemas(self, released: pa.Schema, labels: int) -> dict[str, pa.Schema]:
        """The columns of all tables. released: labels (so many), sensitive values, other
        columns.
        """
        if not self.form.is_split:
            return {RELEASE: released}
        fields = list(released)
        sensitive = sum(map(len, self.blocks.values()))
        key = fields[labels - 1 : labels] if self.form.is_exact else fields[:labels]
        tables = {RELEASE: pa.schema([*fields[:labels], *fields[labels + sensitive :]])}
        for name, block in self.blocks.items():
            tables[name] = pa.schema(
                [*key, *(fields[labels + place] for place in block), (COUNT, pa.int64())],
            )
        return tables

    def number(
        self,
        rows: Rows,
        classes: IntArray,
        raw: Columns,
        values: Columns,
    ) -> tuple[IntArray, list[pa.Array]]:
        """(the order of the rows, their exact quasi-identifiers and the numbers of their classes in
        this order).

        The number of a class is a keyed hash of all that is published of it. Classes of which the
        same is published have one number, and are one class. classes: a number for each row; raw,
        values: their prepared quasi-identifiers, and their sensitive and other values.
        """
        _, place = np.unique(classes, return_inverse=True)
        content = np.zeros(int(place.max(initial=-1)) + 1, dtype=np.uint64)
        sensitive, beside = self._apart(values)
        parts = [
            [*raw, *beside],
            *([sensitive[a] for a in block] for block in self.blocks.values()),
        ]
        for key, columns in zip(self.keys, parts, strict=True):
            np.add.at(content, place, spread(key.of_rows(columns)))
        number = (spread(content) >> BITS).astype(np.int64)[place]
        ties = [content_hash(beside)] if beside else []
        order = np.lexsort((*ties, *reversed(rows.quasi), number))
        taken = pa.array(order)
        return order, [
            *(column.take(taken) for column in self.exact(raw)),
            pa.array(number).take(taken),
        ]

    def exact(self, raw: Columns) -> list[pa.Array]:
        """Prepared quasi-identifiers as they are published: days and times are no codes."""
        return [*map(as_published, raw, self.quasi)]

    def tables(self, labels: Columns, values: Columns, cell: IntArray) -> dict[str, list[pa.Array]]:
        """The columns of all tables, from rows in published order with their labels, or what
        `number` gives.
        """
        key, (sensitive, beside) = self._key(labels), self._apart(values)
        starts = run_starts(key)
        rows = len(cell)
        run = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, rows)))
        if not self.form.is_split:
            return {RELEASE: [*labels, *self._moved(sensitive, key[0], run, starts, cell), *beside]}
        made = {RELEASE: [*labels, *beside]}
        for name, block in self.blocks.items():
            order, codes = self._sorted(block, run, cell)
            new = np.any(np.diff(np.stack([run[order], *codes]), prepend=-1), axis=0)
            first = np.flatnonzero(new)
            of_table = [*key, *(sensitive[a] for a in block)]
            counts = np.diff(np.append(first, rows))
            made[name] = [
                *(column.take(pa.array(order[first])) for column in of_table),
                pa.array(counts),
            ]
        return made

    def projections(self, labels: Columns, raw: Columns, values: Columns) -> list[Fingerprint]:
        """The fingerprints of `ReleaseForm.projections`, from the raw values of rows."""
        key, (sensitive, beside) = self._key(labels), self._apart(values)
        first = [*self.exact(raw), *key] if self.form.is_exact else labels
        blocks = ([sensitive[a] for a in block] for block in self.blocks.values())
        return [
            Fingerprint.of([*first, *beside]),
            *(Fingerprint.of([*key, *block]) for block in blocks),
        ]

    def _moved(
        self,
        sensitive: Columns,
        group: pa.Array,
        run: IntArray,
        starts: IntArray,
        cell: IntArray,
    ) -> list[pa.Array]:
        """The sensitive values in other places of their classes: sorted first, so that where they
        were does not matter, then ordered by hashes of the class's number and of their place in
        this order.
        """
        moved = list(sensitive)
        rank = pa.array(np.arange(len(run)) - starts[run])
        for number, block in enumerate(self.blocks.values()):
            order, _ = self._sorted(block, run, cell)
            chance = content_hash([group, rank, pa.array(np.full(len(run), number))])
            taken = pa.array(order[np.lexsort((chance, run))])
            for a in block:
                moved[a] = sensitive[a].take(taken)
        return moved

    def _sorted(self, block: list[int], run: IntArray, cell: IntArray) -> tuple[IntArray, IntArray]:
        """(the order of rows by class, then by their values of a block; the codes of these values
        in this order).
        """
        codes = self.cells[cell][:, block].T
        order = np.lexsort((*codes[::-1], run))
        return order, codes[:, order]

    def _key(self, labels: Columns) -> list[pa.Array]:
        return [labels[-1]] if self.form.is_exact else [*labels]

    def _apart(self, values: Columns) -> tuple[Columns, Columns]:
        """(sensitive values, other values)."""
        sensitive = sum(map(len, self.blocks.values()))
        return values[:sensitive], values[sensitive:]


class FormsMaker(ReleaseMaker):
    """formed: makes the tables."""

    def __init__(self, making: Making) -> None:
        super().__init__(making)
        self.formed = FormedTables.of(
            making.spec,
            making.profile.quasi,
            making.attributes.cells,
            making.secret,
        )
        self.parts = [RELEASE, *self.formed.blocks]
        self.sums = tuple(PROJECTION.format(i) for i in range(len(self.parts)))
        self.is_exact = making.spec.release.is_exact

    def schemas(self, tables: dict[str, pa.Schema], labels: int) -> dict[str, pa.Schema]:
        fields = list(tables[RELEASE])
        of_labels = self.formed.schema() if self.is_exact else fields[:labels]
        return self.formed.schemas(pa.schema([*of_labels, *fields[labels:]]), len(of_labels))

    def assign(self, work: TaskWork) -> Iterable[tuple[str, bytes]]:
        """See ReleaseMaker: exact quasi-identifiers are in the order of the class's number."""
        if self.is_exact:
            here = work.assigned.here
            rows, raw, values = work.decoded(here)
            order, work.labels = self.formed.number(rows, work.assigned.classes, raw, values)
            work.place = here[order]
            work.numbered = True
        return ()

    def unlike(self, part: TaskPart) -> int | None:
        """See ReleaseMaker: exact quasi-identifiers are judged by their fingerprint."""
        return 0 if self.is_exact else None

    def tables(self, part: TaskPart, made: Tables) -> None:
        if part.labels is not None:
            made |= self.formed.tables(part.labels, part.values, part.rows.cell)

    def add_up(self, part: TaskPart, made: Tables) -> list[int]:
        if part.labels is None:
            return [0] * len(self.sums)
        return [one.digest for one in self.formed.projections(part.labels, part.raw, part.values)]

    def written(self, sums: Mapping[str, int], published: int) -> Mapping[str, object]:
        found = {name: sums[key] for name, key in zip(self.parts, self.sums, strict=True)}
        return {
            "projections": {
                name: str(Fingerprint(published, digest)) for name, digest in found.items()
            },
        }
