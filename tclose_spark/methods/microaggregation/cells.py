"""Buckets of tuples of sensitive values: algorithm 3 for several sensitive attributes (Wang, Zhu,
Chen and Chang 2018; Weber, 2.4.1 and 2.4.2).

first_component: the cells (tuples that occur) are ordered by their first principal component and
    cut like the values of one attribute.
clusters: each bucket has the rows whose tuples are nearest to a seed.

In both, a class then takes a row of each bucket, and classes that do not hold are merged.

The papers leave open how categories become numbers, and how clusters get equal sizes. Here a
value's number is the share of rows before it, plus half of its own, in the order in which algorithm
3 cuts it. Seeds of clusters are MDAV's: the tuple that is farthest from the last seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from tclose_spark.measures.distances.ground_distances import GroundDistance
from tclose_spark.methods.attributes import ResolvedAttributes, ResolvedSensitive
from tclose_spark.methods.even_blocks.plan import bucketed
from tclose_spark.methods.microaggregation.buckets import (
    BucketSizing,
    Cut,
    bucket_rows,
    cut_into_buckets,
)
from tclose_spark.table.arrays import Codes, FloatArray, IntArray

PRECISION = 10**6  # of a component, which is in integers so that no sum depends on the machine


def cut_of(attributes: ResolvedAttributes, cells: str | None, component: Sequence[int]) -> Cut:
    """The buckets of a table's rows by the settings. component: of first_component, see there."""
    if cells == "clusters":
        return partial(cut_into_clusters, attributes)
    if cells == "first_component":
        rank = np.argsort(
            np.argsort(rank_scores(attributes) @ np.array(component, dtype=np.int64), kind="stable")
        )
    else:
        one = bucketed(attributes)
        rank = BucketSizing(one.distance).rank[attributes.cells[:, one.column]]
    return lambda cell, size: cut_into_buckets(rank[cell], size)


def several(attributes: ResolvedAttributes) -> list[ResolvedSensitive]:
    """The sensitive attributes whose tuples form buckets: those with a t, otherwise all."""
    return [a for a in attributes.sensitive if a.t is not None] or list(attributes.sensitive)


def rank_scores(attributes: ResolvedAttributes) -> IntArray:
    """How far each value of a cell is from the middle of the table's rows, in halves of rows, shape
    (cells, S).

    Values are in the order of algorithm 3. The mean over rows is 0.
    """
    scores = []
    for attribute in several(attributes):
        place = BucketSizing(attribute.distance).rank
        table = attribute.distance.table[np.argsort(place)]
        middle = 2 * np.cumsum(table) - table - table.sum()
        scores.append(middle[place[attributes.cells[:, attribute.column]]])
    return np.stack(scores, axis=1)


def first_component(scores: IntArray, rows: IntArray) -> tuple[int, ...]:
    """The direction in which the scores of rows vary most, in units of 1 / PRECISION, shape (S,).

    scores: shape (cells, S), of mean 0. rows: of each cell, shape (cells,). The largest part is
        positive.

    >>> first_component(np.array([[-2, 2], [0, 0], [2, -2]]), np.array([1, 3, 1]))
    (707107, -707107)
    """
    scaled = scores / max(int(np.abs(scores).max()), 1)
    direction = np.linalg.eigh((scaled * rows[:, None]).T @ scaled)[1][:, -1]
    largest = np.abs(direction).round(6).argmax()
    return tuple(
        (direction * np.sign(direction[largest]) * PRECISION).round().astype(np.int64).tolist()
    )


def cut_into_clusters(
    attributes: ResolvedAttributes, cell: Codes, size: int
) -> tuple[IntArray, int]:
    """(the cluster of each row, shape (n,); the number of classes). cell: of each row, shape (n,).

    A cluster takes rows in the order of the distance of their cells from its seed, the remaining
    cell that is farthest from the last seed. The first seed is far from the most frequent cell. The
    first rows of a cell are in the first of its clusters.
    """
    present, at = np.unique(cell, return_inverse=True)
    codes, left = attributes.cells[present], np.bincount(at)
    rows, classes = bucket_rows(len(cell), size)
    seed, parts = int(left.argmax()), []
    for number, room in enumerate(rows.tolist()):
        seed = int(np.where(left > 0, squared_distances(attributes, codes, seed), -1.0).argmax())
        order = np.argsort(squared_distances(attributes, codes, seed), kind="stable")
        taken = np.clip(room - (np.cumsum(left[order]) - left[order]), 0, left[order])
        left[order] -= taken
        parts.append(np.stack([order, taken, np.full(len(order), number)])[:, taken > 0])
    kind, taken, bucket_of = np.concatenate(parts, axis=1)
    first = np.argsort(kind, kind="stable")
    bucket = np.empty(len(cell), dtype=np.int64)
    bucket[np.argsort(at, kind="stable")] = np.repeat(bucket_of[first], taken[first])
    return bucket, classes


def squared_distances(attributes: ResolvedAttributes, codes: IntArray, seed: int) -> FloatArray:
    """The squared distance of each cell from one of them: the sum of squared ground distances
    (Weber, 2.4.1), shape (cells,). codes: of the sensitive values, shape (cells, sensitive
    attributes).
    """
    total = np.zeros(len(codes))
    for a in several(attributes):
        total += _ground_distances(a.distance, codes[:, a.column], int(codes[seed, a.column])) ** 2
    return total


def _ground_distances(distance: GroundDistance, codes: IntArray, code: int) -> FloatArray:
    """The ground distance of each code from one, of a distance with equal steps."""
    features = distance.features
    if features.cumulative:
        return np.abs(codes - code) / features.scale
    nodes = features.nodes
    differing: FloatArray = (
        2 * (nodes[:, codes] != nodes[:, code, None]).sum(axis=0) / features.scale
    )
    return differing
