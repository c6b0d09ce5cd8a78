"""The plan of a release that continues earlier ones: people who stay keep their atom (see
`table.atoms`), and newcomers form new ones.

The run's method puts newcomers into classes, as a table of their own. Its distribution differs from
that of the release by some distance d. A class within t - d of the newcomers is within t of the
release, because the earth mover's distance is a metric. beta compares the classes of newcomers with
the release itself. Newcomers who are too few, or too far from the release, wait for a later
release.

Every atom of people who stay becomes a class. If the distribution has changed so that an atom does
not hold any more, it is merged with the atom with which that costs least, until all hold. Atoms are
never split.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np

from tclose_spark.errors import UnreachableError
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.even_blocks import merge_until_all_hold
from tclose_spark.methods.method import (
    ClassAssignment,
    Integers,
    Plan,
    PlanModel,
    PlanningInput,
    PlanReport,
)
from tclose_spark.methods.people import distances_of, with_cell_rows, with_remaining_values
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.atoms import ATOM, NEWCOMER, WITHHELD
from tclose_spark.table.rows import Rows
from tclose_spark.table.tally import Tally

ROWS_PER_TASK = 40_000
"""About, of people who stay: the time of merging grows with the square of a task's atoms."""
PRECISION = 10**6
"""What is left of a t is rounded down to a multiple of one over this."""
ReadPlan = Callable[[Mapping[str, object], ResolvedAttributes], Plan]


class AtomsModel(PlanModel):
    """An `AtomsPlan` in `plan.json`.

    released, newcomers: rows of each cell.
    t: what is left of each attribute's t, a fraction as text; None without a t.
    plan: of the newcomers; None if none is published.
    """

    tasks_of_staying: int
    released: Integers
    newcomers: Integers
    t: Sequence[str | None]
    plan: Mapping[str, object] | None


@dataclass(frozen=True, kw_only=True)
class AtomsPlan:
    """See the module.

    newcomers: their plan; None if they wait, or there are none.
    of_newcomers: their attributes as a table of their own, with what is left of each t.
    attributes: of the release, without rows that are suppressed.
    k: people of a class.
    tasks_of_staying: the tasks of people who stay.
    """

    newcomers: Plan | None
    of_newcomers: ResolvedAttributes
    attributes: ResolvedAttributes
    k: int
    tasks_of_staying: int

    @property
    def _first(self) -> int:
        """The number of the first task of people who stay."""
        return 0 if self.newcomers is None else self.newcomers.tasks

    @cached_property
    def figures(self) -> Mapping[str, Literal["sum", "max"]]:
        of_newcomers = {} if self.newcomers is None else self.newcomers.figures
        return {**of_newcomers, "atoms": "sum", "atoms_merged": "sum"}

    @property
    def tasks(self) -> int:
        return self._first + self.tasks_of_staying

    @property
    def blocks(self) -> int:
        return self.tasks_of_staying + (0 if self.newcomers is None else self.newcomers.blocks)

    def route(self, rows: Rows) -> tuple[IntArray, IntArray]:
        """See Plan. Rows that are suppressed are shared among the tasks of people who stay."""
        atom = _atom(rows)
        new = (
            np.flatnonzero(atom == NEWCOMER)
            if self.newcomers is not None
            else np.zeros(0, dtype=np.int64)
        )
        other = np.setdiff1d(np.arange(len(rows)), new, assume_unique=True)
        tasks = self._first + _share(rows.take(other), self.tasks_of_staying)
        if self.newcomers is None or not len(new):
            return other, tasks
        place, task = self.newcomers.route(rows.take(new))
        return np.concatenate([new[place], other]), np.concatenate([task, tasks])

    def assign_classes(self, rows: Rows, task: int) -> ClassAssignment:
        if self.newcomers is not None and task < self._first:
            assigned = self.newcomers.assign_classes(rows, task)
            return replace(
                assigned,
                figures={**dict.fromkeys(self.figures, 0.0), **assigned.figures},
            )
        atom = _atom(rows)
        by_hash = rows.sorted_by_hash()
        here = by_hash[atom[by_hash] >= 0]
        figures = dict.fromkeys(self.figures, 0.0)
        classes = np.zeros(0, dtype=np.int64)
        if len(here):
            atoms, classes = np.unique(atom[here], return_inverse=True)
            block, _ = Dense(self.attributes, self.k).block(rows.take(here))
            classes, merged = merge_until_all_hold(block, classes)
            figures |= {"atoms": float(len(atoms)), "atoms_merged": float(merged)}
        return ClassAssignment(
            here=here,
            classes=classes,
            figures=figures,
            suppressed=np.flatnonzero(atom < 0),
        )

    def describe(self, figures: Mapping[str, float]) -> Mapping[str, object]:
        own = {name: int(figures[name]) for name in ("atoms", "atoms_merged")}
        return {**({} if self.newcomers is None else self.newcomers.describe(figures)), **own}

    def to_json(self) -> Mapping[str, object]:
        return AtomsModel(
            tasks_of_staying=self.tasks_of_staying,
            released=self.attributes.cell_rows,
            newcomers=self.of_newcomers.cell_rows,
            t=[None if a.t is None else str(a.t) for a in self.of_newcomers.sensitive],
            plan=None if self.newcomers is None else self.newcomers.to_json(),
        ).model_dump()

    @staticmethod
    def from_json(
        tree: Mapping[str, object],
        attributes: ResolvedAttributes,
        k: int,
        read_plan: ReadPlan,
    ) -> AtomsPlan:
        """The plan that `to_json` wrote. attributes: of all rows. read_plan: reads the plan of
        newcomers.
        """
        model = AtomsModel.model_validate(tree)
        attributes = with_remaining_values(attributes, model.released)
        of_newcomers = _with_ts(
            with_cell_rows(attributes, model.newcomers),
            [None if t is None else Fraction(t) for t in model.t],
            model.released,
        )
        return AtomsPlan(
            newcomers=None if model.plan is None else read_plan(model.plan, of_newcomers),
            of_newcomers=of_newcomers,
            attributes=with_cell_rows(attributes, model.released),
            k=k,
            tasks_of_staying=model.tasks_of_staying,
        )

    def report(self) -> PlanReport:
        if self.newcomers is None:
            return PlanReport(figures={"tasks": self.tasks}, note="no newcomer is published")
        made = self.newcomers.report()
        return replace(made, note=f"newcomers: {made.note}")


