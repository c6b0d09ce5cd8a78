"""docs/limits.md: (n, t)-closeness."""

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
from promise_releases import Finished, MakeRelease, skewed

import tclose_spark as tc
from tclose_spark.checks import supersets
from tclose_spark.cli import main

N = 100


def people(rows: int = 600) -> pd.DataFrame:
    """The old have gout more often."""
    draw = np.random.default_rng(5)
    age = draw.integers(20, 80, size=rows)
    gout = draw.random(rows) < np.where(age > 50, 0.7, 0.1)
    return pd.DataFrame(
        {
            "age": age,
            "sex": draw.choice(["f", "m"], size=rows),
            "disease": np.where(gout, "gout", "flu"),
        },
    )


QUASI: dict[str, Any] = {"age": {"type": "numeric"}, "sex": {}}
NT: dict[str, Any] = {
    "privacy": {"nt": {"n": N}},
    "quasi": QUASI,
    "sensitive": {"disease": {"t": "0.15"}},
}


@pytest.fixture(scope="module")
def near(make_finished: MakeRelease) -> Finished:
    return make_finished(
        people(),
        method={"name": "t_mondrian"},
        output={"keep_linked": True},
        **NT,
    )


def ends(label: str) -> tuple[int, int]:
    low, *high = label.strip("[]").split(", ")
    return int(low), int(high[0] if high else low)


def superset(rows: pd.DataFrame, label: dict[str, str]) -> pd.DataFrame:
    """The released rows whose labels lie within wider ones."""
    inside = np.ones(len(rows), dtype=bool)
    if label["age"] != "*":
        low, high = ends(label["age"])
        inside &= (
            rows["age"]
            .map(lambda x: x != "*" and low <= ends(x)[0] and ends(x)[1] <= high)
            .to_numpy()
        )
    if label["sex"] != "*":
        inside &= (rows["sex"] == label["sex"]).to_numpy()
    return rows[inside]


@promises(
    "With `privacy: {nt: {n: 1000}}`, each t is that of (n, t)-closeness",
    "An adversary who knows a person's class learns little",
    "Every class is at most t away from a natural superset",
    "A natural superset consists of all rows",
    "The verifier decides this for every class from the labels alone",
    "The rows of a box are counted exactly.",
    "Every class still meets k and every l.",
)
def test_every_class_is_near_to_the_superset_that_is_named(near: Finished) -> None:
    table = read(near.folder / "internal/classes")
    share = (near.rows["disease"] == "gout").mean()
    farther = 0
    for _, line in table.iterrows():
        mine = near.rows[
            (near.rows[["age", "sex"]] == [line["quasi_identifiers"][q] for q in QUASI]).all(axis=1)
        ]
        assert len(mine) >= 5
        own = Fraction(int((mine["disease"] == "gout").sum()), len(mine))
        farther += abs(float(own) - share) > 0.15
        assert line["superset_disease"] is not None
    assert farther > 0  # from the whole table: so t-closeness alone would not allow the release


@promises(
    "The certificate's `guarantees.nt` reports n, t and the largest proven distance for each "
    "attribute.",
    "`internal/classes` names the superset of each class",
)
def test_guarantees_are_reported(near: Finished) -> None:
    entry = near.certificate["guarantees"]["nt"]["disease"]
    assert entry["n"] == N
    assert entry["required_exact"] == "3/20"
    assert entry["achieved"] <= 0.15
    assert sum(entry["classes"].values()) == near.certificate["release"]["classes"]


@promises("n must be above k (exit code 2) and at most the number of rows (exit code 3).")
@pytest.mark.parametrize(("n", "code"), [(5, 2), (601, 3)])
def test_n_is_above_k_and_within_the_table(
    write_run: Callable[..., Path],
    tmp_path: Path,
    n: int,
    code: int,
) -> None:
    path = write_run(
        tmp_path,
        pa.Table.from_pandas(people()),
        **{**NT, "privacy": {"nt": {"n": n}}},
        k=5,
    )
    assert main(["release", str(path)]) == code
    assert not (tmp_path / "out/public/certificate.json").exists()


@promises(
    "Any method may be used, because t-closeness implies (n, t)-closeness.",
    "The whole table is one.",
)
def test_a_method_that_makes_t_closeness_makes_nt_closeness(make_finished: MakeRelease) -> None:
    made = make_finished(people(), method={"name": "stack_and_deal"}, **NT)
    entry = made.certificate["guarantees"]["nt"]["disease"]
    assert entry["classes"]["whole_table"] == made.certificate["release"]["classes"]


