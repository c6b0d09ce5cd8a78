"""How many people are alone with their quasi-identifiers in the population, estimated from a sample
of it.

All three estimators take the frequencies of the class sizes of a simple random sample. Notation of
Dankar et al. 2012 (Estimating the re-identification risk of clinical data sets, BMC Med. Inform.
Decis. Mak. 12:66, appendix A): N people in the population, n in the sample, s_i classes of i people
in the sample, S_1 uniques of the population.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tclose_spark.table.arrays import FloatArray, IntArray

MOST_FOR_PITMAN = Fraction(1, 10)
"""Above this sampling fraction, the decision rule does not take Pitman's estimate."""
SOLVED = 1e-6
"""The largest relative error of a solution of the equations of the slide negative binomial."""
FARTHEST = 20.0
"""Parameters between 0 and 1 are looked for from exp(-20) to 1 - exp(-20)."""


@dataclass(frozen=True, kw_only=True)
class PopulationUniques:
    """The uniques of a sample, and estimates of the uniques of its population. None: an estimator
    has no solution.

    sample: people alone in their class of the sample.
    chosen: the estimator that the decision rule takes; None if the sample has no uniques, so that
        all are 0.
    """

    sample: int
    population: Fraction
    pitman: float | None
    zayatz: float
    snb: float | None
    chosen: str | None

    @property
    def estimate(self) -> float:
        """The estimate that the decision rule takes."""
        found: float | None = 0.0 if self.chosen is None else getattr(self, self.chosen)
        assert found is not None
        return found


def estimate_uniques(sizes: IntArray, counts: IntArray, fraction: Fraction) -> PopulationUniques:
    """The estimates from a sample of this fraction of the population, 0 < fraction <= 1.

    sizes, counts: the distinct sizes of classes, and how many classes have each, both shape
        (sizes,).

    The decision rule (Dankar et al. 2012): up to a sampling fraction of 10 % Pitman's estimate,
    above it the smaller one of Zayatz's and the slide negative binomial's. An estimator without a
    solution gives way to Zayatz's.
    """
    rows = int(sizes @ counts)
    alone = int(counts[sizes == 1].sum())
    population = rows / fraction
    if not alone or fraction == 1:
        own = float(alone)
        return PopulationUniques(
            sample=alone,
            population=population,
            pitman=own,
            zayatz=own,
            snb=own,
            chosen="zayatz" if alone else None,
        )
    by_zayatz = zayatz(sizes, counts, float(population))
    found = {
        "pitman": pitman(sizes, counts, float(population)),
        "snb": slide_negative_binomial(sizes, counts, float(fraction)),
    }
    preferred = "pitman" if fraction <= MOST_FOR_PITMAN else "snb"
    other = found[preferred]
    taken = other is not None and (preferred == "pitman" or other <= by_zayatz)
    return PopulationUniques(
        sample=alone,
        population=population,
        zayatz=by_zayatz,
        chosen=preferred if taken else "zayatz",
        **found,
    )


def zayatz(sizes: IntArray, counts: IntArray, population: float) -> float:
    """S_1 = s_1 P(F = 1 | f = 1) N / n (Zayatz 1991, Estimation of the number of unique population
    elements using a sample).

    Bayes' rule with the sizes of the sample's classes in place of those of the population's, and
    the hypergeometric probability that a class has one person in the sample.
    """
    rows = float(sizes @ counts)
    one = counts * _one_of(sizes, rows, population)
    alone = float(counts[sizes == 1].sum())
    return alone * float(one[sizes == 1].sum() / one.sum()) * population / rows


def _one_of(sizes: IntArray, rows: float, population: float) -> FloatArray:
    """The probability that a class of each size has one person in a sample of so many rows."""
    from scipy.special import gammaln

    # j C(N - j, n - 1) / C(N, n); the factors that all sizes share are left out
    left = population - sizes - rows + 1
    logs = np.log(sizes) + gammaln(population - sizes + 1) - gammaln(np.maximum(left, 0) + 1)
    result: FloatArray = np.where(
        left >= 0,
        np.exp(logs - logs.max(where=left >= 0, initial=-np.inf)),
        0.0,
    )
    return result


