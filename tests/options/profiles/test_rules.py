"""Figures that rules report, and names of identifiers, without a release."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tclose_spark.options.profiles.columns import PublishedColumns
from tclose_spark.options.profiles.judge import FACTS
from tclose_spark.options.profiles.profiled_release import ProfiledRelease
from tclose_spark.options.profiles.rules import CHECKS, named_identifiers
from tclose_spark.runfile.loading import load_spec

MakeSpec = Callable[..., Any]


@pytest.fixture
def spec_of(run_file: Callable[..., Path]) -> MakeSpec:
    """`spec_of(profile, *insensitive)`: a run file with a profile and columns that are published
    unchanged.
    """
    return lambda profile, *insensitive: load_spec(
        run_file(
            None,
            k=12,
            privacy={"profile": profile},
            insensitive_attributes=list(insensitive),
        ),
    )


def release_of(spec: Any, smallest: int, mean: Fraction | None) -> ProfiledRelease:
    return ProfiledRelease(
        spec=spec,
        profile=spec.privacy.profile,
        found=PublishedColumns({}, {}, {}),
        hierarchies={},
        populations={},
        smallest=smallest,
        mean_risk=mean,
        ncp=None,
        roles={},
    )


@pytest.mark.parametrize(
    ("smallest", "how"),
    [
        (12, "1 / smallest class of 12: 0.0833, at most 0.09"),
        (1000, "1 / smallest class of 1,000: 0.0010, at most"),
    ],
)
def test_the_maximum_risk_is_one_over_the_smallest_class(
    spec_of: MakeSpec,
    smallest: int,
    how: str,
) -> None:
    assert how in CHECKS["maximum_risk"](release_of(spec_of("ema_0070"), smallest, None)).how


@pytest.mark.parametrize(("mean", "text"), [(Fraction(1, 16), "0.0625"), (None, "unknown")])
def test_the_mean_risk_is_stated(spec_of: MakeSpec, mean: Fraction | None, text: str) -> None:
    assert (
        FACTS["mean_risk"](release_of(spec_of("ema_0070"), 12, mean))
        == f"mean of 1 / size of the class: {text}"
    )


@pytest.mark.parametrize(
    ("allowed", "named"),
    [([], ["email", "fax"]), (["fax"], ["email"]), (["fax", "email"], [])],
)
def test_a_published_name_of_an_identifier_is_named_unless_the_run_file_allows_it(
    spec_of: MakeSpec,
    allowed: list[str],
    named: list[str],
) -> None:
    spec = spec_of({"name": "ema_0070", "not_identifiers": allowed}, "email", "fax", "hours")
    assert [line.split("'")[1] for line in named_identifiers(spec)] == named
