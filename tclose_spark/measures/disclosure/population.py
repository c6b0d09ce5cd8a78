"""Risks of re-identification of a table that is a sample of a population (El Emam 2013, Guide to
the De-Identification of Personal Health Information; Dankar and El Emam 2010 for the marketer).

f: the size of a class in the table. F: that of the people of the population who fit its labels, at
    least f. The prosecutor knows that a person is in the table, and picks the person's record with
    chance 1 / f. The journalist and the marketer do not, and name the person of a record with
    chance 1 / F: the journalist of any record, the marketer of all.

The individual risk of a sample (Benedetti and Franconi 1998; Franconi and Polettini 2004,
Individual Risk Estimation in mu-Argus: A Review).

A class has f records, and by their weights about f / p people of the population fit it. Given f,
their number F is taken for negative binomial: each of them is in the sample with chance p. The risk
of a record is the mean of 1 / F:

    r = p^f integral_0^1 u^(f-1) / (1 - q u)^f du
      = p integral_0^1 z^(f-1) / (p + q z) dz,   q = 1 - p

where z = p u / (1 - q u). With I_f for the last integral, I_1 = -ln(p) / q and q I_(f+1) = 1 / f -
p I_f. Its series has positive terms: I_f = (1 / f) sum_n n! q^n / ((f+1) ... (f+n)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from tclose_spark.measures.disclosure.reidentification import expected_named
from tclose_spark.table.arrays import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class PopulationSizes:
    """Classes in groups of equal f and F. All arrays have shape (groups,), with positive integers.

    sizes: f. population: F in units. unit: of how many units a person consists. classes: how many
        there are.
    """

    sizes: IntArray
    population: IntArray
    unit: int
    classes: IntArray

    @staticmethod
    def of_fraction(sizes: IntArray, classes: IntArray, fraction: Fraction) -> PopulationSizes:
        """F = f / fraction, for a table that is this fraction of its population."""
        exact = sizes.astype(object) * fraction.denominator
        return PopulationSizes(
            sizes=sizes,
            population=exact,
            unit=fraction.numerator,
            classes=classes,
        )

    @property
    def raised(self) -> IntArray:
        """F in units, at least f."""
        raised: IntArray = np.maximum(self.population, self.sizes.astype(object) * self.unit)
        return raised

    @property
    def unmatched(self) -> int:
        """How many classes have more records than the population has people who fit them."""
        return int(self.classes[self.population < self.sizes.astype(object) * self.unit].sum())


@dataclass(frozen=True, kw_only=True)
class Presence:
    """delta-presence (Nergiz et al. 2007): the chance that a person of the population is in the
    table. Each person fits one class at most.

    smallest, largest: for people who fit a class. outside: how many people fit none; by this list,
        they are not in the table.
    """

    smallest: Fraction
    largest: Fraction
    outside: int

    @staticmethod
    def of(sizes: IntArray, population: IntArray, people: int) -> Presence:
        """Of classes of f records which F people of the population fit, shapes (classes,), of so
        many people.

        >>> Presence.of(np.array([2, 3]), np.array([4, 3]), 10)
        Presence(smallest=Fraction(1, 2), largest=Fraction(1, 1), outside=3)
        """
        pairs = np.unique(np.stack([sizes, np.maximum(sizes, population)]), axis=1).T.tolist()
        shares = [Fraction(*pair) for pair in pairs]
        return Presence(
            smallest=min(shares),
            largest=max(shares),
            outside=people - int(population.sum()),
        )


@dataclass(frozen=True, kw_only=True)
class Risk:
    """What one adversary achieves, as shares.

    maximum: the largest chance of a record.
    mean: the mean chance over all records.
    share: the share of records with a chance above a threshold.
    estimate: whether the figures depend on an estimate of the population.
    exact: whether JSON has the exact maximum, too.
    """

    exact: ClassVar[bool] = True
    maximum: Fraction
    mean: Fraction
    share: Fraction
    estimate: bool

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON. An exact fraction is a text p/q beside a decimal."""
        exact = {"maximum_exact": str(self.maximum)} if self.exact else {}
        figures = {
            "maximum": float(self.maximum),
            **exact,
            "mean": float(self.mean),
            "share": float(self.share),
        }
        return {**figures, "estimate": self.estimate}


def prosecutor_risk(sizes: IntArray, classes: IntArray, threshold: Fraction) -> Risk:
    """The prosecutor's risk, of classes of these sizes, both shape (groups,).

    Raises:
        ValueError: if there is no class, or one without records.
    """
    if not len(sizes) or sizes.min() < 1:
        raise ValueError("risks are those of classes that have records")
    records = sizes * classes
    # Of any size.
    above = np.array(
        [size * threshold.numerator < threshold.denominator for size in sizes.tolist()],
    )
    return Risk(
        maximum=Fraction(1, int(sizes.min())),
        mean=Fraction(int(classes.sum()), int(records.sum())),
        share=Fraction(int(records[above].sum()), int(records.sum())),
        estimate=False,
    )


