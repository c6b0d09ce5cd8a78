"""What a column may be: a direct identifier is never called insensitive, whatever its guise."""

import hashlib
import uuid

import numpy as np
import pytest
from columns import facts
from hypothesis import given, settings
from hypothesis import strategies as st

from tclose_spark.suggesting.judging import FEWEST, suggest_role

NEUTRAL = (
    "col7",
    "x",
    "v_12",
    "field",
    "year",
    "source",
    "batch",
    "survey wave",
    "unit",
)  # the last say: of the table


def _numbers(draw, n):
    return [int(value) for value in draw.permutation(10 * n)[:n]]


# what a person's own value looks like: (draw, people) -> one for each
GUISES = {
    "unique numbers": lambda draw, n: [100_000 + value for value in _numbers(draw, n)],
    "a running number": lambda draw, n: list(range(1, n + 1)),
    "numbers as text": lambda draw, n: [f"{value:08d}" for value in _numbers(draw, n)],
    "names": lambda draw, n: [
        f"{'BCDFGKLM'[v % 8]}{'aeiou'[v // 8 % 5]}n{v}, A{'xyz'[v % 3]}" for v in _numbers(draw, n)
    ],
    "e-mail addresses": lambda draw, n: [f"p{value}@example.org" for value in _numbers(draw, n)],
    "phone numbers": lambda draw, n: [f"+49 30 {value:07d}" for value in _numbers(draw, n)],
    "local phone numbers": lambda draw, n: [
        f"555-{v % 1000:03d}-{v // 1000:04d}" for v in _numbers(draw, n)
    ],
    "social security numbers": lambda draw, n: [
        f"{v % 900 + 1:03d}-{v % 89 + 10}-{v % 10000:04d}" for v in _numbers(draw, n)
    ],
    "IBANs": lambda draw, n: [f"DE89 3704 0044 {value:010d}" for value in _numbers(draw, n)],
    "UUIDs": lambda draw, n: [str(uuid.UUID(int=value)) for value in _numbers(draw, n)],
    "hashes": lambda draw, n: [
        hashlib.sha256(str(value).encode()).hexdigest() for value in _numbers(draw, n)
    ],
    "card numbers": lambda draw, n: [
        f"4111 1111 1111 {value % 10000:04d}" for value in _numbers(draw, n)
    ],
    "IP addresses": lambda draw, n: [f"10.{v % 256}.{v // 256 % 256}.7" for v in _numbers(draw, n)],
    "web addresses": lambda draw, n: [
        f"https://example.org/u/{value}" for value in _numbers(draw, n)
    ],
    "postal addresses": lambda draw, n: [f"{value} Oak Street" for value in _numbers(draw, n)],
}
PATTERNED = (
    "e-mail",
    "phone",
    "local",
    "social",
    "IBAN",
    "UUID",
    "hash",
    "card",
    "IP ",
    "web",
    "postal",
)


@given(
    guise=st.sampled_from(list(GUISES)),
    name=st.sampled_from(NEUTRAL),
    people=st.integers(3, 300),
    rows_each=st.integers(1, 60),
    missing=st.floats(0, 0.9),
    seed=st.integers(0, 2**31),
)
@settings(max_examples=150)
def test_an_identifier_is_never_insensitive(guise, name, people, rows_each, missing, seed):
    """With duplicates (visits of a person), with missing values, and under a name that says it is
    harmless.
    """
    draw = np.random.default_rng(seed)
    own = GUISES[guise](draw, people)
    values = [
        value if draw.random() >= missing else None for value in own for _ in range(rows_each)
    ]
    judged = suggest_role(facts(name, values))
    patterned = guise.startswith(PATTERNED)
    if patterned or people > 10:
        assert judged.role != "insensitive", judged.why
    if any(value is not None for value in values) and (
        patterned or (rows_each == 1 and people > 10 and len(set(values)) > 2)
    ):
        assert judged.role == "direct", judged.why


