"""The usefulness of a release to an analyst, measured on raw rows, so it stays internal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tclose_spark.in_memory.release import PublishedClasses, Released
from tclose_spark.in_memory.sample import ComparedTable
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.usefulness.classifier import Accuracy, is_installed, predicted
from tclose_spark.usefulness.queries import QueryError

Measure = Callable[[Released, PublishedClasses, ResolvedAttributes], Mapping[str, float]]
"""Figures of a release by name."""


@dataclass(frozen=True)
class UtilityMeasures:
    """The measures of a table, prepared once for all its releases."""

    measures: Sequence[Measure] = ()

    @staticmethod
    def of_table(table: ComparedTable, attributes: ResolvedAttributes) -> UtilityMeasures:
        """All measures that these rows allow."""
        target = predicted(attributes) if is_installed() else None
        accuracy = None if target is None else Accuracy.of(table, attributes, target)
        queries = QueryError.of(table, attributes)
        return UtilityMeasures([queries] if accuracy is None else [queries, accuracy])

    def of(
        self, released: Released, classes: PublishedClasses, attributes: ResolvedAttributes
    ) -> dict[str, float]:
        """The figures of all measures."""
        return {
            name: figure
            for measure in self.measures
            for name, figure in measure(released, classes, attributes).items()
        }
