"""Direct identifiers that are published as keyed pseudonyms."""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from people import PEOPLE, ROLES, read, tree

from tclose_spark import pipeline
from tclose_spark.stages.verify import verify_finished
from tclose_spark.table.columns.pseudonyms import PseudonymKeys

OWN, NAMED = "the run's own secret 7f3a", "a secret of several tables 5c21"
VARIABLE = "LINK_SECRET"
NAME = "Canary-person-{}"
RUN: dict[str, Any] = {**ROLES, "direct_identifiers": []}


@pytest.fixture(autouse=True)
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TCLOSE_SECRET", OWN)
    monkeypatch.setenv(VARIABLE, NAMED)


def people(missing: bool = False, rows_each: int = 1) -> pa.Table:
    """The small table with names that can be searched for."""
    names = [NAME.format(i // rows_each) for i in range(len(PEOPLE))]
    return PEOPLE.set_column(0, "name", pa.array([None, None, *names[2:]] if missing else names))


def pseudonym(text: str | None, secret: str = OWN, begin: str = "name\0") -> str | None:
    return (
        None
        if text is None
        else hmac.new(secret.encode(), (begin + text).encode(), "sha256").hexdigest()[:32]
    )


def linked(name: str | None) -> str | None:
    return pseudonym(name, NAMED, "")


def released(output: Path) -> pd.DataFrame:
    return read(output / "public/release")


def certificate(output: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((output / "public/certificate.json").read_text())
    return found


@pytest.fixture
def release(
    write_run: Callable[..., Path],
    open_run: Callable[..., Any],
    tmp_path: Path,
) -> Callable[..., tuple[Path, Path]]:
    """`release("folder", table, pseudonyms=...)`: the run file and the output of a verified
    release.
    """

    def made(folder: str, table: pa.Table, **settings: Any) -> tuple[Path, Path]:
        path = write_run(tmp_path / folder, table, **{**RUN, **settings})
        pipeline.release(open_run(path))
        assert verify_finished(open_run(path)).holds
        return path, path.parent / "out"

    return made


def rows(table: pd.DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return sorted(table[list(columns)].itertuples(index=False, name=None), key=str)


def test_pseudonyms_are_the_hmac_of_the_values_beside_their_own_rows(
    release: Callable[..., tuple[Path, Path]],
) -> None:
    table = people(missing=True)
    _, output = release("own", table, pseudonyms=["name"])
    expected = table.to_pandas().assign(
        name=[pseudonym(name) for name in table["name"].to_pylist()],
    )
    assert rows(released(output), "name", "disease", "region") == rows(
        expected,
        "name",
        "disease",
        "region",
    )
    assert released(output)["name"].isna().sum() == 2
    found = certificate(output)
    assert found["pseudonyms"] == {"name": "own secret"}
    assert [
        w
        for w in found["warnings"]
        if "'name' is a pseudonym (own secret): the rows of a person are linkable by it" in w
    ]
    assert "of any table" not in " ".join(found["warnings"])


def test_numbers_and_days_are_hashed_as_the_text_that_the_tool_writes(
    release: Callable[..., tuple[Path, Path]],
) -> None:
    days = pa.array([7300 + i for i in range(len(PEOPLE))], pa.int32()).cast(pa.date32())
    table = people().append_column("id", pa.array(range(len(PEOPLE)))).append_column("day", days)
    settings = {"id": {"secret": VARIABLE}, "day": {"secret": VARIABLE, "as": "who"}}
    _, output = release("types", table.drop_columns(["name"]), pseudonyms=settings)
    assert {*released(output)["id"]} == {linked(str(i)) for i in range(len(PEOPLE))}
    assert {*released(output)["who"]} == {linked(str(day)) for day in days.to_pylist()}


def test_releases_link_by_a_named_secret_and_not_by_their_own(
    release: Callable[..., tuple[Path, Path]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: dict[str, list[set[str]]] = {"named": [], "own": []}
    for own in (OWN, "another run's own secret"):
        monkeypatch.setenv("TCLOSE_SECRET", own)
        named = {"name": {"secret": VARIABLE, "as": "subject"}}
        _, output = release(f"named {own}", people(), pseudonyms=named)
        found["named"].append({*released(output)["subject"]})
        assert "name" not in released(output)
        assert certificate(output)["pseudonyms"] == {"subject": "named secret"}
        assert "across releases of any table with the same secret" in " ".join(
            certificate(output)["warnings"],
        )
        _, output = release(f"own {own}", people(), pseudonyms=["name"])
        found["own"].append({*released(output)["name"]})
    assert found["named"][0] == found["named"][1]
    assert len(found["named"][0]) == len(PEOPLE)
    assert not found["own"][0] & found["own"][1]


def test_a_new_secret_is_a_change(
    release: Callable[..., tuple[Path, Path]],
    open_run: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path, output = release("changed", people(), pseudonyms={"name": {"secret": VARIABLE}})
    before = {*released(output)["name"]}
    pipeline.release(open_run(path, overwrite=True), if_changed=True)
    assert {*released(output)["name"]} == before
    monkeypatch.setenv(VARIABLE, NAMED[::-1])
    pipeline.release(open_run(path, overwrite=True), if_changed=True)
    assert not {*released(output)["name"]} & before


def test_columns_with_the_runs_secret_do_not_link(
    release: Callable[..., tuple[Path, Path]],
) -> None:
    table = people().append_column("guardian", people()["name"])
    _, output = release("two", table, pseudonyms=["name", "guardian"])
    assert not {*released(output)["name"]} & {*released(output)["guardian"]}


def test_neither_a_secret_nor_an_identifier_is_in_a_file_or_a_message(
    run_file: Callable[..., Path],
    tclose: Callable[..., Any],
) -> None:
    path = run_file(
        people(),
        **{**RUN, "output": {"keep_linked": True, "export": ["csv"]}},
        pseudonyms=["name"],
    )
    code, out, errors = tclose("release", path)
    assert code == 0
    assert "note: 'name' is a pseudonym (own secret)" in errors
    page = " ".join((path.parent / "out/public/report.html").read_text().split())
    assert "<dt>Pseudonyms</dt> <dd><code>name</code> (own secret)" in page
    assert "An adversary who finds one row of a person finds all of them." in page
    texts = {**tree(path.parent / "out"), "messages": (out + errors).encode()}
    assert len(texts) > 20
    for name, content in texts.items():
        assert OWN.encode() not in content, name
        assert NAMED.encode() not in content, name
        assert b"Canary" not in content, name


def test_a_person_may_have_several_rows_and_a_pseudonym(
    release: Callable[..., tuple[Path, Path]],
) -> None:
    for folder, settings, column in (
        ("same", {}, "name"),
        ("renamed", {"as": "subject"}, "subject"),
    ):
        _, output = release(
            folder,
            people(rows_each=2),
            **{
                **RUN,
                "sensitive": {"disease": {"t": "0.9"}},
                "k": 3,
                "method": {"name": "closeness_tree"},
            },
            person="name",
            pseudonyms={"name": settings},
        )
        counts = released(output)[column].value_counts()
        assert counts.to_dict() == {pseudonym(NAME.format(i)): 2 for i in range(len(PEOPLE) // 2)}
        assert certificate(output)["people"]["people"] == len(PEOPLE) // 2


def test_repeats_are_warned_of_as_those_of_a_direct_identifier(
    release: Callable[..., tuple[Path, Path]],
) -> None:
    table = people(rows_each=2).rename_columns(["patient_id", *PEOPLE.column_names[1:]])
    _, output = release("repeats", table, pseudonyms=["patient_id"])
    assert [w for w in certificate(output)["warnings"] if "identifier of a person and repeats" in w]


@pytest.mark.on_spark
def test_both_engines_publish_the_same(
    release: Callable[..., tuple[Path, Path]],
    tclose: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = {
        "person": "name",
        "pseudonyms": {"name": {"secret": VARIABLE}},
        "k": 3,
        "method": {"name": "closeness_tree"},
    }
    settings |= {"sensitive": {"disease": {"t": "0.9"}}}
    path, on_spark = release("spark", people(rows_each=2), **settings)
    code, _, errors = tclose("release", path, "--engine", "local", "--set", "output.path=local")
    assert code == 0, errors
    locally = path.parent / "local"
    assert {*released(on_spark)["name"]} == {
        linked(NAME.format(i)) for i in range(len(PEOPLE) // 2)
    }
    one, two = certificate(on_spark), certificate(locally)
    assert {**one, "issued": None} == {**two, "issued": None}


@pytest.mark.parametrize(
    "published",
    [lambda values: values, lambda values: pa.array(["AB" * 16] * len(values))],
)
def test_the_verifier_rejects_a_value_that_is_no_pseudonym(
    published: Callable[[pa.Array], pa.Array],
    run_file: Callable[..., Path],
    tclose: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On the local engine, because the patch does not reach workers of Spark."""
    monkeypatch.setattr(PseudonymKeys, "of_values", lambda self, column, values: published(values))
    path = run_file(people(missing=True), **RUN, pseudonyms=["name"])
    code, _, errors = tclose("release", path, "--engine", "local")
    assert code == 1
    assert re.search(r"column 'name': 4[68] rows hold no pseudonym; nothing is published", errors)
    assert "Canary" not in errors
    assert not (path.parent / "out/public/certificate.json").exists()


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "two roles": (
        {"pseudonyms": ["name"], "direct_identifiers": ["name"]},
        "expected one role for a column",
    ),
    "a quasi-identifier": ({"pseudonyms": ["name", "age"]}, "expected one role for a column"),
    "a taken name": (
        {"pseudonyms": {"name": {"as": "Region"}}},
        "is named 'Region', as another column is",
    ),
    "another identifier's name": (
        {
            "pseudonyms": {"name": {"as": "region"}},
            "insensitive_attributes": [],
            "direct_identifiers": ["region"],
        },
        "is named 'region', as another column is",
    ),
    "one name for two": (
        {"pseudonyms": {"name": {"as": "x"}, "region": {"as": "X"}}, "insensitive_attributes": []},
        "as another column is",
    ),
    "a name that Delta lacks": (
        {"pseudonyms": {"name": {"as": "a b"}}},
        "attributes.pseudonyms.name.as: found 'a b'; expected a column name without blanks",
    ),
    "no name": (
        {"pseudonyms": {"name": {"as": ""}}},
        "attributes.pseudonyms.name.as: found ''; expected a column",
    ),
    "no such column": ({"pseudonyms": ["name", "nobody"]}, "column 'nobody' is not in the input"),
    "no variable": (
        {"pseudonyms": {"name": {"secret": "NOT_SET"}}},
        "the environment variable NOT_SET is not set",
    ),
    "a short secret": (
        {"pseudonyms": {"name": {"secret": "SHORT"}}},
        "SHORT has fewer than 16 characters",
    ),
    "blanks": ({"pseudonyms": {"name": {"secret": "BLANK"}}}, "BLANK has fewer than 16 characters"),
    "a short secret of the run": (
        {"pseudonyms": ["name"]},
        "the run's secret (TCLOSE_SECRET) has fewer than 16",
    ),
    "the secret itself": (
        {"pseudonyms": {"name": {"secret": "short-7f3a"}}},
        "no name of an environment variable",
    ),
    "an unknown key": (
        {"pseudonyms": {"name": {"secrets": "A"}}},
        "unknown key; did you mean 'secret'?",
    ),
    "no columns": ({"pseudonyms": [["name"]]}, "attributes.pseudonyms"),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_settings_are_refused_before_anything_is_written(
    what: str,
    run_file: Callable[..., Path],
    tclose: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings, message = WRONG[what]
    monkeypatch.setenv("SHORT", "short-7f3a")
    monkeypatch.setenv("BLANK", " " * 20)
    if "of the run" in what:
        monkeypatch.setenv("TCLOSE_SECRET", "short-7f3a")
    path = run_file(people(), **{**RUN, **settings})
    code, out, errors = tclose("release", path)
    assert code == 2
    assert message in errors
    assert "short-7f3a" not in out + errors
    assert "Canary" not in out + errors
    assert not (path.parent / "out/public").exists()


def test_an_empty_key_changes_nothing(
    run_file: Callable[..., Path],
    open_run: Callable[..., Any],
) -> None:
    """A release without pseudonyms is still up to date."""
    settings = [{}, {"pseudonyms": None}, {"pseudonyms": ["name"], "direct_identifiers": []}]
    without, empty, other = (
        open_run(run_file(people(), **{**ROLES, **more})).fingerprint for more in settings
    )
    assert without == empty != other
