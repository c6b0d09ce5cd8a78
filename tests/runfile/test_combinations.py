"""Keys that do not go together: every pair of the table is refused, and the page has the table."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tclose_spark.errors import ConfigurationError
from tclose_spark.runfile.combinations import COUNTING, OF_RUN, Exclusion, Need
from tclose_spark.runfile.loading import spec_of
from tclose_spark.runfile.registry import methods_that, modules
from tclose_spark.runfile.text import one_of

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs/site"))
import combinations as page

RUN: dict[str, Any] = {
    "name": "people",
    "input": {"path": "people.parquet"},
    "output": {"path": "out"},
    "attributes": {
        "quasi_identifiers": {"age": {"type": "numeric"}, "city": {}},
        "sensitive_attributes": {
            "disease": {"t": "0.2"},
            "pay": {"t": "0.2", "distance": "ordered"},
        },
        "insensitive_attributes": ["share"],
    },
    "privacy": {"k": 20},
}
AGE, CITY, PAY = (
    f"attributes.{key}"
    for key in ("quasi_identifiers.age", "quasi_identifiers.city", "sensitive_attributes.pay")
)
PERSON = {"attributes.person": {"column": "who"}}
LINE = {"output.after": "out", "privacy.of": "released", **PERSON}
ANATOMY = {"release.form": "anatomy"}
BLOCKS = {"release.together": [["disease"], ["pay"]]}
AGGREGATES = {"method": {"name": "microaggregation", "algorithm": 1, "representative": "mean"}}
GIVEN: dict[str, dict[str, Any]] = {
    "privacy.nt": {"privacy.nt": {"n": 100}},
    "privacy.k: auto": {"privacy.k": "auto"},
    "privacy.joint": {"privacy.joint": [{"attributes": ["disease", "pay"], "t": "0.3"}]},
    "privacy.population": {"privacy.population": {"fraction": "0.1"}},
    "privacy.population.weight": {"privacy.population": {"weight": "share"}},
    "privacy.population.table": {"privacy.population": {"table": "all.csv"}},
    "privacy.risk": {"privacy.risk": {"prosecutor": {"maximum": "0.5"}}},
    "privacy.risk.household": {"privacy.risk": {"household": {"maximum": "0.5"}}},
    "privacy.profile": {"privacy.profile": "public_use"},
    "privacy.suppression_limit": {"privacy.suppression_limit": "0.1"},
    "privacy.suppression_limit with privacy.of: input": {"privacy.suppression_limit": "0.1"},
    "privacy.suppression_limit with privacy.of: released": {
        "privacy.suppression_limit": "0.1",
        "privacy.of": "released",
    },
    "privacy.suppression_limit with cuts_regions": {
        "privacy.suppression_limit": "0.1",
        "method": {"name": "t_mondrian"},
    },
    "attributes.person": PERSON,
    "attributes.person.unknown: alone": {
        "attributes.person": {"column": "who", "unknown": "alone"},
    },
    "attributes.household": {"attributes.household": "home"},
    "attributes.household.k": {"attributes.household": {"column": "home", "k": 3}},
    "attributes.weight": {"attributes.weight": "weight"},
    "attributes.pseudonyms": {"attributes.pseudonyms": ["name"]},
    "attributes.sensitive_attributes.*.t: 0": {f"{PAY}.t": "0"},
    "attributes.sensitive_attributes.*.domain": {f"{PAY}.domain": {"equal_width": 5}},
    "attributes.quasi_identifiers.*.coarsest": {f"{AGE}.coarsest": "10"},
    "attributes.quasi_identifiers.*.round_to": {f"{AGE}.round_to": "5"},
    "attributes.quasi_identifiers.*.numeric_output": {f"{AGE}.numeric_output": "bounds"},
    "attributes.quasi_identifiers.*.generalization": {f"{CITY}.generalization": "set"},
    "attributes.quasi_identifiers.*.missing: any": {f"{AGE}.missing": "any"},
    "output.after": LINE,
    "output.leavers: keep": {"output.leavers": "keep", "privacy.of": "released", **PERSON},
    "output.keep_linked": {"output.keep_linked": True},
    "output.export": {"output.export": ["csv"]},
    "output.table": {"output.table": "a.b"},
    "method.representative": AGGREGATES,
    "release.form": ANATOMY,
    "release.form: anatomy": ANATOMY,
    "release.together": BLOCKS,
    "release.together with release.form: generalization": BLOCKS,
}
"""What gives each key of the table, with what it needs itself."""
OF_OTHER_PACKAGES = "attributes.sensitive_attributes.*.brought"
"""Its key is that of a package, which `tests/requirements` brings."""


def run_with(changes: dict[str, Any]) -> dict[str, Any]:
    tree = copy.deepcopy(RUN)
    for key, value in changes.items():
        *path, last = key.split(".")
        section = tree
        for name in path:
            section = section.setdefault(name, {})
        section[last] = value
    return tree


def pairs() -> Iterator[tuple[str, str]]:
    for rule in OF_RUN:
        if isinstance(rule, Exclusion):
            yield from (
                (key, other)
                for key in rule.keys
                for other in rule.others
                if key != OF_OTHER_PACKAGES
            )


@pytest.mark.parametrize(("key", "other"), pairs())
def test_every_pair_of_the_table_is_refused_with_both_names(key: str, other: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        spec_of(run_with(GIVEN[other] | GIVEN[key]))
    message = str(refused.value)
    for one in (key, other):
        *_, name = one.partition(" with ")[0].partition(": ")[0].split(".")
        assert name in message, message
    assert "; " in message  # then what to do


@pytest.mark.parametrize("key", GIVEN)
def test_each_key_goes_with_what_is_not_in_the_table(key: str) -> None:
    spec_of(
        run_with(
            GIVEN[key]
            | ({"attributes.household": "home"} if key == "privacy.risk.household" else {}),
        ),
    )


@settings(max_examples=100)
@given(st.sets(st.sampled_from(sorted(GIVEN)), min_size=2, max_size=3))
def test_what_is_accepted_has_no_pair_of_the_table(keys: set[str]) -> None:
    changes: dict[str, Any] = {}
    for key in sorted(keys):
        changes |= GIVEN[key]
    given_keys = {key for key in GIVEN if GIVEN[key].items() <= changes.items()}
    excluded = [(a, b) for a, b in pairs() if {a, b} <= given_keys and "with" not in a + b]
    try:
        spec_of(run_with(changes))
    except ConfigurationError:
        return
    assert not excluded


@pytest.mark.parametrize(
    "rule",
    [rule for rule in OF_RUN if isinstance(rule, Exclusion | Need)],
    ids=str,
)
def test_a_reason_and_its_remedy_are_short(rule: Exclusion | Need) -> None:
    text = rule.text(rule.others[0]) if isinstance(rule, Exclusion) else rule.text()
    assert len(text.split()) <= 29, text  # and a key


def test_methods_that_count_people_are_those_of_the_table() -> None:
    assert f"method: {{name: {one_of(methods_that('people'))}}}" == COUNTING


def test_a_message_names_the_method_and_all_that_count_people(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[1] / "methods/every_k")
    monkeypatch.setitem(modules(), "every_k", "every_k")
    with pytest.raises(ConfigurationError) as refused:
        spec_of(run_with(PERSON | {"method": {"name": "stack_and_deal"}}))
    assert str(refused.value).endswith(
        "attributes.person: method stack_and_deal counts rows, not people; expected method: {name: "
        "closeness_tree, t_mondrian, t_incognito or every_k}",
    )


def test_a_message_names_a_few_of_many_columns() -> None:
    columns = {f"attributes.quasi_identifiers.q{n}": {"coarsest": "5"} for n in range(40)}
    columns = {key: {"type": "numeric", **settings} for key, settings in columns.items()}
    with pytest.raises(ConfigurationError) as refused:
        spec_of(run_with(LINE | columns))
    assert "q4.coarsest and 35 more: not with output.after" in str(refused.value)
    assert "q5" not in str(refused.value)


def test_a_person_of_a_row_alone_is_in_no_line() -> None:
    alone = {"attributes.person": {"column": "who", "unknown": "alone"}}
    with pytest.raises(
        ConfigurationError,
        match=r"person\.unknown: alone: not with output\.after.*; expected drop",
    ):
        spec_of(run_with(LINE | alone))
    spec_of(run_with(LINE | {"attributes.person": {"column": "who", "unknown": "drop"}}))


def test_each_key_of_the_page_is_one_of_a_rule() -> None:
    shown = [rule for rule in OF_RUN if isinstance(rule, Exclusion | Need)]
    keys = {key for rule in shown for key in (*rule.keys, *rule.others)}
    assert page.EXPLAINED.keys() | page.OWN_NAMES.keys() <= keys


def test_the_page_of_limits_has_the_table() -> None:
    text = page.PAGE.read_text()
    assert page.with_tables(text) == text  # python docs/site/combinations.py
    assert page.with_tables(text.replace("`privacy.nt`", "`privacy.mt`")) == text
