"""The options of an audit are declared once: the command and the call from Python have the same,
with one default.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import typer

import tclose_spark as tc
from tclose_spark.auditing.options import DEFAULTS, AuditOptions, ExplainOptions, options_of
from tclose_spark.auditing.question import question_from_columns
from tclose_spark.cli import app
from tclose_spark.measures.disclosure.special_uniques import MOST_COMBINATIONS
from tclose_spark.measures.supersets.box_search import MOST_BOXES

VERBS = [("audit", tc.audit, AuditOptions), ("explain", tc.explain, ExplainOptions)]


@pytest.mark.parametrize(
    ("name", "verb", "declared"),
    VERBS,
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_the_command_and_the_call_have_the_same_options(
    name: str,
    verb: Callable[..., Any],
    declared: type[Any],
) -> None:
    group: Any = typer.main.get_command(app)
    typed = {one.name: one for one in group.commands[name].params}
    taken = dict(inspect.signature(verb).parameters)
    assert next(iter(taken)) == "table"
    assert set(taken) - {"table"} == set(options_of(declared)) <= set(typed)
    for option, own in options_of(declared).items():
        assert taken[option].default == own.default, option
        assert typed[option].default == (None if own.many else own.default), option
        assert set(own.flags) <= {*typed[option].opts, *typed[option].secondary_opts}, option
        assert f"\n{option}: " in str(inspect.getdoc(verb)), option
    assert "--" not in str(inspect.getdoc(verb))


def test_what_may_be_given_without_its_name() -> None:
    placed = [
        [
            name
            for name, one in inspect.signature(verb).parameters.items()
            if one.kind is one.POSITIONAL_OR_KEYWORD
        ]
        for verb in (tc.audit, tc.explain)
    ]
    roles = ["table", "quasi_identifiers", "sensitive"]
    assert placed == [[*roles, "k", "t"], [*roles, "t"]]


def test_defaults_are_those_of_the_question_and_of_the_searches() -> None:
    question = question_from_columns(["age"])
    asked = {"gain": question.gain, "attacks": question.attacks}
    assert asked == {
        "gain": tc.SensitiveAttribute(t=DEFAULTS["gain"]).t,
        "attacks": DEFAULTS["attacks"],
    }
    assert (question.supersets, question.combinations) == (MOST_BOXES, MOST_COMBINATIONS)
