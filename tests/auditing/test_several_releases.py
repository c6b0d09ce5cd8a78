"""Audits of several releases of the same people, who are known in each of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from html_page import Page
from people import read
from pyspark.sql import SparkSession
from town import ROLES, Shown, cells, months
from town import rows as rows_of

from tclose_spark import pipeline
from tclose_spark.api.audit import Audit, audit
from tclose_spark.auditing.audit import audit_table
from tclose_spark.auditing.question import question_from_columns
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.auditing.views import audit_page
from tclose_spark.checks.classes.cells import CellFigures
from tclose_spark.engine.tables import of_arrow
from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.run import Run

QUASI = ["age", "sex"]
COLUMNS = ("id", "age", "sex", "disease")
OLD = [
    ("Ada", "[20, 29]", "f", "flu"),
    ("Bea", "[20, 29]", "f", "gout"),
    ("Cid", "[30, 39]", "m", "flu"),
    ("Dov", "[30, 39]", "m", "gout"),
]
NEW = [
    ("Ada", "[20, 25]", "*", "flu"),
    ("Cid", "[20, 25]", "*", "gout"),
    ("Bea", "[26, 39]", "*", "flu"),
    ("Eva", "[26, 39]", "*", "gout"),
]
ASKED: Mapping[str, Any] = {"k": 2, "person": "id", "engine": "local"}


def table(rows: list[tuple[Any, ...]], names: tuple[str, ...] = COLUMNS) -> pa.Table:
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def together(*tables: pa.Table, **asked: Any) -> Audit:
    *earlier, latest = tables
    given = {
        "quasi_identifiers": QUASI,
        "sensitive": {"disease": {"t": "0.4"}},
        "earlier": earlier,
        **ASKED,
        **asked,
    }
    return audit(latest, **given)


def reached(found: Audit, measure: str) -> Any:
    assert isinstance(found.together, CellFigures)
    return next(
        g for g in found.together.guarantees if g.measure == f"{measure} over people in cells"
    )


def test_two_releases_that_hold_reveal_everybody_together() -> None:
    """Each class of both tables has two people with two diseases, and no two people share both
    classes.
    """
    old, new = table(OLD), table(NEW)
    assert audit(old, QUASI, {"disease": {"t": "0.4"}}, **ASKED).holds
    assert audit(new, QUASI, {"disease": {"t": "0.4"}}, **ASKED).holds
    found = together(old, new)
    assert found.verdict == "violated"
    one = found.together
    assert isinstance(one, CellFigures)
    assert (one.people, one.cells, one.alone) == (5, 5, 5)
    assert (one.stayed, one.arrived, one.left) == (3, 1, 1)
    assert one.by_release == {"earlier 1": 4, "the table": 4}
    k, t = reached(found, "k-anonymity"), reached(found, "t-closeness")
    assert (k.achieved, k.classes, k.rows) == (1, 5, 5)
    assert (float(t.achieved), t.classes, t.rows) == (0.5, 5, 5)


def test_what_is_printed_and_shown() -> None:
    found = together(table(OLD), table(NEW))
    printed, page = repr(found), Page(audit_page(found))
    assert "Several releases together (cells and people: that violate it)" in printed
    worst = "worst cell of 1 person, earlier 1: not in it; the table: age='[26, 39]', sex='*'"
    assert f"k-anonymity over people in cells: {worst}" in printed
    counted = (
        "5 people (4 in earlier 1, 4 in the table): 3 stayed, 1 arrived, 1 left; they are in 5 "
        "cells, and 5 of them are alone in theirs"
    )
    assert counted in printed
    assert counted in page.source
    assert page.only("tr", "k-anonymity over people in cells").endswith("2 1 no 5 5")
    without = found.without_labels()
    assert "[26, 39]" not in repr(Audit(**vars(without))) + audit_page(without) + json.dumps(
        without.to_json(),
    )
    assert "worst cell 1 person" in repr(Audit(**vars(without)))


def test_the_json() -> None:
    found = together(table(OLD), table(NEW)).to_json()["several_releases"]
    assert found["tables"] == {"earlier 1": 4, "the table": 4}
    assert {
        name: found[name] for name in ("people", "stayed", "arrived", "left", "cells", "alone")
    } == {
        "people": 5,
        "stayed": 3,
        "arrived": 1,
        "left": 1,
        "cells": 5,
        "alone": 5,
    }
    assert [(g["measure"], g["groups"], g["people"], g["holds"]) for g in found["guarantees"]][
        :2
    ] == [
        ("k-anonymity over people in cells", 5, 5, False),
        ("t-closeness over people in cells", 5, 5, False),
    ]
    assert audit(table(NEW), QUASI, engine="local").to_json()["several_releases"] is None


def test_a_table_audited_against_itself_has_the_cells_of_its_classes() -> None:
    draw = np.random.default_rng(3)
    rows = [(str(i), str(draw.integers(4)), "fm"[draw.integers(2)], "flu") for i in range(60)]
    found = together(table(rows), table(rows), table(rows))
    assert isinstance(found.together, CellFigures)
    assert found.together.cells == found.figures.classes
    assert reached(found, "k-anonymity").achieved == found.figures.smallest
    assert (found.together.arrived, found.together.left) == (0, 0)


def test_a_guarantee_that_holds_in_cells() -> None:
    later = [(who, age, sex, disease) for who, age, sex, disease in OLD for _ in range(1)]
    found = together(table(OLD), table(later))
    assert found.verdict == "holds"


def test_bounds_are_one_quasi_identifier_in_each_table() -> None:
    bounds = ("id", "age_min", "age_max", "sex", "disease")
    old = table(
        [("Ada", 20, 29, "f", "flu"), ("Bea", 20, 29, "f", "gout"), ("Cid", 30, 39, "f", "flu")],
        bounds,
    )
    found = together(old, table(NEW))
    assert isinstance(found.together, CellFigures)
    assert (found.together.cells, found.together.people) == (4, 4)
    found = together(table(NEW), old, table(OLD), quasi_identifiers=["age", "sex"])
    assert isinstance(found.together, CellFigures)
    assert found.together.by_release == {"earlier 1": 4, "earlier 2": 3, "the table": 4}
    assert not any("has no" in note for note in found.notes)


def test_a_quasi_identifier_that_an_earlier_table_lacks_is_noted() -> None:
    found = together(table(OLD).drop(["age"]), table(NEW))
    assert "earlier 1 has no age: its classes are by the other quasi-identifiers" in found.notes
    assert isinstance(found.together, CellFigures)
    assert found.together.cells == 5


def without_person(rows: list[tuple[Any, ...]]) -> pa.Table:
    return table([(None, *row[1:]) for row in rows[:1]] + rows[1:])


@pytest.mark.parametrize(
    ("earlier", "message"),
    [
        (table(OLD).drop(["id"]), "person 'id' is not in earlier 1"),
        (table(OLD).drop(["disease"]), "sensitive attribute 'disease' is not in earlier 1"),
        (table(OLD).drop(QUASI), "quasi-identifier 'age' is not in earlier 1"),
        (without_person(OLD), "1 rows of earlier 1 have no 'id'"),
        (table([("x", *row[1:]) for row in OLD]), "nobody of earlier 1 is in another table"),
        (
            table([(7, *row[1:]) for row in OLD]),
            "person 'id' is bigint and string in earlier 1 and in the table",
        ),
        (table(OLD).slice(0, 0), "earlier 1 has no rows"),
    ],
)
def test_what_is_refused(earlier: pa.Table, message: str) -> None:
    with pytest.raises(InputError, match=message):
        together(earlier, table(NEW))


def test_aggregates_need_a_column_of_persons() -> None:
    question = question_from_columns(QUASI, {"disease": {}}, aggregates=True)
    old, new = (of_arrow(LocalSession(), table(rows)) for rows in (OLD, NEW))
    with pytest.raises(ConfigurationError, match="labels do not show whom they cover"):
        audit_table(AuditTables(table=new, earlier=[old]), question)


def test_an_earlier_value_without_a_place_in_the_domain_names_its_table() -> None:
    asked = {"disease": {"t": "0.4", "distance": "ordered", "order": ["flu", "gout"]}}
    old = table([*OLD, ("Fay", "[20, 29]", "f", "plague")])
    with pytest.raises(InputError, match=r"earlier 1: attributes.*disease.order lacks 1 values"):
        together(old, table(NEW), sensitive=asked)


def test_files_on_both_engines(spark: SparkSession, tmp_path: Path) -> None:
    paths = [str(tmp_path / "old.csv"), str(tmp_path / "older.parquet")]
    pa.csv.write_csv(table(OLD), paths[0])
    pq.write_table(table(OLD[1:]), paths[1])
    results = [
        audit(
            table(NEW),
            QUASI,
            {"disease": {"t": "0.4"}},
            **{**ASKED, "engine": on},
            earlier=paths,
        )
        for on in ("local", "spark")
    ]
    assert results[0].to_json() == results[1].to_json()
    assert isinstance(results[0].together, CellFigures)
    assert results[0].together.by_release == {"earlier 1": 4, "earlier 2": 3, "the table": 4}


def test_suppressed_rows_of_the_evidence_are_not_published() -> None:
    """`internal/people` marks them; they are in no class, and their people not in the release."""
    names = ("age", "sex", "disease", "person_hash", "suppressed")
    old = table(
        [(age, sex, disease, i, False) for i, (_, age, sex, disease) in enumerate(OLD)],
        names,
    )
    gone = table([(None, None, "flu", 3, True), ("[20, 29]", "f", "flu", 0, False)], names)
    found = together(gone, old, person="person_hash")
    assert isinstance(found.together, CellFigures)
    assert found.together.by_release == {"earlier 1": 1, "the table": 4}
    assert together(old, gone, person="person_hash").figures.rows == 1


def test_releases_that_continue_one_another_hold_together(
    tmp_path: Path,
    write_run: Callable[..., Path],
    open_run: Callable[..., Run],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With `output.after`, no cell has fewer than k people; without it, some have."""
    monkeypatch.setenv("TCLOSE_SECRET", "one secret for all releases")
    outputs = {}
    for name, after in (("0", None), ("1", "0"), ("apart", None)):
        month = next(islice(months(0, 120), int(name != "0"), None))
        output = {} if after is None else {"after": f"../{after}/out"}
        path = write_run(tmp_path / name, rows_of(month), output=output, **ROLES)
        pipeline.release(open_run(path))
        outputs[name] = path.parent / "out"
    for name, holds in (("1", True), ("apart", False)):
        both = [str(outputs[one] / "internal/people") for one in ("0", name)]
        asked = {
            "k": 4,
            "person": "person_hash",
            "earlier": both[0],
            "attacks": False,
            "engine": "local",
        }
        found = audit(both[1], QUASI, ["disease"], **asked)
        shown = cells([Shown.of(outputs[one]) for one in ("0", name)])
        assert isinstance(found.together, CellFigures)
        assert (found.together.cells, found.together.people) == (
            len(shown),
            sum(map(len, shown.values())),
        )
        assert reached(found, "k-anonymity").achieved == min(map(len, shown.values()))
        assert found.holds == holds


