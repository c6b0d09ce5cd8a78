"""Plots of the reports as inline SVG, by Matplotlib: the same figures give the same text.

Colours are those of the page (variables of its style, so that they follow light and dark), letters are text in its
fonts. Matplotlib is loaded with the first plot; whoever makes none does not pay for it.
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


def bars(heights: Sequence[float], marks: Sequence[tuple[float, str]], told: str, across: str, up: str) -> Markup:
    """Bars side by side, of a histogram.

    marks: (place, text) of the axis, in bars from the left edge of the first. told: what it shows, in words.
    """

    def draw(axes: Axes) -> None:
        axes.bar([i + 0.5 for i in range(len(heights))], heights, width=0.86, color=FILL, clip_on=False)
        axes.set_xlim(0, max(len(heights), 1))
        axes.set_ylim(0, max([*heights, 0]) * 1.04 or 1)
        axes.set_xticks([place for place, _ in marks], [text for _, text in marks])
        axes.set_xlabel(across)
        axes.set_ylabel(up)
        _few_numbers(axes.yaxis)

    return _drawn(draw, 2.3, told)


def limited_bars(
    heights: Sequence[float], marks: Sequence[tuple[float, str]], limit: float | None, told: str, across: str, up: str
) -> Markup:
    """Bars like `bars`, and a line at the limit (in bars), which none may pass."""

    def draw(axes: Axes) -> None:
        end = max(len(heights), (limit or 0) * 1.06)
        axes.bar([i + 0.5 for i in range(len(heights))], heights, width=0.86, color=FILL, clip_on=False)
        axes.set_xlim(0, end or 1)
        axes.set_ylim(0, max([*heights, 0]) * 1.12 or 1)
        axes.set_xticks([place for place, _ in marks], [text for _, text in marks])
        axes.set_xlabel(across)
        axes.set_ylabel(up)
        if limit is not None:
            axes.axvline(limit, color=OTHER, linewidth=1.6, clip_on=False)
            axes.annotate(
                "t", (limit, axes.get_ylim()[1]), (-5, 0), textcoords="offset points", color=OTHER, ha="right"
            )
        _few_numbers(axes.yaxis)

    return _drawn(draw, 2.3, told)


def lines(names: Sequence[str], series: Sequence[tuple[str, Sequence[float]]], told: str, across: str) -> Markup:
    """Lines one below the other, a horizontal bar of each series in each; shares of 1.

    names: of the lines. series: (name, share of each line), at most two.
    """

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

    return _drawn(draw, 0.75 + LINE * len(names) * (1.5 if len(series) > 1 else 1.0), told)


def shortened(text: str) -> str:
    """A label that is not longer than LONGEST characters.

    >>> shortened("a very long label of a hierarchy")
    'a very long label of a hi…'
    """
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _percents(highest: float) -> Callable[[float, float], str]:
    digits = 0 if highest > 0.05 else 1 if highest > 0.005 else 2
    return lambda share, _: f"{100 * share:.{digits}f}%"


def _locator(most: int) -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(most)


def _few_numbers(axis: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(4, integer=True))
    axis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def _drawn(draw: Callable[[Axes], None], height: float, told: str) -> Markup:
    """What is drawn on axes, as an SVG element that a screen reader reads as `told`."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # where it keeps its list of fonts is nobody's concern here
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
    return _inline(written.getvalue(), told)


def _inline(svg: str, told: str) -> Markup:
    """An SVG file as an element of a page: without what is for files, without names, with the page's colours."""
    svg = svg[svg.index("<svg") :]
    for what in (r"<metadata>.*?</metadata>", r"<defs>.*?</defs>"):
        svg = re.sub(what, "", svg, flags=re.DOTALL)
    svg = re.sub(r"<[^>]*>", lambda tag: _plain_tag(tag[0]), svg)
    svg = re.sub(r"\n+\s*", "\n", svg)
    opening = f'<svg viewBox="{_view(svg)}" role="img" aria-label="{escape(told)}">'
    return Markup(opening + svg[svg.index(">") + 1 :].strip())  # noqa: S704 - text in it was escaped by Matplotlib


def _plain_tag(tag: str) -> str:
    """A tag of an SVG file, of whose text nothing is touched; places to a tenth of a unit."""
    for what in (r' id="[^"]*"', r' xmlns(:\w+)?="[^"]*"', r"font-family: [^;\"]*;? ?"):
        tag = re.sub(what, "", tag)
    for colour, variable in COLOURS.items():
        tag = tag.replace(colour, f"var({variable})")
    return re.sub(r"(\.\d)\d+", r"\1", tag)


def _view(svg: str) -> str:
    found = re.search(r'viewBox="([^"]*)"', svg)
    assert found is not None
    return found[1]
