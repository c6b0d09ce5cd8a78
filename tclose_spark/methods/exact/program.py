"""The least loss as a mixed-integer program over labels (Liang and Yuan, Theorem 9).

Rows of one kind have equal quasi-identifiers and sensitive values; r_v of them are in the table. A
class is the rows of one label. With C_f the rows of a class with a feature f of the values (see
`measures.distances.features`), X_f those of the table's n, and s the rows of the class:

    x(L, v)  rows of kind v with label L, which covers them
             sum over L of x(L, v) = r_v
    y(L)     whether L has a class
             s(L) >= k y(L), x(L, v) <= r_v y(L)
    p, q     what C_f is above or below its share
             C_f - s X_f / n = p - q
             sum over f of w_f (p + q) <= t z s, for each t
    u        whether a value occurs, for a distinct l
             u <= rows of it, sum of u >= l y(L)
    C_v      for a frequency l or a beta
             C_v <= s min(1 / l, (1 + beta) N_v / n)

The objective is the sum of x times the loss of the label. x, y and u are integers.

The labels are every combination of labels of the quasi-identifiers that covers k rows. Their losses
are read from the labels as the certificate does, over the input's values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array

from tclose_spark.measures.loss.information_loss import LabelLoss, interval_ends
from tclose_spark.methods.attributes import ResolvedAttributes, ResolvedQuasi, ResolvedSensitive
from tclose_spark.requirements.planning import tightest
from tclose_spark.table.arrays import BoolArray, FloatArray, IntArray, ranked
from tclose_spark.table.labels import MISSING

TOLERANCE = 1e-6
"""What is taken off the solver's bound on the summed loss of a program: by how much its solutions
may break rules.
"""


@dataclass
class _Constraints:
    """Rows of `A x <= b` or `A x = b`, as entries."""

    row: list[IntArray] = field(default_factory=list)
    column: list[IntArray] = field(default_factory=list)
    value: list[FloatArray] = field(default_factory=list)
    right: list[FloatArray] = field(default_factory=list)
    rows: int = 0

    def add(self, right: Any, *terms: tuple[Any, Any, Any]) -> None:
        """Adds constraints with these right sides. terms: (number among them, column, value),
        broadcast.
        """
        for row, column, value in terms:
            row, column, value = np.broadcast_arrays(row, column, value)
            self.row.append(row.ravel() + self.rows)
            self.column.append(column.ravel())
            self.value.append(value.ravel().astype(np.float64))
        self.right.append(np.asarray(right, dtype=np.float64))
        self.rows += len(self.right[-1])

    def matrix(self, columns: int) -> csr_array:
        """A, shape (rows, columns). Entries at one place add up."""
        if not self.rows:
            return csr_array((0, columns))
        at = (np.concatenate(self.row), np.concatenate(self.column))
        return csr_array((np.concatenate(self.value), at), shape=(self.rows, columns))

    @property
    def b(self) -> FloatArray:
        """The right sides, shape (rows,)."""
        return np.concatenate([np.zeros(0), *self.right])


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program; see the module.

    label, kind: of each x, shapes (entries,); the x are the first variables.
    cost: of each variable; upper: its bound, the lower one is 0; whole: whether it is an integer;
        shapes (variables,).
    at_most, equal: the constraints.
    """

    label: IntArray
    kind: IntArray
    cost: FloatArray
    upper: FloatArray
    whole: IntArray
    at_most: _Constraints
    equal: _Constraints

    def solve(self, seconds: float) -> tuple[float, FloatArray | None]:
        """(a bound on the least summed loss, the rows x of the best solution that was found, if
        any, shape (entries,)). The bound is that of the solver, less TOLERANCE. Infinity and None
        if there is no solution.
        """
        found = milp(
            self.cost,
            integrality=self.whole,
            bounds=Bounds(0, self.upper),
            constraints=[
                LinearConstraint(self.at_most.matrix(len(self.cost)), -np.inf, self.at_most.b),
                LinearConstraint(self.equal.matrix(len(self.cost)), self.equal.b, self.equal.b),
            ],
            options={"mip_rel_gap": 0, "time_limit": seconds},
        )
        if found.status == 2:
            return np.inf, None
        dual = found.mip_dual_bound
        bound = max(0.0, float(dual) - TOLERANCE) if dual is not None and np.isfinite(dual) else 0.0
        return bound, None if found.x is None else np.rint(found.x[: len(self.label)])

    def prices(self, kinds: int, seconds: float) -> FloatArray | None:
        """What a row more of each kind would lose without the integers, shape (kinds,); None if
        time is over.
        """
        columns = len(self.cost)
        found = linprog(
            self.cost,
            A_ub=self.at_most.matrix(columns),
            b_ub=self.at_most.b,
            A_eq=self.equal.matrix(columns),
            b_eq=self.equal.b,
            options={"time_limit": seconds},
        )
        return (
            np.asarray(found.eqlin.marginals[:kinds], dtype=np.float64)
            if found.status == 0
            else None
        )


