"""Rows whose column of persons holds no person: a placeholder that many rows share, or nothing. The
run file says what becomes of them, and an independent computation counts them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from people import read

import tclose_spark
from tclose_spark import pipeline
from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.run import Run
from tclose_spark.runfile.loading import load_spec
from tclose_spark.stages.verify import verify_finished

MakeConf = Callable[..., Path]
PLACEHOLDERS = ["-", "0", "-1", "unknown", "anonymous", "999999", 0, -1, 999999]
METHOD = {"name": "t_mondrian"}
K = 4


def visits(
    placeholder: Any,
    people: int = 60,
    each: int = 3,
    unknown: int = 90,
    seed: int = 1,
) -> dict[str, Any]:
    """Visits of people, and those of nobody, whose column of persons holds a placeholder; None for
    a missing value.
    """
    rng = np.random.default_rng(seed)
    is_text = isinstance(placeholder, str)
    person = np.repeat(np.arange(people), each)
    rows = people * each + unknown
    return {
        "subject": [f"S{i}" if is_text else 1_000 + int(i) for i in person]
        + [placeholder] * unknown,
        "age": rng.integers(20, 50, people)[person].tolist()
        + rng.integers(20, 50, unknown).tolist(),
        "reason": rng.choice(["a", "b", "c"], rows).tolist(),
    }


@pytest.fixture
def make(write_run: MakeConf, tmp_path: Path) -> MakeConf:
    def made(table: Any, **person: Any) -> Path:
        return write_conf(write_run, tmp_path / "run", table, **person)

    return made


def write_conf(write_run: MakeConf, folder: Path, table: Any, **person: Any) -> Path:
    asked = {
        "quasi": {"age": {"type": "numeric"}},
        "sensitive": {"reason": {"t": "0.6"}},
        "k": K,
        "method": METHOD,
    }
    return write_run(folder, table, **asked, person={"column": "subject", **person})


def run_of(conf: Path, session: Any = None) -> Run:
    return Run(load_spec(conf), session or LocalSession(), lambda line: None, True)


@pytest.mark.parametrize("placeholder", PLACEHOLDERS)
def test_a_value_with_far_more_rows_than_others_stops_the_run_without_its_name(
    make: MakeConf,
    placeholder: Any,
) -> None:
    with pytest.raises(InputError) as error:
        pipeline.profile(run_of(make(visits(placeholder))))
    message = str(error.value)
    assert (
        "attributes.person: one value of 'subject' has far more rows than others (90 of 270)"
        in message
    )
    assert (
        "attributes.person.placeholders, with unknown: drop or alone (or placeholders: [] if it is"
        in message
    )
    assert repr(placeholder) not in message.replace("(90 of 270)", "")


@pytest.mark.parametrize("missing", [None, "", "  "])
def test_a_row_without_a_value_stops_the_run_and_the_message_has_two_ways_out(
    make: MakeConf,
    missing: Any,
) -> None:
    table = (
        visits(missing)
        if missing is not None
        else {**visits("-"), "subject": pa.array([None] * 270, pa.string())}
    )
    with pytest.raises(
        InputError,
        match=r"unknown: drop \(leave these rows out\) or alone \(each is a person\)",
    ):
        pipeline.profile(run_of(make(table)))


def test_a_person_with_far_more_rows_may_be_stated_to_be_one(make: MakeConf) -> None:
    certificate = pipeline.release(run_of(make(visits("-"), placeholders=[], rows="apart")))
    assert certificate["people"]["people"] == 61
    assert certificate["people"]["most_rows"] == 90


def test_people_with_ordinary_sizes_are_no_placeholders(make: MakeConf) -> None:
    rng = np.random.default_rng(4)
    person = np.repeat(np.arange(80), rng.integers(1, 30, 80))
    table = {
        "subject": person,
        "age": rng.integers(20, 50, 80)[person],
        "reason": rng.choice(["a", "b"], len(person)),
    }
    pipeline.profile(run_of(make(pa.table(table))))


def expected_owners(table: dict[str, Any], placeholder: Any, unknown: str) -> list[Any]:
    """Whose each row is, by this test alone: None for a row that is left out."""
    owners = [None if one in (placeholder, "", None) else one for one in table["subject"]]
    return (
        owners
        if unknown == "drop"
        else [("lone", i) if one is None else one for i, one in enumerate(owners)]
    )


def judged(
    conf: Path,
    table: dict[str, Any],
    placeholder: Any,
    unknown: str,
    session: Any = None,
) -> dict[str, Any]:
    """The certificate of a release, after its people, classes and distances are computed from the
    files anew.
    """
    certificate: dict[str, Any] = dict(pipeline.release(run_of(conf, session)))
    owners = expected_owners(table, placeholder, unknown)
    nobody = sum(one is None or isinstance(one, tuple) for one in owners)
    stay = [
        reason for reason, owner in zip(table["reason"], owners, strict=True) if owner is not None
    ]
    assert certificate["people"]["unknown"] == {"rows": nobody, "treatment": unknown}
    assert certificate["input"]["rows"] == len(stay)
    assert certificate["people"]["people"] == len({*owners} - {None})
    whose = read(conf.parent / "out/internal/people")
    assert sorted(Counter(whose["person_hash"]).values()) == sorted(
        Counter(owner for owner in owners if owner is not None).values(),
    )
    assert Counter(whose["reason"]) == Counter(stay)
    smallest = whose.groupby("age")["person_hash"].nunique().min()
    assert smallest >= K
    assert certificate["people"]["smallest_class"] == smallest
    assert _farthest(whose) == Fraction(
        str(certificate["guarantees"]["t"]["reason"]["achieved_exact"]),
    ) or (
        abs(float(_farthest(whose)) - certificate["guarantees"]["t"]["reason"]["achieved"]) < 1e-9
    )
    assert verify_finished(run_of(conf, session)).holds
    return certificate


def _farthest(rows: pd.DataFrame) -> Fraction:
    """The largest distance of a class's reasons from those of all rows that stay, all values
    equally far apart.
    """
    whole = Counter(rows["reason"])
    distances = []
    for _, one in rows.groupby("age"):
        part = Counter(one["reason"])
        differences = (
            abs(Fraction(part[value], len(one)) - Fraction(n, len(rows)))
            for value, n in whole.items()
        )
        distances.append(sum(differences, Fraction(0)) / 2)
    return max(distances)


@pytest.mark.parametrize("unknown", ["drop", "alone"])
@settings(max_examples=8)
@given(
    seed=st.integers(0, 1_000),
    people=st.integers(20, 60),
    each=st.integers(1, 4),
    nobody=st.integers(0, 120),
    placeholder=st.sampled_from(["-", "0", 0, 999999, ""]),
)
def test_drawn_tables_are_released_of_the_rows_that_the_run_file_says(
    write_run: MakeConf,
    tmp_path_factory: pytest.TempPathFactory,
    unknown: str,
    seed: int,
    people: int,
    each: int,
    nobody: int,
    placeholder: Any,
) -> None:
    table = visits(placeholder, people, each, nobody, seed)
    listed = {} if placeholder == "" else {"placeholders": [placeholder]}
    conf = write_conf(write_run, tmp_path_factory.mktemp("drawn"), table, unknown=unknown, **listed)
    judged(conf, table, placeholder, unknown)


@pytest.mark.on_spark
@pytest.mark.parametrize("unknown", ["drop", "alone"])
def test_both_engines_publish_the_same(make: MakeConf, session: Any, unknown: str) -> None:
    table = visits("-")
    conf = make(table, placeholders=["-"], unknown=unknown)
    on_spark = judged(conf, table, "-", unknown, session)
    here = judged(conf, table, "-", unknown)
    assert {**on_spark, "issued": None} == {**here, "issued": None}


def test_equal_rows_without_a_person_are_different_people(make: MakeConf) -> None:
    table = visits("-", unknown=0)
    for name, value in (("subject", "-"), ("age", 30), ("reason", "a")):
        table[name] = [*table[name], *[value] * 50]
    certificate = pipeline.release(run_of(make(table, placeholders=["-"], unknown="alone")))
    assert certificate["people"]["people"] == 60 + 50


def test_a_line_of_releases_leaves_rows_without_a_person_out(
    make: MakeConf,
    write_run: MakeConf,
    tmp_path: Path,
) -> None:
    first = make(visits("-"), placeholders=["-"], unknown="drop")
    after, line = (
        f"output.after={first.parent / 'out'}",
        ["method.name=closeness_tree", "privacy.of=released"],
    )
    pipeline.release(Run(load_spec(first, line), LocalSession(), lambda line: None))
    newcomers = {
        **visits("-", people=30, seed=2),
        "subject": [f"N{i // 3}" for i in range(90)] + ["-"] * 90,
    }
    both = {name: [*values, *newcomers[name]] for name, values in visits("-").items()}
    conf = write_conf(write_run, tmp_path / "second", both, placeholders=["-"], unknown="drop")
    certificate = pipeline.release(
        Run(load_spec(conf, [after, *line]), LocalSession(), lambda line: None),
    )
    assert certificate["people"]["unknown"] == {"rows": 180, "treatment": "drop"}
    assert certificate["earlier"]["number"] == 2
    with pytest.raises(ConfigurationError, match="no later release can recognize"):
        load_spec(conf, [after, *line, "attributes.person.unknown=alone"])


AUDITED = {"quasi_identifiers": ["age"], "sensitive": {"reason": "equal"}}


@pytest.mark.parametrize(("unknown", "people"), [("drop", 60), ("alone", 150)])
def test_an_audit_takes_the_same_keys(unknown: str, people: int) -> None:
    table = pa.table(visits("-"))
    with_settings = {"column": "subject", "placeholders": ["-"], "unknown": unknown}
    for person in (with_settings, f"subject:{unknown}:-"):
        found = tclose_spark.audit(table, **AUDITED, person=person)
        assert sum(found.people.values()) == people
        assert any(note.startswith("90 rows have no 'subject', and are") for note in found.notes)
        assert found.figures.rows == (180 if unknown == "drop" else 270)
