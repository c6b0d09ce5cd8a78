"""Risks against a population, record by record, and estimates of its uniques against populations
that are known.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn

from tclose_spark.measures.disclosure import population_uniques
from tclose_spark.measures.disclosure.population import (
    PopulationSizes,
    Risk,
    population_risks,
    prosecutor_risk,
)
from tclose_spark.measures.disclosure.population_uniques import estimate_uniques

FRACTIONS = st.fractions(min_value=Fraction(1, 1000), max_value=1, max_denominator=1000)
THRESHOLDS = st.sampled_from(
    [Fraction(1, 11), Fraction(9, 100), Fraction(1, 2), Fraction(1, 3), Fraction(1)],
)
GROUPS = st.lists(
    st.tuples(st.integers(1, 12), st.integers(0, 60), st.integers(1, 4)),
    min_size=1,
    max_size=12,
)


def brute(chances: list[Fraction], threshold: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """Maximum, mean and share, one chance for each record."""
    above = sum(chance > threshold for chance in chances)
    return max(chances), sum(chances, Fraction(0)) / len(chances), Fraction(above, len(chances))


def figures(risk: Risk) -> tuple[Fraction, Fraction, Fraction]:
    return risk.maximum, risk.mean, risk.share


def columns(groups: list[tuple[int, ...]]) -> list[np.ndarray]:
    return [np.array(column, dtype=np.int64) for column in zip(*groups, strict=True)]


@drawn(200)
@given(GROUPS, THRESHOLDS, st.integers(1, 5))
def test_risks_are_those_of_every_record(groups, threshold, unit):
    sizes, population, classes = columns(groups)
    whole = PopulationSizes(sizes=sizes, population=population, unit=unit, classes=classes)
    found = population_risks(whole, threshold, estimate=True)
    each = [
        (f, max(Fraction(people, unit), Fraction(f))) for f, people, n in groups for _ in range(n)
    ]
    of_records = brute([1 / people for f, people in each for _ in range(f)], threshold)
    assert figures(found["marketer"]) == of_records
    from_people = Fraction(len(each)) / sum(people for _, people in each)
    assert figures(found["journalist"]) == (
        of_records[0],
        max(of_records[1], from_people),
        of_records[2],
    )
    assert {risk.estimate for risk in found.values()} == {True}
    prosecutor = prosecutor_risk(sizes, classes, threshold)
    assert figures(prosecutor) == brute(
        [Fraction(1, f) for f, _ in each for _ in range(f)],
        threshold,
    )
    assert not prosecutor.estimate
    assert whole.unmatched == sum(n for f, people, n in groups if people < f * unit)


@drawn(100)
@given(GROUPS, THRESHOLDS, FRACTIONS)
def test_a_fraction_scales_every_class(groups, threshold, fraction):
    sizes, _, classes = columns(groups)
    found = population_risks(
        PopulationSizes.of_fraction(sizes, classes, fraction),
        threshold,
        estimate=True,
    )
    chances = [fraction / f for f, _, n in groups for _ in range(f * n)]
    assert figures(found["marketer"]) == brute(chances, threshold)
    assert figures(found["journalist"]) == brute(chances, threshold)


def test_a_threshold_of_many_digits_is_compared_exactly():
    sizes, classes = np.array([3, 4]), np.array([1, 1])
    for threshold, share in (
        (Fraction(10**40 + 1, 4 * 10**40), Fraction(3, 7)),
        (Fraction(10**40 - 1, 4 * 10**40), 1),
    ):
        assert prosecutor_risk(sizes, classes, threshold).share == share


def test_no_class_has_no_risk():
    with pytest.raises(ValueError, match="classes that have records"):
        prosecutor_risk(np.array([], dtype=np.int64), np.array([], dtype=np.int64), Fraction(1, 2))


# --- uniques


def people(name: str, n: int = 100_000) -> np.ndarray:
    """The class of each person of a population."""
    draw = np.random.default_rng(5)
    if name == "zipf":
        return draw.zipf(1.3, n) % 100_000
    age, sex = np.clip(draw.normal(45, 18, n), 0, 95).astype(int), draw.integers(2, size=n)
    zip_code = np.minimum((draw.pareto(1.0, n) * 5).astype(int), 800)
    job = draw.choice(14, n, p=draw.dirichlet(np.ones(14)))
    return (age * 1000 + zip_code) * 2 + sex + (job * 1_000_000 if name == "jobs" else 0)


def sampled(population: np.ndarray, fraction: Fraction, seed: int) -> tuple[np.ndarray, np.ndarray]:
    drawn = np.random.default_rng(seed).choice(
        population,
        int(fraction * len(population)),
        replace=False,
    )
    return np.unique(np.unique(drawn, return_counts=True)[1], return_counts=True)


@pytest.mark.parametrize("name", ["zipf", "zips", "jobs"])
@pytest.mark.parametrize(
    ("fraction", "factor"),
    [("0.02", 2.5), ("0.05", 1.8), ("0.1", 1.45), ("0.2", 1.2), ("0.5", 1.1)],
)
def test_the_chosen_estimate_is_near_the_uniques_of_the_population(name, fraction, factor):
    population, fraction = people(name), Fraction(fraction)
    true = int((np.unique(population, return_counts=True)[1] == 1).sum())
    found = [estimate_uniques(*sampled(population, fraction, seed), fraction) for seed in range(3)]
    for one in found:
        assert true / factor < one.estimate < true * factor
        assert one.population == len(population)
    if fraction <= Fraction(1, 10):
        assert {one.chosen for one in found} == {"pitman"}
    else:
        assert all(
            one.estimate == min(x for x in (one.snb, one.zayatz) if x is not None) for one in found
        )


def test_pitman_of_a_sample_of_his_own_urn():
    """People who choose classes one after another, by Pitman's formula: a new one with theta +
    alpha K, one of f people with f - alpha.
    """
    draw, theta, alpha, n = np.random.default_rng(2), 200.0, 0.4, 40_000
    chosen: list[int] = []
    held: list[int] = []
    while len(chosen) < n:
        if draw.random() * (len(chosen) + theta) < theta + alpha * len(held):
            held.append(0)
            one = len(held) - 1
        else:  # as a person who was there, and if need be another one
            one = chosen[int(draw.integers(len(chosen)))]
            while draw.random() * held[one] < alpha:
                one = chosen[int(draw.integers(len(chosen)))]
        held[one] += 1
        chosen.append(one)
    estimate = population_uniques.pitman(*sampled(np.array(chosen), Fraction(1, 20), 1), n)
    assert estimate == pytest.approx(held.count(1), rel=0.15)


def test_pitman_at_the_limit_is_hoshinos_formula():
    """Gamma(theta + 1) / Gamma(theta + alpha) N^alpha: 100 times the people, 100^alpha times the
    uniques.
    """
    sizes, counts = sampled(people("zipf"), Fraction(1, 20), 0)
    first, second, third = (population_uniques.pitman(sizes, counts, n) for n in (1e8, 1e10, 1e12))
    assert second / first == pytest.approx(third / second, rel=1e-4)


def test_shlosser_counts_the_classes_of_the_population():
    population = people("zips")
    found = population_uniques.population_classes(*sampled(population, Fraction(3, 10), 0), 0.3)
    assert found == pytest.approx(len(np.unique(population)), rel=0.05)


def test_the_slide_negative_binomial_of_its_own_population(monkeypatch):
    """Class sizes that are 1 plus a negative binomial, of which Bernoulli samples are drawn."""
    draw, alpha, beta, classes = np.random.default_rng(3), 0.5, 0.2, 40_000
    population = np.repeat(np.arange(classes), 1 + draw.negative_binomial(alpha, beta, classes))
    monkeypatch.setattr(population_uniques, "population_classes", lambda *_: float(classes))
    for fraction in (Fraction(1, 5), Fraction(1, 2)):
        estimate = population_uniques.slide_negative_binomial(
            *sampled(population, fraction, 4),
            float(fraction),
        )
        assert estimate == pytest.approx(classes * beta**alpha, rel=0.05)


def test_zayatz_by_hand():
    """Two classes of one, one of two; half of N = 8: 2 * (2/3 P(1|1)) / (2/3 P(1|1) + 1/3 P(1|2)) *
    8 / 4.
    """
    of_one, of_two = Fraction(4, 8), 2 * Fraction(4 * 4, 8 * 7)
    expected = 2 * (2 * of_one) / (2 * of_one + of_two) * 2
    found = population_uniques.zayatz(np.array([1, 2]), np.array([2, 1]), 8.0)
    assert found == pytest.approx(float(expected))


def test_a_sample_without_uniques_has_none_to_estimate():
    found = estimate_uniques(np.array([2, 5]), np.array([10, 3]), Fraction(1, 10))
    assert (found.sample, found.estimate, found.chosen) == (0, 0.0, None)


def test_the_whole_population_has_the_uniques_of_the_sample():
    found = estimate_uniques(np.array([1, 5]), np.array([10, 3]), Fraction(1))
    assert (found.sample, found.estimate) == (10, 10.0)


@pytest.mark.parametrize("fraction", ["0.05", "0.5"])
def test_zayatz_stands_in_for_an_estimator_without_a_solution(fraction):
    """All records alone: neither Pitman's likelihood nor the slide negative binomial has a
    solution.
    """
    found = estimate_uniques(np.array([1]), np.array([50]), Fraction(fraction))
    assert (found.pitman, found.snb, found.chosen) == (None, None, "zayatz")
    assert found.estimate == pytest.approx(float(found.population))
