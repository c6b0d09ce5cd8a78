"""Attributes for methods: each column with its domain, hierarchy, ground distance and t, resolved
once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from tclose_spark.errors import ConfigurationError
from tclose_spark.measures.distances.ground_distances import (
    EqualDistance,
    GroundDistance,
    OrderedDistance,
    distance_of,
)
from tclose_spark.measures.distances.histograms import (
    Histograms,
    MultiplicityMatrix,
    rank_tuples,
    sum_at,
)
from tclose_spark.measures.loss.information_loss import Coarsest
from tclose_spark.methods.units import Unit, units_of
from tclose_spark.requirements.planning import Needs, needs_of
from tclose_spark.runfile.attributes import (
    LEAST_T,
    Attributes,
    Bins,
    QuasiIdentifier,
    SensitiveAttribute,
)
from tclose_spark.runfile.privacy import JointCloseness
from tclose_spark.table.arrays import ExactArray, IntArray, exact
from tclose_spark.table.domains import Profile, QuasiDomain, SensitiveDomain, remaining_values
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.labels import Labeller, make_labeller


@dataclass(frozen=True, kw_only=True)
class ResolvedQuasi:
    """A quasi-identifier.

    domain: its kind, range or values.
    hierarchy: for a categorical column with one.
    sets: whether its labels are sets of values (without a hierarchy).
    labeller: writes its labels.
    bounds: whether it is published as two numbers instead of a label.
    weight: of its loss; the mean over all quasi-identifiers is 1.
    coarsest: the limit of its labels, if it has one.
    missing_any: whether a missing value may be any value, so that any label covers it.
    """

    domain: QuasiDomain
    hierarchy: Hierarchy | None
    sets: bool
    labeller: Labeller
    bounds: bool
    weight: float
    coarsest: Coarsest | None
    missing_any: bool = False

    @property
    def name(self) -> str:
        """The column's name."""
        return self.domain.name

    @staticmethod
    def of(
        settings: QuasiIdentifier,
        domain: QuasiDomain,
        hierarchy: Hierarchy | None,
        mean_weight: Fraction = Fraction(1),
    ) -> ResolvedQuasi:
        """A quasi-identifier of a profiled table. mean_weight: over all of them."""
        return ResolvedQuasi(
            domain=domain,
            hierarchy=hierarchy,
            sets=settings.generalization == "set",
            labeller=make_labeller(domain, settings, hierarchy),
            bounds=settings.numeric_output == "bounds",
            weight=float(settings.weight / mean_weight),
            coarsest=Coarsest.of(settings, hierarchy),
            missing_any=settings.missing == "any",
        )


@dataclass(frozen=True, kw_only=True)
class ResolvedSensitive:
    """A sensitive attribute and its requirements.

    column: its place in the codes of cells.
    domain: its values in order, and the rows of each.
    hierarchy: for a hierarchical distance.
    distance: the ground distance over the whole table's distribution.
    t: as a fraction; None if the distance is only measured.
    needs: what else classes need of it.
    bins: of an ordered attribute, for methods that use them.
    order: for a domain of the present values, how they are ordered; None for a given domain.
    of: the attributes whose tuple it is; empty for a column.
    """

    column: int
    domain: SensitiveDomain
    hierarchy: Hierarchy | None
    distance: GroundDistance
    t: Fraction | None
    needs: Needs
    bins: Bins | None
    order: Literal["value", "frequency"] | None = None
    of: tuple[str, ...] = ()

    @property
    def is_conditioned(self) -> bool:
        """Whether more than k and t is required."""
        return self.needs != Needs()

    @property
    def name(self) -> str:
        """The column's name."""
        return self.domain.name

    def of_places(self, codes: IntArray) -> tuple[ResolvedSensitive, IntArray]:
        """(the attribute with its places as values, their codes); itself if each value is a
        place.
        """
        if not isinstance(self.distance, OrderedDistance) or self.distance.places is None:
            return self, codes
        places = self.distance.places
        counts = sum_at(places, self.distance.table, int(places[-1]) + 1)
        distance = OrderedDistance(counts)
        needs = self.needs.recoded(places)
        domain = SensitiveDomain(
            self.name,
            tuple(map(str, range(len(counts)))),
            tuple(counts.tolist()),
        )
        return replace(self, domain=domain, distance=distance, order=None, needs=needs), places[
            codes
        ]

    def beside(self, counts: IntArray, classes: Histograms) -> tuple[GroundDistance, Histograms]:
        """(the distance over the domain of a part of the table's rows, classes by the codes of that
        domain).

        The verifier uses this domain if classes are compared with the released rows: without the
        values that are entirely suppressed, and with the remaining frequencies. counts: these rows
        by value, shape (m,). classes: by the codes of the whole domain.
        """
        if self.order is None:
            return self.distance.of(counts, self.domain.values, self.hierarchy), classes
        left = remaining_values(self.domain, counts, self.order)
        code = np.full(len(counts), -1, dtype=np.int64)
        code[left] = np.arange(len(left))
        distance = self.distance.of(
            counts[left],
            [self.domain.values[i] for i in left],
            self.hierarchy,
        )
        return distance, Histograms.tally(
            classes.owner,
            code[classes.values],
            classes.counts,
            classes.groups,
            len(left),
        )


