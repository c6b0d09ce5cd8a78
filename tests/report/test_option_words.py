"""Certificate, page and console know no option by name, and have the words of options of other
packages.
"""

import ast
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tclose_spark.report import certificate, console, html
from tclose_spark.report.console import certificate_lines
from tclose_spark.report.option_words import Certificate, OptionWords

OF_OPTIONS = {
    *(
        "people",
        "households",
        "over_people",
        "over_households",
        "earlier",
        "suppressed",
        "joint",
        "nt",
        "near",
    ),
    *(
        "risks",
        "weights",
        "pseudonyms",
        "profile",
        "group",
        "form",
        "together",
        "aggregate",
        "exact",
        "ncp_unknown",
    ),
}
"""The keys that options give to the certificate and to the verifier's figures."""


@pytest.mark.parametrize("module", [certificate, html, console])
def test_it_names_no_key_of_an_option(module: Any) -> None:
    tree = ast.parse(Path(module.__file__).read_text())
    texts = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert "guarantees" in texts
    assert texts & OF_OPTIONS == set()


class StampWords(OptionWords):
    """A line on the console."""

    def lines(self, certificate: Certificate) -> dict[str, list[tuple[str, str]]]:
        return {"rows": [("stamp", certificate["stamp"]["text"])]}


@pytest.mark.parametrize("stamped", [True, False])
def test_the_words_of_another_package_speak_of_its_own_key_alone(
    stamped: bool, monkeypatch: Any
) -> None:
    monkeypatch.setattr("tclose_spark.runfile.options.modules", lambda what: {"stamp": "stamp"})
    found = SimpleNamespace(parts={"words": f"{__name__}:StampWords"})
    monkeypatch.setattr("tclose_spark.runfile.options.find_option", lambda key: found)
    monkeypatch.setattr("tclose_spark.runfile.options.named", _named)
    made = {
        "verdict": "holds",
        "release": {"name": "people", "rows": 100, "classes": 9, "fingerprint": "75d2-9a1f"},
        "input": {"rows": 100},
        "guarantees": {"k": {"required": 5, "achieved": 7}, "t": {}, "l": {}},
        "attributes": {"sensitive": {}},
        "utility": {"ncp": 0.25},
        "unprotected": {},
        **({"stamp": {"text": "draft"}} if stamped else {}),
    }
    said = [line.split() for line in certificate_lines(made, "public", "internal")]
    assert (["stamp", "draft"] in said) == stamped


def _named(place: str) -> Any:
    from tclose_spark.runfile.brought import named

    return StampWords if place.endswith(":StampWords") else named(place)
