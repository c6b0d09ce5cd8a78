"""What a stage costs by rows: a fixed part and a part for each row, and the goals that they are
held against.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Line:
    """fixed: CPU seconds; row: CPU microseconds for each row."""

    fixed: float
    row: float

    @staticmethod
    def through(costs: Mapping[int, float]) -> Line | None:
        """By least squares through CPU seconds by rows; None of fewer than two sizes."""
        if len(costs) < 2:
            return None
        slope, fixed = np.polyfit(list(costs), list(costs.values()), 1)
        return Line(float(fixed), float(slope) * 1e6)


@dataclass(frozen=True)
class Goal:
    """What is wanted, the most it may be, and what was found (None: not measured in this run)."""

    name: str
    most: float
    found: float | None

    def __str__(self) -> str:
        if self.found is None:
            return f"{self.name:<34} <= {self.most:<5g} not measured"
        return (
            f"{self.name:<34} <= {self.most:<5g} {self.found:8.2f}  "
            f"{'met' if self.found <= self.most else 'missed'}"
        )


def goals(
    cpu: Mapping[int, float],
    wall: Mapping[int, float],
    verify: Mapping[int, float],
    floor: Mapping[int, float],
) -> list[Goal]:
    """Of one method: CPU and wall seconds of a whole release and CPU seconds of its verification,
    by rows.
    """
    whole, judged = Line.through(cpu), Line.through(verify)
    return [
        *(Goal(f"{rows:,} rows, floors", 2.2, cpu[rows] / floor[rows]) for rows in cpu),
        Goal("fixed, CPU s", 12, whole and whole.fixed),
        Goal("a row, CPU us", 20, whole and whole.row),
        Goal("verify: fixed, CPU s", 4, judged and judged.fixed),
        Goal("verify: a row, CPU us", 0.7, judged and judged.row),
        Goal("100,000 rows, CPU s", 20, cpu.get(100_000)),
        Goal("100,000 rows, wall s", 12, wall.get(100_000)),
    ]
