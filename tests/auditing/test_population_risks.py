"""Audits of a sample against its population: risks counted anew from rows, and what is labelled an
estimate.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tclose_spark.api.audit import audit
from tclose_spark.auditing.views import audit_lines, audit_page
from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.report.notebook import printed

QUASI = ["age", "sex"]
AT = Fraction(9, 100)


def people(n: int = 4000, seed: int = 3) -> pa.Table:
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "age": np.clip(draw.normal(45, 30, n), 0, 400).astype(int),
            "sex": np.array(["f", "m"])[draw.integers(2, size=n)],
            "pay": draw.integers(4, size=n),
        },
    )


def sample(population: pa.Table, every: int = 10) -> pa.Table:
    rows = population.take(pa.array(range(0, len(population), every)))
    return rows.append_column("w", pa.array([1.5 + i % 3 for i in range(len(rows))]))


def classes_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(table[name].to_pylist() for name in QUASI), strict=True))


def risks(f: dict[Any, int], people_of: dict[Any, Fraction]) -> dict[str, tuple[Fraction, ...]]:
    """Maximum, mean and share of each adversary, record by record."""
    records = [key for key, n in f.items() for _ in range(n)]
    fits = {key: max(people_of[key], Fraction(f[key])) for key in f}

    def of(chances: list[Fraction]) -> tuple[Fraction, ...]:
        return (
            max(chances),
            sum(chances) / len(chances),
            Fraction(sum(x > AT for x in chances), len(chances)),
        )

    marketer = of([1 / fits[key] for key in records])
    mean = max(marketer[1], len(f) / sum(fits.values()))
    prosecutor = of([Fraction(1, f[key]) for key in records])
    return {
        "prosecutor": prosecutor,
        "journalist": (marketer[0], mean, marketer[2]),
        "marketer": marketer,
    }


def found(population: Any, table: pa.Table, **more: Any) -> Any:
    return audit(table, QUASI, population=population, engine="local", attacks=False, **more).risks


@pytest.mark.parametrize("kind", ["fraction", "weight", "table"])
def test_risks_are_counted_record_by_record(kind: str, tmp_path: Path) -> None:
    population = people()
    table, f = sample(population), Counter(classes_of(sample(population)))
    in_population = Counter(classes_of(population))
    weights: dict[Any, Fraction] = Counter()
    for key, weight in zip(classes_of(table), table["w"].to_pylist(), strict=True):
        weights[key] += Fraction(weight)
    pq.write_table(population, tmp_path / "people.parquet")
    said = {"fraction": "0.1", "weight": "weight:w", "table": f"table:{tmp_path}/people.parquet"}[
        kind
    ]
    of = {"fraction": {key: Fraction(n) * 10 for key, n in f.items()}, "weight": weights}.get(
        kind,
        {key: Fraction(n) for key, n in in_population.items()},
    )
    reached = found(said, table)
    expected = risks(f, of)
    assert ("individual" in reached.risks) == (kind != "table")
    for adversary in expected:
        maximum, mean, share, risk = *expected[adversary], reached.risks[adversary]
        assert (risk.maximum, risk.share) == (maximum, share)
        assert 0 <= risk.mean - mean < Fraction(1, 10**12)
    assert {name: risk.estimate for name, risk in reached.risks.items()} == {
        "prosecutor": False,
        "journalist": kind != "table",
        "marketer": kind != "table",
        **({} if kind == "table" else {"individual": True}),
    }
    assert reached.alone == sum(n == 1 for n in f.values()) > 0
    if kind == "table":
        assert reached.unique == sum(n == 1 == in_population[key] for key, n in f.items()) > 0
        assert (reached.people, reached.uniques) == (len(population), None)
        assert found(population, table).to_json() == reached.to_json()  # a table in memory
    else:
        whole = len(table) * 10 if kind == "fraction" else sum(weights.values())
        assert reached.people == whole == reached.uniques.population
        assert reached.uniques.sample == reached.alone


def test_generalized_labels_are_fitted_by_the_people_they_cover() -> None:
    table = pa.table({"age": ["[20, 29]"] * 2 + ["[30, 39]"] * 3, "sex": ["f"] * 2 + ["*"] * 3})
    population = pa.table({"age": [21, 25, 29, 22, 30, 39, 31, 50], "sex": list("fffmfmmf")})
    reached = found(population, table)
    assert reached.risks["journalist"].maximum == Fraction(1, 3)
    assert reached.risks["marketer"].mean == (2 * Fraction(1, 3) + 3 * Fraction(1, 3)) / 5
    assert (reached.unmatched, reached.alone) == (0, 0)


def test_delta_presence_is_the_share_of_the_people_of_a_region_who_are_in_the_table() -> None:
    """Classes of 2 of 4, 3 of 3 and 1 of 5 people; 2 people fit none."""
    table = pa.table({"age": ["[20, 29]"] * 2 + ["[30, 39]"] * 3 + ["60"], "sex": ["f"] * 6})
    ages = [21, 22, 25, 29, 30, 35, 39, *[60] * 5, 45, 70]
    result = audit(
        table,
        QUASI,
        population=pa.table({"age": ages, "sex": ["f"] * 14}),
        engine="local",
    )
    presence = result.risks.presence
    assert (presence.smallest, presence.largest, presence.outside) == (Fraction(1, 5), 1, 2)
    said = {
        "smallest": 0.2,
        "smallest_exact": "1/5",
        "largest": 1.0,
        "largest_exact": "1",
        "outside": 2,
    }
    assert result.to_json()["risks"]["presence"] == said
    line = (
        "delta-presence: people of the population who fit a class are in the table with a chance "
        "of 0.2 to 1; 2 people"
    )
    assert line in " ".join(printed(audit_lines(result, "it")).split())
    assert "with a chance of 0.2 to 1; 2 people fit none" in audit_page(result)


def test_delta_presence_needs_regions_that_do_not_overlap() -> None:
    table = pa.table({"age": ["[20, 29]"] * 2 + ["[25, 39]"] * 3, "sex": ["f"] * 5})
    for more in ({}, {"missing": "any"}):
        result = audit(
            table,
            QUASI,
            population=pa.table({"age": [21, 35], "sex": ["f"] * 2}),
            engine="local",
            **more,
        )
        assert result.risks.presence is None
        assert (
            sum(
                "delta-presence is not measured: a person may fit several classes" in n
                for n in result.notes
            )
            == 1
        )
    estimated = audit(table, QUASI, population="0.1", engine="local")
    assert not any("delta-presence" in note for note in estimated.notes)


def test_a_population_that_lacks_people_is_reported() -> None:
    table = pa.table({"age": [1, 1, 2], "sex": ["f", "f", "f"]})
    reached = found(pa.table({"age": [1], "sex": ["f"]}), table)
    assert reached.unmatched == 2
    assert reached.risks["journalist"].maximum == 1  # as many people as records are there


def test_people_are_counted_where_a_person_has_several_rows() -> None:
    table = pa.table({"age": [1, 1, 1, 2, 2], "sex": ["f"] * 5, "who": [7, 7, 8, 9, 9]})
    reached = found("0.5", table, person="who")
    assert reached.risks["prosecutor"].maximum == 1
    assert reached.risks["marketer"].mean == Fraction(1, 3)  # two classes of three people, halved
    assert reached.alone == 1
    with pytest.raises(ConfigurationError, match="weights are of rows"):
        found("weight:w", table.append_column("w", pa.array([1.0] * 5)), person="who")


def test_no_risk_enters_the_verdict() -> None:
    table = sample(people())
    assert audit(table, QUASI, population="1", threshold="0", engine="local").verdict == "measured"
    assert (
        audit(table, QUASI, k=1, population="1", threshold="0", engine="local").verdict == "holds"
    )


def test_a_threshold_alone_measures_the_prosecutor() -> None:
    reached = found(None, sample(people()), threshold="0.5")
    assert list(reached.risks) == ["prosecutor"]
    sizes = Counter(classes_of(sample(people()))).values()
    assert reached.risks["prosecutor"].share == Fraction(
        sum(n for n in sizes if 2 * n < 2 * 2),
        sum(sizes),
    )


@pytest.mark.parametrize(
    ("population", "message"),
    [
        ("0", "sampling fraction"),
        ("1.5", "sampling fraction"),
        ("nothing", "sampling fraction"),
        ("weight:", "sampling fraction"),
        ("weight:nowhere", "weight 'nowhere' is not in the table"),
        ("weight:sex", "400 rows have no number of people in 'sex'|two roles"),
        ("weight:bad", "3 rows have no number of people in 'bad'"),
    ],
)
def test_what_is_no_population(population: str, message: str) -> None:
    table = sample(people())
    bad = pa.array(["-1", "inf", None, *["2.5"] * (len(table) - 3)])
    with pytest.raises((ConfigurationError, InputError), match=message):
        found(population, table.append_column("bad", bad))


def test_a_population_without_a_quasi_identifier_is_an_error() -> None:
    with pytest.raises(InputError, match="lacks 1 of 2 quasi-identifiers, the first is 'sex'"):
        found(people().drop(["sex"]), sample(people()))


def test_both_engines_find_the_same_risks(spark: SparkSession) -> None:
    population = people()
    table = sample(population)
    for said in ("0.1", "weight:w", population):
        local, on_spark = (
            audit(table, QUASI, population=said, engine=engine, attacks=False).to_json()["risks"]
            for engine in ("local", "spark")
        )
        assert local == on_spark


def test_estimates_are_labelled_in_print_json_and_page(tmp_path: Path) -> None:
    pq.write_table(sample(people()), tmp_path / "sample.parquet")
    result = audit(str(tmp_path / "sample.parquet"), QUASI, population="0.1", engine="local")
    text = printed(audit_lines(result, "sample"))
    assert "journalist (estimate)" in text
    assert "prosecutor (estimate)" not in text
    assert "population uniques, an estimate:" in text
    page = audit_page(result)
    assert page.count("<small>estimate</small>") == 3
    assert "Population uniques, an estimate" in page
    entry = result.to_json()["risks"]
    assert [entry[name]["estimate"] for name in ("prosecutor", "journalist", "marketer")] == [
        False,
        True,
        True,
    ]
    assert entry["uniques"]["population"]["estimate"]
    assert entry["population"]["people_estimated"]


def test_the_command_line_takes_population_and_threshold(
    tclose: Callable[..., Any],
    tmp_path: Path,
) -> None:
    pq.write_table(sample(people()), tmp_path / "sample.parquet")
    arguments = [
        "audit",
        str(tmp_path / "sample.parquet"),
        "-q",
        "age,sex",
        "--population",
        "weight:w",
        "--threshold",
    ]
    code, output, _ = tclose(*arguments, "0.2", "--json")
    entry = json.loads(output)["risks"]
    assert (code, entry["threshold"], entry["population"]["weight"]) == (0, 0.2, "w")
    code, _, message = tclose(*arguments, "2")
    assert (code, "threshold" in message) == (2, True)


SURVEY = pa.table(
    {
        "a": [2, 3, 2, 2, 3, 3, 1, 2],
        "b": [3, 3, 3, 3, 3, 3, 4, 3],
        "c": [1, 3, 1, 2, 1, 1, 1, 1],
        "w": [18.0, 45.5, 39.0, 17.0, 92.0, 8.0, 123.5, 51.0],
    },
)


def test_the_individual_risk_of_a_survey() -> None:
    asked = {"population": "weight:w", "engine": "local", "attacks": False}
    result = audit(SURVEY, ["a", "b", "c"], reidentified="0.03", **asked)
    individual = result.risks.to_json()["individual"]
    # The paper's formulas for f of 1, 2, 3.
    each = [0.013553] * 3 + [0.085791, 0.177076, 0.039316] + [0.018779] * 2
    assert individual["maximum"] == pytest.approx(math.log(17) / 16)
    assert individual["expected"] == pytest.approx(sum(each), abs=1e-4)
    assert individual["mean"] == pytest.approx(individual["expected"] / 8)
    assert individual["estimate"]
    assert sum(min(one, individual["threshold"]) for one in each) / 8 == pytest.approx(
        0.03,
        abs=1e-4,
    )
    shown = printed(audit_lines(result, "survey"))
    assert "expected re-identifications, an estimate: 0.38 records" in shown
    assert "of records are expected to be re-identified" in audit_page(result)
    with pytest.raises(ConfigurationError, match="the individual risk is of a sample"):
        audit(SURVEY, ["a", "b", "c"], reidentified="0.05", engine="local")
