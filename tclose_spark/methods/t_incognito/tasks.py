"""The task that completes each group."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tclose_spark.methods.method import PlanningInput
from tclose_spark.methods.t_incognito.frequency_sets import frequency_set
from tclose_spark.methods.t_incognito.plan import TIncognitoPlan
from tclose_spark.methods.t_incognito.requirement import GroupRequirement
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.rows import Rows
from tclose_spark.table.tally import Tally

ROWS_PER_TASK = 500_000


def with_tasks(
    plan: TIncognitoPlan,
    given: PlanningInput,
    requirement: GroupRequirement,
    sizes: tuple[IntArray, IntArray],
    compared: IntArray,
    rows_per_task: int = ROWS_PER_TASK,
) -> TIncognitoPlan:
    """The plan with tasks of about `rows_per_task` rows; the classes as published do not depend on it.

    sizes: (keys of all groups, ascending; rows of each).
    compared: rows of each cell of what distances are measured from, shape (cells,).
    """
    keys, rows = sizes
    wide = np.flatnonzero(rows > rows_per_task)
    parts_of = _parts(plan, given, requirement, keys[wide], rows[wide], compared, rows_per_task) if len(wide) else {}
    first: list[int] = []
    parts: list[int] = []
    task_rows: list[int] = []
    room = 0
    for key, n in zip(keys.tolist(), rows.tolist(), strict=True):
        shared = parts_of.get(key)
        if shared is not None or n > room or not first:
            first.append(key)
            parts.append(1 if shared is None else len(shared))
            task_rows += [n] if shared is None else shared.tolist()
            room = 0 if shared is not None else rows_per_task - n
        else:
            task_rows[-1] += n
            room -= n
    return replace(
        plan,
        first=np.array(first, dtype=np.int64),
        parts=np.array(parts, dtype=np.int64),
        rows=np.array(task_rows, dtype=np.int64),
    )


def _parts(
    plan: TIncognitoPlan,
    given: PlanningInput,
    requirement: GroupRequirement,
    keys: IntArray,
    rows: IntArray,
    compared: IntArray,
    rows_per_task: int,
) -> dict[int, IntArray]:
    """For each of these large groups, by its key: rows of each part. Parts are the remainders of the rows' hashes, a
    power of two, the largest at which each part is a class by itself, or the group is suppressed.
    """
    most = 1
    while most * rows_per_task < rows.max():
        most *= 2

    def tally_of(sample: Rows) -> Tally:
        key = plan.keys(sample)
        here = np.flatnonzero(np.isin(key, keys))
        part = (sample.hash[here] % np.uint64(most)).astype(np.int64)
        return Tally.of(np.stack([np.searchsorted(keys, key[here]), part, sample.cell[here]]))

    tally = given.frequencies(tally_of, len(keys) * most * len(given.attributes.cells))
    result, left = {}, set(plan.suppressed.tolist())
    for number, (key, n) in enumerate(zip(keys.tolist(), rows.tolist(), strict=True)):
        mine = tally.take(np.flatnonzero(tally.keys[0] == number))
        parts = most
        while parts * rows_per_task >= 2 * n:
            parts //= 2
        while parts > 1 and not _all_hold(mine, parts, requirement, compared, key in left):
            parts //= 2
        result[key] = np.bincount(mine.keys[1] % parts, weights=mine.rows, minlength=parts).astype(np.int64)
    return result


def _all_hold(mine: Tally, parts: int, requirement: GroupRequirement, compared: IntArray, suppressed: bool) -> bool:
    """Whether each part is a class by itself; suppressed rows need not be, but no part is empty."""
    _, part, cell = mine.keys
    counts = np.zeros((parts, len(compared)), dtype=np.int64)
    np.add.at(counts, (part % parts, cell), mine.rows)
    if not counts.any(axis=1).all():
        return False
    return suppressed or not requirement.broken(frequency_set(counts), compared).any()