def town(people: int) -> pa.Table:
    """The first so many of 3,000 people."""
    draw = np.random.default_rng(7)
    n = 3000
    columns = {
        "id": [f"P{i}" for i in range(n)],
        "age": draw.integers(18, 90, n),
        "sex": np.array(["f", "m"])[draw.integers(2, size=n)],
        "zip": [str(4711 + z) for z in draw.integers(10, size=n)],
        "disease": draw.choice(
            ["asthma", "cold", "flu", "gout", "ulcer"],
            n,
            p=[0.1, 0.3, 0.3, 0.2, 0.1],
        ),
    }
    return pa.table(columns).slice(0, people)


@pytest.fixture(scope="module")
def two_years(
    tmp_path_factory: pytest.TempPathFactory,
    write_run: Callable[..., Path],
    open_run: Callable[..., Run],
) -> list[Path]:
    """The evidence of two releases of a town of 2,000 people that grew to 3,000, both at k = 5 and
    t = .2.
    """
    evidence = []
    for people in (2000, 3000):
        path = write_run(
            tmp_path_factory.mktemp("town"),
            town(people),
            quasi={"age": {"type": "numeric"}, "sex": {}, "zip": {}},
            sensitive={"disease": {"t": "0.2"}},
            k=5,
            person="id",
            method={"name": "closeness_tree", "effort": "fast"},
        )
        pipeline.release(open_run(path))
        evidence.append(path.parent / "out/internal/people")
    return evidence


