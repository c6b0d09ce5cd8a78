"""The table of a comparison on the console."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import Any

from rich.table import Table

from tclose_spark.comparing.outcome import Outcome, said
from tclose_spark.comparing.result import Comparison

COLUMNS: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "ncp": ("NCP", lambda x: f"{x:.4f}"),
    "query_error": ("query error", lambda x: f"{x:.3f}"),
    "accuracy": ("accuracy", lambda x: f"{x:.3f}"),
    "classes": ("classes", lambda x: f"{x:,}"),
    "average": ("average size", lambda x: f"{x:,.1f}"),
    "discernibility": ("discernibility", lambda x: f"{x:,}"),
    "suppressed": ("suppressed", lambda x: f"{x:,}"),
    "plan": ("plan", lambda x: ", ".join(f"{name.replace('_', ' ')} {n:,}" for name, n in x.items())),
}
"""Figures as they are shown, by their names: heading, and how they are written. One that no release has is not."""
NOTE = "* : none of the others promises as much (k as large, t as small) at a loss as low."


def shown_columns(comparison: Comparison) -> list[str]:
    """The columns that have something to show."""
    made = [one.figures for one in comparison.outcomes]
    return [name for name in COLUMNS if any(f.get(name) for f in made)]


def cells(outcome: Outcome, columns: list[str]) -> list[str]:
    """What the columns say of an outcome; dashes where it has no such figure."""
    return [COLUMNS[name][1](outcome.figures[name]) if name in outcome.figures else "-" for name in columns]


def ranked(comparison: Comparison) -> Iterator[tuple[str, list[tuple[Outcome, bool]]]]:
    """By k and t, in words, the outcomes with whether each is on the frontier, those that lose least first."""
    pairs = list(zip(comparison.outcomes, comparison.best, strict=True))
    for (k, t), group in groupby(pairs, key=lambda pair: (pair[0].k, pair[0].t)):
        first = sorted(group, key=lambda pair: (pair[0].loss is None, pair[0].loss or 0.0))
        yield f"k = {k}, {said(t)}", first


def comparison_table(comparison: Comparison) -> tuple[Table, list[str]]:
    """The table, and notes below it: why methods refuse, and what cannot be reached."""
    columns = shown_columns(comparison)
    sample = "" if comparison.rows == comparison.whole else f", a sample of {comparison.whole:,}"
    table = Table(title=f"{comparison.name}: what each method loses ({comparison.rows:,} rows{sample})")
    for heading in ("asked", "method"):
        table.add_column(heading)
    for name in columns:
        table.add_column(COLUMNS[name][0], justify="right")
    for heading in ("CPU s", ""):
        table.add_column(heading, justify="right")
    for asked, group in ranked(comparison):
        for place, (one, best) in enumerate(group):
            state = "*" if best else "" if one.state == "released" else one.state
            seconds = f"{one.seconds:.1f}" if one.seconds else "-"
            last = place == len(group) - 1
            table.add_row("" if place else asked, one.method, *cells(one, columns), seconds, state, end_section=last)
    return table, [NOTE, *reasons(comparison)]


def reasons(comparison: Comparison) -> list[str]:
    """Why combinations have no release, each reason once."""
    said_of: dict[tuple[str, str, str], list[str]] = {}
    for one in comparison.outcomes:
        if one.state in ("refused", "unreachable", "coarse"):
            said_of.setdefault((one.method, one.state, one.why), []).append(f"k = {one.k}, {said(one.t)}")
    return [
        f"{method}: {state}{'' if state == 'refused' else ' (' + '; '.join(where) + ')'}: {why}"
        for (method, state, why), where in said_of.items()
    ]


def candidates_table(name: str, chosen: Mapping[str, Any]) -> Table:
    """Of a k that was chosen (`choosing.ChosenK`), what each candidate costs."""
    alpha, rows = chosen["alpha"], chosen["rows"]
    table = Table(title=f"{name}: what each k costs, with alpha = {alpha}, on {rows:,} rows (Gowda 2023, ch. 6)")
    for heading in ("k", "t reached", "NCP", "cost", "cost, both normalised"):
        table.add_column(heading, justify="right")
    for one in chosen["candidates"]:
        mark = "  <- chosen" if one["k"] == chosen["k"] else ""
        least = "  (least)" if one["k"] == chosen["best_normalised"] else ""
        figures = [
            f"{one['t']:.6f}",
            f"{one['loss']:.4f}",
            f"{one['cost']:.4f}{mark}",
            f"{one['normalised']:.4f}{least}",
        ]
        table.add_row(str(one["k"]), *figures)
    return table
