"""What a method tells by its choices, measured while a release is written: much where it chooses by
sensitive value, else nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from people import read
from strategies import CITIES

from tclose_spark import pipeline
from tclose_spark.io.run import Run
from tclose_spark.io.run_state import MechanismRecord
from tclose_spark.io.storage.folders import Folder
from tclose_spark.measures.disclosure.refused_cuts import disclosed_by_refusal, rows_below_cuts
from tclose_spark.measures.distances.ground_distances import EqualDistance
from tclose_spark.options.observers import minimality
from tclose_spark.options.observers.minimality import Groups, MinimalityCounter, Scale, merge_counts
from tclose_spark.stages.mechanism import record_mechanism
from tclose_spark.table.domains import Profile, QuasiDomain, SensitiveDomain
from tclose_spark.table.labels import MISSING, encode_numbers

MakeRun = Callable[..., Run]


def skewed(rows: int = 1500) -> pa.Table:
    """Ten zips; in A most have flu, elsewhere few."""
    draw = np.random.default_rng(1)
    zips = draw.integers(10, size=rows)
    flu = draw.random(rows) < np.where(zips == 0, 0.6, 0.15)
    others = np.array(["gout", "ulcer", "cold", "asthma"])[draw.integers(4, size=rows)]
    return pa.table(
        {
            "zip": [f"zip {chr(65 + z)}" for z in zips],
            "disease": np.where(flu, "flu", others).tolist(),
        },
    )


def released_rows(folder: Folder) -> Any:
    return read(Path(folder.path()) / "release")


def written(run: Run) -> dict[str, Any]:
    """The figure of a run."""
    pipeline.profile(run)
    pipeline.plan(run)
    pipeline.anonymize(run)
    return json.loads(run.staging.read("minimality.json"))


@pytest.mark.parametrize(
    "method",
    [{"name": "closeness_tree", "effort": "fast"}, {"name": "stack_and_deal", "deal": "local"}],
    ids=str,
)
def test_who_is_left_in_wide_classes_is_what_was_too_much(
    make_run: MakeRun,
    method: dict[str, Any],
):
    run = make_run(
        skewed(),
        quasi={"zip": {}},
        sensitive={"disease": {"t": "0.1"}},
        k=5,
        method=method,
    )
    found = written(run)
    worst = found["worst"]
    assert (worst["quasi_identifier"], worst["value"]) == ("zip", "zip A")
    assert (worst["sensitive_attribute"], worst["sensitive_value"]) == ("disease", "flu")
    assert worst["true"] > 0.7
    assert worst["said"] < 0.35
    assert worst["narrow"] < 0.35 < worst["whole"] < worst["true"]
    said: list[str] = []
    run.announce = said.append
    found = record_mechanism(run)
    assert isinstance(found, MechanismRecord)
    told = found.to_json()
    assert told["worst"]["true"] == worst["true"]
    for text in (*said, json.dumps(told)):  # figures and names of columns, no values
        assert "zip A" not in text
        assert "flu" not in text
    assert "left in wide classes" in said[0]


def test_round_robin_chooses_nobody(make_run: MakeRun):
    method = {"name": "stack_and_deal", "deal": "round_robin"}
    found = written(
        make_run(
            skewed(600),
            quasi={"zip": {}},
            sensitive={"disease": {"t": "0.1"}},
            k=5,
            method=method,
        ),
    )
    assert (found["measured"], found["worst"], found["beyond_chance"]) == (True, None, [])


def test_suppressed_rows_are_the_widest_class(make_run: MakeRun):
    """3,000 people, flu .6 in zip A and .15 elsewhere: those of A who are too many with flu are
    left out.
    """
    run = make_run(
        skewed(3000),
        quasi={"zip": {"coarsest": 0}},
        sensitive={"disease": {"t": "0.1"}},
        k=5,
        method={"name": "closeness_tree", "effort": "fast"},
        privacy={"suppression_limit": "0.3", "of": "input"},
    )
    certificate = pipeline.release(run)
    worst = json.loads(run.internal.read("minimality.json"))["worst"]
    assert (worst["value"], worst["sensitive_value"]) == ("zip A", "flu")
    assert worst["suppressed"] == worst["wide"] > 100
    assert worst["true"] > 0.9
    assert worst["said"] < 0.4
    (warning,) = [
        text for text in certificate["warnings"] if "an adversary who knows the method" in text
    ]
    assert warning.startswith("disease: ")
    assert warning.endswith("rows of some zip that are suppressed or in wide classes")
    assert warning in run.public.read("report.html").replace("&#39;", "'")
    assert pipeline.verify(run).holds


def test_whom_full_domain_recoding_suppresses_is_counted(make_run: MakeRun):
    run = make_run(
        skewed(3000),
        quasi={"zip": {}},
        sensitive={"disease": {"t": "0.2"}},
        k=5,
        method={"name": "t_incognito"},
        privacy={"suppression_limit": "0.15", "of": "released"},
    )
    found = written(run)
    assert found["measured"] is True
    assert found["worst"] is None  # all of zip A are left out, and nobody of another


QUASI: dict[str, Any] = {
    "age": {"type": "numeric"},
    "zone": {"type": "numeric"},
    "edu": {"type": "numeric"},
}


def refusing(rows: int = 6000) -> pa.Table:
    """One in eleven has flu, so a side without flu is close enough to the table."""
    draw = np.random.default_rng(7)
    age, zone, edu = (
        draw.integers(20, 80, size=rows),
        draw.integers(8, size=rows),
        draw.integers(16, size=rows),
    )
    flu = draw.random(rows) < 0.09
    return pa.table(
        {"age": age, "zone": zone, "edu": edu, "disease": np.where(flu, "flu", "none").tolist()},
    )


@pytest.mark.parametrize(
    "method",
    [{"name": "t_mondrian"}, {"name": "closeness_tree", "overlap": "none"}],
    ids=str,
)
def test_what_refused_cuts_reveal_is_measured(make_run: MakeRun, method: dict[str, Any]):
    run = make_run(refusing(), quasi=QUASI, sensitive={"disease": {"t": "0.1"}}, k=5, method=method)
    certificate = pipeline.release(run)
    found = json.loads(run.internal.read("minimality.json"))
    cuts = found["refused_cuts"]
    assert (found["measured"], found["worst"]) == (True, None)
    assert cuts["classes"] == certificate["release"]["classes"]
    assert cuts["classes"] >= cuts["large_enough"] == cuts["looked_at"] >= cuts["tell"]
    assert {line["sensitive_value"] for line in cuts["values"]} <= {"flu", "none"}
    assert all(0 < line["at_least"] <= line["rows"] for line in cuts["values"])
    warned = [text for text in certificate["warnings"] if "did not cut the class further" in text]
    assert len(warned) == (cuts["tell"] > 0)
    assert cuts["tell"] > 0 or method["name"] != "t_mondrian"


def test_what_refused_cuts_reveal_is_true(make_run: MakeRun):
    table = refusing().to_pandas()
    run = make_run(
        refusing(),
        quasi=QUASI,
        sensitive={"disease": {"t": "0.1"}},
        k=5,
        method={"name": "t_mondrian"},
    )
    written(run)
    counts = [int((table["disease"] == value).sum()) for value in ("flu", "none")]
    distance, revealed = [(EqualDistance(np.array(counts)), Fraction(1, 10))], 0
    for labels, rows in released_rows(run.staging).groupby(list(QUASI)):
        people = table
        for column, label in zip(QUASI, labels, strict=True):
            low, *high = map(int, label.strip("[]").split(", "))
            people = people[people[column].between(low, (high or [low])[0])]
        assert len(people) == len(rows)
        counts = [np.array([(people["disease"] == value).sum() for value in ("flu", "none")])]
        for column in QUASI:
            codes = people[column].to_numpy()
            for below in rows_below_cuts(codes, 5, 16, True):
                side = (
                    (below, people[codes < np.sort(codes)[below]]),
                    (
                        len(codes) - below,
                        people[codes >= np.sort(codes)[below]],
                    ),
                )
                for one in disclosed_by_refusal(counts, below, distance, 0) or []:
                    diseases = [part["disease"] for size, part in side if size == one.rows]
                    assert any(
                        (values == ("flu", "none")[one.value]).sum() >= one.at_least
                        for values in diseases
                    )
                    revealed += 1
    assert revealed > 0


@pytest.mark.parametrize(
    "more",
    [
        {"privacy": {"nt": {"n": 100}}},
        {"sensitive": {"disease": {"t": "0.1", "l": {"distinct": 2}}}},
    ],
    ids=str,
)
def test_where_cuts_are_refused_for_other_reasons_nothing_is_said(
    make_run: MakeRun,
    more: dict[str, Any],
):
    given = {
        "sensitive": {"disease": {"t": "0.1"}},
        "k": 5,
        "method": {"name": "t_mondrian"},
        **more,
    }
    found = written(make_run(refusing(1000), quasi=QUASI, **given))
    assert "refused_cuts" not in found


# --- the values that are told apart, pure


def test_numbers_are_halved():
    scale = Scale.of(
        QuasiDomain(name="age", kind="integer", missing=0, low=17, high=90),
        None,
        10_000,
    )
    assert scale is not None
    codes = np.array([MISSING, 17, 18, 19, 90, 89])
    assert scale.values(codes).tolist() == [0, 1, 1, 2, 37, 37]  # in ranges of two years
    assert [scale.names[0][value] for value in (0, 1, 37)] == ["missing", "17 to 18", "89 to 90"]
    assert scale.names[-1] == ("missing", "17 to 144")
    assert [node.max() for node in scale.nodes] == [64, 32, 16, 8, 4, 2, 1]


def test_doubles_are_halved_too():
    scale = Scale.of(
        QuasiDomain(name="pay", kind="double", missing=0, low=-1.0, high=1.0),
        None,
        20,
    )
    assert scale is not None
    assert scale.names[0] == ("missing", "-1 to -0.5", "-0.5 to 0", "0 to 0.5", "0.5 to 1")
    assert scale.values(encode_numbers(np.array([np.nan, -1, -0.5, -0.0, 0.75, 1]))).tolist() == [
        0,
        1,
        2,
        3,
        4,
        4,
    ]


def test_a_hierarchy_is_cut_below_where_its_leaves_are_too_many():
    domain = QuasiDomain(name="city", kind="category", missing=0, values=CITIES.leaves)
    codes = np.array([MISSING, *range(len(CITIES.leaves))])
    fine, coarse = (Scale.of(domain, CITIES, most) for most in (1000, 16))
    assert fine is not None
    assert coarse is not None
    assert [fine.names[0][value] for value in fine.values(codes)] == ["missing", *CITIES.leaves]
    assert [coarse.names[0][value] for value in coarse.values(codes)] == [
        "missing",
        *(path[1] for path in CITIES.paths),
    ]
    assert len(fine.nodes) == CITIES.height
    assert Scale.of(domain, CITIES, 1) is None
    assert (
        Scale.of(
            QuasiDomain(name="zip", kind="category", missing=0, values=tuple(map(str, range(99)))),
            None,
            100,
        )
        is None
    )


def profile_of(counts: tuple[int, ...]) -> Profile:
    """A table with one sensitive attribute of values 0, 1, .. with these counts."""
    domain = SensitiveDomain("pay", tuple(str(i) for i in range(len(counts))), counts)
    return Profile(
        rows=sum(counts),
        quasi=(),
        sensitive=(domain,),
        cells=tuple((i,) for i in range(len(counts))),
        cell_counts=counts,
        distinct_rows=1,
        fingerprint="",
        version=None,
        repeated=(),
    )


def test_many_sensitive_values_are_grouped(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(minimality, "MOST_SENSITIVE", 3)
    (domain,), codes = profile_of((1, 9, 1, 5, 2, 1)).sensitive, np.arange(6)
    ordered, other = Groups.of(domain, codes, True), Groups.of(domain, codes, False)
    assert np.all(np.diff(ordered.group_of) >= 0)
    assert ordered.names[0].startswith("0 to ")
    assert other.names == ("1", "3", "any other")
    assert other.group_of.tolist() == [2, 0, 2, 1, 2, 2]
    assert Groups.of(profile_of((1, 2)).sensitive[0], np.arange(2), True).names == ("0", "1")


def test_what_tasks_send_is_added_up():
    one = {(0, 0): np.array([[1, 4], [2, 3], [10, 20]])}
    two = {(0, 0): np.array([[0, 4], [1, 1], [5, 6]]), (1, 0): np.array([[7], [1], [0]])}
    result = merge_counts(merge_counts({}, one), two)
    assert result[0, 0].tolist() == [[0, 1, 4], [1, 2, 4], [5, 10, 26]]
    assert result[1, 0].tolist() == [[7], [1], [0]]


def test_a_session_without_a_context_says_that_it_cannot_count():
    counter = MinimalityCounter(SimpleNamespace(), (), ())  # type: ignore[arg-type]
    counter.add(None, [])  # type: ignore[arg-type]
    assert counter.figure(profile_of((1,)), 5, True)["measured"] is False


def test_a_count_that_lacks_rows_is_not_reported(spark: Any):
    counter = MinimalityCounter(
        spark,
        (Scale.of(QuasiDomain(name="age", kind="integer", missing=0, low=1, high=2), None, 99),),
        (Groups(np.zeros(1), ("a",)),),
    )
    counter._sum.add({(0, 0): np.array([[0], [3], [0]])})
    assert "retry" in counter.figure(profile_of((4,)), 1, 4)["why"]
