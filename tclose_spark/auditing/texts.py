"""What audits and explanations say in words and figures, wherever they are shown. Labels and values are as they are."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from tclose_spark.auditing.explain import Explanation
from tclose_spark.checks.classes.figures import Guarantee
from tclose_spark.measures.distances.transport import Move
from tclose_spark.runfile.attributes import Recursive

MOST_LINES = 30  # of values and of moves; --json has them all
VERDICTS = {
    "holds": "everything that was asked holds",
    "violated": "NOT everything that was asked holds",
    "measured": "nothing was asked",
}


def asked_text(g: Guarantee) -> str:
    """What is required of classes."""
    if isinstance(g.required, Recursive):
        return f"({number_text(g.required.c)}, {g.required.l})"
    return number_text(g.required)


def achieved_text(g: Guarantee) -> str:
    """What the worst class has; beside a fraction its exact form, where that is short."""
    if isinstance(g.achieved, bool):
        return "yes" if g.achieved else "no"
    if isinstance(g.achieved, Fraction) and g.achieved.denominator > 1 and len(str(g.achieved)) <= 15:
        return f"{number_text(g.achieved)} = {g.achieved}"
    return number_text(g.achieved)


def number_text(x: Any) -> str:
    """A figure, rounded to six digits where it is no whole number."""
    return f"{float(x):.6g}" if isinstance(x, float | Fraction) else str(x)


def value_text(value: str | None) -> str:
    """A value, or that there is none."""
    return "missing" if value is None else value


def worst_text(labels: Mapping[str, Any], size: int | None) -> str:
    """A class by its labels; where they are left out, by its size."""
    return labels_text(labels) if labels or size is None else f"{size:,} records"


def labels_text(labels: Mapping[str, Any]) -> str:
    """A class by its labels."""
    return ", ".join(f"{name}={'missing' if label is None else repr(label)}" for name, label in labels.items())


def shown_values(explanation: Explanation) -> list[int]:
    """The codes of the values that are shown, in order: of more than MOST_LINES those whose shares differ most."""
    part, whole = explanation.part, explanation.whole
    n, size = int(whole.sum()), int(part.sum())
    return sorted(sorted(range(len(whole)), key=lambda i: -abs(part[i] / size - whole[i] / n))[:MOST_LINES])


def shown_moves(explanation: Explanation) -> tuple[list[Move], list[Move]]:
    """(the moves that are shown, those left out): of more than MOST_LINES the dearest."""
    plan = list(explanation.plan.moves)
    if len(plan) > MOST_LINES:
        plan.sort(key=lambda move: -move.cost)
    return plan[:MOST_LINES], plan[MOST_LINES:]