def label_program(
    attributes: ResolvedAttributes,
    k: int,
    kinds: IntArray,
    rows: IntArray,
    most: int,
) -> Program:
    """The program of a table.

    kinds: the codes of the quasi-identifiers and the cell of each kind, shape (quasi + 1, kinds).
        rows: of each, shape
    (kinds,). most: entries of x.

    Raises:
        TooManyLabelsError: if there are more.
    """
    codes, combination = np.unique(kinds[:-1], axis=1, return_inverse=True)
    held = np.bincount(combination, rows).astype(np.int64)
    labels = all_labels(attributes.quasi_identifiers, codes, held, k)
    if int((labels.covers @ np.bincount(combination)).sum()) > most:
        raise TooManyLabelsError
    label, kind = np.nonzero(labels.covers[:, combination])
    program = ProgramBuilder(labels, label, kind, rows)
    program.require_k(k)
    for a in attributes.sensitive:
        values = attributes.cells[kinds[-1], a.column]
        if a.t is not None and a.t < 1:
            program.require_t(a, values)
        if a.needs.least_values > 1:
            program.require_distinct(values, a.needs.least_values)
        if a.needs.caps:
            share, of = tightest(a.needs.caps, attributes.likened_table(a), attributes.rows)
            program.require_shares(values, share / np.maximum(of, 1))
    return program.program


