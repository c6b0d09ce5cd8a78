"""A synthetic census of any size, with realistic dependences between columns.

Every value is a pure function of the seed and the row number: their hash, as a uniform number, picks from the tables of
`distributions`. Partitions, the order of work and retries do not change it.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tclose_spark.synthetic import distributions as t


@dataclass(frozen=True, slots=True)
class PeopleColumn:
    """A column of the census: its name, Spark SQL type and role in a release."""

    name: str
    type: Literal["bigint", "int", "string"]
    role: Literal["identifier", "quasi-identifier", "sensitive"]


PEOPLE_COLUMNS: Final = (
    PeopleColumn("person_id", "bigint", "identifier"),
    PeopleColumn("age", "int", "quasi-identifier"),
    PeopleColumn("sex", "string", "quasi-identifier"),
    PeopleColumn("education", "string", "quasi-identifier"),
    PeopleColumn("marital_status", "string", "quasi-identifier"),
    PeopleColumn("region", "string", "quasi-identifier"),
    PeopleColumn("occupation", "string", "quasi-identifier"),
    PeopleColumn("hours", "int", "quasi-identifier"),
    PeopleColumn("income", "bigint", "sensitive"),
    PeopleColumn("disease", "string", "sensitive"),
)

# The draws. Each has its own uniform number in each row, the column `<name>_u`. The name is part of the hash, so a new
# draw changes no other.
_DRAWS: Final = (
    "age", "sex", "education", "marital_status", "region", "activity", "job", "hours", "income", "disease",
    "rare_disease",
)  # fmt: skip


def generate_people(spark: SparkSession, rows: int, seed: int = 2026, partitions: int | None = None) -> DataFrame:
    """Synthetic people with the columns of `PEOPLE_COLUMNS`, in that order, without nulls.

    The rows depend on `rows` and `seed` only. With the same seed, a larger table contains every smaller one.
    `person_id` is unique and reveals no order; the order of rows is not guaranteed. Each action on the result generates
    the people again, so write them to query them more than once.

    Args:
        spark: The session.
        rows: The number of people, 0 or more.
        seed: Any signed 64-bit integer.
        partitions: Of the result; by default the session's parallelism.

    Raises:
        ValueError: `rows` is negative, `seed` is not a signed 64-bit integer, or `partitions` is less than 1.
    """
    if rows < 0:
        raise ValueError(f"rows must be 0 or more, not {rows}")
    if not -(2**63) <= seed < 2**63:
        raise ValueError(f"seed must be a signed 64-bit integer, not {seed}")
    if partitions is not None and partitions < 1:
        raise ValueError(f"partitions must be 1 or more, not {partitions}")

    # `<name>_n` is the position of a value among its column's values, by which tables are looked up. Each step is a
    # projection of its own, so that shared values are computed once per row.
    people = spark.range(0, rows, 1, partitions).select(
        _hash(seed, "person_id").alias("person_id"),
        *(_uniform(seed, name).alias(f"{name}_u") for name in _DRAWS),
    )
    people = people.withColumn("age", _draw("age", [t.AGE_PYRAMID]))
    people = people.withColumn("age_n", _at(_age_groups(), F.col("age")))
    people = people.withColumns(
        {
            "sex_n": _draw("sex", list(t.SEX_BY_AGE.values()), F.col("age_n")),
            "education_n": _draw("education", list(t.EDUCATION_BY_AGE.values()), F.col("age_n")),
            "region_n": _draw("region", [_town_weights()]),
            "disease_n": _disease(),
        }
    )
    # Tables by sex and age are looked up by one number: all the ages of the first sex, then of the second.
    people = people.withColumn("sex_age_n", F.col("sex_n") * len(t.AGE_GROUP_STARTS) + F.col("age_n"))
    marital_status = [row for sex in t.SEXES for row in t.MARITAL_STATUS_BY_SEX_AND_AGE[sex].values()]
    people = people.withColumns(
        {
            "marital_status_n": _draw("marital_status", marital_status, F.col("sex_age_n")),
            "occupation_n": _occupation(),
        }
    )
    people = people.withColumn("hours", _hours())
    return people.select(
        "person_id",
        "age",
        _at(t.SEXES, F.col("sex_n")).alias("sex"),
        _at(t.leaves(t.EDUCATION_TREE), F.col("education_n")).alias("education"),
        _at(t.leaves(t.MARITAL_STATUS_TREE), F.col("marital_status_n")).alias("marital_status"),
        _at(t.leaves(t.REGION_TREE), F.col("region_n")).alias("region"),
        _at([*t.NOT_EMPLOYED, *t.JOBS], F.col("occupation_n")).alias("occupation"),
        "hours",
        _income().alias("income"),
        _at(t.leaves(t.DISEASE_TREE), F.col("disease_n")).alias("disease"),
    )


def write_hierarchies(folder: Path) -> None:
    """Writes `<column>.csv` into `folder` for each column of `HIERARCHIES`, with every value of the census.

    The files have the format of ARX: UTF-8, no header, separator `;`, one line for each leaf, leaf first, `*` last.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for column, tree in t.HIERARCHIES.items():
        with (folder / f"{column}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter=";", lineterminator="\n").writerows(t.paths(tree, ("*",)))


def _hash(seed: int, name: str) -> Column:
    # xxhash64 of one long is a bijection, so distinct rows have distinct hashes. The inner hash is a constant.
    return F.xxhash64(F.xxhash64(F.lit(seed).cast("bigint"), F.lit(name)), F.col("id"))


def _uniform(seed: int, name: str) -> Column:
    # 32 bits and a half: never 0 or 1, so that logarithms exist. `_draw` can add a row number and multiply by a table's
    # width without rounding.
    return (F.shiftrightunsigned(_hash(seed, name), 32) + 0.5) * 2.0**-32


def _at(values: Sequence[float] | Sequence[int] | Sequence[str], position: Column) -> Column:
    """`values[position]`."""
    # As SQL text: one call of the JVM instead of one for each value.
    return F.get(F.expr(f"array({', '.join(_sql(value) for value in values)})"), position)


def _sql(value: float | int | str) -> str:
    return f"{value!r}D" if isinstance(value, float) else repr(value)


def _draw(name: str, table: Sequence[t.Weights], row: Column | None = None) -> Column:
    """The position that the draw `name` picks in row number `row` (or the only row) of `table`.

    The rows of the table become one array with as many slots for a position as its weight. A draw is then one look-up,
    which is little code for the JVM to compile.
    """
    slots = [position for weights in table for position, weight in enumerate(weights) for _ in range(weight)]
    width = len(slots) // len(table)
    uniform = F.col(f"{name}_u")
    return _at(slots, F.floor((uniform if row is None else row + uniform) * width))


def _age_groups() -> list[int]:
    """The number of the age group of each age."""
    return [sum(start <= age for start in t.AGE_GROUP_STARTS) - 1 for age in range(len(t.AGE_PYRAMID))]


def _town_weights() -> list[int]:
    towns = [towns for districts in t.REGIONS.values() for towns in districts.values()]
    return [weight for weights in towns for weight in weights.values()]


def _disease() -> Column:
    rare = _at(list(t.RARE_DISEASE_BY_AGE.values()), F.col("age_n"))
    return F.when(F.col("rare_disease_u") < rare, t.leaves(t.DISEASE_TREE).index(t.RARE_DISEASE)).otherwise(
        _draw("disease", list(t.DISEASE_BY_AGE.values()), F.col("age_n"))
    )


def _occupation() -> Column:
    """The position among `NOT_EMPLOYED` and then `JOBS`."""
    activities = [row for sex in t.SEXES for row in t.ACTIVITY_BY_SEX_AND_AGE[sex].values()]
    activity = _draw("activity", activities, F.col("sex_age_n"))
    groups = [path[1] for path in t.paths(t.EDUCATION_TREE)]
    group_of_education = [list(dict.fromkeys(groups)).index(group) for group in groups]
    jobs_by_group_and_sex = list(zip(*(weights for _, _, weights in t.JOBS.values()), strict=True))
    group_and_sex = _at(group_of_education, F.col("education_n")) * len(t.SEXES) + F.col("sex_n")
    job = _draw("job", jobs_by_group_and_sex, group_and_sex)
    return F.when(activity < len(t.NOT_EMPLOYED), activity).otherwise(job + len(t.NOT_EMPLOYED))


def _hours() -> Column:
    usual = [*(0 for _ in t.NOT_EMPLOYED), *(hours for _, hours, _ in t.JOBS.values())]
    shares = [row for sex in t.SEXES for row in t.SHARE_OF_HOURS_BY_SEX_AND_AGE[sex].values()]
    share = _at(t.SHARE_OF_HOURS, _draw("hours", shares, F.col("sex_age_n")))
    return F.floor(_at(usual, F.col("occupation_n")) * share + 0.5).cast("int")


def _income() -> Column:
    """The income: a median from the tables times long-tailed noise, rounded as people report it."""
    full_time = [*t.INCOME_OF_NOT_EMPLOYED.values(), *(pay for pay, _, _ in t.JOBS.values())]
    province = [t.INCOME_BY_PROVINCE[path[2]] for path in t.paths(t.REGION_TREE)]
    median = (
        _at(full_time, F.col("occupation_n"))
        * F.when(F.col("hours") > 0, F.col("hours") / 40.0).otherwise(1.0)
        * _at(list(t.INCOME_BY_AGE.values()), F.col("age_n"))
        * _at([t.INCOME_BY_EDUCATION[label] for label in t.leaves(t.EDUCATION_TREE)], F.col("education_n"))
        * _at([t.INCOME_BY_SEX[sex] for sex in t.SEXES], F.col("sex_n"))
        * _at(province, F.col("region_n"))
    )
    # log(u / (1 - u)) is a logistic deviate: close to normal, with the longer tails of incomes. Spark's exp and log are
    # the JVM's strict ones, so all machines agree to the last bit.
    logistic = F.log(F.col("income_u") / (1.0 - F.col("income_u")))
    return F.floor(median * F.exp(logistic * t.INCOME_SPREAD) / t.INCOME_STEP + 0.5) * t.INCOME_STEP
