"""The page of a comparison: one HTML file in the design of the reports, and its plot as an SVG
file.
"""

from __future__ import annotations

from markupsafe import Markup

from tclose_spark.comparing.outcome import Outcome
from tclose_spark.comparing.request import AS_ASKED
from tclose_spark.comparing.result import ComparisonResult
from tclose_spark.comparing.views import (
    COLUMNS,
    NOTE,
    bound_lines,
    cells,
    ranked,
    reasons,
    remarks,
    shown_columns,
)
from tclose_spark.report.page import render
from tclose_spark.report.plots import Curve, curves, svg_file

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
