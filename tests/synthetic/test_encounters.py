"""Synthetic hospital stays: the shape of the diabetes table, and rows that fit together."""

import csv
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from tclose_spark import generate
from tclose_spark.errors import ConfigurationError
from tclose_spark.synthetic import encounters as stays
from tclose_spark.synthetic.census import generate_people

ROWS = 101_766


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    frame = pa.Table.from_batches(stays.generate_encounters(ROWS)).to_pandas()
    return frame.assign(admitted=pd.to_datetime(frame.admitted))


def test_has_as_many_patients_and_codes_as_the_diabetes_table(table: pd.DataFrame) -> None:
    assert len(table) == table.encounter_id.nunique() == ROWS
    assert abs(table.patient_nbr.nunique() - 71_518) < 200
    assert table.diagnosis.nunique() == 717
    assert table.groupby("patient_nbr").size().max() == len(stays.t.STAYS_OF_A_PATIENT)


def test_the_rows_of_a_patient_fit_together(table: pd.DataFrame) -> None:
    patients = table.groupby("patient_nbr", sort=False)
    assert (patients[["sex", "region"]].nunique() == 1).all(axis=None)
    assert (patients.age.nunique() > 1).mean() > 0.1  # which is the point of `rows: apart`
    assert not table.isna().any(axis=None)
    gaps = patients.admitted.diff(-1).dt.days.mul(-1)
    expected = gaps.map(
        lambda days: "no" if pd.isna(days) else "after 30 days" if days > 30 else "within 30 days",
    )
    assert (expected[:-1] == table.readmitted[:-1]).all()
    assert not ((table.ward == "obstetrics") & (table.sex == "Male")).any()
    again = table.diagnosis == patients.diagnosis.transform("first")
    assert 0.5 < again[patients.cumcount() > 0].mean() < 0.6


def test_patients_are_the_people_of_the_census(table: pd.DataFrame) -> None:
    """So a census of the same seed is a list of people that an adversary may have."""
    people = pa.Table.from_batches(generate_people(ROWS)).to_pandas().set_index("person_id")
    first = table.groupby("patient_nbr").first()
    joined = first.join(people, rsuffix="_of_person")
    assert (joined.sex == joined.sex_of_person).all()
    assert (joined.age == joined.age_of_person).all()


def test_a_larger_table_begins_with_a_smaller_one_and_a_seed_makes_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    large = generate(5_000, encounters=True)
    monkeypatch.setattr(stays, "AT_ONCE", 64)
    assert generate(3_000, encounters=True).equals(large.slice(0, 3_000).combine_chunks())
    assert generate(0, encounters=True).schema == large.schema
    assert not generate(3_000, encounters=True, seed=1).equals(large.slice(0, 3_000))
    with pytest.raises(ConfigurationError, match="rows must be 0 or more"):
        generate(-1, encounters=True)


def test_hierarchies_have_every_value(table: pd.DataFrame, tmp_path: Path) -> None:
    generate(10, tmp_path, encounters=True)
    for column in ("diagnosis", "region"):
        with (tmp_path / f"{column}.csv").open() as file:
            lines = list(csv.reader(file, delimiter=";"))
        assert {line[0] for line in lines} >= set(table[column])
        assert {len(line) for line in lines} == {4}
        assert {line[-1] for line in lines} == {"*"}
    assert len(lines) == 60
