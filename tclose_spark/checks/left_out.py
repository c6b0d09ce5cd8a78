"""The rows of the input that a release lacks: how many of each value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tclose_spark.table.domains import Counts, Profile, SensitiveDomain


@dataclass(frozen=True)
class LeftOut:
    """rows: how many, as counted during the write. values: by sensitive attribute, how many more
    rows of each value the input has than the release.
    """

    rows: int
    values: tuple[Counts, ...]

    @staticmethod
    def of(rows: int, profile: Profile, released: Sequence[Counts]) -> LeftOut:
        """From the profile of the input, and the released rows counted by attribute."""
        return LeftOut(rows, tuple(map(values_left, profile.sensitive, released)))

    @property
    def unexplained(self) -> list[int]:
        """The attributes in which the release differs from the input by more than these rows."""
        counts = [values.values() for values in self.values]
        return [
            i for i, rows in enumerate(counts) if min(rows, default=0) < 0 or sum(rows) != self.rows
        ]


def values_left(domain: SensitiveDomain, released: Counts) -> dict[str | None, int]:
    """How many more rows of each value the input has than the release, if they differ.

    >>> values_left(SensitiveDomain("disease", ("flu", "gout"), (3, 2)), {"flu": 2, "gout": 2, "mumps": 1})
    {'flu': 1, 'mumps': -1}
    """
    whole = dict(zip(domain.values, domain.counts, strict=True))
    left = {value: whole.get(value, 0) - released.get(value, 0) for value in {**whole, **released}}
    return {value: n for value, n in left.items() if n}
