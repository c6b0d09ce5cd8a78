"""The contract of a release: valid by the standard, with the columns of the release and what the
certificate guarantees.
"""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from some_figures import figures_with

import tclose_spark as tc
from tclose_spark.report.certificate.sections import Certificate
from tclose_spark.report.contract import contract_yaml

ROWS = 240
TABLE = {
    "age": [20 + i % 40 for i in range(ROWS)],
    "sex": ["female" if i % 2 else "male" for i in range(ROWS)],
    "illness": [["flu", "gout", None][i % 3] for i in range(ROWS)],
    "pay": [10 * (i % 7) for i in range(ROWS)],
    "wave:_first?": [i % 11 > 5 for i in range(ROWS)],
}
SPEC: dict[str, Any] = {
    "name": "people: a test",
    "attributes": {
        "quasi_identifiers": {"age": {"type": "numeric", "numeric_output": "bounds"}, "sex": {}},
        "sensitive_attributes": {
            "illness": {"distance": "equal", "t": 0.3, "l": {"distinct": 2}},
            "pay": {"distance": "ordered", "t": "measure", "l": {"distinct": 2}},
        },
        "insensitive_attributes": ["wave:_first?"],
    },
    "privacy": {"k": 5},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tc.Release:
    import pyarrow as pa

    return tc.release(
        pa.table(TABLE),
        SPEC,
        output=tmp_path_factory.mktemp("contract"),
        engine="local",
        log=None,
    )


@pytest.fixture(scope="module")
def text(made: tc.Release) -> str:
    return (Path(made.path) / "contract.yaml").read_text()


@pytest.fixture(scope="module")
def contract(text: str) -> dict[str, Any]:
    return dict(yaml.safe_load(text))


def test_python_has_it(made: tc.Release, contract: dict[str, Any]) -> None:
    assert made.contract == contract
    assert made.contract["schema"][0]["properties"]


def test_it_is_valid_by_the_standard(text: str, contract: dict[str, Any]) -> None:
    standard = pytest.importorskip("open_data_contract_standard.model").OpenDataContractStandard
    schema = json.loads(standard.json_schema())
    jsonschema.Draft201909Validator(schema).validate(contract)
    assert standard.from_string(text).schema_[0].properties[0].name == "age_min"
    del contract["schema"][0]["properties"][0]["name"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft201909Validator(schema).validate(contract)
    contract["schema"][0]["properties"][0]["name"] = "age_min"


def test_its_columns_are_those_of_the_written_release(
    made: tc.Release,
    contract: dict[str, Any],
) -> None:
    (schema,) = contract["schema"]
    found = {
        one["name"]: (one["logicalType"], one["physicalType"], one["required"])
        for one in schema["properties"]
    }
    assert found == {
        "age_min": ("integer", "bigint", True),
        "age_max": ("integer", "bigint", True),
        "sex": ("string", "string", True),
        "illness": ("string", "string", False),
        "pay": ("integer", "bigint", True),
        "wave:_first?": ("boolean", "boolean", True),
    }
    assert [*found] == made.to_arrow().column_names
    by_name = {one["column"]: one for one in made.codebook}
    for one in schema["properties"]:
        entry = by_name[one["name"]]
        assert one["description"] == f"{entry['form']}; {entry['treatment']}"
        assert {"property": "role", "value": entry["role"]} in one["customProperties"]


def test_its_rules_are_what_the_certificate_requires(
    made: tc.Release,
    contract: dict[str, Any],
) -> None:
    guarantees = made.certificate["guarantees"]
    (schema,) = contract["schema"]
    (k,) = schema["quality"]
    assert (k["name"], k["type"], k["engine"]) == ("k-anonymity", "custom", "tclose")
    assert k["description"] == "rows in the smallest class: at least 5"
    assert k["implementation"]["achieved"] == str(guarantees["k"]["achieved"])
    rules = {
        one["name"]: [rule["name"] for rule in one.get("quality", [])]
        for one in schema["properties"]
    }
    assert {name: found for name, found in rules.items() if found} == {
        "illness": ["t-closeness of illness", "Distinct l-diversity of illness"],
        "pay": ["Distinct l-diversity of pay"],
    }
    illness = next(one for one in schema["properties"] if one["name"] == "illness")
    assert illness["quality"][0]["implementation"] == {
        "guarantee": "t-closeness",
        "required": "3/10",
        "achieved": guarantees["t"]["illness"]["achieved_exact"],
    }


def test_its_version_is_the_fingerprint(made: tc.Release, contract: dict[str, Any]) -> None:
    release = made.certificate["release"]
    assert (contract["kind"], contract["apiVersion"], contract["status"]) == (
        "DataContract",
        "v3.1.0",
        "active",
    )
    assert contract["id"] == contract["name"] == "people: a test"
    assert contract["version"] == release["fingerprint"]
    assert contract["contractCreatedTs"] == made.certificate["issued"]
    properties = {one["property"]: one["value"] for one in contract["customProperties"]}
    assert properties["fingerprint"] == release["fingerprint"]
    assert (properties["verdict"], properties["rows"]) == ("holds", ROWS)


@pytest.mark.parametrize(
    ("physical", "logical"),
    [
        ("decimal(10,2)", "number"),
        ("timestamp_ntz", "timestamp"),
        ("double", "number"),
        ("binary", None),
    ],
)
def test_types(made: tc.Release, physical: str, logical: str | None) -> None:
    figures = figures_with(columns={"wave:_first?": {"type": physical, "missing": 1}})
    (column,) = yaml.safe_load(contract_yaml(Certificate.read(made.certificate), figures))[
        "schema"
    ][0]["properties"]
    assert (column["physicalType"], column.get("logicalType"), column["required"]) == (
        physical,
        logical,
        False,
    )
