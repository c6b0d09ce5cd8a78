"""A comparison as a table and as sentences, for terminal and page, and its page: one HTML file in
the design of the reports, and its plot as an SVG file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from rich.table import Table

from tclose_spark.comparing.request import AS_ASKED
from tclose_spark.comparing.result import ComparisonResult, Outcome, t_text
from tclose_spark.report.page import render
from tclose_spark.report.plots import Curve, curves, svg_file
from tclose_spark.usefulness.queries import QUERIES
from tclose_spark.usefulness.utility_measures import MOST_VALUES, is_installed

if TYPE_CHECKING:
    from tclose_spark.comparing.choose_k import ChosenK

COLUMNS: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "ncp": ("NCP", lambda x: f"{x:.4f}"),
    "query_error": ("query error", lambda x: f"{x:.3f}"),
    "accuracy": ("accuracy", lambda x: f"{x:.3f}"),
    "classes": ("classes", lambda x: f"{x:,}"),
    "average": ("average size", lambda x: f"{x:,.1f}"),
    "discernibility": ("discernibility", lambda x: f"{x:,}"),
    "suppressed": ("suppressed", lambda x: f"{x:,}"),
    "plan": (
        "plan",
        lambda x: ", ".join(f"{name.replace('_', ' ')} {n:,}" for name, n in x.items()),
    ),
}
"""Heading and format of each figure. A column that no outcome has is not shown."""
NOTE = "*: no other combination has as large a k and as small a t at as low a loss."
NCP = (
    "NCP: the share of the width of the quasi-identifiers that the labels cover, averaged over "
    "rows and quasi-identifiers, as in the certificate of a release. 0 loses nothing, 1 "
    "everything."
)
BOUND = (
    "The least NCP is a proven bound for labels as the run file defines them, within the range or "
    "the values of the rows. A suppressed row loses 1. The bound may be below what any release "
    "reaches, because it looks at k, at one t at a time, and at some of the quasi-identifiers at "
    "a time."
)
QUERY_ERROR = (
    f"Query error: {QUERIES:,} random counts, each over 1 to 3 quasi-identifiers (one value, a "
    "node of the hierarchy, or the range between the values of two rows) and a sensitive value. "
    "At least one row matches each. The estimate from a release assumes that the rows of a class "
    "are spread evenly within their labels. The figure is the median of |estimate - count| / "
    "count."
)
ACCURACY = (
    "Accuracy: a logistic regression learns a sensitive attribute from the released "
    "quasi-identifiers of two thirds of the rows, and is tested on the raw rows of the last "
    "third. t-closeness hides how this attribute depends on the others, so accuracy falls with t."
)
DISCERNIBILITY = (
    "Discernibility: the sum of the squared class sizes; a suppressed row counts as all rows."
)
SECONDS = (
    "CPU s: to plan and to carry out, in one process. A release on a cluster does the same work, "
    "plus that of Spark."
)


def shown_columns(comparison: ComparisonResult) -> list[str]:
    """The columns that some outcome has a figure of."""
    return [name for name in COLUMNS if any(one.figures.get(name) for one in comparison.outcomes)]


def cells(outcome: Outcome, columns: list[str]) -> list[str]:
    """The figures of an outcome as text; a dash for each that it does not have."""
    return [
        COLUMNS[name][1](outcome.figures[name]) if name in outcome.figures else "-"
        for name in columns
    ]


def ranked(comparison: ComparisonResult) -> Iterator[tuple[str, list[tuple[Outcome, bool]]]]:
    """For each k and t, as text: the outcomes, least loss first, and whether each is on the
    frontier.
    """
    pairs = list(zip(comparison.outcomes, comparison.best, strict=True))
    for (k, t), group in groupby(pairs, key=lambda pair: (pair[0].k, pair[0].t)):
        first = sorted(group, key=lambda pair: (pair[0].loss is None, pair[0].loss or 0.0))
        yield f"k = {k}, {t_text(t)}", first


def comparison_table(comparison: ComparisonResult) -> tuple[Table, list[str]]:
    """The table, and the notes below it: why methods refuse, and what cannot be reached."""
    columns = shown_columns(comparison)
    sample = "" if comparison.rows == comparison.whole else f", a sample of {comparison.whole:,}"
    table = Table(
        title=f"{comparison.name}: what each method loses ({comparison.rows:,} rows{sample})",
    )
    for heading in ("requested", "method"):
        table.add_column(heading)
    for name in columns:
        table.add_column(COLUMNS[name][0], justify="right")
    for heading in ("CPU s", ""):
        table.add_column(heading, justify="right")
    for requested, group in ranked(comparison):
        for place, (one, best) in enumerate(group):
            state = "*" if best else "" if one.state == "released" else one.state
            seconds = f"{one.seconds:.1f}" if one.seconds else "-"
            last = place == len(group) - 1
            table.add_row(
                "" if place else requested,
                one.method,
                *cells(one, columns),
                seconds,
                state,
                end_section=last,
            )
    return table, [NOTE, *bound_lines(comparison), *reasons(comparison), *baselines(comparison)]


def bound_lines(comparison: ComparisonResult) -> list[str]:
    """What no method can lose less than, for each k and t."""
    return [f"{one}." for one in comparison.bounds if one.ncp > 0]


def reasons(comparison: ComparisonResult) -> list[str]:
    """Why combinations have no release, each reason once."""
    where_of: dict[tuple[str, str, str], list[str]] = {}
    for one in comparison.outcomes:
        if one.state in ("refused", "unreachable", "coarse"):
            where_of.setdefault((one.method, one.state, one.why), []).append(
                f"k = {one.k}, {t_text(one.t)}",
            )
    return [
        f"{method}: {state}{'' if state == 'refused' else ' (' + '; '.join(where) + ')'}: {why}"
        for (method, state, why), where in where_of.items()
    ]


def remarks(comparison: ComparisonResult) -> list[str]:
    """A paragraph about each figure that is shown."""
    if all(one.state != "released" for one in comparison.outcomes):
        return [SECONDS]
    return [
        NCP,
        *([BOUND] if bound_lines(comparison) else []),
        QUERY_ERROR,
        ACCURACY,
        *baselines(comparison),
        DISCERNIBILITY,
        SECONDS,
    ]


def baselines(comparison: ComparisonResult) -> list[str]:
    """The accuracies to compare with, or why there are none."""
    released = [one.figures for one in comparison.outcomes if one.state == "released"]
    if not released:
        return []
    figures = next((figures for figures in released if "accuracy" in figures), None)
    if figures is not None:
        raw = figures["accuracy_raw"]
        most = figures["accuracy_majority"]
        return [
            f"Accuracy of a model trained on raw rows: {raw:.3f}; of always predicting the most "
            f"frequent value: {most:.3f}.",
        ]
    if not is_installed():
        return [
            "Accuracy is not measured: it needs the extra `analysis` (pip install "
            "'tclose-spark[analysis]').",
        ]
    return [
        f"Accuracy is not measured: no sensitive attribute has 2 to {MOST_VALUES} values, or there "
        "are no rows or columns to learn it from or to test it on.",
    ]


def candidates_table(name: str, chosen: ChosenK) -> Table:
    """What each candidate for k costs."""
    table = Table(
        title=f"{name}: what each k costs, with alpha = {chosen.alpha}, on {chosen.rows:,} rows "
        "(Gowda 2023, ch. 6)",
    )
    for heading in ("k", "t achieved", "NCP", "cost", "cost, both normalised"):
        table.add_column(heading, justify="right")
    for one in chosen.candidates:
        mark = "  <- chosen" if one.k == chosen.k else ""
        least = "  (least)" if one.k == chosen.best_normalised else ""
        costs = (f"{one.cost:.4f}{mark}", f"{one.normalised:.4f}{least}")
        table.add_row(str(one.k), f"{one.t:.6f}", f"{one.loss:.4f}", *costs)
    return table


PLOTTED = ("released", "unreachable", "coarse")


def render_page(comparison: ComparisonResult) -> tuple[str, str]:
    """(the page, its plot as an SVG file). The plot is empty if no combination was released or is
    out of reach.
    """
    columns = shown_columns(comparison)
    plot = loss_plot(comparison)
    page = render(
        "compare.html.j2",
        comparison=comparison,
        plot=plot,
        headings=[COLUMNS[name][0] for name in columns],
        groups=[
            (head, [(one, best, cells(one, columns)) for one, best in of])
            for head, of in ranked(comparison)
        ],
        note=NOTE,
        bounds=bound_lines(comparison),
        reasons=reasons(comparison),
        remarks=remarks(comparison),
    )
    return page, svg_file(plot) if plot else ""


def loss_plot(comparison: ComparisonResult) -> Markup:
    """Loss against t: a panel for each k, a line for each method, a ring for each release on the
    frontier, and a cross above a t that the method does not reach.
    """
    pairs = zip(comparison.outcomes, comparison.best, strict=True)
    shown = sorted(
        ((one, best) for one, best in pairs if one.state in PLOTTED),
        key=lambda pair: pair[0].exact_t,
    )
    if not shown:
        return Markup()
    plotted = [one for one in comparison.outcomes if one.state in PLOTTED]
    methods = list(dict.fromkeys(one.method for one in plotted))
    ks = dict.fromkeys(one.k for one in plotted)
    refused = dict.fromkeys(one.method for one in comparison.outcomes if one.state == "refused")
    return curves(
        {
            f"k = {k}": [
                _curve(name, [p for p in shown if (p[0].k, p[0].method) == (k, name)])
                for name in methods
            ]
            for k in ks
        },
        marks=sorted({(float(one.exact_t), one.t) for one, _ in shown}),
        notes=[f"{name}: refused" for name in refused if name not in methods],
        description="Information loss against t, for each k and method; the table below has the figures",
        across="as the run file says" if shown[0][0].t == AS_ASKED else "t",
        up="information loss (NCP)",
    )


def _curve(name: str, outcomes: list[tuple[Outcome, bool]]) -> Curve:
    places = [(float(one.exact_t), one.loss, best) for one, best in outcomes]
    return Curve(
        name=name,
        points=[(t, loss) for t, loss, _ in places if loss is not None],
        ringed=[(t, loss) for t, loss, best in places if loss is not None and best],
        missing=[t for t, loss, _ in places if loss is None],
    )
