"""The plan of microaggregation: blocks with the whole table's distribution, and their division into
classes.

Buckets of tuples of sensitive values: algorithm 3 for several sensitive attributes (Wang, Zhu,
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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from tclose_spark.measures.distances.ground_distances import GroundDistance
from tclose_spark.methods.attributes import ResolvedAttributes, ResolvedSensitive
from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.dealing.numbering import NumberingModel
from tclose_spark.methods.even_blocks import (
    ROWS_PER_BLOCK,
    ROWS_PER_TASK,
    EvenBlocks,
    EvenBlocksPlan,
    bucketed,
    plan_even_blocks,
)
from tclose_spark.methods.method import PlanModel, PlanningInput, PlanReport
from tclose_spark.methods.microaggregation.buckets import (
    BucketSizing,
    Cut,
    bucket_rows,
    choose_class_size,
    cut_into_buckets,
    microaggregate_buckets,
)
from tclose_spark.methods.microaggregation.mdav import microaggregate
from tclose_spark.methods.microaggregation.settings import Microaggregation
from tclose_spark.table.arrays import Codes, FloatArray, IntArray

PRECISION = 10**6  # of a component, which is in integers so that no sum depends on the machine


def cut_of(attributes: ResolvedAttributes, cells: str | None, component: Sequence[int]) -> Cut:
    """The buckets of a table's rows by the settings. component: of first_component, see there."""
    if cells == "clusters":
        return partial(cut_into_clusters, attributes)
    if cells == "first_component":
        rank = np.argsort(
            np.argsort(
                rank_scores(attributes) @ np.array(component, dtype=np.int64),
                kind="stable",
            ),
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
        (direction * np.sign(direction[largest]) * PRECISION).round().astype(np.int64).tolist(),
    )


def cut_into_clusters(
    attributes: ResolvedAttributes,
    cell: Codes,
    size: int,
) -> tuple[IntArray, int]:
    """(the cluster of each row, shape (n,); the number of classes). cell: of each row, shape (n,).

    A cluster takes rows in the order of the distance of their cells from its seed, the remaining
    cell that is farthest from the last seed. The first seed is far from the most frequent cell. The
    first rows of a cell are in the first of its clusters.
    """
    present, at = np.unique(cell, return_inverse=True)
    codes = attributes.cells[present]
    left = np.bincount(at)
    rows, classes = bucket_rows(len(cell), size)
    seed = int(left.argmax())
    parts = []
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


class MicroaggregationModel(PlanModel):
    """A `MicroaggregationPlan` without its settings."""

    class_size: int
    component: tuple[int, ...]
    numbering: NumberingModel


@dataclass(frozen=True)
class MicroaggregationPlan(EvenBlocksPlan):
    """The plan; see the module.

    settings: with the algorithm.
    class_size: before merging.
    component: of `cells: first_component`, otherwise empty.
    """

    settings: Microaggregation
    class_size: int
    component: tuple[int, ...]

    @cached_property
    def cut(self) -> Cut:
        """The buckets of algorithm 3."""
        return cut_of(self.layout.dense.attributes, self.settings.cells, self.component)

    def formed(self, block: Block) -> IntArray:
        if self.settings.algorithm < 3:
            return microaggregate(block, refined=self.settings.algorithm == 2)
        return microaggregate_buckets(block, *self.cut(block.cell, self.class_size))

    def describe(self, figures: Mapping[str, float]) -> dict[str, object]:
        return {**super().describe(figures), "class_size": self.class_size}

    def to_json(self) -> Mapping[str, object]:
        return MicroaggregationModel(
            class_size=self.class_size,
            component=self.component,
            numbering=self.layout.numbering.model,
        ).model_dump()

    def report(self) -> PlanReport:
        return PlanReport(
            figures={"blocks": self.blocks, "tasks": self.tasks, "class_size": self.class_size},
            note=f"{self.blocks_in_words}, classes of {self.class_size:,} rows and more before any "
            "are merged",
        )

    @staticmethod
    def from_json(
        tree: Mapping[str, object],
        attributes: ResolvedAttributes,
        k: int,
        settings: Microaggregation,
    ) -> MicroaggregationPlan:
        """The plan that `to_json` wrote."""
        model = MicroaggregationModel.model_validate(tree)
        layout = EvenBlocks.of_model(model.numbering, attributes, k)
        return MicroaggregationPlan(layout, settings, model.class_size, model.component)


def plan_microaggregation(
    given: PlanningInput,
    rows_per_block: int = ROWS_PER_BLOCK,
    rows_per_task: int = ROWS_PER_TASK,
) -> MicroaggregationPlan:
    """Plans microaggregation. The classes do not depend on rows_per_task.

    Raises:
        UnreachableError: see `plan_even_blocks`.
    """
    layout = plan_even_blocks(given, rows_per_block, rows_per_task)
    settings: Microaggregation = given.settings
    if settings.algorithm < 3:
        return MicroaggregationPlan(layout, settings, given.k, ())
    component: tuple[int, ...] = ()
    if settings.cells == "first_component":
        component = first_component(rank_scores(given.attributes), given.attributes.cell_rows)
        given.log(
            f"first principal component of the sensitive attributes: {component}, in millionths",
        )
    size = choose_class_size(given, layout, cut_of(given.attributes, settings.cells, component))
    return MicroaggregationPlan(layout, settings, size, component)
