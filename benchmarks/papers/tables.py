"""Figures that the papers print beside small tables. All of them take less than a second."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from papers import test_dosselmann_tutorial as tutorial
from papers import test_gowda_fragmentation as matrices
from papers import test_gowda_stack_and_deal as dealing
from papers import test_li_2007 as li
from papers import test_liang_yuan as liang
from papers import test_weber as weber

from benchmarks.papers.figure import Figure, figures
from tclose_spark.measures.closeness import earth_movers_distance, equivalence_classes, t_closeness
from tclose_spark.measures.distances.ground_distances import OrderedDistance
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.methods.dealing.maximum_emd import maximum_emd
from tclose_spark.methods.dealing.stacks import (
    Stack,
    class_counts,
    stack_by_frequency,
    stack_by_value,
)

ROUNDED = 6e-5  # of figures with four digits


def distances(
    classes: Iterable[list[Any]],
    names: Iterable[object],
    **distance: Any,
) -> dict[object, object]:
    """The distance of each class from all of them together, by its name."""
    parts = list(classes)
    whole = [value for part in parts for value in part]
    return {
        name: earth_movers_distance(part, whole, **distance)
        for name, part in zip(names, parts, strict=True)
    }


def dealt(stack: Stack, table: Any, e: int) -> dict[object, object]:
    """The distance of each class that dealing makes, over the order of the table's counts."""
    distance, classes = OrderedDistance(table), class_counts(stack, np.arange(e), e)
    found = distance.distances(Histograms.dense(classes))
    return {f"class {number}": emd for number, emd in enumerate(found.tolist(), start=1)}


def of_tutorial() -> list[Figure]:
    """Dosselmann, Sadeqi and Hamilton."""
    paper, numbers = "Dosselmann et al.", (1, 2, 3)
    domain = [14, 27, 88, 101]
    found = figures(
        f"{paper}, 2.1",
        {"EMD": earth_movers_distance([14, 88], domain, "ordered")},
        {"EMD": 0.1667},
        ROUNDED,
    )
    printed: Mapping[object, float] = {"2C": 0.6429, "4F": 0.7143, "9A": 0.4286, "3B": 0.4429}
    found += figures(
        f"{paper}, Table 2",
        distances(tutorial.TABLE_2.values(), tutorial.TABLE_2),
        printed,
        ROUNDED,
    )
    salaries = distances(tutorial.TABLE_3_SALARY, numbers, distance="ordered")
    found += figures(
        f"{paper}, Table 3, salary",
        salaries,
        {1: 0.375, 2: 0.1667, 3: 0.2361},
        ROUNDED,
    )
    disease = distances(tutorial.TABLE_3_DISEASE, numbers)
    found += figures(f"{paper}, Table 3, disease", disease, dict.fromkeys(numbers, 0.4444), ROUNDED)
    names = tutorial.TABLE_4
    for order, printed in (
        ("frequency", {"E": 0.3333, "U": 0.3333, "G": 0.0833, "R": 0.1667}),
        ("value", {}),
    ):
        merit = distances(names.values(), names, distance="ordered", order=order)
        found += figures(f"{paper}, Table 4, order of {order}", merit, printed, ROUNDED)
    return found


def of_li() -> list[Figure]:
    """Li, Li and Venkatasubramanian."""
    rounded = 6e-4
    found = []
    tree = {"distance": "hierarchical", "hierarchy": li.LI_FIGURE_1}
    distinct = {**tree, "reference": sorted(set(li.TABLE_3_DISEASE))}
    why = (
        "the paper takes each of the six diseases as equally frequent; the distribution of the "
        "nine records is not"
    )
    for table, labels, salary, disease in (
        (4, li.TABLE_4_QI, 0.375, 0.5),
        (5, li.TABLE_5_QI, 0.167, 0.278),
    ):
        place = f"Li et al., Table {table}"
        ours = {"salary, t": t_closeness(labels, li.TABLE_3_SALARY, "ordered")}
        found += figures(place, ours, {"salary, t": salary}, rounded)
        ours = {
            "disease, t, diseases equally frequent": t_closeness(
                labels,
                li.TABLE_3_DISEASE,
                **distinct,
            ),
        }
        found += figures(place, ours, dict.fromkeys(ours, disease), rounded)
        classes = [
            [li.TABLE_3_DISEASE[i] for i in places] for places in equivalence_classes(labels)
        ]
        ours = {"disease, class 1": earth_movers_distance(classes[0], li.TABLE_3_DISEASE, **tree)}
        found += figures(place, ours, dict.fromkeys(ours, disease), rounded, why)
    return found


