"""docs/methods/microaggregation.md: what aggregates in place of labels reveal."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from people import read
from promise_page import promises
from promise_releases import Finished, MakeRelease

QUASI: dict[str, Any] = {"income": {"type": "numeric"}, "age": {"type": "numeric"}}


def people(rows: int = 300) -> pd.DataFrame:
    """One income is extreme."""
    draw = np.random.default_rng(11)
    income = draw.integers(1000, 5000, size=rows)
    income[7] = 9_000_000
    diseases = np.array(["flu", "gout", "ulcer"])[draw.integers(3, size=rows)]
    return pd.DataFrame(
        {"income": income, "age": draw.integers(20, 80, size=rows), "disease": diseases},
    )


@pytest.fixture(scope="module")
def by_mean(make_finished: MakeRelease) -> Finished:
    return aggregated(make_finished, "mean")


def aggregated(make_finished: MakeRelease, representative: str) -> Finished:
    how = {"name": "microaggregation", "representative": representative}
    privacy: dict[str, Any] = {
        "sensitive": {"disease": {"t": "0.3"}},
        "output": {"keep_linked": True},
    }
    return make_finished(people(), quasi=QUASI, method=how, **privacy)


def classes(made: Finished) -> list[pd.DataFrame]:
    linked = read(made.folder / "internal/linked")
    return [rows for _, rows in linked.groupby(list(QUASI))]


@promises(
    "Each quasi-identifier is published as an aggregate",
    "What is guaranteed: k, every t and every l, for these classes.",
    "Every published value is the",
)
@pytest.mark.parametrize("representative", ["mean", "median", "mode"])
def test_every_published_value_is_the_aggregate_of_its_class(
    make_finished: MakeRelease,
    representative: str,
) -> None:
    made = aggregated(make_finished, representative)
    whole = made.rows["disease"].value_counts(normalize=True)
    for rows in classes(made):
        assert len(rows) >= 5
        assert (
            rows["disease"].value_counts(normalize=True).reindex(whole.index, fill_value=0) - whole
        ).abs().sum() <= 0.6 + 1e-9
        for q in QUASI:
            values, (published,) = rows[f"{q}_raw"].astype(int), set(rows[q])
            if representative == "mean":
                assert abs(
                    Fraction(str(published)) - Fraction(int(values.sum()), len(values)),
                ) <= Fraction(1, 20)
            elif representative == "median":
                low, high = np.sort(values)[[(len(values) - 1) // 2, len(values) // 2]]
                assert low <= float(published) <= high
            else:
                counts = values.value_counts()
                assert int(published) in counts[counts == counts.max()].index


@promises(
    "A mean of few rows reveals the last one.",
    "An adversary who knows all values of a class but one can compute",
    "It is n times the mean, less the sum of the others",
    "Fewer `digits` and a larger k blur it.",
    "At least one value of a class is as high as its mean",
)
def test_all_but_one_value_reveal_the_last(by_mean: Finished) -> None:
    for rows in classes(by_mean):
        values = rows["income_raw"].astype(int).to_numpy()
        unit = Fraction(1, 10)
        guess = len(values) * Fraction(str(rows["income"].iloc[0])) - int(values[1:].sum())
        assert abs(guess - int(values[0])) <= len(values) * unit / 2
        mean = Fraction(str(rows["income"].iloc[0]))
        assert min(values) - unit / 2 <= mean <= max(values) + unit / 2


@promises("Medians and modes are values of a row, or are between two.")
@promises(
    "A median reveals on which side of a known value the last one is.",
    "A mode reveals that the last value",
)
@pytest.mark.parametrize("representative", ["median", "mode"])
def test_what_a_median_and_a_mode_reveal_of_the_last(
    make_finished: MakeRelease,
    representative: str,
) -> None:
    for rows in classes(aggregated(make_finished, representative)):
        assert (
            rows["age_raw"].astype(int).min()
            <= float(rows["age"].iloc[0])
            <= rows["age_raw"].astype(int).max()
        )
        values, published = np.sort(rows["age_raw"].astype(int)), float(rows["age"].iloc[0])
        for last in range(len(values)):
            others = np.delete(values, last)
            if representative == "mode":  # no other value than the published one occurs more often
                counts = pd.Series(others).value_counts()
                assert counts.get(published, 0) + (values[last] == published) >= counts.max()
            elif values[last] != published:  # without it the others have too few on its side
                below, above = (others < published).sum(), (others > published).sum()
                side, other = (below, above) if values[last] < published else (above, below)
                assert side < len(values) / 2
                assert side <= other + (values == published).sum()


@promises(
    "An income of 9,000,000 fits few classes",
    "An aggregate rules people out, and may point at one.",
)
@promises("The certificate warns if fewer than k rows reach")
def test_an_extreme_value_points_at_its_class(by_mean: Finished) -> None:
    means = by_mean.rows.groupby("income").size()
    possible = [mean for mean, rows in means.items() if rows * float(mean) >= 9_000_000]
    assert len(possible) == 1
    assert any(
        "income" in text and "fewer than" in text for text in by_mean.certificate["warnings"]
    )
    assert not any(
        "9,000,000" in text or "9000000" in text for text in by_mean.certificate["warnings"]
    )


@promises(
    "Missing values leave fewer to hide among.",
    "Each quasi-identifier is published as an aggregate of the class's values that are not missing",
)
@promises("If only one row of a class has a value, its exact value is published.")
@promises("The certificate warns if fewer than k rows of a class have a value")
def test_a_value_that_is_alone_in_its_class_is_published_and_warned_of(
    make_finished: MakeRelease,
) -> None:
    table = people(10).head(5).assign(zip=1)
    table.loc[table.index > 0, "income"] = np.nan
    how: dict[str, Any] = {
        "method": {"name": "microaggregation", "algorithm": 1, "representative": "mean"},
    }
    quasi = {"income": {"type": "numeric"}, "zip": {"type": "numeric"}}
    made = make_finished(
        table[["income", "zip", "disease"]],
        quasi=quasi,
        sensitive={"disease": {"t": "0.9"}},
        **how,
    )
    published = {float(income) for income in made.rows["income"].dropna()}
    assert published == set(table["income"].dropna())
    assert any(
        "rows have a value" in text and "income" in text for text in made.certificate["warnings"]
    )
    assert not any(
        "rows have a value" in text and "zip" in text for text in made.certificate["warnings"]
    )


@promises(
    "Nothing shows how far values are from an aggregate.",
    "The certificate has no information loss and no regions.",
)
@promises("A class may have 20 and 60 and publish 40.")
def test_no_loss_and_no_regions_are_certified(by_mean: Finished) -> None:
    assert by_mean.certificate["utility"].get("ncp") is None
    assert by_mean.certificate["regions"] == "not looked at"
    widest = max(
        rows["age_raw"].astype(int).max() - rows["age_raw"].astype(int).min()
        for rows in classes(by_mean)
    )
    assert widest > 0
    assert set(by_mean.rows.columns) == {"income", "age", "disease"}
