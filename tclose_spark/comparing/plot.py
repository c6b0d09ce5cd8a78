"""The plot of a comparison: loss against t, a panel for each k, a line for each method. Places in units of the SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tclose_spark.comparing.outcome import Outcome, State
from tclose_spark.comparing.request import AS_ASKED
from tclose_spark.comparing.result import Comparison

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b0518f", "#a67c00", "#3f8fc4", "#333333", "#7a5cb8")
"""After Okabe and Ito: told apart by those who do not see all colours, and each with a shape of its own."""
SHAPES = ("circle", "square", "diamond", "triangle")
PANEL, HEIGHT, LEFT, TOP, STRIP, GAP = 340.0, 250.0, 52.0, 58.0, 14.0, 40.0
MOST_ACROSS = 2
UNREACHED: Sequence[State] = ("unreachable", "coarse")
"""States of what a method has no release of at this k and t."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """A release: where it is, whether it is on the frontier, and what it is, for who points at it."""

    x: float
    y: float
    best: bool
    told: str


@dataclass(frozen=True, kw_only=True)
class Series:
    """A method in a panel: its releases by t, and where it has none because its t cannot be reached."""

    method: str
    colour: str
    shape: str
    points: tuple[Point, ...]
    unreached: tuple[Point, ...]

    @property
    def line(self) -> str:
        """The points as SVG takes them."""
        return " ".join(f"{p.x:.1f},{p.y:.1f}" for p in self.points)


@dataclass(frozen=True, kw_only=True)
class Tick:
    """A mark of an axis."""

    at: float
    text: str


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One k: its upper left corner, its axes, and its methods."""

    title: str
    x: float
    y: float
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    series: tuple[Series, ...]
    strip: float


@dataclass(frozen=True, kw_only=True)
class Plot:
    """All panels, and the legend below them. refused: the methods that do not make what is asked, at any k and t."""

    width: float
    height: float
    panels: tuple[Panel, ...]
    legend: tuple[Series, ...]
    legend_y: float
    refused: tuple[str, ...]
    panel_width: float = PANEL
    panel_height: float = HEIGHT


def make_plot(comparison: Comparison) -> Plot | None:
    """The plot of a comparison; None where nothing was released and nothing found to be out of reach."""
    shown = [
        (one, best)
        for one, best in zip(comparison.outcomes, comparison.best, strict=True)
        if one.state == "released" or one.state in UNREACHED
    ]
    if not shown:
        return None
    methods = list(dict.fromkeys(one.method for one, _ in shown))
    refusing = [one.method for one in comparison.outcomes if one.state == "refused"]
    refused = tuple(dict.fromkeys(name for name in refusing if name not in methods))
    ks = list(dict.fromkeys(one.k for one, _ in shown))
    axes = _Axes.of([one for one, _ in shown])
    strip = STRIP * sum(any(o.method == m and o.state in UNREACHED for o, _ in shown) for m in methods)
    step = HEIGHT + TOP + GAP + strip
    panels = []
    for place, k in enumerate(ks):
        row, column = divmod(place, MOST_ACROSS)
        corner = (LEFT + column * (PANEL + LEFT + 10), TOP + strip + row * step)
        series = tuple(_series(methods, [pair for pair in shown if pair[0].k == k], axes, corner))
        ticks = tuple(Tick(at=corner[0] + axes.x(t), text=t) for t in axes.ts)
        losses = tuple(Tick(at=corner[1] + axes.y(loss), text=f"{loss:g}") for loss in axes.losses)
        panels.append(
            Panel(title=f"k = {k}", x=corner[0], y=corner[1], across=ticks, up=losses, series=series, strip=strip)
        )
    rows, across = -(-len(ks) // MOST_ACROSS), min(len(ks), MOST_ACROSS)
    bottom = TOP + strip + (rows - 1) * step + HEIGHT + GAP
    return Plot(
        width=LEFT + across * (PANEL + LEFT + 10),
        height=bottom + 20 * (len(methods) + len(refused)) + 24,
        panels=tuple(panels),
        legend=tuple(_empty(methods, name) for name in methods),
        legend_y=bottom + 14,
        refused=refused,
    )


@dataclass(frozen=True, kw_only=True)
class _Axes:
    """ts: as they are written, ascending. losses: marks, the last of which is the highest place."""

    ts: tuple[str, ...]
    losses: tuple[float, ...]

    @staticmethod
    def of(outcomes: Sequence[Outcome]) -> _Axes:
        ts = sorted({one.t: one.asked for one in outcomes}.items(), key=lambda pair: pair[1])
        highest = max((one.loss for one in outcomes if one.loss is not None), default=1.0)
        step = next((s for s in (0.01, 0.02, 0.05, 0.1, 0.2) if highest / s <= 6), 0.2)
        steps = max(1, math.ceil(highest / step - 1e-9))
        return _Axes(ts=tuple(t for t, _ in ts), losses=tuple(round(i * step, 2) for i in range(steps + 1)))

    def x(self, t: str) -> float:
        """Where a t is, from the left of a panel: by its size."""
        if len(self.ts) == 1 or t == AS_ASKED:
            return PANEL / 2
        low, high = Fraction(self.ts[0]), Fraction(self.ts[-1])
        return PANEL * (0.06 + 0.88 * float((Fraction(t) - low) / (high - low)))

    def y(self, loss: float) -> float:
        """Where a loss is, from the top of a panel."""
        return HEIGHT * (1 - loss / self.losses[-1])


def _series(
    methods: Sequence[str], shown: Sequence[tuple[Outcome, bool]], axes: _Axes, corner: tuple[float, float]
) -> Iterator[Series]:
    lanes = [m for m in methods if any(o.method == m and o.state in UNREACHED for o, _ in shown)]
    for name in methods:
        of = sorted(((o, best) for o, best in shown if o.method == name), key=lambda pair: pair[0].asked)
        points = tuple(
            Point(x=corner[0] + axes.x(o.t), y=corner[1] + axes.y(o.loss), best=best, told=str(o))
            for o, best in of
            if o.loss is not None
        )
        lane = corner[1] - STRIP * (lanes.index(name) + 0.5) if name in lanes else 0.0
        unreached = tuple(
            Point(x=corner[0] + axes.x(o.t), y=lane, best=False, told=f"{o}: {o.why}") for o, _ in of if o.loss is None
        )
        empty = _empty(methods, name)
        yield Series(method=name, colour=empty.colour, shape=empty.shape, points=points, unreached=unreached)


def _empty(methods: Sequence[str], name: str) -> Series:
    place = methods.index(name)
    colour, shape = COLOURS[place % len(COLOURS)], SHAPES[place % len(SHAPES)]
    return Series(method=name, colour=colour, shape=shape, points=(), unreached=())
