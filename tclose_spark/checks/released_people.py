"""The people of a written release, from `internal/people`: each row as it was published, and its
person.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

from tclose_spark.checks.classes.class_table import Classes
from tclose_spark.checks.classes.figures import ClassFigures, figures_of_suppressed
from tclose_spark.checks.classes.people import (
    JudgedPeople,
    OwnerTallies,
    judged_people,
    tally_owners,
)
from tclose_spark.checks.classes.tallies import MOST_VALUES, ClassTally, count_tuples
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, keep
from tclose_spark.errors import GuaranteeError, InputError
from tclose_spark.io.output_folders import PEOPLE
from tclose_spark.requirements.judge import JudgedAttribute
from tclose_spark.table.domains import TupleCounts
from tclose_spark.table.fingerprint import Fingerprint


def require_rows_of_release(
    tallied: OwnerTallies, released: Fingerprint, recorded: str | None, name: str
) -> None:
    """Raises GuaranteeError unless a table of `internal` has the rows of the release, and those
    that were written.

    released: the fingerprint of the release. recorded: that of the table when it was written. name:
        of the table.
    """
    if tallied.released != released:
        raise GuaranteeError(
            f"internal/{name} has not the rows of the release, so its {name} cannot be counted"
        )
    if str(tallied.all_rows) != recorded:
        raise GuaranteeError(
            f"internal/{name} that was read back differs from the one that was written"
        )


@dataclass(frozen=True)
class ReleasedPeople:
    """tallied: all rows by class, with whose they are."""

    tallied: OwnerTallies

    def judged(self, attributes: Sequence[JudgedAttribute], with_suppressed: bool) -> JudgedPeople:
        """What is required of the people of classes. with_suppressed: whether classes are compared
        with all rows, not with the released ones.
        """
        rows = self.tallied.whole if with_suppressed else self.tallied.classes
        sizes = self.tallied.sensitive  # the place of the numbers of rows among the values
        by_size = {size: n for (size,), n in self._counts(rows, sizes).items()}
        counts = []
        for i, a in enumerate(attributes):
            if a.tuples is None:
                counts.append(self._counts(rows, i, sizes))
                continue
            by_tuple = self._counts(rows, *a.tuples.columns, sizes)
            counts.append(
                {(json.dumps(values), size): n for (*values, size), n in by_tuple.items()}
            )
        return judged_people(attributes, by_size, counts)

    def suppressed_class(
        self, k: int, attributes: Sequence[JudgedAttribute], judged: JudgedPeople
    ) -> ClassFigures:
        """The figures of the suppressed rows as one class, with the guarantees of every class."""
        (batch,) = collect(self.tallied.suppressed).combine_chunks().to_batches()
        classes = Classes.of(ClassTally.whole(batch, self.tallied.labels), attributes)
        of_people, (rows,) = judged.of(classes), classes.sizes.tolist()
        return figures_of_suppressed(rows, k, attributes, classes.marginals, [judged], of_people)

    def require_rows(self, released: Fingerprint, recorded: str | None) -> None:
        """See `require_rows_of_release`. Available after the tallies were computed."""
        require_rows_of_release(self.tallied, released, recorded, PEOPLE)

    def apart(self) -> list[str]:
        """That rows of a person are in several classes, if any are."""
        several = self.tallied.in_several_classes
        message = (
            f"{several:,} people have rows in several classes, and attributes.person requires one "
            "(rows: together)"
        )
        return [message] if several else []

    @cached_property
    def sizes(self) -> dict[int, int]:
        """How many people have each number of rows, suppressed ones included."""
        counts = self._counts(self.tallied.whole, self.tallied.sensitive)
        return {size: rows // size for (size,), rows in counts.items()}

    def _counts(self, tallies: Table, *columns: int) -> TupleCounts:
        counts = count_tuples(tallies, [f"v{i}" for i in columns])
        if counts is None:
            raise InputError(
                f"sensitive values have more than {MOST_VALUES:,} combinations with rows of a "
                "person; use coarser ones"
            )
        return counts


@contextmanager
def released_people(
    table: Table | None, labels: Sequence[str], sensitive: Sequence[str]
) -> Iterator[ReleasedPeople | None]:
    """The people of a release; None if a row is taken for a person. table: `internal/people`.
    labels, sensitive: the published columns.
    """
    if table is None:
        yield None
        return
    tallied = tally_owners(table, labels, sensitive)
    with keep(tallied.whole) as whole:
        yield ReleasedPeople(replace(tallied, whole=whole))
