"""docs/promise.md and docs/limits.md: missing values of quasi-identifiers that could be any
value.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from promise_page import promises
from promise_releases import MakeRelease

AGES = [20, None, 21, 22, 60, None, 61, 62] * 6


@promises(
    "Every label covers a missing value.",
    "With `missing: any`, a missing value widens no label",
    "with `missing: any`, the number of rows without a value",
)
def test_a_missing_value_widens_no_label(make_finished: MakeRelease) -> None:
    table = pd.DataFrame({"age": pd.array(AGES, "Int64"), "disease": ["flu", "none"] * 24})
    quasi = {"age": {"type": "numeric", "missing": "any"}}
    made = make_finished(table, quasi=quasi)
    assert made.certificate["attributes"]["quasi_identifiers"]["age"]["missing_rows"] == AGES.count(
        None,
    )
    assert "*" not in set(made.rows["age"].dropna())
    assert len(made.rows) == len(AGES)
    assert (
        made.rows["age"].notna().all()
    )  # rows without a value stand under intervals, and the verifier agrees
    assert made.certificate["verdict"] == "holds"


@promises(
    "A person whose value is missing may be in several regions.",
    "With `missing: any`, a person's region follows from the quasi-identifiers only if all of "
    "them are known.",
    "The keyed hash of a row draws the region of a person with a missing value",
)
def test_the_region_of_a_missing_value_is_drawn(
    make_finished: MakeRelease,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two releases with other secrets: their regions differ in the rows of missing values only."""
    draw = np.random.default_rng(5)
    ages = pd.array(draw.integers(20, 80, 240), "Int64")
    ages[draw.random(240) < 0.3] = pd.NA
    table = pd.DataFrame(
        {"age": ages, "disease": draw.choice(["flu", "none"], 240), "id": range(240)},
    )
    quasi, regions = {"age": {"type": "numeric", "missing": "any"}}, []
    for secret in ("one secret", "another secret"):
        monkeypatch.setenv("TCLOSE_SECRET", secret)
        made = make_finished(
            table,
            quasi=quasi,
            method={"name": "t_mondrian"},
            sensitive={"disease": {"t": "0.6"}},
            insensitive_attributes=["id"],
            allow_unique=["id"],
        )
        ends = (
            made.rows["age"]
            .str.strip("[]")
            .str.split(", ", expand=True)
            .astype(float)
            .ffill(axis=1)
        )
        spans = ends.set_axis(["low", "high"], axis=1).assign(id=made.rows["id"]).set_index("id")
        known = table.set_index("id")["age"].dropna().astype(float)
        places = spans.drop_duplicates()
        fitting = [int(((places["low"] <= age) & (age <= places["high"])).sum()) for age in known]
        assert set(fitting) == {1}
        assert len(places) > 1  # a person with a missing value fits them all
        regions.append({frozenset(group.index) for _, group in spans.groupby(["low", "high"])})
    assert regions[0] != regions[1]
