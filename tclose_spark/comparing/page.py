"""The page of a comparison: one HTML file that needs nothing else, and its plot as an SVG file."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

from tclose_spark.comparing.outcome import STATES
from tclose_spark.comparing.plot import make_plot
from tclose_spark.comparing.result import Comparison
from tclose_spark.comparing.views import COLUMNS, NOTE, cells, ranked, reasons, shown_columns


def render_page(comparison: Comparison, remarks: list[str]) -> tuple[str, str]:
    """(the page, its plot alone). remarks: what is to be said of the figures, a paragraph each."""
    environment = Environment(
        loader=PackageLoader("tclose_spark", "comparing"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    columns, plot = shown_columns(comparison), make_plot(comparison)
    drawn = environment.get_template("plot.svg.j2").render(plot=plot) if plot else ""
    groups = [(asked, [(one, best, cells(one, columns)) for one, best in group]) for asked, group in ranked(comparison)]
    page = environment.get_template("compare.html.j2").render(
        comparison=comparison,
        plot=drawn,
        headings=[COLUMNS[name][0] for name in columns],
        groups=groups,
        note=NOTE,
        reasons=reasons(comparison),
        states=STATES,
        remarks=remarks,
    )
    return page, drawn