@dataclass(frozen=True, kw_only=True)
class ResolvedAttributes:
    """A method's knowledge of a table, except for its rows.

    rows: n, of the whole table.
    cells: the tuples of sensitive codes, shape (cells, sensitive attributes), sorted. They are
        distinct, unless people are counted.
    cell_rows: rows of each cell, shape (cells,).
    nt: n of (n, t)-closeness, if required: each t then limits the distance from a natural superset
        of n records. The whole table is one, so the classes of a method that ignores nt hold.
    units: what classes count, rows first.
    together: whether all rows of a person must be in one class.
    varying: by quasi-identifier, how many people have several values of it, if their rows must be
        together.
    likened: rows of each cell of the table that caps compare classes with, if this is not the one
        of `cell_rows`.
    """

    rows: int
    quasi_identifiers: tuple[ResolvedQuasi, ...]
    sensitive: tuple[ResolvedSensitive, ...]
    cells: IntArray
    cell_rows: IntArray
    units: tuple[Unit, ...]
    nt: int | None = None
    together: bool = False
    varying: tuple[int, ...] = ()
    likened: IntArray | None = None

    @staticmethod
    def of(
        settings: Attributes,
        profile: Profile,
        hierarchies: Mapping[str, Hierarchy],
        nt: int | None = None,
    ) -> ResolvedAttributes:
        """The attributes of a profiled table."""
        quasi = settings.quasi_identifiers
        sensitive = settings.sensitive_attributes
        mean_weight = sum((q.weight for q in quasi.values()), Fraction(0)) / len(quasi)
        return ResolvedAttributes(
            rows=profile.rows,
            quasi_identifiers=tuple(
                ResolvedQuasi.of(quasi[d.name], d, hierarchies.get(d.name), mean_weight)
                for d in profile.quasi
            ),
            sensitive=tuple(
                ResolvedSensitive(
                    column=i,
                    domain=d,
                    hierarchy=hierarchies.get(d.name),
                    distance=distance_of(sensitive[d.name], d, hierarchies.get(d.name)),
                    t=sensitive[d.name].t,
                    needs=needs_of(sensitive[d.name], d),
                    bins=sensitive[d.name].bins,
                    order=_order_of(sensitive[d.name]),
                )
                for i, d in enumerate(profile.sensitive)
            ),
            cells=profile.cell_codes[:, : len(sensitive)],
            cell_rows=profile.cell_table,
            nt=nt,
            units=units_of(settings, profile),
            together=settings.keeps_people_together,
            varying=() if profile.people is None else profile.people.varying,
        )

    def for_methods(self, joint: Sequence[JointCloseness] | None) -> ResolvedAttributes:
        """These attributes as methods see them. If one has places, these are its values, and cells
        may be equal. An l of places implies that of the values. Each tuple that must be close is
        one more attribute, at the end.
        """
        sensitive = []
        codes = []
        for a in self.sensitive:
            made, code = a.of_places(self.cells[:, a.column])
            sensitive.append(made)
            codes.append(code)
        place = {a.name: a.column for a in self.sensitive}
        for one in joint or ():
            made, code = self._tuple([place[name] for name in one.attributes], one, len(sensitive))
            sensitive.append(made)
            codes.append(code)
        return replace(self, sensitive=tuple(sensitive), cells=np.stack(codes, axis=1))

    def _tuple(
        self,
        of: Sequence[int],
        joint: JointCloseness,
        column: int,
    ) -> tuple[ResolvedSensitive, IntArray]:
        """(the tuples of these attributes as one, the code of each cell, shape (cells,))."""
        code = rank_tuples(self.cells[:, of])
        _, first = np.unique(code, return_index=True)
        known = [self.sensitive[a].domain.values for a in of]
        values = [
            json.dumps([known[i][c] for i, c in enumerate(row)])
            for row in self.cells[first][:, of].tolist()
        ]
        counts = sum_at(code, self.cell_rows, len(first))
        made = ResolvedSensitive(
            column=column,
            domain=SensitiveDomain(joint.name, tuple(values), tuple(counts.tolist())),
            hierarchy=None,
            distance=EqualDistance(counts),
            t=joint.t,
            needs=Needs(),
            bins=None,
            of=joint.attributes,
        )
        return made, code

    @cached_property
    def spread_units(self) -> tuple[Unit, ...]:
        """The units over which l, shares and distances count, too: rows, and people if they are
        counted.
        """
        return tuple(unit for unit in self.units if unit.spread is not None)

    @property
    def counted(self) -> Unit:
        """The unit of which a class needs k: people if they are counted, otherwise rows."""
        return self.spread_units[-1]

    @cached_property
    def cell_is_value(self) -> bool:
        """Whether each cell is another value of the one sensitive attribute, in their order."""
        return self.cells.shape[1] == 1 and bool((np.diff(self.cells[:, 0]) > 0).all())

    @property
    def likened_rows(self) -> IntArray:
        """Rows of each cell of the table that caps compare classes with, shape (cells,)."""
        return self.cell_rows if self.likened is None else self.likened

    def likened_table(self, a: ResolvedSensitive, rows: IntArray | None = None) -> IntArray:
        """The counts by value that caps compare classes with, shape (m,). rows: by cell, if not
        `likened_rows`.
        """
        rows = self.likened_rows if rows is None else rows
        return np.bincount(self.cells[:, a.column], rows, len(a.domain.values)).astype(np.int64)

    @cached_property
    def matrix(self) -> MultiplicityMatrix:
        """The multiplicity matrix of the sensitive attributes; its cells are `cells`."""
        return MultiplicityMatrix(
            self.cells,
            self.cell_rows,
            tuple(len(s.domain.values) for s in self.sensitive),
        )


