"""Risks of re-identification of a table that is a sample of a population (El Emam 2013, Guide to
the De-Identification of Personal Health Information; Dankar and El Emam 2010 for the marketer).

f: the size of a class in the table. F: that of the people of the population who fit its labels, at
    least f. The prosecutor knows that a person is in the table, and picks the person's record with
    chance 1 / f. The journalist and the marketer do not, and name the person of a record with
    chance 1 / F: the journalist of any record, the marketer of all.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from tclose_spark.measures.disclosure.reidentification import expected_named
from tclose_spark.table.arrays import IntArray


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
            sizes=sizes, population=exact, unit=fraction.numerator, classes=classes
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
            smallest=min(shares), largest=max(shares), outside=people - int(population.sum())
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
        [size * threshold.numerator < threshold.denominator for size in sizes.tolist()]
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
            maximum=maximum, mean=max(named, from_people), share=share, estimate=estimate
        ),
        "marketer": Risk(maximum=maximum, mean=named, share=share, estimate=estimate),
    }
