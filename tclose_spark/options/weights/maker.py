"""Requires weights that are numbers of people."""

from __future__ import annotations

from collections.abc import Iterator

from tclose_spark.errors import InputError
from tclose_spark.stages.input_reader import InputReader
from tclose_spark.stages.preparation import UNWEIGHED
from tclose_spark.stages.staging.tallies import Counted
from tclose_spark.table.columns.weights import MOST_PEOPLE, MOST_WEIGHT


class WeightsReader(InputReader):
    """Each row stands for a number of people, and all for no more than MOST_PEOPLE."""

    def problems(self, counted: Counted) -> Iterator[InputError]:
        assert self.spec.attributes.weight is not None
        column = self.spec.attributes.weight.column
        rows = counted.fingerprint.rows
        if wrong := counted.marked.get(UNWEIGHED):
            yield InputError(
                f"attributes.weight: column {column!r} holds no number of people in {wrong} of "
                f"{rows} rows; expected numbers from 0 to {MOST_WEIGHT:,} in every row",
            )
        elif counted.stood_for > MOST_PEOPLE:
            yield InputError(
                f"attributes.weight: column {column!r} adds up to more than {MOST_PEOPLE:,} people "
                f"in {rows} rows; expected the number of people whom each row stands for",
            )
