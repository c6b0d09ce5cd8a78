"""A plan carried out in one process: rows to their classes, classes to their labels, as tasks do it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import Plan
from tclose_spark.stages.generalize import Generalizer
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.rows import Rows


@dataclass(frozen=True, kw_only=True)
class Released:
    """A release that is not written.

    rows: the input's rows that it holds, in its order; labels: the published columns of their quasi-identifiers.
    suppressed: those that it leaves out.
    """

    rows: Rows
    labels: list[pa.Array]
    suppressed: Rows


def carry_out(plan: Plan, attributes: ResolvedAttributes, rows: Rows) -> Released:
    """The release of a table of these rows.

    Raises:
        ValueError: if a row stays in no class, or in two.
    """
    row, task = plan.route(rows)
    order = np.argsort(task, kind="stable")
    row, ends = row[order], np.searchsorted(task[order], np.arange(plan.tasks + 1))
    stayed, classes, regions, left = [], [], [], [np.zeros(0, dtype=np.int64)]
    first = 0
    for number in range(plan.tasks):
        sent = row[ends[number] : ends[number + 1]]
        if not len(sent):
            continue
        settled = plan.settle(rows.take(sent), number)
        stayed.append(sent[settled.here])
        classes.append(settled.classes + (first - int(settled.classes.min(initial=0))))
        first = int(classes[-1].max(initial=first)) + 1
        regions += [] if settled.regions is None else [settled.regions]
        left += [] if settled.suppressed is None else [sent[settled.suppressed]]
    here, suppressed = np.concatenate(stayed), np.concatenate(left)
    _require_each_once(np.concatenate([here, suppressed]), len(rows))
    kept = rows.take(here)
    covered = np.concatenate(regions, axis=2) if regions else None
    published, labels = Generalizer.of(attributes.quasi_identifiers).publish(kept, np.concatenate(classes), [], covered)
    return Released(rows=kept.take(published), labels=labels, suppressed=rows.take(suppressed))


def _require_each_once(here: IntArray, rows: int) -> None:
    if len(here) != rows or np.any(np.bincount(here, minlength=rows) != 1):
        raise ValueError("a row stays in no class, or in two")
