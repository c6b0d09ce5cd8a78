"""The JSON Schema of run files: what is kept is what is made, and it takes what the loader
takes.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tclose_spark.errors import ConfigurationError
from tclose_spark.runfile.loading import load_spec
from tclose_spark.runfile.registry import MethodSettings, known_methods
from tclose_spark.runfile.schema import FILE, docstrings_of, schema, schema_text
from tclose_spark.runfile.section import Section
from tclose_spark.runfile.spec import ReleaseSpec

ROOT = Path(__file__).resolve().parents[2]
CONF = sorted((ROOT / "conf").glob("*.yaml"))
VALIDATOR = jsonschema.Draft202012Validator(json.loads(FILE.read_text(encoding="utf-8")))

RUN = {
    "name": "x",
    "input": {"path": "people.parquet"},
    "output": {"path": "out"},
    "attributes": {
        "quasi_identifiers": {"age": {"type": "numeric"}},
        "sensitive_attributes": {"disease": {"t": 0.2}},
    },
    "privacy": {"k": 5},
}


def changed(path: str, value: Any) -> dict[str, Any]:
    """RUN with another value at a path of keys; without the key where the value is Ellipsis."""
    tree = copy.deepcopy(RUN)
    *above, last = path.split(".")
    section: Any = tree
    for key in above:
        section = section.setdefault(key, {})
    if value is ...:
        del section[last]
    else:
        section[last] = value
    return tree


def loads(tree: dict[str, Any], folder: Path) -> bool:
    (folder / "run.yaml").write_text(yaml.safe_dump(tree))
    try:
        load_spec(folder / "run.yaml")
    except ConfigurationError:
        return False
    return True


def test_the_kept_schema_is_the_one_that_is_made():
    assert FILE.read_text(encoding="utf-8") == schema_text(), (
        "make it anew: tclose schema --output " + str(FILE)
    )


def test_it_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("path", CONF, ids=lambda path: path.stem)
def test_example_runs_name_it_and_are_valid(path: Path):
    text = path.read_text(encoding="utf-8")
    named = text.splitlines()[0].removeprefix("# yaml-language-server: $schema=")
    assert (path.parent / named).resolve() == FILE.resolve()
    VALIDATOR.validate(yaml.safe_load(text))


GOOD = [
    ("privacy.k", "auto"),
    ("privacy", {"k": "auto", "alpha": 0.3}),
    ("privacy", {"profile": "ema_0070"}),
    ("privacy", {"k": 25, "profile": {"name": "public_use", "ages": ["age"]}}),
    ("privacy.suppression_limit", "1/100"),
    ("attributes.quasi_identifiers.sex", None),
    ("attributes.quasi_identifiers.age", {"type": "numeric", "round_to": 0.5, "coarsest": "10"}),
    ("attributes.direct_identifiers", None),
    ("attributes.sensitive_attributes.disease", {"t": "measure"}),
    (
        "attributes.sensitive_attributes.disease",
        {"t": "0.15", "distance": "ordered", "order": ["low", "high"]},
    ),
    ("attributes.sensitive_attributes.disease", {"l": {"distinct": 2}}),
    (
        "input",
        {
            "path": "a.csv",
            "format": "csv",
            "options": {"header": True, "sep": ";", "maxColumns": 3},
        },
    ),
    ("output", {"public": "a", "internal": "b", "keep_linked": True}),
    ("method", {"effort": "fast"}),
    ("method", {"name": "closeness_tree", "effort": 12, "overlap": "none"}),
    ("method", {"name": "closeness_tree", "overlap": "allowed"}),
    ("method", {"name": "microaggregation", "algorithm": 2}),
    ("method", {"name": "microaggregation", "representative": "mean", "digits": 0}),
    ("method", {"name": "fragmentation", "search_seconds": 1.5}),
]
BAD = [
    ("name", ...),
    ("input", ...),
    ("output", ...),
    ("privacy", ...),
    ("attributes", ...),
    ("name", ""),
    ("secret", "x"),
    ("privacy", {}),
    ("privacy", {"profile": None}),
    ("privacy", {"k": 5, "profile": "gdpr"}),
    ("privacy", {"k": 50, "profile": {"name": "ema_0070", "ks": 1}}),
    ("privacy.k", 1),
    ("privacy.k", "many"),
    ("privacy.k", 2.5),
    ("privacy.suppression_limit", 1),
    ("attributes.quasi_identifiers", {}),
    ("attributes.quasi_identifiers.age", {"type": "number"}),
    ("attributes.quasi_identifiers.age", {"hierachy": "a.csv"}),
    ("attributes.sensitive_attributes.disease", None),
    ("attributes.sensitive_attributes.disease", {"distance": "ordered"}),
    ("attributes.sensitive_attributes.disease", {"t": -0.1}),
    ("attributes.sensitive_attributes.disease", {"beta": 0}),
    ("attributes.sensitive_attributes.disease", {"l": {"frequency": 0.5}}),
    ("attributes.sensitive_attributes.disease", {"t": 1.5}),
    ("attributes.sensitive_attributes.disease", {"t": "about 0.2"}),
    ("attributes.sensitive_attributes.disease", {"t": 0.2, "distance": "far"}),
    ("attributes.sensitive_attributes.disease", {"t": 0.2, "distance": "ordered", "bins": {}}),
    ("attributes.sensitive_attributes.disease", {"t": 0.2, "l": {"distinct": 0}}),
    ("input.format", "xlsx"),
    ("output", {}),
    ("output", {"path": "a", "public": "b", "internal": "c"}),
    ("output", {"public": "a"}),
    ("method", {"name": "magic"}),
    ("method", {"algorithm": 2}),
    ("method", {"name": "sabre", "effort": "fast"}),
    ("method", {"name": "closeness_tree", "effort": -1}),
]


@pytest.mark.parametrize(("path", "value"), GOOD, ids=str)
def test_what_loads_is_valid(path: str, value: Any, tmp_path: Path):
    tree = changed(path, value)
    assert loads(tree, tmp_path)
    assert list(VALIDATOR.iter_errors(tree)) == []


@pytest.mark.parametrize(("path", "value"), BAD, ids=str)
def test_what_does_not_load_is_not_valid(path: str, value: Any, tmp_path: Path):
    tree = changed(path, value)
    assert not loads(tree, tmp_path)
    assert list(VALIDATOR.iter_errors(tree)) != []


def test_settings_of_one_method_are_valid_with_it(tmp_path: Path):
    of_diversity = changed(
        "attributes.sensitive_attributes.disease",
        {"l": {"recursive": {"c": 3, "l": 2}}},
    )
    binned = {"t": 1, "distance": "ordered", "bins": {"edges": [1, 2.5]}}
    of_bins = changed("attributes.sensitive_attributes.disease", binned)
    for tree, method in ((of_diversity, "stack_and_deal"), (of_bins, "fragmentation")):
        assert loads({**tree, "method": {"name": method}}, tmp_path)
        assert list(VALIDATOR.iter_errors({**tree, "method": {"name": method}})) == []


def sections(section: type[Section]) -> Iterator[type[Section]]:
    for below in section.__subclasses__():
        yield below
        yield from sections(below)


def test_every_field_of_a_run_file_is_described():
    known_methods()
    described = [
        section for section in sections(Section) if section.__module__.startswith("tclose")
    ]
    assert ReleaseSpec in described
    assert len(described) > 15
    silent = [
        f"{section.__name__}.{name}"
        for section in described
        for name in section.model_fields
        if not docstrings_of(section).get(name)
        and section is not MethodSettings
        and "audit" not in section.__module__
    ]
    assert silent == []


def test_descriptions_are_in_the_schema():
    privacy = schema()["$defs"]["Privacy"]["properties"]
    assert privacy["k"]["description"].startswith("The least number of rows of a class")
