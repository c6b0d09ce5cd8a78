"""Columns may be called anything that Delta can hold: like names of our own, with dots and
backticks, and differing by case from made ones.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

from tclose_spark import pipeline
from tclose_spark.errors import InputError
from tclose_spark.io.run import Run
from tclose_spark.table.hierarchies.building import file_of

ROWS = 60
QUASI = {
    "a.b": {"type": "numeric", "numeric_output": "bounds"},
    "low0": {"type": "numeric"},
    "c`d.e": {},
}
SENSITIVE = {
    "f.g": {"distance": "ordered", "t": "0.5"},
    "v0": {"t": "0.9"},
    "margin_v0": {"t": "0.9"},
    "gain_v0": {"t": "0.9"},
}
INSENSITIVE = [
    "rows",
    "malformed",
    "distinct0",
    "distinct_rows",
    "h.i",
    "c0",
    "q0",
    "rest",
    "row",
    "task",
    "uncovered",
    "published0",
    "raw0",
]
INSENSITIVE += [
    "l0",
    "n",
    "size",
    "loss",
    "quasi_identifiers",
    "input_rows",
    "release_digest",
    "emd_v0",
    "wrong0",
]


def people() -> pa.Table:
    """A third of them alike in all columns."""
    number = [i % 40 for i in range(ROWS)]
    columns: dict[str, list[Any]] = {
        "a.b": number,
        "low0": [i * 7 % 13 for i in number],
        "c`d.e": [["x", "y"][i % 2] for i in number],
    }
    columns |= {
        "f.g": [i % 3 for i in number],
        **{
            name: [["flu", "gout"][i % 2] for i in number]
            for name in ("v0", "margin_v0", "gain_v0")
        },
    }
    columns |= {name: [f"{name} {i % 2}" for i in number] for name in INSENSITIVE}
    return pa.table(columns)


@pytest.mark.parametrize("method", ["closeness_tree", "stack_and_deal"])
def test_any_names_are_released(make_run: Callable[..., Run], tmp_path: Path, method: str) -> None:
    roles = {
        "quasi": QUASI,
        "sensitive": SENSITIVE,
        "insensitive_attributes": INSENSITIVE,
        "allow_unique": INSENSITIVE,
    }
    run = make_run(
        people(),
        output={"keep_linked": method == "stack_and_deal"},
        method={"name": method},
        **roles,
    )
    pipeline.release(run)
    release = deltalake.DeltaTable(str(tmp_path / "out/public/release")).to_pyarrow_table()
    assert release.column_names == ["a.b_min", "a.b_max", "low0", "c`d.e", *SENSITIVE, *INSENSITIVE]
    kept = [*SENSITIVE, *INSENSITIVE]
    rows, raw = (
        Counter(zip(*(table[name].to_pylist() for name in kept), strict=True))
        for table in (release, people())
    )
    assert rows == raw
    certificate = json.loads((tmp_path / "out/public/certificate.json").read_text())
    assert set(certificate["guarantees"]["t"]) == set(SENSITIVE)


@pytest.mark.parametrize("name", ["AGE_MIN", "age_max", "Age_Raw"])
def test_a_name_that_the_release_makes_is_refused_in_any_case(
    make_run: Callable[..., Run],
    name: str,
) -> None:
    table = {"age": [1, 2, 3, 4], "disease": ["a", "b"] * 2, name: ["x"] * 4}
    quasi = {"age": {"type": "numeric", "numeric_output": "bounds"}}
    run = make_run(
        table,
        quasi=quasi,
        insensitive_attributes=[name],
        output={"keep_linked": True},
        k=2,
    )
    with pytest.raises(
        InputError,
        match=f"column '{name}': the release makes a column of this name",
    ):
        pipeline.profile(run)


@pytest.mark.parametrize("name", ["ZIP/PLZ", ".zip", "zip_" * 75])
def test_a_column_whose_name_no_file_can_have_gets_a_built_hierarchy(
    make_run: Callable[..., Run],
    name: str,
) -> None:
    table = {
        name: [f"1{i % 4}{i % 3}" for i in range(ROWS)],
        "disease": ["flu", "gout"] * (ROWS // 2),
    }
    run = make_run(
        table,
        quasi={name: {"hierarchy": {"prefix": 1}}},
        sensitive={"disease": {"t": "0.9"}},
    )
    pipeline.release(run)
    assert pipeline.verify(run, finished=True).holds


def test_no_two_columns_have_the_same_hierarchy_file() -> None:
    names = ["a/b", "a%2Fb", "a%252Fb", ".a", "%2Ea", "a%b", "a.b"]
    assert len({file_of(name) for name in names}) == len(names)
    assert file_of("a%b") == "hierarchies/a%b.csv"
