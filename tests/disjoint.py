"""Whether published labels lie apart, read from their text alone: what tests of methods with
regions share.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from itertools import combinations

import numpy as np
from strategies import Problem

from tclose_spark.runfile.attributes import QuasiIdentifier
from tclose_spark.stages.generalize import Generalizer
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.rows import Codec, Rows

INTERVAL = re.compile(r"\[(.+), (.+)\]$")


def covers(
    label: str | None,
    value: object,
    asked: QuasiIdentifier,
    hierarchy: Hierarchy | None,
) -> bool:
    """Whether a person of this value lies in a region of this label."""
    if label == "*":
        return True
    if label is None or value is None:
        return label is value
    if asked.is_numeric:
        found = INTERVAL.match(label)
        low, high = (found[1], found[2]) if found else (label, label)
        return float(low) <= float(str(value)) <= float(high)
    if hierarchy is not None:
        return label in next(path for path in hierarchy.paths if path[0] == value)
    members = (
        next(csv.reader([label[1:-1]], skipinitialspace=True)) if label.startswith("{") else [label]
    )
    return value in members


def labels_of(problem: Problem, rows: Rows, classes: IntArray) -> set[tuple[str | None, ...]]:
    """The published labels of each class."""
    _, columns = Generalizer.of(problem.attributes.quasi_identifiers).publish(rows, classes, [])
    return set(zip(*[column.to_pylist() for column in columns], strict=True))


def regions_of_each(problem: Problem, rows: Rows, classes: IntArray) -> IntArray:
    """In how many classes' regions each distinct person lies, as the labels say: 1 where regions do
    not overlap.
    """
    labels = labels_of(problem, rows, classes)
    raw = [column.to_pylist() for column in Codec.of(problem.profile).decode(rows)]
    settings = problem.spec.attributes.quasi_identifiers
    trees: Mapping[str, Hierarchy] = problem.hierarchies
    asked = [(settings[name], trees.get(name)) for name in settings]
    return np.array(
        [
            sum(
                all(covers(lab, x, *how) for lab, x, how in zip(label, person, asked, strict=True))
                for label in labels
            )
            for person in set(zip(*raw, strict=True))
        ],
    )


def values_in_both(problem: Problem, rows: Rows, classes: IntArray) -> list[tuple[object, ...]]:
    """Pairs of classes whose labels meet: each pair of labels has a value (of the table, or an end)
    that both cover.
    """
    labels = sorted(labels_of(problem, rows, classes), key=str)
    raw = [set(column.to_pylist()) for column in Codec.of(problem.profile).decode(rows)]
    asked = [
        (values, settings, problem.hierarchies.get(name))
        for values, (name, settings) in zip(
            raw,
            problem.spec.attributes.quasi_identifiers.items(),
            strict=True,
        )
    ]
    return [
        (one, other)
        for one, other in combinations(labels, 2)
        if all(_meet(a, b, *how) for a, b, how in zip(one, other, asked, strict=True))
    ]


def _meet(
    one: str | None,
    other: str | None,
    values: set[object],
    asked: QuasiIdentifier,
    tree: Hierarchy | None,
) -> bool:
    ends: set[object] = set(values)
    if asked.is_numeric:
        for label in (one, other):
            found = INTERVAL.match(label or "")
            ends |= {found[1], found[2]} if found else {label} - {"*"}
    return one == other or any(
        covers(one, value, asked, tree) and covers(other, value, asked, tree) for value in ends
    )
