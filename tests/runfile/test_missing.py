"""Codes for missing values: those of a column, and those under `input` for every column with a
role.
"""

from decimal import Decimal
from typing import Any

import pytest

from tclose_spark.auditing.question import question_from_columns, question_from_run_file
from tclose_spark.errors import ConfigurationError
from tclose_spark.runfile.loading import parse_yaml, spec_of

RUN_FILE = """
name: survey
input: {path: survey.csv, format: csv, missing_values: [Unknown, 9999-12-31]}
output: {path: build}
attributes:
  direct_identifiers: [ssn]
  person: id
  household: home
  pseudonyms: {card: {}}
  quasi_identifiers:
    age: {type: numeric, missing_values: [999, 99.0, -1]}
    sex: {}
  sensitive_attributes: {wage: {t: 0.3, missing_values: ["-9", true]}}
  insensitive_attributes: [wave, mode]
  missing_values: {wave: [9]}
privacy: {k: 5}
"""
ALL = ("Unknown", "9999-12-31")
CODES: dict[str, Any] = dict.fromkeys(("ssn", "id", "home", "card", "sex", "mode"), ALL)
CODES |= {
    "age": (*ALL, Decimal(999), Decimal("99.0"), Decimal(-1)),
    "wage": (*ALL, "-9", "true"),
    "wave": (*ALL, Decimal(9)),
}


def test_codes_under_input_are_of_every_column_with_a_role() -> None:
    spec = spec_of(parse_yaml(RUN_FILE, "run"))
    assert spec.missing_values == CODES
    assert question_from_run_file(spec).missing_values == CODES
    weighed = RUN_FILE.replace("  person: id\n  household: home", "  weight: pw")
    assert spec_of(parse_yaml(weighed, "run")).missing_values["pw"] == ALL


def test_columns_of_an_audit_may_have_codes() -> None:
    question = question_from_columns({"age": {"missing_values": [99, "99"]}}, {"wage": {}})
    assert question.missing_values["age"] == (Decimal(99), "99")


def test_a_number_in_quotes_is_another_run() -> None:
    quoted = spec_of(parse_yaml(RUN_FILE.replace("[9]", '["9"]'), "run"))
    assert quoted.attributes.missing_values == {"wave": ("9",)}
    assert quoted.fingerprint != spec_of(parse_yaml(RUN_FILE, "run")).fingerprint


def test_codes_beside_the_roles_are_of_insensitive_attributes() -> None:
    with pytest.raises(
        ConfigurationError,
        match="missing_values: names 'age', which is not in insensitive_attributes",
    ):
        spec_of(parse_yaml(RUN_FILE.replace("{wave: [9]}", "{age: [9]}"), "run"))


@pytest.mark.parametrize("wrong", ["[null]", "[[1]]", '[""]', "99"])
def test_a_code_is_a_number_a_text_or_a_date(wrong: str) -> None:
    with pytest.raises(ConfigurationError, match="missing_values"):
        spec_of(parse_yaml(RUN_FILE.replace("[999, 99.0, -1]", wrong), "run"))