def plan_atoms(given: PlanningInput, make_plan: Callable[[PlanningInput], Plan]) -> AtomsPlan:
    """Plans a release that continues an earlier one. given: of all rows. make_plan: the method's,
    for newcomers.

    Newcomers wait if they cannot be published, or if people who stay could not be published with
    them.

    Raises:
        UnreachableError: if more rows have to be suppressed than the run file allows, or nobody can
            be published.
    """
    new, staying, withheld = _rows_by_kind(given)
    for newcomers in (new, np.zeros_like(new)):
        whole = with_remaining_values(given.attributes, staying + newcomers)
        released = with_cell_rows(whole, staying + newcomers)
        suppressed = int((withheld + new - newcomers).sum())
        ts = _what_is_left(released, given.k, newcomers)
        tasks = _tasks_of_staying(given, Dense(released, given.k), staying)
        if ts is not None and tasks is not None:
            break
    else:
        raise UnreachableError(
            "nobody of the input can be published: no atom is whole, and newcomers are too few",
        )
    if suppressed > given.most_suppressed:
        raise UnreachableError(_too_many(given, suppressed, int(withheld.sum())))
    of_newcomers = _with_ts(with_cell_rows(whole, newcomers), ts, released.cell_rows)
    return AtomsPlan(
        newcomers=make_plan(_of_newcomers(given, of_newcomers)) if newcomers.any() else None,
        of_newcomers=of_newcomers,
        attributes=released,
        k=given.k,
        tasks_of_staying=tasks,
    )


def _atom(rows: Rows) -> IntArray:
    return rows.owners[ATOM]


def _share(rows: Rows, tasks: int) -> IntArray:
    """One of so many tasks for each row, the same for all rows of an atom, shape (n,). tasks: a
    power of two.
    """
    atom = _atom(rows)
    return np.where(atom < 0, rows.hash.view(np.int64), atom) & (tasks - 1)


