"""The table `internal/atoms` (see `table.atoms`), made from `internal/people`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import gather, map_batches, select, union
from tclose_spark.io.tables.check_columns import SUPPRESSED
from tclose_spark.table.atoms import ATOMS, SINCE, atoms_of_classes, hash_values, values_by_person
from tclose_spark.table.people import PERSON, whole_people


def published_atoms(
    people: Table,
    labels: Sequence[str],
    sensitive: Sequence[str],
    since: int,
) -> Table:
    """The people who are published, each with the atom that the class is. people:
    `internal/people`. labels, sensitive: its columns. since: the number of the release.
    """
    names = [*labels, *sensitive, PERSON, SUPPRESSED]

    def published(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in whole_people(batches):
            shown = batch.filter(pc.invert(batch[SUPPRESSED]))
            if not shown.num_rows:
                continue
            person = shown[PERSON].to_numpy()
            columns = shown.columns
            found, values = values_by_person(person, hash_values(columns[len(labels) : -2]))
            _, first = np.unique(person, return_index=True)
            atoms = atoms_of_classes(
                [column.take(pa.array(first)) for column in columns[: len(labels)]],
                since,
            )
            made = [found, atoms, values, np.full(len(found), since, dtype=np.int32)]
            yield pa.RecordBatch.from_arrays([pa.array(column) for column in made], schema=ATOMS)

    return map_batches(gather(select(people, names), [PERSON]), published, ATOMS)


def with_newcomers(atoms: Table, published: Table) -> Table:
    """The atoms of earlier releases, and those of people who are published for the first time.

    atoms: of earlier releases. published: of this one, with a larger number.
    """

    def first(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in whole_people(batches):
            order = np.lexsort((batch[SINCE].to_numpy(), batch[PERSON].to_numpy()))
            new = np.diff(batch[PERSON].to_numpy()[order], prepend=0) != 0
            new[:1] = True
            yield batch.take(pa.array(order[new]))

    return map_batches(
        gather(union([select(atoms, ATOMS.names), published]), [PERSON]),
        first,
        ATOMS,
    )
