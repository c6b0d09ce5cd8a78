"""The synthetic census: the same rows anywhere, the dependences of a census, hierarchies that are trees."""

import csv
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from tclose_spark.synthetic import distributions as t
from tclose_spark.synthetic.census import PEOPLE_COLUMNS, generate_people, write_hierarchies

ROWS = 200_000


@pytest.fixture(scope="module")
def people(spark: SparkSession) -> Iterator[DataFrame]:
    """200,000 people, computed once."""
    people = generate_people(spark, ROWS, partitions=2).cache()
    yield people
    people.unpersist()


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


def sorted_rows(people: DataFrame) -> list[Row]:
    return sorted(people.collect())


def means(people: DataFrame, by: str, of: str) -> dict[str, float]:
    return {row[0]: row[1] for row in people.groupBy(by).agg(F.avg(of)).collect()}


def test_has_the_described_columns(people: DataFrame) -> None:
    assert people.dtypes == [(column.name, column.type) for column in PEOPLE_COLUMNS]


def test_has_all_rows_without_nulls_and_unique_ids(people: DataFrame) -> None:
    counts = people.agg(F.countDistinct("person_id"), *(F.count(name) for name in people.columns)).first()
    assert counts is not None
    assert set(counts) == {ROWS}


def test_ids_do_not_tell_the_order(spark: SparkSession) -> None:
    ids = [row.person_id for row in generate_people(spark, 1_000, partitions=1).collect()]
    rising = sum(first < second for first, second in pairwise(ids))
    assert 400 < rising < 600


def test_rows_are_the_same_for_any_partitioning(spark: SparkSession) -> None:
    one, three, eight = (generate_people(spark, 2_000, partitions=number) for number in (1, 3, 8))
    assert eight.rdd.getNumPartitions() == 8
    assert sorted_rows(one) == sorted_rows(three) == sorted_rows(eight)


def test_another_seed_gives_other_people(spark: SparkSession) -> None:
    first, second = (generate_people(spark, 1_000, seed=seed).collect() for seed in (1, 2))
    assert not {row.person_id for row in first} & {row.person_id for row in second}
    same = sum(one[1:] == other[1:] for one, other in zip(first, second, strict=True))
    assert same < 20  # small children differ in little but age, region and disease


def test_seeds_are_signed_64_bit_integers(spark: SparkSession) -> None:
    assert generate_people(spark, 10, seed=2**63 - 1).count() == 10
    assert generate_people(spark, 10, seed=-(2**63)).count() == 10


def test_a_smaller_census_is_the_start_of_a_larger_one(spark: SparkSession) -> None:
    small, large = (set(generate_people(spark, rows).collect()) for rows in (700, 2_000))
    assert len(small) == 700
    assert small < large


def test_the_first_people_stay_the_same_in_every_version(spark: SparkSession) -> None:
    ids = {row.person_id for row in generate_people(spark, 2).collect()}
    assert ids == {5039182813088611096, 9128909568151743607}


def test_no_rows(spark: SparkSession) -> None:
    assert generate_people(spark, 0).collect() == []


@pytest.mark.parametrize(
    ("rows", "seed", "partitions"), [(-1, 0, None), (1, 2**63, None), (1, -(2**63) - 1, None), (1, 0, 0)]
)
def test_refuses_senseless_arguments(spark: SparkSession, rows: int, seed: int, partitions: int | None) -> None:
    with pytest.raises(ValueError, match="must be"):
        generate_people(spark, rows, seed, partitions)


def test_children_neither_marry_nor_work_nor_earn(people: DataFrame) -> None:
    children = people.filter("age < 15").select(
        "marital_status", "occupation", "hours", "income", F.col("education").isin("No schooling", "Primary")
    )
    assert [tuple(row) for row in children.distinct().collect()] == [("Never married", "Not working", 0, 0, True)]


def test_hours_are_those_of_the_employed(people: DataFrame) -> None:
    hours = people.groupBy(F.col("occupation").isin(*t.NOT_EMPLOYED)).agg(F.min("hours"), F.max("hours"))
    bounds = {row[0]: (row[1], row[2]) for row in hours.collect()}
    assert bounds[True] == (0, 0)
    assert bounds[False][0] > 0
    assert bounds[False][1] < 100


def test_ages_form_a_pyramid(people: DataFrame) -> None:
    counts = {row.age: row["count"] for row in people.groupBy("age").count().collect()}
    assert set(counts) == set(range(100))
    assert counts[55] > counts[5] > counts[85] > counts[95]