def pitman(sizes: IntArray, counts: IntArray, population: float) -> float | None:
    """The uniques to expect of N people by Pitman's sampling formula (Hoshino 2001, Applying
    Pitman's sampling formula to microdata disclosure risk assessment), with the likeliest 0 < alpha
    < 1 and theta > -alpha for the sample.

    The expectation is N (theta + alpha)_(N-1) / (theta + 1)_(N-1) in rising factorials, of which
    Hoshino's formula Gamma(theta + 1) / Gamma(theta + alpha) N^alpha is the limit. None without a
    maximum.
    """
    from scipy.optimize import minimize
    from scipy.special import betaln, gammaln

    rows = int(sizes @ counts)
    classes = int(counts.sum())
    if classes in (1, rows):  # the likelihood grows without end
        return None

    def parameters(point: Any) -> tuple[float, float]:
        alpha = 1 / (1 + np.exp(-point[0]))
        return alpha, np.exp(point[1]) - alpha

    def unlikely(point: Any) -> float:
        alpha, theta = parameters(point)
        opened = (classes - 1) * np.log(alpha) + _log_rising(1 + theta / alpha, classes - 1)
        joined = counts @ (gammaln(sizes - alpha) - gammaln(1 - alpha))
        return float((_log_rising(1 + theta, rows - 1) - opened - joined) / rows)

    bounds = [(-FARTHEST, FARTHEST), (-FARTHEST, np.log(population) + FARTHEST)]
    options = {"xatol": 1e-5, "fatol": 1e-13, "maxiter": 2000}
    found = [
        minimize(
            unlikely,
            (alpha, np.log(classes / 4)),
            method="Nelder-Mead",
            bounds=bounds,
            options=options,
        )
        for alpha in (-2.0, 2.0)
    ]
    solved = [one for one in found if one.success]
    if not solved:
        return None
    alpha, theta = parameters(min(solved, key=lambda one: float(one.fun)).x)
    logs = betaln(theta + alpha + population - 1, 1 - alpha) - betaln(theta + alpha, 1 - alpha)
    return float(population * np.exp(logs))


def _log_rising(start: float, steps: float) -> float:
    """The logarithm of start (start + 1) .. (start + steps - 1), without the difference of two
    large gammas.
    """
    from scipy.special import betaln, gammaln

    return 0.0 if steps <= 0 else float(gammaln(steps) - betaln(start, steps))


def slide_negative_binomial(sizes: IntArray, counts: IntArray, fraction: float) -> float | None:
    """S_1 = K beta^alpha: class sizes of the population are 1 plus a negative binomial (Chen and
    McNulty 1998, Estimation of the number of unique population elements using a sample, Proc.
    Survey Research Methods, ASA).

    alpha and beta are those with which a sample has s_1 uniques and s_2 pairs, and K classes of the
    population follow from `population_classes`. None if no alpha and beta do.
    """
    from scipy.optimize import least_squares

    alone = float(counts[sizes == 1].sum())
    pairs = float(counts[sizes == 2].sum())
    classes = population_classes(sizes, counts, fraction)
    if not pairs or classes is None:
        return None

    def parameters(point: Any) -> tuple[float, float]:
        return np.exp(point[0]), 1 / (1 + np.exp(-point[1]))

    def errors(point: Any) -> list[float]:
        alpha, beta = parameters(point)
        missed = (1 - fraction) * (1 - beta)
        kept = 1 - missed
        unseen = classes * fraction * np.exp(alpha * np.log(beta / kept))
        of_one = unseen * (1 + alpha * missed / kept)
        of_two = unseen * alpha * fraction * (1 - beta) / (2 * kept**2) * (2 - (1 - alpha) * missed)
        return [of_one / alone - 1, of_two / pairs - 1]

    for start in [(a, b) for a in (0.0, -3.0, 3.0) for b in (0.0, -3.0, 3.0)]:
        found = least_squares(
            errors,
            start,
            bounds=(-FARTHEST, FARTHEST),
            xtol=1e-15,
            ftol=1e-15,
            gtol=1e-15,
        )
        if np.abs(found.fun).max() <= SOLVED:
            alpha, beta = parameters(found.x)
            return float(classes * np.exp(alpha * np.log(beta)))
    return None


def population_classes(sizes: IntArray, counts: IntArray, fraction: float) -> float | None:
    """K, the number of classes of the population (Haas and Stokes 1998, Estimating the number of
    classes in a finite population, J. Am. Stat. Assoc. 93, the third estimator after Shlosser).
    None if it is not finite.
    """
    missed = (1 - fraction) ** sizes
    squared = fraction**2
    alone = float(counts[sizes == 1].sum())
    once = counts @ (sizes * squared * (1 - squared) ** (sizes - 1))
    twice = counts @ ((1 - squared) ** sizes - missed)
    ratio = (counts @ missed) / (counts @ (sizes * fraction * (1 - fraction) ** (sizes - 1)))
    found = float(counts.sum() + alone * once / twice * ratio**2)
    return found if np.isfinite(found) else None
