"""Requires the column of the written release."""

from __future__ import annotations

from collections.abc import Iterator

from stamp import COLUMN, StampFigures, text_of

from tclose_spark.checks.classes.tallies import count_columns
from tclose_spark.checks.judged_release import JudgedRelease, ReleaseJudge


class StampJudge(ReleaseJudge):
    """Every row has the text."""

    makes = StampFigures
    counts: dict[str | None, int]

    def published(self, columns: set[str]) -> set[str]:
        return columns | {COLUMN}

    def measure(self, release: JudgedRelease) -> None:
        (self.counts,) = count_columns(release.table, [COLUMN])

    def problems(self, release: JudgedRelease) -> Iterator[str]:
        if wrong := sum(rows for text, rows in self.counts.items() if text != text_of(self.spec)):
            yield f"{COLUMN}: {wrong} rows have another text"

    def report(self, release: JudgedRelease) -> StampFigures:
        return StampFigures(stamped=self.counts.get(text_of(self.spec), 0))
