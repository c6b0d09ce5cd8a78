"""Synthetic hospital stays: a table in which a person has several rows, and a diagnosis of 717
codes.

The patients are the first people of the census with the same seed: `patient_nbr` is their
`person_id`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tclose_spark.synthetic import distributions as t
from tclose_spark.synthetic.census import AT_ONCE, Draws, people_between, require_size, texts_at
from tclose_spark.table.arrays import IntArray

SCHEMA: Final = pa.schema(
    [
        ("encounter_id", pa.int64()),
        ("patient_nbr", pa.int64()),
        ("age", pa.int32()),
        ("sex", pa.string()),
        ("region", pa.string()),
        ("admitted", pa.date32()),
        ("ward", pa.string()),
        ("days", pa.int32()),
        ("diagnosis", pa.string()),
        ("readmitted", pa.string()),
    ],
)
HIERARCHIES: Final = {
    "region": t.paths(t.REGION_TREE, ("*",)),
    "diagnosis": tuple((code.code, code.block, code.chapter, "*") for code in t.DIAGNOSES),
}
# In which first stays begin.
FIRST_DAY = np.datetime64("2010-01-01")
DAYS = 4 * 365
LONGEST = 14  # days of a stay
READMITTED = ("no", "after 30 days", "within 30 days")
STAYS = np.uint64(64)  # more than a patient has


def generate_encounters(rows: int, seed: int = 2026) -> Iterator[pa.RecordBatch]:
    """Synthetic hospital stays with the columns of SCHEMA, without nulls, some at a time, those of
    a patient together.

    age, admitted: at the stay. readmitted: when the next stay begins.

    Args:
        rows: The number of stays, 0 or more.
        seed: Any signed 64-bit integer.

    Raises:
        ConfigurationError: if `rows` is negative, or `seed` is not a signed 64-bit integer.
    """
    require_size(rows, seed)
    return _until(rows, seed)


def _until(rows: int, seed: int) -> Iterator[pa.RecordBatch]:
    first = made = 0
    while made < rows:
        batch = _stays(seed, first, first + AT_ONCE // 2).slice(0, rows - made)
        first = first + AT_ONCE // 2
        made = made + batch.num_rows
        yield batch


def _stays(seed: int, first: int, end: int) -> pa.RecordBatch:
    """The stays of the people with these numbers."""
    people = people_between(seed, first, end)
    patients = Draws(seed, np.arange(first, end, dtype=np.uint64))
    stays = 1 + patients.pick("stays", [t.STAYS_OF_A_PATIENT])
    who = np.repeat(np.arange(end - first), stays)
    number = np.arange(len(who)) - np.repeat(np.cumsum(stays) - stays, stays)
    draws = Draws(seed, patients.ids[who] * STAYS + number.astype(np.uint64))

    low, high = np.array(t.DAYS_BETWEEN_STAYS).T
    span = draws.pick("span", [[1] * len(low)])
    gap = low[span] + (draws.uniform("gap") * (high - low + 1)[span]).astype(np.int64)
    begin = (patients.uniform("begin") * DAYS).astype(np.int64)[who]
    since = np.cumsum(np.where(number == 0, 0, gap))
    since -= np.repeat(since[number == 0], stays)
    admitted = FIRST_DAY + (begin + since).astype("timedelta64[D]")
    age = people["age"].to_numpy()[who]
    age_n = np.searchsorted(t.DIAGNOSIS_AGE_STARTS, age, side="right") - 1
    diagnosis = _diagnosis(
        draws,
        age_n,
        pc.equal(people["sex"], "Male").to_numpy(zero_copy_only=False)[who],
    )
    same = draws.uniform("same") < t.SAME_DIAGNOSIS
    diagnosis = np.where(same, np.repeat(diagnosis[number == 0], stays), diagnosis)
    is_last = np.append(number[1:] == 0, True)
    next_gap = np.append(gap[1:], 0)
    values = {
        "encounter_id": draws.hashes("encounter_id").view(np.int64),
        "patient_nbr": people["person_id"].take(pa.array(who)),
        "age": age + (begin + since) // 365 - begin // 365,
        "sex": people["sex"].take(pa.array(who)),
        "region": people["region"].take(pa.array(who)),
        "admitted": admitted,
        "ward": texts_at([code.ward for code in t.DIAGNOSES], diagnosis),
        "days": 1 + (draws.uniform("days") ** 2 * LONGEST).astype(np.int64),
        "diagnosis": texts_at([code.code for code in t.DIAGNOSES], diagnosis),
        "readmitted": texts_at(READMITTED, np.where(is_last, 0, np.where(next_gap > 30, 1, 2))),
    }
    columns = [pc.cast(pa.array(values[field.name]), field.type) for field in SCHEMA]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _diagnosis(draws: Draws, age_n: IntArray, male: NDArray[np.bool_]) -> IntArray:
    """The place of the code among `DIAGNOSES`."""
    found = np.empty(len(age_n), dtype=np.int64)
    uniform = draws.uniform("diagnosis")
    for group, man in product(range(len(t.DIAGNOSIS_AGE_STARTS)), (False, True)):
        here = (age_n == group) & (male == man)
        ends = np.cumsum(
            [
                0 if man and code.ward == "obstetrics" else code.weights[group]
                for code in t.DIAGNOSES
            ],
        )
        found[here] = np.searchsorted(ends, np.floor(uniform[here] * ends[-1]), side="right")
    return found
