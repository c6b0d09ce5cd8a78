"""One run reports every problem of the data: a line each, in the order of the run file, and the
values of all in `internal/problems.json`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tclose_spark as tc
from tclose_spark import pipeline
from tclose_spark.engine.protocol import Session
from tclose_spark.errors import (
    ConfigurationError,
    InputError,
    Problems,
    TcloseError,
    UnreachableError,
)
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.run import Run
from tclose_spark.runfile.loading import load_spec

ROWS = 60
CANARY = "CANARY-7f3"
TABLE: dict[str, list[Any]] = {
    "age": [CANARY, "", *(str(20 + i % 30) for i in range(ROWS - 2))],
    "year": [None, *(1900 + i for i in range(ROWS - 1))],
    "city": [CANARY, *(["Pisa"] * (ROWS - 2)), "*"],
    "site": [f"{{{CANARY}}}", *(["a"] * (ROWS - 1))],
    "sex": ["f", "m"] * (ROWS // 2),
    "disease": [CANARY, None, *(["flu"] * (ROWS - 2))],
    "pay": [CANARY, "1", "1.0", None, *(["2"] * (ROWS - 4))],
    "region": ["Pisa", "Lyon"] * (ROWS // 2),
    "note": [f"{CANARY}-{i}" for i in range(ROWS)],
    "phone": list(range(ROWS)),
}
WRONG: dict[str, Any] = {
    "quasi": {
        "age": {"type": "numeric"},
        "year": {"type": "numeric", "range": [1910, 2000], "numeric_output": "bounds"},
        "city": {"hierarchy": "cities.csv"},
        "site": {"generalization": "set"},
        "sex": {},
    },
    "sensitive": {
        "disease": {"distance": "ordered", "order": ["flu"], "t": "0.5"},
        "pay": {"distance": "ordered", "t": "0.5"},
        "region": {"distance": "hierarchical", "hierarchy": "cities.csv", "t": "0.5"},
    },
    "insensitive_attributes": ["phone", "note"],
}
EXPECTED = [
    "quasi-identifier 'age' is type: numeric, but 2 of 60 rows hold no finite number",
    "attributes.quasi_identifiers.year.range: 10 values in 10 rows are outside of 1910 to 2000",
    "quasi-identifier 'year' is missing in 1 rows, which bounds cannot express",
    "quasi-identifier 'city': the value '*' (1 rows) stands for the whole domain",
    "quasi-identifier 'city': its hierarchy lacks 1 value in 1 rows",
    "quasi-identifier 'site': a value in braces reads like a set of values in a release (1 value "
    "in 1 rows)",
    "attributes.sensitive_attributes.disease.order lacks 1 values of the table (1 rows)",
    "sensitive attribute 'disease' is missing in 1 rows and has an ordered distance",
    "sensitive attribute 'pay' is ordered by value, but 1 of 60 rows have no number",
    "sensitive attribute 'pay': different texts are the same number (2 values in 2 rows)",
    "sensitive attribute 'pay' is missing in 1 rows and has an ordered distance",
    "insensitive attribute 'phone' is nearly unique (about",
    "insensitive attribute 'note' is nearly unique (about",
]


@pytest.fixture(params=["local", "spark"])
def session(request: pytest.FixtureRequest) -> Session:
    """A session of each engine."""
    return LocalSession() if request.param == "local" else request.getfixturevalue("spark")


def refused(path: Path, session: Session) -> tuple[InputError, Run]:
    """The error of a run's profile, and the run."""
    run = Run(load_spec(path, ()), session, lambda line: None, overwrite=False)
    with pytest.raises(InputError) as found:
        pipeline.profile(run)
    return found.value, run


def test_one_run_reports_every_problem(run_file: Callable[..., Path], session: Session) -> None:
    error, run = refused(run_file(TABLE, **WRONG), session)
    *lines, last = str(error).splitlines()
    assert [line[: len(start)] for line, start in zip(lines, EXPECTED, strict=True)] == EXPECTED
    assert (
        last
        == f"The values, and how many rows hold each, are in {run.internal.path('problems.json')}"
    )
    assert CANARY not in str(error)
    assert (error.exit_code, [str(problem) for problem in error.problems]) == (2, lines)


def test_the_file_lists_the_values_of_all(run_file: Callable[..., Path], session: Session) -> None:
    _, run = refused(run_file(TABLE, **WRONG), session)
    listed = json.loads(run.internal.read("problems.json"))
    values = {
        (one["column"], one["problem"]): {each["value"] for each in one["values"]}
        for one in listed["problems"]
        if "values" in one
    }
    assert values == {
        ("age", "no finite number of at most 15 digits"): {CANARY, ""},
        ("year", "outside of its range"): {str(year) for year in range(1900, 1910)},
        ("city", "missing from its hierarchy"): {CANARY},
        ("site", "in braces"): {f"{{{CANARY}}}"},
        ("disease", "missing from its order"): {CANARY},
        ("pay", "not a number"): {CANARY},
        ("pay", "the same number as another text"): {"1", "1.0"},
    }
    assert [one["error"] for one in listed["problems"]] == listed["error"].splitlines()
    first = listed["problems"][0]
    assert {key: listed[key] for key in ("column", "problem", "values")} == {
        key: first[key] for key in first.keys() - {"error"}
    }


