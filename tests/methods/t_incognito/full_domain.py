"""Full-domain recoding by brute force: every node's classes counted from rows, by the definitions.
Shared by tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from strategies import Problem, count_in

from tclose_spark.measures import diversity
from tclose_spark.measures.distances.ground_distances import ground_distance
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.methods.method import PlanningInput
from tclose_spark.methods.t_incognito.levels import Levels
from tclose_spark.methods.t_incognito.losses import LatticeNode
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.domains import sensitive_domain
from tclose_spark.table.labels import MISSING, range_losses
from tclose_spark.table.rows import Rows
from tclose_spark.table.tally import Tally, TooManyKeysError


def frequencies_in(rows: Rows) -> Any:
    """What answers a method's question for counts by key, from these rows, in two parts."""

    def frequencies(tally_of: Callable[[Rows], Tally], most: int) -> Tally:
        half = np.arange(len(rows)) < len(rows) // 2
        parts = [tally_of(rows.take(np.flatnonzero(part))) for part in (half, ~half)]
        whole = Tally.together([part for part in parts if len(part)])
        if len(whole) > most:
            raise TooManyKeysError
        return whole

    return frequencies


def given_of(problem: Problem, rows: Rows, most: int = 0, of: Any = "input") -> PlanningInput:
    """What the method plans from."""
    given = problem.given(count_in(rows))
    return replace(given, frequencies=frequencies_in(rows), most_suppressed=most, of=of)


def levels_of(problem: Problem, rows: Rows) -> list[Levels]:
    """The levels of all quasi-identifiers."""
    quasi = problem.attributes.quasi_identifiers
    return [
        Levels.of(q, *np.unique(c, return_counts=True))
        for q, c in zip(quasi, rows.quasi, strict=True)
    ]


def groups_of(levels: Sequence[Levels], rows: Rows, node: LatticeNode) -> list[IntArray]:
    """The places of the rows of each group of a node."""
    columns = [
        of.levels[level].label[np.searchsorted(of.codes, codes)]
        for of, level, codes in zip(levels, node, rows.quasi, strict=True)
    ]
    _, group = np.unique(np.stack(columns), axis=1, return_inverse=True)
    return [np.flatnonzero(group == number) for number in range(group.max() + 1)]


def is_class(problem: Problem, rows: Rows, places: IntArray, whole: IntArray) -> bool:
    """Whether these rows hold all that is required, by the definitions, distances from the rows at
    `whole`.
    """
    if is_poor(problem, rows, places):
        return False
    for a in problem.attributes.sensitive:
        counts, table = (
            np.bincount(
                problem.profile.cell_codes[rows.cell[here], a.column],
                minlength=len(a.domain.values),
            )
            for here in (places, whole)
        )
        histogram, settings = (
            Histograms.dense(counts[None]),
            problem.spec.attributes.sensitive_attributes[a.name],
        )
        present = {value: int(n) for value, n in zip(a.domain.values, table, strict=True) if n}
        judged = sensitive_domain(
            a.name,
            present,
            settings,
            a.hierarchy,
            a.name != "grade",
        )  # as the verifier does
        by_value = dict(zip(a.domain.values, counts.tolist(), strict=True))
        part = Histograms.dense(np.array([[by_value.get(value, 0) for value in judged.values]]))
        distance = ground_distance(settings.distance, judged.table, judged.values, a.hierarchy)
        emd = Fraction(int(distance.numerators(part)[0]), distance.scale * len(whole) * len(places))
        if a.t is not None and emd > a.t:
            return False
        if (
            settings.l.entropy is not None
            and diversity.entropy_margins(histogram, settings.l.entropy)[0] < 0
        ):
            return False
        if settings.l.recursive is not None:
            ranked = sorted(counts.tolist(), reverse=True)
            if not ranked[0] < settings.l.recursive.c * sum(ranked[settings.l.recursive.l - 1 :]):
                return False
    return True


def is_poor(problem: Problem, rows: Rows, places: IntArray) -> bool:
    """Whether these rows break k or a distinct l."""
    codes = problem.profile.cell_codes[rows.cell[places]]
    settings = problem.spec.attributes.sensitive_attributes
    few = any(
        len(np.unique(codes[:, a.column])) < (settings[a.name].l.distinct or 1)
        for a in problem.attributes.sensitive
    )
    return few or len(places) < problem.spec.privacy.k


def loss_of(
    metric: str,
    problem: Problem,
    rows: Rows,
    levels: Sequence[Levels],
    node: LatticeNode,
    left: set[int],
) -> Any:
    """The loss of a node where the rows at `left` are suppressed, row by row."""
    n, groups = len(rows), groups_of(levels, rows, node)
    if metric == "discernibility":
        return sum(len(places) ** 2 for places in groups if int(places[0]) not in left) + n * len(
            left,
        )
    total = 0.0
    for q, of, level, codes in zip(
        problem.attributes.quasi_identifiers,
        levels,
        node,
        rows.quasi,
        strict=True,
    ):
        label = of.levels[level].label[np.searchsorted(of.codes, codes)]
        low, high = of.levels[level].low[label], of.levels[level].high[label]
        ncp = range_losses(low, high, q.domain, q.sets, q.hierarchy)
        for row in range(n):
            if metric == "ncp":
                total += 1.0 if row in left else ncp[row]
            else:
                alike = n if row in left else np.count_nonzero(label == label[row])
                total += np.log2(alike / np.count_nonzero(codes == codes[row]))
    return total / n / len(node)


def all_nodes(levels: Sequence[Levels]) -> Iterator[LatticeNode]:
    """Every combination of levels."""
    return product(*(range(len(of)) for of in levels))


def covers(low: int, high: int, code: int) -> bool:
    """Whether a label covers a value; a label that begins at MISSING covers all."""
    return low <= code <= high and (low != MISSING or code == MISSING or high != MISSING)
