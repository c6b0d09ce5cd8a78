"""Plots of the reports as inline SVG, from a template. The same figures give the same text.

Colours are variables of the page's style, so they follow light and dark mode. Letters are text in
the page's fonts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from markupsafe import Markup

from tclose_spark.report.page import render

WIDTH = 691  # units of the page
# About the width of a letter; the height of a line of text.
LETTER = 5.7
ROW = 16
LONGEST = 44  # characters of a label
INK, SOFT, RULE, FILL, OTHER = (
    f"var(--{name})" for name in ("ink", "soft", "line", "fill", "other")
)
LIGHT = {
    "--ink": "#1d2733",
    "--soft": "#5a6878",
    "--line": "#dbe1e8",
    "--fill": "#35689b",
    "--other": "#c26a1b",
}
"""The same without a page: in a file."""
CURVES = ("#0072b2", "#d55e00", "#009e73", "#b0518f", "#a67c00", "#3f8fc4", "#7f7f7f", "#7a5cb8")
"""Colours of curves, after Okabe and Ito; readers who do not see all colours distinguish them by
SHAPES.
"""
SHAPES = (
    "M-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z",
    "M-3-3h6v6h-6z",
    "M0-3.5L3.2 2.5H-3.2z",
    "M0-4L3 0L0 4L-3 0z",
)
RING = "M-6 0a6 6 0 1 0 12 0a6 6 0 1 0-12 0z"
CROSS = "M-3-3L3 3M-3 3L3-3"


class Path(NamedTuple):
    """A shape. at: where its origin lies."""

    d: str
    fill: str = "none"
    stroke: str = "none"
    thick: float = 1
    at: tuple[float, float] | None = None


class PlacedText(NamedTuple):
    """A text at its base line."""

    x: float
    y: float
    text: str
    anchor: str = "middle"
    colour: str = SOFT
    bold: bool = False
    upright: bool = False


@dataclass(kw_only=True)
class Drawing:
    """What a plot draws, in units from its upper left corner."""

    paths: list[Path] = field(default_factory=list)
    texts: list[PlacedText] = field(default_factory=list)

    def box(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        """A filled rectangle."""
        self.paths.append(
            Path(f"M{x:.1f} {y:.1f}h{width:.1f}v{height:.1f}h{-width:.1f}z", fill=colour),
        )

    def line(
        self,
        points: Sequence[tuple[float, float]],
        colour: str = RULE,
        thick: float = 0.8,
    ) -> None:
        """A line through points."""
        if points:
            self.paths.append(
                Path("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points), "none", colour, thick),
            )

    def mark(self, shape: str, place: tuple[float, float], fill: str, stroke: str = "none") -> None:
        """A shape at a place."""
        self.paths.append(Path(shape, fill, stroke, 1.2, (round(place[0], 1), round(place[1], 1))))

    def write(self, x: float, y: float, text: str, **style: str | bool) -> None:
        """A text."""
        self.texts.append(PlacedText(round(x, 1), round(y, 1), text, **style))  # type: ignore[arg-type]

    def svg(self, height: float, description: str) -> Markup:
        """The element, which screen readers read as `description`."""
        drawn = {"width": WIDTH, "height": round(height), "description": description}
        return Markup(render("plot.svg.j2", **drawn, paths=self.paths, texts=self.texts))  # noqa: S704 - it is escaped


def bars(
    heights: Sequence[float],
    marks: Sequence[tuple[float, str]],
    description: str,
    across: str,
    up: str,
    limit: float | None = None,
) -> Markup:
    """A histogram. Places on its axis are in bars from the left edge of the first.

    marks: (place, text) of the axis. description: the plot in words. limit: the place of a line
        that no bar may pass.
    """
    drawing = Drawing()
    bottom = 128.0
    ticks = axis_ticks(max([*heights, 0]) or 1, 4, whole=True)
    left = 24 + LETTER * max(len(f"{tick:,.0f}") for tick in ticks)
    highest = max([*heights, 0]) * (1.04 if limit is None else 1.12) or 1
    step = (WIDTH - 8 - left) / (max(len(heights), (limit or 0) * 1.06) or 1)
    tall = (bottom - 8) / highest
    for i, height in enumerate(heights):
        if height:
            drawing.box(
                left + (i + 0.07) * step,
                bottom - height * tall,
                0.86 * step,
                height * tall,
                FILL,
            )
    drawing.line([(left, 8), (left, bottom), (WIDTH - 8, bottom)])
    for tick in (tick for tick in ticks if tick <= highest):
        drawing.write(left - 5, bottom - tick * tall + 3.5, f"{tick:,.0f}", anchor="end")
    for place, text in marks:
        drawing.write(left + place * step, bottom + 14, text)
    if limit is not None:
        drawing.line([(left + limit * step, 8), (left + limit * step, bottom)], OTHER, 1.6)
        drawing.write(left + limit * step - 5, 15, "t", anchor="end", colour=OTHER)
    _name_across(drawing, (left, WIDTH - 8), bottom, across)
    _name_up(drawing, left, (8, bottom), up)
    return drawing.svg(bottom + 36, description)


def lines(
    names: Sequence[str],
    series: Sequence[tuple[str, Sequence[float]]],
    description: str,
    across: str,
) -> Markup:
    """Named lines with a horizontal bar for each series. series: (name, share of 1 in each line),
    at most two.
    """
    drawing = Drawing()
    high = ROW * (1.5 if len(series) > 1 else 1)
    labels = [shortened(name) for name in names]
    left = 10 + LETTER * max(map(len, labels), default=0)
    top = 22 if len(series) > 1 else 6
    bottom = top + high * len(names) + 2
    highest = max([share for _, shares in series for share in shares], default=0) or 1
    ticks = axis_ticks(highest, 5)
    wide = (WIDTH - 16 - left) / (highest * 1.02)
    digits = 0 if highest > 0.05 else 1 if highest > 0.005 else 2
    for tick in (tick for tick in ticks if tick <= highest * 1.02):
        drawing.line([(left + tick * wide, top), (left + tick * wide, bottom)])
        drawing.write(left + tick * wide, bottom + 14, f"{100 * tick:.{digits}f}%")
    thick = 0.78 * high / len(series)
    for i, ((name, shares), colour) in enumerate(zip(series, (FILL, OTHER), strict=False)):
        for line, share in enumerate(shares):
            drawing.box(
                left,
                top + high * (line + 0.11) + thick * i,
                share * wide,
                thick * 0.94,
                colour,
            )
        if len(series) > 1:
            at = left + sum(34 + LETTER * len(before) for before, _ in series[:i])
            drawing.box(at, 4, 14, 8, colour)
            drawing.write(at + 19, 12, name, anchor="start", colour=INK)
    for line, label in enumerate(labels):
        drawing.write(left - 6, top + high * (line + 0.5) + 3.5, label, anchor="end", colour=INK)
    _name_across(drawing, (left, WIDTH - 16), bottom, across)
    return drawing.svg(bottom + 34, description)


class Curve(NamedTuple):
    """A line of `curves`: its (x, y) from left to right, those of them with a ring, and the x
    without a y.
    """

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
    """Panels by title, two side by side, with the same axes and the same curves, and a legend
    below. An x without a y has a cross above its panel.

    marks: (x, text) of the axis. notes: further lines of the legend. description: the plot in
        words.
    """
    every = [curve for panel in panels.values() for curve in panel]
    lanes = {
        name: 8 + 9 * i for i, name in enumerate(dict.fromkeys(c.name for c in every if c.missing))
    }
    highest = max([y for curve in every for _, y in curve.points], default=0) * 1.05 or 1
    drawing = Drawing()
    columns = min(len(panels), 2)
    high = 230.0
    for i, (title, panel) in enumerate(panels.items()):
        left = i % 2 * WIDTH / 2 + 48
        top = i // 2 * high + 22 + 9 * len(lanes)
        place = _Panel(
            left,
            (i % 2 + 1) * WIDTH / columns - 12,
            top,
            (i // 2 + 1) * high - 34,
            marks,
            highest,
        )
        drawing.write(left, i // 2 * high + 14, title, anchor="start", colour=INK, bold=True)
        place.draw_axes(drawing, across, up)
        for n, curve in enumerate(panel):
            place.draw(
                drawing,
                curve,
                CURVES[n % len(CURVES)],
                SHAPES[n % len(SHAPES)],
                lanes.get(curve.name, 0),
            )
    below = high * -(-len(panels) // 2)
    legend = [*dict.fromkeys(curve.name for curve in every), *notes]
    for n, name in enumerate(legend):
        x = 12 + n % columns * WIDTH / 2
        y = below + 12 + n // columns * ROW
        if n < len(legend) - len(notes):
            colour = CURVES[n % len(CURVES)]
            drawing.line([(x, y - 4), (x + 20, y - 4)], colour, 1.5)
            drawing.mark(SHAPES[n % len(SHAPES)], (x + 10, y - 4), colour)
        drawing.write(x + 27, y, name, anchor="start", colour=INK)
    return drawing.svg(below + 8 + ROW * -(-len(legend) // columns), description)


class _Panel(NamedTuple):
    """A panel of curves: its edges, its marks, and the highest y."""

    left: float
    right: float
    top: float
    bottom: float
    marks: Sequence[tuple[float, str]]
    highest: float

    def at(self, x: float, y: float) -> tuple[float, float]:
        """The place of a point."""
        first, last = (pick(x for x, _ in self.marks) for pick in (min, max))
        share = 0.5 if last == first else 0.06 + 0.88 * (x - first) / (last - first)
        return self.left + share * (self.right - self.left), self.bottom - y / self.highest * (
            self.bottom - self.top
        )

    def draw_axes(self, drawing: Drawing, across: str, up: str) -> None:
        """Axes, their numbers and a grid."""
        ticks = [tick for tick in axis_ticks(self.highest, 6) if tick <= self.highest]
        digits = max(0, 1 - math.floor(math.log10(ticks[-1] or 1))) + (
            len(ticks) > 1 and ticks[1] * 10 % 1 > 0
        )
        for tick in ticks:
            y = self.at(self.marks[0][0], tick)[1]
            drawing.line([(self.left, y), (self.right, y)])
            drawing.write(self.left - 5, y + 3.5, f"{tick:.{digits}f}", anchor="end")
        drawing.line([(self.left, self.top), (self.left, self.bottom)])
        for x, text in self.marks:
            drawing.write(self.at(x, 0)[0], self.bottom + 14, text)
        _name_across(drawing, (self.left, self.right), self.bottom, across)
        _name_up(drawing, self.left, (self.top, self.bottom), up)

    def draw(self, drawing: Drawing, curve: Curve, colour: str, shape: str, lane: float) -> None:
        """A curve with its shapes, rings, and crosses in its lane above the panel."""
        drawing.line([self.at(*point) for point in curve.points], colour, 1.5)
        for point in curve.points:
            drawing.mark(shape, self.at(*point), colour)
        for point in curve.ringed:
            drawing.mark(RING, self.at(*point), "none", INK)
        for x in curve.missing:
            drawing.mark(CROSS, (self.at(x, 0)[0], self.top - lane), "none", colour)


def _name_across(drawing: Drawing, ends: tuple[float, float], bottom: float, name: str) -> None:
    """Names the axis below. ends: its left and its right."""
    drawing.write(sum(ends) / 2, bottom + 29, name)


def _name_up(drawing: Drawing, left: float, ends: tuple[float, float], name: str) -> None:
    """Names the axis on the left, if it has a name. ends: its top and its bottom."""
    if name:
        drawing.write(left - 36 if left > 46 else 10, sum(ends) / 2, name, upright=True)


def axis_ticks(highest: float, most: int, whole: bool = False) -> list[float]:
    """Round numbers from 0 to the highest or just beyond, in at most this many steps.

    >>> axis_ticks(7, 4, whole=True), axis_ticks(0.3, 5)
    ([0, 2, 4, 6, 8], [0.0, 0.1, 0.2, 0.3])
    """
    scale = 10 ** math.floor(math.log10(highest / most))
    steps = [scale * factor for factor in (1, 2, 2.5, 5, 10, 20)]
    step = next(
        s for s in steps if highest / s <= most + 1e-9 and (not whole or (s >= 1 and s == int(s)))
    )
    return [round(i * step, 12) for i in range(math.ceil(highest / step - 1e-9) + 1)]


def svg_file(plot: Markup) -> str:
    """A plot as a file of its own, in the colours of a light page on white."""
    text = re.sub(r"var\((--\w+)\)", lambda variable: LIGHT[variable[1]], plot)
    opening = (
        '<svg xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif" '
        'style="background: #fff" '
    )
    return opening + text.removeprefix("<svg ") + "\n"


def shortened(text: str) -> str:
    """A label of at most LONGEST characters.

    >>> shortened("a very long label of a level of a hierarchy of codes")
    'a very long label of a level of a hierarchy…'
    """
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