def test_a_town_that_grew(
    two_years: list[Path],
    tclose: Callable[..., tuple[int, str, str]],
) -> None:
    """Both releases hold, and together they leave many people alone."""
    old, new = two_years
    asked = [
        "-q",
        "age,sex,zip",
        "-s",
        "disease",
        "--k",
        "5",
        "--t",
        "0.2",
        "--person",
        "person_hash",
        "--no-attacks",
    ]
    for each in two_years:
        assert tclose("audit", each, *asked)[0] == 0
    code, printed, error = tclose("audit", new, "--earlier", old, *asked, "--json")
    assert code == 1
    assert "k-anonymity over people in cells, t-closeness over people in cells of disease" in error
    found = json.loads(printed)["several_releases"]
    frames = [
        read(path).set_index("person_hash")[["age", "sex", "zip"]].agg("|".join, axis=1)
        for path in two_years
    ]
    sizes = Counter(
        Counter(tuple(frame.get(one, "") for frame in frames) for one in frames[1].index).values(),
    )  # nobody left
    alone, below = sizes[1], sum(size * cells for size, cells in sizes.items() if size < 5)
    assert (found["people"], found["stayed"], found["arrived"], found["left"]) == (
        3000,
        2000,
        1000,
        0,
    )
    assert (found["cells"], found["alone"]) == (sizes.total(), alone)
    assert found["guarantees"][0]["people"] == below
    assert alone > 100
    assert below > 1000