@pytest.mark.parametrize(
    "name",
    [
        *(
            "name",
            "Name",
            "last_name",
            "firstName",
            "SURNAME",
            "patient-name",
            "Prénom",
            "apellido",
            "SSN",
            "ssn_hash",
        ),
        *(
            "social security no",
            "eMail",
            "e_mail_address",
            "homePhone",
            "telephone",
            "mobile",
            "street",
            "home address",
        ),
        *(
            "IBAN",
            "accountNumber",
            "card_number",
            "passport_no",
            "patientId",
            "person_id",
            "customer.id",
            "user id",
        ),
        *("MRN", "licence plate", "ip_address", "uuid", "pseudonym", "username", "respondent_id"),
    ],
)
@pytest.mark.parametrize(
    "values",
    [["a", "b"] * 500, list(range(1000)), ["a"] * 1000, [None] * 1000],
)
def test_a_column_named_as_an_identifier_is_one_whatever_it_holds(name, values):
    assert suggest_role(facts(name, values)).role == "direct"


@pytest.mark.parametrize(
    ("name", "role", "about"),
    [
        ("native-country", "quasi", "origin"),
        ("country_of_birth_self", "quasi", "origin"),
        ("maritalStatus", "quasi", "marital status"),
        ("PLZ", "quasi", "place"),
        ("birthDate", "quasi", "age"),
        ("country_name", "quasi", "place"),
        ("drug_name", "sensitive", "health"),
        ("salary-class", "sensitive", "money"),
        ("sex_code", "quasi", "sex"),
        ("length_of_stay", "quasi", "event"),
        ("relat", "quasi", "household"),
        ("hhcivil", "quasi", "marital status"),
        ("stage", "sensitive", "health"),
        ("fatheduc", "quasi", "education"),
        ("hrwage", "sensitive", "money"),
        ("nonwhite", "quasi", "ethnicity"),
        ("pages", "open", None),
    ],
)
def test_names_say_what_columns_are(name, role, about):
    judged = suggest_role(facts(name, ["a", "b"] * 500))
    assert (judged.role, judged.concept and judged.concept.name) == (role, about)


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("year", [2019, 2020] * 500, "insensitive"),
        ("x", ["a"] * 1000, "insensitive"),
        ("x", ["a", "b"] * 500, "open"),  # nobody can say
        ("year", [2019] * (1000 - FEWEST + 1) + [2020] * (FEWEST - 1), "open"),  # a rare value
        ("year", list(range(11)) * 100, "open"),  # many values
        ("year id", [1, 2] * 500, "open"),  # calls itself a number
        ("source code", [1, 2] * 500, "open"),
        ("x", ["a"] * 940 + [None] * 60, "open"),  # who has none?
        ("household_id", [i // 3 for i in range(999)], "direct"),
        ("zip_code", [f"{i % 70:05d}" for i in range(1000)], "quasi"),
        ("number_of_children", [0, 1, 2, 3, 4] * 20, "quasi"),
        ("sex_id", [1, 2] * 500, "quasi"),
        ("salary", list(range(1000)), "sensitive"),  # many values are expected of money
        ("income", [*map(str, range(990)), *["none"] * 10], "sensitive"),  # some are no numbers
        ("x", [f"{i}.5" for i in range(1000)], "open"),  # keys have no fractions
        ("num_visits", [i % 90 for i in range(1000)], "sensitive"),
        ("sampling_weight", list(range(1000)), "weight"),
        ("fnlwgt", list(range(1000)), "weight"),
        ("sampling_weight", [None, *range(999)], "open"),  # a release requires all
        ("weight", [i % 90 for i in range(1000)], "open"),  # of the body, perhaps
        (
            "birth_date",
            [f"19{i % 90 + 10}-{i % 12 + 1:02d}-{i % 27 + 1:02d}" for i in range(900)],
            "quasi",
        ),
        (
            "remark",
            [f"the patient said {i} times that the treatment did not help" for i in range(1000)],
            "direct",
        ),
        ("note", ["a"] * 990 + ["me@example.org"] * 10, "open"),  # traces of people
        ("disease", ["flu"] * 990 + ["me@example.org"] * 10, "open"),
    ],
)
def test_figures_say_what_columns_are(name, values, role):
    assert suggest_role(facts(name, values)).role == role


def test_why_holds_no_value():
    values = ["CANARY-7f3@example.org", "CANARY-7f3"] * 500
    for name in ("x", "year", "name", "disease"):
        judged = suggest_role(facts(name, values))
        assert "CANARY" not in judged.why


def test_a_column_that_cannot_be_released_is_left_open():
    judged = suggest_role(
        facts("age", ["a", "b"] * 50, unusable="its type, array, cannot be released"),
    )
    assert (judged.role, judged.why) == ("open", "its type, array, cannot be released")
