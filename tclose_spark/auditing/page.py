"""An audit and an explanation as pages: one HTML file each, of the design of the reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from tclose_spark.auditing.audit import Audit
from tclose_spark.auditing.explain import Explanation
from tclose_spark.auditing.texts import VERDICTS, achieved_text, asked_text, number_text
from tclose_spark.checks.classes.figures import Guarantee
from tclose_spark.measures.distances.grouping import group_values
from tclose_spark.report.page import render
from tclose_spark.report.plots import lines

MOST_MOVES = 30


@dataclass(frozen=True, kw_only=True)
class ReportLine:
    """A guarantee as the page shows it. met: None where nothing was asked."""

    name: str
    asked: str
    achieved: str
    met: bool | None
    classes: int
    rows: int
    worst: Mapping[str, Any]
    size: int | None


def audit_page(audit: Audit, name: str = "table") -> str:
    """The page of an audit: verdict, guarantees with their worst classes, attacks, what the table is worth, notes.

    It shows labels of classes, and sensitive values; `audit.without_labels()` has none.
    """
    return render(
        "audit.html.j2",
        name=name,
        verdict=audit.verdict,
        said=VERDICTS[audit.verdict],
        guarantees=list(_lines(audit.guarantees)),
        audit=audit,
        figures=audit.figures,
        joined=audit.background,
    )


def explanation_page(explanation: Explanation, name: str = "table") -> str:
    """The page of a class that is explained: both distributions side by side, the distance, and the plan behind it."""
    a, moves = explanation.attribute, list(explanation.plan.moves)
    dearest = sorted(moves, key=lambda move: -move.cost)[:MOST_MOVES] if len(moves) > MOST_MOVES else moves
    return render(
        "explanation.html.j2",
        name=name,
        explanation=explanation,
        attribute=a.name,
        distance=a.settings.distance,
        emd=number_text(explanation.emd),
        asked=None if a.settings.t is None else number_text(a.settings.t),
        holds=a.settings.t is None or explanation.emd <= a.settings.t,
        size=int(explanation.part.sum()),
        rows=int(explanation.whole.sum()),
        distribution=_distribution(explanation),
        groups=group_values(a.values, explanation.part, explanation.whole, a.distance.features.cumulative),
        moved=float(sum(move.mass for move in moves)),
        moves=[(a.values[move.source], a.values[move.target], move) for move in dearest],
        left_out=len(moves) - len(dearest),
    )


def _lines(guarantees: tuple[Guarantee, ...]) -> Iterator[ReportLine]:
    for g in guarantees:
        told = g.required is None
        yield ReportLine(
            name=f"{g.measure} of {g.attribute}" if g.attribute else g.measure,
            asked="" if told else asked_text(g),
            achieved=achieved_text(g),
            met=None if told else g.holds,
            classes=g.classes,
            rows=g.rows,
            worst=g.worst,
            size=g.size,
        )


def _distribution(explanation: Explanation) -> Markup:
    a, part, whole = explanation.attribute, explanation.part, explanation.whole
    groups = group_values(a.values, part, whole, a.distance.features.cumulative)
    size, rows = int(part.sum()), int(whole.sum())
    return lines(
        [group.name for group in groups],
        [("class", [group.part / size for group in groups]), ("table", [group.whole / rows for group in groups])],
        description=f"Shares of the values of {a.name}, in the class and in the table; the table below has them as numbers",
        across="share of the records",
    )
