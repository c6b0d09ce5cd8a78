"""The individual risk against the definition: the mean of 1 / F where F - f is negative binomial,
term by term, and by quadrature of another integral where the terms are too many.
"""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats
from strategies import drawn

from tclose_spark.measures.disclosure.population import (
    IndividualRisk,
    PopulationSizes,
    individual_risks,
    risk_threshold,
)


def risk(f: int, p: float) -> float:
    return float(individual_risks(np.array([f]), np.array([p]))[0])


def by_terms(f: int, p: float) -> float:
    """The mean of 1 / F over so many F that all others together have a chance below 1e-13."""
    most = int(stats.nbinom.isf(1e-14, f, p)) + 2
    unseen = np.arange(most)
    return float((stats.nbinom.pmf(unseen, f, p) / (f + unseen)).sum())


def in_digits(f: int, p: Fraction) -> float:
    """The closed form of the integral of (u / (1 - q u))^f / u, in many digits: powers of 1 - q u =
    v, term by term.
    """
    with localcontext() as context:
        context.prec = 900
        chance = Decimal(p.numerator) / Decimal(p.denominator)
        q, choose, total = 1 - chance, Decimal(1), Decimal(0)
        for i in range(
            f,
        ):  # (1 - v)^(f-1) v^-f = sum of choose(f-1, i) (-1)^i v^(i-f), integrated from p to 1
            power = i - f + 1
            part = -chance.ln() if power == 0 else (1 - chance**power) / power
            total += choose * (-1) ** i * part
            choose = choose * (f - 1 - i) / (i + 1)
        return float((chance / q) ** f * total)


@pytest.mark.parametrize("f", [1, 2, 3, 7, 29, 30, 31, 100])
@pytest.mark.parametrize(
    "p",
    ["1/17", "1/1000000", "1/2", "1/3", "501/1000", "9/10", "999999/1000000"],
)
def test_the_risk_is_the_closed_form(f, p):
    assert risk(f, float(Fraction(p))) == pytest.approx(in_digits(f, Fraction(p)), rel=1e-12)


@pytest.mark.parametrize(
    ("f", "p"),
    [(1, 0.05), (2, 0.2), (3, 1 / 36), (12, 0.02), (40, 0.6), (500, 0.1)],
)
def test_the_risk_is_the_mean_over_the_population(f, p):
    assert risk(f, p) == pytest.approx(by_terms(f, p), rel=1e-9)


@pytest.mark.parametrize("f", [10**3, 10**5, 10**6])
@pytest.mark.parametrize("p", [1e-9, 0.01, 0.5, 0.97])
def test_large_classes_are_stable(f, p):
    found, _ = integrate.quad(
        lambda s: np.exp(-s) / (p + (1 - p) * np.exp(-s / f)),
        0,
        60,
        epsabs=0,
        epsrel=1e-12,
    )
    assert risk(f, p) == pytest.approx(p / f * found, rel=1e-10)


@drawn(200)
@given(st.integers(1, 10**6), st.floats(1e-9, 1.0))
def test_the_risk_is_between_its_bounds(f, p):
    assert (
        p / f * (1 - 1e-12) <= risk(f, p) <= 1 / f * (1 + 1e-12)
    )  # 1 / F is convex, and F at least f


def test_the_right_values_of_the_survey():
    """Classes (2,3,1), (3,3,3), (2,3,2), (3,3,1), (1,4,1) of the example of mu-Argus and
    sdcMicro.
    """
    sizes, weights = np.array([3, 1, 1, 2, 1]), np.array([108, 45.5, 17, 100, 123.5])
    found = individual_risks(sizes, sizes / weights)
    assert found[2] == pytest.approx(np.log(17) / 16)
    assert found.round(3).tolist() == [0.014, 0.086, 0.177, 0.019, 0.039]


def test_the_figures_are_those_of_all_records():
    of = PopulationSizes(
        sizes=np.array([1, 3, 2]),
        population=np.array([170, 30, 1000]),
        unit=10,
        classes=np.array([4, 2, 5]),
    )
    found = IndividualRisk.of(of, Fraction(1, 10), Fraction(1, 20))
    each = [*[np.log(17) / 16] * 4, *[1 / 3] * 6, *[by_terms(2, 0.02)] * 10]
    assert found.expected == pytest.approx(sum(each))
    assert float(found.mean) == pytest.approx(sum(each) / 20)
    assert (float(found.maximum), found.share, found.estimate) == (
        pytest.approx(1 / 3),
        Fraction(1, 2),
        True,
    )
    assert found.threshold is not None
    assert sum(min(one, found.threshold) for one in each) / 20 == pytest.approx(0.05)


@drawn(200)
@given(
    st.lists(st.tuples(st.floats(1e-6, 1), st.integers(1, 9)), min_size=1, max_size=9),
    st.floats(0.001, 1),
)
def test_the_threshold_keeps_the_stated_share(groups, stated):
    risks, records = (np.array(column) for column in zip(*groups, strict=True))
    r = risk_threshold(risks, records, stated)
    reached = (np.minimum(risks, r) * records).sum() / records.sum()
    assert reached <= stated + 1e-9
    assert r >= 1 or reached == pytest.approx(stated)  # a larger one would not
