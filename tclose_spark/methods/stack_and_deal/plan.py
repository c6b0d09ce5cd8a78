"""The plan of Stack & Deal: how many classes, in which order the rows are stacked, and where each row's number comes from.

Rows are numbered inside buckets: a bucket is a cell (a value of the sensitive attribute) and a stretch of the order
inside it. The counts of all buckets give each its first rank, so a task that has whole buckets knows the exact rank of
every row in them, and with it the class, without any window over the table. A task makes a range of classes; a bucket
whose ranks reach into two tasks is sent to both, and each keeps its own rows: one shuffle, by class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, Literal

import numpy as np

from tclose_spark.domains import Profile
from tclose_spark.labels import range_losses
from tclose_spark.measures.histograms import IntArray
from tclose_spark.methods.method import GroupCounts, Problem, Settled
from tclose_spark.methods.stack_and_deal.dealing import Shares, Stack, stack_by_frequency, stack_by_value
from tclose_spark.methods.stack_and_deal.locality import Digit, Locality, choose_locality, make_digits
from tclose_spark.methods.stack_and_deal.sizing import SizeReport, choose_size
from tclose_spark.rows import HashArray, Rows

SAMPLE_ROWS = 20_000
ROWS_PER_TASK = 500_000
BUCKETS_PER_TASK = 16  # a task reads about 1/16 more rows than it keeps
MOST_BUCKETS = 1 << 22  # cells times stretches: what the driver and every task hold


@dataclass(frozen=True)
class StackAndDealPlan:
    """See the module. cuts: ascending order keys at which a new stretch begins; bucket_counts: shape (cells, stretches)."""

    stack: Stack
    classes: int
    tasks: int
    locality: Locality
    cuts: HashArray
    bucket_counts: IntArray
    sizes: tuple[SizeReport, ...] = ()
    figures: ClassVar[Mapping[str, Literal["sum", "max"]]] = {}

    @cached_property
    def _first_class(self) -> IntArray:
        """The first class of each task, shape (tasks,)."""
        return np.arange(self.tasks, dtype=np.int64) * self.classes // self.tasks

    @cached_property
    def _shares(self) -> Shares:
        return Shares.of(self.stack, self.classes)

    @cached_property
    def _first_rank(self) -> IntArray:
        """Rank, inside its cell, of the first row of each bucket, shape (cells, stretches)."""
        return np.cumsum(self.bucket_counts, axis=1) - self.bucket_counts

    @cached_property
    def _task_range(self) -> tuple[IntArray, IntArray]:
        """First task and number of tasks of each bucket, both of shape (cells * stretches,)."""
        cell = np.repeat(np.arange(len(self.bucket_counts)), self.bucket_counts.shape[1])
        first = self._first_rank.ravel()
        last = np.maximum(first + self.bucket_counts.ravel() - 1, first)
        tasks = [np.searchsorted(self._first_class, self._shares.class_of(cell, rank), side="right") - 1 for rank in (first, last)]
        return tasks[0], np.where(self.bucket_counts.ravel() > 0, tasks[1] - tasks[0] + 1, 0)

    def route(self, rows: Rows) -> tuple[IntArray, IntArray]:
        """See Plan."""
        bucket = bucket_of(rows, self.locality.key(rows), self.cuts)
        first, tasks = self._task_range
        copies = tasks[bucket]
        if np.any(copies == 0):
            raise ValueError("a row is in a bucket that was empty when the plan was made: the input changed since")
        row = np.repeat(np.arange(len(rows)), copies)
        nth = np.arange(len(row)) - np.repeat(np.cumsum(copies) - copies, copies)
        return row, first[bucket][row] + nth

    @property
    def blocks(self) -> int:
        """See Plan: here, the tasks."""
        return self.tasks

    def settle(self, rows: Rows, task: int) -> Settled:
        """See Plan."""
        key = self.locality.key(rows)
        bucket = bucket_of(rows, key, self.cuts)
        order = sort_by_content(rows, key)
        bucket = bucket[order]
        begins = np.flatnonzero(np.diff(bucket, prepend=-1))
        found = np.diff(np.append(begins, len(bucket)))
        first, tasks = self._task_range
        expected = np.flatnonzero((first <= task) & (task < first + tasks))
        if not np.array_equal(bucket[begins], expected) or np.any(found != self.bucket_counts.ravel()[expected]):
            raise ValueError("a bucket has not the rows that the plan counted: the input changed since, or rows were lost")
        rank = self._first_rank.ravel()[bucket] + np.arange(len(bucket)) - np.repeat(begins, found)
        classes = self._shares.class_of(rows.cell[order], rank)
        bounds = np.append(self._first_class, self.classes)
        stays = (classes >= bounds[task]) & (classes < bounds[task + 1])
        return Settled(order[stays], classes[stays])

    def describe(self, figures: Mapping[str, float]) -> dict[str, Any]:
        """See Plan: the plan says it all beforehand."""
        return {}

    def to_json(self) -> dict[str, Any]:
        """See Plan."""
        return {
            "classes": self.classes,
            "class_size": self.stack.rows // self.classes,
            "tasks": self.tasks,
            "stack_order": self.stack.order.tolist(),
            "locality": {
                "order": list(self.locality.order),
                "digits": [[d.categories, d.bins] for d in self.locality.digits],
            },
            "cuts": [str(cut) for cut in self.cuts.tolist()],
            "bucket_counts": self.bucket_counts.tolist(),
            "sizes": [{"size": r.size, "classes": r.classes, "emd": [str(x) for x in r.emd], "holds": r.holds} for r in self.sizes],
        }

    @staticmethod
    def from_json(tree: Mapping[str, Any], profile: Profile) -> StackAndDealPlan:
        """The plan that `to_json` wrote, for the profile it was made from (the sizes looked at are left out)."""
        digits = tuple(Digit(categories, None if bins is None else tuple(bins)) for categories, bins in tree["locality"]["digits"])
        return StackAndDealPlan(
            Stack(np.array(tree["stack_order"], dtype=np.int64), profile.cell_table),
            tree["classes"],
            tree["tasks"],
            Locality(digits, tuple(tree["locality"]["order"])),
            np.array([int(cut) for cut in tree["cuts"]], dtype=np.uint64),
            np.array(tree["bucket_counts"], dtype=np.int64).reshape(len(profile.cells), -1),
        )


def bucket_of(rows: Rows, key: HashArray, cuts: HashArray) -> IntArray:
    """The bucket of each row: its cell, and the stretch of the order that its key is in, shape (n,)."""
    return rows.cell * (len(cuts) + 1) + np.searchsorted(cuts, key, side="right")


def sort_by_content(rows: Rows, key: HashArray) -> IntArray:
    """The order of rows by cell, order key, hash and all codes, shape (n,): total over content.

    Cell and key in one number sort several times faster than all of them one by one; the few rows that agree in both
    are put right after.
    """
    bits = int(rows.cell.max(initial=0)).bit_length()
    if int(key.max(initial=0)) >> (64 - bits) if bits else 0:
        return np.lexsort((*rows.quasi, rows.hash, key, rows.cell))
    both = key | (rows.cell.astype(np.uint64) << np.uint64(64 - bits)) if bits else key
    order = np.argsort(both)
    both = both[order]
    alike = both[1:] == both[:-1]
    ties = np.flatnonzero(np.append(alike, False) | np.append(False, alike))
    tied = order[ties]
    order[ties] = tied[np.lexsort((*[codes[tied] for codes in rows.quasi], rows.hash[tied], both[ties]))]
    return order


def make_stack(problem: Problem) -> Stack:
    """The stack in the order that is asked; by value where all distances are ordered and nothing is asked."""
    ordered = all(a.distance == "ordered" for a in problem.spec.attributes.sensitive_attributes.values())
    asked = problem.stack_and_deal.stack_order or ("value" if ordered else "frequency")
    return (stack_by_value if asked == "value" else stack_by_frequency)(problem.profile.cell_table)


def make_plan(problem: Problem, counts: GroupCounts, rows_per_task: int = ROWS_PER_TASK) -> StackAndDealPlan:
    """Plans Stack & Deal. The classes do not depend on rows_per_task.

    Raises:
        UnreachableError: see `choose_size`; nothing is counted before.
    """
    stack = make_stack(problem)
    report, sizes = choose_size(problem, stack)
    locality = Locality(make_digits(problem.profile.quasi, problem.sample))
    if problem.stack_and_deal.deal == "local":
        asked = problem.spec.attributes.quasi_identifiers
        widths = [
            partial(range_losses, domain=domain, quasi=asked[domain.name], hierarchy=problem.hierarchies.get(domain.name))
            for domain in problem.profile.quasi
        ]
        locality = choose_locality(locality, problem.sample, stack, report.size, widths)
    most = max(MOST_BUCKETS // len(stack.counts), 1)
    tasks = min(report.classes, -(-stack.rows // rows_per_task), most)
    cuts = _cut_evenly(np.sort(locality.key(problem.sample)), min(tasks * BUCKETS_PER_TASK, most))
    groups = len(stack.counts) * (len(cuts) + 1)
    found = counts(lambda rows: bucket_of(rows, locality.key(rows), cuts), groups).reshape(len(stack.counts), -1)
    return StackAndDealPlan(stack, report.classes, tasks, locality, cuts, found, tuple(sizes))


def _cut_evenly(keys: HashArray, stretches: int) -> HashArray:
    """Order keys that cut sorted keys of a sample into even stretches."""
    places = np.arange(1, stretches) * len(keys) // stretches
    return np.unique(keys[places]) if len(keys) else keys
