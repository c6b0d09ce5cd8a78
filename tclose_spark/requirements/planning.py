"""The planning side of requirements: all that methods know of them, beside k and t. It shares
nothing with judges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose_spark.measures import diversity
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.runfile.attributes import Diversity, SensitiveAttribute
from tclose_spark.runfile.brought import find_requirement
from tclose_spark.table.arrays import WIDEST, IntArray
from tclose_spark.table.domains import SensitiveDomain


@dataclass(frozen=True, kw_only=True)
class Cap:
    """The largest share of a class that a value may have. If two classes are within a cap, so is
    their union.

    share: of the class; or by `of_table`, as a multiple of the value's share of the table.
    key, asked: name the requirement in messages, below the attribute, and what it requires.
    at: the code of the one value that it caps; None if it caps all.
    """

    share: Fraction
    key: str
    asked: str
    of_table: bool = False
    at: int | None = None

    def limits(self, table: IntArray) -> tuple[Any, Any]:
        """(p, q) of each value, as Python integers: c of a class's s records may have it if c q <=
        s p. table: counts by value of the table.
        """
        times, n = (table, int(table.sum())) if self.of_table else (np.ones_like(table), 1)
        share = self.share.numerator * times.astype(object)
        whole = np.full(len(table), self.share.denominator * n)
        if self.at is not None:
            free = np.arange(len(table)) != self.at
            share = np.where(free, 1, share)
            whole = np.where(free, 1, whole)
        return share, whole.astype(object)

    def allows(self, classes: Histograms, table: IntArray) -> NDArray[np.bool_]:
        """Whether each class is within it, exactly, shape (groups,)."""
        share, whole = self.limits(table)
        if 2 * int(classes.sizes.max()) * int(max(share.max(), whole.max())) < WIDEST:
            share = share.astype(np.int64)
            whole = whole.astype(np.int64)
        sizes = np.repeat(classes.sizes, classes.entries_of)
        within = (classes.counts * whole[classes.values] <= sizes * share[classes.values]).astype(
            np.bool_,
        )
        met: NDArray[np.bool_] = np.logical_and.reduceat(within, classes.starts)
        return met


Mixed = Callable[[Histograms], NDArray[np.bool_]]
"""Whether each class is mixed well enough. If two classes are, so is their union."""


@dataclass(frozen=True)
class Needs:
    """What classes need of a sensitive attribute.

    values: how many must occur; None if nothing requires several.
    caps: on the shares of values. mixed: everything else.
    known: how many values must occur beside missing ones, if these count for no l. `mixed` requires
        it, too.
    """

    values: int | None = None
    caps: tuple[Cap, ...] = ()
    mixed: tuple[Mixed, ...] = ()
    known: int | None = None

    def __add__(self, other: Needs) -> Needs:
        """What both need."""
        several = [values for values in (self.values, other.values) if values is not None]
        known = self.known if other.known is None else other.known
        return Needs(
            max(several, default=None),
            self.caps + other.caps,
            self.mixed + other.mixed,
            known,
        )

    @property
    def least_values(self) -> int:
        """How many values must occur."""
        return self.values or 1

    @property
    def least_of_all(self) -> int:
        """How many values are enough where missing ones are counted like others."""
        return self.least_values if self.known is None else self.known + 1

    def are_capped(self, classes: Histograms, table: IntArray) -> NDArray[np.bool_]:
        """Whether each class is within every cap, exactly, shape (groups,). table: see
        `Cap.limits`.
        """
        return _all(classes, [cap.allows(classes, table) for cap in self.caps])

    def are_met(self, classes: Histograms, table: IntArray) -> NDArray[np.bool_]:
        """Whether each class meets all, exactly, shape (groups,). table: see `Cap.limits`."""
        several = diversity.distinct(classes) >= self.least_values
        return _all(
            classes,
            [several, *(mixed(classes) for mixed in self.mixed), self.are_capped(classes, table)],
        )

    def hold(self, parts: Iterable[Histograms], table: IntArray) -> bool:
        """Whether all classes meet all. table: see `Cap.limits`."""
        return all(self.are_met(part, table).all() for part in parts)

    def recoded(self, code: IntArray) -> Needs:
        """The same where values have these codes; -1 for those that are gone."""
        one = [(cap, None if cap.at is None else int(code[cap.at])) for cap in self.caps]
        return replace(self, caps=tuple(replace(cap, at=at) for cap, at in one if at != -1))


def _all(classes: Histograms, met: Sequence[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    every: NDArray[np.bool_] = np.logical_and.reduce(
        [np.ones(classes.groups, dtype=np.bool_), *met],
    )
    return every


def needs_of(settings: SensitiveAttribute, domain: SensitiveDomain | None = None) -> Needs:
    """What classes need by the settings of a sensitive attribute. domain: of requirements of other
    packages.
    """
    l, beta, caps, mixed = settings.l, settings.beta, list[Cap](), list[Mixed]()  # noqa: E741 - the field's name
    if beta is not None:
        caps.append(Cap(share=1 + beta, key="beta", asked=f"{float(beta):g}", of_table=True))
    if l.frequency is not None:
        caps.append(Cap(share=1 / l.frequency, key="l.frequency", asked=f"{float(l.frequency):g}"))
    if l.entropy is not None:
        mixed.append(partial(_has_entropy, level=l.entropy))
    if l.recursive is not None:
        mixed.append(partial(_is_recursive, c=l.recursive.c, level=l.recursive.l))
    own = Needs(l.distinct, tuple(caps), tuple(mixed))
    if settings.missing == "uninformative" and domain is not None and None in domain.values:
        own = _of_known(own, l, domain.values.index(None))
    others: list[Needs] = [find_requirement(one.key).needs(one, domain) for one in settings.brought]
    return reduce(add, others, own)


def _of_known(own: Needs, l: Diversity, unknown: int) -> Needs:  # noqa: E741 - the field's name
    """The same over values other than this one, of which every class that needs any has some."""
    mixed = list(own.mixed)
    if l.distinct is not None:
        mixed.append(partial(_has_values, least=l.distinct))
    if l.frequency is not None:
        mixed.append(partial(_is_frequent, cap=Cap(share=1 / l.frequency, key="", asked="")))
    caps = tuple(cap for cap in own.caps if cap.of_table)
    return Needs(
        None,
        caps,
        tuple(partial(_without, unknown=unknown, met=met) for met in mixed),
        l.distinct,
    )


def _without(classes: Histograms, unknown: int, met: Mixed) -> NDArray[np.bool_]:
    known, some = classes.without(unknown)
    result = np.zeros(classes.groups, dtype=np.bool_)
    if len(some):
        result[some] = met(known)
    return result


def _has_values(classes: Histograms, least: int) -> NDArray[np.bool_]:
    return diversity.distinct(classes) >= least


def _is_frequent(classes: Histograms, cap: Cap) -> NDArray[np.bool_]:
    return cap.allows(classes, np.ones(int(classes.values.max()) + 1, dtype=np.int64))


def _has_entropy(classes: Histograms, level: Fraction) -> NDArray[np.bool_]:
    return diversity.entropy_margins(classes, level) >= 0


def _is_recursive(classes: Histograms, c: Fraction, level: int) -> NDArray[np.bool_]:
    return (diversity.recursive_margins(classes, c, level) > 0).astype(np.bool_)


def tightest(caps: Sequence[Cap], table: IntArray, largest: int) -> tuple[IntArray, IntArray]:
    """(p, d) of each value, both shape (m,): a class of s records may have c of them with c d <= s
    p. Both products fit in 64 bits for classes of up to `largest` records. A cap of more digits is
    rounded down. p = 1 and d = 0 allow anything.

    >>> caps = [Cap(share=Fraction(2), key="", asked="", of_table=True), Cap(share=Fraction(1, 2), key="", asked="")]
    >>> [part.tolist() for part in tightest(caps, np.array([1, 3, 4]), largest=8)]
    [[1, 1, 1], [4, 2, 2]]
    """
    most = np.full(len(table), 1, dtype=object)
    of = np.full(len(table), 1, dtype=object)
    for share, whole in (cap.limits(table) for cap in caps):
        less = (share * of < most * whole).astype(bool)
        most = np.where(less, share, most)
        of = np.where(less, whole, of)
    common = np.gcd(most, of)
    widest = WIDEST // max(largest, 1)
    most = most // common
    of = of // common
    wide = (of > widest).astype(bool)
    most = np.where(wide, most * widest // of, most)
    of = np.where(wide, widest, of)
    free = (most >= of).astype(bool)
    return np.where(free, 1, most).astype(np.int64), np.where(free, 0, of).astype(np.int64)
