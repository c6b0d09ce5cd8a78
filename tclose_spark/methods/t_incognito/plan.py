"""The plan of t-Incognito: one node of the lattice, so one label for each value, and the suppressed
groups.

A task completes consecutive groups in the order of their labels. A group that is too large for a
task is dealt to several by the rows' hashes, in parts that are classes by themselves, counted
beforehand.

Two passes count the whole table: the values of each quasi-identifier, then the base, from which the
frequency sets of all nodes follow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from tclose_spark.errors import UnreachableError
from tclose_spark.methods.method import (
    ClassAssignment,
    Integers,
    PlanModel,
    PlanningInput,
    PlanReport,
)
from tclose_spark.methods.t_incognito.frequency_sets import FrequencySet, number_tuples
from tclose_spark.methods.t_incognito.levels import Levels
from tclose_spark.methods.t_incognito.losses import LatticeNode
from tclose_spark.table.arrays import WIDEST, Codes, IntArray
from tclose_spark.table.rows import Rows
from tclose_spark.table.tally import Tally, TooManyKeysError


class TIncognitoModel(PlanModel):
    """A `TIncognitoPlan` without what is only reported."""

    low: tuple[Integers, ...]
    high: tuple[Integers, ...]
    first: Integers
    parts: Integers
    rows: Integers
    suppressed: Integers


@dataclass(frozen=True, kw_only=True)
class TIncognitoPlan:
    """The plan; see the module. A group has a key, an integer that encodes its labels.

    low: the lowest code of each label, by quasi-identifier, ascending arrays of shape (labels,).
    high: the highest one.
    first: the lowest key of each span of groups, ascending, shape (spans,).
    parts: the number of tasks that share a span, shape (spans,); a shared span has one group only.
    rows: of each task, shape (tasks,).
    suppressed: keys of the suppressed groups, ascending.
    """

    low: tuple[IntArray, ...]
    high: tuple[IntArray, ...]
    first: IntArray
    parts: IntArray
    rows: IntArray
    suppressed: IntArray
    reported: PlanReport = field(default_factory=lambda: PlanReport(figures={}))
    figures: ClassVar[Mapping[str, Literal["sum", "max"]]] = {"classes": "sum", "largest": "max"}

    @property
    def tasks(self) -> int:
        return len(self.rows)

    @property
    def blocks(self) -> int:
        return self.tasks

    @cached_property
    def _first_task(self) -> IntArray:
        """Of each span, shape (spans,)."""
        return np.cumsum(self.parts) - self.parts

    def keys(self, rows: Rows) -> IntArray:
        """The group of each row, shape (n,)."""
        return group_keys(labels_of(rows, self.low), [len(low) for low in self.low])

    def route(self, rows: Rows) -> tuple[IntArray, IntArray]:
        return np.arange(len(rows)), self._task_of(rows, self.keys(rows))

    def _task_of(self, rows: Rows, keys: IntArray) -> IntArray:
        span = np.searchsorted(self.first, keys, side="right") - 1
        parts = self.parts[span]
        return self._first_task[span] + (rows.hash % parts.astype(np.uint64)).astype(np.int64)

    def assign_classes(self, rows: Rows, task: int) -> ClassAssignment:
        keys = self.keys(rows)
        if len(rows) != self.rows[task] or np.any(self._task_of(rows, keys) != task):
            raise ValueError(
                "a task has not the rows that the plan counted: the input changed since, or rows "
                "were lost",
            )
        left = np.isin(keys, self.suppressed)
        here = np.flatnonzero(~left)
        _, classes, sizes = np.unique(keys[here], return_inverse=True, return_counts=True)
        labels = labels_of(rows.take(here), self.low)
        regions = [
            [end[label] for end, label in zip(ends, labels, strict=True)]
            for ends in (self.low, self.high)
        ]
        return ClassAssignment(
            here=here,
            classes=classes,
            regions=np.array(regions, dtype=np.int64).reshape(2, len(self.low), len(here)),
            figures={"classes": len(sizes), "largest": int(sizes.max(initial=0))},
            suppressed=np.flatnonzero(left),
        )

    def to_json(self) -> Mapping[str, object]:
        return TIncognitoModel.of(self).model_dump()

    @staticmethod
    def from_json(tree: Mapping[str, object]) -> TIncognitoPlan:
        """The plan that `to_json` wrote, without what is only reported."""
        return TIncognitoPlan(**dict(TIncognitoModel.model_validate(tree)))

    def report(self) -> PlanReport:
        return self.reported

    def describe(self, figures: Mapping[str, float]) -> Mapping[str, object]:
        """See Plan. A class that several tasks share is counted in each."""
        return {"classes": int(figures["classes"]), "largest_in_a_task": int(figures["largest"])}


def group_keys(labels: Sequence[Codes | IntArray], sizes: Sequence[int]) -> IntArray:
    """An integer for each group, shape (n,), in the order of the labels. sizes: the number of
    labels of each quasi-identifier.

    >>> group_keys([np.array([0, 1]), np.array([2, 0])], [2, 3]).tolist()
    [2, 3]

    Raises:
        UnreachableError: if 62 bits do not hold them.
    """
    key = np.zeros(len(labels[0]), dtype=np.int64)
    bound = 1
    for label, size in zip(labels, sizes, strict=True):
        key = key * size + label
        bound = bound * size
        if bound > WIDEST:
            raise UnreachableError(
                "method: t_incognito numbers the combinations of labels, and they pass 2^62; "
                "leave quasi-identifiers out",
            )
    return key


MOST_KEYS = 4_000_000  # that the driver holds, some hundred bytes each while they are sorted


def counted(given: PlanningInput, tally_of: Callable[[Rows], Tally], what: str) -> Tally:
    """The tally of the whole table.

    Raises:
        UnreachableError: if it has more keys than the driver may hold.
    """
    try:
        return given.frequencies(tally_of, MOST_KEYS)
    except TooManyKeysError:
        raise UnreachableError(
            f"method: t_incognito counts {what} on the driver, and the table has more than "
            f"{MOST_KEYS:,}; give quasi-identifiers of many values a coarser first level or "
            "round_to, or use method: {name: closeness_tree}",
        ) from None


def count_codes(given: PlanningInput) -> list[tuple[IntArray, IntArray, FrequencySet]]:
    """Of each quasi-identifier: (its values in the table as codes, ascending; rows of each; its
    frequency set by value).
    """
    tally = counted(
        given,
        _tally_values,
        "the values of each quasi-identifier with each sensitive value",
    )
    counted_values = []
    for place in range(len(given.attributes.quasi_identifiers)):
        first, end = np.searchsorted(tally.keys[0], [place, place + 1])
        part = tally.take(np.arange(first, end))
        codes, group = np.unique(part.keys[1], return_inverse=True)
        groups = FrequencySet(
            labels=np.arange(len(codes), dtype=np.int32)[None, :],
            group=group,
            cell=part.keys[2],
            rows=part.rows,
        )
        counted_values.append((codes, groups.sizes, groups))
    return counted_values


def _tally_values(rows: Rows) -> Tally:
    """Keys: the place of a quasi-identifier, a value's code, a cell."""
    parts = []
    for place, codes in enumerate(rows.quasi):
        tally = Tally.of(np.stack([codes, rows.cell]))
        parts.append(
            Tally(np.concatenate([np.full((1, len(tally)), place), tally.keys]), tally.rows),
        )
    return Tally(
        np.concatenate([p.keys for p in parts], axis=1),
        np.concatenate([p.rows for p in parts]),
    )