def test_a_town_that_grew_from_labels_alone(
    two_years: list[Path],
    tclose: Callable[..., tuple[int, str, str]],
) -> None:
    """Without whose a row is: an adversary who knows the 2,000 people of both years tries each on
    each class.
    """
    paths, quasi = (
        [path.parent.parent / "public/release" for path in two_years],
        ["age", "sex", "zip"],
    )
    known = town(2000)
    pq.write_table(known.select(quasi), paths[0].parent / "known.parquet")
    asked = [
        "-q",
        ",".join(quasi),
        "-s",
        "disease",
        "--k",
        "5",
        "--background",
        paths[0].parent / "known.parquet",
    ]
    code, printed, error = tclose(
        "audit",
        paths[1],
        "--earlier",
        paths[0],
        *asked,
        "--no-attacks",
        "--json",
    )
    assert code == 1
    assert "k-anonymity of listed people in all releases" in error
    fits = []
    for path in paths:
        classes = read(path)[quasi].drop_duplicates()
        ends = classes["age"].str.strip("[]").str.split(", ")
        low, high = (
            ends.str[i].replace("*", end).astype(int).to_numpy()
            for i, end in ((0, "-1"), (-1, "999"))
        )
        inside = (known["age"].to_numpy()[:, None] >= low) & (
            known["age"].to_numpy()[:, None] <= high
        )
        for name in ("sex", "zip"):
            labels, values = classes[name].to_numpy().astype(str), np.array(known[name].to_pylist())
            inside &= (values[:, None] == labels) | (labels == "*")
        fits.append(inside)
    both = np.concatenate(fits, axis=1)
    sizes = Counter(Counter(row.tobytes() for row in both).values())
    found = json.loads(printed)["several_releases"]
    assert all(inside.any(axis=1).all() for inside in fits)
    assert (found["people"], found["outside"], found["combinations"]) == (2000, 0, sizes.total())
    assert found["alone"] == sizes[1] > 100
    assert found["guarantees"][0]["people"] == sum(
        size * n for size, n in sizes.items() if size < 5
    )
