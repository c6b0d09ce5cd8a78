"""Releases whose classes publish aggregates: true of what was read, counted as a reader counts,
claiming no more.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from importlib import resources
from math import floor
from pathlib import Path
from typing import Any

import deltalake
import jsonschema
import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from strategies import CITIES

from tclose_spark import pipeline
from tclose_spark.api.audit import audit
from tclose_spark.errors import ConfigurationError, GuaranteeError
from tclose_spark.io.run import Run
from tclose_spark.runfile.loading import load_spec
from tclose_spark.runfile.release_form import Representative
from tclose_spark.stages.generalize import AggregateLabels, Generalizer

ROWS, T = 240, Fraction(1, 4)
GRADES = ("A", "B", "C", "D", "E", "F")
DAY, NOON = date(2024, 2, 1), datetime(2024, 2, 1, 12)
PEOPLE = pa.table(
    {
        "age": pa.array(
            [None if i % 29 == 0 else 20 + i * 7 % 41 for i in range(ROWS)],
            pa.int64(),
        ),
        "height": [1.5 + i * 13 % 50 / 100 for i in range(ROWS)],
        "born": [DAY + timedelta(days=i * 11 % 90) for i in range(ROWS)],
        "seen": pa.array(
            [NOON + timedelta(hours=i * 5 % 99) for i in range(ROWS)],
            pa.timestamp("us", "UTC"),
        ),
        "city": [CITIES.leaves[i % 5] for i in range(ROWS)],
        "grade": [None if i % 31 == 0 else GRADES[i * i % 6] for i in range(ROWS)],
        "void": pa.array([None] * ROWS, pa.string()),
        "disease": [["flu", "flu", "gout", "ulcer"][i % 4] for i in range(ROWS)],
    },
)
QUASI: dict[str, Any] = {
    "age": {"type": "numeric"},
    "height": {"type": "numeric"},
    "born": {"type": "date"},
    "seen": {"type": "timestamp"},
    "city": {"hierarchy": "cities.csv"},
    "grade": {"hierarchy": {"order": 2}},
    "void": {},
}
PER_UNIT = {"age": 10, "height": 10, "born": 1, "seen": 86_400_000_000}
"""What a mean is rounded to: so many are one, of numbers with one digit, of days."""
DIRECTORY = Path(str(resources.files("tclose_spark.report")))


def days(text: str) -> Fraction:
    moment = datetime.fromisoformat(text).replace(tzinfo=None)
    return Fraction((moment - datetime(1970, 1, 1)) // timedelta(microseconds=1), 86_400_000_000)


def number(column: str, value: Any) -> Any:
    """A value as what it is ordered by."""
    if value is None:
        return None
    if column in ("city", "grade"):
        return (CITIES.leaves if column == "city" else GRADES).index(value)
    return days(str(value)) if column in ("born", "seen") else Fraction(str(value))


def aggregate(column: str, representative: Representative, values: list[Any]) -> Any:
    known = sorted(number(column, value) for value in values if value is not None)
    if not known:
        return None
    if column == "city" or representative == "mode":
        rows = Counter(known)
        return min(value for value in known if rows[value] == max(rows.values()))
    if column == "grade" or representative == "median":
        return known[(len(known) - 1) // 2]
    unit = Fraction(1, PER_UNIT[column])
    return floor(sum(known) / len(known) / unit + Fraction(1, 2)) * unit


@dataclass(frozen=True)
class Made:
    """A release that was made, and how."""

    representative: Representative
    conf: Path

    @property
    def out(self) -> Path:
        return self.conf.parent / "out"

    @property
    def certificate(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.out / "public/certificate.json").read_text())
        return found

    def rows(self, folder: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (
            deltalake.DeltaTable(str(self.out / folder)).to_pyarrow_table().to_pylist()
        )
        return found


def method_of(representative: Representative) -> dict[str, Any]:
    digits = {"digits": 1} if representative == "mean" else {}
    return {"name": "microaggregation", "representative": representative, **digits}


@pytest.fixture(scope="module", params=["mean", "median", "mode"])
def made(
    request: pytest.FixtureRequest,
    write_run: Callable[..., Path],
    open_run: Callable[..., Run],
    tmp_path_factory: pytest.TempPathFactory,
) -> Made:
    folder, asked = tmp_path_factory.mktemp(request.param), {"disease": {"t": str(T)}}
    output = {"keep_linked": True}
    conf = write_run(
        folder,
        PEOPLE,
        quasi=QUASI,
        sensitive=asked,
        k=4,
        output=output,
        method=method_of(request.param),
    )
    pipeline.release(open_run(conf))
    return Made(request.param, conf)


def test_each_class_that_a_reader_sees_publishes_the_aggregate_of_its_raw_values(
    made: Made,
) -> None:
    linked = made.rows("internal/linked")
    classes: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in linked:
        classes.setdefault(tuple(row[column] for column in QUASI), []).append(row)
    assert len(classes) == made.certificate["release"]["classes"] > 10
    for said, rows in classes.items():
        for column, value in zip(QUASI, said, strict=True):
            raw = [row[f"{column}_raw"] for row in rows]
            found = aggregate(column, made.representative, raw)
            if made.representative == "mean" and column in PER_UNIT and found is not None:
                assert abs(number(column, value) - found) <= Fraction(
                    1,
                    PER_UNIT[column],
                )  # of several of the method's
            assert column == "void" or number(column, value) == found
            assert column != "void" or value is None
    assert len(made.rows("public/release")) == ROWS


def test_k_and_t_hold_of_the_classes_that_a_reader_sees(made: Made) -> None:
    rows, whole = made.rows("public/release"), Counter(PEOPLE["disease"].to_pylist())
    classes: dict[tuple[Any, ...], Counter[str]] = {}
    for row in rows:
        classes.setdefault(tuple(row[column] for column in QUASI), Counter())[row["disease"]] += 1
    far = [
        sum(abs(Fraction(part[v], part.total()) - Fraction(n, ROWS)) for v, n in whole.items()) / 2
        for part in classes.values()
    ]
    guarantees = made.certificate["guarantees"]
    assert min(part.total() for part in classes.values()) == guarantees["k"]["achieved"] >= 4
    assert max(far) == Fraction(guarantees["t"]["disease"]["achieved_exact"]) <= T


def test_the_certificate_claims_no_loss_and_no_regions(made: Made) -> None:
    certificate = made.certificate
    jsonschema.validate(
        certificate,
        json.loads((DIRECTORY / "certificate.schema.json").read_text()),
    )
    assert certificate["regions"] == "not looked at"
    assert certificate["utility"]["ncp"] is None
    assert certificate["utility"]["ncp_by_quasi_identifier"] == dict.fromkeys(QUASI)
    assert "do not say how far" in certificate["utility"]["ncp_unknown"]
    entries = certificate["attributes"]["quasi_identifiers"]
    assert {name: entry["aggregate"] for name, entry in entries.items()} == {
        **dict.fromkeys(["age", "height", "born", "seen"], made.representative),
        "city": "mode",
        "grade": "mode" if made.representative == "mode" else "median",
        "void": "mode",
    }
    means = ["age", "height"] if made.representative == "mean" else []
    assert [name for name, entry in entries.items() if "digits" in entry] == means
    assert not any(
        {"numeric_output", "generalization", "span", "named"} & set(entry)
        for entry in entries.values()
    )
    losses = [row["loss"] for row in made.rows("internal/classes")]
    assert losses == [None] * len(losses)


def test_the_reports_say_what_is_published_and_leave_out_what_is_not_known(made: Made) -> None:
    how = {"mean": "mean, 1 digit", "median": "median", "mode": "mode"}[made.representative]
    pages = ("public/report.html", "internal/report.html")
    public, internal = (" ".join((made.out / page).read_text().split()) for page in pages)
    for page in (public, internal):
        assert f"<code>age</code> ({how})" in page
        assert "Generalized columns" not in page
        assert "They do not cover what aggregates reveal" in page
    assert "Unknown: aggregates of classes are published" in public
    assert "What happened to each column" not in public
    assert "Not measured, because the release publishes aggregates." in internal
    assert "as if each row had the published values" in internal


def test_an_audit_with_the_run_file_leaves_out_what_is_not_known(made: Made, spark: Any) -> None:
    spec = load_spec(made.conf)
    table = str(made.out / "public/release")
    tree = {"attributes": spec.attributes.model_dump(mode="json", exclude_unset=True)}
    tree |= {"privacy": {"k": 4}, "method": method_of(made.representative)}
    tree["attributes"]["quasi_identifiers"]["grade"] = {
        "hierarchy": str(made.out / "internal/hierarchies/grade.csv"),
    }
    judged = audit(table, spec=tree)
    assert judged.holds
    told = judged.to_json()
    assert told["utility"]["ncp"] is None
    assert told["table"]["classes"] == made.certificate["release"]["classes"]
    assert any("aggregates do not show whom they cover" in note for note in judged.notes)
    assert "unknown, aggregates are published" in repr(judged)
    assert "the table publishes aggregates" in judged._repr_html_()
    with pytest.raises(ConfigurationError, match="background: people are joined by labels"):
        audit(table, spec=tree, background=str(made.conf.parent / "people.parquet"))
    with pytest.raises(ConfigurationError, match=r"n: not with method\.representative"):
        audit(table, spec=tree, n=50)


@pytest.mark.parametrize("column", ["age", "born", "city"])
def test_a_published_value_that_is_no_aggregate_is_found(
    write_run: Callable[..., Path],
    open_run: Callable[..., Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    column: str,
) -> None:
    other = {"age": "99", "born": "2024-02-28", "city": "Lyon"}[column]

    @dataclass(frozen=True)
    class Liar:
        """Writes another value for one class."""

        honest: AggregateLabels

        def label(self, codes: Any, starts: Any) -> Any:
            index, texts = self.honest.label(codes, starts)
            first = next(
                i for i, place in enumerate(index.tolist()) if texts[place] not in (None, other)
            )
            index[first] = len(texts)
            return index, [*texts, other]

    of = Generalizer.of

    def lying(quasi: Any, *more: Any) -> Generalizer:
        honest = of(quasi, *more)
        said = zip(honest.names, honest.labellers, strict=True)
        return replace(
            honest,
            labellers=tuple(Liar(one) if name == column else one for name, one in said),
        )  # type: ignore[arg-type, misc]

    monkeypatch.setattr(Generalizer, "of", staticmethod(lying))
    method = {"name": "microaggregation", "representative": "mode"}
    quasi = {name: QUASI[name] for name in ("age", "born", "city")}
    asked = {"disease": {"t": str(T)}}
    run = open_run(
        write_run(
            tmp_path,
            PEOPLE,
            quasi=quasi,
            sensitive=asked,
            k=4,
            method=method,
            drop_others=True,
        ),
    )
    with pytest.raises(
        GuaranteeError,
        match=r"^[1-9]\d* rows have a published value that is not the aggregate",
    ):
        pipeline.release(run)
    assert not (tmp_path / "out/public").exists()


@pytest.mark.parametrize("few", ["one above all", "one below all", "none"])
def test_a_mean_that_few_rows_reach_is_a_warning_without_their_values(
    write_run: Callable[..., Path],
    spark: SparkSession,
    tmp_path: Path,
    few: str,
) -> None:
    """Of 59 incomes one is of 9,000,000 (below zero): its class's mean is far above (below) all
    other rows.
    """
    draw = np.random.default_rng(1)
    income = (20_000 + draw.integers(0, 10, 59) * 3_000).tolist()
    extreme = {"one above all": 9_000_000, "one below all": -9_000_000, "none": income[7]}[few]
    income[7] = extreme
    people = {"income": income, "disease": [["flu", "flu", "gout"][i % 3] for i in range(59)]}
    conf = write_run(
        tmp_path,
        people,
        quasi={"income": {"type": "numeric"}},
        sensitive={"disease": {"t": "0.5"}},
        k=3,
        method={"name": "microaggregation", "representative": "mean"},
    )
    lines: list[str] = []
    certificate = pipeline.release(Run(load_spec(conf), spark, lines.append))
    end, advice = ("highest", "top") if few == "one above all" else ("lowest", "bottom")
    notes = [line for line in lines if "is possible for" in line]
    if few == "none":
        assert (notes, certificate["warnings"]) == ([], [])
        return
    assert len(notes) == len(certificate["warnings"]) == 1
    assert f"the {end} published mean is possible for 1 row only, fewer than k = 3 rows" in notes[0]
    assert (
        f"the {end} published mean is possible for fewer than k = 3 rows"
        in certificate["warnings"][0]
    )
    assert (
        f"publish ranges (without method.representative), or {advice}-code the column"
        in certificate["warnings"][0]
    )
    page = (tmp_path / "out/public/report.html").read_text()
    assert "is possible for fewer than k = 3 rows" in page
    assert not any("000000" in text.replace(",", "") for text in [*lines, *certificate["warnings"]])
    found = json.loads((tmp_path / "out/internal/minimality.json").read_text())[
        "extreme_aggregates"
    ]
    assert found == [{"column": "income", "aggregate": "mean", "end": end, "rows": 1, "k": 3}]
