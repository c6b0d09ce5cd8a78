"""Gowda, Figures 3.1, 3.2 and 5.1: the privacy loss of Stack & Deal beside that of random
partitions.

Groups A to D of chapter 3, by two properties: (1) sizes of classes differ by one at most; (2) so
does the number of rows with a value. A has neither, B the first, C both, D the second. Groups 1 and
2 of chapter 5: classes of k or k + 1 rows, and of k or more.

The paper does not say how it draws. Here the number of classes of A, D and 2 is drawn evenly from 2
to n / k, and then sizes of k or more evenly. C is drawn by exchanges of rows between pairs of
classes (curveball). Of A and 2 there is a second draw, evenly from all partitions of the rows into
sets of k or more, as the text of 5.5 has it.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator
from papers.test_gowda_stack_and_deal import DATASET_1
from scipy.special import gammaln, logsumexp

from benchmarks.papers.figure import DATA, PICTURES, Figure, figures
from benchmarks.papers.tables import HEART
from tclose_spark.measures.distances.ground_distances import OrderedDistance
from tclose_spark.measures.distances.histograms import Histograms, MultiplicityMatrix
from tclose_spark.methods.dealing.stacks import class_counts, stack_by_frequency

PARTITIONS = 100  # of each k and group, as in the paper
EXCHANGES = 20  # rounds, in each of which every class takes part
CLASS, OTHER, THIRD = "#3949ab", "#d84315", "#9e9e9e"
Draw = Callable[[np.random.Generator, int], np.ndarray]
"""From a k to the sizes, or the rows by value, of the classes of a random partition."""


def even_sizes(n: int, draw: np.random.Generator, k: int) -> np.ndarray:
    """Sizes that differ by one at most."""
    return np.bincount(np.arange(n) % (n // k))


def free_sizes(n: int, draw: np.random.Generator, k: int) -> np.ndarray:
    """Sizes of k or more; their number evenly from 2."""
    e = int(draw.integers(2, n // k + 1))
    bars = np.sort(draw.choice(n - e * k + e - 1, e - 1, replace=False))
    return np.diff(bars, prepend=-1, append=n - e * k + e - 1) - 1 + k


@cache
def log_partitions(n: int, k: int) -> np.ndarray:
    """The logarithm of the number of partitions of 0, 1, .. n rows into sets of k or more, shape (n
    + 1,).
    """
    counts = np.full(n + 1, -np.inf)
    counts[0] = 0
    for rows in range(k, n + 1):
        counts[rows] = logsumexp(of_first(rows, k, counts))
    return counts


def of_first(rows: int, k: int, counts: np.ndarray) -> np.ndarray:
    """The logarithm of the number of partitions in which the first row's set has k, k + 1, ..
    rows.
    """
    sizes = np.arange(k, rows + 1)
    chosen = gammaln(rows) - gammaln(sizes) - gammaln(rows - sizes + 1)  # the others of its set
    return chosen + counts[rows - sizes]


def any_sizes(n: int, draw: np.random.Generator, k: int) -> np.ndarray:
    """Sizes of a partition drawn evenly from all of them into sets of k or more."""
    counts, left, sizes = log_partitions(n, k), n, list[int]()
    while left:
        shares = np.exp(of_first(left, k, counts) - counts[left])
        sizes.append(k + int(draw.choice(len(shares), p=shares / shares.sum())))
        left -= sizes[-1]
    return np.array(sizes)


def shuffled(table: np.ndarray, sizes: Draw, draw: np.random.Generator, k: int) -> np.ndarray:
    """The rows by value of classes of these sizes whose rows are drawn evenly."""
    of = sizes(draw, k)
    codes = draw.permutation(np.repeat(np.arange(len(table)), table))
    return np.bincount(
        np.repeat(np.arange(len(of)), of) * len(table) + codes,
        minlength=len(of) * len(table),
    ).reshape(len(of), -1)


def uniform_even(table: np.ndarray, draw: np.random.Generator, k: int) -> np.ndarray:
    """Group C: every value evenly, and sizes too."""
    e = int(table.sum()) // k
    base, more = table // e, table % e
    values = draw.permutation(len(table))
    extra = np.zeros((e, len(table)), dtype=bool)
    extra[draw.permutation(e)[np.arange(more.sum()) % e], np.repeat(values, more[values])] = True
    for _ in range(EXCHANGES):
        one, other = draw.permutation(e)[: e // 2 * 2].reshape(2, -1)
        free = extra[one] != extra[other]
        keep = (extra[one] & free).sum(axis=1)
        keys = np.where(free, draw.random(free.shape), 2.0)
        first = free & (keys.argsort(axis=1).argsort(axis=1) < keep[:, None])
        extra[one], extra[other] = (
            (extra[one] & ~free) | first,
            (extra[other] & ~free) | (free & ~first),
        )
    return base + extra


def uniform_free(table: np.ndarray, draw: np.random.Generator, k: int) -> np.ndarray:
    """Group D: every value evenly, sizes of k or more that differ."""
    while True:
        e = int(draw.integers(2, table.sum() // k + 1))
        extra = np.argsort(np.argsort(draw.random((e, len(table))), axis=0), axis=0) < table % e
        classes = table // e + extra
        sizes = classes.sum(axis=1)
        if sizes.min() >= k and np.ptp(sizes) > 1:
            return classes


def loss(distance: OrderedDistance, classes: np.ndarray) -> float:
    """The privacy loss of a partition: the largest distance of a class."""
    return float(distance.distances(Histograms.dense(classes)).max())


def stack_and_deal(table: np.ndarray, k: int) -> np.ndarray:
    """The rows by value of its classes."""
    e = int(table.sum()) // k
    return class_counts(stack_by_frequency(table), np.arange(e), e)


def chapter_3(number: str, table: np.ndarray) -> list[Figure]:
    """Figure 3.1 or 3.2. table: rows by value, in descending order."""
    ks, n, distance = range(5, 21), int(table.sum()), OrderedDistance(table)
    groups: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
        "Group A": partial(shuffled, table, partial(free_sizes, n)),
        "Group B": partial(shuffled, table, partial(even_sizes, n)),
        "Group C": partial(uniform_even, table),
        "Group D": partial(uniform_free, table),
    }
    ours = [loss(distance, stack_and_deal(table, k)) for k in ks]
    picture, panels = plt.subplots(2, 2, figsize=(7.2, 5.0), sharex=True)
    found: dict[object, object] = {}
    for axes, (group, classes) in zip(panels.flat, groups.items(), strict=True):
        draw = np.random.default_rng(1)
        drawn = np.array(
            [[loss(distance, classes(draw, k)) for _ in range(PARTITIONS)] for k in ks],
        )
        found[f"{group}, partitions with less loss, of {drawn.size}"] = int(
            (drawn < np.array(ours)[:, None]).sum(),
        )
        found[f"{group}, partitions with as much loss"] = int(
            (drawn == np.array(ours)[:, None]).sum(),
        )
        axes.plot(
            np.repeat(ks, PARTITIONS),
            drawn.ravel(),
            ".",
            color=THIRD,
            markersize=2,
            label="random",
        )
        axes.plot(ks, ours, "o", color=CLASS, markersize=4, label="Stack & Deal")
        axes.set_title(group, fontsize=10)
    draw = np.random.default_rng(1)
    every = partial(shuffled, table, partial(any_sizes, n))
    drawn = np.array([[loss(distance, every(draw, k)) for _ in range(10)] for k in ks])
    found["equally likely partitions with less loss, of 160"] = int(
        (drawn < np.array(ours)[:, None]).sum(),
    )
    save(picture, panels, f"gowda_{number.replace('.', '_')}")
    return figures(f"Gowda, Figure {number}, groups", found, tolerance=0)


def heart_pairs() -> MultiplicityMatrix:
    """Patients by blood pressure and cholesterol, over every whole number from the least to the
    greatest value.
    """
    with (DATA / "heart/heart_1025.csv").open(encoding="utf-8") as file:
        pairs = np.array([(int(row["trestbps"]), int(row["chol"])) for row in csv.DictReader(file)])
    codes, counts = np.unique(pairs - pairs.min(axis=0), axis=0, return_counts=True)
    return MultiplicityMatrix(
        codes,
        counts.astype(np.int64),
        tuple((np.ptp(pairs, axis=0) + 1).tolist()),
    )


def of_both(
    matrix: MultiplicityMatrix,
    distances: list[OrderedDistance],
    cells: np.ndarray,
) -> tuple[float, ...]:
    """(privacy loss of blood pressure, of cholesterol). cells: rows by tuple of each class."""
    owner, cell = np.nonzero(cells)
    losses = []
    for s, distance in enumerate(distances):
        histograms = Histograms.tally(
            owner,
            matrix.codes[cell, s],
            cells[owner, cell],
            len(cells),
            matrix.domains[s],
        )
        losses.append(float(distance.distances(histograms).max()))
    return tuple(losses)


def chapter_5_dealt(matrix: MultiplicityMatrix, ks: range) -> Iterator[tuple[float, ...]]:
    """The losses of Stack & Deal of pairs by k."""
    distances = [OrderedDistance(matrix.marginal(s)) for s in (0, 1)]
    for k in ks:
        yield of_both(matrix, distances, stack_and_deal(matrix.counts, k))


def chapter_5() -> list[Figure]:
    """Figure 5.1: of both attributes, as the length of the vector of their losses."""
    ks, matrix = range(5, 16), heart_pairs()
    distances = [OrderedDistance(matrix.marginal(s)) for s in (0, 1)]
    dealt = np.array(list(chapter_5_dealt(matrix, ks)))
    found: dict[object, object] = {}
    for s, name in enumerate(("blood pressure", "cholesterol")):
        found |= {f"Stack & Deal, {name}, k = {k}": dealt[k - ks[0], s] for k in (5, 10, 15)}
    numbers = figures("Gowda, Figure 5.1", found)
    groups = {
        "Group 1": even_sizes,
        "Group 2": free_sizes,
        "equally likely": any_sizes,
    }
    picture, panels = plt.subplots(1, 2, figsize=(7.2, 2.9), sharey=True)
    found = {}
    for number, (group, sizes) in enumerate(groups.items()):
        draw, classes = (
            np.random.default_rng(1),
            partial(shuffled, matrix.counts, partial(sizes, matrix.rows)),
        )
        many = PARTITIONS if number < 2 else 10
        drawn = np.array(
            [[of_both(matrix, distances, classes(draw, k)) for _ in range(many)] for k in ks],
        )
        both, ours = np.hypot(drawn[..., 0], drawn[..., 1]), np.hypot(dealt[:, 0], dealt[:, 1])
        found[f"{group}, partitions with less loss, of {both.size}"] = int(
            (both < ours[:, None]).sum(),
        )
        if number < 2:
            axes = panels[number]
            axes.plot(
                np.repeat(ks, many),
                both.ravel(),
                ".",
                color=THIRD,
                markersize=2,
                label="random",
            )
            axes.plot(ks, ours, "o", color=CLASS, markersize=4, label="Stack & Deal, both")
            axes.plot(ks, dealt[:, 0], "_", color=OTHER, label="blood pressure")
            axes.plot(ks, dealt[:, 1], "|", color=OTHER, label="cholesterol")
            axes.set_title(group, fontsize=10)
    save(picture, panels, "gowda_5_1")
    return numbers + figures("Gowda, Figure 5.1, groups", found, tolerance=0)


def figure_6_1() -> None:
    """The picture of Figure 6.1."""
    ks, distance = range(2, 21), OrderedDistance(DATASET_1)
    picture, axes = plt.subplots(figsize=(3.6, 2.6))
    losses = [loss(distance, stack_and_deal(DATASET_1, k)) for k in ks]
    axes.plot(ks, losses, "o-", color=CLASS, markersize=3, linewidth=1, label="Stack & Deal")
    save(picture, np.array([axes]), "gowda_6_1")


def save(picture: Any, panels: np.ndarray, name: str, y: str = "privacy loss") -> None:
    """Writes a picture with one legend."""
    for axes in panels.flat:
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_ylim(bottom=0)
        axes.tick_params(labelsize=8)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    for axes in np.atleast_2d(panels)[:, 0]:
        axes.set_ylabel(y, fontsize=9)
    for axes in np.atleast_2d(panels)[-1]:
        axes.set_xlabel(axes.get_xlabel() or "k", fontsize=9)
    panels.flat[0].legend(frameon=False, fontsize=8)
    picture.tight_layout()
    picture.savefig(PICTURES / f"{name}.png", dpi=90, metadata={"Software": None})
    plt.close(picture)


def all_figures() -> list[Figure]:
    """All figures of the two chapters, with their pictures."""
    figure_6_1()
    return [
        *chapter_3("3.1", DATASET_1),
        *chapter_3("3.2", np.sort(HEART)[::-1]),
        *chapter_5(),
    ]
