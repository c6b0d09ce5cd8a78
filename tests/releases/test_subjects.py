"""Whom rows are about is found in the data, whatever columns are called, and written above the
verdict.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from people import tree

import tclose_spark
from tclose_spark import pipeline
from tclose_spark.errors import InputError
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.run import Run
from tclose_spark.io.run_state import ProfileRecord
from tclose_spark.report.certificate.sections import Certificate
from tclose_spark.report.console import certificate_lines
from tclose_spark.runfile.loading import load_spec
from tclose_spark.stages.verify import verify_finished

MakeConf = Callable[..., Path]
NAMES = [
    *(
        "msisdn",
        "USUBJID",
        "subject",
        "member",
        "participant",
        "customer",
        "caseid",
        "vehicle",
        "Kundennummer",
        "ref",
    ),
    *("x1", "key", "NIR", "respondent", "line", "account", "Fallnummer", "code", "zzz", "dossier"),
]
QUASI: dict[str, Any] = {"age": {"type": "numeric"}, "gender": {}, "district": {}}
LEFT_OUT = {"drop_others": True}
BY_PERSON = {"person": "msisdn", "method": {"name": "t_mondrian"}}


def calls(name: str = "msisdn", people: int = 200, each: int = 6) -> dict[str, Any]:
    """People with several rows each, and what is constant for each of them."""
    rng = np.random.default_rng(1)
    person = np.repeat(np.arange(people), each)
    return {
        name: (447_910_000_000 + 17 * person).tolist(),
        "age": rng.integers(18, 80, people)[person].tolist(),
        "gender": rng.choice(["m", "f"], people)[person].tolist(),
        "district": rng.choice([f"D{i}" for i in range(8)], people)[person].tolist(),
        "reason": rng.choice(["a", "b", "c"], people * each).tolist(),
    }


def members(households: int = 200) -> dict[str, Any]:
    """Members of households, without a person's identifier."""
    rng = np.random.default_rng(2)
    home = np.repeat(np.arange(households), rng.integers(1, 6, households))
    rows = len(home)
    return {
        "hh": (5_000 + home).tolist(),
        "age": rng.integers(0, 90, rows).tolist(),
        "gender": rng.choice(["m", "f"], rows).tolist(),
        "region": rng.choice(list("ABCDEFGH"), households)[home].tolist(),
        "reason": rng.choice(["a", "b", "c"], rows).tolist(),
    }


def waves(people: int = 200, times: int = 5) -> pa.Table:
    """A panel without the identifier of its people."""
    rng = np.random.default_rng(3)
    of_people = {
        "birth_date": np.datetime64("1940-01-01") + rng.integers(0, 20_000, people),
        "gender": rng.choice(["m", "f"], people),
        "district": rng.choice([f"D{i}" for i in range(12)], people),
    }
    table = {name: np.tile(values, times) for name, values in of_people.items()}
    rows = people * times
    return pa.table(
        {
            **table,
            "visit": np.repeat(np.arange(times), people),
            "reason": rng.choice(["a", "b"], rows),
        },
    )


@pytest.fixture
def make(write_run: MakeConf, tmp_path: Path) -> MakeConf:
    def made(table: Any, **settings: Any) -> Path:
        asked = {
            "quasi": QUASI,
            "sensitive": {"reason": {"t": "0.5"}},
            "k": 5,
            **LEFT_OUT,
            **settings,
        }
        return write_run(tmp_path / "run", table, **asked)

    return made


def profiled(conf: Path, session: Any) -> dict[str, Any]:
    """What a single profile stage records."""
    run = Run(load_spec(conf), session, lambda line: None)
    pipeline.profile(run)
    return run.state.of(ProfileRecord).to_json()


@pytest.mark.parametrize("name", NAMES)
def test_a_column_that_groups_rows_is_found_whatever_its_name(make: MakeConf, name: str) -> None:
    found = profiled(make(calls(name)), LocalSession())
    (note,) = found["subjects"]["internal"]
    assert note == (
        f"rows are counted, and {name!r} groups them: about 200 values with 6 rows each, within "
        "which age, gender, district are constant; so k counts rows, not people; if these are "
        "persons, use attributes.person; if each row is a person, attributes.rows_are_persons: "
        "true"
    )
    assert found["repeated"] == [], "one note on a column"
    assert not any(name in note for note in found["warnings"])


@pytest.mark.parametrize("left_out", [True, False])
def test_the_note_stands_above_the_verdict_and_public_files_do_not_name_the_column(
    make: MakeConf,
    left_out: bool,
) -> None:
    listed = {} if left_out else {"direct_identifiers": ["msisdn"]}
    conf, lines = make(calls(), **listed), list[str]()
    run = Run(load_spec(conf), LocalSession(), lines.append)
    certificate = pipeline.release(run)
    public = (
        "rows are counted, and a column that is not published groups them: about 200 values with "
        "6 rows each, within which age, gender, district are constant; so k counts rows, not "
        "people"
    )
    assert certificate["subjects"] == {"rows_are_persons": False, "notes": [public]}
    output = conf.parent / "out"
    page = " ".join((output / "public/report.html").read_text().split())
    assert 0 < page.index(public) < page.index("Verdict: holds")
    internal = " ".join((output / "internal/report.html").read_text().split())
    assert 0 < internal.index("msisdn") < internal.index("Verdict: holds")
    assert any("'msisdn' groups them" in line for line in lines)
    for name, content in tree(output / "public").items():
        assert b"msisdn" not in content, name
    assert (
        certificate_lines(Certificate.read(certificate), "public", "internal")[0]
        == f"note: {public}"
    )
    assert verify_finished(Run(load_spec(conf), LocalSession(), lambda line: None)).holds


