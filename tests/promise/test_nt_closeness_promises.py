"""docs/promise.md: (n, t)-closeness."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from people import read
from promise_page import promises
from promise_releases import Finished, MakeRelease

from tclose_spark.cli import main

N = 100


def people(rows: int = 600) -> pd.DataFrame:
    """The old have gout more often."""
    draw = np.random.default_rng(5)
    age = draw.integers(20, 80, size=rows)
    gout = draw.random(rows) < np.where(age > 50, 0.7, 0.1)
    return pd.DataFrame(
        {"age": age, "sex": draw.choice(["f", "m"], size=rows), "disease": np.where(gout, "gout", "flu")}
    )


QUASI: dict[str, Any] = {"age": {"type": "numeric"}, "sex": {}}
NT: dict[str, Any] = {"privacy": {"nt": {"n": N}}, "quasi": QUASI, "sensitive": {"disease": {"t": "0.15"}}}


@pytest.fixture(scope="module")
def near(make_finished: MakeRelease) -> Finished:
    return make_finished(people(), method={"name": "t_mondrian"}, output={"keep_linked": True}, **NT)


def ends(label: str) -> tuple[int, int]:
    low, *high = label.strip("[]").split(", ")
    return int(low), int(high[0] if high else low)


def superset(rows: pd.DataFrame, label: dict[str, str]) -> pd.DataFrame:
    """The released rows whose labels lie within wider ones."""
    inside = np.ones(len(rows), dtype=bool)
    if label["age"] != "*":
        low, high = ends(label["age"])
        inside &= rows["age"].map(lambda x: x != "*" and low <= ends(x)[0] and ends(x)[1] <= high).to_numpy()
    if label["sex"] != "*":
        inside &= (rows["sex"] == label["sex"]).to_numpy()
    return rows[inside]


@promises(
    "Every class is at most t away from a natural superset",
    "The verifier decides it for every class from the labels alone.",
    "A superset's rows are counted from the released classes whose labels lie within it, exactly.",
    "k and every l hold in each class as without it.",
)
def test_every_class_is_near_to_the_superset_that_is_named(near: Finished) -> None:
    table = read(near.folder / "internal/classes")
    share = (near.rows["disease"] == "gout").mean()
    farther = 0
    for _, line in table.iterrows():
        mine = near.rows[(near.rows[["age", "sex"]] == [line["quasi_identifiers"][q] for q in QUASI]).all(axis=1)]
        assert len(mine) >= 5
        own = Fraction(int((mine["disease"] == "gout").sum()), len(mine))
        farther += abs(float(own) - share) > 0.15
        assert line["superset_disease"] is not None
    assert farther > 0  # from the whole table: so t-closeness alone would not allow the release


@promises("The certificate's `guarantees.nt` reports n, t and the largest proven distance by attribute")
def test_guarantees_are_reported(near: Finished) -> None:
    entry = near.certificate["guarantees"]["nt"]["disease"]
    assert entry["n"] == N
    assert entry["required_exact"] == "3/20"
    assert entry["achieved"] <= 0.15
    assert sum(entry["classes"].values()) == near.certificate["release"]["classes"]


@promises("n must be above k (exit code 2) and at most the number of rows (exit code 3).")
@pytest.mark.parametrize(("n", "code"), [(5, 2), (601, 3)])
def test_n_is_above_k_and_within_the_table(write_run: Callable[..., Path], tmp_path: Path, n: int, code: int) -> None:
    path = write_run(tmp_path, pa.Table.from_pandas(people()), **{**NT, "privacy": {"nt": {"n": n}}}, k=5)
    assert main(["release", str(path)]) == code
    assert not (tmp_path / "out/public/certificate.json").exists()


@promises("Any method may be used: t-closeness implies (n, t)-closeness.", "The whole table is one.")
def test_a_method_that_makes_t_closeness_makes_nt_closeness(make_finished: MakeRelease) -> None:
    made = make_finished(people(), method={"name": "stack_and_deal"}, **NT)
    entry = made.certificate["guarantees"]["nt"]["disease"]
    assert entry["classes"]["whole_table"] == made.certificate["release"]["classes"]


@promises("Methods that cut regions make use of it and lose less")
def test_methods_that_cut_regions_lose_less(make_finished: MakeRelease, near: Finished) -> None:
    close = make_finished(people(), method={"name": "t_mondrian"}, **{**NT, "privacy": {}})
    assert near.certificate["utility"]["ncp"] < close.certificate["utility"]["ncp"]


@promises("A class of n rows is its own.", "A class of n rows may have any distribution, even one value.")
@promises("The certificate counts such classes (`homogeneous`).")
def test_a_class_of_n_rows_may_have_one_value(make_finished: MakeRelease) -> None:
    table = pd.DataFrame({"age": [20] * 150 + [40] * 150, "disease": ["flu"] * 150 + ["gout"] * 150})
    how = {"quasi": {"age": {"type": "numeric"}}, "sensitive": {"disease": {"t": "0.1"}}, "privacy": {"nt": {"n": 100}}}
    made = make_finished(table, method={"name": "t_mondrian"}, **how)
    assert made.certificate["guarantees"]["nt"]["disease"]["classes"]["itself"] == 2
    assert made.certificate["attributes"]["disease"]["homogeneous"]["classes"] == 2