class ProgramBuilder:
    """A program that is built, requirement by requirement.

    label, kind: of each x, shapes (entries,). rows: of each kind, shape (kinds,).
    """

    def __init__(self, labels: Labels, label: IntArray, kind: IntArray, rows: IntArray) -> None:
        self._label, self._kind, self._count = label, kind, len(labels.loss)
        self._x = np.arange(len(label))
        # Rows that each label covers.
        self._most = np.bincount(label, rows[kind]).astype(np.float64)
        self._upper, self._whole = (
            [rows[kind].astype(np.float64)],
            [np.ones(len(label), dtype=np.int64)],
        )
        self._variables = len(label)
        self._at_most, self._equal = _Constraints(), _Constraints()
        self._cost = labels.loss[label]
        self._rows = rows
        self._equal.add(rows, (kind, self._x, 1))
        self._open, self._size = self._new(np.ones(self._count), whole=True), self._new(self._most)
        self._labels = np.arange(self._count)
        self._equal.add(np.zeros(self._count), (label, self._x, 1), (self._labels, self._size, -1))

    def _new(self, upper: FloatArray, whole: bool = False) -> IntArray:
        """The columns of new variables."""
        self._upper.append(upper)
        self._whole.append(np.full(len(upper), int(whole)))
        self._variables += len(upper)
        return np.arange(self._variables - len(upper), self._variables)

    def require_k(self, k: int) -> None:
        """Classes have k rows."""
        self._at_most.add(
            np.zeros(self._count),
            (self._labels, self._open, k),
            (self._labels, self._size, -1),
        )
        each = np.arange(len(self._x))
        self._at_most.add(
            np.zeros(len(each)),
            (each, self._x, 1),
            (each, self._open[self._label], -self._rows[self._kind]),
        )

    def require_t(self, a: ResolvedSensitive, values: IntArray) -> None:
        """Classes are within t. values: of each kind, shape (kinds,)."""
        assert a.t is not None
        features = a.distance.features
        n = int(a.distance.table.sum())
        # For the sum of w (p + q), in shares of the class.
        room = np.full(self._count, float(a.t * features.scale))
        spent: list[tuple[Any, Any, Any]] = []
        for node, weights in zip(features.nodes, features.level_weights, strict=True):
            count = int(node[-1]) + (0 if features.cumulative else 1)
            share = np.bincount(node, a.distance.table)[:count] / n
            at = node[values[self._kind]]
            here = np.flatnonzero(at < count)
            key = self._label[here] * count + at[here]
            # Label and feature.
            pairs = np.arange(self._count * count) if features.cumulative else np.unique(key)
            owner, feature = np.divmod(pairs, max(count, 1))
            each = np.arange(len(pairs))
            above = self._new(self._most[owner])
            below = self._new(self._most[owner])
            terms = [
                (np.searchsorted(pairs, key), self._x[here], 1),
                (each, self._size[owner], -share[feature]),
                (each, above, -1),
                (each, below, 1),
            ]
            if features.cumulative:  # beside what is up to the place before
                later = np.flatnonzero(feature)
                terms += [(later, above[later - 1], 1), (later, below[later - 1], -1)]
            self._equal.add(np.zeros(len(pairs)), *terms)
            spent += [(owner, above, weights[feature]), (owner, below, weights[feature])]
            lacking = weights[:count] * share  # of features that a class has no row of
            room -= lacking.sum() - np.bincount(owner, lacking[feature], self._count)
        self._at_most.add(np.zeros(self._count), *spent, (self._labels, self._size, -room))

    def require_distinct(self, values: IntArray, distinct: int) -> None:
        """Classes have so many values. values: of each kind, shape (kinds,)."""
        key = self._label * (int(values.max()) + 1) + values[self._kind]
        pairs = np.unique(key)
        each = np.arange(len(pairs))
        owner = pairs // (int(values.max()) + 1)
        occurs = self._new(np.ones(len(pairs)), whole=True)
        self._at_most.add(
            np.zeros(len(pairs)),
            (each, occurs, 1),
            (np.searchsorted(pairs, key), self._x, -1),
        )
        self._at_most.add(
            np.zeros(self._count),
            (owner, occurs, -1),
            (self._labels, self._open, distinct),
        )

    def require_shares(self, values: IntArray, most: FloatArray) -> None:
        """Each value has at most this share of a class. values: of each kind, shape (kinds,). most:
        shape (m,).
        """
        key = self._label * len(most) + values[self._kind]
        pairs = np.unique(key[most[values[self._kind]] < 1])
        owner, value = np.divmod(pairs, len(most))
        here = np.flatnonzero(np.isin(key, pairs))
        each = np.arange(len(pairs))
        self._at_most.add(
            np.zeros(len(pairs)),
            (np.searchsorted(pairs, key[here]), self._x[here], 1),
            (each, self._size[owner], -most[value]),
        )

    @property
    def program(self) -> Program:
        """The program so far."""
        cost = np.zeros(self._variables)
        cost[self._x] = self._cost
        return Program(
            label=self._label,
            kind=self._kind,
            cost=cost,
            upper=np.concatenate(self._upper),
            whole=np.concatenate(self._whole),
            at_most=self._at_most,
            equal=self._equal,
        )


@dataclass(frozen=True)
class QuasiLosses:
    """quasi: the quasi-identifier. values: its codes in the table, ascending, shape (values,)."""

    quasi: ResolvedQuasi
    values: IntArray

    @cached_property
    def _loss(self) -> LabelLoss:
        domain = self.quasi.domain
        known = self.values[self.values != MISSING]
        span = Fraction(0)
        if domain.kind != "category" and domain.known:
            span = (Fraction(str(domain.high)) - Fraction(str(domain.low))) / domain.scale
        elif domain.kind != "category" and len(known):
            (whole,) = self.quasi.labeller.label(known, np.array([0]))[1]
            low, high = interval_ends(str(whole))
            span = high - low
        return LabelLoss(
            numeric=domain.kind != "category",
            span=span,
            distinct=domain.present,
            hierarchy=self.quasi.hierarchy,
            sets=self.quasi.sets,
        )

    def of(
        self,
        members: IntArray,
        starts: IntArray,
        limited: bool = True,
    ) -> tuple[FloatArray, IntArray]:
        """(the loss of the label of each group of values, the number of its label), shapes
        (groups,).

        members: places in `values`, ascending in a group, the groups one after another; starts:
            their first ones.
        limited: whether a label coarser than `coarsest` loses infinitely much.
        """
        index, texts = self.quasi.labeller.label(self.values[members], starts)
        coarsest = self.quasi.coarsest if limited else None
        losses = [
            np.inf
            if coarsest is not None and coarsest.broken_by(text)
            else float(self._loss.of(text))
            for text in texts
        ]
        # Several ranges of codes may have one label.
        number = {text: place for place, text in enumerate(texts)}
        return np.array(losses)[index], np.array([number[text] for text in texts])[index]