def _rows_by_kind(given: PlanningInput) -> tuple[IntArray, IntArray, IntArray]:
    """The rows of newcomers, of people who stay, and of people who are withheld, by cell."""
    cells = len(given.attributes.cells)

    def kind(rows: Rows) -> IntArray:
        atom = _atom(rows)
        return np.select([atom == NEWCOMER, atom == WITHHELD], [0, 2], 1) * cells + rows.cell

    new, staying, withheld = given.counts(kind, 3 * cells).reshape(3, cells)
    return new, staying, withheld


def _what_is_left(
    released: ResolvedAttributes,
    k: int,
    newcomers: IntArray,
) -> list[Fraction | None] | None:
    """What is left of each t for the newcomers' own distances; None if they cannot be published.
    Without newcomers, all of it.
    """
    if not newcomers.any():
        return [a.t for a in released.sensitive] if released.rows else None
    if not Dense(released, k).holds(newcomers):
        return None
    far = distances_of(released, newcomers)
    left = [
        None if a.t is None else Fraction(math.floor((a.t - d) * PRECISION), PRECISION)
        for a, d in zip(released.sensitive, far, strict=True)
    ]
    return left if all(t is None or t > 0 for t in left) else None


def _tasks_of_staying(given: PlanningInput, dense: Dense, staying: IntArray) -> int | None:
    """The tasks of people who stay, a power of two: as many as are useful, if the people of each
    meet the requirement; None if not even all of them do.
    """
    rows = int(staying.sum())
    if not rows:
        return 1
    tasks = 1 << max(0, (rows - 1) // ROWS_PER_TASK).bit_length()
    cells = len(staying)

    def of_task(part: Rows) -> IntArray:
        stays = _atom(part) >= 0
        return np.where(stays, _share(part, tasks) * cells + part.cell, tasks * cells)

    counts = given.counts(of_task, tasks * cells + 1)[:-1].reshape(tasks, cells)
    while not all(dense.holds(of_one) for of_one in counts if of_one.any()):
        if len(counts) == 1:
            return None
        counts = counts.reshape(2, -1, cells).sum(axis=0)
    return len(counts)


def _with_ts(
    attributes: ResolvedAttributes,
    ts: Sequence[Fraction | None],
    released: IntArray,
) -> ResolvedAttributes:
    """The attributes with these t, and a beta that compares classes with the release. released: its
    rows by cell.
    """
    sensitive = tuple(replace(a, t=t) for a, t in zip(attributes.sensitive, ts, strict=True))
    return replace(attributes, sensitive=sensitive, likened=released)


def _of_newcomers(given: PlanningInput, attributes: ResolvedAttributes) -> PlanningInput:
    """The planning input of the newcomers, as a table of their own."""

    def new(rows: Rows) -> IntArray:
        return np.flatnonzero(_atom(rows) == NEWCOMER)

    def counts(group_of: Callable[[Rows], IntArray], groups: int) -> IntArray:
        def of_new(rows: Rows) -> IntArray:
            group = np.full(len(rows), groups, dtype=np.int64)
            group[new(rows)] = group_of(rows.take(new(rows)))
            return group

        return given.counts(of_new, groups + 1)[:groups]

    def frequencies(tally_of: Callable[[Rows], Tally], most: int) -> Tally:
        return given.frequencies(lambda rows: tally_of(rows.take(new(rows))), most)

    return replace(
        given,
        attributes=attributes,
        sample=given.sample.take(new(given.sample)),
        counts=counts,
        frequencies=frequencies,
        most_suppressed=0,
    )


def _too_many(given: PlanningInput, suppressed: int, withheld: int) -> str:
    rows = given.attributes.rows
    share = math.ceil(Fraction(suppressed, rows) * 1000) / 1000
    return (
        f"{suppressed:,} of {rows:,} rows cannot be published: {withheld:,} of people whose atom "
        "is not whole any more, because someone of it left or has other sensitive values, and "
        f"{suppressed - withheld:,} of newcomers who are too few, or too far from the release; "
        f"privacy.suppression_limit allows {given.most_suppressed:,} rows, and {share:g} would do"
    )
