"""Plots of the reports as inline SVG. The same figures give the same text.

Colours are variables of the page's style, so they follow light and dark mode. Letters are text in the page's fonts.
Matplotlib is loaded with the first plot.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 5.4  # inches, of 72 units each
LINE = 0.22  # inches for each line of a plot of lines
LONGEST = 26  # characters of a label
COLOURS = {"#010101": "--ink", "#020202": "--soft", "#030303": "--line", "#040404": "--fill", "#050505": "--other"}
INK, SOFT, RULE, FILL, OTHER = COLOURS
SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "tclose",
    "font.size": 10.5,
    "text.color": INK,
    "text.parse_math": False,
    "axes.labelcolor": SOFT,
    "axes.edgecolor": RULE,
    "axes.linewidth": 0.8,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": False,
    "xtick.bottom": False,
    "ytick.left": False,
}


def bars(
    heights: Sequence[float],
    marks: Sequence[tuple[float, str]],
    description: str,
    across: str,
    up: str,
    limit: float | None = None,
) -> Markup:
    """A histogram. Places on its axis are in bars from the left edge of the first.

    marks: (place, text) of the axis. description: the plot in words. limit: the place of a line that no bar may pass.
    """

    def draw(axes: Axes) -> None:
        axes.bar([i + 0.5 for i in range(len(heights))], heights, width=0.86, color=FILL, clip_on=False)
        axes.set_xlim(0, max(len(heights), (limit or 0) * 1.06) or 1)
        axes.set_ylim(0, max([*heights, 0]) * (1.04 if limit is None else 1.12) or 1)
        axes.set_xticks([place for place, _ in marks], [text for _, text in marks])
        axes.set_xlabel(across)
        axes.set_ylabel(up)
        if limit is not None:
            axes.axvline(limit, color=OTHER, linewidth=1.6, clip_on=False)
            top = axes.get_ylim()[1]
            axes.annotate("t", (limit, top), (-5, 0), textcoords="offset points", color=OTHER, ha="right")
        axes.yaxis.set_major_locator(_locator(4, integer=True))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")

    return _drawn(draw, 2.3, description)


def lines(names: Sequence[str], series: Sequence[tuple[str, Sequence[float]]], description: str, across: str) -> Markup:
    """Named lines with a horizontal bar for each series. series: (name, share of 1 in each line), at most two."""

    def draw(axes: Axes) -> None:
        thick = 0.78 / len(series)
        for i, ((name, shares), colour) in enumerate(zip(series, (FILL, OTHER), strict=False)):
            at = [line + thick * (i - (len(series) - 1) / 2) for line in range(len(names))]
            axes.barh(at, shares, height=thick * 0.94, color=colour, label=name, clip_on=False)
        axes.set_yticks(range(len(names)), [shortened(name) for name in names])
        axes.tick_params(axis="y", labelcolor=INK)
        axes.set_ylim(len(names) - 0.4, -0.6)
        highest = max([share for _, shares in series for share in shares], default=0)
        axes.set_xlim(0, highest * 1.02 or 1)
        axes.set_xlabel(across)
        axes.spines["left"].set_visible(False)
        axes.xaxis.set_major_formatter(_percents(highest))
        axes.xaxis.set_major_locator(_locator(5))
        axes.grid(axis="x", color=RULE, linewidth=0.8, clip_on=False)
        axes.set_axisbelow(True)
        if len(series) > 1:
            axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.2)

    return _drawn(draw, 0.75 + LINE * len(names) * (1.5 if len(series) > 1 else 1.0), description)


def shortened(text: str) -> str:
    """A label of at most LONGEST characters.

    >>> shortened("a very long label of a hierarchy")
    'a very long label of a hi…'
    """
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _percents(highest: float) -> Callable[[float, float], str]:
    digits = 0 if highest > 0.05 else 1 if highest > 0.005 else 2
    return lambda share, _: f"{100 * share:.{digits}f}%"


def _locator(most: int, integer: bool = False) -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(most, integer=integer)


def _drawn(draw: Callable[[Axes], None], height: float, description: str) -> Markup:
    """A drawing as an SVG element, which screen readers read as `description`."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # or it reports where its font cache is
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(SETTINGS):
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        figure.patch.set_visible(False)
        axes = figure.add_subplot()
        axes.patch.set_visible(False)
        draw(axes)
        written = io.StringIO()
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return _inline(written.getvalue(), description)


def _inline(svg: str, description: str) -> Markup:
    """An SVG file as an element of a page, without metadata and ids, in the page's colours."""
    svg = svg[svg.index("<svg") :]
    for what in (r"<metadata>.*?</metadata>", r"<defs>.*?</defs>"):
        svg = re.sub(what, "", svg, flags=re.DOTALL)
    svg = re.sub(r"<[^>]*>", lambda tag: _plain_tag(tag[0]), svg)
    svg = re.sub(r"\n+\s*", "\n", svg)
    opening = f'<svg viewBox="{_view(svg)}" role="img" aria-label="{escape(description)}">'
    return Markup(opening + svg[svg.index(">") + 1 :].strip())  # noqa: S704 - text in it was escaped by Matplotlib


def _plain_tag(tag: str) -> str:
    """A tag of an SVG file, with coordinates to a tenth of a unit."""
    for what in (r' id="[^"]*"', r' xmlns(:\w+)?="[^"]*"', r"font-family: [^;\"]*;? ?"):
        tag = re.sub(what, "", tag)
    for colour, variable in COLOURS.items():
        tag = tag.replace(colour, f"var({variable})")
    return re.sub(r"(\.\d)\d+", r"\1", tag)


def _view(svg: str) -> str:
    found = re.search(r'viewBox="([^"]*)"', svg)
    assert found is not None
    return found[1]
