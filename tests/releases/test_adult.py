"""Real tables through the run files of conf/: what is asked holds, every row is released, as little
as known is lost.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import deltalake
import pandas as pd
import pytest

from tclose_spark import pipeline
from tclose_spark.errors import UnreachableError
from tclose_spark.io.run import Run

ROOT = Path(__file__).resolve().parents[2]
ADULT_QUASI = ["age", "workclass", "education", "native-country", "marital-status", "race", "sex"]

OpenRun = Callable[..., Run]
Release = Callable[..., tuple[dict[str, Any], pd.DataFrame, dict[str, Any]]]


@pytest.fixture
def release(open_run: OpenRun, data: Path, tmp_path: Path) -> Release:
    """`release("adult", "key=value", ...)`: the certificate, the released rows and the plan of a
    run of conf/adult.yaml.
    """
    assert data

    def run(name: str, *settings: str) -> tuple[dict[str, Any], pd.DataFrame, dict[str, Any]]:
        certificate = dict(
            pipeline.release(
                open_run(ROOT / f"conf/{name}.yaml", f"output.path={tmp_path}/out", *settings),
            ),
        )
        rows = (
            deltalake.DeltaTable(str(tmp_path / "out/public/release"))
            .to_pyarrow_table()
            .to_pandas()
        )
        return (
            certificate,
            rows,
            json.loads((tmp_path / "out/internal/plan_report.json").read_text()),
        )

    return run


def classes_of(rows: pd.DataFrame, quasi: list[str], sensitive: str) -> list[list[Any]]:
    return [group[sensitive].tolist() for _, group in rows.groupby(quasi, dropna=False)]


def worst_emd(classes: list[list[Any]], domain: list[Any], ordered: bool) -> Fraction:
    """The largest earth mover's distance of a class from all of them together, by the
    definition.
    """
    whole, n = Counter(value for rows in classes for value in rows), sum(map(len, classes))
    worst = Fraction(0)
    for rows in classes:
        inside = Counter(rows)
        differences = [Fraction(inside[v], len(rows)) - Fraction(whole[v], n) for v in domain]
        if ordered:
            run, total = Fraction(0), Fraction(0)
            for difference in differences[:-1]:
                run += difference
                total += abs(run)
            worst = max(worst, total / (len(domain) - 1))
        else:
            worst = max(worst, sum(map(abs, differences), Fraction(0)) / 2)
    return worst


def planned(report: dict[str, Any]) -> Fraction:
    """The largest distance that the plan foretold, of its one sensitive attribute."""
    details = report["details"]
    return next(
        Fraction(size["emd"][0])
        for size in details["sizes"]
        if size["classes"] == details["classes"]
    )


@pytest.mark.parametrize(
    ("deal", "least", "most"),
    [("local", 0.55, 0.61), ("round_robin", 0.85, 0.93)],
)
def test_adult_occupation_in_classes_of_20(
    release: Release,
    deal: str,
    least: float,
    most: float,
) -> None:
    certificate, rows, plan = release(
        "adult",
        f"method={{name: stack_and_deal, stack_order: value, deal: {deal}}}",
    )
    classes = classes_of(rows, ADULT_QUASI, "occupation")
    worst = worst_emd(classes, sorted(set(rows["occupation"])), ordered=False)
    assert len(rows) == certificate["release"]["rows"] == 30_162
    assert min(map(len, classes)) == certificate["guarantees"]["k"]["achieved"] >= 20
    assert plan["figures"]["class_size"] == 20
    assert round(float(planned(plan)), 3) == 0.144
    assert (
        worst
        == Fraction(certificate["guarantees"]["t"]["occupation"]["achieved_exact"])
        <= planned(plan)
    )
    assert least <= certificate["utility"]["ncp"] <= most


@pytest.mark.parametrize(
    ("sensitive", "most"),
    [
        pytest.param({"occupation": {"distance": "equal", "t": "0.1"}}, 0.345, id="occupation"),
        pytest.param(
            {"age": {"distance": "ordered", "t": "0.1"}},
            0.092,
            id="age",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {
                "age": {"distance": "ordered", "t": "0.1"},
                "occupation": {"distance": "equal", "t": "0.1"},
            },
            0.4,
            id="age and occupation",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_adult_by_the_closeness_tree(
    release: Release,
    data: Path,
    sensitive: dict[str, dict[str, str]],
    most: float,
) -> None:
    quasi = [name for name in (*ADULT_QUASI, "occupation") if name not in sensitive]
    trees = {
        n: {"type": "numeric"}
        if n == "age"
        else {"hierarchy": f"{data}/adult/hierarchies/adult_hierarchy_{n}.csv"}
        for n in quasi
    }
    roles = {"attributes.quasi_identifiers": trees, "attributes.sensitive_attributes": sensitive}
    certificate, rows, _ = release(
        "adult",
        "privacy.k=5",
        *(f"{key}={json.dumps(value)}" for key, value in roles.items()),
    )
    assert len(rows) == 30_162
    for name, asked in sensitive.items():
        classes = classes_of(rows, quasi, name)
        worst = worst_emd(classes, sorted(set(rows[name])), ordered=asked["distance"] == "ordered")
        assert min(map(len, classes)) == certificate["guarantees"]["k"]["achieved"] >= 5
        assert (
            worst
            == Fraction(certificate["guarantees"]["t"][name]["achieved_exact"])
            <= Fraction(asked["t"])
        )
    assert certificate["utility"]["ncp"] <= most


def test_heart_cholesterol_in_order(release: Release, data: Path) -> None:
    certificate, rows, plan = release("heart", "method={name: stack_and_deal}")
    raw = pd.read_csv(data / "heart/heart_1025.csv")
    assert Counter(rows["chol"]) == Counter(raw["chol"])
    classes = classes_of(rows, ["age", "sex", "cp", "thalach"], "chol")
    worst = worst_emd(classes, sorted(set(raw["chol"])), ordered=True)
    assert min(map(len, classes)) >= 10
    assert round(float(planned(plan)), 3) == 0.05
    assert (
        worst == Fraction(certificate["guarantees"]["t"]["chol"]["achieved_exact"]) <= planned(plan)
    )
    ends = [int(end) for label in set(rows["thalach"]) for end in label.strip("[]").split(", ")]
    assert all(end % 5 == 0 for end in ends)
    assert min(ends) <= raw["thalach"].min()
    assert max(ends) >= raw["thalach"].max()


@pytest.mark.parametrize(
    ("run", "k", "stack_order", "sensitive", "emd"),
    [
        ("adult", 20, "frequency", "occupation: {distance: equal}", "0.153"),
        ("adult", 20, "frequency", "age: {distance: ordered}", "0.034"),
        ("adult", 20, "value", "age: {distance: ordered}", "0.0305"),
        ("heart", 10, "frequency", "chol: {distance: ordered}", "0.147"),
        ("heart", 10, "value", "chol: {distance: ordered}", "0.050"),
    ],
)
def test_planned_distances(
    open_run: OpenRun,
    data: Path,
    tmp_path: Path,
    run: str,
    k: int,
    stack_order: str,
    sensitive: str,
    emd: str,
) -> None:
    opened = open_run(
        ROOT / f"conf/{run}.yaml",
        f"output.path={tmp_path}/out",
        f"privacy.k={k}",
        f"method={{name: stack_and_deal, stack_order: {stack_order}}}",
        "attributes.quasi_identifiers={sex: }",
        f"attributes.sensitive_attributes={{{sensitive.replace('}', ', t: measure}')}}}",
    )
    pipeline.profile(opened)
    assert format(float(planned(asdict(pipeline.plan(opened)))), f".{len(emd) - 2}f") == emd


def test_occupation_in_classes_of_5_does_not_reach_a_fifth(
    open_run: OpenRun,
    data: Path,
    tmp_path: Path,
) -> None:
    settings = [
        f"output.path={tmp_path}/out",
        "privacy.k=5",
        "method={name: stack_and_deal, stack_order: value}",
    ]
    pipeline.profile(open_run(ROOT / "conf/adult.yaml", *settings, "method.class_size=k"))
    with pytest.raises(
        UnreachableError,
        match=r"classes of size 5 reach t = 0\.65.* begin with 16 .*17, 18 do not",
    ):
        pipeline.plan(open_run(ROOT / "conf/adult.yaml", *settings, "method.class_size=k"))
    pipeline.profile(open_run(ROOT / "conf/adult.yaml", *settings))
    assert pipeline.plan(open_run(ROOT / "conf/adult.yaml", *settings)).figures["class_size"] == 16


@pytest.mark.slow
def test_census_income(release: Release) -> None:
    certificate, rows, plan = release("census_income", "method={name: stack_and_deal}")
    quasi = [
        "age",
        "sex",
        "race",
        "education",
        "marital_stat",
        "class_of_worker",
        "country_of_birth_self",
    ]
    classes = classes_of(rows, quasi, "detailed_occupation_recode")
    worst = worst_emd(classes, sorted(set(rows["detailed_occupation_recode"])), ordered=False)
    assert len(rows) == 299_285
    assert (
        min(map(len, classes))
        == certificate["guarantees"]["k"]["achieved"]
        >= plan["figures"]["class_size"]
        >= 10
    )
    assert (
        worst
        == Fraction(certificate["guarantees"]["t"]["detailed_occupation_recode"]["achieved_exact"])
        <= planned(plan)
        <= Fraction(1, 10)
    )
