"""Releases of a sample of a population: their risks counted anew from the released rows, and limits
on them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from strategies import CITIES

from tclose_spark import pipeline
from tclose_spark.errors import ConfigurationError, GuaranteeError, InputError
from tclose_spark.io.run import Run
from tclose_spark.report.certificate.schema import FILE
from tclose_spark.runfile.loading import load_spec
from tclose_spark.table.hierarchies.hierarchy import ROOT

QUASI: dict[str, Any] = {"age": {"type": "numeric"}, "sex": {}, "city": {"hierarchy": "cities.csv"}}
SCHEMA = json.loads(FILE.read_text())
ABOVE = {path[0]: set(path) for path in CITIES.paths}


def people(n: int = 1500) -> pa.Table:
    draw = np.random.default_rng(8)
    return pa.table(
        {
            "age": draw.integers(20, 60, n),
            "sex": np.array(["f", "m"])[draw.integers(2, size=n)],
            "city": np.array(CITIES.leaves)[draw.integers(len(CITIES.leaves), size=n)],
            "disease": np.array(["flu", "gout", "ulcer"])[draw.integers(3, size=n)],
            "w": draw.integers(2, 9, n) / 2,
        },
    )


def settings(population: Any = None, risk: Any = None, **more: Any) -> dict[str, Any]:
    privacy = {
        key: value
        for key, value in (("population", population), ("risk", risk))
        if value is not None
    }
    return {"quasi": QUASI, "privacy": privacy, "k": 4, "insensitive_attributes": ["w"], **more}


def covers(label: str, name: str, value: Any) -> bool:
    if name == "age" and label.startswith("["):
        low, high = map(int, label[1:-1].split(","))
        return low <= value <= high
    return label in (ROOT, str(value)) or (name == "city" and label in ABOVE[value])


def released(out: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = (
        DeltaTable(str(out / "public/release")).to_pyarrow_table().to_pylist()
    )
    return rows


def class_of(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(str(row[name]) for name in QUASI)


def counted(
    out: Path,
    kind: str,
    population: pa.Table,
    threshold: Fraction,
) -> dict[str, tuple[Fraction, ...]]:
    """Maximum, mean and share of each adversary, record by record."""
    rows = released(out)
    f = Counter(map(class_of, rows))
    fits: dict[Any, Fraction] = {key: Fraction(n * 5) for key, n in f.items()}
    if kind == "weight":
        fits = {
            key: sum((Fraction(row["w"]) for row in rows if class_of(row) == key), Fraction(0))
            for key in f
        }
    if kind == "table":
        everyone = population.select(list(QUASI)).to_pylist()
        fits = {
            key: Fraction(
                sum(
                    all(covers(*pair, one[pair[1]]) for pair in zip(key, QUASI, strict=True))
                    for one in everyone
                ),
            )
            for key in f
        }

    def of(chances: list[Fraction]) -> tuple[Fraction, ...]:
        return (
            max(chances),
            sum(chances) / len(chances),
            Fraction(sum(x > threshold for x in chances), len(chances)),
        )

    marketer = of([1 / max(fits[class_of(row)], Fraction(f[class_of(row)])) for row in rows])
    mean = max(marketer[1], len(f) / sum(max(fits[key], Fraction(n)) for key, n in f.items()))
    prosecutor = of([Fraction(1, f[class_of(row)]) for row in rows])
    return {
        "prosecutor": prosecutor,
        "journalist": (marketer[0], mean, marketer[2]),
        "marketer": marketer,
    }


def certificate_of(run: Run) -> dict[str, Any]:
    found = dict(pipeline.release(run))
    jsonschema.validate(found, SCHEMA)
    return found


POPULATIONS = {
    "fraction": {"fraction": "1/5"},
    "weight": {"weight": "w"},
    "table": {"table": "all.parquet"},
}


@pytest.mark.parametrize("kind", list(POPULATIONS))
def test_the_certificate_has_the_risks_of_the_released_rows(
    kind: str,
    make_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    population = people()
    pq.write_table(population, tmp_path / "all.parquet")
    run = make_run(population.slice(0, 300), **settings(POPULATIONS[kind], {"threshold": "0.2"}))
    found = certificate_of(run)["risks"]
    for adversary, expected in counted(tmp_path / "out", kind, population, Fraction(1, 5)).items():
        entry = found[adversary]
        assert Fraction(entry["maximum_exact"]) == expected[0]
        assert (entry["mean"], entry["share"]) == pytest.approx(
            (float(expected[1]), float(expected[2])),
            abs=1e-12,
        )
        assert entry["estimate"] == (kind != "table" and adversary != "prosecutor")
        assert entry["required"] == {}
    assert found["population"]["people_estimated"] == (kind != "table")
    if kind != "weight":
        assert found["population"]["people"] == 1500
    page = (tmp_path / "out/public/report.html").read_text()
    assert "Risk of re-identification" in page
    assert page.count("(estimate)") == (0 if kind == "table" else 9)
    assert "all.parquet" not in page + (tmp_path / "out/public/certificate.json").read_text()
    assert pipeline.verify(run, finished=True).holds


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (
            {"prosecutor": {"maximum": "0.2"}},
            "the prosecutor's risk is too large: its maximum is 0.25, and",
        ),
        ({"prosecutor": {"share": 0}, "threshold": "0.2"}, "its share of records above 0.2 is"),
        (
            {"journalist": {"maximum": "0.04"}},
            r"the journalist's risk .* is 0.05 \(an estimate\), and privacy.risk",
        ),
        (
            {"individual": {"mean": "0.01"}},
            r"the individual risk is too large: its mean is 0.0\d+ \(an estimate\)",
        ),
        (
            {"marketer": {"mean": "0.01"}},
            r"the marketer's risk is too large: its mean is 0.0\d+ \(an estimate\)",
        ),
    ],
)
def test_a_risk_above_its_limit_is_not_published(
    limits: Any,
    message: str,
    make_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    run = make_run(people(300), **settings({"fraction": "0.2"}, limits))
    with pytest.raises(GuaranteeError, match=message):
        pipeline.release(run)
    assert not (tmp_path / "out/public/certificate.json").exists()
    assert not (tmp_path / "out/public/release").exists()


def test_a_risk_at_its_limit_is_published(make_run: Callable[..., Run], tmp_path: Path) -> None:
    limits = {"prosecutor": {"maximum": "1/4"}, "journalist": {"maximum": "0.05", "share": 0}}
    found = certificate_of(make_run(people(300), **settings({"fraction": "0.2"}, limits)))
    assert found["verdict"] == "holds"
    assert found["risks"]["prosecutor"]["required"] == {"maximum": 0.25}
    assert found["risks"]["journalist"]["required"] == {"maximum": 0.05, "share": 0.0}
    assert found["risks"]["prosecutor"]["maximum_exact"] == "1/4"


def test_limits_of_the_prosecutor_need_no_population(make_run: Callable[..., Run]) -> None:
    found = certificate_of(
        make_run(people(300), **settings(None, {"prosecutor": {"maximum": "0.25"}})),
    )
    assert set(found["risks"]) == {"threshold", "prosecutor"}
    assert found["risks"]["threshold"] == 0.09


def test_a_run_file_without_either_has_no_risks(make_run: Callable[..., Run]) -> None:
    assert "risks" not in certificate_of(make_run(people(300), **settings()))


def test_people_are_counted_where_a_person_has_several_rows(
    make_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    table = people(300).append_column("who", pa.array([i * 2 // 3 for i in range(300)]))
    table = table.drop(["w"])
    asked = settings(
        {"fraction": "0.5"},
        insensitive_attributes=[],
        person={"column": "who", "rows": "apart"},
    )
    found = certificate_of(make_run(table, **asked, method={"name": "closeness_tree"}))
    smallest = found["people"]["smallest_class"]
    assert found["risks"]["prosecutor"]["maximum_exact"] == str(Fraction(1, smallest))
    assert found["risks"]["journalist"]["maximum_exact"] == str(Fraction(1, 2 * smallest))


@pytest.mark.parametrize(
    ("population", "risk", "more", "message"),
    [
        ({"fraction": 0}, None, {}, "above 0"),
        (
            {"fraction": "0.5", "weight": "w"},
            None,
            {},
            "expected one of fraction, weight and table",
        ),
        ({}, None, {}, "expected one of fraction, weight and table"),
        ({"fraction": "0.5", "format": "csv"}, None, {}, "format is that of a table"),
        (
            {"weight": "disease"},
            None,
            {},
            "is not published; expected a column of attributes.insensitive_attributes",
        ),
        (
            None,
            {"journalist": {"mean": 1}},
            {},
            "risk.journalist.mean: this risk depends on the population",
        ),
        (None, {"prosecutor": {"mean": 2}}, {}, "from 0 to 1"),
        (
            {"table": "nowhere.parquet"},
            None,
            {},
            "privacy.population.table: .*nowhere.parquet does not exist",
        ),
    ],
)
def test_what_a_run_file_may_not_require(
    population: Any,
    risk: Any,
    more: Any,
    message: str,
    run_file: Callable[..., Path],
    tclose: Callable[..., Any],
) -> None:
    path = run_file(people(50), **settings(population, risk, **more))
    code, _, error = tclose("release", path)
    assert code == 2
    with pytest.raises(ConfigurationError, match=message):
        raise ConfigurationError(" ".join(error.split()))


def test_a_population_that_cannot_be_used_publishes_nothing(
    make_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    pq.write_table(people().drop(["sex"]), tmp_path / "all.parquet")
    run = make_run(people(300), **settings({"table": "all.parquet"}))
    with pytest.raises(
        InputError,
        match=r"privacy\.population: the table of the population lacks 1 of 3",
    ):
        pipeline.release(run)
    assert not (tmp_path / "out/public/release").exists()


def test_a_changed_population_is_a_changed_input(
    run_file: Callable[..., Path],
    tclose: Callable[..., tuple[int, str, str]],
    tmp_path: Path,
) -> None:
    pq.write_table(people(), tmp_path / "all.parquet")
    path = run_file(people(300), **settings({"table": "all.parquet"}))
    for changed in (True, False, True):
        if changed and (tmp_path / "out").exists():
            pq.write_table(people(1600), tmp_path / "all.parquet")
        code, _, told = tclose("release", path, "--if-changed")
        assert (code, "nothing to do" in told) == (0, not changed)
    listed = json.loads((tmp_path / "out/public/certificate.json").read_text())["risks"][
        "population"
    ]["people"]
    assert listed == 1600


def test_a_weight_that_is_no_number_publishes_nothing(
    make_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    table = people(300)
    bad = table.set_column(
        table.schema.get_field_index("w"),
        "w",
        pa.array([None, -1.0, *[2.5, 3.0] * 149]),
    )
    with pytest.raises(
        InputError,
        match=r"privacy\.population: 2 rows have no number of people in 'w'",
    ):
        pipeline.release(make_run(bad, **settings({"weight": "w"})))
    assert not (tmp_path / "out/public/release").exists()


def test_texts_of_the_population_have_the_options_of_their_columns(
    make_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    population = people()
    spelled = population.set_column(
        1,
        "sex",
        pa.array([f" {value.as_py().upper()} " for value in population["sex"]]),
    )
    pq.write_table(spelled, tmp_path / "all.parquet")
    quasi = {**QUASI, "sex": {"text": {"strip": True, "case": "fold"}}}
    certificate_of(
        make_run(population.slice(0, 300), **settings(POPULATIONS["table"], quasi=quasi)),
    )
    found = json.loads((tmp_path / "out/public/certificate.json").read_text())["risks"]
    expected = counted(tmp_path / "out", "table", population, Fraction(9, 100))
    assert Fraction(found["journalist"]["maximum_exact"]) == expected["journalist"][0]
    assert found["population"]["unmatched_classes"] == 0


def test_people_of_the_population_fit_built_labels_by_values_that_the_sample_lacks(
    make_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    population = people()
    pq.write_table(population, tmp_path / "all.parquet")
    sample = population.filter(pc.equal(pc.bit_wise_and(population["age"], 1), 0)).slice(0, 300)
    quasi = {**QUASI, "age": {"type": "numeric", "hierarchy": {"intervals": [5, 20]}}}
    found = certificate_of(make_run(sample, **settings(POPULATIONS["table"], quasi=quasi)))["risks"]
    expected = counted(tmp_path / "out", "table", population, Fraction(9, 100))
    for adversary in ("journalist", "marketer"):
        assert Fraction(found[adversary]["maximum_exact"]) == expected[adversary][0]
        assert found[adversary]["mean"] == pytest.approx(float(expected[adversary][1]), abs=1e-12)


@pytest.mark.parametrize("kind", list(POPULATIONS))
def test_the_settings_are_in_the_fingerprint_of_the_configuration(
    kind: str,
    run_file: Callable[..., Path],
) -> None:
    pq.write_table(people(50), run_file(people(50)).parent / "all.parquet")
    plain = load_spec(run_file(people(50), **settings())).fingerprint
    assert load_spec(run_file(people(50), **settings(POPULATIONS[kind]))).fingerprint != plain


@pytest.mark.on_spark
@pytest.mark.parametrize("kind", ["weight", "table"])
def test_spark_finds_the_same_risks(
    kind: str,
    make_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    population = people()
    pq.write_table(population, tmp_path / "all.parquet")
    found = certificate_of(make_run(population.slice(0, 300), **settings(POPULATIONS[kind])))[
        "risks"
    ]
    expected = counted(tmp_path / "out", kind, population, Fraction(9, 100))
    for adversary, figures in expected.items():
        assert Fraction(found[adversary]["maximum_exact"]) == figures[0]
        assert found[adversary]["mean"] == pytest.approx(float(figures[1]), abs=1e-12)


def test_people_of_the_population_may_have_several_rows(
    write_run: Callable[..., Path],
    open_run: Any,
    tmp_path: Path,
) -> None:
    """Each of 60 people has a row in each of two cities; no chance to name one of them is below 1
    in 60.
    """
    who, cities = np.repeat(np.arange(60), 2), np.tile(["Lyon", "Pisa"], 60)
    listed = pa.table({"pid": [f"P{i}" for i in who], "town": cities})
    table = listed.append_column("disease", pa.array(np.array(["flu", "gout"])[who % 2]))
    pq.write_table(listed, tmp_path / "population.parquet")
    given: dict[str, Any] = {
        "quasi": {"town": {"generalization": "set"}},
        "sensitive": {"disease": {"t": "0.5"}},
        "person": "pid",
        "k": 4,
        "method": {"name": "closeness_tree", "effort": "fast"},
    }
    population = {"table": "population.parquet"}
    made = pipeline.release(
        open_run(write_run(tmp_path, table, privacy={"population": population}, **given)),
    )
    assert made["risks"]["population"]["people"] == 60
    assert Fraction(made["risks"]["journalist"]["maximum_exact"]) >= Fraction(1, 60)
    limited = {"population": population, "risk": {"journalist": {"maximum": 0.012}}}
    with pytest.raises(GuaranteeError, match="the journalist's risk is too large"):
        pipeline.release(
            open_run(
                write_run(tmp_path, table, privacy=limited, output={"path": "limited"}, **given),
            ),
        )
    assert not (tmp_path / "limited/public").exists()
