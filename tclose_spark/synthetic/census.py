"""A synthetic census of any size, with realistic dependences between columns.

Every value is a pure function of the seed and the row number: their hash, as a uniform number,
picks from the tables of `distributions`.

The 64-bit xxHash (Collet 2012) of short keys, in numpy. It decides who the people of the census
are.
"""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tclose_spark.errors import ConfigurationError
from tclose_spark.synthetic import distributions as t
from tclose_spark.table.arrays import FloatArray, HashArray, IntArray

P1, P2, P3, P4, P5 = map(
    np.uint64,
    (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    ),
)


def hash_numbers(numbers: HashArray, seed: HashArray) -> HashArray:
    """The hash of each 64-bit number, shape (n,). Different numbers have different hashes. seed:
    shape (1,).
    """
    return _mixed(_with_word(seed + P5 + np.uint64(8), numbers))


def hash_text(text: str, seed: HashArray) -> HashArray:
    """The hash of a text of less than 32 bytes, shape (1,). seed: shape (1,)."""
    content = text.encode()
    words = np.frombuffer(content, "<u8", len(content) // 8)
    rest = content[len(content) // 8 * 8 :]
    state = seed + P5 + np.uint64(len(content))
    for word in words[:, np.newaxis]:
        state = _with_word(state, word)
    if len(rest) >= 4:
        half = np.frombuffer(rest, "<u4", 1).astype(np.uint64)
        state = _rotated(state ^ half * P1, 23) * P2 + P3
        rest = rest[4:]
    for byte in np.frombuffer(rest, np.uint8).astype(np.uint64)[:, np.newaxis]:
        state = _rotated(state ^ byte * P5, 11) * P1
    return _mixed(state)


def _with_word(state: HashArray, word: HashArray) -> HashArray:
    return _rotated(state ^ _rotated(word * P2, 31) * P1, 27) * P1 + P4


def _rotated(state: HashArray, bits: int) -> HashArray:
    return (state << np.uint64(bits)) | (state >> np.uint64(64 - bits))


def _mixed(state: HashArray) -> HashArray:
    state = (state ^ (state >> np.uint64(33))) * P2
    state = (state ^ (state >> np.uint64(29))) * P3
    return state ^ (state >> np.uint64(32))


AT_ONCE = 1 << 18  # people that are made at once, and a row group of a file
MOST_ROWS = 10**10  # of a synthetic table
SPARK_SEED = np.array([42], np.uint64)
"""The seed of Spark's function `xxhash64`, with which hashes are the same there."""


@dataclass(frozen=True, slots=True)
class PeopleColumn:
    """A column of the census: its name, type and role in a release."""

    name: str
    type: pa.DataType
    role: Literal["identifier", "quasi-identifier", "sensitive"]


PEOPLE_COLUMNS: Final = (
    PeopleColumn("person_id", pa.int64(), "identifier"),
    PeopleColumn("age", pa.int32(), "quasi-identifier"),
    PeopleColumn("sex", pa.string(), "quasi-identifier"),
    PeopleColumn("education", pa.string(), "quasi-identifier"),
    PeopleColumn("marital_status", pa.string(), "quasi-identifier"),
    PeopleColumn("region", pa.string(), "quasi-identifier"),
    PeopleColumn("occupation", pa.string(), "quasi-identifier"),
    PeopleColumn("hours", pa.int32(), "quasi-identifier"),
    PeopleColumn("income", pa.int64(), "sensitive"),
    PeopleColumn("disease", pa.string(), "sensitive"),
)
Paths = Sequence[tuple[str, ...]]
"""A hierarchy: for each leaf, the leaf and its groups from below."""
HIERARCHIES: Final[Mapping[str, Paths]] = {
    name: t.paths(tree, ("*",)) for name, tree in t.HIERARCHIES.items()
}
SCHEMA: Final = pa.schema([(column.name, column.type) for column in PEOPLE_COLUMNS])


def generate_people(rows: int, seed: int = 2026) -> Iterator[pa.RecordBatch]:
    """Synthetic people with the columns of `PEOPLE_COLUMNS`, without nulls, some at a time.

    The rows depend on `rows` and `seed` only. With the same seed, a larger table begins with every
    smaller one. `person_id` is unique and reveals no order.

    Args:
        rows: The number of people, 0 or more.
        seed: Any signed 64-bit integer.

    Raises:
        ConfigurationError: if `rows` is negative, or `seed` is not a signed 64-bit integer.
    """
    require_size(rows, seed)
    return (
        people_between(seed, first, min(first + AT_ONCE, rows)) for first in range(0, rows, AT_ONCE)
    )


def write_people(file: Path, rows: int, seed: int = 2026) -> None:
    """Writes the people of `generate_people` (see `write_table`)."""
    write_table(file, SCHEMA, generate_people(rows, seed))


def require_size(rows: int, seed: int) -> None:
    """Raises ConfigurationError if a table cannot have so many rows, or be drawn with this seed."""
    if rows < 0:
        raise ConfigurationError(f"rows must be 0 or more, not {rows}")
    if rows > MOST_ROWS:
        raise ConfigurationError(f"rows must be at most {MOST_ROWS:,}")
    if not -(2**63) <= seed < 2**63:
        raise ConfigurationError(f"seed must be a signed 64-bit integer, not {seed}")


def write_table(file: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    """Writes a table as a Parquet file, in place of what is there.

    Raises:
        OSError: if it cannot be written.
    """
    partial = file.with_name(f".{file.name}.partial")
    try:
        with pq.ParquetWriter(partial, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
        if file.is_dir():
            shutil.rmtree(file)
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)


def write_hierarchies(folder: Path, hierarchies: Mapping[str, Paths] = HIERARCHIES) -> None:
    """Writes `<column>.csv` into `folder` for each hierarchy, with every value that its column can
    have.

    The files have the format of ARX: UTF-8, no header, separator `;`, one line for each leaf, leaf
    first, `*` last.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for column, paths in hierarchies.items():
        with (folder / f"{column}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter=";", lineterminator="\n").writerows(paths)


@dataclass(frozen=True)
class Draws:
    """The draws of some rows. Each draw has its own uniform number in each row. The name of the
    draw is part of the hash, so a new draw changes no other.
    """

    seed: int
    ids: HashArray

    def hashes(self, name: str) -> HashArray:
        """A number for each row, which no other row has."""
        seed = np.array([self.seed], np.int64).view(np.uint64)
        of_draw = hash_text(name, hash_numbers(seed, SPARK_SEED))
        return hash_numbers(self.ids, hash_numbers(of_draw, SPARK_SEED))

    def uniform(self, name: str) -> FloatArray:
        """A number between 0 and 1 for each row."""
        # 32 bits and a half: never 0 or 1, so that logarithms exist. `pick` can add a row number
        # and multiply by a table's width without rounding.
        return ((self.hashes(name) >> np.uint64(32)).astype(np.float64) + 0.5) * 2.0**-32

    def pick(self, name: str, table: Sequence[t.Weights], row: IntArray | int = 0) -> IntArray:
        """The position that the draw `name` picks in row number `row` of `table`.

        The rows of the table become one array with as many slots for a position as its weight.
        """
        slots = [
            position
            for weights in table
            for position, weight in enumerate(weights)
            for _ in range(weight)
        ]
        return _at(
            slots,
            ((row + self.uniform(name)) * (len(slots) // len(table))).astype(np.int64),
        )


def people_between(seed: int, first: int, end: int) -> pa.RecordBatch:
    """The people with these row numbers. `<name>_n` is the position of a value among its column's
    values.
    """
    draws = Draws(seed, np.arange(first, end, dtype=np.uint64))
    age = draws.pick("age", [t.AGE_PYRAMID])
    age_n = _at(_age_groups(), age)
    sex_n = draws.pick("sex", list(t.SEX_BY_AGE.values()), age_n)
    education_n = draws.pick("education", list(t.EDUCATION_BY_AGE.values()), age_n)
    region_n = draws.pick("region", [_town_weights()])
    # Tables by sex and age are looked up by one number: all the ages of the first sex, then of the
    # second.
    sex_age_n = sex_n * len(t.AGE_GROUP_STARTS) + age_n
    marital_status = [
        row for sex in t.SEXES for row in t.MARITAL_STATUS_BY_SEX_AND_AGE[sex].values()
    ]
    occupation_n = _occupation(draws, sex_n, sex_age_n, education_n)
    hours = _hours(draws, sex_age_n, occupation_n)
    median = _median_income(age_n, sex_n, education_n, region_n, occupation_n, hours)
    values = {
        "person_id": draws.hashes("person_id").view(np.int64),
        "age": age,
        "sex": texts_at(t.SEXES, sex_n),
        "education": texts_at(t.leaves(t.EDUCATION_TREE), education_n),
        "marital_status": texts_at(
            t.leaves(t.MARITAL_STATUS_TREE),
            draws.pick("marital_status", marital_status, sex_age_n),
        ),
        "region": texts_at(t.leaves(t.REGION_TREE), region_n),
        "occupation": texts_at([*t.NOT_EMPLOYED, *t.JOBS], occupation_n),
        "hours": hours,
        "income": _income(draws, median),
        "disease": texts_at(t.leaves(t.DISEASE_TREE), _disease(draws, age_n)),
    }
    columns = [pa.array(values[field.name]).cast(field.type) for field in SCHEMA]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _at(values: Sequence[float], position: IntArray) -> NDArray[Any]:
    """`values[position]`, shape (n,)."""
    return np.array(values)[position]


def texts_at(values: Sequence[str], position: IntArray) -> pa.Array:
    """`values[position]`, as text."""
    return pa.array(values, pa.string()).take(pa.array(position))


def _age_groups() -> list[int]:
    """The number of the age group of each age."""
    return [
        sum(start <= age for start in t.AGE_GROUP_STARTS) - 1 for age in range(len(t.AGE_PYRAMID))
    ]


def _town_weights() -> list[int]:
    towns = [towns for districts in t.REGIONS.values() for towns in districts.values()]
    return [weight for weights in towns for weight in weights.values()]


def _disease(draws: Draws, age_n: IntArray) -> IntArray:
    is_rare = draws.uniform("rare_disease") < _at(list(t.RARE_DISEASE_BY_AGE.values()), age_n)
    usual = draws.pick("disease", list(t.DISEASE_BY_AGE.values()), age_n)
    return np.where(is_rare, t.leaves(t.DISEASE_TREE).index(t.RARE_DISEASE), usual)


def _occupation(
    draws: Draws,
    sex_n: IntArray,
    sex_age_n: IntArray,
    education_n: IntArray,
) -> IntArray:
    """The position among `NOT_EMPLOYED` and then `JOBS`."""
    activities = [row for sex in t.SEXES for row in t.ACTIVITY_BY_SEX_AND_AGE[sex].values()]
    activity = draws.pick("activity", activities, sex_age_n)
    groups = [path[1] for path in t.paths(t.EDUCATION_TREE)]
    group_of_education = [list(dict.fromkeys(groups)).index(group) for group in groups]
    jobs_by_group_and_sex = list(zip(*(weights for _, _, weights in t.JOBS.values()), strict=True))
    job = draws.pick(
        "job",
        jobs_by_group_and_sex,
        _at(group_of_education, education_n) * len(t.SEXES) + sex_n,
    )
    return np.where(activity < len(t.NOT_EMPLOYED), activity, job + len(t.NOT_EMPLOYED))


def _hours(draws: Draws, sex_age_n: IntArray, occupation_n: IntArray) -> IntArray:
    usual = [*(0 for _ in t.NOT_EMPLOYED), *(hours for _, hours, _ in t.JOBS.values())]
    shares = [row for sex in t.SEXES for row in t.SHARE_OF_HOURS_BY_SEX_AND_AGE[sex].values()]
    share = _at(t.SHARE_OF_HOURS, draws.pick("hours", shares, sex_age_n))
    hours: IntArray = np.floor(_at(usual, occupation_n) * share + 0.5).astype(np.int64)
    return hours


def _median_income(
    age_n: IntArray,
    sex_n: IntArray,
    education_n: IntArray,
    region_n: IntArray,
    occupation_n: IntArray,
    hours: IntArray,
) -> FloatArray:
    """The median income of people like each one, from the tables."""
    full_time = [*t.INCOME_OF_NOT_EMPLOYED.values(), *(pay for pay, _, _ in t.JOBS.values())]
    province = [t.INCOME_BY_PROVINCE[path[2]] for path in t.paths(t.REGION_TREE)]
    median: FloatArray = (
        _at(full_time, occupation_n)
        * np.where(hours > 0, hours / 40.0, 1.0)
        * _at(list(t.INCOME_BY_AGE.values()), age_n)
        * _at([t.INCOME_BY_EDUCATION[label] for label in t.leaves(t.EDUCATION_TREE)], education_n)
        * _at([t.INCOME_BY_SEX[sex] for sex in t.SEXES], sex_n)
        * _at(province, region_n)
    )
    return median


def _income(draws: Draws, median: FloatArray) -> IntArray:
    """The income: the median times long-tailed noise, rounded as people report it."""
    # log(u / (1 - u)) is a logistic deviate: close to normal, with the longer tails of incomes.
    # Processors disagree on the last bit of log and exp. The rounding to INCOME_STEP hides it, but
    # for a row in some 10^12.
    uniform = draws.uniform("income")
    noise = np.exp(np.log(uniform / (1.0 - uniform)) * t.INCOME_SPREAD)
    steps: IntArray = np.floor(median * noise / t.INCOME_STEP + 0.5).astype(np.int64)
    return steps * t.INCOME_STEP
