"""The synthetic census: the same rows anywhere, the dependences of a census, hierarchies that are
trees.
"""

import csv
import hashlib
import subprocess
import sys
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from typer.testing import CliRunner

import tclose_spark as tc
from tclose_spark.cli.commands import app
from tclose_spark.errors import ConfigurationError
from tclose_spark.synthetic import census
from tclose_spark.synthetic import distributions as t
from tclose_spark.synthetic.census import (
    PEOPLE_COLUMNS,
    SCHEMA,
    SPARK_SEED,
    generate_people,
    hash_numbers,
    hash_text,
    write_hierarchies,
    write_people,
)

ROWS = 200_000


def made(rows: int, seed: int = 2026) -> pa.Table:
    return pa.Table.from_batches(generate_people(rows, seed), SCHEMA)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    """200,000 people."""
    return made(ROWS).to_pandas()


@pytest.fixture(scope="module")
def hierarchies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[list[str]]]:
    """The lines of each hierarchy file, by column."""
    folder = tmp_path_factory.mktemp("census") / "hierarchies"
    write_hierarchies(folder)
    lines = {}
    for file in folder.iterdir():
        with file.open(encoding="utf-8", newline="") as text:
            lines[file.stem] = list(csv.reader(text, delimiter=";"))
    return lines


def test_has_the_described_columns() -> None:
    found = [(field.name, field.type) for field in made(3).schema]
    assert found == [(column.name, column.type) for column in PEOPLE_COLUMNS]


def test_has_all_rows_without_nulls_and_unique_ids(people: pd.DataFrame) -> None:
    assert {people["person_id"].nunique(), *people.count()} == {ROWS}


def test_ids_do_not_tell_the_order() -> None:
    rising = sum(first < second for first, second in pairwise(made(1_000)["person_id"].to_pylist()))
    assert 400 < rising < 600


def test_rows_are_the_same_however_many_are_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    together = made(2_000)
    monkeypatch.setattr(census, "AT_ONCE", 300)
    assert [batch.num_rows for batch in generate_people(2_000)] == [300] * 6 + [200]
    assert made(2_000).equals(together)


def test_another_seed_gives_other_people() -> None:
    first, second = (made(1_000, seed).to_pylist() for seed in (1, 2))
    assert not {row["person_id"] for row in first} & {row["person_id"] for row in second}
    same = sum(
        [*one.values()][1:] == [*other.values()][1:]
        for one, other in zip(first, second, strict=True)
    )
    assert same < 20  # small children differ in little but age, region and disease


@pytest.mark.parametrize("seed", [2**63 - 1, -(2**63)])
def test_seeds_are_signed_64_bit_integers(seed: int) -> None:
    assert made(10, seed).num_rows == 10


def test_a_smaller_census_is_the_start_of_a_larger_one() -> None:
    assert made(2_000).slice(0, 700).equals(made(700))


def test_the_people_stay_the_same_in_every_version() -> None:
    people = made(10_000).to_pandas()
    first = (
        "5039182813088611096 10 Male No schooling Never married Oldcastle Not working 0 0 No "
        "disease"
    )
    assert " ".join(map(str, people.iloc[0])) == first
    recorded = "2c418e9248164f39cb10c854a79b42666bc3779424b157f98c240321ec6ea35c"
    assert hashlib.sha256(people.to_csv(index=False).encode()).hexdigest() == recorded


@pytest.mark.parametrize("seed", [2026, -1, 2**63 - 1])
def test_hashes_are_those_of_spark(spark: SparkSession, seed: int) -> None:
    names = [
        text.ljust(length, "é")[:length]
        for length in range(16)
        for text in ("", "age", "marital_status")
    ]
    of_seed = hash_numbers(np.array([seed], np.int64).view(np.uint64), SPARK_SEED)
    expected = (
        spark.range(1)
        .select(*(F.xxhash64(F.lit(seed).cast("bigint"), F.lit(name)) for name in names))
        .first()
    )
    assert expected is not None
    assert [int(hash_text(name, of_seed).view(np.int64)[0]) for name in names] == list(expected)
    numbers = [0, 1, 41, 2**33, 2**63 - 1]
    rows = (
        spark.createDataFrame([(number,) for number in numbers], "n long")
        .select(F.xxhash64("n"))
        .collect()
    )
    assert hash_numbers(np.array(numbers, np.uint64), SPARK_SEED).view(np.int64).tolist() == [
        row[0] for row in rows
    ]


