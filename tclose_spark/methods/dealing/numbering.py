"""Distributed numbering: the class that each row is dealt to, with one shuffle and no window over
the table.

Rows are counted by bucket: a part of the stack (a tuple of sensitive values, or a fragment) and a
stretch of the order inside it. The counts give each bucket its first rank. A task with whole
buckets therefore knows the exact rank of every row in them, and its class. A task makes a range of
classes. A bucket whose ranks belong to two tasks is sent to both, and each keeps its own rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tclose_spark.methods.dealing.locality import Locality, sort_by_content
from tclose_spark.methods.dealing.nearest import classes_per_block, gather_nearest
from tclose_spark.methods.dealing.stacks import Shares, Stack
from tclose_spark.methods.method import GroupCounts, Integers, PlanModel
from tclose_spark.methods.widths import QuasiWidths
from tclose_spark.table.arrays import HashArray, IntArray
from tclose_spark.table.rows import Rows

ROWS_PER_TASK = 500_000
# A task reads about 1/16 more rows than it keeps, unless MOST_BUCKETS leaves fewer.
BUCKETS_PER_TASK = 16
MOST_BUCKETS = 1 << 22  # parts times stretches: what the driver and every task hold


@dataclass(frozen=True)
class Dealt:
    """Rows of one task, ordered by part and rank.

    here: their places.
    part, classes: of each row; all of shape (stayed,).
    """

    here: IntArray
    part: IntArray
    classes: IntArray


class NumberingModel(PlanModel):
    """A `Numbering` in `plan.json`. The stack's counts and the parts follow from the profile and the method's
    plan.

    cuts: 64 bits, as text.
    """

    classes: int
    groups: int
    block_classes: int
    tasks: int
    stack_order: Integers
    locality: Locality
    cuts: Sequence[str]
    bucket_counts: Integers


@dataclass(frozen=True, kw_only=True)
class Numbering:
    """Numbers rows; see the module.

    part_of: the part of each cell, shape (cells,).
    groups: the number of groups of classes, even ranges that stay in one task.
    block: the number of classes in a group that exchange rows (see `nearest`).
    cuts: ascending order keys at which a new stretch begins.
    bucket_counts: shape (parts, stretches).
    """

    part_of: IntArray
    stack: Stack
    classes: int
    groups: int
    block: int
    tasks: int
    locality: Locality
    cuts: HashArray
    bucket_counts: IntArray

    @staticmethod
    def of(
        part_of: IntArray,
        stack: Stack,
        classes: int,
        locality: Locality,
        sample: Rows,
        counts: GroupCounts,
        rows_per_task: int = ROWS_PER_TASK,
        groups: int | None = None,
    ) -> Numbering:
        """Counts the buckets. The class of a row does not depend on rows_per_task. groups: by
        default, one per task.
        """
        parts = len(stack.counts)
        block = classes_per_block(stack.rows // classes)
        most = max(MOST_BUCKETS // parts, 1)
        tasks = min(groups or classes, -(-stack.rows // rows_per_task), most)
        cuts = _cut_evenly(np.sort(locality.key(sample)), min(tasks * BUCKETS_PER_TASK, most))
        counted = counts(
            lambda rows: bucket_of(part_of[rows.cell], locality.key(rows), cuts),
            parts * (len(cuts) + 1),
        )
        return Numbering(
            part_of=part_of,
            stack=stack,
            classes=classes,
            groups=groups or tasks,
            block=block,
            tasks=tasks,
            locality=locality,
            cuts=cuts,
            bucket_counts=counted.reshape(parts, -1),
        )

    @cached_property
    def group_starts(self) -> IntArray:
        """The first class of each group, then the number of classes, shape (groups + 1,)."""
        return np.arange(self.groups + 1, dtype=np.int64) * self.classes // self.groups

    @cached_property
    def task_groups(self) -> IntArray:
        """The first group of each task, then the number of groups, shape (tasks + 1,)."""
        return np.arange(self.tasks + 1, dtype=np.int64) * self.groups // self.tasks

    @cached_property
    def _first_class(self) -> IntArray:
        """The first class of each task, then the number of classes, shape (tasks + 1,)."""
        return self.group_starts[self.task_groups]

    def blocks(self, classes: IntArray) -> IntArray:
        """The block of each class, shape (n,): consecutive classes of one group that exchange near
        rows.
        """
        group = np.searchsorted(self.group_starts, classes, side="right") - 1
        return (
            group * (self.classes // self.block + 1)
            + (classes - self.group_starts[group]) // self.block
        )

    @cached_property
    def shares(self) -> Shares:
        """How the rows of each part are dealt."""
        return Shares.of(self.stack, self.classes)

    @cached_property
    def _first_rank(self) -> IntArray:
        """The rank, inside its part, of each bucket's first row, shape (parts, stretches)."""
        return np.cumsum(self.bucket_counts, axis=1) - self.bucket_counts

    @cached_property
    def _task_range(self) -> tuple[IntArray, IntArray]:
        """The first task and the number of tasks of each bucket, both of shape (parts *
        stretches,).
        """
        part = np.repeat(np.arange(len(self.bucket_counts)), self.bucket_counts.shape[1])
        first = self._first_rank.ravel()
        last = np.maximum(first + self.bucket_counts.ravel() - 1, first)
        starts = self._first_class[:-1]
        tasks = [
            np.searchsorted(starts, self.shares.class_of(part, rank), side="right") - 1
            for rank in (first, last)
        ]
        return tasks[0], np.where(self.bucket_counts.ravel() > 0, tasks[1] - tasks[0] + 1, 0)

    def route(self, rows: Rows) -> tuple[IntArray, IntArray]:
        """(row, task): the places in `rows` to send, and to which task.

        Raises:
            ValueError: if a row is none of those that were counted.
        """
        bucket = bucket_of(self.part_of[rows.cell], self.locality.key(rows), self.cuts)
        first, tasks = self._task_range
        copies = tasks[bucket]
        if np.any(copies == 0):
            raise ValueError(
                "a row is in a bucket that was empty when the plan was made: the input changed "
                "since",
            )
        row = np.repeat(np.arange(len(rows)), copies)
        nth = np.arange(len(row)) - np.repeat(np.cumsum(copies) - copies, copies)
        return row, first[bucket][row] + nth

    def deal(self, rows: Rows, task: int) -> Dealt:
        """The rows that stay in a task, and their classes.

        Raises:
            ValueError: if the rows are not those that were counted.
        """
        key = self.locality.key(rows)
        part = self.part_of[rows.cell]
        order = sort_by_content(rows, part, key)
        bucket = bucket_of(part, key, self.cuts)[order]
        begins = np.flatnonzero(np.diff(bucket, prepend=-1))
        rows_of = np.diff(np.append(begins, len(bucket)))
        first, tasks = self._task_range
        expected = np.flatnonzero((first <= task) & (task < first + tasks))
        if not np.array_equal(bucket[begins], expected) or np.any(
            rows_of != self.bucket_counts.ravel()[expected],
        ):
            raise ValueError(
                "a bucket has not the rows that the plan counted: the input changed since, or "
                "rows were lost",
            )
        rank = (
            self._first_rank.ravel()[bucket] + np.arange(len(bucket)) - np.repeat(begins, rows_of)
        )
        part = part[order]
        classes = self.shares.class_of(part, rank)
        stays = (classes >= self._first_class[task]) & (classes < self._first_class[task + 1])
        return Dealt(order[stays], part[stays], classes[stays])

    @property
    def model(self) -> NumberingModel:
        """What `of_model` reads."""
        return NumberingModel(
            classes=self.classes,
            groups=self.groups,
            block_classes=self.block,
            tasks=self.tasks,
            stack_order=self.stack.order,
            locality=self.locality,
            cuts=[str(cut) for cut in self.cuts.tolist()],
            bucket_counts=self.bucket_counts,
        )

    def report(self) -> dict[str, int]:
        """Figures for the run's record."""
        return {
            "classes": self.classes,
            "class_size": self.stack.rows // self.classes,
            "tasks": self.tasks,
        }

    @staticmethod
    def of_model(model: NumberingModel, part_of: IntArray, counts: IntArray) -> Numbering:
        """The numbering of a model. counts: rows of each part, shape (parts,)."""
        return Numbering(
            part_of=part_of,
            stack=Stack(model.stack_order, counts),
            classes=model.classes,
            groups=model.groups,
            block=model.block_classes,
            tasks=model.tasks,
            locality=model.locality,
            cuts=np.array(list(map(int, model.cuts)), dtype=np.uint64),
            bucket_counts=model.bucket_counts.reshape(len(counts), -1),
        )


