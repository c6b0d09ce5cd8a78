"""Releases of surveys: what is published of the weights, counted anew from the raw and the released
rows.
"""

from __future__ import annotations

import html
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from strategies import CITIES

from tclose_spark import pipeline
from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.run import Run
from tclose_spark.report.certificate.schema import FILE
from tclose_spark.runfile.loading import load_spec

QUASI: dict[str, Any] = {"age": {"type": "numeric"}, "sex": {}, "city": {"hierarchy": "cities.csv"}}
DISEASES = ["flu", "gout", "ulcer"]
SCHEMA = json.loads(FILE.read_text())
MakeRun = Callable[..., Run]


def survey(weights: Any = None, n: int = 300) -> pa.Table:
    """People with weights that are unique to the cent, unless others are given."""
    draw = np.random.default_rng(11)
    columns = {
        "age": draw.integers(20, 60, n),
        "sex": np.array(["f", "m"])[draw.integers(2, size=n)],
        "city": np.array(CITIES.leaves)[draw.integers(len(CITIES.leaves), size=n)],
        "disease": np.array(DISEASES)[draw.integers(3, size=n)],
    }
    unique = (draw.permutation(n) * 37 + 10_000) / 100
    return pa.table({**columns, "w": unique if weights is None else weights})


def settings(weight: Any, **more: Any) -> dict[str, Any]:
    return {
        "quasi": QUASI,
        "sensitive": {"disease": {"t": "0.9"}},
        "k": 4,
        "weight": weight,
        **more,
    }


def rounded(value: Any, step: str) -> Decimal:
    """The nearest multiple of a step, from the digits of a value."""
    return (Decimal(str(value)) / Decimal(step)).quantize(Decimal(1), ROUND_HALF_EVEN) * Decimal(
        step,
    )