def test_no_rows() -> None:
    assert made(0).num_rows == 0


@pytest.mark.parametrize(("rows", "seed"), [(-1, 0), (1, 2**63), (1, -(2**63) - 1)])
def test_refuses_senseless_arguments(rows: int, seed: int) -> None:
    with pytest.raises(ConfigurationError, match="must be"):
        generate_people(rows, seed)


def test_a_file_has_the_people_in_place_of_what_was_there(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(census, "AT_ONCE", 100)
    file = tmp_path / "people.parquet"
    file.mkdir()  # as Spark writes it
    (file / "part-0.parquet").write_bytes(b"")
    write_people(file, 250)
    assert pq.read_table(file).equals(made(250))
    write_people(file, 120, seed=1)
    assert pq.read_table(file).equals(made(120, 1))
    assert pq.ParquetFile(file).num_row_groups == 2
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_a_large_file_needs_no_more_memory_than_a_small_one(tmp_path: Path) -> None:
    program = (
        "import resource, sys; from pathlib import Path; from tclose_spark.synthetic import census;"
        "census.AT_ONCE = 1 << 14; census.write_people(Path(sys.argv[1]), int(sys.argv[2]));"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )

    def most_memory(rows: int) -> int:
        """In KiB."""
        command = [sys.executable, "-c", program, str(tmp_path / "people.parquet"), str(rows)]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    small, large = most_memory(20_000), most_memory(1_500_000)
    as_table = made(1_500_000).nbytes // 1024
    assert large - small < as_table / 3


def test_a_file_that_cannot_be_written_leaves_the_one_before(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "people.parquet"
    write_people(file, 10)
    monkeypatch.setattr(
        census,
        "people_between",
        lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")),
    )
    with pytest.raises(OSError, match="No space left"):
        write_people(file, 20)
    assert pq.read_table(file).num_rows == 10
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_children_neither_marry_nor_work_nor_earn(people: pd.DataFrame) -> None:
    children = people[people["age"] < 15]
    lives = children[["marital_status", "occupation", "hours", "income"]].drop_duplicates()
    assert [tuple(row) for row in lives.to_numpy()] == [("Never married", "Not working", 0, 0)]
    assert children["education"].isin(["No schooling", "Primary"]).all()


def test_hours_are_those_of_the_employed(people: pd.DataFrame) -> None:
    works = ~people["occupation"].isin(t.NOT_EMPLOYED)
    assert set(people["hours"][~works]) == {0}
    assert people["hours"][works].between(1, 99).all()


def test_ages_form_a_pyramid(people: pd.DataFrame) -> None:
    counts = people["age"].value_counts()
    assert set(counts.index) == set(range(100))
    assert counts[55] > counts[5] > counts[85] > counts[95]


def test_income_rises_with_education(people: pd.DataFrame) -> None:
    mean = people[people["age"] >= 25].groupby("education")["income"].mean()
    in_order = [mean[label] for label in t.leaves(t.EDUCATION_TREE)]
    assert in_order == sorted(in_order)
    assert in_order[-1] > 3 * in_order[0]


def test_income_has_a_long_tail(people: pd.DataFrame) -> None:
    income = people["income"][people["hours"] > 0]
    assert income.mean() > 1.15 * income.median()
    assert income.max() > 10 * income.median()


@pytest.mark.parametrize(
    ("of", "more", "less"),
    [("hours", "Male", "Female"), ("income", "Male", "Female"), ("age", "Female", "Male")],
)
def test_the_sexes_differ_in_hours_income_and_lifetime(
    people: pd.DataFrame,
    of: str,
    more: str,
    less: str,
) -> None:
    mean = people.groupby("sex")[of].mean()
    assert mean[more] > mean[less]


def test_younger_adults_are_better_educated(people: pd.DataFrame) -> None:
    adults = people[people["age"] >= 25]
    degree = adults["education"].isin(["Bachelor", "Master", "Doctorate"])
    assert degree[adults["age"] < 45].mean() > 1.5 * degree[adults["age"] >= 45].mean()


def test_a_few_towns_hold_a_third(people: pd.DataFrame) -> None:
    assert 0.3 < people["region"].value_counts(normalize=True)[:4].sum() < 0.4


def test_diseases_depend_on_age_and_one_is_rare(people: pd.DataFrame) -> None:
    counts, age = people["disease"].value_counts(), people.groupby("disease")["age"].mean()
    assert 0.5 < counts[t.RARE_DISEASE] * 2_000 / ROWS < 2
    assert age["No disease"] < age["Hypertension"]
    assert counts["No disease"] > ROWS / 2


def check_by_age(table: Mapping[int, t.Weights], columns: int, total: int) -> None:
    assert list(table) == t.AGE_GROUP_STARTS
    assert all(len(row) == columns and sum(row) == total for row in table.values())


def test_tables_are_complete() -> None:
    check_by_age(t.SEX_BY_AGE, len(t.SEXES), 100)
    check_by_age(t.EDUCATION_BY_AGE, len(t.leaves(t.EDUCATION_TREE)), 100)
    check_by_age(t.DISEASE_BY_AGE, len(t.leaves(t.DISEASE_TREE)) - 1, 200)
    for sex in t.SEXES:
        check_by_age(
            t.MARITAL_STATUS_BY_SEX_AND_AGE[sex],
            len(t.leaves(t.MARITAL_STATUS_TREE)),
            100,
        )
        check_by_age(t.ACTIVITY_BY_SEX_AND_AGE[sex], len(t.NOT_EMPLOYED) + 1, 100)
        check_by_age(t.SHARE_OF_HOURS_BY_SEX_AND_AGE[sex], len(t.SHARE_OF_HOURS), 100)
    jobs_by_group_and_sex = list(zip(*(weights for _, _, weights in t.JOBS.values()), strict=True))
    assert [sum(column) for column in jobs_by_group_and_sex] == [100] * 8
    assert list(t.INCOME_OF_NOT_EMPLOYED) == t.NOT_EMPLOYED
    assert list(t.INCOME_BY_AGE) == list(t.RARE_DISEASE_BY_AGE) == t.AGE_GROUP_STARTS
    assert t.leaves(t.DISEASE_TREE)[-1] == t.RARE_DISEASE


def test_there_is_a_hierarchy_for_each_column_that_has_one(
    hierarchies: dict[str, list[list[str]]],
) -> None:
    assert set(hierarchies) == {"region", "education", "marital_status", "occupation", "disease"}


@pytest.mark.parametrize("column", sorted(t.HIERARCHIES))
def test_hierarchies_cover_what_occurs(
    people: pd.DataFrame,
    hierarchies: dict[str, list[list[str]]],
    column: str,
) -> None:
    assert set(people[column]) == {line[0] for line in hierarchies[column]}


@pytest.mark.parametrize("column", sorted(t.HIERARCHIES))
def test_hierarchies_are_trees_by_label(
    hierarchies: dict[str, list[list[str]]],
    column: str,
) -> None:
    lines = hierarchies[column]
    assert len({len(line) for line in lines}) == 1
    assert len({line[0] for line in lines}) == len(lines)
    assert {line[-1] for line in lines} == {"*"}
    levels: dict[str, set[int]] = {}
    parents: dict[str, set[str]] = {}
    for line in lines:
        for level, label in enumerate(line):
            levels.setdefault(label, set()).add(level)
        for label, parent in pairwise(line):
            parents.setdefault(label, set()).add(parent)
    assert all(len(found) == 1 for found in levels.values())
    assert all(len(found) == 1 for found in parents.values())


def test_writing_hierarchies_again_gives_the_same_files(tmp_path: Path) -> None:
    write_hierarchies(tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    write_hierarchies(tmp_path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    assert before["region.csv"].startswith(b"Northport;Harbour District;North Coast;*\n")


@pytest.mark.parametrize("encounters", [False, True])
def test_absurd_numbers_of_rows_are_refused_before_any_work(
    encounters: bool,
    tmp_path: Path,
) -> None:
    with pytest.raises(
        tc.ConfigurationError,
        match="rows must be at most 10,000,000,000",
    ) as raised:
        tc.generate(10**30, tmp_path / "hierarchies", encounters=encounters)
    assert raised.value.exit_code == 2
    assert not [*tmp_path.iterdir()]
    more = ["--encounters"] if encounters else []
    result = CliRunner().invoke(
        app,
        ["generate", "--rows", str(10**30), "--output", str(tmp_path / "out"), *more],
    )
    assert isinstance(result.exception, tc.ConfigurationError)
    assert not [*tmp_path.iterdir()]
