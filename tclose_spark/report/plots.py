"""Plots of the reports as inline SVG. The same figures give the same text.

Colours are variables of the page's style, so they follow light and dark mode. Letters are text in the page's fonts.
Matplotlib is loaded with the first plot.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 9.6  # inches, of 72 units each
LINE = 0.22  # inches for each line of a plot of lines
LONGEST = 44  # characters of a label
COLOURS = {"#010101": "--ink", "#020202": "--soft", "#030303": "--line", "#040404": "--fill", "#050505": "--other"}
INK, SOFT, RULE, FILL, OTHER = COLOURS
LIGHT = {"--ink": "#1d2733", "--soft": "#5a6878", "--line": "#dbe1e8", "--fill": "#35689b", "--other": "#c26a1b"}
"""The same without a page: in a file."""
CURVES = ("#0072b2", "#d55e00", "#009e73", "#b0518f", "#a67c00", "#3f8fc4", "#7f7f7f", "#7a5cb8")
"""Colours of curves, after Okabe and Ito; readers who do not see all colours distinguish them by SHAPES."""
SHAPES = "osD^"
PLOT_STYLE: dict[Any, Any] = {
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


class Curve(NamedTuple):
    """A line of `curves`: its (x, y) from left to right, those of them with a ring, and the x without a y."""

    name: str
    points: Sequence[tuple[float, float]]
    ringed: Sequence[tuple[float, float]]
    missing: Sequence[float]


def curves(
    panels: Mapping[str, Sequence[Curve]],
    marks: Sequence[tuple[float, str]],
    notes: Sequence[str],
    description: str,
    across: str,
    up: str,
) -> Markup:
    """Panels by title, two side by side, with the same axes and the same curves, and a legend below. An x without a y
    has a cross above its panel.

    marks: (x, text) of the axis. notes: further lines of the legend. description: the plot in words.
    """
    every = [curve for panel in panels.values() for curve in panel]
    lane = {name: 1.05 + 0.05 * i for i, name in enumerate(dict.fromkeys(c.name for c in every if c.missing))}
    highest = max([y for curve in every for _, y in curve.points], default=0) or 1

    def draw(*axes: Axes) -> None:
        for one, (title, panel) in zip(axes, panels.items(), strict=False):
            one.set_title(title, loc="left", fontweight="bold", pad=6 + 9 * len(lane))
            for i, curve in enumerate(panel):
                shape, colour = SHAPES[i % len(SHAPES)], CURVES[i % len(CURVES)]
                free: dict[str, Any] = {"clip_on": False, "in_layout": False, "zorder": 3}
                one.plot(*_columns(curve.points), f"-{shape}", color=colour, ms=5, label=curve.name, **free)
                one.plot(*_columns(curve.ringed), "o", color=INK, ms=11, fillstyle="none", **free)
                crosses = _columns([(x, lane[curve.name]) for x in curve.missing])
                one.plot(*crosses, "x", color=colour, ms=5, transform=one.get_xaxis_transform(), **free)
            one.set_xticks([x for x, _ in marks], [text for _, text in marks])
            one.set_xlabel(across)
            one.set_ylabel(up)
            one.set_ylim(0, highest * 1.05)
            one.margins(x=0.06)
            one.grid(axis="y", color=RULE, linewidth=0.8, clip_on=False)
            one.set_axisbelow(True)
        for empty in axes[len(panels) :]:
            empty.remove()
        for note in notes:
            axes[0].plot([], [], " ", label=note, in_layout=False)
        handles, labels = axes[0].get_legend_handles_labels()
        figure = axes[0].get_figure()
        assert figure is not None
        figure.legend(handles, labels, loc="outside lower left", frameon=False, ncols=min(2, len(panels)))

    return _drawn(draw, 3.2, description, len(panels))


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def svg_file(plot: Markup) -> str:
    """A plot as a file of its own, in the colours of a light page on white."""
    text = re.sub(r"var\((--\w+)\)", lambda variable: LIGHT[variable[1]], plot)
    opening = '<svg xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif" style="background: #fff" '
    return opening + text.removeprefix("<svg ") + "\n"


def shortened(text: str) -> str:
    """A label of at most LONGEST characters.

    >>> shortened("a very long label of a level of a hierarchy of codes")
    'a very long label of a level of a hierarchy…'
    """
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _percents(highest: float) -> Callable[[float, float], str]:
    digits = 0 if highest > 0.05 else 1 if highest > 0.005 else 2
    return lambda share, _: f"{100 * share:.{digits}f}%"


def _locator(most: int, integer: bool = False) -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(most, integer=integer)


def _drawn(draw: Callable[..., None], height: float, description: str, panels: int = 1) -> Markup:
    """A drawing as an SVG element, which screen readers read as `description`.

    draw: takes the axes of each panel. panels: two side by side, each of this height in inches.
    """
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # or it reports where its font cache is
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    rows, columns = -(-panels // 2), min(panels, 2)
    with rc_context(PLOT_STYLE):
        figure = Figure(figsize=(WIDTH, height * rows), layout="constrained")
        figure.patch.set_visible(False)
        every = figure.subplots(rows, columns, squeeze=False).flatten()
        for axes in every:
            axes.patch.set_visible(False)
        draw(*every)
        written = io.StringIO()
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return _inline(written.getvalue(), description)


def _inline(svg: str, description: str) -> Markup:
    """An SVG file as an element of a page, without metadata and ids, in the page's colours."""
    svg = svg[svg.index("<svg") :]
    marks = dict(re.findall(r'<path id="(m\w+)" d="([^"]*)"', svg))
    placed = r'<use xlink:href="#(m\w+)" x="([^"]*)" y="([^"]*)"'
    svg = re.sub(placed, lambda use: f'<path d="{marks[use[1]]}" transform="translate({use[2]} {use[3]})"', svg)
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
