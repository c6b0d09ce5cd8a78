"""Tables for the exact method, and its plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from papers.test_liang_yuan import CELLS, DISEASE
from strategies import Problem, Record, make_problem

from tclose_spark.in_memory.release import (
    PublishedClasses,
    SampleFigures,
    apply_plan,
    judged,
    measure,
)
from tclose_spark.methods.method import ClassAssignment, PlanningInput
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.rows import Rows
from tclose_spark.table.tally import LocalRows

DIGITS: dict[str, dict[str, Any]] = {f"c{i}": {} for i in range(8)}
TABLE_1: list[Record] = [
    {**dict(zip(DIGITS, cells, strict=True)), "disease": disease}
    for cells, disease in zip(CELLS, DISEASE, strict=True)
]
"""Liang and Yuan's Table 1, every digit a quasi-identifier."""


def problem_of(
    records: Sequence[Record],
    sensitive: Mapping[str, Any],
    k: int,
    **asked: Any,
) -> tuple[Problem, Rows]:
    """asked: `quasi`, `hierarchies`, and settings of the method."""
    shape = {name: asked.pop(name) for name in ("quasi", "hierarchies") if name in asked}
    problem, rows = make_problem(records, sensitive, k=k, **shape)
    method = {"method": {"name": "exact", **asked}}
    spec = type(problem.spec).model_validate(problem.spec.model_dump(exclude={"method"}) | method)
    limits = {
        name: quasi.limits
        for name, quasi in spec.attributes.quasi_identifiers.items()
        if quasi.limits
    }
    domains = [
        replace(d, low=int(limits[d.name][0]), high=int(limits[d.name][1]), known=True)
        if d.name in limits
        else d
        for d in problem.profile.quasi
    ]
    return replace(problem, spec=spec, profile=replace(problem.profile, quasi=tuple(domains))), rows


def given(problem: Problem, rows: Rows) -> PlanningInput:
    """What the exact method plans from."""
    return replace(problem.given(), frequencies=LocalRows(rows).frequencies)


@dataclass(frozen=True)
class Fixed:
    """A plan of given classes. classes: of each row, shape (rows,)."""

    classes: IntArray
    tasks: ClassVar[int] = 1
    figures: ClassVar[dict[str, Any]] = {}

    def route(self, rows: Rows) -> tuple[IntArray, IntArray]:
        return np.arange(len(rows)), np.zeros(len(rows), dtype=np.int64)

    def assign_classes(self, rows: Rows, task: int) -> ClassAssignment:
        return ClassAssignment(here=np.arange(len(rows)), classes=self.classes)

    def describe(self, figures: Mapping[str, float]) -> dict[str, Any]:
        return {}


def certified_losses(plan: Any, problem: Problem, rows: Rows) -> dict[str, float]:
    """The loss of a plan's release by quasi-identifier, over what its labels name, as the
    certificate has it.
    """
    classes = PublishedClasses.of(
        apply_plan(plan, problem.attributes, rows, problem.spec),
        problem.spec,
    )
    quasi = judged(classes, problem.spec, problem.hierarchies)
    return {
        q.name: float(q.losses(classes.labels[q.name]) @ classes.sizes) / len(rows) for q in quasi
    }


def figures_of(plan: Any, problem: Problem, rows: Rows) -> SampleFigures:
    """What a plan's release achieves, measured on its published labels."""
    released = apply_plan(plan, problem.attributes, rows, problem.spec)
    classes = PublishedClasses.of(released, problem.spec)
    return measure(released, classes, problem.attributes, problem.spec, problem.hierarchies)
