"""The parts of a certificate: which keys it has, and in which order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from some_certificate import certificate_with

from tclose_spark.cli import main
from tclose_spark.report.certificate.schema import certificate_schema
from tclose_spark.report.certificate.sections import Certificate, InputTable

BROUGHT = [{"kind": "option", "name": "stamp", "package": "stamp", "version": None}]


def test_a_key_that_is_optional_is_absent_and_another_is_null() -> None:
    made = certificate_with(subjects=None).to_json()
    assert "subjects" not in made
    assert made["input"] == {"rows": 100, "version": None}


def test_keys_have_the_order_of_the_fields_whatever_the_order_in_which_they_are_set() -> None:
    made = certificate_with()
    made.utility.ncp_unknown = "aggregates"
    made.subjects = None
    made.input = InputTable(version=None, rows=7)
    written = made.to_json()
    fields = [*Certificate.model_fields]
    assert [*written] == [name for name in fields if name in written]
    assert [*written["input"]] == ["rows", "version"]
    assert [*written["utility"]][:2] == ["ncp", "ncp_unknown"]
    assert [*Certificate.read(dict(reversed(written.items()))).to_json()] == [*written]


@pytest.mark.parametrize(
    ("section", "key"),
    [("release", "more"), ("input", "more"), ("utility", "loss")],
)
def test_an_unknown_key_of_a_section_is_refused(section: str, key: str) -> None:
    with pytest.raises(ValueError, match=key):
        certificate_with({section: {key: 1}})


def test_a_figure_that_does_not_fit_is_refused_when_it_is_set() -> None:
    made = certificate_with()
    with pytest.raises(ValueError, match="ncp"):
        made.utility.ncp = 1.5
    with pytest.raises(ValueError, match="achieved"):
        made.guarantees.k.achieved = 0


def test_only_a_certificate_that_names_a_package_has_sections_of_it() -> None:
    assert certificate_with(brought=BROUGHT, stamp={"rows": 1}).brought_sections == {
        "stamp": {"rows": 1},
    }
    with pytest.raises(ValueError, match="stamp is no section"):
        certificate_with(stamp={"rows": 1})


def test_a_missing_section_is_named() -> None:
    written = certificate_with().to_json()
    del written["evidence"]
    with pytest.raises(KeyError, match="evidence"):
        Certificate.read(written)


def test_every_setting_of_a_quasi_identifier_is_in_the_schema(tmp_path: Path) -> None:
    rows = 60
    people = {
        "age": [20 + i % 30 for i in range(rows)],
        "born": [f"{1 + i % 28:02d}.{1 + i % 12:02d}.1980" for i in range(rows)],
        "city": [["Rome", "rome ", "Oslo", "n/a"][i % 4] for i in range(rows)],
        "disease": [["flu", "gout"][i % 2] for i in range(rows)],
    }
    pq.write_table(pa.table(people), tmp_path / "people.parquet")
    tree: dict[str, Any] = {
        "name": "people",
        "engine": "local",
        "input": {"path": "people.parquet", "format": "parquet"},
        "output": {"path": "out"},
        "attributes": {
            "quasi_identifiers": {
                "age": {"type": "numeric", "round_to": 5, "range": [0, 100], "weight": 2},
                "born": {"type": "date", "date_format": "%d.%m.%Y", "coarsest": 400},
                "city": {
                    "missing_values": ["n/a"],
                    "missing": "any",
                    "text": {"strip": True, "case": "fold"},
                },
            },
            "sensitive_attributes": {"disease": {"t": "0.5"}},
        },
        "privacy": {"k": 3},
    }
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(tree))
    assert main(["release", str(tmp_path / "run.yaml")]) == 0
    certificate = json.loads((tmp_path / "out/public/certificate.json").read_text())
    jsonschema.validate(certificate, certificate_schema())
    entries = certificate["attributes"]["quasi_identifiers"]
    assert entries["city"]["missing_values"] == ["n/a"]
    assert entries["born"]["date_format"] == "%d.%m.%Y"
