"""Keys that a user of another tool would call otherwise are read under that word, too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tclose_spark.errors import ConfigurationError
from tclose_spark.runfile.loading import load_spec
from tclose_spark.runfile.schema import FILE, common_words
from tclose_spark.runfile.section import Section

VALIDATOR = jsonschema.Draft202012Validator(json.loads(FILE.read_text(encoding="utf-8")))
AGGREGATED = {"name": "microaggregation", "algorithm": 1}
WORDS: dict[tuple[str, str], tuple[dict[str, Any], Any]] = {
    ("of", "reference"): ({"privacy": {"k": 5}}, "released"),
    ("coarsest", "maximum_generalization"): (
        {"attributes": {"quasi_identifiers": {"age": {"type": "numeric"}}}},
        20,
    ),
    ("together", "blocks"): ({"release": {}}, [["disease"], ["income"]]),
    ("after", "previous_release"): ({"output": {"path": "out"}}, "earlier"),
    ("representative", "aggregate"): ({"method": AGGREGATED}, "mean"),
}
"""By key and common word: the section that has the key, and a value."""


def run(section: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    """A run file with this value of the key, in the innermost section of those given."""
    attributes = {
        "person": "id" if key in {"after", "previous_release"} else None,
        "quasi_identifiers": {"age": {"type": "numeric"}},
        "sensitive_attributes": {
            "disease": {"t": "0.2"},
            "income": {"distance": "ordered", "t": "0.2"},
        },
    }
    privacy = {"k": 5, "of": "released"} if attributes["person"] else {"k": 5}
    tree: dict[str, Any] = {
        "name": "x",
        "input": {"path": "people.parquet"},
        "output": {"path": "out"},
        "attributes": attributes,
        "privacy": privacy,
    }
    ((top, below),) = section.items()
    if top == "attributes":
        attributes["quasi_identifiers"]["age"][key] = value  # type: ignore[index]
    else:
        tree[top] = {**tree.get(top, {}), **below, key: value}
    return tree


def load(tree: dict[str, Any], tmp_path: Path) -> Any:
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(tree))
    return load_spec(tmp_path / "run.yaml")


def test_every_common_word_is_tried() -> None:
    found = {pair for section in _sections(Section) for pair in common_words(section)}
    assert found == WORDS.keys()


@pytest.mark.parametrize(
    ("names", "where"),
    WORDS.items(),
    ids=lambda part: part[1] if len(part) == 2 else "",
)
def test_a_common_word_is_read_as_its_key(
    names: tuple[str, str],
    where: tuple[dict[str, Any], Any],
    tmp_path: Path,
) -> None:
    section, value = where
    by_key, by_word = (run(section, name, value) for name in names)
    assert load(by_word, tmp_path).model_dump() == load(by_key, tmp_path).model_dump()
    assert not [*VALIDATOR.iter_errors(by_word)]


@pytest.mark.parametrize(
    ("names", "where"),
    WORDS.items(),
    ids=lambda part: part[1] if len(part) == 2 else "",
)
def test_a_key_and_its_common_word_together_are_refused(
    names: tuple[str, str],
    where: tuple[dict[str, Any], Any],
    tmp_path: Path,
) -> None:
    (key, word), (section, value) = names, where
    ((top, below),) = section.items()
    if top == "attributes":
        both = run({"attributes": {}}, key, value)
        both["attributes"]["quasi_identifiers"]["age"][word] = value
    else:
        both = run({top: {**below, word: value}}, key, value)
    with pytest.raises(ConfigurationError, match=word):
        load(both, tmp_path)


def _sections(section: type[Section]) -> set[type[Section]]:
    return {section}.union(*(_sections(below) for below in section.__subclasses__()))
