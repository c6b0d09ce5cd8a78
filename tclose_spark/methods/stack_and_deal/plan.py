"""The plan of Stack & Deal: the stack, the number of classes, and the dealing of rows.

Rows are numbered inside their cell (a tuple of sensitive values) by content, with similar rows near
each other. The number alone decides the class (see `numbering`). In layers, the same numbers decide
which rows of a cell a class gets, and each group of classes decides how many of each cell (see
`layers`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from tclose_spark.measures.distances.histograms import rank_tuples
from tclose_spark.methods.attributes import ResolvedAttributes, require_plain
from tclose_spark.methods.dealing.locality import (
    Locality,
    choose_locality,
    deal_sample,
    information_loss,
    label_losses,
    make_digits,
)
from tclose_spark.methods.dealing.nearest import classes_per_block, deal_sample_nearest
from tclose_spark.methods.dealing.numbering import (
    ROWS_PER_TASK,
    Dealt,
    DealtPlan,
    Numbering,
    NumberingModel,
)
from tclose_spark.methods.dealing.stacks import orders, stack_by_frequency, stack_by_value
from tclose_spark.methods.method import ClassAssignment, PlanModel, PlanningInput, PlanReport
from tclose_spark.methods.stack_and_deal.layers import LayeredDeal
from tclose_spark.methods.stack_and_deal.sizing import SizeReport, Stacks, choose_size, layered_deal
from tclose_spark.methods.widths import QuasiWidths
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.rows import Rows


class StackAndDealModel(PlanModel):
    """A `StackAndDealPlan` without what follows from the table.

    near: whether near rows exchange their classes. layered: whether the groups have layers.
    """

    numbering: NumberingModel
    near: bool
    layered: bool


@dataclass(frozen=True)
class StackAndDealPlan(DealtPlan):
    """The plan; see the module.

    layers: for classes that are dealt in layers.
    """

    layers: LayeredDeal | None = None
    sizes: tuple[SizeReport, ...] = ()
    order: str = ""
    loss: float | None = None
    figures: ClassVar[Mapping[str, Literal["sum", "max"]]] = {}

    def assign_classes(self, rows: Rows, task: int) -> ClassAssignment:
        dealt = self.numbering.deal(rows, task)
        classes = (
            dealt.classes if self.layers is None else self._in_layers(dealt, self.layers, task)
        )
        return ClassAssignment(
            here=dealt.here,
            classes=self.gathered(rows.take(dealt.here), dealt.part, classes),
        )

    def _in_layers(self, dealt: Dealt, layers: LayeredDeal, task: int) -> IntArray:
        """The classes of a task's rows as the layers of its groups have them."""
        classes = dealt.classes.copy()
        starts = self.numbering.group_starts
        for number in range(*self.numbering.task_groups[task : task + 2]):
            here = np.flatnonzero(
                (dealt.classes >= starts[number]) & (dealt.classes < starts[number + 1]),
            )
            cells, numbers = layers.group(number)
            if not np.array_equal(cells, dealt.part[here]):
                raise ValueError(
                    "a group has not the rows that the plan counted: the input changed since, or "
                    "rows were lost",
                )
            classes[here] = starts[number] + numbers
        return classes

    def describe(self, figures: Mapping[str, float]) -> Mapping[str, object]:
        """See Plan: the plan has determined everything."""
        return {}

    def to_json(self) -> Mapping[str, object]:
        return StackAndDealModel(
            numbering=self.numbering.model,
            near=self.widths is not None,
            layered=self.layers is not None,
        ).model_dump()

    def report(self) -> PlanReport:
        """See Plan: the class sizes that were tried."""
        sizes = [
            {
                "size": r.size,
                "classes": r.classes,
                "order": r.order,
                "bounds": [str(x) for x in r.bounds],
                "emd": [str(x) for x in r.emd],
                "holds": r.holds,
            }
            for r in self.sizes
        ]
        details = {
            "classes": self.numbering.classes,
            "order": self.order,
            "loss_on_sample": self.loss,
            "sizes": sizes,
        }
        return PlanReport(figures=self.numbering.report(), details=details)

    @staticmethod
    def from_json(
        tree: Mapping[str, object],
        attributes: ResolvedAttributes,
    ) -> StackAndDealPlan:
        """The plan that `to_json` wrote for this run, without what is only reported."""
        model = StackAndDealModel.model_validate(tree)
        numbering = Numbering.of_model(
            model.numbering,
            np.arange(len(attributes.cells)),
            attributes.cell_rows,
        )
        widths = QuasiWidths(attributes.quasi_identifiers) if model.near else None
        if not model.layered:
            return StackAndDealPlan(numbering, widths)
        return StackAndDealPlan(
            numbering,
            widths,
            layered_deal(attributes, numbering.stack, numbering.classes),
        )


def make_stacks(given: PlanningInput) -> Stacks:
    """The candidate stacks: the one that the settings name, or a portfolio.

    By default, one attribute is stacked by value if its distance follows an order, otherwise by
    frequency. Several attributes have the portfolio.
    """
    matrix = given.attributes.matrix
    sensitive = given.attributes.sensitive
    alone = "value" if sensitive[0].distance.features.cumulative else "frequency"
    default = "best" if len(sensitive) > 1 else alone
    order = given.settings.stack_order or default
    if order == "best":
        return list(orders(matrix, tuple(s.name for s in sensitive if not s.of)))
    if order == "value":
        return [(order, stack_by_value(matrix.counts))]
    return [(order, stack_by_frequency(matrix.counts, rank_tuples(matrix.codes)))]


def plan_stack_and_deal(
    given: PlanningInput,
    rows_per_task: int = ROWS_PER_TASK,
) -> StackAndDealPlan:
    """Plans Stack & Deal. The classes do not depend on rows_per_task.

    Raises:
        UnreachableError: see `choose_size`; nothing is counted before.
        ConfigurationError: if classes are to be dealt in layers and a distance has steps that
            differ.
    """
    attributes = given.attributes
    sample = given.sample
    if given.settings.deal == "layered":
        require_plain(attributes.sensitive, "deal: layered")
    stacks = make_stacks(given)
    report, sizes = choose_size(given, stacks)
    stack = dict(stacks)[report.order]
    locality = Locality(make_digits(attributes.quasi_identifiers, sample))
    deal = given.settings.deal
    cells = sample.cell
    loss_of = label_losses(attributes.quasi_identifiers)
    if deal != "round_robin":
        locality = choose_locality(locality, sample, cells, stack, report.size, loss_of)
    near = None if deal == "round_robin" else QuasiWidths(attributes.quasi_identifiers)
    dealt = (deal_sample if near is None else partial(deal_sample_nearest, quasi_widths=near))(
        locality,
        sample,
        cells,
        stack,
        report.size,
    )
    loss = information_loss(sample, dealt, loss_of)
    layers = None
    groups = None if near is None else -(-report.classes // classes_per_block(report.size))
    if deal == "layered":
        layers = layered_deal(attributes, stack, report.classes)
        groups = len(layers.starts) - 1
    parts = np.arange(len(stack.counts))
    numbering = Numbering.of(
        parts,
        stack,
        report.classes,
        locality,
        sample,
        given.counts,
        rows_per_task,
        groups,
    )
    return StackAndDealPlan(numbering, near, layers, tuple(sizes), report.order, loss)
