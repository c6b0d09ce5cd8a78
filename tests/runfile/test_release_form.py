"""`release.form` and `release.together`: what fits them, and what is refused."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tclose_spark.errors import ConfigurationError
from tclose_spark.runfile.loading import spec_of

RUN: dict[str, Any] = {
    "name": "people",
    "input": {"path": "people.parquet"},
    "output": {"path": "out"},
    "attributes": {
        "quasi_identifiers": {"age": {"type": "numeric"}, "city": {}},
        "sensitive_attributes": {"disease": {"t": 0.2}, "pay": {"t": 0.2}},
        "insensitive_attributes": ["region"],
    },
    "privacy": {"k": 20},
}
OF_ROWS = [
    ("output.after", "out2"),
    ("output.keep_linked", True),
    ("attributes.person", "who"),
    ("attributes.weight", "who"),
    ("privacy.suppression_limit", 0.1),
    ("privacy.nt", {"n": 100}),
    ("privacy.population", {"fraction": 0.1}),
    ("privacy.risk", {"prosecutor": {"maximum": 0.5}}),
    ("privacy.profile", "public_use"),
    ("privacy.k", "auto"),
]
ON_PEOPLE = [[], [("attributes.person", "who"), ("privacy.of", "released")]]
"""What else a line of releases needs."""
OF_LABELS = [
    ("attributes.quasi_identifiers.age.round_to", 5),
    ("attributes.quasi_identifiers.age.coarsest", 10),
    ("attributes.quasi_identifiers.age.numeric_output", "bounds"),
    ("attributes.quasi_identifiers.city.generalization", "set"),
    ("attributes.quasi_identifiers.city.missing", "any"),
]


def run_with(release: Any, *changes: tuple[str, Any]) -> dict[str, Any]:
    tree = copy.deepcopy(RUN) | {"release": release}
    for key, value in changes:
        *path, last = key.split(".")
        section = tree
        for name in path:
            section = section.setdefault(name, {})
        section[last] = value
    return tree


@pytest.mark.parametrize("form", ["anatomy", "permutation"])
@pytest.mark.parametrize("change", [*OF_ROWS, *OF_LABELS], ids=lambda change: change[0])
def test_what_does_not_fit_an_exact_form_is_refused(form: str, change: tuple[str, Any]) -> None:
    why = "published as they are" if change in OF_LABELS else "their guarantee together"
    with pytest.raises(
        ConfigurationError,
        match=rf"not with release\.form, since .*{why}",
    ) as refused:
        spec_of(run_with({"form": form}, change, *ON_PEOPLE[change[0] == "output.after"]))
    assert change[0] in str(refused.value)


@pytest.mark.parametrize("change", OF_ROWS, ids=lambda change: change[0])
def test_so_it_is_with_blocks_of_labels(change: tuple[str, Any]) -> None:
    with pytest.raises(
        ConfigurationError,
        match=r"not with release\.together, since their guarantee together",
    ) as refused:
        spec_of(
            run_with(
                {"together": [["disease"], ["pay"]]},
                change,
                *ON_PEOPLE[change[0] == "output.after"],
            ),
        )
    assert change[0] in str(refused.value)


@pytest.mark.parametrize(("key", "value"), [("export", ["csv"]), ("table", "a.b")])
def test_copies_are_of_one_table(key: str, value: Any) -> None:
    spec_of(run_with({"form": "permutation"}, (f"output.{key}", value)))
    with pytest.raises(ConfigurationError, match=rf"output\.{key}: not with release\.form"):
        spec_of(run_with({"form": "anatomy"}, (f"output.{key}", value)))


@pytest.mark.parametrize(
    ("together", "problem"),
    [
        ([["disease"]], "'pay' is in no block"),
        ([["disease", "age"], ["pay"]], "'age' is no sensitive attribute"),
        ([["disease", "pay"], ["pay"]], "named twice"),
        ([["disease", "pay"], []], "a block is empty"),
        ([["disease"], ["pay"], *([f"a{i}"] for i in range(8))], "at most 9"),
    ],
)
def test_each_sensitive_attribute_is_in_one_block(together: Any, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        spec_of(run_with({"form": "anatomy", "together": together}))


def test_a_joint_t_is_of_one_block() -> None:
    joint = ("privacy.joint", [{"attributes": ["disease", "pay"], "t": 0.5}])
    spec_of(run_with({"form": "anatomy"}, joint))
    spec_of(run_with({"form": "anatomy", "together": [["pay", "disease"]]}, joint))
    with pytest.raises(ConfigurationError, match=r"disease\+pay is in several blocks"):
        spec_of(run_with({"form": "anatomy", "together": [["pay"], ["disease"]]}, joint))


def test_the_columns_of_the_form_need_their_names() -> None:
    labels = {"together": [["disease"], ["pay"]]}
    for name, refusing, accepting in (
        ("Group", [{"form": "permutation"}, {"form": "anatomy"}], [{}, labels]),
        ("Count", [{"form": "anatomy"}, labels], [{}]),
    ):
        quasi = ("attributes.quasi_identifiers", {name: {}, "age": {"type": "numeric"}})
        for release in refusing:
            with pytest.raises(ConfigurationError, match=f"a column named '{name.lower()}'"):
                spec_of(run_with(release, quasi))
        for release in accepting:
            spec_of(run_with(release, quasi))


def test_sensitive_attributes_are_what_it_is_about() -> None:
    with pytest.raises(ConfigurationError, match="expected at least one"):
        spec_of(run_with({"form": "anatomy"}, ("attributes.sensitive_attributes", {})))


def test_a_table_of_labels_keeps_its_configuration() -> None:
    plain = {key: part for key, part in RUN.items() if key != "release"}
    assert spec_of(plain).fingerprint == spec_of(run_with({"form": "generalization"})).fingerprint
    forms = [{"form": "anatomy"}, {"form": "permutation"}, {"together": [["disease", "pay"]]}]
    assert len({spec_of(run_with(release)).fingerprint for release in [{}, *forms]}) == 4