def count_base(given: PlanningInput, levels: Sequence[Levels], node: LatticeNode) -> FrequencySet:
    """The frequency set of all quasi-identifiers at a node."""
    lows = [of.levels[level].low for of, level in zip(levels, node, strict=True)]
    sizes = [*(len(low) for low in lows), len(given.attributes.cells)]
    words = _packed(sizes)

    def tally_of(rows: Rows) -> Tally:
        columns = [*labels_of(rows, lows), rows.cell]
        keys = np.zeros((len(words), len(rows)), dtype=np.int64)
        for key, places in zip(keys, words, strict=True):
            for place in places:
                key *= sizes[place]
                key += columns[place]
        return Tally.of(keys)

    tally = counted(
        given,
        tally_of,
        "the combinations of quasi-identifiers with each sensitive value",
    )
    columns = [np.zeros(0, dtype=np.int64)] * len(sizes)
    for key, places in zip(tally.keys, words, strict=True):
        rest = key
        for place in reversed(places):
            rest, columns[place] = rest // sizes[place], rest % sizes[place]
    first, group = number_tuples(columns[:-1], sizes[:-1])
    labels = np.stack([column[first] for column in columns[:-1]]).astype(np.int32)
    return FrequencySet(labels=labels, group=group, cell=columns[-1], rows=tally.rows)


def labels_of(rows: Rows, lows: Sequence[IntArray]) -> list[Codes | IntArray]:
    """The label of each row, by quasi-identifier, arrays of shape (n,). lows: the lowest code of
    each label.
    """
    return [
        np.searchsorted(low, codes, side="right") - 1
        for low, codes in zip(lows, rows.quasi, strict=True)
    ]


def _packed(sizes: Sequence[int]) -> list[list[int]]:
    """The places of columns of so many codes, in words of 62 bits."""
    words: list[list[int]] = [[]]
    room = WIDEST
    for place, size in enumerate(sizes):
        if size > room:
            words.append([])
            room = WIDEST
        words[-1].append(place)
        room //= size
    return words
