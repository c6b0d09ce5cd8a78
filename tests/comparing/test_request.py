"""What is requested becomes run files that differ in method, k and t only."""

import pytest

from tclose_spark.api.arguments import number_of_rows
from tclose_spark.api.compare import comparison_folder
from tclose_spark.cli.options import parse_list, parse_number, parse_numbers
from tclose_spark.comparing.request import (
    ALL,
    AS_ASKED,
    combinations,
    requested_ks,
    requested_methods,
    requested_ts,
    table_name,
)
from tclose_spark.errors import ConfigurationError
from tclose_spark.in_memory.sample import MOST_ROWS
from tclose_spark.methods.sabre.method import Sabre
from tclose_spark.runfile.loading import spec_of
from tclose_spark.runfile.registry import DEFAULT, modules
from tclose_spark.runfile.spec import Output

TREE = {
    "name": "people",
    "input": {"path": "/data/people.csv", "format": "csv"},
    "output": {"path": "/build"},
    "attributes": {
        "quasi_identifiers": {"age": {"type": "numeric"}},
        "sensitive_attributes": {
            "disease": {"t": "0.5"},
            "grade": {"t": "measure"},
            "pay": {"t": "0.3", "distance": "ordered"},
        },
    },
    "privacy": {"k": 7, "suppression_limit": "0.1"},
    "method": {"name": "closeness_tree", "effort": "fast"},
}


def test_every_k_with_every_t_with_every_method():
    asked = combinations(
        TREE,
        [2, 5],
        ["0.1", "0.2"],
        requested_methods(["stack_and_deal", "fragmentation"], None),
    )
    assert [(c.k, c.t, c.method) for c in asked] == [
        (k, t, method)
        for k in (2, 5)
        for t in ("0.1", "0.2")
        for method in ("stack_and_deal", "fragmentation")
    ]
    for c in asked:
        sensitive = c.spec.attributes.sensitive_attributes
        assert (c.spec.privacy.k, c.spec.method.name) == (c.k, c.method)
        assert str(float(sensitive["disease"].t)) == str(float(sensitive["pay"].t)) == c.t
        assert sensitive["grade"].t is None
        same = c.spec.model_copy(update={"privacy": None, "attributes": None, "method": None})
        assert same == spec_of(TREE).model_copy(
            update={"privacy": None, "attributes": None, "method": None},
        )
    assert TREE["privacy"]["k"] == 7


def test_without_options_it_is_the_run_file_with_every_method():
    spec = spec_of(TREE)
    methods = requested_methods(ALL, TREE["method"])
    asked = combinations(TREE, requested_ks(None, spec), requested_ts(None, TREE), methods)
    assert [c.method for c in asked] == [name for name in modules() if name != "exact"], (
        "it is for small tables"
    )
    assert "exact" in requested_methods(ALL, {"name": "exact"})
    assert {(c.k, c.t) for c in asked} == {(7, AS_ASKED)}
    assert next(c.spec for c in asked if c.method == "closeness_tree") == spec


def test_a_k_that_is_to_be_chosen_is_compared_at_the_k_that_are_given():
    tree = {**TREE, "privacy": {"k": "auto", "alpha": "0.25"}}
    (asked,) = combinations(tree, [6], ["0.1"], requested_methods("stack_and_deal", None))
    assert (asked.spec.privacy.k, asked.spec.privacy.alpha) == (6, None)
    with pytest.raises(ConfigurationError, match="--k: the run file's k is auto"):
        requested_ks(None, spec_of(tree))


def test_a_method_without_settings_is_the_run_files_own_and_one_with_settings_is_not():
    typed = parse_list(
        "closeness_tree, closeness_tree:effort=balanced ,stack_and_deal",
        "--methods",
    )
    methods = requested_methods(typed, TREE["method"])
    assert list(methods) == ["closeness_tree", "closeness_tree:effort=balanced", "stack_and_deal"]
    assert [m.get("effort") for m in methods.values()] == ["fast", "balanced", None]
    assert requested_methods(DEFAULT, None) == {DEFAULT: {"name": DEFAULT}}


def test_settings_are_read_as_the_run_file_has_them():
    (name,) = methods = requested_methods("closeness_tree:effort=3", None)
    assert methods[name] == {"name": "closeness_tree", "effort": 3}
    assert table_name(methods[name]) == name