MOST_SETS = 10
"""Values of a quasi-identifier whose labels are sets: each set of them is a label."""
MOST_VALUES = 400
"""Values of any other quasi-identifier: each range of them may be a label."""
MOST_PAIRS = 1 << 26
"""Labels times different rows that are looked at together."""


class TooManyLabelsError(ValueError):
    """More labels than are looked at."""


@dataclass(frozen=True)
class Labels:
    """covers: which combination of codes each label covers, shape (labels, combinations). loss: the
    weighted mean over the quasi-identifiers, shape (labels,).

    Of labels that cover the same rows, only the one that loses least is there: a class with another
    one could have it.
    """

    covers: BoolArray
    loss: FloatArray


def all_labels(
    quasi: Sequence[ResolvedQuasi],
    codes: IntArray,
    rows: IntArray,
    k: int,
    bounding: bool = False,
) -> Labels:
    """The labels that cover at least k rows.

    codes: the different combinations, shape (quasi, combinations).
    rows: of each, shape (combinations,).
    bounding: whether all labels are meant and losses are not weighted, as the certificate measures
        them; otherwise labels coarser than `coarsest` are left out.

    Raises:
        TooManyLabelsError: if there are too many.
    """
    made = Labels(np.ones((1, len(rows)), dtype=np.bool_), np.zeros(1))
    for q, of_one in zip(quasi, codes, strict=True):
        alone = _labels_of(q, of_one, limited=not bounding)
        if len(made.loss) * len(alone.loss) * len(rows) > MOST_PAIRS:
            raise TooManyLabelsError
        covers = (made.covers[:, None] & alone.covers[None]).reshape(-1, len(rows))
        loss = np.add.outer(made.loss, (1.0 if bounding else q.weight) * alone.loss).ravel()
        some = np.flatnonzero(covers @ rows >= k)
        cheapest = some[np.argsort(loss[some], kind="stable")]
        _, first = np.unique(np.packbits(covers[cheapest], axis=1), axis=0, return_index=True)
        kept = cheapest[np.sort(first)]
        made = Labels(covers[kept], loss[kept])
    return Labels(made.covers, made.loss / len(quasi))


def _labels_of(q: ResolvedQuasi, codes: IntArray, limited: bool) -> Labels:
    """The labels of one quasi-identifier. codes: of the combinations, shape (combinations,)."""
    values, place = ranked(codes)
    m = len(values)
    if m > (MOST_SETS if q.sets else MOST_VALUES):
        raise TooManyLabelsError
    if q.sets:
        held = (np.arange(1, 1 << m)[:, None] >> np.arange(m)) & 1 == 1
    else:  # a label follows from the lowest and the highest value, and covers all between them
        low, high = np.triu_indices(m)
        held = (np.arange(m) >= low[:, None]) & (np.arange(m) <= high[:, None])
    owner, members = np.nonzero(held)
    loss, label = QuasiLosses(q, values).of(
        members,
        np.searchsorted(owner, np.arange(len(held))),
        limited,
    )
    _, first, label = np.unique(label, return_index=True, return_inverse=True)
    covers = np.zeros((len(first), m), dtype=np.bool_)
    of_label = loss[first]
    np.logical_or.at(covers, label, held)
    allowed = np.isfinite(of_label)
    return Labels(covers[allowed][:, place], of_label[allowed])