def _order_of(settings: SensitiveAttribute) -> Literal["value", "frequency"] | None:
    listed = not isinstance(settings.order, str)
    return (
        None
        if listed or not settings.kind.ordered
        else cast(Literal["value", "frequency"], settings.order)
    )


def require_plain(attributes: Sequence[ResolvedSensitive], what: str) -> None:
    """Raises ConfigurationError if a distance has unequal steps, which `what` does not support."""
    uneven = [a.name for a in attributes if not a.distance.features.plain]
    if uneven:
        raise ConfigurationError(
            f"attributes.sensitive_attributes.{uneven[0]}.distance: its steps between values "
            f"differ, and {what} takes them for one; use another distance, or method: {{name: "
            "stack_and_deal, deal: local}",
        )


def worst_closeness_ratio(
    attributes: Sequence[ResolvedSensitive],
    emd: Sequence[Fraction],
) -> Fraction:
    """The largest EMD / t over attributes with a t; without any, the largest EMD."""
    ratios = [
        reached / (a.t or LEAST_T)
        for a, reached in zip(attributes, emd, strict=True)
        if a.t is not None
    ]
    return max(ratios or emd)


def reaches(attributes: Sequence[ResolvedSensitive], emd: Sequence[Fraction]) -> bool:
    """Whether every distance is at most its required t."""
    return all(a.t is None or reached <= a.t for a, reached in zip(attributes, emd, strict=True))


def too_far(
    distance: GroundDistance,
    numerators: ExactArray,
    t: Fraction,
    sizes: IntArray,
) -> NDArray[np.bool_]:
    """Whether each class is farther than t from the table, exactly, shape (groups,). sizes: rows of
    each class.

    >>> from tclose_spark.measures.distances.ground_distances import EqualDistance
    >>> classes = Histograms.dense(np.array([[2, 0, 0], [0, 1, 1], [1, 1, 0]]))  # distances 1/2, 1/2, 1/4
    >>> distance = EqualDistance(np.array([2, 1, 1]))
    >>> too_far(distance, distance.numerators(classes), Fraction(1, 4), classes.sizes).tolist()
    [True, True, False]
    """
    unit = distance.scale * int(distance.table.sum())
    bound = 4 * unit * int(sizes.max()) * max(t.numerator, t.denominator)
    far = t.denominator * exact(numerators, bound) > t.numerator * unit * exact(sizes, bound)
    return far.astype(bool)