def bucket_of(part: IntArray, key: HashArray, cuts: HashArray) -> IntArray:
    """The bucket of each row, its part and the stretch of its order key, shape (n,)."""
    return part * (len(cuts) + 1) + np.searchsorted(cuts, key, side="right")


def _cut_evenly(keys: HashArray, stretches: int) -> HashArray:
    """Order keys that cut the sorted keys of a sample into even stretches."""
    places = np.arange(1, stretches) * len(keys) // stretches
    return np.unique(keys[places]) if len(keys) else keys


@dataclass(frozen=True)
class DealtPlan:
    """A plan that sends and numbers rows by `numbering`.

    widths: for gathering near rows inside blocks of classes; None without.
    """

    numbering: Numbering
    widths: QuasiWidths | None

    @property
    def tasks(self) -> int:
        return self.numbering.tasks

    @property
    def blocks(self) -> int:
        """See Plan: here, the tasks."""
        return self.tasks

    def route(self, rows: Rows) -> tuple[IntArray, IntArray]:
        return self.numbering.route(rows)

    def gathered(self, rows: Rows, part: IntArray, classes: IntArray) -> IntArray:
        """The classes of rows in the order of `Numbering.deal`, with near rows gathered if the plan
        requires it, shape (n,).
        """
        if self.widths is None:
            return classes
        return gather_nearest(
            rows,
            part,
            classes,
            self.numbering.blocks(classes),
            self.numbering.locality.key(rows),
            self.widths,
        )