def test_one_problem_keeps_its_message(run_file: Callable[..., Path], session: Session) -> None:
    only = {
        "quasi": {"sex": {}},
        "sensitive": {"region": {"t": "0.5"}},
        "insensitive_attributes": ["note"],
    }
    error, run = refused(run_file(TABLE, **only, drop_others=True), session)
    start, end = str(error).split("(about ")
    assert start == "insensitive attribute 'note' is nearly unique "
    assert end.split(" values ")[1] == (
        "in 60 rows): published as it is, it links rows to people; drop it, give it another role, "
        "or name it in attributes.allow_unique"
    )
    assert (error.problems, run.internal.exists("problems.json")) == ((), False)


def test_mending_all_of_them_is_enough(run_file: Callable[..., Path], session: Session) -> None:
    mended: dict[str, Any] = {
        "age": {"type": "numeric"},
        "sex": {},
    }
    table = {**TABLE, "age": [20 + i % 30 for i in range(ROWS)]}
    path = run_file(table, quasi=mended, sensitive={"region": {"t": "0.5"}}, drop_others=True)
    pipeline.profile(Run(load_spec(path, ()), session, lambda line: None, overwrite=False))


def test_columns_that_take_back_a_label_are_all_reported(
    run_file: Callable[..., Path],
    session: Session,
) -> None:
    table = {
        "sex": ["f", "m"] * 60,
        "old": [False, False, True, True] * 30,
        "disease": ["flu", "gout", "flu"] * 40,
    }
    table |= {
        "title": ["Ms", "Mr"] * 60,
        "pension": [0, 0, 1, 1] * 30,
        "colour": ["red", "blue", "green"] * 40,
    }
    roles: dict[str, Any] = {
        "quasi": {"old": {}, "sex": {}},
        "sensitive": {"disease": {"t": "0.5"}},
    }
    error, _ = refused(
        run_file(table, **roles, insensitive_attributes=["title", "colour", "pension"]),
        session,
    )
    first, second = str(error).splitlines()
    assert first.startswith(
        "insensitive attribute 'title' takes back 100% of the width of quasi-identifier 'sex'",
    )
    assert second.startswith(
        "insensitive attribute 'pension' takes back 100% of the width of quasi-identifier 'old'",
    )


def test_types_and_text_options_are_reported_together(
    run_file: Callable[..., Path],
    session: Session,
) -> None:
    quasi = {
        "sex": {"text": {"strip": True}},
        "phone": {"text": {"strip": True}},
        "year": {"text": {"case": "fold"}},
    }
    settings: dict[str, Any] = {
        "quasi": quasi,
        "sensitive": {"nobody": {"t": "0.5"}},
        "drop_others": True,
    }
    error, _ = refused(run_file(TABLE, **settings), session)
    lines = str(error).splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "attributes.sensitive_attributes.nobody",
        "attributes.quasi_identifiers.phone.text",
        "attributes.quasi_identifiers.year.text",
    ]


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_a_call_from_python_reports_the_same(
    run_file: Callable[..., Path],
    tmp_path: Path,
    engine: str,
    request: pytest.FixtureRequest,
) -> None:
    if engine == "spark":
        request.getfixturevalue("spark")
    with pytest.raises(tc.InputError) as found:
        tc.release(None, run_file(TABLE, **WRONG), tmp_path / "out", log=None, engine=engine)
    lines = [str(problem) for problem in found.value.problems]
    assert len(lines) == len(EXPECTED)
    assert all(start in line for start, line in zip(EXPECTED, lines, strict=True))
    assert str(found.value).splitlines()[:-1] == lines


@pytest.mark.parametrize(
    ("errors", "kind"),
    [
        ([UnreachableError("a"), InputError("b")], InputError),
        ([UnreachableError("a"), ConfigurationError("b")], ConfigurationError),
        ([ConfigurationError("a"), InputError("b")], InputError),
        ([UnreachableError("a"), UnreachableError("b")], UnreachableError),
    ],
)
def test_a_wrong_input_wins_over_other_codes(
    errors: list[TcloseError],
    kind: type[TcloseError],
) -> None:
    problems = Problems()
    for error in errors:
        with problems.gathered():
            raise error
    with pytest.raises(kind, match=r"^a\nb$") as found:
        problems.raise_found()
    assert type(found.value) is kind


def test_other_errors_are_not_kept() -> None:
    with pytest.raises(ZeroDivisionError), Problems().gathered():
        print(1 / 0)
