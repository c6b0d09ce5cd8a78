"""privacy.profile: the k that it fills in, what it refuses, and its rules as data."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml

from tclose_spark.errors import ConfigurationError
from tclose_spark.options.profiles.columns import LONG
from tclose_spark.options.profiles.judge import FACTS
from tclose_spark.options.profiles.rules import CHECKS
from tclose_spark.runfile.loading import load_spec
from tclose_spark.runfile.profiles.settings import PROFILES, PrivacyProfile, parse_populations
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.column_names.hints import IDENTIFIERS, identifier_in
from tclose_spark.table.columns.patterns import IDENTIFYING

TREE: dict[str, Any] = {
    "name": "x",
    "input": {"path": "people.parquet"},
    "output": {"path": "out"},
    "attributes": {
        "quasi_identifiers": {"age": {"type": "numeric"}},
        "sensitive_attributes": {"disease": {"t": 0.2}},
    },
}
ONTARIO = {"name": "ipc_ontario"}


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., ReleaseSpec]:
    """`load(k=.., profile=..)`: the spec of a run file with this privacy section."""

    def loaded(**privacy: Any) -> ReleaseSpec:
        (tmp_path / "run.yaml").write_text(
            yaml.safe_dump({**copy.deepcopy(TREE), "privacy": privacy}),
        )
        return load_spec(tmp_path / "run.yaml")

    return loaded


@pytest.mark.parametrize(
    ("profile", "k", "risk"),
    [
        ("ema_0070", 12, "0.09"),
        ("hipaa_safe_harbor", 5, "0.2"),
        ("ipc_ontario", 20, "0.05"),
        ({**ONTARIO, "invasion_of_privacy": "medium"}, 15, "0.075"),
        ({**ONTARIO, "invasion_of_privacy": "low"}, 10, "0.1"),
        ({**ONTARIO, "release_model": "non_public"}, 20, "0.05"),
        ("public_use", 20, "0.05"),
        ("nist_sp_800_188", 5, "0.2"),
    ],
    ids=str,
)
def test_a_k_that_is_left_out_is_that_of_the_profile_and_within_its_risk(load, profile, k, risk):
    privacy = load(profile=profile).privacy
    assert privacy.k == k
    assert privacy.k_of_profile
    assert Fraction(1, k) <= Fraction(risk)


@pytest.mark.parametrize(
    ("profile", "least"),
    [
        ("ema_0070", 11),
        ("hipaa_safe_harbor", 2),
        ("ipc_ontario", 20),
        ({**ONTARIO, "invasion_of_privacy": "medium"}, 14),
        ({**ONTARIO, "invasion_of_privacy": "low"}, 10),
        ({**ONTARIO, "release_model": "semi_public"}, 20),
        ({**ONTARIO, "release_model": "non_public"}, 3),
        ("public_use", 20),
        ("nist_sp_800_188", 2),
    ],
    ids=str,
)
def test_the_k_of_the_run_file_stays_unless_it_is_too_small(load, profile, least):
    for k in (least, least + 40):
        privacy = load(k=k, profile=profile).privacy
        assert privacy.k == k
        assert not privacy.k_of_profile
    if least > 2:
        with pytest.raises(
            ConfigurationError,
            match=rf"k is {least - 1}, and profile .* at least {least}$",
        ):
            load(k=least - 1, profile=profile)


def test_the_message_about_a_small_k_names_the_line_the_profile_and_the_risk(load):
    with pytest.raises(ConfigurationError) as error:
        load(k=10, profile="ema_0070")
    assert "line" in str(error.value)
    assert "privacy: k is 10, and profile ema_0070 accepts a risk of at most 0.09" in str(
        error.value,
    )


def test_a_profile_changes_nothing_else_that_the_run_file_requires(load):
    said = {"k": 40, "nt": {"n": 500}, "suppression_limit": "0.1", "of": "released"}
    plain, profiled = load(**said), load(**said, profile="ema_0070")
    assert profiled.attributes == plain.attributes
    assert profiled.method == plain.method
    assert profiled.privacy.model_dump(exclude={"profile"}) == plain.privacy.model_dump(
        exclude={"profile"},
    )


def test_k_is_still_required_without_a_profile(load):
    with pytest.raises(ConfigurationError, match=r"privacy\.k: missing"):
        load(suppression_limit=0)
    with pytest.raises(ConfigurationError, match=r"privacy\.k: missing"):
        load(profile=None)


@pytest.mark.parametrize(
    ("privacy", "message"),
    [
        ({"profile": "gdpr"}, "privacy.profile.name: found 'gdpr'"),
        ({"k": "auto", "profile": "ema_0070"}, "k is auto, and profile ema_0070"),
        ({"profile": {"name": "ema_0070", "populations": {"age": "a.csv"}}}, "no rule on areas"),
        (
            {"profile": {"name": "public_use", "invasion_of_privacy": "low"}},
            "it is for name: ipc_ontario",
        ),
        (
            {"profile": {"name": "public_use", "ages": ["agee"]}},
            "privacy.profile.ages: names 'agee'",
        ),
    ],
    ids=str,
)
def test_what_a_profile_cannot_mean_is_refused(load, privacy, message):
    with pytest.raises(ConfigurationError) as error:
        load(**privacy)
    assert message in str(error.value)


def test_paths_of_populations_are_relative_to_the_run_file(load, tmp_path):
    profile = load(profile={"name": "public_use", "populations": {"age": "a.csv"}}).privacy.profile
    assert profile is not None
    assert profile.populations == {"age": str(tmp_path / "a.csv")}


@pytest.mark.parametrize(
    "text",
    ["", "area,people\n941,5", "941;5\n941;6", "94107,5", "941", "941,5.5", "941,-5"],
)
def test_a_wrong_table_of_populations_is_refused(text):
    with pytest.raises(ConfigurationError, match=r"^zip: "):
        parse_populations(text, "zip", "hipaa_safe_harbor")


def test_every_rule_is_checked_or_states_a_fact_or_says_why_not():
    for name, profile in PROFILES.items():
        for rule in profile["rules"]:
            (how,) = rule.keys() - {"section", "rule"}
            assert {"check": CHECKS, "states": FACTS, "why": {rule.get("why"): 0}}[how][
                rule[how]
            ] is not None, name
        assert {r["section"] for r in PrivacyProfile(name=name).rules} == {
            r["section"] for r in profile["rules"]
        }


def test_the_18_identifiers_are_looked_for():
    assert [one.letter for one in IDENTIFIERS] == list("ABCDEFGHIJKLMNOPQR")
    assert {pattern for one in IDENTIFIERS for pattern in one.patterns} == {*IDENTIFYING, LONG}


@pytest.mark.parametrize(
    ("column", "letter", "must_go"),
    [
        ("patient_name", "A", True),
        ("street", "B", True),
        ("zip", "B", False),
        ("birth_date", "C", False),
        ("phone", "D", True),
        ("faxNumber", "E", True),
        ("e_mail email", "F", True),
        ("SSN", "G", True),
        ("mrn", "H", True),
        ("member_id", "I", True),
        ("iban", "J", True),
        ("passport", "K", True),
        ("license_plate", "L", True),
        ("device_id", "M", True),
        ("homepage", "N", True),
        ("ip_address", "O", True),
        ("voice_print", "P", True),
        ("photo", "Q", True),
        ("pseudonym", "R", True),
        ("disease", None, None),
        ("education", None, None),
    ],
)
def test_names_of_identifiers(column, letter, must_go):
    found = identifier_in(column)
    assert (found and found.letter, found and found.must_go(column)) == (letter, must_go)


def test_the_page_has_the_k_of_each_profile():
    page = (Path(__file__).parents[2] / "docs/profiles.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| `(\w+)` \| [^|]+ \| (\d+) \| (\d+) \|$", page, flags=re.MULTILINE)
    profiles = [PrivacyProfile(name=name) for name in PROFILES]
    assert table == [(one.name, str(one.k), str(one.least_k)) for one in profiles]
