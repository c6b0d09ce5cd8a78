"""The exact method's plan: how many rows of each kind each class has. One task carries it out.

Dynamic programming over subsets of at most 16 rows (Liang and Yuan, Theorem 8), for every
requirement of a class.

A subset of rows is the set bits of an integer. With c(S) what the rows of S lose as a class,
infinitely much if they are none, the least loss of the rows S is

    best(S) = min over subsets T of S with the highest row of S of  c(T) + best(S without T)

A class with the labels of another one is merged with it by every reader, and the merged class holds
as well, so classes need no other labels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from tclose_spark.errors import ConfigurationError, UnreachableError
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.class_requirement import CellGroups, ClassRequirement
from tclose_spark.methods.exact.program import QuasiLosses, TooManyLabelsError, label_program
from tclose_spark.methods.method import (
    ClassAssignment,
    Integers,
    PlanModel,
    PlanningInput,
    PlanReport,
    require_frequencies,
    require_rows,
)
from tclose_spark.table.arrays import FloatArray, IntArray, ranked
from tclose_spark.table.rows import Rows
from tclose_spark.table.tally import Tally, TooManyKeysError

MOST_ROWS = 16


def class_losses(
    attributes: ResolvedAttributes,
    k: int,
    quasi: Sequence[IntArray],
    cell: IntArray,
) -> FloatArray:
    """What the rows of each subset lose together as a class, weighted as methods do, shape
    (2^rows,); infinity if they are none.

    quasi: the rows' codes by quasi-identifier, shapes (rows,). cell: shape (rows,).
    """
    subsets = np.arange(1 << len(cell))
    within = (subsets[:, None] >> np.arange(len(cell))) & 1
    sizes = within.sum(axis=1)
    possible = np.flatnonzero(sizes >= k)
    some = CellGroups.of(by_cell(cell, within[possible], len(attributes.cells)))
    possible = possible[~ClassRequirement(attributes, k).broken(some)]
    made = np.full(len(subsets), np.inf)
    if not len(possible):
        return made
    rows = within[possible]
    losses = np.zeros(len(possible))
    for q, codes in zip(attributes.quasi_identifiers, quasi, strict=True):
        values, place = ranked(codes)
        held = np.bitwise_or.reduce(rows << place, axis=1)
        sets, of_class = np.unique(held, return_inverse=True)
        owner, members = np.nonzero((sets[:, None] >> np.arange(len(values))) & 1)
        loss, _ = QuasiLosses(q, values).of(members, np.searchsorted(owner, np.arange(len(sets))))
        losses += q.weight * loss[of_class]
    made[possible] = sizes[possible] * losses / len(quasi)
    return made


def by_cell(cell: IntArray, rows: IntArray, cells: int) -> IntArray:
    """Rows of each cell in each group, shape (groups, cells). cell: of each kind of row, shape
    (kinds,). rows: of each kind in each group, shape (groups, kinds).
    """
    counts = np.zeros((cells, len(rows)), dtype=np.int64)
    np.add.at(counts, cell, rows.T)
    return counts.T


def best_partition(losses: FloatArray) -> tuple[float, list[int]]:
    """(the least loss of all rows, the classes as subsets); (infinity, []) if no partition holds.

    losses: of each subset as a class, shape (2^rows,).

    >>> best_partition(np.array([np.inf, 1.0, 1.0, 1.5, 2.0, 2.0, 4.0, 9.0]))  # {row 0 and row 2}, {row 1}
    (3.0, [5, 2])
    """
    rows = len(losses).bit_length() - 1
    best = np.full(len(losses), np.inf)
    best[0] = 0.0
    # Each row below the highest one is in neither of the two, in the rest, or in its class: three
    # ways, one digit.
    rest = group = np.zeros(1, dtype=np.int32)
    for highest in range(rows):
        bit = 1 << highest
        least = best[rest] + losses[group | bit]
        for row in range(highest):
            ways = least.reshape(1 << row, 3, -1)
            least = np.stack([ways[:, 0], np.minimum(ways[:, 1], ways[:, 2])], axis=1)
        best[bit : 2 * bit] = least.ravel()
        if highest < rows - 1:
            rest = np.concatenate([rest, rest | bit, rest])
            group = np.concatenate([group, group, group | bit])
    return float(best[-1]), _classes(losses, best) if np.isfinite(best[-1]) else []


def _classes(losses: FloatArray, best: FloatArray) -> list[int]:
    """The classes of a partition of all rows that loses least."""
    classes = []
    left = len(losses) - 1
    while left:
        highest = 1 << (left.bit_length() - 1)
        groups = np.arange(highest, 2 * highest)
        groups = groups[groups & ~left == 0]
        found = groups[losses[groups] + best[left ^ groups] == best[left]]
        classes.append(int(found[0]))
        left ^= classes[-1]
    return classes


MOST_KINDS = 2_000
"""Different rows of a table that the method looks at."""
MOST_ENTRIES = 20_000
"""Pairs of a kind of row and a label that covers it, in the program of a table."""
PROVEN = 3e-6
"""A gap of the loss, summed over rows, that counts as none: what the solver's tolerance leaves."""


