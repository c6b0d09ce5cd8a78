"""Atoms: sets of people who stay together in all releases of a table that is released again and
again.

An atom has k people and was t-close when it was first published. Every class of every release is a
union of atoms, so every intersection and every difference of classes is one, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tclose_spark.table.arrays import IntArray
from tclose_spark.table.columns.preparing import as_text
from tclose_spark.table.fingerprint import content_hash
from tclose_spark.table.people import PERSON

ATOM = "atom"
VALUES = "sensitive_values"
SINCE = "since"
ATOMS = pa.schema(
    [(PERSON, pa.int64()), (ATOM, pa.int64()), (VALUES, pa.int64()), (SINCE, pa.int32())],
)
"""The table `internal/atoms`: one row for each person who was ever published, and is in an atom
since then.

VALUES: a hash of the person's sensitive values. SINCE: the number of the release that published the
    atom first.
"""
NEWCOMER = -1
WITHHELD = -2
"""In place of an atom: the person has none yet; or the atom cannot be published, because it is not
whole any more.
"""


def hash_values(sensitive: Sequence[pa.Array]) -> IntArray:
    """A hash of the sensitive values of each row, shape (n,). Values are compared as text."""
    return content_hash([as_text(column) for column in sensitive]).view(np.int64)


def values_by_person(person: IntArray, values: IntArray) -> tuple[IntArray, IntArray]:
    """(the different people, ascending; the sum of each one's values modulo 2^64), shapes
    (people,).

    >>> [column.tolist() for column in values_by_person(np.array([7, 3, 7]), np.array([10, 20, 30]))]
    [[3, 7], [20, 40]]
    """
    people, whose = np.unique(person, return_inverse=True)
    total = np.zeros(len(people), dtype=np.int64)
    np.add.at(total, whose, values)
    return people, total


def atoms_of_classes(labels: Sequence[pa.Array], since: int) -> IntArray:
    """The atom that the newcomers of each row's class become, at least 0, shape (n,). since: the
    number of the release.
    """
    release = pa.array(np.full(len(labels[0]), since))
    return content_hash([*labels, release]).view(np.int64) & np.iinfo(np.int64).max
