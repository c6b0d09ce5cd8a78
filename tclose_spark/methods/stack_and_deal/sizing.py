"""Class sizes: the distance that each achieves, and the smallest that meets every requirement.

Lower bounds on the largest distance of any even partition, into classes of n // e rows or one
more.

Every ground distance is a weighted sum of differences |C / s - X / n| between the counts of a class
of s rows and those of the table of n, over features of the values (see
`measures.distances.features`). The C are integers, so a class misses its ideal s X / n by some
fraction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose_spark.errors import UnreachableError
from tclose_spark.measures.distances.ground_distances import GroundDistance, maximum
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.methods.attributes import (
    ResolvedAttributes,
    ResolvedSensitive,
    reaches,
    worst_closeness_ratio,
)
from tclose_spark.methods.dealing.maximum_emd import maximum_emd
from tclose_spark.methods.dealing.stacks import Stack, compositions
from tclose_spark.methods.method import PlanningInput, require_frequencies, require_rows
from tclose_spark.methods.stack_and_deal.layers import LayeredDeal, groups_of, kernel_distances
from tclose_spark.runfile.attributes import LEAST_T
from tclose_spark.table.arrays import ExactArray, exact


def lower_bound(distance: GroundDistance, e: int) -> Fraction:
    """A lower bound on the largest distance of every partition into e classes that is as even as
    possible.

    >>> from tclose_spark.measures.distances.ground_distances import EqualDistance
    >>> lower_bound(EqualDistance(np.array([3, 1])), 2)  # two classes of two: only one of them can have the rare value
    Fraction(1, 4)
    """
    return max(supply_bound(distance, e), forced_bound(distance, e))


def supply_bound(distance: GroundDistance, e: int) -> Fraction:
    """The bound from the mean. All classes together have the table's rows of each feature, so
    surpluses equal deficits.

    The mean is weighted by the sizes of the classes. With one size r and f the fraction of r X / n,
    it is the sum of weight 2 f (1 - f) / r.
    """
    n = int(distance.table.sum())
    features = distance.features
    size, larger = divmod(n, e)
    counts = features.counts(distance.table[None, :])[0]
    table = exact(counts, 4 * n * max(n, len(counts) * e) * features.scale)
    floors, parts = zip(
        *[(size_ * table // n, size_ * table % n) for size_ in (size, size + 1)],
        strict=True,
    )
    classes = (e - larger, larger)
    # Classes that must be above their ideal, cheapest first.
    up = table - classes[0] * floors[0] - classes[1] * floors[1]
    first = np.where(
        parts[1] > parts[0],
        np.minimum(up, classes[1]),
        up - np.minimum(up, classes[0]),
    )
    missed: ExactArray = first * (n - parts[1]) + (up - first) * (n - parts[0])
    return Fraction(2 * int(features.weighted(missed).sum()), features.scale * n * n)


def forced_bound(distance: GroundDistance, e: int) -> Fraction:
    """The bound from the rarest value, or from the lowest and the highest (for cumulative
    features), which some class must have.

    None if values have nodes other than the root above them, or different weights. Either a class
    of the smaller size has a row of the value, or the few larger ones have all of them, and one has
    many.
    """
    n = int(distance.table.sum())
    features = distance.features
    size, larger = divmod(n, e)
    if not features.cumulative and (features.parents or not features.even):
        return Fraction(0)
    least = _with_places if features.cumulative else _with_values
    present = np.flatnonzero(distance.table)
    values = (
        present[[0, -1]] if features.cumulative else present[[np.argmin(distance.table[present])]]
    )
    bounds = []
    for value in values.tolist():
        bound = Fraction(least(distance, value, 1, size), features.scale * n * size)
        many = -(-int(distance.table[value]) // max(larger, 1))
        if larger and many <= size + 1:
            bound = min(
                bound,
                Fraction(least(distance, value, many, size + 1), features.scale * n * (size + 1)),
            )
        bounds.append(bound)
    return max(bounds)


def _with_places(distance: GroundDistance, place: int, many: int, size: int) -> int:
    """n times the least sum of weighted differences of a class of this size that has so many rows
    of the value at this place.
    """
    n = int(distance.table.sum())
    features = distance.features
    counts = features.counts(distance.table[None, :])[0]
    ideal = size * exact(counts, 4 * n * max(n, max(len(counts), features.scale) * size))
    at = np.arange(len(ideal))
    held = np.clip((2 * ideal + n) // (2 * n), many * (at >= place), size - many * (at < place))
    return int(features.weighted(np.abs(n * held - ideal)).sum())


def _with_values(distance: GroundDistance, value: int, many: int, size: int) -> int:
    """n times the least sum of differences of a class of this size that has so many rows of this
    value.
    """
    n = int(distance.table.sum())
    ideal = size * exact(distance.table, 4 * n * max(n, len(distance.table) * size))
    held = ideal // n
    held[value] = max(held[value], many)
    cost = int(np.abs(n * held - ideal).sum())
    left = size - int(held.sum())
    # Of one row more.
    gains = sorted((2 * int(rest) - n for rest in (ideal - n * held) if rest > 0), reverse=True)
    return cost - sum(gains[: max(left, 0)]) + n * max(left - len(gains), -left, 0)


LOOK_BEYOND_CELLS = 2_000  # and not at all where a look takes long
LOOK_BEYOND = 10  # sizes looked at after the first that fits, so that a user sees how it goes on
# Of all stacks; from here on only the best at the smallest size are looked at further.
SCREENED_CELLS = 100_000
SCREENED = 3
MOST_GROUPS = 100  # of classes dealt in layers that the plan looks at, evenly spread; more are alike but for rounding

Stacks = Sequence[tuple[str, Stack]]
"""Orders of the stack that may be taken, with what they are called."""


@dataclass(frozen=True, kw_only=True)
class SizeReport:
    """The exact largest EMD of each attribute if `classes` classes are dealt, the smallest with
    `size` records.

    bounds: no even partition can be below them.
    order: the name of the stack. emd is empty if a bound is already above a requirement, so nothing
        was dealt. In layers, emd covers the groups of classes that were tried (see MOST_GROUPS).
    """

    size: int
    classes: int
    order: str
    bounds: tuple[Fraction, ...]
    emd: tuple[Fraction, ...]
    holds: bool


def layered_deal(attributes: ResolvedAttributes, stack: Stack, e: int) -> LayeredDeal:
    """The layers of a stack dealt to e classes. EMD / t counts for attributes with a t; EMD counts
    if there is none.
    """
    sensitive = attributes.sensitive
    none = all(a.t is None for a in sensitive)
    weights = [
        1.0 if none else 0.0 if a.t is None else float(1 / (a.t or LEAST_T)) for a in sensitive
    ]
    groups = min(groups_of(stack.rows), e)
    starts = np.arange(groups + 1, dtype=np.int64) * e // groups
    return LayeredDeal(
        stack,
        attributes.cells,
        kernel_distances([a.distance for a in sensitive], weights),
        starts,
    )


def report_size(given: PlanningInput, stacks: Stacks, e: int) -> SizeReport:
    """The exact distances of dealing the best of these stacks to e classes, before any row
    moves.
    """
    attributes = given.attributes.sensitive
    n = given.attributes.rows
    bounds = tuple(lower_bound(a.distance, e) for a in attributes)
    layered = given.settings.deal == "layered"
    if layered and not reaches(attributes, bounds):
        return SizeReport(size=n // e, classes=e, order="", bounds=bounds, emd=(), holds=False)
    reached = [
        (
            tuple(
                maximum_emd(stack, given.attributes.cells[:, a.column], a.distance, e)
                for a in attributes
            ),
            name,
            stack,
        )
        for name, stack in stacks
    ]
    emd, order, stack = min(
        reached,
        key=lambda one: (
            not reaches(attributes, one[0]),
            worst_closeness_ratio(attributes, one[0]),
        ),
    )
    if not layered:
        diverse = reaches(attributes, emd) and all(
            _deals_diversely(given, stack, a, e) for a in attributes
        )
        return SizeReport(
            size=n // e,
            classes=e,
            order=order,
            bounds=bounds,
            emd=emd,
            holds=diverse,
        )
    emd, diverse = _reached_in_layers(given, layered_deal(given.attributes, stack, e))
    return SizeReport(
        size=n // e,
        classes=e,
        order=order,
        bounds=bounds,
        emd=emd,
        holds=diverse and reaches(attributes, emd),
    )


def _reached_in_layers(
    given: PlanningInput,
    deal: LayeredDeal,
) -> tuple[tuple[Fraction, ...], bool]:
    """(the largest EMD of each attribute, whether all classes are diverse) over the groups up to
    the first that breaks a t.
    """
    attributes = given.attributes.sensitive
    emd = [Fraction(0)] * len(attributes)
    diverse = True
    groups = len(deal.starts) - 1
    for number in np.unique(
        np.linspace(0, groups - 1, min(groups, MOST_GROUPS)).round().astype(np.int64),
    ).tolist():
        cells, classes = deal.group(number)
        for i, a in enumerate(attributes):
            codes = given.attributes.cells[cells, a.column]
            ones = np.ones(len(cells), dtype=np.int64)
            part = Histograms.tally(
                classes,
                codes,
                ones,
                int(classes.max()) + 1,
                len(a.distance.table),
            )
            emd[i] = max(emd[i], maximum(a.distance, a.distance.numerators(part), part.sizes))
            diverse = diverse and a.needs.hold([part], given.attributes.likened_table(a))
        if not reaches(attributes, emd):
            break
    return tuple(emd), diverse


def _deals_diversely(
    given: PlanningInput,
    stack: Stack,
    attribute: ResolvedSensitive,
    e: int,
) -> bool:
    if not attribute.is_conditioned:
        return True
    classes = compositions(
        stack,
        given.attributes.cells[:, attribute.column],
        attribute.distance,
        e,
    )
    return attribute.needs.hold(classes, given.attributes.likened_table(attribute))


def reports(given: PlanningInput, stacks: Stacks, smallest: int) -> Iterator[SizeReport]:
    """Reports of all class sizes from `smallest` on, lazily. The EMD is not monotone in the size,
    so each size is computed.
    """
    size = smallest
    rows = given.attributes.rows
    stacks = _screened(given, stacks, rows // size)
    while size <= rows:
        report = report_size(given, stacks, rows // size)
        yield report
        size = report.size + 1


def _screened(given: PlanningInput, stacks: Stacks, e: int) -> Stacks:
    """The stacks that are tried at every size: all, or for large matrices those with the least
    worst closeness ratio at one size.
    """
    attributes = given.attributes.sensitive
    codes = given.attributes.cells
    if len(stacks) <= SCREENED or len(stacks) * len(codes) <= SCREENED_CELLS:
        return stacks
    ratios = [
        worst_closeness_ratio(
            attributes,
            [maximum_emd(stack, codes[:, a.column], a.distance, e) for a in attributes],
        )
        for _, stack in stacks
    ]
    return [
        stacks[i]
        for i in sorted(np.argsort(np.array(ratios, dtype=float), kind="stable")[:SCREENED])
    ]


def choose_size(given: PlanningInput, stacks: Stacks) -> tuple[SizeReport, list[SizeReport]]:
    """The class size, and the reports of the sizes that were tried.

    Raises:
        UnreachableError: if k is larger than the table; if `class_size: k` misses a requirement
            (the message gives the distances it achieves and the sizes that suffice); or if no size
            suffices.
    """
    k = given.k
    require_rows(k, given.attributes)
    require_frequencies(given.attributes)
    seen: list[SizeReport] = []
    fitting = None
    slow = len(given.attributes.cells) > LOOK_BEYOND_CELLS or given.settings.deal == "layered"
    for report in reports(given, stacks, k):
        seen.append(report)
        if slow:
            given.log(
                f"classes of {report.size:,} rows: {'hold' if report.holds else 'do not hold'}",
            )
        fitting = fitting or (report if report.holds else None)
        if fitting and (report.size >= fitting.size + LOOK_BEYOND or slow):
            break
    if fitting is None:
        raise UnreachableError(
            f"no class size from {k} to the whole table meets the requirements; "
            f"{_describe(given, seen[-1])}",
        )
    if given.settings.class_size == "k" and not seen[0].holds:
        fit = ", ".join(str(r.size) for r in seen if r.holds)
        unfit = ", ".join(str(r.size) for r in seen if not r.holds and r.size > fitting.size)
        raise UnreachableError(
            f"with class_size: k, {_describe(given, seen[0])}; sizes that meet the requirements "
            f"begin with {fitting.size} (looked at up to {seen[-1].size}: {fit} reach "
            f"it{f', {unfit} do not' if unfit else ''}); set method.class_size: auto, or a larger "
            "k or t",
        )
    return (fitting if given.settings.class_size == "auto" else seen[0]), seen


def _describe(given: PlanningInput, report: SizeReport) -> str:
    """The distances that a size achieves, in words."""
    sensitive = given.attributes.sensitive
    parts = [
        f"t = {float(reached):.4f} for {a.name}"
        + (f" (required: {float(a.t):g})" if a.t is not None else "")
        for a, reached in zip(sensitive, report.emd or report.bounds, strict=True)
    ]
    diverse = report.holds or not any(a.is_conditioned for a in sensitive)
    lacking = "" if diverse else ", and the required l or beta may be missing"
    reach = "reach" if report.emd else "cannot do better than"
    return f"classes of size {report.size} {reach} {' and '.join(parts)}{lacking}"