@promises("Methods that cut regions make use of the difference and lose less")
def test_methods_that_cut_regions_lose_less(make_finished: MakeRelease, near: Finished) -> None:
    close = make_finished(people(), method={"name": "t_mondrian"}, **{**NT, "privacy": {}})
    assert near.certificate["utility"]["ncp"] < close.certificate["utility"]["ncp"]


@promises(
    "A class of at least n rows is its own.",
    "A class of at least n rows may have any distribution, even one value.",
)
@promises("The certificate counts such classes.")
def test_a_class_of_n_rows_may_have_one_value(make_finished: MakeRelease) -> None:
    table = pd.DataFrame(
        {"age": [20] * 150 + [40] * 150, "disease": ["flu"] * 150 + ["gout"] * 150},
    )
    how = {
        "quasi": {"age": {"type": "numeric"}},
        "sensitive": {"disease": {"t": "0.1"}},
        "privacy": {"nt": {"n": 100}},
    }
    made = make_finished(table, method={"name": "t_mondrian"}, **how)
    assert made.certificate["guarantees"]["nt"]["disease"]["classes"]["itself"] == 2
    assert made.certificate["attributes"]["sensitive"]["disease"]["homogeneous"]["classes"] == 2


NESTED = [  # the classes of 22 to 25 lie in that of 20 to 29, whatever their texts
    *[("[20, 29]", sex, "flu") for sex in "fm" for _ in range(5)],
    *[(age, sex, "none") for age in ("[22, 25]", "[40, 49]") for sex in "fm" for _ in range(50)],
]


@promises(
    "The verifier looks for supersets among boxes of labels.",
    "A box has for each quasi-identifier an interval",
    "A class is in a box if each of its labels is",
)
@promises("`22, 25` is in `20, 29`.", "A class for which no box is found makes the verdict")
@pytest.mark.parametrize(("n", "holds"), [(10, False), (110, False), (211, False)])
def test_rows_of_narrower_labels_are_counted(n: int, holds: bool) -> None:
    release = pd.DataFrame(NESTED, columns=["age", "sex", "disease"])
    found = tc.audit(release, ["age", "sex"], {"disease": "equal"}, k=5, t="0.1", n=n)
    assert found.holds == holds
    flu = pd.DataFrame(
        [("[22, 25]", sex, "flu") for sex in "fm" for _ in range(5)],
        columns=release.columns,
    )
    wide = release.assign(disease=release["disease"].where(release["age"] != "[22, 25]", "flu"))
    together = tc.audit(
        pd.concat([wide, flu]),
        ["age", "sex"],
        {"disease": "equal"},
        k=5,
        t="0.1",
        n=100,
    )
    assert together.holds  # flu in all of the box of 20 to 29, and in none beside it


@promises("Beyond 2,000,000 classes or 2^25 counts of values")
def test_larger_releases_are_proven_by_the_whole_table_and_by_classes_of_n_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert (supersets.MOST_CLASSES, supersets.MOST_COUNTS) == (2_000_000, 1 << 25)
    release = pd.DataFrame(
        [("[20, 24]", "flu")] * 5 + [("[25, 29]", "flu")] * 5 + [("[40, 49]", "gout")] * 10,
        columns=["age", "disease"],
    )
    how: dict[str, Any] = {"k": 5, "t": "0.1", "n": 10}
    assert tc.audit(release, ["age"], {"disease": "equal"}, **how).holds
    monkeypatch.setattr(supersets, "MOST_CLASSES", 2)
    assert not tc.audit(release, ["age"], {"disease": "equal"}, **how).holds
    whole = release.assign(disease=["flu", "gout"] * 10)
    assert tc.audit(whole, ["age"], {"disease": "equal"}, **{**how, "t": "0.2"}).holds


@promises("Suppressed rows with `of: input` must be within t of the whole table.")
def test_suppressed_rows_must_be_within_t_of_the_table(make_finished: MakeRelease) -> None:
    how = {
        "quasi": {"zip": {"coarsest": 0}},
        "privacy": {"nt": {"n": 100}, "suppression_limit": "0.3"},
    }
    made = make_finished(skewed(), method={"name": "closeness_tree"}, **how)
    assert made.certificate["suppressed"]["rows"] > 0
    assert made.certificate["suppressed"]["guarantees"]["t"]["disease"]["achieved"] <= 0.1
    assert "nt" in made.certificate["guarantees"]