class ExactModel(PlanModel):
    """An `ExactPlan` in `plan.json`."""

    kinds: Integers
    parts: Integers
    loss: float
    gap: float


@dataclass(frozen=True, kw_only=True)
class ExactPlan:
    """The plan; see the module. Rows of a kind have equal quasi-identifiers and sensitive values.

    kinds: the codes of the quasi-identifiers and the cell of each kind, in the order of a `Tally`,
        shape (quasi + 1, kinds).
    parts: its kind, its class and its number of rows of each part of a class, by kind, shape (3,
        parts).
    loss: the mean loss of the rows, weighted as methods do.
    gap: by how much it may be above the least loss; 0 if it is the least.
    """

    kinds: IntArray
    parts: IntArray
    loss: float
    gap: float
    tasks: ClassVar[int] = 1
    blocks: ClassVar[int] = 1
    figures: ClassVar[Mapping[str, Literal["sum", "max"]]] = {"classes": "sum"}

    def route(self, rows: Rows) -> tuple[IntArray, IntArray]:
        return np.arange(len(rows)), np.zeros(len(rows), dtype=np.int64)

    def assign_classes(self, rows: Rows, task: int) -> ClassAssignment:
        """See Plan. Which rows of a kind go to which class, their keyed hashes decide."""
        keys = _keys(rows)
        here = np.lexsort((rows.hash, *keys[::-1]))
        kind, of_part, n = self.parts
        counted = np.repeat(self.kinds[:, kind], n, axis=1)
        if not np.array_equal(keys[:, here], counted):
            raise ValueError(
                "a task has not the rows that the plan counted: the input changed since, or rows "
                "were lost",
            )
        return ClassAssignment(
            here=here,
            classes=np.repeat(of_part, n),
            figures={"classes": self._classes},
        )

    @property
    def _classes(self) -> int:
        return int(self.parts[1].max()) + 1

    @property
    def _gap_shown(self) -> float:
        """The gap, rounded up as a bound is."""
        return math.ceil(self.gap * 1e6) / 1e6

    def describe(self, figures: Mapping[str, float]) -> Mapping[str, object]:
        """See Plan. `optimum` is for the certificate."""
        optimum = {"gap": self._gap_shown} if self.gap else "proven"
        return {"classes": int(figures["classes"]), "loss": round(self.loss, 6), "optimum": optimum}

    def to_json(self) -> Mapping[str, object]:
        return ExactModel.of(self).model_dump()

    @staticmethod
    def from_json(tree: Mapping[str, object]) -> ExactPlan:
        """The plan that `to_json` wrote."""
        return ExactPlan(**dict(ExactModel.model_validate(tree)))

    def report(self) -> PlanReport:
        proof = (
            f"at most {self._gap_shown:.6f} above the least"
            if self.gap
            else "proven to be the least"
        )
        return PlanReport(
            figures={"classes": self._classes, "kinds": self.kinds.shape[1]},
            note=f"{self._classes:,} classes that lose {self.loss:.6f}, {proof}",
        )


def _keys(rows: Rows) -> IntArray:
    """The kind of each row as the key of a `Tally`, shape (quasi + 1, rows)."""
    return np.stack([*rows.quasi, rows.cell])


