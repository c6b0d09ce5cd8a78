"""Releases of tables in which a person has several rows, judged by code of their own."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from oracle.people import PeopleFound, judge_people
from people import read, tree
from stays import QUASI, SENSITIVE, stays

from tclose_spark import pipeline
from tclose_spark.errors import ConfigurationError, InputError, UnreachableError
from tclose_spark.io.local_session import LocalSession as Session
from tclose_spark.io.run import Run
from tclose_spark.runfile.loading import load_spec
from tclose_spark.stages.verify import verify_finished

METHODS: dict[str, dict[str, Any]] = {
    "tree": {"name": "closeness_tree", "effort": "fast"},
    "disjoint": {"name": "closeness_tree", "effort": "fast", "overlap": "none"},
    "mondrian": {"name": "t_mondrian"},
    "incognito": {"name": "t_incognito"},
}
Release = Callable[..., tuple[Path, Mapping[str, Any]]]


@pytest.fixture
def release(
    tmp_path: Path,
    write_run: Callable[..., Path],
    open_run: Callable[..., Run],
) -> Release:
    """`release(table, sensitive names.., person=.., method=..)`: (the run file, the
    certificate).
    """

    def made(table: pa.Table, *names: str, **given: Any) -> tuple[Path, Mapping[str, Any]]:
        settings: dict[str, Any] = {
            "quasi": QUASI,
            "sensitive": {name: SENSITIVE[name][0] for name in names},
            "k": 4,
            "person": "patient",
            "insensitive_attributes": ["row"],
            "allow_unique": ["row"],
            "drop_others": True,
            **given,
        }
        conf = write_run(tmp_path, table, **settings)
        return conf, pipeline.release(open_run(conf))

    return made


def judged(conf: Path, table: pa.Table, *names: str) -> PeopleFound:
    rows = read(conf.parent / "out/public/release").to_dict("records")
    person = dict(zip(table["row"].to_pylist(), table["patient"].to_pylist(), strict=True))
    return judge_people(
        rows,
        person,
        "row",
        list(QUASI),
        {name: SENSITIVE[name][1] for name in names},
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rows", ["together", "apart"])
@pytest.mark.parametrize("varying", [False, True], ids=["constant", "varying"])
@pytest.mark.parametrize(
    "names",
    [
        pytest.param(("disease",), id="one attribute", marks=pytest.mark.more),
        pytest.param(("grade", "town"), id="two"),
    ],
)
def test_every_class_has_k_people_and_is_close_over_them(
    method: str,
    rows: str,
    varying: bool,
    names: tuple[str, ...],
    release: Release,
) -> None:
    if varying and rows == "together" and method != "tree":
        pytest.skip("this method assigns rows by their quasi-identifiers")
    table = stays(len(method) + varying, varying=varying)
    person = {"column": "patient", "rows": rows}
    conf, certificate = release(table, *names, person=person, method=METHODS[method])
    found, people, guarantees = (
        judged(conf, table, *names),
        certificate["people"],
        certificate["guarantees"],
    )
    assert certificate["release"]["rows"] == table.num_rows
    assert (
        found.smallest
        == people["smallest_class"]
        == guarantees["k"]["over_people"]["achieved"]
        >= 4
    )
    assert (found.people, found.most_rows) == (people["people"], people["most_rows"])
    for name in names:
        over = guarantees["t"][name]["over_people"]
        assert found.emd[name] <= Fraction(SENSITIVE[name][0]["t"])
        assert over == {"achieved": pytest.approx(float(found.emd[name]), abs=1e-12), "holds": True}
    if names == ("disease",):
        assert (
            found.distinct["disease"]
            == guarantees["l"]["disease"]["distinct"]["over_people"]["achieved"]
            >= 3
        )
    if rows == "together":
        assert not found.in_several
    assert verify_finished(Run(load_spec(conf), Session(), lambda line: None)).holds
    for name, content in tree(conf.parent / "out").items():
        assert b"patient 1" not in content, f"{name} names a person"


def test_a_table_of_rows_has_classes_of_fewer_people(release: Release) -> None:
    """What this is about: 600 people with some 920 rows, k = 5, counted as rows and as people."""
    table = stays(1, people=600)
    conf, _ = release(
        table,
        "disease",
        person=None,
        direct_identifiers=["patient"],
        method=METHODS["tree"],
        k=5,
    )
    assert judged(conf, table, "disease").smallest < 5
    conf, _ = release(table, "disease", method=METHODS["tree"], k=5, output={"path": "again"})
    rows = read(conf.parent / "again/public/release").to_dict("records")
    person = dict(zip(table["row"].to_pylist(), table["patient"].to_pylist(), strict=True))
    assert judge_people(rows, person, "row", list(QUASI), {"disease": "equal"}).smallest >= 5


def test_a_person_with_very_many_rows_weighs_as_much_as_any(release: Release) -> None:
    table = stays(5)
    one = table.slice(0, 1)
    frequent = pa.concat_tables(
        [one.set_column(7, "row", pa.array([f"more {i}"])) for i in range(97)],
    )
    table = pa.concat_tables([table, frequent])  # 97 is prime to all others
    stated = {"column": "patient", "placeholders": []}
    conf, certificate = release(table, "disease", method=METHODS["disjoint"], person=stated)
    found = judged(conf, table, "disease")
    assert certificate["people"]["most_rows"] >= 98
    assert found.smallest >= 4
    assert found.emd["disease"] <= Fraction("0.25")


@pytest.mark.parametrize("of", ["input", "released"])
def test_suppressed_rows_are_people_too(of: str, release: Release) -> None:
    table = stays(9)
    privacy = {"suppression_limit": "0.3", "of": of}
    conf, certificate = release(table, "disease", method=METHODS["incognito"], privacy=privacy)
    found = judged(conf, table, "disease")
    assert found.smallest >= 4
    assert not found.in_several
    if of == "input":  # compared with all rows, which judge_people does not see
        assert certificate["guarantees"]["t"]["disease"]["over_people"]["holds"]
    assert certificate["people"]["people"] == 300


def test_a_method_that_counts_rows_is_refused_with_those_that_count_people(
    release: Release,
) -> None:
    expected = (
        "attributes.person: method stack_and_deal counts rows, not people; expected method: {name: "
        "closeness_tree"
    )
    with pytest.raises(ConfigurationError, match=expected.replace("{", "\\{")):
        release(stays(1), "disease", method={"name": "stack_and_deal"})


@pytest.mark.parametrize("privacy", [{"nt": {"n": 50}}, {"k": "auto"}], ids=["nt", "auto"])
def test_requirements_that_count_rows_are_refused(
    privacy: dict[str, Any],
    release: Release,
) -> None:
    with pytest.raises(ConfigurationError, match="counts rows, not people"):
        release(stays(1), "disease", method=METHODS["mondrian"], privacy=privacy)


@pytest.mark.parametrize("method", ["mondrian", "incognito", "disjoint"])
def test_rows_that_differ_cannot_be_kept_together_by_every_method(
    method: str,
    release: Release,
) -> None:
    table = stays(3, varying=True)
    ages = {name: set() for name in table["patient"].to_pylist()}
    for name, age in zip(table["patient"].to_pylist(), table["age"].to_pylist(), strict=True):
        ages[name].add(age)
    several = sum(len(found) > 1 for found in ages.values())
    with pytest.raises(
        ConfigurationError,
        match=f"'age' \\(of {several} people\\).*closeness_tree.*rows: apart",
    ):
        release(table, "disease", method=METHODS[method])


def test_every_row_needs_a_person(release: Release, tmp_path: Path) -> None:
    table = stays(1)
    missing = [None if i in (3, 8) else name for i, name in enumerate(table["patient"].to_pylist())]
    missing[20] = ""
    with pytest.raises(
        InputError,
        match=f"column 'patient' is missing in 3 of {table.num_rows} rows",
    ):
        release(
            table.set_column(0, "patient", pa.array(missing)),
            "disease",
            method=METHODS["mondrian"],
        )
    assert not (tmp_path / "out/public").exists()


def test_k_above_the_people_is_out_of_reach(release: Release) -> None:
    with pytest.raises(UnreachableError, match=r"privacy\.k is 301, but the table has 300 people"):
        release(stays(1), "disease", method=METHODS["mondrian"], k=301)


def test_people_may_be_numbers(release: Release) -> None:
    table = stays(2)
    numbers = pa.array(
        [int(name.removeprefix("patient ")) for name in table["patient"].to_pylist()],
    )
    _, by_text = release(table, "disease", method=METHODS["mondrian"])
    _, by_number = release(
        table.set_column(0, "patient", numbers),
        "disease",
        method=METHODS["mondrian"],
        output={"path": "numbers"},
    )
    assert by_text["people"] == by_number["people"]


def test_the_release_does_not_depend_on_the_order_of_rows(release: Release) -> None:
    table = stays(4, varying=True)
    again = table.take(pa.array(np.random.default_rng(0).permutation(table.num_rows)))
    _, one = release(table, "disease", method=METHODS["tree"])
    _, other = release(again, "disease", method=METHODS["tree"], output={"path": "again"})
    assert one["release"]["fingerprint"] == other["release"]["fingerprint"]


def test_people_of_a_finished_release_are_counted_again(release: Release) -> None:
    conf, _ = release(stays(1), "disease", method=METHODS["mondrian"])
    state = json.loads((conf.parent / "out/internal/run.json").read_text())
    files = [
        name
        for name in state["stages"]["report"]["files"]["internal"]
        if name.startswith("people/")
    ]
    assert any(name.endswith(".parquet") for name in files)


def test_special_uniques_are_of_rows_and_left_out(release: Release) -> None:
    conf, _ = release(stays(1), "disease", method=METHODS["mondrian"])
    page = (conf.parent / "out/internal/report.html").read_text()
    assert "Which rows the figures use" in page
    assert "Special uniques" not in page
    assert "Rare cells" not in page