def population_risks(of: PopulationSizes, threshold: Fraction, estimate: bool) -> dict[str, Risk]:
    """The journalist's and the marketer's risk. estimate: whether F is one.

    The journalist's mean is the larger one of two: over records of the table, and over people of
    the population who fit a class (El Emam 2013). The marketer's is over records.
    """
    raised = of.raised
    records = of.sizes * of.classes
    distinct, group = np.unique(raised, return_inverse=True)
    held = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(held, group, records)
    total = int(records.sum())
    named = (
        expected_named([int(people) for people in distinct], [int(n) * of.unit for n in held])
        / total
    )
    fitting = sum(int(people) * int(n) for people, n in zip(raised, of.classes, strict=True))
    above = [
        int(people) * threshold.numerator < of.unit * threshold.denominator for people in distinct
    ]
    maximum = Fraction(of.unit, int(distinct[0]))
    share = Fraction(int(held[above].sum()), total)
    from_people = Fraction(int(of.classes.sum()) * of.unit, fitting)
    return {
        "journalist": Risk(
            maximum=maximum,
            mean=max(named, from_people),
            share=share,
            estimate=estimate,
        ),
        "marketer": Risk(maximum=maximum, mean=named, share=share, estimate=estimate),
    }


LARGE = 30
"""From this f on, TERMS terms of the series are exact to a double whatever p is, and for p > 1/2
always.
"""
TERMS = 64


@dataclass(frozen=True, kw_only=True)
class IndividualRisk(Risk):
    """The individual risk. Its mean is the share of records that are expected to be re-identified.

    expected: how many these are.
    stated: such a share. threshold: if no record were above this risk, and those above had it, this
        share would be expected; None if no share is stated.
    """

    exact = False
    expected: float
    stated: Fraction | None = None
    threshold: float | None = None

    def to_json(self) -> dict[str, Any]:
        """See Risk."""
        found: dict[str, Any] = {"expected": self.expected}
        if self.stated is not None:
            found |= {"stated": float(self.stated), "threshold": self.threshold}
        return {**super().to_json(), **found}

    @staticmethod
    def of(of: PopulationSizes, above: Fraction, stated: Fraction | None = None) -> IndividualRisk:
        """Of classes with estimated F. above: the chance above which a record counts in `share`."""
        risks = individual_risks(of.sizes, sampled(of))
        records = of.sizes * of.classes
        total = int(records.sum())
        expected = math.fsum((risks * records).tolist())
        return IndividualRisk(
            maximum=Fraction(float(risks.max())),
            mean=Fraction(min(expected / total, 1.0)),
            share=Fraction(int(records[risks > float(above)].sum()), total),
            estimate=True,
            expected=expected,
            stated=stated,
            threshold=None if stated is None else risk_threshold(risks, records, float(stated)),
        )


@dataclass(frozen=True, kw_only=True)
class HouseholdRisk(Risk):
    """The risk that some member of the household is recognized, as that of each member: 1 less the
    product of 1 - r over the members in the table, where r is the individual risk, or 1 / f if F is
    not estimated.

    households: how many there are. unique: the share of them in which someone is alone in a class.
    """

    exact = False
    households: int
    unique: Fraction

    def to_json(self) -> dict[str, Any]:
        """See Risk."""
        return {**super().to_json(), "households": self.households, "unique": float(self.unique)}


def sampled(of: PopulationSizes) -> FloatArray:
    """p of classes: f over the estimate of F, which is at least f; shape (groups,)."""
    return np.array(
        [f * of.unit / int(people) for f, people in zip(of.sizes.tolist(), of.raised, strict=True)],
    )


def individual_risks(sizes: IntArray, p: FloatArray) -> FloatArray:
    """The risk of a record of each class, shape (groups,). sizes: f. p: the chance of being
    sampled, above 0.

    >>> individual_risks(np.array([1, 1, 3]), np.array([1 / 17, 1.0, 1.0])).round(4).tolist()
    [0.1771, 1.0, 0.3333]
    """
    f = sizes.astype(np.float64)
    q = 1 - p
    term = np.ones(len(f))
    total = np.ones(len(f))
    for n in range(1, TERMS):
        term = term * (q * n / (f + n))
        total += term
    integral = total / f
    hard = np.flatnonzero((sizes < LARGE) & (p <= 0.5))
    upward = -np.log(p[hard]) / q[hard]
    for f_before in range(1, LARGE):  # errors shrink by p / q in each step
        here = sizes[hard] == f_before
        integral[hard[here]] = upward[here]
        upward = (1 / f_before - p[hard] * upward) / q[hard]
    result: FloatArray = np.minimum(p * integral, 1.0)
    return result


def risk_threshold(risks: FloatArray, records: IntArray, stated: float) -> float:
    """The largest r such that records with the risk min(risk, r) have at most the mean `stated`; 1
    if all may stay. The threshold of mu-Argus: records above it are to be protected. risks,
    records: of classes, shape (groups,).

    >>> risk_threshold(np.array([0.125, 0.5]), np.array([2, 2]), 0.25)
    0.375
    """
    order = np.lexsort((records, risks))
    below = np.cumsum(np.append(0.0, (risks * records)[order]))
    left = records.sum() - np.cumsum(np.append(0, records[order]))
    room = stated * records.sum() - below
    kept = int(np.count_nonzero(below[1:] + risks[order] * left[1:] <= stated * records.sum()))
    return 1.0 if not left[kept] else float(room[kept] / left[kept])
