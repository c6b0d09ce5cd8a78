"""What no release can lose less than, beside what methods lose."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from strategies import make_problem, town

import tclose_spark as tc
from tclose_spark.comparing import run_comparison
from tclose_spark.comparing.request import Combination
from tclose_spark.comparing.result import ComparisonResult, LossBound, Outcome, bounded, find_bound
from tclose_spark.comparing.run_comparison import find_bounds
from tclose_spark.comparing.store import ComparisonStore
from tclose_spark.comparing.trial import run_trial
from tclose_spark.comparing.views import comparison_table, render_page
from tclose_spark.in_memory.sample import ComparedTable
from tclose_spark.io.storage.folders import LocalFolder
from tclose_spark.usefulness.utility_measures import UtilityMeasures


def combination(method: str, t: str, **privacy: Any) -> tuple[Combination, ComparedTable, Any]:
    problem, rows = make_problem(town(300), {"disease": {"t": t}}, k=5)
    settings = {**problem.spec.model_dump(), "method": {"name": method}}
    settings["privacy"] = {**settings["privacy"], **privacy}
    spec = type(problem.spec).model_validate(settings)
    table = ComparedTable(profile=problem.profile, rows=rows, whole=len(rows))
    return Combination(method=method, k=5, t=t, spec=spec), table, problem.hierarchies


@pytest.mark.parametrize("t", ["0.05", "0.1", "0.2"])
def test_no_method_loses_less(t: str) -> None:
    one, table, hierarchies = combination("closeness_tree", t)
    assert one.spec is not None
    bound = find_bound(one, one.spec, table, hierarchies)
    outcome = run_trial(one, table, hierarchies, UtilityMeasures(), plan_only=False)
    assert outcome.loss is not None
    assert 0.02 < bound.ncp < outcome.loss


def test_only_those_who_want_a_bound_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    people = pa.Table.from_pylist(town(300))
    spec = {
        "attributes": {
            "quasi_identifiers": {"age": {}, "sex": {}},
            "sensitive_attributes": {"disease": {"t": 0.3}},
            "drop_others": True,
        },
        "privacy": {"k": 5},
    }
    found = tc.compare(people, spec, methods="stack_and_deal", bound=True, log=None, engine="local")
    assert [(one.k, one.t) for one in found.bounds] == [(5, "as asked")]
    monkeypatch.setattr(run_comparison, "find_bound", None)
    without = tc.compare(people, spec, methods="stack_and_deal", log=None, engine="local")
    assert without.bounds == ()
    planned = tc.compare(
        people,
        spec,
        methods="stack_and_deal",
        bound=True,
        plan_only=True,
        log=None,
        engine="local",
    )
    assert planned.bounds == ()


def test_a_k_and_t_has_one_bound_whatever_the_methods() -> None:
    tree, dealt = combination("closeness_tree", "0.1")[0], combination("stack_and_deal", "0.1")[0]
    other, refused = combination("stack_and_deal", "0.2")[0], replace(tree, t="0.3", spec=None)
    assert bounded([refused, tree, dealt, other]) == [tree, other]
    shifting = combination("closeness_tree", "0.1", suppression_limit="0.1", of="released")[0]
    assert bounded([shifting]) == []
    assert bounded([combination("closeness_tree", "0.1", suppression_limit="0.1")[0]]) != []


def test_a_bound_is_found_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ComparisonStore(LocalFolder(str(tmp_path)), "key")
    store.folder.create(private=True)
    one, table, hierarchies = combination("closeness_tree", "0.2")
    said: list[str] = []
    (first,) = find_bounds([one], store, lambda: table, hierarchies, said.append)
    assert said == [f"compare    {first}"]
    monkeypatch.setattr(run_comparison, "find_bound", None)
    assert find_bounds([one], store, lambda: table, hierarchies, said.append) == [first]
    monkeypatch.undo()
    stricter = combination("closeness_tree", "0.1")[0]
    (second,) = find_bounds([stricter], store, lambda: table, hierarchies, said.append)
    assert second.ncp > first.ncp


def test_it_is_shown_rounded_down_in_table_page_and_json() -> None:
    figures = {"ncp": 0.5, "classes": 2, "average": 4.0}
    made = Outcome(method="tree", k=5, t="0.1", state="released", figures=figures)
    bounds = (LossBound(k=5, t="0.1", ncp=0.12349), LossBound(k=5, t="0.2", ncp=0.0))
    comparison = ComparisonResult(name="x", rows=8, whole=8, outcomes=(made,), bounds=bounds)
    line = "k = 5, t = 0.1: no release of these rows can lose less than NCP 0.1234."
    assert [note for note in comparison_table(comparison)[1] if "no release" in note] == [line]
    assert line in render_page(comparison)[0]
    assert json.loads(json.dumps(comparison.to_json()))["bounds"][0] == {
        "k": 5,
        "t": "0.1",
        "ncp": 0.12349,
    }
