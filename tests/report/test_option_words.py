"""Certificate, page and console know no option by name, and have the words of options of other
packages.
"""

import ast
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from some_certificate import certificate_with

from tclose_spark.report import console, html
from tclose_spark.report.certificate import building
from tclose_spark.report.certificate.sections import Certificate
from tclose_spark.report.console import certificate_lines
from tclose_spark.report.option_words import OptionWords

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


@pytest.mark.parametrize("module", [building, html, console])
def test_it_names_no_key_of_an_option(module: Any) -> None:
    tree = ast.parse(Path(module.__file__).read_text())
    named = {*map(name_of, ast.walk(tree))}
    assert "guarantees" in named
    assert named & OF_OPTIONS == set()


def name_of(node: ast.AST) -> Any:
    """The text, the attribute or the keyword that a node is."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.arg if isinstance(node, ast.keyword) else None


class StampWords(OptionWords):
    """A line on the console."""

    def lines(self, certificate: Certificate) -> dict[str, list[tuple[str, str]]]:
        return {"rows": [("stamp", certificate.brought_sections["stamp"]["text"])]}


@pytest.mark.parametrize("stamped", [True, False])
def test_the_words_of_another_package_speak_of_its_own_key_alone(
    stamped: bool,
    monkeypatch: Any,
) -> None:
    monkeypatch.setattr("tclose_spark.runfile.options.modules", lambda what: {"stamp": "stamp"})
    found = SimpleNamespace(parts={"words": f"{__name__}:StampWords"})
    monkeypatch.setattr("tclose_spark.runfile.options.find_option", lambda key: found)
    monkeypatch.setattr("tclose_spark.runfile.options.named", _named)
    brought = {"kind": "option", "name": "stamp", "package": "stamp", "version": "1"}
    stamp = {"brought": [brought], "stamp": {"text": "draft"}}
    made = certificate_with(stamp if stamped else {})
    said = [line.split() for line in certificate_lines(made, "public", "internal")]
    assert (["stamp", "draft"] in said) == stamped


def _named(place: str) -> Any:
    from tclose_spark.runfile.brought import named

    return StampWords if place.endswith(":StampWords") else named(place)