def test_that_rows_are_persons_is_recorded_and_silences_the_note(make: MakeConf) -> None:
    conf, lines = make(calls(), rows_are_persons=True), list[str]()
    certificate = pipeline.release(Run(load_spec(conf), LocalSession(), lines.append))
    assert certificate["subjects"] == {"rows_are_persons": True, "notes": []}
    assert not any("rows are counted" in line for line in lines)
    assert "attributes.rows_are_persons" in (conf.parent / "out/public/report.html").read_text()


def test_households_and_persons_without_an_identifier_have_notes(make: MakeConf) -> None:
    quasi = {"age": {"type": "numeric"}, "gender": {}, "region": {}}
    (note,) = profiled(make(members(), quasi=quasi), LocalSession())["subjects"]["internal"]
    assert note.startswith("'hh' groups rows like the members of households: about 200 values with")
    assert note.endswith("if they are households, attributes.household measures their risk")
    assert (
        profiled(make(members(), quasi=quasi, household="hh"), LocalSession())["subjects"][
            "internal"
        ]
        == []
    )
    quasi = {"birth_date": {"type": "date"}, "gender": {}, "district": {}}
    found = profiled(make(waves(), quasi=quasi), LocalSession())["subjects"]
    assert {*found} == {"internal", "public"}
    for notes in found.values():
        assert "about 200 groups of 5 rows look like one person each by" in notes[0]


def test_a_table_of_persons_has_no_note(make: MakeConf) -> None:
    rows = calls(each=1, people=300)
    assert profiled(make(rows), LocalSession())["subjects"] == {"internal": [], "public": []}


REFUSED = [
    (
        {"insensitive_attributes": ["msisdn"]},
        "insensitive attribute 'msisdn' groups rows like persons",
    ),
    (
        {"sensitive": {"reason": {"t": "0.5"}, "msisdn": {}}},
        "sensitive attribute 'msisdn' groups rows like persons",
    ),
]


@pytest.mark.parametrize(("settings", "message"), REFUSED)
def test_a_published_column_that_groups_rows_is_refused_unless_it_is_allowed(
    make: MakeConf,
    settings: dict[str, Any],
    message: str,
) -> None:
    with pytest.raises(InputError, match=message):
        profiled(make(calls(), **settings), LocalSession())
    found = profiled(make(calls(), **settings, allow_unique=["msisdn"]), LocalSession())
    assert "'msisdn' groups them" in found["subjects"]["internal"][0]
    assert "'msisdn' groups them" in found["subjects"]["public"][0], "it is published"


def test_a_second_number_of_a_person_is_refused_although_people_are_counted(make: MakeConf) -> None:
    rows = calls()
    rows["ref"] = [f"r{number}" for number in rows["msisdn"]]
    with pytest.raises(InputError, match="insensitive attribute 'ref' groups rows like persons"):
        profiled(make(rows, **BY_PERSON, insensitive_attributes=["ref"]), LocalSession())


def test_a_persons_number_as_quasi_identifier_has_a_note(make: MakeConf) -> None:
    rows = calls()
    rows["ref"] = [f"r{number}" for number in rows["msisdn"]]
    found = profiled(make(rows, **BY_PERSON, quasi={**QUASI, "ref": {}}), LocalSession())
    assert any(
        note.startswith("quasi-identifier 'ref' groups rows like persons")
        for note in found["warnings"]
    )


@pytest.mark.on_spark
@pytest.mark.parametrize(
    "table",
    [calls(), members(), waves()],
    ids=["persons", "households", "panel"],
)
def test_both_engines_find_the_same(
    write_run: MakeConf,
    tmp_path: Path,
    session: Any,
    table: Any,
) -> None:
    names = table.column_names if isinstance(table, pa.Table) else [*table]
    quasi = {name: {} for name in names if name in ("gender", "district", "region")}
    conf = write_run(tmp_path, table, quasi=quasi, sensitive={"reason": {}}, **LEFT_OUT)
    assert profiled(conf, session)["subjects"] == profiled(conf, LocalSession())["subjects"] != {}


AUDITED = {"quasi_identifiers": ["age", "gender", "district"], "sensitive": {"reason": "equal"}}


def test_an_audit_has_the_note_unless_people_are_counted() -> None:
    table = pa.table(calls())
    found = tclose_spark.audit(table, **AUDITED)
    assert found.notes[0].startswith(
        "rows are counted, and 'msisdn' groups them: about 200 values with 6 rows each",
    )
    assert "--person" in found.notes[0]
    assert "msisdn" in json.dumps(found.to_json()["notes"])
    assert not any(
        "rows are counted" in note
        for note in tclose_spark.audit(table, **AUDITED, person="msisdn").notes
    )


def test_an_audit_of_a_release_takes_no_class_for_a_person(make: MakeConf) -> None:
    conf = make(calls(people=400), rows_are_persons=True)
    pipeline.release(Run(load_spec(conf), LocalSession(), lambda line: None))
    found = tclose_spark.audit(str(conf.parent / "out/public/release"), **AUDITED)
    assert not any("groups" in note or "rows are counted" in note for note in found.notes)