def test_settings_of_objects_and_dicts_stay_what_they_are():
    methods = requested_methods(
        [Sabre(bounds="proven"), {"name": "stack_and_deal", "class_size": "k"}],
        None,
    )
    assert list(methods.values()) == [
        {"name": "sabre", "bounds": "proven"},
        {"name": "stack_and_deal", "class_size": "k"},
    ]
    with pytest.raises(ConfigurationError, match="--methods: effort without a name"):
        requested_methods({"effort": 3}, None)


@pytest.mark.parametrize(
    "settings",
    [{"nix": 1}, {"effort": "slow"}, {"overlap": "some"}, {"effort": [1]}],
    ids=lambda one: next(iter(one)),
)
def test_settings_that_a_method_does_not_have_are_an_error_whatever_the_run_file(settings):
    with pytest.raises(
        ConfigurationError,
        match=f"--methods closeness_tree: {next(iter(settings))}",
    ):
        requested_methods(["t_mondrian", {"name": "closeness_tree", **settings}], None)


def test_what_a_method_does_not_make_is_refused_with_the_run_files_own_words():
    tree = {
        **TREE,
        "attributes": {
            **TREE["attributes"],
            "sensitive_attributes": {"disease": {"l": {"entropy": 2}}},
        },
    }
    asked = combinations(tree, [2], [AS_ASKED], requested_methods(ALL, None))
    by_method = {c.method: c for c in asked}
    assert by_method["closeness_tree"].spec is None
    assert "makes no entropy l" in by_method["closeness_tree"].refused
    assert by_method["stack_and_deal"].spec is not None


@pytest.mark.parametrize("text", ["", "1", "2,x", "2,,3", "0.5", "-2"])
def test_what_is_no_k_is_refused(text):
    with pytest.raises(ConfigurationError, match="--k"):
        requested_ks(parse_numbers(text, "--k"), spec_of(TREE))


@pytest.mark.parametrize("text", ["", "1.1", "0.1,x", "-0.1", "measure"])
def test_what_is_no_t_is_refused(text):
    with pytest.raises(ConfigurationError, match="--t"):
        requested_ts(parse_list(text, "--t"), TREE)


def test_a_t_is_as_it_was_typed_and_stands_once():
    assert requested_ts(parse_list("0.1, .2,0.10,0,1", "--t"), TREE) == ["0.1", "0.2", "0", "1"]


def test_t_needs_an_attribute_that_has_one():
    tree = {"attributes": {"sensitive_attributes": {"disease": {"t": "measure"}, "grade": None}}}
    with pytest.raises(ConfigurationError, match="--t: no sensitive attribute"):
        requested_ts("0.1", tree)
    assert requested_ts(None, tree) == [AS_ASKED]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("best", "--methods best: expected all, or some of closeness_tree"),
        (
            "closenes_tree",
            r"--methods closenes_tree: expected all, .*; did you mean 'closeness_tree'\?",
        ),
        ("closeness_tree:fast", "--methods closeness_tree:fast: expected NAME, or NAME:KEY=VALUE"),
        ("closeness_tree:name=x", "--methods closeness_tree:name=x"),
        ("closeness_tree:effort=[", "--methods closeness_tree:effort=.*is not valid YAML"),
        ("all,,all", "--methods"),
    ],
)
def test_what_is_no_method_is_refused(text, message):
    with pytest.raises(ConfigurationError, match=message):
        requested_methods(parse_list(text, "--methods") or [], None)


def test_the_sample_is_a_number_that_fits_or_all():
    assert (
        number_of_rows("all", MOST_ROWS),
        number_of_rows(parse_number("1000000"), MOST_ROWS),
    ) == (None, 1_000_000)
    for text in ("0", "-5", "1e5", "1000001", "some"):
        with pytest.raises(ConfigurationError, match="--sample"):
            number_of_rows(parse_number(text), MOST_ROWS)


def test_a_comparison_is_never_public():
    both = Output(public="/out/public", internal="/safe/internal")
    assert comparison_folder(None, Output(path="/out")) == "/out/compare"
    assert comparison_folder(None, both) == "/safe/internal/compare"
    assert comparison_folder("/elsewhere", both) == "/elsewhere"
    for path in ("/out/public", "/out/public/compare"):
        with pytest.raises(ConfigurationError, match="is public"):
            comparison_folder(path, both)
