"""Releases whose tuples of sensitive values must be close (`privacy.joint`), judged in fractions by
code of its own.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from oracle.distances import distance, shares
from oracle.people import judge_people
from oracle.third_party import certificate_of, read_table
from typer.testing import CliRunner

import tclose_spark as tc
from tclose_spark import pipeline
from tclose_spark.cli.commands import app
from tclose_spark.errors import ConfigurationError, GuaranteeError, UnreachableError
from tclose_spark.io.run import Run
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.report.certificate.sections import Certificate
from tclose_spark.report.console import certificate_lines

ROWS = 160
QUASI = {"age": {"type": "numeric"}, "sex": {}}
SENSITIVE = {"disease": {"t": "0.5"}, "pay": {"distance": "ordered", "t": "0.5"}}
MEASURED = {"disease": {"t": "measure"}, "pay": {"distance": "ordered", "t": "measure"}}
ONE_T = ({"name": "microaggregation", "algorithm": 3}, {"name": "sabre"})
"""Methods that take one t."""
METHODS: list[dict[str, Any]] = [
    {"name": "closeness_tree", "effort": "fast"},
    {"name": "closeness_tree", "effort": "fast", "overlap": "none"},
    {"name": "stack_and_deal"},
    {"name": "stack_and_deal", "deal": "layered"},
    {"name": "fragmentation"},
    {"name": "fragmentation", "sizing": "measured"},
    {"name": "t_mondrian"},
    {"name": "t_incognito"},
    {"name": "microaggregation", "algorithm": 1},
    {"name": "microaggregation", "cells": "clusters"},
    {"name": "microaggregation", "cells": "first_component"},
    *ONE_T,
]


def people(rows: int = ROWS, seed: int = 11) -> pa.Table:
    """Disease and pay depend on age, so near people are far from the table together."""
    draw = np.random.default_rng(seed)
    age = draw.integers(18, 80, rows)
    return pa.table(
        {
            "age": age,
            "sex": ["fm"[i % 2] for i in range(rows)],
            "disease": [
                str(draw.choice(["flu", "gout"], p=[0.7, 0.3] if a < 45 else [0.3, 0.7]))
                for a in age
            ],
            "pay": [int(draw.choice([1, 2], p=[0.7, 0.3] if a < 45 else [0.3, 0.7])) for a in age],
        },
    )


def joint(t: str, *attributes: str) -> dict[str, Any]:
    return {"joint": [{"attributes": list(attributes or ("disease", "pay")), "t": t}]}


def classes_of(output: Path, quasi: Sequence[str] = ("age", "sex")) -> list[list[dict[str, Any]]]:
    """The rows of each class of a release, read without the package."""
    classes: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in read_table(output / "public/release"):
        classes.setdefault(tuple(row[name] for name in quasi), []).append(row)
    return list(classes.values())


def farthest(classes: Sequence[Sequence[Mapping[str, Any]]], *attributes: str) -> Fraction:
    """The largest distance of the tuples of a class from the table's, all of them equally far
    apart.
    """
    together = [
        Counter(tuple(row[name] for name in attributes) for row in rows) for rows in classes
    ]
    whole = shares(sum(together, Counter()))
    return max(distance(shares(part), whole, "equal") for part in together)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: "-".join(str(x) for x in m.values()))
def test_every_method_makes_tuples_close(
    method: dict[str, Any],
    make_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    sensitive = MEASURED if method in ONE_T else SENSITIVE
    run = make_run(
        people(),
        quasi=QUASI,
        sensitive=sensitive,
        k=4,
        method=method,
        privacy=joint("0.25"),
    )
    entry = pipeline.release(run)["guarantees"]["joint"]["disease+pay"]
    found = farthest(classes_of(tmp_path / "out"), "disease", "pay")
    assert (entry["achieved_exact"], entry["required_exact"]) == (str(found), "1/4")
    assert (entry["attributes"], entry["distance"]) == (["disease", "pay"], "equal")
    assert found <= Fraction(1, 4)


def test_pages_and_console_have_the_requirement(
    make_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    certificate = pipeline.release(
        make_run(people(), quasi=QUASI, sensitive=SENSITIVE, k=4, privacy=joint("0.25")),
    )
    reached = f"{certificate['guarantees']['joint']['disease+pay']['achieved']:.6f}"
    lines = certificate_lines(Certificate.read(certificate), "public", "internal")
    assert any("joint t of disease+pay (equal)" in line and reached in line for line in lines)
    page = (tmp_path / "out/public/report.html").read_text()
    assert "Joint t-closeness of <code>disease+pay</code>" in page
    assert "Distances of disease+pay" in page
    contract = (tmp_path / "out/public/contract.yaml").read_text()
    assert "Joint t-closeness of disease+pay" in contract


def test_the_exact_method_makes_tuples_close(make_run: Callable[..., Run], tmp_path: Path) -> None:
    method = {"name": "exact"}
    run = make_run(
        people(14),
        quasi=QUASI,
        sensitive=SENSITIVE,
        k=2,
        method=method,
        privacy=joint("0.5"),
    )
    pipeline.release(run)
    assert farthest(classes_of(tmp_path / "out"), "disease", "pay") <= Fraction(1, 2)


@pytest.mark.parametrize("method", [METHODS[0], METHODS[6]], ids=["tree", "t_mondrian"])
def test_without_the_requirement_tuples_are_farther(
    method: dict[str, Any],
    make_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    pipeline.release(make_run(people(), quasi=QUASI, sensitive=SENSITIVE, k=4, method=method))
    assert farthest(classes_of(tmp_path / "out"), "disease", "pay") > Fraction(1, 4)


def test_a_joint_t_limits_each_of_its_attributes(
    make_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    run = make_run(people(), quasi=QUASI, sensitive=MEASURED, k=4, privacy=joint("0.25"))
    certificate = pipeline.release(run)
    assert certificate["unprotected"] == {}
    assert all(t["achieved"] <= 0.25 for t in certificate["guarantees"]["t"].values())


def test_classes_that_break_it_are_not_published(
    make_run: Callable[..., Run],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(ResolvedAttributes, "for_methods", lambda attributes, joint: attributes)
    run = make_run(
        people(),
        quasi=QUASI,
        sensitive=SENSITIVE,
        k=4,
        method=METHODS[6],
        privacy=joint("0.25"),
    )
    with pytest.raises(GuaranteeError, match=r"disease\+pay"):
        pipeline.release(run)
    assert not (tmp_path / "out/public/release").exists()


def test_the_certificate_has_how_the_distance_grows(
    make_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    sensitive = {**SENSITIVE, "smoker": {"t": "measure"}}
    table = people().append_column(
        "smoker",
        pa.array(["yes" if i % 5 == 0 else "no" for i in range(ROWS)]),
    )
    information = pipeline.release(make_run(table, quasi=QUASI, sensitive=sensitive, k=4))[
        "information"
    ]
    classes, names = classes_of(tmp_path / "out"), list(sensitive)
    rows = [row for members in classes for row in members]
    growth = information["tuples"]["growth"]
    assert [one["attributes"] for one in growth] == [names[:1], names[:2], names]
    found = [farthest(classes, *names[:several]) for several in (1, 2, 3)]
    assert [Fraction(one["achieved_exact"]) for one in growth] == found == sorted(found)
    for one in growth:
        counts = Counter(tuple(row[name] for name in one["attributes"]) for row in rows)
        assert (
            Fraction(one["least"])
            == least(list(counts.values()), one["size"])
            <= Fraction(one["achieved_exact"])
        )
    for one in information["alone"]:
        pair = one["attributes"]
        assert one["table"] == alone([rows], *pair)
        assert one["class"] == alone(classes, *pair) > 0
    assert [one["attributes"] for one in information["alone"]] == [
        list(pair) for pair in combinations(names, 2)
    ]
    page = (tmp_path / "out/public/report.html").read_text()
    assert "Distance by number of sensitive attributes" in page


def least(counts: list[int], size: int) -> Fraction:
    """The least distance of a class: one row more at a time, always of the value that the class
    lacks most.
    """
    n, part = sum(counts), [0] * len(counts)
    for _ in range(size):
        gains = [
            min(Fraction(c + 1, size), Fraction(w, n)) - min(Fraction(c, size), Fraction(w, n))
            for c, w in zip(part, counts, strict=True)
        ]
        part[gains.index(max(gains))] += 1
    return (
        sum(
            (abs(Fraction(c, size) - Fraction(w, n)) for c, w in zip(part, counts, strict=True)),
            Fraction(0),
        )
        / 2
    )


def alone(groups: Sequence[Sequence[Mapping[str, Any]]], *pair: str) -> int:
    return sum(
        n == 1
        for rows in groups
        for n in Counter(tuple(row[name] for name in pair) for row in rows).values()
    )


def test_one_attribute_has_no_tuples(make_run: Callable[..., Run]) -> None:
    certificate = pipeline.release(
        make_run(
            people().drop_columns("disease"),
            quasi=QUASI,
            sensitive={"pay": SENSITIVE["pay"]},
        ),
    )
    assert list(certificate["information"]) == ["attributes"]


def test_tuples_of_all_different_people_need_most_of_the_table_in_a_class(
    make_run: Callable[..., Run],
) -> None:
    table = people(40).set_column(3, "pay", pa.array(range(40)))
    run = make_run(table, quasi=QUASI, sensitive=SENSITIVE, privacy=joint("0.3"))
    pipeline.profile(run)
    with pytest.raises(
        UnreachableError,
        match=r"40 different tuples a class needs 28 of the 40 rows.*0\.5000",
    ):
        pipeline.plan(run)


def test_the_t_that_two_classes_need_is_enough(make_run: Callable[..., Run]) -> None:
    table = people(21).set_column(3, "pay", pa.array(range(21)))
    with pytest.raises(UnreachableError, match=r"a t of at least 0\.5239,"):
        pipeline.release(make_run(table, quasi=QUASI, sensitive=SENSITIVE, privacy=joint("0.3")))
    pipeline.release(
        make_run(
            table,
            quasi=QUASI,
            sensitive=SENSITIVE,
            privacy=joint("0.5239"),
            output={"path": "more"},
        ),
    )


def test_two_tuples_of_one_name_are_refused(make_run: Callable[..., Run]) -> None:
    sensitive = {name: {"t": "measure"} for name in ("a", "b+c", "a+b", "c")}
    both = [{"attributes": ["a", "b+c"], "t": "0.9"}, {"attributes": ["a+b", "c"], "t": "0.9"}]
    with pytest.raises(ConfigurationError, match=r"two tuples 'a\+b\+c'; rename"):
        make_run(people(), quasi=QUASI, sensitive=sensitive, privacy={"k": 2, "joint": both})


def test_a_class_of_all_different_people_is_one_minus_its_share_from_the_table(
    make_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    table = people(40).set_column(3, "pay", pa.array(range(40)))
    certificate = pipeline.release(
        make_run(table, quasi=QUASI, sensitive=SENSITIVE, privacy=joint("0.75")),
    )
    classes, entry = classes_of(tmp_path / "out"), certificate["guarantees"]["joint"]["disease+pay"]
    assert entry["achieved_exact"] == str(1 - Fraction(min(map(len, classes)), 40))
    advice = (
        "t of disease+pay needs at least 10 rows in each class, because its 40 tuples are equally "
        "far apart; fewer"
    )
    assert any(advice in warning for warning in certificate["warnings"])
    assert min(map(len, classes)) == 10


def test_suppressed_rows_leave_the_released_ones_close(
    make_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    """Forty people of each decade with all pairs of values, and eight old ones with one pair, who
    are left out.
    """
    pairs = [(disease, pay) for disease in ("flu", "gout") for pay in (1, 2)]
    rows = [(20 + 10 * (i // 40), "fm"[i % 2], *pairs[i // 2 % 4]) for i in range(160)] + [
        (75, "f", "flu", 1),
    ] * 8
    table = pa.table(
        {name: [row[i] for row in rows] for i, name in enumerate(("age", "sex", "disease", "pay"))},
    )
    quasi = {"age": {"hierarchy": {"intervals": [10, 20, 40]}, "type": "numeric"}, "sex": {}}
    privacy = {**joint("0.2"), "suppression_limit": "0.1", "of": "released"}
    run = make_run(
        table,
        quasi=quasi,
        sensitive=SENSITIVE,
        k=4,
        method={"name": "t_incognito"},
        privacy=privacy,
    )
    certificate = pipeline.release(run)
    found = farthest(classes_of(tmp_path / "out"), "disease", "pay")
    assert certificate["suppressed"]["rows"] == 8
    assert certificate["guarantees"]["joint"]["disease+pay"]["achieved_exact"] == str(found) == "0"


@pytest.mark.parametrize("rows", ["together", "apart"])
def test_tuples_are_close_over_people_too(
    rows: str,
    make_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    table = people().append_column("who", pa.array([f"p{i % 90}" for i in range(ROWS)]))
    table = table.append_column("record", pa.array(range(ROWS)))
    run = make_run(
        table,
        quasi=QUASI,
        sensitive=SENSITIVE,
        k=4,
        method={"name": "closeness_tree", "effort": "fast"},
        privacy=joint("0.3"),
        person={"column": "who", "rows": rows},
        insensitive_attributes=["record"],
        allow_unique=["record"],
    )
    entry = pipeline.release(run)["guarantees"]["joint"]["disease+pay"]
    released = [
        {**row, "both": (row["disease"], row["pay"])}
        for row in read_table(tmp_path / "out/public/release")
    ]
    found = judge_people(
        released,
        {i: f"p{i % 90}" for i in range(ROWS)},
        "record",
        ["age", "sex"],
        {"both": "equal"},
    )
    assert entry["over_people"]["achieved"] == pytest.approx(float(found.emd["both"]), abs=1e-9)
    assert found.emd["both"] <= Fraction(3, 10)
    assert entry["over_people"]["holds"]
    assert farthest(classes_of(tmp_path / "out"), "disease", "pay") <= Fraction(3, 10)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "unknown": ({"privacy": joint("0.3", "disease", "age")}, "privacy.joint names 'age'"),
    "one": ({"privacy": joint("0.3", "pay")}, "attributes"),
    "twice": ({"privacy": joint("0.3", "pay", "pay")}, r"found .pay, pay.; expected each once"),
    "again": (
        {"privacy": {"joint": [*joint("0.3")["joint"], *joint("0.2", "pay", "disease")["joint"]]}},
        "one t for",
    ),
    "nt": ({"privacy": {**joint("0.3"), "nt": {"n": 50}}}, "privacy.nt"),
    "suppressed": (
        {"privacy": {**joint("0.3"), "suppression_limit": "0.1"}},
        "privacy.of: released",
    ),
    "paper": (
        {"privacy": joint("0.3"), "method": {"name": "fragmentation", "bounds": "paper"}},
        "ordered distances",
    ),
    "sabre": ({"privacy": joint("0.3"), "method": {"name": "sabre"}}, "sabre"),
    "algorithm 3": (
        {"privacy": joint("0.3"), "method": {"name": "microaggregation"}},
        "algorithm: 3 works for one",
    ),
    "line": (
        {
            "privacy": {**joint("0.3"), "of": "released"},
            "output": {"after": "out"},
            "person": {"column": "who", "rows": "together"},
            "method": {"name": "closeness_tree"},
        },
        "output.after",
    ),
}


@pytest.mark.parametrize(("settings", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_is_refused(
    settings: dict[str, Any],
    message: str,
    make_run: Callable[..., Run],
) -> None:
    sensitive = {
        "disease": {"distance": "ordered", "order": "frequency", "t": "0.5"},
        "pay": SENSITIVE["pay"],
    }
    with pytest.raises(ConfigurationError, match=message):
        make_run(people(), quasi=QUASI, sensitive=sensitive, **settings)


@pytest.fixture(scope="module")
def bands(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose classes are bands of age, as CSV."""
    from pyarrow import csv

    table = people()
    band = pa.array([str(a // 20) for a in table["age"].to_pylist()])
    path = tmp_path_factory.mktemp("bands") / "bands.csv"
    csv.write_csv(table.set_column(0, "age", band), path)
    return path


def banded() -> Fraction:
    classes: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in people().to_pylist():
        classes.setdefault((row["age"] // 20, row["sex"]), []).append(row)
    return farthest(list(classes.values()), "disease", "pay")


def test_an_audit_judges_tuples_of_any_table(bands: Path) -> None:
    found = tc.audit(
        bands,
        ["age", "sex"],
        ["disease", "pay"],
        joint=["disease,pay:0.2"],
        attacks=False,
    )
    (guarantee,) = [g for g in found.guarantees if g.attribute == "disease+pay"]
    assert (guarantee.measure, guarantee.achieved, guarantee.required) == (
        "t-closeness",
        banded(),
        Fraction(1, 5),
    )
    assert not found.holds
    (listed,) = [g for g in found.to_json()["guarantees"] if g["attribute"] == "disease+pay"]
    assert (listed["distance"], listed["achieved_exact"], listed["holds"]) == (
        "equal",
        str(banded()),
        False,
    )
    assert "disease+pay" in found.suite


@pytest.mark.parametrize(("t", "code"), [("0.2", 1), ("0.9", 0), ("measure", 0)])
def test_the_command_line_judges_them(t: str, code: int, bands: Path) -> None:
    options = [
        "-q",
        "age,sex",
        "-s",
        "disease",
        "-s",
        "pay",
        "--joint",
        f"disease,pay:{t}",
        "--json",
    ]
    result = CliRunner().invoke(app, ["audit", str(bands), *options])
    assert result.exit_code == code, result.output
    (listed,) = [
        g for g in json.loads(result.stdout)["guarantees"] if g["attribute"] == "disease+pay"
    ]
    assert listed["achieved_exact"] == str(banded())


def test_an_audit_by_a_run_file_judges_its_tuples(
    make_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    run = make_run(people(), quasi=QUASI, sensitive=SENSITIVE, k=4, privacy=joint("0.25"))
    pipeline.release(run)
    found = tc.audit(tmp_path / "out/public/release", spec=tmp_path / "run.yaml", attacks=False)
    entry = certificate_of(tmp_path / "out")["guarantees"]["joint"]["disease+pay"]
    (guarantee,) = [g for g in found.guarantees if g.attribute == "disease+pay"]
    assert (str(guarantee.achieved), found.holds) == (entry["achieved_exact"], True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"joint": ["pay:0.3"]}, "joint pay:0.3: expected sensitive attributes and their t"),
        ({"joint": ["disease,age:0.3"]}, "joint names 'age'"),
        ({"joint": ["disease,pay:2"]}, "joint.0.t: found '2'; expected a number from 0 to 1"),
        (
            {"joint": ["disease,pay:0"]},
            "joint.0.t: found '0'; expected a number above 0 and at most 1",
        ),
        ({"joint": ["disease,pay:0.3"], "n": 50, "t": "0.5"}, "leave out one"),
        ({"joint": ["disease,pay:0.3"], "reference": people()}, "joint and reference"),
        ({"joint": ["disease,pay:0.3"], "earlier": people()}, "joint and earlier"),
    ],
    ids=["one", "no-sensitive", "t", "zero", "n", "reference", "earlier"],
)
def test_an_audit_says_what_it_cannot_judge(
    options: dict[str, Any],
    message: str,
    bands: Path,
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        tc.audit(bands, ["age", "sex"], ["disease", "pay"], attacks=False, **options)


def test_a_finished_release_is_judged_again(make_run: Callable[..., Run]) -> None:
    run = make_run(people(), quasi=QUASI, sensitive=SENSITIVE, k=4, privacy=joint("0.25"))
    pipeline.release(run)
    from tclose_spark.stages.verify import verify_finished

    assert verify_finished(run).holds


def test_methods_are_compared_with_tuples_close(
    make_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    make_run(people(), quasi=QUASI, sensitive=SENSITIVE, k=4, privacy=joint("0.25"))
    compared = tc.compare(
        None,
        tmp_path / "run.yaml",
        methods=["stack_and_deal", "t_mondrian"],
        log=None,
    )
    for outcome in compared.outcomes:
        assert outcome.state == "released"
        assert Fraction(outcome.figures["emd"]["disease+pay"]) <= Fraction(1, 4)
