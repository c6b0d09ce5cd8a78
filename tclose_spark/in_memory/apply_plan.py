"""A plan carried out in one process: rows to classes, and classes to labels, as the tasks of a
release do it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.blocks.layout import together
from tclose_spark.methods.method import Plan
from tclose_spark.options.suppression.limits import LabelLimits
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.stages.generalize import Generalizer
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.rows import Rows


@dataclass(frozen=True, kw_only=True)
class Released:
    """A release that is not written.

    rows: the released rows, in order. labels: the published columns of their quasi-identifiers.
    suppressed: the rows left out, by the method or because their labels are too coarse.
    """

    rows: Rows
    labels: list[pa.Array]
    suppressed: Rows


def apply_plan(
    plan: Plan, attributes: ResolvedAttributes, rows: Rows, spec: ReleaseSpec
) -> Released:
    """The release of a table of these rows.

    Raises:
        ValueError: if a row is in no class, or in two.
        UnreachableError: if the method makes no classes that meet the requirements.
    """
    row, task = plan.route(rows)
    order = np.argsort(task, kind="stable")
    row = row[order]
    ends = np.searchsorted(task[order], np.arange(plan.tasks + 1))
    stayed = []
    classes = []
    regions = []
    left = [np.zeros(0, dtype=np.int64)]
    tasks = []
    figures = []
    first = 0
    for number in range(plan.tasks):
        sent = row[ends[number] : ends[number + 1]]
        if not len(sent):
            continue
        settled = plan.assign_classes(rows.take(sent), number)
        stayed.append(sent[settled.here])
        tasks.append(np.full(len(settled.here), number))
        figures.append(settled.figures)
        classes.append(settled.classes + (first - int(settled.classes.min(initial=0))))
        first = int(classes[-1].max(initial=first)) + 1
        regions += [] if settled.regions is None else [settled.regions]
        left += [] if settled.suppressed is None else [sent[settled.suppressed]]
    here = np.concatenate(stayed)
    suppressed = np.concatenate(left)
    _require_each_once(np.concatenate([here, suppressed]), len(rows))
    plan.describe(together(figures, plan.figures))
    kept = rows.take(here)
    covered = np.concatenate(regions, axis=2) if regions else None
    generalizer = Generalizer.of(
        attributes.quasi_identifiers, disjoint=spec.method.promises_disjoint
    )
    published, labels = generalizer.publish(kept, np.concatenate(classes), [], covered)
    coarse = _left_out(LabelLimits.of(spec, attributes), np.concatenate(tasks)[published], labels)
    return Released(
        rows=kept.take(published[~coarse]),
        labels=[column.filter(pa.array(~coarse)) for column in labels],
        suppressed=rows.take(np.concatenate([suppressed, here[published[coarse]]])),
    )


def _left_out(limits: LabelLimits, task: IntArray, labels: Sequence[pa.Array]) -> NDArray[np.bool_]:
    """Which rows are left out because their labels are too coarse, shape (rows,). task: of each
    row.
    """
    coarse = np.zeros(len(task), dtype=np.bool_)
    if not limits.most or all(limit is None for limit, _ in limits.limits):
        return coarse
    for number in np.unique(task):
        place = np.flatnonzero(task == number)
        of_task = [column.take(pa.array(place)) for column in labels]
        coarse[limits.suppress(place, of_task, len(place))[2]] = True
    return coarse


def _require_each_once(here: IntArray, rows: int) -> None:
    if len(here) != rows or np.any(np.bincount(here, minlength=rows) != 1):
        raise ValueError("a row is in no class, or in two")