def test_income_rises_with_education(people: DataFrame) -> None:
    adults = people.filter("age >= 25")
    mean = means(adults, "education", "income")
    in_order = [mean[label] for label in t.leaves(t.EDUCATION_TREE)]
    assert in_order == sorted(in_order)
    assert in_order[-1] > 3 * in_order[0]


def test_income_has_a_long_tail(people: DataFrame) -> None:
    employed = people.filter("hours > 0").agg(F.avg("income"), F.median("income"), F.max("income")).first()
    assert employed is not None
    mean, median, largest = employed
    assert mean > 1.15 * median
    assert largest > 10 * median


def test_the_sexes_differ_in_hours_income_and_lifetime(people: DataFrame) -> None:
    for of, more, less in (
        ("hours", "Male", "Female"),
        ("income", "Male", "Female"),
        ("age", "Female", "Male"),
    ):
        mean = means(people, "sex", of)
        assert mean[more] > mean[less]


def test_younger_adults_are_better_educated(people: DataFrame) -> None:
    degree = F.col("education").isin("Bachelor", "Master", "Doctorate").cast("int")
    adults = people.filter("age >= 25").select(F.when(F.col("age") < 45, "young").otherwise("old").alias("is"), "*")
    share = means(adults.withColumn("degree", degree), "is", "degree")
    assert share["young"] > 1.5 * share["old"]


def test_a_few_towns_hold_a_third(people: DataFrame) -> None:
    counts = sorted((row["count"] for row in people.groupBy("region").count().collect()), reverse=True)
    assert 0.3 < sum(counts[:4]) / ROWS < 0.4


def test_diseases_depend_on_age_and_one_is_rare(people: DataFrame) -> None:
    assert 0.5 < people.filter(F.col("disease") == t.RARE_DISEASE).count() * 2_000 / ROWS < 2
    age = means(people, "disease", "age")
    assert age["No disease"] < age["Hypertension"]
    counts = {row.disease: row["count"] for row in people.groupBy("disease").count().collect()}
    assert counts["No disease"] > ROWS / 2


def check_by_age(table: Mapping[int, t.Weights], columns: int, total: int) -> None:
    assert list(table) == t.AGE_GROUP_STARTS
    assert all(len(row) == columns and sum(row) == total for row in table.values())


def test_tables_are_complete() -> None:
    check_by_age(t.SEX_BY_AGE, len(t.SEXES), 100)
    check_by_age(t.EDUCATION_BY_AGE, len(t.leaves(t.EDUCATION_TREE)), 100)
    check_by_age(t.DISEASE_BY_AGE, len(t.leaves(t.DISEASE_TREE)) - 1, 200)
    for sex in t.SEXES:
        check_by_age(t.MARITAL_STATUS_BY_SEX_AND_AGE[sex], len(t.leaves(t.MARITAL_STATUS_TREE)), 100)
        check_by_age(t.ACTIVITY_BY_SEX_AND_AGE[sex], len(t.NOT_EMPLOYED) + 1, 100)
        check_by_age(t.SHARE_OF_HOURS_BY_SEX_AND_AGE[sex], len(t.SHARE_OF_HOURS), 100)
    jobs_by_group_and_sex = list(zip(*(weights for _, _, weights in t.JOBS.values()), strict=True))
    assert [sum(column) for column in jobs_by_group_and_sex] == [100] * 8
    assert list(t.INCOME_OF_NOT_EMPLOYED) == t.NOT_EMPLOYED
    assert list(t.INCOME_BY_AGE) == list(t.RARE_DISEASE_BY_AGE) == t.AGE_GROUP_STARTS
    assert t.leaves(t.DISEASE_TREE)[-1] == t.RARE_DISEASE


def test_there_is_a_hierarchy_for_each_column_that_has_one(hierarchies: dict[str, list[list[str]]]) -> None:
    assert set(hierarchies) == {"region", "education", "marital_status", "occupation", "disease"}


@pytest.mark.parametrize("column", sorted(t.HIERARCHIES))
def test_hierarchies_cover_what_occurs(people: DataFrame, hierarchies: dict[str, list[list[str]]], column: str) -> None:
    occurring = {row[0] for row in people.select(column).distinct().collect()}
    assert occurring == {line[0] for line in hierarchies[column]}


@pytest.mark.parametrize("column", sorted(t.HIERARCHIES))
def test_hierarchies_are_trees_by_label(hierarchies: dict[str, list[list[str]]], column: str) -> None:
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
