"""Planning of t-Incognito: count values, build levels, prune levels alone, count the base, search,
choose.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tclose_spark.errors import UnreachableError
from tclose_spark.methods.class_requirement import CellGroups, ClassRequirement
from tclose_spark.methods.method import PlanningInput, PlanReport, require_frequencies, require_rows
from tclose_spark.methods.t_incognito.frequency_sets import (
    FrequencySet,
    Suppression,
    largest_distances,
)
from tclose_spark.methods.t_incognito.levels import Levels, lattice_size
from tclose_spark.methods.t_incognito.losses import LatticeNode, Losses
from tclose_spark.methods.t_incognito.plan import (
    TIncognitoPlan,
    count_base,
    count_codes,
    group_keys,
)
from tclose_spark.methods.t_incognito.search import Lattice, LatticeSearch, NoNodeError, Solution
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.rows import Rows
from tclose_spark.table.tally import Tally

ROWS_PER_TASK = 500_000
MOST_NODES = 1 << 24  # of the lattices of all subsets of quasi-identifiers together
REPORTED = 10  # nodes that a report shows


def plan_t_incognito(
    given: PlanningInput,
    rows_per_task: int = ROWS_PER_TASK,
    class_of_suppressed: bool = True,
) -> TIncognitoPlan:
    """Plans t-Incognito. The release does not depend on rows_per_task; class_of_suppressed: see
    `Suppression`.

    Raises:
        UnreachableError: if not even the coarsest node holds, or the lattice or what is counted is
            too large.
    """
    requirement = ClassRequirement(given.attributes, given.k)
    if (
        given.most_suppressed and given.of == "released"
    ):  # what is left may hold what all rows do not
        require_rows(given.k, given.attributes)
    else:
        _require_reachable(requirement)
    quasi = given.attributes.quasi_identifiers
    values = count_codes(given)
    levels = [Levels.of(q, codes, rows) for q, (codes, rows, _) in zip(quasi, values, strict=True)]
    _require_room(levels)
    suppression = Suppression(
        requirement=requirement,
        most=given.most_suppressed,
        of=given.of,
        class_of_suppressed=class_of_suppressed,
    )
    search = LatticeSearch(
        suppression=suppression,
        losses=Losses.of_levels(given.settings.metric, quasi, levels),
        lattice=Lattice(levels, len(given.attributes.cells)),
        log=given.log,
    )
    try:
        least = _least_alone(search, [groups for _, _, groups in values])
        base = count_base(given, levels, least)
        given.log(
            f"{lattice_size(levels):,} nodes; the finest that may hold has {base.groups:,} groups",
        )
        solution = search.run(base, least)
    except NoNodeError:
        names = " and ".join(q.name for q in quasi if q.coarsest is not None)
        within = (
            f"coarsest of {names}: no labels that are within it"
            if names
            else "privacy: not even the coarsest labels"
        )
        raise UnreachableError(
            f"{within} hold k, every t and l; require less, allow coarser labels, or a larger "
            "privacy.suppression_limit",
        ) from None
    return _planned(given, search, solution, rows_per_task)


def _require_reachable(requirement: ClassRequirement) -> None:
    """Raises UnreachableError if the coarsest node breaks something. It has one class, all rows, at
    distance 0.
    """
    attributes = requirement.attributes
    require_rows(requirement.k, attributes)
    require_frequencies(attributes)
    if requirement.broken(CellGroups.of(attributes.cell_rows[None]))[0]:
        asked = [a.name for a in attributes.sensitive if a.is_conditioned]
        keys = " and ".join(f"attributes.sensitive_attributes.{name}.l" for name in asked)
        raise UnreachableError(
            f"{keys}: even all rows as one class do not have the required l; require less",
        )


def _require_room(levels: Sequence[Levels]) -> None:
    if math.prod(len(of_one) + 1 for of_one in levels) > MOST_NODES:
        raise UnreachableError(
            f"method: t_incognito looks at each combination of levels, and {len(levels)} "
            f"quasi-identifiers have {lattice_size(levels):,}, which are too many; leave levels "
            "out, or use method: {name: closeness_tree}",
        )


def _least_alone(search: LatticeSearch, values: Sequence[FrequencySet]) -> LatticeNode:
    """The lowest level of each quasi-identifier that may hold, were it the only one (subset
    property).

    Raises:
        NoNodeError: if none of one's levels does.
    """
    least = []
    for of, groups in zip(search.lattice.levels, values, strict=True):
        held = (
            search.suppression.may_hold(groups.rolled_up([(0, level.label)], search.lattice.cells))
            for level in of.levels
        )
        lowest = next((level for level, holds in enumerate(held) if holds), None)
        if lowest is None:
            raise NoNodeError
        least.append(lowest)
    return tuple(least)


def _planned(
    given: PlanningInput,
    search: LatticeSearch,
    solution: Solution,
    rows_per_task: int,
) -> TIncognitoPlan:
    at = [of.levels[level] for of, level in zip(search.lattice.levels, solution.node, strict=True)]
    keys = group_keys(
        list(solution.groups.labels.astype(np.int64)),
        [len(level.low) for level in at],
    )
    plan = TIncognitoPlan(
        low=tuple(level.low for level in at),
        high=tuple(level.high for level in at),
        first=keys[:1],
        parts=np.ones(1, dtype=np.int64),
        rows=np.array([given.attributes.rows]),
        suppressed=keys[solution.suppressed],
        reported=_reported(given, search, solution),
    )
    compared = search.suppression.compared(solution.groups, solution.suppressed)
    requirement = search.suppression.requirement
    return with_tasks(
        plan,
        given,
        requirement,
        (keys, solution.groups.sizes),
        compared,
        rows_per_task,
    )


def _reported(given: PlanningInput, search: LatticeSearch, solution: Solution) -> PlanReport:
    kept = solution.groups.only(np.flatnonzero(~solution.suppressed))
    compared = search.suppression.compared(solution.groups, solution.suppressed)
    emd = largest_distances(search.suppression.requirement, kept, compared)
    losses = search.losses.all(solution.node, solution.groups, solution.suppressed)
    left = int(solution.groups.sizes[solution.suppressed].sum())
    levels = search.lattice.levels
    names = [q.name for q in given.attributes.quasi_identifiers]
    figures = {
        "nodes": lattice_size(levels),
        "looked_at": search.visited,
        "holding": len(search.holding),
        "classes": kept.groups,
        "suppressed": left,
    }
    ranked = sorted(search.holding, key=lambda pair: (pair[1], sum(pair[0]), pair[0]))[:REPORTED]
    details: dict[str, Any] = {
        **figures,
        "metric": search.losses.metric,
        "levels": {
            name: [level.name for level in of.levels]
            for name, of in zip(names, levels, strict=True)
        },
        "node": dict(zip(names, solution.node, strict=True)),
        "losses": losses,
        "emd": {
            a.name: str(reached) for a, reached in zip(given.attributes.sensitive, emd, strict=True)
        },
        "minimal": given.most_suppressed == 0,
        "best": [{"node": list(node), "loss": loss} for node, loss in ranked],
    }
    note = (
        f"levels {', '.join(f'{name} {level}' for name, level in details['node'].items())}: "
        f"{kept.groups:,} classes"
    )
    note += f", {left:,} rows suppressed" if left else ""
    return PlanReport(figures=figures, note=note, details=details)


def with_tasks(
    plan: TIncognitoPlan,
    given: PlanningInput,
    requirement: ClassRequirement,
    sizes: tuple[IntArray, IntArray],
    compared: IntArray,
    rows_per_task: int = ROWS_PER_TASK,
) -> TIncognitoPlan:
    """The plan with tasks of about `rows_per_task` rows; the classes as published do not depend on
    it.

    sizes: (keys of all groups, ascending; rows of each).
    compared: rows of each cell of what distances are measured from, shape (cells,).
    """
    keys, rows = sizes
    wide = np.flatnonzero(rows > rows_per_task)
    parts_of = (
        _parts(plan, given, requirement, (keys[wide], rows[wide]), compared, rows_per_task)
        if len(wide)
        else {}
    )
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
    requirement: ClassRequirement,
    sizes: tuple[IntArray, IntArray],
    compared: IntArray,
    rows_per_task: int,
) -> dict[int, IntArray]:
    """For each of these large groups, by its key: rows of each part. Parts are the remainders of
    the rows' hashes, a power of two, the largest at which each part is a class by itself, or the
    group is suppressed.
    """
    keys, rows = sizes
    most = 1
    while most * rows_per_task < rows.max():
        most *= 2

    def tally_of(sample: Rows) -> Tally:
        key = plan.keys(sample)
        here = np.flatnonzero(np.isin(key, keys))
        part = (sample.hash[here] % np.uint64(most)).astype(np.int64)
        return Tally.of(np.stack([np.searchsorted(keys, key[here]), part, sample.cell[here]]))

    tally = given.frequencies(tally_of, len(keys) * most * len(given.attributes.cells))
    result = {}
    left = set(plan.suppressed.tolist())
    for number, (key, n) in enumerate(zip(keys.tolist(), rows.tolist(), strict=True)):
        mine = tally.take(np.flatnonzero(tally.keys[0] == number))
        parts = most
        while parts * rows_per_task >= 2 * n:
            parts //= 2
        while parts > 1 and not _all_hold(mine, parts, requirement, compared, key in left):
            parts //= 2
        result[key] = np.bincount(mine.keys[1] % parts, weights=mine.rows, minlength=parts).astype(
            np.int64,
        )
    return result


def _all_hold(
    mine: Tally,
    parts: int,
    requirement: ClassRequirement,
    compared: IntArray,
    suppressed: bool,
) -> bool:
    """Whether each part is a class by itself; suppressed rows need not be, but no part is empty."""
    _, part, cell = mine.keys
    counts = np.zeros((parts, len(compared)), dtype=np.int64)
    np.add.at(counts, (part % parts, cell), mine.rows)
    if not counts.any(axis=1).all():
        return False
    return suppressed or not requirement.broken(CellGroups.of(counts), compared).any()
