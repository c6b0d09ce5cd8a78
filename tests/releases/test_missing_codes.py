"""Every verb that reads a raw table reads the codes of the run file as missing."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from people import read

from tclose_spark import pipeline
from tclose_spark.auditing.question import question_from_run_file
from tclose_spark.auditing.tables import AuditTables, open_source, opened_tables
from tclose_spark.comparing.trial import draw_rows
from tclose_spark.engine.tables import collect
from tclose_spark.errors import InputError
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.run import Run
from tclose_spark.options.population.judge import opened_population
from tclose_spark.runfile.loading import spec_of

TABLE = pa.table(
    {
        "age": [20, 999, 22, 23, 999, 25, 26, 27],
        "disease": ["flu", "gout", "Unknown", "flu", "gout", "flu", "gout", "flu"],
        "wave": ["a", "b", "Unknown", "a", "b", "a", "b", "a"],
    },
)
AGES = [20, None, 22, 23, None, 25, 26, 27]
ROLES: dict[str, Any] = {
    "quasi": {"age": {"type": "numeric", "missing_values": [999]}},
    "sensitive": {"disease": {"t": "0.9"}},
    "k": 2,
    "insensitive_attributes": ["wave"],
    "source": {"path": "people.parquet", "missing_values": ["Unknown"]},
}
Make = Callable[..., Run]


def test_a_release_has_missing_values_in_place_of_codes(make_run: Make) -> None:
    run = make_run(TABLE, **ROLES)
    pipeline.release(run)
    certificate = json.loads(Path(run.spec.output.public_path, "certificate.json").read_text())
    assert certificate["verdict"] == "holds"
    assert certificate["attributes"]["quasi_identifiers"]["age"]["span"] in ("5", "6", "7")
    text = Path(run.spec.output.public_path, "codebook.csv").read_text()
    assert [
        line.split(",")[5] for line in text.splitlines() if line.startswith(("disease,", "wave,"))
    ] == ["1", "1"]


def test_comparisons_audits_and_hierarchies_read_them_too(make_run: Make) -> None:
    run = make_run(TABLE, **ROLES)
    compared = draw_rows(run, run.internal, None).profile.quasi[0]
    assert (compared.low, compared.high, compared.missing) == (20, 27, 2)
    session = LocalSession()
    given = AuditTables(table=TABLE, reference=TABLE)
    with opened_tables(session, question_from_run_file(run.spec), given, None, {}) as (_, tables):
        assert collect(tables.table)["age"].to_pylist() == AGES
        assert collect(tables.reference)["disease"].null_count == 1
    assert collect(open_source(session, run.spec, ["age"]).table)["age"].to_pylist() == AGES


def test_the_population_is_read_alike(make_run: Make, tmp_path: Path) -> None:
    run = make_run(
        TABLE,
        **ROLES,
        privacy={"population": {"table": str(tmp_path / "people.parquet")}},
    )
    with opened_population(run) as people:
        assert collect(people)["age"].to_pylist().count(None) == 2


ROWS_OF_PEOPLE = {
    "id": ["Unknown", "p1", "p1", "p2", "p3", "p4", "p5", "p6"],
    "card": ["Unknown", "c1", "c1", "c2", "c3", "c4", "c5", "c6"],
    "age": [20] * 8,
    "disease": ["flu", "gout"] * 4,
}
CODED: dict[str, Any] = {
    "quasi": {"age": {"type": "numeric"}},
    "sensitive": {"disease": {"t": "0.9"}},
    "k": 2,
    "drop_others": True,
    "method": {"name": "closeness_tree"},
}


@pytest.mark.parametrize("code", ["Unknown", "", None])
@pytest.mark.parametrize("role", ["person", "household", "weight"])
def test_a_code_of_a_person_a_household_or_a_weight_is_missing(
    make_run: Make,
    role: str,
    code: str | None,
) -> None:
    values = [code, *["1"] * 7] if role == "weight" else [code, *ROWS_OF_PEOPLE["id"][1:]]
    source = {"path": "people.parquet", "missing_values": ["Unknown"]}
    run = make_run(
        pa.table({**ROWS_OF_PEOPLE, "id": values}),
        **CODED,
        source=source,
        **{role: "id"},
    )
    with pytest.raises(InputError, match=r"'id' .* in 1 of 8 rows"):
        pipeline.release(run)


def test_a_code_of_an_identifier_has_no_pseudonym(
    make_run: Make,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TCLOSE_SECRET", "a long secret of these tests")
    source = {"path": "people.parquet", "missing_values": ["Unknown"]}
    run = make_run(pa.table(ROWS_OF_PEOPLE), **CODED, source=source, pseudonyms={"card": {}})
    pipeline.release(run)
    cards = read(Path(run.public.path("release")))["card"]
    assert cards.isna().sum() == 1
    assert cards.nunique() == 6


@pytest.mark.parametrize("codes", [(), ("Unknown",)])
def test_identifiers_are_counted_without_codes(codes: tuple[str, ...]) -> None:
    spec = spec_of(
        {
            "name": "x",
            "input": {"path": "x.parquet", "missing_values": list(codes)},
            "output": {"path": "out"},
            "attributes": {
                **{
                    "quasi_identifiers": {"age": {}},
                    "sensitive_attributes": {"disease": {"t": 0.5}},
                },
                "direct_identifiers": ["name"],
            },
            "privacy": {"k": 2},
        },
    )
    assert spec.missing_values.get("name", ()) == codes