def released(out: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = (
        DeltaTable(str(out / "public/release")).to_pyarrow_table().to_pylist()
    )
    return rows


def totals(rows: list[dict[str, Any]], of: Callable[[dict[str, Any]], Any]) -> dict[Any, Decimal]:
    found: dict[Any, Decimal] = defaultdict(Decimal)
    for row in rows:
        found[of(row)] += Decimal(str(row["w"]))
    return dict(found)


def class_of(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in QUASI)


def certificate_of(run: Run) -> dict[str, Any]:
    found = dict(pipeline.release(run))
    jsonschema.validate(found, SCHEMA)
    return found


def shown(number: Any) -> str:
    """A number as pages write it."""
    return f"{Decimal(str(number)):,.4f}".rstrip("0").rstrip(".")


def page(out: Path, side: str) -> str:
    """The text of a report, without markup."""
    markup = (out / side / "report.html").read_text()
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", markup)).split())


@pytest.mark.parametrize("step", ["10", "2.5", "0.3"])
def test_published_weights_are_rounded_and_each_figure_follows_from_them(
    step: str,
    make_run: MakeRun,
    tmp_path: Path,
) -> None:
    table = survey(np.random.default_rng(2).integers(1, 2000, 300) / 20)
    run = make_run(
        table,
        **settings({"column": "w", "publish": True, "round_to": step}, allow_unique=["w"]),
    )
    found, rows = certificate_of(run)["weights"], released(tmp_path / "out")
    expected = Counter((one["disease"], rounded(one["w"], step)) for one in table.to_pylist())
    assert Counter((one["disease"], Decimal(str(one["w"]))) for one in rows) == expected
    classes, by_disease = totals(rows, class_of), totals(rows, lambda row: row["disease"])
    assert (found["column"], found["round_to"]) == ("w", str(run.spec.attributes.weight.round_to))
    assert found["total"] == pytest.approx(float(sum(classes.values())), abs=1e-6)
    assert found["smallest_class"] == pytest.approx(float(min(classes.values())), abs=1e-6)
    assert found["mean_class"] == pytest.approx(
        float(sum(classes.values())) / len(classes),
        abs=1e-6,
    )
    raw = totals(table.to_pylist(), lambda row: row["disease"])
    public, internal = page(tmp_path / "out", "public"), page(tmp_path / "out", "internal")
    for disease in DISEASES:
        assert f"{disease} {shown(by_disease[disease])}" in public
        assert f"{disease} {shown(by_disease[disease])}" in internal
        assert f"{disease} {shown(raw[disease])}" in internal
        if raw[disease] != by_disease[disease]:
            assert shown(raw[disease]) not in public
    assert pipeline.verify(run, finished=True).holds


@pytest.mark.parametrize(
    ("kind", "step", "made"),
    [
        (pa.int16(), "5", pa.int64()),
        (pa.int32(), "0.5", pa.float64()),
        (pa.float64(), "5", pa.float64()),
        (pa.float32(), "5", pa.float64()),
        (pa.decimal128(8, 2), "5", pa.float64()),
        (pa.string(), "5", pa.float64()),
    ],
)
def test_ties_go_to_the_even_multiple_in_every_type(
    kind: pa.DataType,
    step: str,
    made: pa.DataType,
    make_run: MakeRun,
    tmp_path: Path,
) -> None:
    values = [2, 3, 7, 8, 20] if pa.types.is_integer(kind) else ["2.5", "7.5", "12.5", "12.4", "20"]
    weights = pa.array([values[i % 5] for i in range(300)]).cast(kind)
    table = survey(weights)
    certificate_of(make_run(table, **settings({"column": "w", "publish": True, "round_to": step})))
    published = DeltaTable(str(tmp_path / "out/public/release")).to_pyarrow_table()["w"]
    assert published.type == made
    expected = Counter(rounded(value, step) for value in weights.to_pylist())
    assert Counter(Decimal(str(value)) for value in published.to_pylist()) == expected


@pytest.mark.parametrize(("step", "warned", "zeros"), [("10", True, 225), ("1", False, 75)])
def test_weights_that_are_rounded_to_zero_are_counted(
    step: str,
    warned: bool,
    zeros: int,
    make_run: MakeRun,
    tmp_path: Path,
) -> None:
    table = survey(np.array([0.0, 2.5, 5.0, 5.1] * 75))  # 5.0 is half of 10, and 0 an even multiple
    run = make_run(
        table,
        **settings({"column": "w", "publish": True, "round_to": step}, allow_unique=["w"]),
    )
    said: list[str] = []
    run.announce = said.append
    warning = (
        "attributes.weight.round_to: in 150 of 300 rows the weight is above 0 and published as 0, "
        "because it is at most half of 10; use a smaller round_to"
    )
    certified = certificate_of(run)["warnings"]
    assert not [
        line for line in certified if "round_to" in line
    ]  # rows that are suppressed later count, too
    assert [line for line in said if "round_to" in line] == [f"note: {warning}"] * warned
    assert sum(row["w"] == 0 for row in released(tmp_path / "out")) == zeros
    assert warning not in page(tmp_path / "out", "public")


def test_published_weights_without_round_to_are_unchanged(
    make_run: MakeRun,
    tmp_path: Path,
) -> None:
    weights = pa.array([[" 12.50", "0", "7"][i % 3] for i in range(300)])
    found = certificate_of(make_run(survey(weights), **settings({"column": "w", "publish": True})))[
        "weights"
    ]
    assert Counter(row["w"] for row in released(tmp_path / "out")) == Counter(weights.to_pylist())
    assert found["total"] == 1950
    assert "round_to" not in found


@pytest.mark.parametrize("weight", ["w", {"column": "w"}, {"column": "w", "publish": False}])
def test_unpublished_weights_are_in_no_public_file(
    weight: Any,
    make_run: MakeRun,
    tmp_path: Path,
) -> None:
    table = survey().rename_columns(["age", "sex", "city", "disease", "pweight_of_row"])
    weight = "pweight_of_row" if weight == "w" else {**weight, "column": "pweight_of_row"}
    run = make_run(table, **settings(weight))
    assert certificate_of(run)["weights"] == {"published": False}
    rows = table.rename_columns(["age", "sex", "city", "disease", "w"]).to_pylist()
    raw, internal = totals(rows, lambda row: row["disease"]), page(tmp_path / "out", "internal")
    assert len(set(raw.values())) == 3
    for disease, total in raw.items():
        assert f"{disease} {shown(total)}" in internal
    files = [path for path in (tmp_path / "out/public").rglob("*") if path.is_file()]
    assert len(files) > 3
    for path in files:
        held = path.read_bytes()
        assert b"pweight" not in held
        assert not any(shown(total).encode() in held for total in raw.values())
    assert set(released(tmp_path / "out")[0]) == {*QUASI, "disease"}
    assert pipeline.verify(run, finished=True).holds


def test_weights_do_not_change_a_release_that_does_not_publish_them(
    make_run: MakeRun,
    tmp_path: Path,
) -> None:
    with_weights = certificate_of(make_run(survey(), **settings("w"), output={"path": "one"}))
    without = settings(None)
    del without["weight"]
    again = certificate_of(make_run(survey(), **without, drop_others=True, output={"path": "two"}))
    assert {**with_weights, "issued": "", "weights": ""} == {**again, "issued": "", "weights": ""}


def test_nearly_unique_weights_are_published_only_if_rounded_or_allowed(
    make_run: MakeRun,
    tmp_path: Path,
) -> None:
    with pytest.raises(InputError) as error:
        pipeline.release(make_run(survey(), **settings({"column": "w", "publish": True})))
    assert re.search(
        r"weight 'w' is nearly unique \(about \d+ values in 300 rows\)",
        str(error.value),
    )
    assert "attributes.weight.round_to" in str(error.value)
    assert "attributes.weight.publish: false" in str(error.value)
    assert not (tmp_path / "out/public/certificate.json").exists()
    found = certificate_of(
        make_run(survey(), **settings({"column": "w", "publish": True}, allow_unique=["w"])),
    )
    assert found["allow_unique"] == ["w"]


def test_weights_that_are_unique_beside_another_column_are_refused_with_advice(
    make_run: MakeRun,
) -> None:
    table = survey(np.arange(300) % 17).append_column("house", pa.array(np.arange(300) // 17))
    weight = {"column": "w", "publish": True}
    with pytest.raises(
        InputError,
        match=r"nearly unique together .*'w' is the weight: round it",
    ) as error:
        pipeline.release(make_run(table, **settings(weight, insensitive_attributes=["house"])))
    assert "'house' and 'w'" in str(error.value)


def test_weights_that_take_back_an_age_are_refused_with_advice(make_run: MakeRun) -> None:
    table = survey()
    table = table.set_column(4, "w", table["age"])
    with pytest.raises(
        InputError,
        match=r"'w' takes back .* of quasi-identifier 'age' .*'w' is the weight: round it",
    ):
        pipeline.release(make_run(table, **settings({"column": "w", "publish": True})))


@pytest.mark.parametrize("publish", [True, False])
@pytest.mark.parametrize(
    "wrong",
    [
        [-1.0],
        [float("inf"), float("nan"), None],
        ["no", "", "1e99", "12 people"],
        [True],
        [1_000_000_001],
    ],
    ids=["negative", "not finite", "text", "truth", "too large"],
)
def test_values_that_are_no_weights_are_an_error(
    wrong: list[Any],
    publish: bool,
    make_run: MakeRun,
    tmp_path: Path,
) -> None:
    good: Any = "12" if isinstance(wrong[0], str) else type(wrong[0])(1)
    table = survey(pa.array([*wrong, *[good] * (300 - len(wrong))]))
    n = 300 if isinstance(wrong[0], bool) else len(wrong)
    with pytest.raises(
        InputError,
        match=f"attributes.weight: column 'w' holds no number .* in {n} of 300 rows",
    ) as error:
        pipeline.release(make_run(table, **settings({"column": "w", "publish": publish})))
    assert not any(
        str(value) in str(error.value).split("expected")[0] for value in ("1e99", "12 people", "-1")
    )
    assert not (tmp_path / "out/public/release").exists()


def test_weights_of_more_people_than_can_be_added_up_are_an_error(make_run: MakeRun) -> None:
    table = survey(
        np.full(12_000, 900_000_000),
        n=12_000,
    )  # 1.08e19 millionths of people: more than 64 bits hold
    with pytest.raises(
        InputError,
        match=r"attributes.weight: column 'w' adds up to more than 1,000,000,000,000 people",
    ):
        pipeline.release(make_run(table, **settings("w")))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"weight": {"column": "age", "publish": True}},
            "'age' is in quasi_identifiers and in weight",
        ),
        ({"weight": "disease"}, "'disease' is in sensitive_attributes and in weight"),
        (
            {"weight": "w", "insensitive_attributes": ["w"]},
            "'w' is in insensitive_attributes and in weight",
        ),
        ({"weight": {"column": "w", "round_to": 5}}, "round_to: it is for a published weight"),
        ({"weight": {"column": "w", "publish": True, "round_to": 0}}, "expected a number above 0"),
        (
            {
                "weight": {"column": "w", "publish": True},
                "person": "p",
                "method": {"name": "t_mondrian"},
            },
            "weights are of rows",
        ),
        ({"weight": "w", "allow_unique": ["w"]}, "allow_unique: names 'w'"),
        (
            {"weight": "w", "privacy": {"population": {"weight": "w"}}},
            "'w', which is not published",
        ),
    ],
)
def test_settings_that_contradict_each_other(
    more: Any,
    message: str,
    run_file: Callable[..., Path],
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        load_spec(run_file(survey(), quasi=QUASI, sensitive={"disease": {"t": "0.9"}}, **more))


def test_a_weight_that_the_input_lacks_is_an_error(make_run: MakeRun) -> None:
    with pytest.raises(
        InputError,
        match=r"attributes.weight: column 'pweight' is not in the input",
    ):
        pipeline.release(make_run(survey(), **settings("pweight"), drop_others=True))


def test_a_published_weight_is_that_of_the_population(make_run: MakeRun, tmp_path: Path) -> None:
    weight = {"column": "w", "publish": True, "round_to": 20}
    run = make_run(survey(), **settings(weight, privacy={"population": {"weight": "w"}}))
    found, rows = certificate_of(run), released(tmp_path / "out")
    classes, size = totals(rows, class_of), Counter(map(class_of, rows))
    worst = max(1 / max(float(people), size[key]) for key, people in classes.items())
    assert found["risks"]["journalist"]["maximum"] == pytest.approx(worst)
    assert (
        found["risks"]["population"]["people"]
        == found["weights"]["total"]
        == float(sum(classes.values()))
    )


def test_totals_of_many_values_are_those_of_the_largest(make_run: MakeRun, tmp_path: Path) -> None:
    names = [f"d{i:02d}" for i in range(26)]
    table = survey(pa.array([1 + i % 26 for i in range(300)]))
    table = table.set_column(3, "disease", pa.array([names[i % 26] for i in range(300)]))
    weight = {"column": "w", "publish": True, "round_to": 1}
    pipeline.release(make_run(table, **settings(weight, allow_unique=["w"])))
    sums = totals(table.to_pylist(), lambda row: row["disease"])
    ranked, public = sorted(sums.values(), reverse=True), page(tmp_path / "out", "public")
    assert f"6 other values {shown(sum(ranked[20:]))}" in public
    assert f"d25 {shown(sums['d25'])}" in public


def test_suppressed_rows_are_in_the_raw_totals_only(make_run: MakeRun, tmp_path: Path) -> None:
    quasi = {name: {**one, "coarsest": 0} for name, one in QUASI.items()} | {
        "age": {"type": "numeric", "coarsest": 2},
    }
    weight = {"column": "w", "publish": True, "round_to": 100}
    run = make_run(
        survey(),
        **{**settings(weight), "quasi": quasi},
        privacy={"suppression_limit": "0.9", "of": "released"},
        method={"name": "t_mondrian"},
    )
    found, rows = certificate_of(run), released(tmp_path / "out")
    assert 0 < len(rows) < 300
    assert found["weights"]["total"] == float(sum(totals(rows, class_of).values()))
    raw = totals(survey().to_pylist(), lambda row: row["disease"])
    internal, public = page(tmp_path / "out", "internal"), page(tmp_path / "out", "public")
    assert all(f"{disease} {shown(total)}" in internal for disease, total in raw.items())
    assert not any(shown(total) in public for total in raw.values())
    assert pipeline.verify(run, finished=True).holds


@pytest.mark.parametrize(
    "weight",
    [{"column": "w"}, {"column": "w", "publish": True, "round_to": 20}],
)
def test_both_engines_weigh_the_same_people(
    weight: Any,
    spark: SparkSession,
    write_run: Callable[..., Path],
    tmp_path: Path,
) -> None:
    path = write_run(tmp_path, survey(), **settings(weight))
    files = []
    for session in (LocalSession(), spark):
        certificate = dict(pipeline.release(Run(load_spec(path), session, lambda line: None, True)))
        profile = json.loads((tmp_path / "out/internal/profile.json").read_text())
        figures = json.loads((tmp_path / "out/internal/verification.json").read_text())
        rows = sorted(map(str, released(tmp_path / "out")))
        files.append(
            ({**certificate, "issued": ""}, profile["weights"], figures.get("weights"), rows),
        )
    assert files[0] == files[1]
    assert sum(files[1][1][0]) == round(sum(survey()["w"].to_pylist()) * 10**6)
