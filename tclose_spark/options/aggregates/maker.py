"""Requires of each published value that it is the aggregate of its class, and counts extreme
ones.
"""

from __future__ import annotations

from collections.abc import Mapping

from tclose_spark.engine.protocol import Session
from tclose_spark.options.aggregates.check import AggregateCheck, rows_without_aggregate
from tclose_spark.options.aggregates.extreme_aggregates import ExtremeAggregates
from tclose_spark.stages.release_maker import Making, ReleaseMaker, TaskPart

WHY = "the release publishes aggregates, which do not show what a class covers"


class AggregatesMaker(ReleaseMaker):
    """checks: by column."""

    wrong = "published value that is not the aggregate of their class's values"
    extremes: ExtremeAggregates

    def __init__(self, making: Making) -> None:
        super().__init__(making)
        kinds = making.spec.aggregates
        self.checks = {
            domain.name: AggregateCheck(
                kinds[domain.name],
                domain.scale,
                {value: i for i, value in enumerate(domain.values)}
                if domain.kind == "category"
                else None,
            )
            for domain in making.profile.quasi
            if domain.name in kinds
        }

    def begin(self, session: Session) -> None:
        self.extremes = ExtremeAggregates(
            session,
            self.making.profile,
            self.checks,
            self.spec.privacy.k,
        )

    def unlike(self, part: TaskPart) -> int:
        assert part.labels is not None
        wrong = rows_without_aggregate([*self.checks.values()], part.raw, part.labels)
        if not wrong:
            self.extremes.add(part.raw, part.labels)
        return wrong

    def mechanism(self) -> Mapping[str, object]:
        found = {
            "extreme_aggregates": self.extremes.figure(),
            "few_values": self.extremes.few_values(),
        }
        return {"measured": False, "why": WHY, **found}
