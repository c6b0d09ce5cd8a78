"""A method that another package brings: classes of every k rows in the order of one
quasi-identifier. It may suppress those that come last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import (
    ClassAssignment,
    Method,
    PlanningInput,
    PlanReport,
    require_rows,
)
from tclose_spark.runfile.attributes import SensitiveAttribute
from tclose_spark.runfile.registry import MethodSettings
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.rows import Rows


class EveryK(MethodSettings):
    """Its section of a run file.

    by: the place of the quasi-identifier.
    others: whether the labels of the others are the classes' own, their whole domain (a global
        recoding), or a lie: the lowest value.
    suppress: how many rows it leaves out, whatever is allowed.
    mistake: with one row that it leaves out (or else with the last one).
    any_t: a t is taken, and not looked at.
    apart: it promises regions that do not overlap; they do not with others=whole, where no value of
        `by` is cut in two.
    """

    suppresses: ClassVar[bool] = True
    counts_people: ClassVar[bool] = True  # it counts rows, but may be lucky
    makes_l: ClassVar[tuple[str, ...]] = ("distinct",)  # it looks at none, but may be lucky
    name: Literal["every_k"] = "every_k"
    by: int = 0
    others: Literal["own", "whole", "lowest"] = "own"
    suppress: int = 0
    mistake: Literal["none", "lost", "suppressed twice", "suppressed and kept"] = "none"
    any_t: bool = False
    apart: bool = False

    @property
    def promises_disjoint(self) -> bool:
        """See MethodSettings."""
        return self.apart


@dataclass(frozen=True)
class EveryKPlan:
    """What tasks need.

    rows: of the table.
    k: of a class.
    domains: lowest and highest code of each quasi-identifier.
    most: that may be suppressed.
    """

    rows: int
    k: int
    settings: EveryK
    domains: tuple[tuple[int, int], ...]
    most: int = 0
    figures: ClassVar[Mapping[str, Literal["sum", "max"]]] = {"rows": "sum"}
    tasks = blocks = 1

    def route(self, rows: Rows) -> tuple[IntArray, IntArray]:
        """All rows to one task."""
        return np.arange(len(rows)), np.zeros(len(rows), dtype=np.int64)

    def assign_classes(self, rows: Rows, task: int) -> ClassAssignment:
        """The classes, and the regions where labels are not the classes' own."""
        if len(rows) != self.rows:
            raise ValueError("rows were lost, or the input changed since")
        order = np.lexsort((rows.sorted_by_hash().argsort(), rows.quasi[self.settings.by]))
        stay, left = np.split(order, [len(rows) - self.settings.suppress])
        if self.settings.mistake == "lost":
            stay, left = (stay, left[1:]) if len(left) else (stay[:-1], left)
        elif self.settings.mistake == "suppressed twice":
            left = np.append(left, left[:1])
        elif self.settings.mistake == "suppressed and kept":
            stay = np.append(stay, left[:1])
        classes = np.minimum(np.arange(len(stay)) // self.k, len(stay) // self.k - 1)
        regions = self._regions(rows.take(stay), classes)
        return ClassAssignment(
            here=stay,
            classes=classes,
            regions=regions,
            figures={"rows": len(rows)},
            suppressed=left,
        )

    def _regions(self, rows: Rows, classes: IntArray) -> IntArray | None:
        if self.settings.others == "own":
            return None
        regions = np.empty((2, len(rows.quasi), len(rows)), dtype=np.int64)
        for i, (low, high) in enumerate(self.domains):
            regions[:, i] = [[low], [high if self.settings.others == "whole" else low]]
        order = np.argsort(classes, kind="stable")
        starts = np.flatnonzero(np.diff(classes[order], prepend=-1))
        for bound, extreme in zip(regions, (np.minimum, np.maximum), strict=True):
            bound[self.settings.by] = extreme.reduceat(rows.quasi[self.settings.by][order], starts)[
                classes
            ]
        return regions

    def to_json(self) -> Mapping[str, object]:
        """See Plan."""
        return {"rows": self.rows, "most": self.most}

    def report(self) -> PlanReport:
        """See Plan."""
        return PlanReport(
            figures={"classes": self.rows // self.k, "most_suppressed": self.most},
            note=f"{self.rows // self.k} classes",
        )

    def describe(self, figures: Mapping[str, float]) -> dict[str, Any]:
        """See Plan."""
        return {"rows": int(figures["rows"])}


def supports(settings: EveryK, sensitive: Mapping[str, SensitiveAttribute]) -> None:
    """Raises ValueError for a t, which is not looked at."""
    if any(attribute.t is not None for attribute in sensitive.values()) and not settings.any_t:
        raise ValueError("method: every_k looks at no t; expected t: measure")


def make_plan(given: PlanningInput) -> EveryKPlan:
    """The plan; the whole table is one task."""
    require_rows(given.k, given.attributes)
    given.log("nothing to look at")
    tree = {"rows": given.attributes.rows, "most": given.most_suppressed}
    return read_plan(tree, given.attributes, given.k, given.settings)


def read_plan(
    tree: Mapping[str, Any],
    attributes: ResolvedAttributes,
    k: int,
    settings: EveryK,
) -> EveryKPlan:
    """The plan that `to_json` wrote."""
    domains = [q.domain for q in attributes.quasi_identifiers]
    ends = tuple(
        (0, len(d.values) - 1) if d.kind == "category" else (int(d.low), int(d.high))
        for d in domains
    )
    return EveryKPlan(tree["rows"], k, settings, ends, tree["most"])


METHOD = Method(
    name="every_k",
    settings=EveryK,
    supports=supports,
    sample_rows=lambda settings, rows: 10,
    make_plan=make_plan,
    read_plan=read_plan,
    tables=lambda name, report, settings, sensitive: ([], [f"{name}: {report.note}"]),
)
