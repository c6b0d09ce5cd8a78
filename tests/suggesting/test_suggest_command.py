"""`tclose suggest` on a file, and the release of what it writes; without a value of a person on the
way.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
import yaml
from pyspark.sql import SparkSession

from tclose_spark.api.suggest import suggest
from tclose_spark.engine.protocol import OpenedTable
from tclose_spark.runfile.loading import load_spec
from tclose_spark.runfile.spec import Input
from tclose_spark.suggesting.gathering import gather_facts

Command = Callable[..., tuple[int, str, str]]
CANARY = "CANARY-7f3"
ROWS = 360


def write_people(path: Path) -> Path:
    """A CSV file by semicolons: an identifier with gaps, zip codes with zeros, dates, spellings."""
    lines = ["patient id;kontakt;zip;birth_date;sex;diagnosis;year;remark"]
    for i in range(ROWS):
        mail = f"{CANARY}{i}@example.org" if i % 4 else ""
        born = f"19{50 + i % 40}-{i % 12 + 1:02d}-{i % 27 + 1:02d}"
        disease = ["flu", "Flu ", "gout", "ulcer", "?"][i * 7 % 5]
        lines.append(
            f"{i:06d};{mail};0{i % 30 + 1000};{born};{'fm'[i % 2]};{disease};{2019 + i % 2};{CANARY}",
        )
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_table_becomes_a_run_file_that_is_released_as_it_is(
    tclose: Command,
    tmp_path: Path,
) -> None:
    table, file = write_people(tmp_path / "people.csv"), tmp_path / "my.yaml"
    code, out, err = tclose("suggest", table, "--output", file, "--k", 5)
    assert code == 0, err
    assert max(map(len, out.splitlines())) <= 80
    assert CANARY not in out + err + file.read_text()
    attributes = yaml.safe_load(file.read_text())["attributes"]
    assert attributes["direct_identifiers"] == ["patient_id", "kontakt"]
    assert {
        name: settings.get("hierarchy")
        for name, settings in attributes["quasi_identifiers"].items()
    } == {
        "zip": {"prefix": 1},
        "birth_date": None,
        "sex": None,
    }
    text = {"strip": True, "case": "fold"}
    diagnosis = {"distance": "equal", "t": 0.2, "text": text, "missing_values": ["?"]}
    assert attributes["sensitive_attributes"] == {"diagnosis": diagnosis}
    spec = load_spec(file)
    assert spec.input.columns == {"patient id": "patient_id"}
    assert spec.input.options == {
        "header": "true",
        "sep": ";",
    }  # read as text: zip codes have zeros before them

    code, out, err = tclose("release", file, "--show")
    assert code == 0, err
    certificate = json.loads((tmp_path / "people_release/public/certificate.json").read_text())
    assert (certificate["verdict"], certificate["release"]["rows"]) == ("holds", ROWS)
    shown = out.splitlines()[: out.splitlines().index("people: the release holds")]
    assert shown[0].startswith("published rows (10 shown)")
    assert shown[1].split()[:4] == ["birth_date", "zip", "sex", "diagnosis"] or set(
        shown[1].split(),
    ) >= {"zip", "sex"}
    assert len(shown) == 13
    assert max(map(len, shown)) <= 80
    assert CANARY not in "".join(shown[:-10])


def test_a_release_shows_rows_on_a_terminal_only(
    tclose: Command,
    run_file: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[bool] = []
    monkeypatch.setattr("tclose_spark.api.release.release", lambda *given, **more: None)
    monkeypatch.setattr(
        "tclose_spark.cli.commands.show_release",
        lambda made, rows, *more: shown.append(rows),
    )
    path = run_file({"age": [1, 2], "sex": ["f", "m"], "disease": ["a", "b"]})
    for option in ([], ["--show"], ["--no-show"]):
        tclose("release", path, *option)
    assert shown == [False, True, False]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--sample", "few"], "--sample few: expected a number of rows, or all"),
        (["--sample", "0"], "--sample 0: expected"),
        (["--t", "2"], "--t 2: expected a number from 0 to 1"),
        (["--k", "1"], "--k"),
        (["--format", "xls"], "--format xls: expected csv"),
        (["--output", "there.yaml"], "there.yaml exists already"),
    ],
)
def test_wrong_options_are_reported_before_spark_starts(
    tclose: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.yaml").write_text("name: mine\n")
    (tmp_path / "people.csv").touch()
    code, _, err = tclose("suggest", "people.csv", *options)
    assert (code, says in err) == (2, True), err
    assert (tmp_path / "there.yaml").read_text() == "name: mine\n"


def test_a_table_that_is_not_there_is_reported_before_spark_starts(
    tclose: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "tclose_spark.io.spark.driver.start_early",
        lambda *_: pytest.fail("Java starts"),
    )
    code, _, err = tclose("suggest", tmp_path / "people.csv")
    assert (code, "people.csv does not exist (read as csv; --format says another)" in err) == (
        2,
        True,
    ), err


@pytest.mark.parametrize("record", [f"31,1,730173,{CANARY}", f"31,{CANARY},730173,{CANARY}2"])
def test_a_first_line_that_is_a_record_is_refused(
    tclose: Command,
    tmp_path: Path,
    record: str,
) -> None:
    (tmp_path / "people.csv").write_text(f"{record}\n" + "32,2,5,x\n" * 20)
    code, out, err = tclose("suggest", tmp_path / "people.csv", "--output", tmp_path / "my.yaml")
    assert (code, "--option header=false" in err) == (2, True), err
    assert CANARY not in out + err
    assert not (tmp_path / "my.yaml").exists()


def test_figures_of_a_sample_and_of_the_whole_table(spark: SparkSession) -> None:
    """Missing and different values are counted in all rows; columns that cannot be released say
    why.
    """
    people = pa.table(
        {
            "n": pa.array([None if i % 10 == 0 else float(i % 7) for i in range(2000)]),
            "sex": ["f", "m"] * 1000,
            "a b": ["x", "y"] * 1000,
            "star": ["*", "y"] * 1000,
            "tags": pa.array([["t"]] * 2000),
            "raw": pa.array([b"1", b"2"] * 1000),
            "when": pa.array([i * 86_400_000_000 for i in range(2000)], pa.timestamp("us", "UTC")),
        },
    )
    source = Input(path="people", format="table")
    found = gather_facts(
        OpenedTable(spark.createDataFrame(people), source, people.column_names),
        500,
    )
    facts = {one.name: one for one in found.facts}
    assert (
        found.rows,
        facts["n"].whole.missing,
        facts["n"].whole.distinct,
        facts["n"].is_number,
    ) == (
        2000,
        200,
        7,
        True,
    )
    assert 300 < facts["n"].sampled < 700
    assert all(
        one.whole.estimated and one.whole.distinct <= one.whole.present
        for one in found.facts
        if one.present
    )
    assert {name for name, one in facts.items() if one.unusable} == {"a b", "star", "tags", "raw"}
    assert (facts["when"].kind, facts["when"].calendar) == ("timestamp", "timestamp")
    suggestion = suggest(people, name="people")
    assert suggestion.spec["input"] == {
        "path": "people",
        "format": "table",
        "columns": {"a b": "a_b"},
    }
    assert (
        suggestion.roles["a_b"] == "quasi-identifier"
    )  # it has few values, and is next to the sex
    assert suggestion.roles["star"] == "left out"
    assert suggestion.roles["when"] == "quasi-identifier"  # a time is generalized, under any name
