"""Class sizes: what each of them reaches, and the smallest that reaches all that is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose_spark.errors import UnreachableError
from tclose_spark.measures.distances import maximum
from tclose_spark.measures.histograms import Histograms, IntArray
from tclose_spark.methods.dealing.reach import maximum_emd
from tclose_spark.methods.dealing.stacks import Stack, compositions
from tclose_spark.methods.method import Problem, require_rows
from tclose_spark.methods.sensitive import Attribute, attributes_of, is_diverse, reaches, worst_load
from tclose_spark.methods.stack_and_deal.bounds import lower_bound
from tclose_spark.methods.stack_and_deal.layers import LayeredDeal, groups_of
from tclose_spark.methods.stack_and_deal.members import rulers_of

LOOK_BEYOND_CELLS = 2_000  # and not at all where a look takes long
LOOK_BEYOND = 10  # sizes looked at after the first that fits, so that a user sees how it goes on
SCREENED_CELLS = 100_000  # of all stacks together; from here on only the best stacks at the smallest size are looked at further
SCREENED = 3
MOST_GROUPS = 100  # of classes dealt in layers that the plan looks at, evenly spread; more are alike but for rounding

Stacks = Sequence[tuple[str, Stack]]
"""Orders of the stack that may be taken, with what they are called."""


@dataclass(frozen=True)
class SizeReport:
    """What dealing to `classes` classes, the smallest of `size` records, reaches: the exact largest EMD of each attribute.

    bounds: no even classes do better. order: what the stack is called. emd is empty where a bound is above what is asked already,
    so that nothing was dealt. In layers, it is that of the groups of classes that were looked at (see MOST_GROUPS).
    """

    size: int
    classes: int
    order: str
    bounds: tuple[Fraction, ...]
    emd: tuple[Fraction, ...]
    holds: bool


def layered_deal(attributes: Sequence[Attribute], codes: IntArray, stack: Stack, e: int) -> LayeredDeal:
    """The layers of a stack dealt to e classes: loads are distances over the t that are asked, or distances where none is.

    codes: of each cell, shape (cells, attributes).
    """
    none = all(a.spec.t is None for a in attributes)
    weights = [1.0 if none else 0.0 if a.spec.t is None else float(1 / a.spec.t) for a in attributes]
    groups = min(groups_of(stack.rows), e)
    starts = np.arange(groups + 1, dtype=np.int64) * e // groups
    return LayeredDeal(stack, codes, rulers_of([a.distance for a in attributes], weights), starts)


def report_size(problem: Problem, stacks: Stacks, e: int) -> SizeReport:
    """What dealing the best of these stacks to e classes reaches, exactly, before any row moves."""
    attributes = attributes_of(problem.spec, problem.profile, problem.hierarchies)
    n = problem.profile.rows
    bounds = tuple(lower_bound(a.distance, e) for a in attributes)
    layered = problem.stack_and_deal.deal == "layered"
    if layered and not reaches(attributes, bounds):
        return SizeReport(n // e, e, "", bounds, (), False)
    found = [
        (tuple(maximum_emd(stack, problem.profile.cell_codes[:, a.column], a.distance, e) for a in attributes), name, stack)
        for name, stack in stacks
    ]
    emd, order, stack = min(found, key=lambda one: (not reaches(attributes, one[0]), worst_load(attributes, one[0])))
    if not layered:
        diverse = reaches(attributes, emd) and all(_deals_diversely(problem, stack, a, e) for a in attributes)
        return SizeReport(n // e, e, order, bounds, emd, diverse)
    emd, diverse = _reached_in_layers(problem, attributes, layered_deal(attributes, problem.profile.cell_codes, stack, e))
    return SizeReport(n // e, e, order, bounds, emd, diverse and reaches(attributes, emd))


def _reached_in_layers(problem: Problem, attributes: Sequence[Attribute], deal: LayeredDeal) -> tuple[tuple[Fraction, ...], bool]:
    """(the largest EMD of each attribute, whether all classes are diverse); of the groups up to the first that breaks a t."""
    emd, diverse = [Fraction(0)] * len(attributes), True
    groups = len(deal.starts) - 1
    for number in np.unique(np.linspace(0, groups - 1, min(groups, MOST_GROUPS)).round().astype(np.int64)).tolist():
        cells, classes = deal.group(number)
        for i, a in enumerate(attributes):
            codes, ones = problem.profile.cell_codes[cells, a.column], np.ones(len(cells), dtype=np.int64)
            part = Histograms.tally(classes, codes, ones, int(classes.max()) + 1, len(a.distance.table))
            emd[i] = max(emd[i], maximum(a.distance, a.distance.numerators(part), part.sizes))
            diverse = diverse and is_diverse([part], a)
        if not reaches(attributes, emd):
            break
    return tuple(emd), diverse


def _deals_diversely(problem: Problem, stack: Stack, attribute: Attribute, e: int) -> bool:
    if not attribute.spec.l.model_dump(exclude_none=True):
        return True
    return is_diverse(compositions(stack, problem.profile.cell_codes[:, attribute.column], attribute.distance, e), attribute)


def reports(problem: Problem, stacks: Stacks, smallest: int) -> Iterator[SizeReport]:
    """Reports of all class sizes from `smallest` on, lazily. The EMD is not monotone in the size, so each is looked at."""
    size, rows = smallest, problem.profile.rows
    stacks = _screened(problem, stacks, rows // size)
    while size <= rows:
        report = report_size(problem, stacks, rows // size)
        yield report
        size = report.size + 1


def _screened(problem: Problem, stacks: Stacks, e: int) -> Stacks:
    """The stacks that are looked at at every size: all, or of large matrices those with the least worst load at one size."""
    attributes, codes = attributes_of(problem.spec, problem.profile, problem.hierarchies), problem.profile.cell_codes
    if len(stacks) <= SCREENED or len(stacks) * len(codes) <= SCREENED_CELLS:
        return stacks
    loads = [worst_load(attributes, [maximum_emd(stack, codes[:, a.column], a.distance, e) for a in attributes]) for _, stack in stacks]
    return [stacks[i] for i in sorted(np.argsort(np.array(loads, dtype=float), kind="stable")[:SCREENED])]


def choose_size(problem: Problem, stacks: Stacks) -> tuple[SizeReport, list[SizeReport]]:
    """The class size to deal with, and the reports of the sizes that were looked at.

    Raises:
        UnreachableError: if k is larger than the table; if `class_size: k` does not reach what is asked, saying what
            it reaches and which sizes do; or if no size does.
    """
    k = problem.spec.privacy.k
    require_rows(problem.spec, problem.profile)
    seen: list[SizeReport] = []
    fitting = None
    slow = len(problem.profile.cells) > LOOK_BEYOND_CELLS or problem.stack_and_deal.deal == "layered"
    for report in reports(problem, stacks, k):
        seen.append(report)
        if slow:
            problem.say(f"classes of {report.size:,} rows: {'hold' if report.holds else 'do not hold'}")
        fitting = fitting or (report if report.holds else None)
        if fitting and (report.size >= fitting.size + LOOK_BEYOND or slow):
            break
    if fitting is None:
        raise UnreachableError(f"no class size from {k} to the whole table reaches what is asked; {_describe(problem, seen[-1])}")
    if problem.stack_and_deal.class_size == "k" and not seen[0].holds:
        fit = ", ".join(str(r.size) for r in seen if r.holds)
        unfit = ", ".join(str(r.size) for r in seen if not r.holds and r.size > fitting.size)
        raise UnreachableError(
            f"with class_size: k, {_describe(problem, seen[0])}; the class sizes that reach what is asked begin with {fitting.size} "
            f"(looked at up to {seen[-1].size}: {fit} reach it{f', {unfit} do not' if unfit else ''}); "
            "set method.class_size: auto, or a larger k or t"
        )
    return (fitting if problem.stack_and_deal.class_size == "auto" else seen[0]), seen


def _describe(problem: Problem, report: SizeReport) -> str:
    """What a size reaches, in words."""
    asked = problem.spec.attributes.sensitive_attributes
    parts = []
    for name, reached in zip(asked, report.emd or report.bounds, strict=True):
        t = asked[name].t
        parts.append(f"t = {float(reached):.4f} for {name}" + (f" (asked: {float(t):g})" if t is not None else ""))
    lacking = (
        ""
        if report.holds or not any(s.l.model_dump(exclude_none=True) for s in asked.values())
        else ", and the l that is asked may be lacking"
    )
    reach = "reach" if report.emd else "cannot do better than"
    return f"classes of size {report.size} {reach} {' and '.join(parts)}{lacking}"
