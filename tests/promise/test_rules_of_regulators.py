"""docs/profiles.md: rules of regulators. Rules by rules: tests/releases/test_profiles.py."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from people import PEOPLE, ROLES
from promise_page import promises

from tclose_spark.runfile.profiles.settings import PROFILES

COLUMNS = {"insensitive_attributes": ["region"], "direct_identifiers": ["name"]}


@pytest.fixture
def release(
    run_file: Callable[..., Path],
    tclose: Callable[..., Any],
) -> Callable[..., tuple[int, str, Path]]:
    """`release(profile, k, region)`: exit code, errors and output of a release with this
    profile.
    """

    def released(
        profile: str,
        k: int | None = None,
        region: list[str] | None = None,
    ) -> tuple[int, str, Path]:
        table = PEOPLE
        if region is not None:
            values = pa.array([region[i % len(region)] for i in range(PEOPLE.num_rows)])
            table = PEOPLE.set_column(PEOPLE.schema.get_field_index("region"), "region", values)
        path = run_file(
            table,
            **{
                **ROLES,
                "sensitive": {"disease": {"t": "0.5"}},
                "k": k or 2,
                "privacy": {"profile": profile},
            },
        )
        tree = yaml.safe_load(path.read_text())
        if k is None:
            del tree["privacy"]["k"]
        path.write_text(yaml.safe_dump(tree))
        code, _, errors = tclose("release", path)
        return code, errors, path.parent / "out"

    return released


def certificate(output: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((output / "public/certificate.json").read_text())
    return found


@promises(
    "A profile adds checks of a regulator's or a statistics office's rules, and never weakens the "
    "run file.",
    "A smaller k ends with exit code 2.",
)
def test_k_is_the_larger_of_the_profile_and_the_run_file(release):
    for k, required in ((None, 12), (15, 15)):
        code, _, output = release("ema_0070", k)
        assert code == 0
        assert certificate(output)["guarantees"]["k"]["required"] == required
        assert certificate(output)["guarantees"]["k"]["achieved"] >= required
        (output / "public/certificate.json").unlink()
    code, errors, output = release("ema_0070", 5)
    assert code == 2
    assert "ema_0070" in errors
    assert not (output / "public/certificate.json").exists()


@promises(
    "A broken rule ends with exit code 1, and nothing is published.",
    "A broken rule of a regulator ends with exit code 1",
)
def test_a_broken_rule_publishes_nothing(release):
    code, errors, output = release("hipaa_safe_harbor", region=["2024-02-29", "2024-03-01"])
    assert code == 1
    assert "column 'region': 48 rows have a date or time finer than a year" in errors
    assert "2024" not in errors
    assert not (output / "public").exists() or not any((output / "public").iterdir())


@promises(
    "The certificate (`profile`) and the report list every rule",
    "A profile is no finding of compliance.",
)
@pytest.mark.parametrize("profile", PROFILES)
def test_every_rule_is_listed(release, profile):
    code, _, output = release(profile, 20)
    assert code == 0
    found, page = certificate(output)["profile"], (output / "public/report.html").read_text()
    listed = {rule["rule"] for rule in found["rules"]}
    assert listed == {
        rule["rule"] for rule in PROFILES[profile]["rules"] if rule.get("check") != "mean_risk"
    }
    assert any(rule["state"] == "not checked" for rule in found["rules"])
    assert all(f">{rule}</th>" in page for rule in listed)
    assert "no finding that the release complies with any law" in found["statement"]
    assert found["statement"] in page


@promises(
    "Direct identifiers: names of columns are compared with words",
    "An identifier with another name and another form is not found.",
)
def test_what_is_found_and_what_is_not(release):
    code, errors, _ = release("ema_0070", region=["a@example.org", "b@example.org"])
    assert code == 1
    assert "look like e-mail addresses" in errors
    code, _, output = release("ema_0070", region=["ask Anna", "ask Bob"])
    assert code == 0
    assert not any(one["values"] for one in certificate(output)["profile"]["identifiers"])
