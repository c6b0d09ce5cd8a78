"""Weber, Figures 6 to 19: each figure's example, its claims on all fragmentations of Figure 8, and
pictures of them.

Cells of Figure 16 are not printed; all fragmentations of Figure 8 take their place.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from fragmentations import paper_bounds
from papers.test_gowda_fragmentation import E, M, sparse
from papers.test_weber_fragmentation import COLUMNS, FIGURE_15, WHOLE

from benchmarks.papers.figure import DATA, PICTURES, Figure, figures
from benchmarks.papers.partitions import CLASS, OTHER, THIRD
from tclose_spark.measures.distances.ground_distances import EqualDistance, OrderedDistance
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.methods.dealing.maximum_emd import maximum_emd
from tclose_spark.methods.dealing.relaxed_conformance import box_deltas, diameter_of
from tclose_spark.methods.dealing.stacks import stack_by_frequency
from tclose_spark.methods.fragmentation.sizing import gcd_classes
from tclose_spark.methods.microaggregation.buckets import cut_into_buckets
from tclose_spark.methods.sabre.plan import bucketize

Box = tuple[tuple[int, int], tuple[int, int]]
"""The first and last row, and the first and last column, from 0."""
FIGURE_12: tuple[Box, Box] = (((0, 2), (0, 1)), ((2, 3), (1, 2)))
FIGURE_13: tuple[Box, ...] = (((0, 1), (0, 1)), ((2, 3), (0, 1)), ((0, 3), (2, 2)))
FIGURE_16 = (0.5, 0.6)  # t of rows and of columns
FIGURE_18, FIGURE_19 = [250, 100, 350, 300], [250, 100, 350, 301]
DRAWN = 1_000


def emd(p: Sequence[float], q: Sequence[float]) -> float:
    """The ordered distance of two vectors of one sum (Definition 2)."""
    return float(np.abs(np.cumsum(np.subtract(p, q))[:-1]).sum() / max(len(p) - 1, 1))


def delta(p: Sequence[float]) -> float:
    """The distance of a vector from the farther of its two ends (3.2.7)."""
    ends = np.eye(len(p))[[0, -1]] * sum(p)
    return max(emd(p, end) for end in ends)


def share(matrix: np.ndarray, box: Box) -> Fraction:
    """The part of a matrix that a box has."""
    (a, b), (c, d) = box
    return Fraction(int(matrix[a : b + 1, c : d + 1].sum()), int(matrix.sum()))


@cache
def fragmentations(box: Box) -> frozenset[frozenset[Box]]:
    """All fragmentations of a box (Definition 9)."""
    (a, b), (c, d) = box
    found = {frozenset([box])}
    halves = [(((a, i), (c, d)), ((i + 1, b), (c, d))) for i in range(a, b)]
    halves += [(((a, b), (c, j)), ((a, b), (j + 1, d))) for j in range(c, d)]
    for one, other in halves:
        found |= {left | right for left in fragmentations(one) for right in fragmentations(other)}
    return frozenset(found)


@cache
def deltas(box: Box) -> tuple[Fraction, Fraction]:
    """Delta of the rows and of the columns of a box of Figure 8."""
    matrix = sparse(M)
    (a, b), (c, d) = box
    rows, columns = matrix.codes.T
    inside = (a <= rows) & (rows <= b) & (c <= columns) & (columns <= d)
    found = box_deltas(matrix.codes[inside], matrix.counts[inside], np.array(box))
    return tuple(Fraction(x) / matrix.rows for x in found)  # type: ignore[return-value]


def bounds(of: frozenset[Box], over_domain: bool = False) -> tuple[Fraction, Fraction]:
    """The aggregate bounds of a fragmentation of Figure 8 (Definition 10).

    over_domain: whether a step is as long in a fragment as in the table, as with `bounds: domain`.
    """
    found = []
    for s, values in enumerate(M.shape):
        steps = [Fraction(box[s][1] - box[s][0], values - 1) if over_domain else 1 for box in of]
        found.append(
            sum((step * deltas(box)[s] for step, box in zip(steps, of, strict=True)), Fraction(0)),
        )
    return found[0], found[1]


def splits(of: frozenset[Box]) -> Iterator[frozenset[Box]]:
    """What a fragmentation splits into in one step (Definition 8)."""
    for box in of:
        yield from ((of - {box}) | part for part in fragmentations(box) if len(part) == 2)


def vectors() -> list[Figure]:
    """Figures 9 to 11: the space of vectors, and what is proven of it."""
    draw = np.random.default_rng(1)
    broken = dict.fromkeys(("Proposition 1", "Proposition 2", "Proposition 3", "Theorem 1"), 0)
    for _ in range(DRAWN):
        k, other = draw.integers(2, 7, 2)
        p, q, r, s = (draw.dirichlet(np.full(k, 0.5)) for _ in range(4))
        u, v = (draw.dirichlet(np.full(other, 0.5)) for _ in range(2))
        broken["Proposition 1"] += emd(p, q) > 1 + 1e-9
        broken["Proposition 2"] += emd(p + r, q + s) > emd(p, q) + emd(r, s) + 1e-9
        broken["Proposition 3"] += emd([*p, *u], [*q, *v]) > emd(p, q) + emd(u, v) + 1e-9
        broken["Theorem 1"] += emd(p, q) > delta(p) + 1e-9
    found = figures(
        f"Weber, Figures 9 and 10: of {DRAWN:,} drawn vectors, those that break",
        broken,
        tolerance=0,
    )
    p = M.sum(axis=1) / M.sum()
    ours = {
        "centre of gravity of the rows of Figure 8": (p * np.arange(1, 5)).sum(),
        "Delta": delta(p),
    }
    return found + figures("Weber, Figure 11", ours)


def lattice() -> list[Figure]:
    """Figures 12 to 17."""
    ours = {f"fragment {n}": share(M, box) for n, box in enumerate(FIGURE_12, 1)}
    found = figures("Weber, Figure 12", ours)
    ours = {f"class's part of fragment {n}": share(E, box) for n, box in enumerate(FIGURE_12, 1)}
    found += figures(
        "Weber, Figure 14",
        ours,
        {"class's part of fragment 1": 0.35, "class's part of fragment 2": 0.45},
    )
    top: Box = ((0, 3), (0, 2))
    every = fragmentations(top)
    ours = {"layers": len({len(of) for of in every}), "fragmentations": len(every)}
    found += figures("Weber, Figure 13", ours, {"layers": 12}, tolerance=0)
    found += figures(
        "Weber, Figure 13",
        dict(zip(("rows", "columns"), bounds(frozenset(FIGURE_13)), strict=True)),
    )
    ours = {"splits": sum(1 for of in every for _ in splits(of))}
    for over_domain, name in ((False, "as printed"), (True, "over the domain")):
        raised = [0, 0]
        for of in every:
            before = bounds(of, over_domain)
            for finer in splits(of):
                higher = [x < y for x, y in zip(before, bounds(finer, over_domain), strict=True)]
                raised[0] += any(higher)
                raised[1] += all(higher)
        ours |= {f"that raise a bound, {name}": raised[0], f"that raise both, {name}": raised[1]}
    found += figures("Weber, Proposition 6, on all splits of Figure 13", ours, tolerance=0)
    split = {
        "rows": paper_bounds(FIGURE_15, np.zeros(4, dtype=np.int64), WHOLE)[0],
        "columns": paper_bounds(FIGURE_15, np.zeros(4, dtype=np.int64), WHOLE)[1],
        "rows after the split": paper_bounds(FIGURE_15, FIGURE_15.codes[:, 1], COLUMNS)[0],
        "columns after the split": paper_bounds(FIGURE_15, FIGURE_15.codes[:, 1], COLUMNS)[1],
    }
    found += figures("Weber, Figure 15", split, dict(zip(split, (0.5, 0.7, 0.6, 0.0), strict=True)))
    fits = [of for of in every if all(x <= t for x, t in zip(bounds(of), FIGURE_16, strict=True))]
    ours = {"acceptable": len(fits), "the highest layer with one": min(map(len, fits))}
    found += figures("Weber, Figures 16 and 17, on Figure 8", ours, tolerance=0)
    return found + conforming()


def conforming() -> list[Figure]:
    """Theorem 2 on Figure 13: classes with a twentieth of each fragment, whichever rows they
    take.
    """
    draw, beyond, limits = np.random.default_rng(1), 0, bounds(frozenset(FIGURE_13))
    parts = [
        np.argwhere(np.ones_like(M[a : b + 1, c : d + 1])) + np.array([a, c])
        for (a, b), (c, d) in FIGURE_13
    ]
    pools = [np.repeat(part, M[tuple(part.T)], axis=0) for part in parts]
    distances = [OrderedDistance(M.sum(axis=axis)) for axis in (1, 0)]
    for _ in range(DRAWN):
        rows = np.concatenate(
            [pool[draw.choice(len(pool), len(pool) // 20, replace=False)] for pool in pools],
        )
        for s, (distance, limit) in enumerate(zip(distances, limits, strict=True)):
            counts = np.bincount(rows[:, s], minlength=M.shape[s])
            beyond += distance.distances(Histograms.dense(counts[None]))[0] > limit
    return figures(
        "Weber, Theorem 2",
        {f"classes beyond their bound, of {DRAWN:,}": beyond},
        tolerance=0,
    )


def buckets_and_sizes() -> list[Figure]:
    """Figures 6, 7, 18 and 19."""
    bucket, classes = cut_into_buckets(np.arange(1025), 5)
    ours = {
        "buckets": bucket.max() + 1,
        "rows of each": np.bincount(bucket).min(),
        "classes": classes,
    }
    found = figures("Weber, Figure 6, of 1,025 rows and k = 5", ours, tolerance=0)
    distance, limit, by_buckets = salaries(), Fraction(1), {}
    for _ in range(3):
        bucket = bucketize(distance, limit)
        limit = bound_of(distance, bucket)
        by_buckets[f"bound with {bucket.max() + 1} buckets"] = limit
    found += figures("Weber, Figure 7", by_buckets)
    for number, sizes, printed in ((18, FIGURE_18, (50, 20)), (19, FIGURE_19, (1, 1001))):
        q = math.gcd(*sizes)
        assert q == gcd_classes(sizes)
        ours = {"classes": q, "size": sum(sizes) // q}
        found += figures(
            f"Weber, Figure {number}",
            ours,
            dict(zip(ours, printed, strict=True)),
            tolerance=0,
        )
    stack = stack_by_frequency(np.array(FIGURE_19))
    distance = EqualDistance(stack.counts)
    rounding = {
        "rounding of 50 classes, sum of shares": maximum_emd(stack, np.arange(4), distance, 50),
    }
    return found + figures("Weber, Figure 19, relaxed conformance", rounding)


def salaries() -> OrderedDistance:
    """Of Figure 7: 40 to 70 thousand, each as often."""
    return OrderedDistance(np.ones(31, dtype=np.int64))


def bound_of(distance: OrderedDistance, bucket: np.ndarray) -> Fraction:
    """The bound of a bucketization of salaries."""
    diameter, rows = diameter_of(distance), int(distance.table.sum())
    insides = np.array([(bucket == number) * distance.table for number in range(bucket.max() + 1)])
    return Fraction(
        sum(map(int, diameter.weighted(np.arange(len(bucket)), insides))),
        diameter.scale * rows,
    )


def picture() -> None:
    """Figures 6 to 19 on one page."""
    page, panels = plt.subplots(3, 3, figsize=(7.6, 6.6))
    draw_buckets(panels[0, 0])
    draw_sabre(panels[0, 1])
    draw_matrix(panels[0, 2], M, FIGURE_12, "8, 12: fragments")
    draw_simplex(panels[1, 0])
    draw_sum(panels[1, 1])
    draw_gravity(panels[1, 2])
    draw_matrix(panels[2, 0], M, FIGURE_13, "13: a fragmentation")
    draw_lattice(panels[2, 1])
    draw_sizes(panels[2, 2])
    for axes in panels.flat:
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=7)
    page.tight_layout()
    page.savefig(PICTURES / "weber_6_19.png", dpi=90, metadata={"Software": None})
    plt.close(page)


def draw_buckets(axes: Any) -> None:
    with (DATA / "heart/heart_1025.csv").open(encoding="utf-8") as file:
        values = np.sort([int(row["chol"]) for row in csv.DictReader(file)])
    bucket, _ = cut_into_buckets(values, 5)
    for number in range(5):
        here = np.flatnonzero(bucket == number)
        axes.plot(here, values[here], color=CLASS if number % 2 else OTHER, linewidth=3)
    title(axes, "6: five buckets of cholesterol")


def draw_sabre(axes: Any) -> None:
    distance, limit = salaries(), Fraction(1)
    for level in range(3):
        bucket = bucketize(distance, limit)
        limit = bound_of(distance, bucket)
        for number in range(bucket.max() + 1):
            here = np.flatnonzero(bucket == number) + 40
            axes.barh(-level, len(here) - 0.4, left=here[0], height=0.6, color=CLASS)
        axes.text(71, -level, f"{float(limit):.2f}", va="center", fontsize=7)
    axes.set_yticks([])
    title(axes, "7: buckets of salaries, bound")


def draw_matrix(axes: Any, matrix: np.ndarray, boxes: Sequence[Box], name: str) -> None:
    axes.imshow(matrix, cmap="Blues", aspect="auto", vmax=180)
    for (i, j), count in np.ndenumerate(matrix / matrix.sum()):
        axes.text(j, i, f"{count:.2f}".lstrip("0"), ha="center", va="center", fontsize=7)
    for number, ((a, b), (c, d)) in enumerate(boxes):
        inset = 0.06 * (number + 1)
        corner, width, height = (
            (c - 0.5 + inset, a - 0.5 + inset),
            d - c + 1 - 2 * inset,
            b - a + 1 - 2 * inset,
        )
        axes.add_patch(
            plt.Rectangle(corner, width, height, fill=False, edgecolor=OTHER, linewidth=1.5),
        )
    axes.set_xticks([])
    axes.set_yticks([])
    title(axes, name)


def draw_simplex(axes: Any) -> None:
    p, points = (
        (0.3, 0.1, 0.6),
        [(i / 20, j / 20, 1 - (i + j) / 20) for i in range(21) for j in range(21 - i)],
    )
    x = [b + c / 2 for _, b, c in points]
    marks = axes.scatter(
        x,
        [c for *_, c in points],
        c=[emd(p, q) for q in points],
        cmap="Blues",
        s=12,
    )
    axes.plot(p[1] + p[2] / 2, p[2], "x", color=OTHER)
    axes.figure.colorbar(marks, ax=axes).ax.tick_params(labelsize=6)
    title(axes, "9: distance from x, largest at an end")


def draw_sum(axes: Any) -> None:
    p, q = np.array([0.3, 0.1, 0.6]), np.array([0.1, 0.7, 0.2])
    axes.bar(range(3), p, color=CLASS)
    axes.bar(range(3), q, bottom=p, color=THIRD)
    title(axes, "10: the sum of two vectors")


def draw_gravity(axes: Any) -> None:
    p = M.sum(axis=1) / M.sum()
    axes.bar(range(1, 5), p, color=CLASS)
    axes.axvline(float((p * np.arange(1, 5)).sum()), color=OTHER)
    axes.axvline(2.5, color=THIRD, linestyle=":")
    title(axes, "11: centre of gravity, middle")


def draw_lattice(axes: Any) -> None:
    every = sorted(fragmentations(((0, 3), (0, 2))), key=len)
    places = np.array([[float(x) for x in bounds(of)] for of in every])
    axes.scatter(*places.T, c=[len(of) for of in every], cmap="viridis", s=2)
    axes.add_patch(plt.Rectangle((0, 0), *FIGURE_16, fill=False, edgecolor=OTHER))
    axes.plot(*zip((0.5, 0.7), (0.6, 0), strict=True), "o-", color=THIRD, markersize=3)
    title(axes, "15 to 17: bounds of rows, columns")


def draw_sizes(axes: Any) -> None:
    axes.bar(["18", "19", "19, relaxed"], [20, 1001, 21], color=[CLASS, CLASS, OTHER])
    axes.set_yscale("log")
    title(axes, "18, 19: the largest class")


def title(axes: Any, text: str) -> None:
    axes.set_title(text, fontsize=8)


def cheap() -> list[Figure]:
    """All figures."""
    return [*buckets_and_sizes(), *vectors(), *lattice()]