def of_gowda() -> list[Figure]:
    """Gowda: chapters 2 to 4, the tables of 3, and Figure 6.1."""
    frequencies = dealing.FREQUENCIES
    stack = stack_by_frequency(frequencies)
    falling = np.sort(frequencies)[::-1]
    printed = dict(
        zip(  # noqa: B905
            (f"class {n}" for n in range(1, 6)),
            (0.009778, 0.005778, 0.005338, 0.006664, 0.007995),
        ),
    )
    found = figures(
        "Gowda, Table 3.4, order of frequency",
        dealt(stack_by_value(falling), falling, 5),
        printed,
        why="the paper rounds shares before it adds them up",
    )
    for name, one in (("frequency", stack), ("value", stack_by_value(frequencies))):
        place = f"Gowda, Table 3.4, order of value, stacked by {name}"
        found += figures(place, dealt(one, frequencies, 5))
    found += figures(
        "Gowda, Figure 3.1, Stack & Deal",
        privacy_losses(dealing.DATASET_1, range(5, 21)),
    )
    found += figures("Gowda, Figure 6.1", privacy_losses(dealing.DATASET_1, range(2, 21)))
    found += figures("Gowda, Figure 3.2, Stack & Deal", privacy_losses(HEART, range(5, 21)))
    m, e = matrices.M, matrices.E
    deltas = {}
    for name, axis in (("rows", 1), ("columns", 0)):
        distance = OrderedDistance(m.sum(axis=axis))
        deltas[name] = distance.distances(Histograms.dense(e.sum(axis=axis)[None]))[0]
    found += figures("Gowda, Figure 4.1; Weber, Figure 8", deltas)
    return found


HEART = np.array([42, 247, 359, 231, 120, 10, 13, 0, 0, 3])
"""Patients by cholesterol, in ten ranges of equal width."""


def privacy_losses(table: Any, ks: Iterable[int]) -> dict[object, object]:
    """The largest distance of a class of Stack & Deal by k, stacked and ordered by frequency as in
    the paper.
    """
    falling = np.sort(table)[::-1]
    stack, codes, distance = (
        stack_by_value(falling),
        np.arange(len(table)),
        OrderedDistance(falling),
    )
    return {f"k = {k}": maximum_emd(stack, codes, distance, int(table.sum()) // k) for k in ks}


def of_liang() -> list[Figure]:
    """Liang and Yuan: Tables 2 to 5 as printed."""
    found = []
    for table, printed in ((2, 54), (3, None), (4, 15), (5, None)):
        groups = getattr(liang, f"TABLE_{table}")
        ours = {"suppressed cells": liang.cost(liang.suppressed(groups)[0])}
        found += figures(
            f"Liang and Yuan, Table {table}",
            ours,
            dict.fromkeys(ours, printed) if printed else None,
        )
    furthest = {
        "t": max(liang.of_groups(liang.TABLE_3)),
        "t of Table 5": max(liang.of_groups(liang.TABLE_5)),
    }
    return found + figures("Liang and Yuan, 2.1", furthest, {"t": 0.4})


def of_weber() -> list[Figure]:
    """Weber, Tables 2 to 6."""
    found = []
    for table, values in ((3, weber.TABLE_3), (5, weber.TABLE_5)):
        ours = {f"class {n}": emd for n, emd in enumerate(weber.of_classes(values), start=1)}
        found += figures(f"Weber, Table {table}, diagnosis", ours)
    for name, distance in (("salary", {"distance": "ordered"}),):
        ours = {
            f"class {n}": e
            for n, e in enumerate(weber.of_classes(weber.TABLE_6_SALARY, **distance), start=1)
        }
        found += figures(f"Weber, Table 6, {name}", ours)
    tree = {"distance": "hierarchical", "hierarchy": weber.CANCERS}
    ours = {
        f"class {n}": emd
        for n, emd in enumerate(weber.of_classes(weber.TABLE_6_DIAGNOSIS, **tree), start=1)
    }
    return found + figures("Weber, Table 6, diagnosis", ours)


def cheap() -> list[Figure]:
    """All of them."""
    return [*of_li(), *of_tutorial(), *of_gowda(), *of_weber(), *of_liang()]