def plan_exact(given: PlanningInput) -> ExactPlan:
    """Plans the release that loses least of all that suppress no row, with the narrowest labels of
    each class.

    Raises:
        ConfigurationError: for a run file whose classes are judged by more than their own rows.
        UnreachableError: if the table is too large, or not even one class of all rows holds.
    """
    attributes = given.attributes
    _require_support(given)
    require_rows(given.k, attributes)
    require_frequencies(attributes)
    try:
        tally = given.frequencies(lambda rows: Tally.of(_keys(rows)), MOST_KINDS)
    except TooManyKeysError:
        raise _too_large(f"{attributes.rows:,} rows of more than {MOST_KINDS:,} kinds") from None
    total, bound, share = (_by_subsets if attributes.rows <= MOST_ROWS else _by_program)(
        given,
        tally,
    )
    kind, of_class = np.nonzero(share.T)
    gap = total - bound if total - bound > PROVEN else 0.0
    return ExactPlan(
        kinds=tally.keys,
        parts=np.stack([kind, of_class, share[of_class, kind]]),
        loss=total / attributes.rows,
        gap=gap / attributes.rows,
    )


def _by_subsets(given: PlanningInput, tally: Tally) -> tuple[float, float, IntArray]:
    """(the summed loss, a bound on the least one, the rows of each kind in each class, shape
    (classes, kinds)).
    """
    kind = np.repeat(np.arange(len(tally)), tally.rows)
    *quasi, cell = tally.keys[:, kind]
    total, classes = best_partition(class_losses(given.attributes, given.k, quasi, cell))
    if not classes:
        raise _no_classes()
    within = (np.array(classes)[:, None] >> np.arange(len(kind))) & 1
    return (
        total,
        total,
        np.stack([np.bincount(kind, of_class, len(tally)) for of_class in within]).astype(np.int64),
    )


def _by_program(given: PlanningInput, tally: Tally) -> tuple[float, float, IntArray]:
    """See `_by_subsets`."""
    attributes = given.attributes
    rows = given.attributes.rows
    ls = [a.name for a in attributes.sensitive if a.needs.mixed]
    if ls:
        raise UnreachableError(
            f"attributes.sensitive_attributes.{ls[0]}.l: method exact makes entropy and recursive "
            f"l for at most {MOST_ROWS} rows, and the table has {rows:,}; require distinct l, or "
            "use method: {name: stack_and_deal}",
        )
    try:
        program = label_program(attributes, given.k, tally.keys, tally.rows, MOST_ENTRIES)
    except TooManyLabelsError:
        raise _too_large(
            f"{rows:,} rows of {len(tally):,} kinds, which too many labels cover",
        ) from None
    if len(np.unique(program.kind)) < len(
        tally,
    ):  # no label of k rows, within `coarsest`, covers some
        raise _no_classes()
    given.log(f"{len(program.label):,} ways to label {len(tally):,} kinds of rows")
    bound, found = program.solve(given.settings.search_seconds)
    if found is None and bound == np.inf:
        raise _no_classes()
    if found is None:
        raise UnreachableError(
            f"method.search_seconds: method exact found no release of {rows:,} rows of "
            f"{len(tally):,} kinds in {given.settings.search_seconds} seconds; allow more, or use "
            "method: {name: closeness_tree}",
        )
    label, classes = np.unique(program.label, return_inverse=True)
    share = np.zeros((len(label), len(tally)), dtype=np.int64)
    share[classes, program.kind] = found
    share = share[share.any(axis=1)]
    classes_made = CellGroups.of(by_cell(tally.keys[-1], share, len(attributes.cells)))
    broken = ClassRequirement(attributes, given.k).broken(classes_made)
    if np.any(share.sum(axis=0) != tally.rows) or broken.any():
        raise UnreachableError(
            "method: exact found classes that miss a t, l or beta by less than its solver's "
            "tolerance (0.000001); require one with fewer digits, or use method: {name: "
            "closeness_tree, effort: thorough}",
        )
    return float(program.cost[: len(found)] @ found), bound, share


def _no_classes() -> UnreachableError:
    return UnreachableError(
        "privacy: no classes hold k, every t, l, beta and coarsest; require less",
    )


def _too_large(size: str) -> UnreachableError:
    return UnreachableError(
        f"method: exact is for small tables, and this one has {size}; use method: {{name: "
        "closeness_tree, effort: thorough}",
    )


def _require_support(given: PlanningInput) -> None:
    missing = [q.name for q in given.attributes.quasi_identifiers if q.missing_any]
    if missing:
        raise ConfigurationError(
            f"attributes.quasi_identifiers.{missing[0]}.missing: method exact does not make "
            "classes where a missing value may be any value; expected missing left out",
        )
    if given.attributes.nt is not None:
        raise ConfigurationError(
            "privacy.nt: method exact makes classes that are close to the whole table; expected "
            "nt left out",
        )
