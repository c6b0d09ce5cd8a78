"""The plan of fragmentation: search, size, and deal the fragments' rows to classes.

Rows of a fragment may replace each other. Classes take their share of each fragment from rows with
similar quasi-identifiers (`dealing.numbering`, then GENERATE-CLASSES inside blocks of classes). The
papers take the first fragmentation of the search whose bounds meet every t. Here, many are tried on
the sample, and the one that loses least is taken: few fragments leave much choice but need large
classes, and many fragments the opposite.

Trials of fragmentations on the sample: the loss of their classes, and the sizes at which none
breaks a t.

Classes that are too far from the table join their neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from tclose_spark.errors import UnreachableError
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.methods.attributes import (
    ResolvedAttributes,
    ResolvedSensitive,
    require_plain,
    too_far,
)
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
    DealtPlan,
    Numbering,
    NumberingModel,
)
from tclose_spark.methods.dealing.relaxed_conformance import FragmentTable, diameter_of
from tclose_spark.methods.fragmentation.fragments import bin_of
from tclose_spark.methods.fragmentation.search import SearchPath, find_fragmentation
from tclose_spark.methods.fragmentation.sizing import SizedFragmentation, conform_exactly, prove
from tclose_spark.methods.fragmentation.tables import largest_fragments
from tclose_spark.methods.method import (
    ClassAssignment,
    Integers,
    PlanModel,
    PlanningInput,
    PlanReport,
    require_rows,
)
from tclose_spark.methods.widths import QuasiWidths
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.rows import Rows

HOPELESS = 0.02  # of the classes may break a t before near rows are gathered; with more of them it is not tried


class Trials:
    """The sample, dealt from fragmentations to measure losses and distances."""

    def __init__(self, given: PlanningInput) -> None:
        attributes = given.attributes
        self._rows = given.sample
        self._k = given.k
        self._loss_of = label_losses(attributes.quasi_identifiers)
        self._widths = QuasiWidths(attributes.quasi_identifiers)
        self._codes = attributes.cells[given.sample.cell]
        counts = [
            np.bincount(self._codes[:, a.column], minlength=len(a.distance.table))
            for a in attributes.sensitive
        ]
        self._attributes = [
            replace(a, distance=replace(a.distance, table=table))
            for a, table in zip(attributes.sensitive, counts, strict=True)
        ]
        self.locality = Locality(make_digits(attributes.quasi_identifiers, given.sample))

    def lose(self, c: SizedFragmentation) -> SizedFragmentation:
        """A candidate with the loss of its classes."""
        if not self.locality.order:
            part = c.fragment_of[self._rows.cell]
            self.locality = choose_locality(
                self.locality,
                self._rows,
                part,
                c.stack,
                c.size,
                self._loss_of,
            )
        return replace(c, loss=information_loss(self._rows, self._deal(c, c.size), self._loss_of))

    def measure(self, c: SizedFragmentation, best: float = 1.0) -> list[SizedFragmentation]:
        """A candidate with the least tried class size at which no class of the sample breaks a t.

        None if that loses more than `best`: with more rows in a class than fragments, larger
        classes lose more. Distances are from the sample's own distribution.
        """
        part = c.fragment_of[self._rows.cell]
        for size in _sizes(self._k, len(self._rows)):
            dealt = deal_sample(self.locality, self._rows, part, c.stack, size)
            if breaking(self._attributes, self._codes, dealt).mean() > HOPELESS:
                continue
            classes = self._deal(c, size)
            loss = information_loss(self._rows, classes, self._loss_of)
            if loss > best and size > 2 * c.fragments:
                return []
            if not breaking(self._attributes, self._codes, classes).any():
                return [c.resized(max(size, self._k), loss)]
        return []

    def _deal(self, c: SizedFragmentation, size: int) -> IntArray:
        return deal_sample_nearest(
            self.locality,
            self._rows,
            c.fragment_of[self._rows.cell],
            c.stack,
            size,
            self._widths,
        )


def _sizes(smallest: int, rows: int) -> Iterator[int]:
    """Class sizes to try, about a sixteenth apart, and at last one class of all rows."""
    size = smallest
    while size < rows:
        yield size
        size += max(size // 16, 1)
    yield rows


DESCRIBED = 10  # of the chosen fragments, the largest, in words
# Fragmentations that are looked at, their numbers of fragments evenly spread in ratio.
CANDIDATES = 16


class FragmentationModel(PlanModel):
    """A `FragmentationPlan` without what is only reported. fragment_of: of each cell."""

    numbering: NumberingModel
    measured: bool
    fragment_of: Integers


@dataclass(frozen=True)
class FragmentationPlan(DealtPlan):
    """The plan; see the module.

    measured: whether classes that break a t are joined with the next ones.
    codes: of each cell, for these joins.
    """

    attributes: tuple[ResolvedSensitive, ...]
    codes: IntArray
    measured: bool
    chosen: SizedFragmentation | None = None
    candidates: tuple[SizedFragmentation, ...] = ()
    largest: tuple[tuple[int, list[str]], ...] = ()
    figures: ClassVar[Mapping[str, Literal["sum", "max"]]] = {"joined": "sum", "broken": "sum"}

    def assign_classes(self, rows: Rows, task: int) -> ClassAssignment:
        dealt = self.numbering.deal(rows, task)
        stayed = rows.take(dealt.here)
        classes = self.gathered(stayed, dealt.part, dealt.classes)
        joined = 0
        broken = 0
        if self.measured:
            classes, joined, broken = join_until_close(
                self.attributes,
                self.codes[stayed.cell],
                classes,
                self.numbering.blocks(classes),
            )
        return ClassAssignment(
            here=dealt.here,
            classes=classes,
            figures={"joined": joined, "broken": broken},
        )

    def describe(self, figures: Mapping[str, float]) -> Mapping[str, object]:
        if figures["broken"]:
            raise UnreachableError(
                f"method.sizing: measured: {int(figures['broken'])} blocks of near rows break a t "
                "even as one class, and it joins no further; raise the t, or use sizing: "
                "proportional or method: {name: closeness_tree}",
            )
        return {"classes_joined": int(figures["joined"])} if self.measured else {}

    def to_json(self) -> Mapping[str, object]:
        return FragmentationModel(
            numbering=self.numbering.model,
            measured=self.measured,
            fragment_of=self.numbering.part_of,
        ).model_dump()

    def report(self) -> PlanReport:
        """See Plan: the fragmentations that were tried, and the largest fragments of the chosen
        one.
        """
        fragments = len(self.numbering.stack.counts)
        candidates = [
            {
                "fragments": c.fragments,
                "bounds": c.bounds,
                "order": c.order,
                "class_size": c.size,
                "classes": c.classes,
                "proven": None if c.measured else c.proven,
                "smallest": c.smallest,
                "loss_on_sample": c.loss,
                "measured": c.measured,
                "chosen": c is self.chosen,
            }
            for c in self.candidates
        ]
        largest = [{"rows": rows, "values": values} for rows, values in self.largest]
        details = {"fragments": fragments, "candidates": candidates, "largest_fragments": largest}
        return PlanReport(
            figures={**self.numbering.report(), "fragments": fragments},
            details=details,
        )

    @staticmethod
    def from_json(
        tree: Mapping[str, object],
        attributes: ResolvedAttributes,
    ) -> FragmentationPlan:
        """The plan that `to_json` wrote for this run, without what is only reported."""
        model = FragmentationModel.model_validate(tree)
        part_of = model.fragment_of
        counts = np.bincount(part_of, attributes.cell_rows).astype(np.int64)
        return FragmentationPlan(
            Numbering.of_model(model.numbering, part_of, counts),
            QuasiWidths(attributes.quasi_identifiers),
            attributes.sensitive,
            attributes.cells,
            model.measured,
        )


def plan_fragmentation(
    given: PlanningInput,
    rows_per_task: int = ROWS_PER_TASK,
) -> FragmentationPlan:
    """Plans fragmentation. The classes do not depend on rows_per_task.

    Raises:
        ConfigurationError: if the bounds are the papers' and a distance has steps that differ.
        UnreachableError: if k is larger than the table, or the search ends without a fragmentation
            whose bounds meet every t.
    """
    attributes = given.attributes
    sizing = given.settings.sizing
    require_rows(given.k, attributes)
    if given.settings.bounds == "paper":
        require_plain(attributes.sensitive, "bounds: paper")
    path = search_fragmentation(given)
    trials = Trials(given)
    candidates = []
    for steps in _looked_at(given, path):
        candidates.append(trials.lose(candidate(given, path, steps)))
        given.log(_say(candidates[-1], attributes.sensitive))
    if sizing == "measured":
        for c in candidates[::-1]:  # the many fragments of the last ones soon find a loss to beat
            best = min((done.loss for done in candidates if done.measured), default=1.0)
            candidates += trials.measure(c, best)
    chosen = min(
        (c for c in candidates if c.measured == (sizing == "measured")),
        key=lambda c: (c.loss, c.size),
    )
    if sizing == "proportional":
        candidates += trials.measure(chosen)
    groups = -(-chosen.classes // classes_per_block(chosen.size))
    numbering = Numbering.of(
        chosen.fragment_of,
        chosen.stack,
        chosen.classes,
        trials.locality,
        given.sample,
        given.counts,
        rows_per_task,
        groups,
    )
    return FragmentationPlan(
        numbering,
        QuasiWidths(attributes.quasi_identifiers),
        attributes.sensitive,
        attributes.cells,
        chosen.measured,
        chosen,
        tuple(candidates),
        tuple(
            largest_fragments(
                attributes.matrix,
                chosen.fragment_of,
                attributes.sensitive,
                DESCRIBED,
            ),
        ),
    )


def search_fragmentation(given: PlanningInput) -> SearchPath:
    """The path of the search: the papers' until the bounds meet every t, otherwise up to the most
    fragments allowed.

    Raises:
        UnreachableError: if the time is over, or if required bounds are above a t at the end.
    """
    method = given.settings
    attributes = given.attributes.sensitive
    as_papers = method.bounds == "paper" or method.sizing == "gcd"
    thresholds = [a.t for a in attributes]
    path = find_fragmentation(
        given.attributes.matrix,
        [diameter_of(a.distance) for a in attributes],
        thresholds,
        kind=method.bounds,
        objective="hinge" if as_papers else "steepest",
        bins={a.column: bin_of(a.domain, a.bins) for a in attributes if a.bins is not None},
        stop=(lambda bounds, _: _meet(bounds, thresholds)) if as_papers else None,
        most=method.most_fragments,
        limit=float(method.search_seconds),
        progress=lambda fragments, worst: given.log(
            f"{fragments:,} fragments, worst bound {worst:.2f} times its t",
        ),
    )
    if method.sizing != "measured" and not _meet(path.exact_bounds[-1], thresholds):
        reached = ", ".join(
            f"{float(b):.4f} for {a.name} (required: {float(a.t):g})"
            for b, a in zip(path.exact_bounds[-1], attributes, strict=True)
            if a.t
        )
        fragments = int(path.fragmentation(path.steps).max()) + 1
        way = (
            "raise method.most_fragments or a t"
            if fragments >= method.most_fragments
            else "there is nothing left to cut; give finer bins, or raise a t"
        )
        raise UnreachableError(
            f"{fragments:,} fragments have bounds of {reached}; {way}; sizing: measured, "
            "stack_and_deal and closeness_tree need no bounds",
        )
    return path


def _meet(bounds: Sequence[Any], thresholds: Sequence[Any]) -> bool:
    return all(t is None or bound <= t for bound, t in zip(bounds, thresholds, strict=True))


def _looked_at(given: PlanningInput, path: SearchPath) -> list[int]:
    """The steps of the path that are tried: those that meet every t, or all if distances are
    measured.
    """
    thresholds = [a.t for a in given.attributes.sensitive]
    method = given.settings
    if method.bounds == "paper" or method.sizing == "gcd":
        return [path.steps]
    first = 0
    if method.sizing == "proportional":
        first = next(i for i, bounds in enumerate(path.exact_bounds) if _meet(bounds, thresholds))
    return sorted({int(f) - 1 for f in np.geomspace(first + 1, path.steps + 1, CANDIDATES).round()})


def candidate(given: PlanningInput, path: SearchPath, steps: int) -> SizedFragmentation:
    """The fragmentation after this many steps of a search, with its proven class size."""
    attributes = given.attributes.sensitive
    method = given.settings
    matrix = given.attributes.matrix
    fragment_of = path.fragmentation(steps)
    boxes = path.boxes(steps) if method.bounds == "paper" else None
    table = FragmentTable.of(matrix, fragment_of, [a.distance for a in attributes], boxes)
    bounds = tuple(float(b) for b in path.exact_bounds[steps])
    if method.sizing == "gcd":
        return conform_exactly(matrix, fragment_of, table.rows, bounds, given.k)
    thresholds = {a.name: np.inf if a.t is None else float(a.t) for a in attributes}
    return prove(matrix, fragment_of, table, bounds, thresholds, given.k)


def _say(c: SizedFragmentation, attributes: Sequence[ResolvedSensitive]) -> str:
    bounds = ", ".join(
        f"{a.name} {bound:.4f}" for a, bound in zip(attributes, c.bounds, strict=True)
    )
    return (
        f"{c.fragments:,} fragments: bounds {bounds}; classes of {c.size:,} rows; loss on the "
        f"sample {c.loss:.3f}"
    )


def breaking(
    attributes: Sequence[ResolvedSensitive],
    codes: IntArray,
    classes: IntArray,
) -> IntArray:
    """Whether each class is farther from the table than some t, shape (classes,), exactly.

    codes: of each row, shape (n, attributes). classes: shape (n,), every number 0..e-1 taken.
    """
    e = int(classes.max()) + 1
    ones = np.ones(len(classes), dtype=np.int64)
    broken = np.zeros(e, dtype=bool)
    for a in attributes:
        if a.t is not None:
            part = Histograms.tally(classes, codes[:, a.column], ones, e, len(a.distance.table))
            broken |= too_far(a.distance, a.distance.numerators(part), a.t, part.sizes)
    return broken


def join_until_close(
    attributes: Sequence[ResolvedSensitive],
    codes: IntArray,
    classes: IntArray,
    block: IntArray,
) -> tuple[IntArray, int, int]:
    """(the classes after joins, the number of classes joined away, the number of blocks that break
    a t even as one class).

    A class that breaks a t is joined with the next ones of its block until none does. codes: shape
    (n, attributes);
    classes, block: shape (n,), blocks being ranges of classes.
    """
    numbers, first, place = np.unique(classes, return_index=True, return_inverse=True)
    before = len(numbers)
    of = block[first]
    while True:
        broken = breaking(attributes, codes, place)
        follows = np.append(False, of[1:] == of[:-1])  # it has a class before it in its block
        # The class after one that breaks t joins it.
        joins = follows & np.append(False, broken[:-1])
        # The last one of a block joins the one before.
        joins |= follows & broken & ~np.append(follows[1:], False)
        if not joins.any():
            break
        group = np.cumsum(~joins) - 1
        place = group[place]
        numbers = numbers[~joins]
        of = of[~joins]
    return numbers[place], before - len(numbers), int(broken.sum())
